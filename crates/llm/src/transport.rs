//! Decides how bytes travel to a vendor and back: one HTTP client for all, with limits in time and size.
//! Used by `Provider` and by the OAuth source. Knows no vendor's format and no key's place; never follows a redirect,
//! since the key would go along; never prints the query of an address.

mod body;
mod failure;
mod headers;
mod proxies;
mod retry;
mod trust;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Method, Url};
use tokio::time::timeout;

use crate::{Class, Error};

pub(crate) use body::Body;
pub(crate) use failure::{host_of, is_loopback};
pub(crate) use headers::{asked_delay, request_id};
pub use proxies::Proxies;
pub(crate) use retry::Failed;
pub use retry::Retry;

use trust::Trust;

/// How this program names itself to vendors.
const USER_AGENT: &str = concat!("agent-world/", env!("CARGO_PKG_VERSION"));

/// A client for HTTP. Clones share its connections; programs should make one and give it to all their providers.
#[derive(Clone)]
pub struct Transport(Arc<Shared>);

struct Shared {
    client: reqwest::Client,
    connect: Duration,
    proxies: Proxies,
    trusts_nobody: bool,
}

/// How long a vendor is waited for. The limit for connecting is the transport's, as connections are shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Until a reply that comes whole begins; vendors send nothing of it before it is made.
    pub whole: Duration,
    /// Until a streamed reply begins.
    pub stream: Duration,
    /// Between two pieces of a reply.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            whole: Duration::from_secs(300),
            stream: Duration::from_secs(120),
            idle: Duration::from_secs(90),
        }
    }
}

/// What a transport is made from.
#[derive(Debug)]
pub struct Builder {
    connect: Duration,
    proxies: Proxies,
    trusted: Vec<Vec<u8>>,
}

/// One request, complete with its key.
#[derive(Clone)]
pub(crate) struct Call {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A reply whose body is still to come.
pub(crate) struct Arrival {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Body,
}

impl Transport {
    /// With the proxies of the environment and the certificates this machine trusts.
    ///
    /// # Errors
    /// When the environment names a proxy that is none.
    pub fn new() -> Result<Self, Error> {
        Self::builder().build()
    }

    /// A transport with other settings.
    pub fn builder() -> Builder {
        Builder {
            connect: Duration::from_secs(10),
            proxies: Proxies::from_environment(),
            trusted: Vec::new(),
        }
    }

    /// Sends a request and waits until its reply begins, whatever its status.
    ///
    /// # Errors
    /// When no reply begins, in time or at all.
    pub(crate) async fn send(
        &self,
        call: Call,
        first_byte: Duration,
        idle: Duration,
    ) -> Result<Arrival, Error> {
        let Call { method, url, headers, body } = call;
        let request = self.0.client.request(method, url.clone()).headers(headers).body(body).send();
        let response = match timeout(first_byte, request).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.failure(&url, error)),
            Err(_) => {
                return Err(Error::new(
                    Class::Timeout,
                    "",
                    format!(
                        "no reply began at {} within {}s",
                        host_of(&url),
                        first_byte.as_secs_f64()
                    ),
                ));
            }
        };
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        Ok(Arrival { status, headers, body: Body::new(response, idle) })
    }

    fn failure(&self, url: &Url, error: reqwest::Error) -> Error {
        let proxied = self.0.proxies.apply_to(url);
        failure::explain(url, error, self.0.connect, proxied, self.0.trusts_nobody)
    }
}

impl Builder {
    /// How long a connection may take until it can be used, encryption included; ten seconds unless told.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Instead of those that the environment names.
    pub fn proxies(mut self, proxies: Proxies) -> Self {
        self.proxies = proxies;
        self
    }

    /// Trusts this certificate (DER) beside those the machine trusts: for servers with a certificate of their own.
    pub fn trust(mut self, certificate: impl Into<Vec<u8>>) -> Self {
        self.trusted.push(certificate.into());
        self
    }

    /// # Errors
    /// When a proxy's address or a certificate cannot be read.
    pub fn build(self) -> Result<Transport, Error> {
        let Trust { config, nobody } = trust::configure(self.trusted)?;
        let mut client = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .user_agent(USER_AGENT)
            .redirect(Policy::none())
            .connect_timeout(self.connect)
            .no_proxy();
        for proxy in self.proxies.to_client()? {
            client = client.proxy(proxy);
        }
        let client = client.build().map_err(|error| {
            let error = failure::root(&error);
            unusable(format!("the client for HTTP cannot be made: {error}"))
        })?;
        Ok(Transport(Arc::new(Shared {
            client,
            connect: self.connect,
            proxies: self.proxies,
            trusts_nobody: nobody,
        })))
    }
}

/// A setting with which nothing can be sent.
pub(crate) fn unusable(message: impl Into<String>) -> Error {
    Error::new(Class::InvalidRequest, "", message)
}

/// A header as it is sent. Its value is never printed by the libraries below.
///
/// # Errors
/// Names the header, and not what was to be in it.
pub(crate) fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Error> {
    let read = HeaderName::try_from(name)
        .map_err(|_| unusable(format!("{name:?} is no name for a header")))?;
    let mut value = HeaderValue::try_from(value).map_err(|_| {
        unusable(format!("the value for the header {read} has characters that cannot be sent"))
    })?;
    value.set_sensitive(true);
    Ok((read, value))
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport")
            .field("connect", &self.0.connect)
            .field("proxies", &self.0.proxies)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
