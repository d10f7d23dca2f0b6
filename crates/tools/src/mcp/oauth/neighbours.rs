//! Decides which addresses an authorization may lead to: a server names its authorization server, and a hostile one could name a
//! machine that only we can reach. Used for every name that is looked up for `requests`. A server on a private network may name
//! others there.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

#[derive(Clone, Debug)]
pub struct Neighbours {
    /// The server's own host.
    host: String,
}

/// Why an address is not asked.
#[derive(Debug)]
pub struct NotANeighbour(String);

impl fmt::Display for NotANeighbour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is on a private network and the MCP server is not", self.0)
    }
}

impl std::error::Error for NotANeighbour {}

impl Neighbours {
    pub fn of(server: &Url) -> Self {
        Self { host: bare(server.host_str().unwrap_or_default()).to_owned() }
    }

    /// # Errors
    /// When the host is a private address and the server is not on one.
    pub async fn check_literal(&self, host: &str) -> Result<(), NotANeighbour> {
        match bare(host).parse::<IpAddr>() {
            Ok(address) if is_private(address) && !self.are_private().await => {
                Err(NotANeighbour(host.to_owned()))
            }
            _ => Ok(()),
        }
    }

    async fn look_up(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        let found: Vec<SocketAddr> = lookup_host((name, 0)).await?.collect();
        let private = found.iter().any(|address| is_private(address.ip()));
        if private && name != self.host && !self.are_private().await {
            return Err(io::Error::other(NotANeighbour(name.to_owned())));
        }
        Ok(found)
    }

    /// Whether the server itself is on a private network.
    async fn are_private(&self) -> bool {
        match self.host.parse::<IpAddr>() {
            Ok(address) => is_private(address),
            Err(_) => match lookup_host((self.host.as_str(), 0)).await {
                // All of them: whoever owns a name can give it one private address beside a public one.
                Ok(found) => {
                    let found: Vec<SocketAddr> = found.collect();
                    !found.is_empty() && found.iter().all(|address| is_private(address.ip()))
                }
                Err(_) => false,
            },
        }
    }
}

impl Resolve for Neighbours {
    fn resolve(&self, name: Name) -> Resolving {
        let neighbours = self.clone();
        Box::pin(async move {
            let found = neighbours.look_up(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// An IPv6 address is written in brackets in an address of the web.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let shared = matches!(address.octets(), [100, 64..=127, ..]);
            address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_unspecified()
                || address.is_broadcast()
                || address.is_multicast()
                || shared
        }
        IpAddr::V6(address) => {
            address.is_loopback()
                || address.is_unspecified()
                || address.is_unique_local()
                || address.is_unicast_link_local()
                || address.is_multicast()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(server: &str) -> Neighbours {
        Neighbours::of(&Url::parse(server).unwrap())
    }

    #[tokio::test]
    async fn a_public_server_cannot_send_us_to_a_private_address() {
        let public = of("https://93.184.216.34/mcp");
        for host in
            ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "[fd00::1]", "[::ffff:10.0.0.1]"]
        {
            assert!(public.check_literal(host).await.is_err(), "{host}");
        }
        public.check_literal("8.8.8.8").await.unwrap();
        public.check_literal("auth.example.com").await.unwrap();
        let error = public.look_up("localhost").await.unwrap_err();
        assert!(error.to_string().contains("private network"), "{error}");
    }

    #[tokio::test]
    async fn a_server_on_this_machine_may_name_another_here() {
        for server in ["http://127.0.0.1:80/mcp", "http://localhost/mcp", "http://[::1]/mcp"] {
            let here = of(server);
            here.check_literal("127.0.0.1").await.unwrap();
            here.look_up("localhost").await.unwrap();
        }
    }
}
