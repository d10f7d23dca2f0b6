//! Sends something to an address that a person named, under the same rules as pages are fetched: names are looked up
//! once, private addresses are reached only where that is allowed, and no redirect is followed.
//! Used by the server for webhooks. Reads nothing of the answer but its status, and never quotes the address: it may be a
//! key in itself.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};

use super::address::{self, Checked, System};
use super::page;
use crate::trust;

/// Which addresses may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Of the public internet.
    Public,
    /// Also this machine and its own networks, but not what hands out a cloud machine's credentials.
    Private,
}

#[derive(Clone, Debug)]
pub struct Outbound {
    client: Client,
}

impl Reach {
    fn may_reach(self) -> fn(IpAddr) -> bool {
        match self {
            Self::Public => address::is_public,
            Self::Private => address::is_harmless,
        }
    }

    /// The address, if it may be sent to.
    ///
    /// # Errors
    /// Says why not.
    pub fn check(self, url: &str) -> Result<Url, String> {
        page::address(url, self.may_reach())
    }
}

impl Outbound {
    /// # Errors
    /// When no secure connections can be made on this machine.
    pub fn new(reach: Reach, connect: Duration, total: Duration) -> Result<Self, String> {
        let names = Checked { names: Arc::new(System), may_reach: reach.may_reach() };
        let client = Client::builder()
            .tls_backend_preconfigured(trust::configure()?)
            .user_agent(concat!("agent-world/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(names))
            .connect_timeout(connect)
            .timeout(total)
            .build()
            .map_err(|error| format!("the client for HTTP cannot be made: {error}"))?;
        Ok(Self { client })
    }

    /// Posts a body to an address that was checked.
    ///
    /// # Errors
    /// Says what went wrong, without the address.
    pub async fn post(
        &self,
        url: Url,
        headers: HeaderMap,
        body: String,
    ) -> Result<StatusCode, String> {
        let sent = self.client.post(url).headers(headers).body(body).send().await;
        sent.map(|answer| answer.status()).map_err(|error| {
            let error = error.without_url();
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            match cause {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }
        })
    }
}
