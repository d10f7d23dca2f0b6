//! Decides which requests go through a proxy: what the environment says, and nothing to this machine itself.
//! Read when a transport is built. Addresses of proxies may hold passwords and are never printed.

use std::fmt;

use reqwest::{NoProxy, Proxy, Url};

use super::failure::is_loopback;
use super::unusable;
use crate::Error;

/// Requests to this machine, as `NO_PROXY` writes it.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1,::ffff:127.0.0.0/104";

/// Proxies and who is reached without them.
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    /// In the notation of `NO_PROXY`.
    without: String,
    even_loopback: bool,
}

impl Proxies {
    /// No proxies.
    pub fn none() -> Self {
        Self::default()
    }

    /// As `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` say, or the same in lower case.
    pub fn from_environment() -> Self {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Like `from_environment`, from variables that come from elsewhere.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| {
            [name.to_owned(), name.to_lowercase()]
                .iter()
                .filter_map(|name| variable(name))
                .map(|value| value.trim().to_owned())
                .find(|value| !value.is_empty())
        };
        // In a program behind a web server's gateway, `HTTP_PROXY` is a header that a visitor sent.
        let http = if variable("REQUEST_METHOD").is_some() { None } else { value("HTTP_PROXY") };
        Self {
            http: http.or_else(|| value("ALL_PROXY")),
            https: value("HTTPS_PROXY").or_else(|| value("ALL_PROXY")),
            without: value("NO_PROXY").unwrap_or_default(),
            even_loopback: false,
        }
    }

    /// Everything through this proxy.
    pub fn all(address: impl Into<String>) -> Self {
        let address = address.into();
        Self { http: Some(address.clone()), https: Some(address), ..Self::default() }
    }

    /// Reaches these hosts without a proxy, written as in `NO_PROXY`.
    pub fn without(mut self, hosts: impl Into<String>) -> Self {
        self.without = hosts.into();
        self
    }

    /// Sends even what goes to this machine through the proxy.
    pub fn even_loopback(mut self) -> Self {
        self.even_loopback = true;
        self
    }

    /// Whether a request may have gone through a proxy; hosts that `NO_PROXY` names are not looked at.
    pub(super) fn apply_to(&self, url: &Url) -> bool {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        proxy.is_some() && (self.even_loopback || !is_loopback(url))
    }

    /// # Errors
    /// When an address cannot be read.
    pub(super) fn to_client(&self) -> Result<Vec<Proxy>, Error> {
        let mut without = self.without.clone();
        if !self.even_loopback {
            without = format!("{without},{LOOPBACK}");
        }
        let mut proxies = Vec::new();
        for (address, scheme) in [(&self.http, "http"), (&self.https, "https")] {
            let Some(address) = address else { continue };
            let address = usable(address, scheme)?;
            let proxy = if scheme == "http" { Proxy::http(address) } else { Proxy::https(address) };
            let proxy = proxy.map_err(|_| no_proxy(scheme))?;
            proxies.push(proxy.no_proxy(NoProxy::from_string(&without)));
        }
        Ok(proxies)
    }
}

/// An address may leave its scheme out.
fn usable(address: &str, scheme: &str) -> Result<Url, Error> {
    let whole =
        if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let url = Url::parse(&whole).map_err(|_| no_proxy(scheme))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(no_proxy(scheme)),
    }
}

fn no_proxy(scheme: &str) -> Error {
    unusable(format!(
        "the proxy for {scheme} is no http or https address; write {}_PROXY as http://host:port",
        scheme.to_uppercase()
    ))
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("without", &self.without)
            .field("even_loopback", &self.even_loopback)
            .finish()
    }
}
