//! Decides which addresses can be reached, and looks names up so that no other is ever connected to.
//! Called by the HTTP client for names, and by `page` for addresses written in a URL and for the one that answered.
//! The client connects to what is returned here and looks nothing up again, so a name cannot change its meaning.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Finds a name's addresses.
#[async_trait]
pub trait Lookup: fmt::Debug + Send + Sync {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the machine does it.
#[derive(Clone, Copy, Debug)]
pub struct System;

#[async_trait]
impl Lookup for System {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Leaves out addresses that must not be reached.
#[derive(Clone, Debug)]
pub struct Checked {
    pub names: Arc<dyn Lookup>,
    pub may_reach: fn(IpAddr) -> bool,
}

/// A name with no address that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} has only private addresses, which must not be fetched from; fetch from a public one")]
pub struct Private(pub String);

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let Self { names, may_reach } = self.clone();
        Box::pin(async move {
            let name = name.as_str();
            let found = names.lookup(name).await?;
            let is_known = !found.is_empty();
            let allowed: Vec<SocketAddr> = found
                .into_iter()
                .filter(|address| may_reach(*address))
                .map(|address| SocketAddr::new(address, 0))
                .collect();
            if allowed.is_empty() && is_known {
                return Err(Private(name.to_owned()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// Whether an address is one of the public internet.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Whether an address is public, or one of this machine and its own networks that hands out no credentials: cloud
/// machines get theirs from link-local addresses, and from a few that look like any other.
pub fn is_harmless(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            is_public_v4(address)
                || address.is_loopback()
                || address.is_private()
                || (is_shared(address) && address != Ipv4Addr::new(100, 100, 100, 200))
        }
        IpAddr::V6(address) => {
            is_public_v6(address)
                || address == Ipv6Addr::LOCALHOST
                || (address.is_unique_local() && !gives_credentials(address))
        }
    }
}

// Amazon, in two forms, and Google.
fn gives_credentials(address: Ipv6Addr) -> bool {
    matches!(address.segments(), [0xfd00, 0x0ec2, ..] | [0xfd20, 0x00ce, ..])
}

/// Behind a carrier's address translation.
fn is_shared(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [100, 64..=127, ..])
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || is_shared(address)
        || matches!(
            address.octets(),
            // This network, protocol assignments, the relay of 6to4, benchmarks, reserved.
            [0, ..] | [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] | [240..=255, ..]
        ))
}

// Only what is handed out as global is public, without the parts that carry an address of version 4 inside or are for
// special purposes. IPv4-mapped addresses and those of translators are outside of it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    matches!(segments, [0x2000..=0x3fff, ..])
        && !matches!(
            segments,
            // Protocol assignments with Teredo, documentation (twice), 6to4.
            [0x2001, 0..=0x01ff, ..]
                | [0x2001, 0x0db8, ..]
                | [0x3fff, 0..=0x0fff, ..]
                | [0x2002, ..]
        )
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
