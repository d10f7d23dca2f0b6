//! Decides how access tokens are had and renewed by OAuth 2: for a client by its own secret, or for a person by the
//! refresh token that person's consent gave.
//! A source like any other. Tokens are renewed before they expire, once for all who wait. What a token server says is
//! passed on without the secrets that were sent to it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::FutureExt as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::cache::{Cache, Fetched};
use super::{Ask, Credential, Credentials};
use crate::secret::Mask;
use crate::transport::{Call, Transport, header, host_of, is_loopback, request_id, unusable};
use crate::{Class, Error, explain};

/// Bytes of a token server's reply.
const LONGEST_REPLY: usize = 1 << 20;
/// How long a token server is waited for, until the end of its reply: everybody else waits along.
const LIMIT: Duration = Duration::from_secs(30);

/// What a token is given for.
#[derive(Clone, Debug)]
pub enum Grant {
    /// The program asks in its own name.
    ClientCredentials {
        /// The name under which the token server knows the program.
        client_id: String,
        /// Its secret.
        client_secret: SecretString,
    },
    /// A person agreed before. A token server may replace the refresh token with every use; the newest is kept.
    RefreshToken {
        /// The name under which the token server knows the program.
        client_id: String,
        /// Its secret; programs that cannot keep one have none.
        client_secret: Option<SecretString>,
        /// What the person's consent gave.
        refresh_token: SecretString,
    },
}

/// How the program tells the token server who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// With fields of the form.
    #[default]
    Form,
    /// With a header, as name and password.
    Basic,
}

type Rotated = dyn Fn(&SecretString) + Send + Sync;

/// Access tokens of a token server.
#[derive(Clone)]
pub struct OAuth {
    server: Arc<TokenServer>,
    cache: Cache,
}

struct TokenServer {
    transport: Transport,
    url: Url,
    grant: Grant,
    authentication: ClientAuthentication,
    parameters: Vec<(String, String)>,
    margin: Duration,
    limit: Duration,
    /// The one from the grant, until the token server gives another.
    refresh_token: Mutex<Option<SecretString>>,
    rotated: Option<Box<Rotated>>,
}

impl OAuth {
    /// Asks the token server at this address, which must be encrypted or on this machine.
    ///
    /// # Errors
    /// When the address is neither.
    pub fn builder(transport: Transport, token_url: &str, grant: Grant) -> Result<Builder, Error> {
        let url = Url::parse(token_url)
            .map_err(|error| unusable(format!("the token URL cannot be read: {error}")))?;
        let safe = url.scheme() == "https" || (url.scheme() == "http" && is_loopback(&url));
        if !safe {
            let host = host_of(&url);
            return Err(unusable(format!(
                "the token URL at {host} must begin with https://: secrets are sent there"
            )));
        }
        let refresh_token = match &grant {
            Grant::ClientCredentials { .. } => None,
            Grant::RefreshToken { refresh_token, .. } => Some(refresh_token.clone()),
        };
        Ok(Builder(TokenServer {
            transport,
            url,
            grant,
            authentication: ClientAuthentication::default(),
            parameters: Vec::new(),
            margin: Duration::from_secs(60),
            limit: LIMIT,
            refresh_token: Mutex::new(refresh_token),
            rotated: None,
        }))
    }
}

/// What an OAuth source is made from.
#[derive(Debug)]
pub struct Builder(TokenServer);

impl Builder {
    /// What the tokens shall be good for.
    pub fn scope(self, scope: impl Into<String>) -> Self {
        self.parameter("scope", scope)
    }

    /// A field of the form that this token server wants, such as `audience`.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.parameters.push((name.into(), value.into()));
        self
    }

    /// How the program says who it is; with fields of the form unless told.
    pub fn authentication(mut self, authentication: ClientAuthentication) -> Self {
        self.0.authentication = authentication;
        self
    }

    /// How long before its end a token is no longer used; a minute unless told.
    pub fn margin(mut self, margin: Duration) -> Self {
        self.0.margin = margin;
        self
    }

    /// How long the token server may take; 30 seconds unless told.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.0.limit = limit;
        self
    }

    /// Is told every new refresh token, so that it can be stored: the one before may be void from then on.
    pub fn rotated(mut self, told: impl Fn(&SecretString) + Send + Sync + 'static) -> Self {
        self.0.rotated = Some(Box::new(told));
        self
    }

    /// The source. Nothing is fetched before the first request.
    pub fn build(self) -> OAuth {
        OAuth { server: Arc::new(self.0), cache: Cache::default() }
    }
}

#[async_trait]
impl Credentials for OAuth {
    async fn get(&self, _: &Ask<'_>) -> Result<Option<Credential>, Error> {
        let fetch = || {
            let server = Arc::clone(&self.server);
            async move { server.fetch().await }.boxed()
        };
        self.cache.get(fetch).await.map(Some)
    }

    fn rejected(&self, _: &Ask<'_>, credential: &Credential) -> bool {
        self.cache.forget(credential);
        true
    }
}

impl TokenServer {
    async fn fetch(&self) -> Result<Fetched, Error> {
        let refresh_token = self.current_refresh_token();
        let mask = self.mask(refresh_token.as_ref());
        let asked = Instant::now();
        let reply = timeout(self.limit, self.ask(refresh_token.as_ref())).await;
        let reply = reply.unwrap_or_else(|_| {
            let message = format!("no whole reply within {}s", self.limit.as_secs_f64());
            Err(Error::new(Class::Timeout, "", message))
        });
        let reply = reply.map_err(|error| mask.error(self.named(error)))?;
        if let Some(rotated) = text(&reply, "refresh_token").map(SecretString::from) {
            self.keep(rotated);
        }
        let token = text(&reply, "access_token").ok_or_else(|| {
            self.named(Error::new(Class::Auth, "", "the reply holds no access_token"))
        })?;
        let until = lifetime(&reply).and_then(|life| asked.checked_add(self.usable(life)));
        Ok(Fetched { credential: Credential::token(token), until })
    }

    async fn ask(&self, refresh_token: Option<&SecretString>) -> Result<Value, Error> {
        let call = Call {
            method: Method::POST,
            url: self.url.clone(),
            headers: self.headers()?,
            body: Bytes::from(self.form(refresh_token)),
        };
        let mut arrival = self.transport.send(call, self.limit, self.limit).await?;
        let status = arrival.status;
        if !(200..300).contains(&status) {
            let mut error = refusal(status, &arrival.body.complaint().await);
            error.request_id = error.request_id.or_else(|| request_id(&arrival.headers));
            return Err(error);
        }
        let body = arrival.body.whole(Vec::new(), LONGEST_REPLY).await?;
        serde_json::from_slice(&body).map_err(|error| {
            // What could not be read may hold a token: only the place is told.
            let place = format!("line {}, column {}", error.line(), error.column());
            Error::new(Class::Server, "", format!("the reply is no JSON ({place})"))
        })
    }

    fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        headers.insert(CONTENT_TYPE, form);
        if let (ClientAuthentication::Basic, (id, Some(secret))) =
            (self.authentication, self.client())
        {
            let pair = format!("{}:{}", encoded(id), encoded(secret.expose_secret()));
            let (name, value) =
                header(AUTHORIZATION.as_str(), &format!("Basic {}", base64(&pair)))?;
            headers.insert(name, value);
        }
        Ok(headers)
    }

    fn form(&self, refresh_token: Option<&SecretString>) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        match refresh_token {
            Some(token) => form
                .append_pair("grant_type", "refresh_token")
                .append_pair("refresh_token", token.expose_secret()),
            None => form.append_pair("grant_type", "client_credentials"),
        };
        let (id, secret) = self.client();
        match (self.authentication, secret) {
            (ClientAuthentication::Basic, Some(_)) => {}
            (_, secret) => {
                form.append_pair("client_id", id);
                if let Some(secret) = secret {
                    form.append_pair("client_secret", secret.expose_secret());
                }
            }
        }
        for (name, value) in &self.parameters {
            form.append_pair(name, value);
        }
        form.finish()
    }

    fn client(&self) -> (&str, Option<&SecretString>) {
        match &self.grant {
            Grant::ClientCredentials { client_id, client_secret } => {
                (client_id, Some(client_secret))
            }
            Grant::RefreshToken { client_id, client_secret, .. } => {
                (client_id, client_secret.as_ref())
            }
        }
    }

    fn current_refresh_token(&self) -> Option<SecretString> {
        self.refresh_token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, rotated: SecretString) {
        // A token server that answers a client's own request with a refresh token gets no use of it.
        let Grant::RefreshToken { .. } = self.grant else { return };
        let mut current = self.refresh_token.lock().unwrap_or_else(PoisonError::into_inner);
        let known = current.as_ref().map(|token| token.expose_secret());
        if known == Some(rotated.expose_secret()) {
            return;
        }
        *current = Some(rotated.clone());
        drop(current);
        if let Some(told) = &self.rotated {
            told(&rotated);
        }
    }

    /// How long a token of this lifetime is used. Of one that lives hardly longer than the margin, half.
    fn usable(&self, life: Duration) -> Duration {
        life.saturating_sub(self.margin).max(life / 2)
    }

    fn mask(&self, refresh_token: Option<&SecretString>) -> Mask {
        let secrets = self.client().1.into_iter().chain(refresh_token);
        secrets.fold(Mask::default(), Mask::with)
    }

    fn named(&self, mut error: Error) -> Error {
        let host = host_of(&self.url);
        error.message = format!("no access token from {host}: {}", error.message);
        error
    }
}

/// What a token server that refuses says. Its words for the kind of refusal are OAuth's own.
fn refusal(status: u16, body: &[u8]) -> Error {
    let mut error = explain::body("", status, body);
    let said = serde_json::from_slice::<Value>(body).unwrap_or_default();
    if let Some(kind) = text(&said, "error") {
        error.message = match text(&said, "error_description") {
            Some(description) => format!("{kind}: {description}"),
            None => kind,
        };
    }
    if (400..429).contains(&status) && status != 408 {
        error.class = Class::Auth;
    }
    error
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Some token servers write the number as text. One that says nothing gives tokens that are good until refused.
fn lifetime(reply: &Value) -> Option<Duration> {
    let seconds = match reply.get("expires_in")? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    Duration::try_from_secs_f64(seconds).ok()
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

impl fmt::Debug for TokenServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenServer")
            .field("host", &host_of(&self.url))
            .field("client", &self.client().0)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("server", &self.server)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
