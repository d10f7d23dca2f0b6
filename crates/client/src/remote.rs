//! Reaches a server over a connection.
//! Made by whoever knows its address. The token goes into a header that is never printed; nothing is sent through a proxy
//! to this machine, and no redirect is followed: a token goes where it was meant to go, and to another machine only encrypted
//! unless its holder says otherwise.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::{HeaderValue, Request, Uri, header};
use reqwest::redirect::Policy;
use rustls::{ClientConfig, RootCertStore};
use secrecy::{ExposeSecret as _, SecretString};

use crate::transport::{Answer, Transport};
use crate::{Error, Result};

const CONNECTING: Duration = Duration::from_secs(10);
/// An answer may take its time, and an event stream says something every 15 seconds.
const SILENCE: Duration = Duration::from_secs(60);

/// What lets its holder use a server. Not printed, by nobody.
#[derive(Clone, Debug)]
pub struct Token {
    text: SecretString,
    unencrypted: Unencrypted,
}

/// Where a token may go without encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unencrypted {
    /// Nobody listens on the way from this machine to itself.
    OnlyHere,
    /// Its holder answers for the network.
    Anywhere,
}

impl Token {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: SecretString::from(text.into()), unencrypted: Unencrypted::OnlyHere }
    }

    /// The same token, which may go elsewhere.
    #[must_use]
    pub fn sent(self, unencrypted: Unencrypted) -> Self {
        Self { unencrypted, ..self }
    }
}

/// A server at an address.
#[derive(Clone)]
pub struct Remote {
    url: String,
    token: Option<Token>,
    client: reqwest::Client,
}

impl Remote {
    /// A server, by its address such as `http://127.0.0.1:7420`. `trust` says whose certificates are trusted, and is only
    /// asked for an address that needs one.
    ///
    /// # Errors
    /// When the address is none, or the token may not go there.
    pub fn new(
        url: &str,
        token: Option<Token>,
        trust: impl FnOnce() -> std::result::Result<ClientConfig, String>,
    ) -> Result<Self> {
        let address = Address::read(url)?;
        let stays = token.as_ref().is_some_and(|one| one.unencrypted == Unencrypted::OnlyHere);
        if stays && !address.is_secure && !address.is_here {
            return Err(Error::Exposed { host: address.host });
        }
        let config = match address.is_secure {
            true => trust().map_err(Error::Unaskable)?,
            false => no_trust().map_err(Error::Unaskable)?,
        };
        let mut builder = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .connect_timeout(CONNECTING)
            .read_timeout(SILENCE)
            .redirect(Policy::none());
        if address.is_here {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| {
            Error::Unaskable(format!("no client for HTTP can be made: {}", chain(&error)))
        })?;
        Ok(Self { url: address.url, token, client })
    }
}

#[async_trait]
impl Transport for Remote {
    async fn exchange(&self, request: Request<Bytes>) -> Result<Answer> {
        let (parts, body) = request.into_parts();
        let url = format!("{}{}", self.url, parts.uri);
        let mut request = self.client.request(parts.method, url).headers(parts.headers).body(body);
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, bearer(token)?);
        }
        let place = Arc::<str>::from(self.url.as_str());
        let response = request.send().await.map_err(|error| unreachable(&place, &error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = stream::unfold(Some(response), move |response| {
            let place = Arc::clone(&place);
            async move {
                let mut response = response?;
                match response.chunk().await {
                    Ok(Some(bytes)) => Some((Ok(bytes), Some(response))),
                    Ok(None) => None,
                    Err(error) => Some((Err(unreachable(&place, &error)), None)),
                }
            }
        });
        Ok(Answer::new(status, &headers, body.boxed()))
    }

    fn place(&self) -> String {
        self.url.clone()
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("url", &self.url).finish_non_exhaustive()
    }
}

struct Address {
    url: String,
    host: String,
    is_secure: bool,
    is_here: bool,
}

impl Address {
    fn read(text: &str) -> Result<Self> {
        // What is wrong is told without the address: it may hold a password.
        let wrong = |what: &str| {
            Error::Unaskable(format!(
                "the server's address {what}; write it as http://HOST:PORT or https://HOST"
            ))
        };
        let uri: Uri = text.trim().trim_end_matches('/').parse().map_err(|_| wrong("is none"))?;
        let is_secure = match uri.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(wrong("is none")),
        };
        let authority = uri.authority().ok_or_else(|| wrong("names no host"))?;
        if authority.as_str().contains('@') {
            return Err(wrong("holds a name or password, which is not sent"));
        }
        if uri.query().is_some() {
            return Err(wrong("holds a query"));
        }
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let is_here = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        let url = uri.to_string().trim_end_matches('/').to_owned();
        Ok(Self { url, host: host.to_owned(), is_secure, is_here })
    }
}

fn bearer(token: &Token) -> Result<HeaderValue> {
    let text = format!("Bearer {}", token.text.expose_secret());
    let mut value = HeaderValue::from_str(&text)
        .map_err(|_| Error::Unaskable("the token holds characters that no token has".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// For addresses at which nobody shows a certificate.
fn no_trust() -> std::result::Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(versions.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}

fn unreachable(place: &str, error: &reqwest::Error) -> Error {
    Error::Unreachable { place: place.to_owned(), cause: chain(error) }
}

/// An error with its causes, without the address: that is told beside it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    match causes.last() {
        Some(cause) => cause.clone(),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_address_of_a_server_is_one() {
        for (text, url, is_secure, is_here) in [
            ("http://127.0.0.1:7420", "http://127.0.0.1:7420", false, true),
            ("http://localhost:1/", "http://localhost:1", false, true),
            ("http://[::1]:7420", "http://[::1]:7420", false, true),
            ("https://agents.example.org/base/", "https://agents.example.org/base", true, false),
        ] {
            let read = Address::read(text).unwrap();
            assert_eq!(
                (read.url.as_str(), read.is_secure, read.is_here),
                (url, is_secure, is_here)
            );
        }
        for text in
            ["", "127.0.0.1:7420", "ftp://x", "http://", "http://a:secret@b", "http://a?b=c"]
        {
            let error = Address::read(text).err().map(|error| error.to_string());
            let error = error.unwrap_or_else(|| panic!("{text} is taken for an address"));
            assert!(error.contains("write it as"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_token_goes_to_another_machine_only_encrypted_unless_its_holder_says_otherwise() {
        let reached = |url: &str, token: Option<Token>| {
            let trust = || no_trust();
            match Remote::new(url, token, trust) {
                Ok(_) => "reached".to_owned(),
                Err(error) => error.to_string(),
            }
        };
        let token = || Some(Token::new("aw_secret"));
        for here in ["http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1"] {
            assert_eq!(reached(here, token()), "reached");
        }
        assert_eq!(reached("https://agents.example", token()), "reached");
        for there in
            ["http://agents.example", "http://192.168.1.2:7420", "http://localhost.example"]
        {
            let told = reached(there, token());
            assert!(
                told.contains("the token was not sent") && !told.contains("aw_secret"),
                "{told}"
            );
            assert_eq!(reached(there, None), "reached");
            let anywhere = token().map(|token| token.sent(Unencrypted::Anywhere));
            assert_eq!(reached(there, anywhere), "reached");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        let remote =
            Remote::new("http://localhost:1", Some(Token::new("aw_secret")), || Err(String::new()));
        let remote = remote.unwrap();
        assert!(!format!("{remote:?} {:?}", remote.token).contains("aw_secret"));
    }
}
