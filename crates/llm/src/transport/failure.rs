//! Decides what a failed connection is called and what can be done about it.
//! Called by `Transport` and by the reading of bodies. Names hosts, and never paths, queries or keys.

use std::error::Error as _;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::Url;

use crate::{Class, Error};

/// Host and port as a person would write them.
pub(crate) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or("(no host)");
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Whether the address is this machine's own.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Why no reply began.
pub(super) fn explain(
    url: &Url,
    error: reqwest::Error,
    connect: Duration,
    proxied: bool,
    trusts_nobody: bool,
) -> Error {
    let (host, error) = (host_of(url), error.without_url());
    if error.is_connect() && error.is_timeout() {
        let limit = connect.as_secs_f64();
        let message = format!("no connection to {host} within {limit}s{}", by_proxy(proxied));
        return Error::new(Class::Timeout, "", message);
    }
    let root = root(&error);
    let message = if error.is_dns() {
        format!("the name {host} was not found: {root}; check the base URL and the name service")
    } else if causes(&error).any(|cause| cause.is::<rustls::Error>()) {
        format!("no secure connection to {host}: {root}; {}", certificates(trusts_nobody))
    } else if causes(&error).any(is_refused) {
        format!(
            "{host} refuses connections; check that the server is running and the port is right"
        )
    } else if error.is_connect() {
        format!("no connection to {host}: {root}")
    } else {
        format!("the connection to {host} was lost before the reply: {root}")
    };
    let proxy = if error.is_connect() { by_proxy(proxied) } else { "" };
    Error::new(Class::Network, "", format!("{message}{proxy}"))
}

/// The first cause of an error, which is the one that says something.
pub(super) fn root(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| error.to_string(), ToString::to_string)
}

fn certificates(trusts_nobody: bool) -> &'static str {
    if trusts_nobody {
        "this machine has no trusted certificates: install its package of them (ca-certificates) \
         or name a file of them in SSL_CERT_FILE"
    } else {
        "check that the address is right, that the clock is, and that the server's certificate is \
         trusted here"
    }
}

fn by_proxy(proxied: bool) -> &'static str {
    if proxied { "; a proxy is set: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY too" } else { "" }
}

fn is_refused(cause: &Cause) -> bool {
    let error = cause.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

type Cause = dyn std::error::Error + 'static;

/// What led to an error, from the last cause to the first. Errors of input and output hold one where `source` does not
/// lead.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &Cause> {
    std::iter::successors(error.source(), |&cause| {
        match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => cause.source(),
        }
    })
}
