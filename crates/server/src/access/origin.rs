//! Decides whether a request may come from where it says it comes from: no page of another site, and no name that was
//! bent to point at this machine; without tokens no program that the server runs itself.
//! Asked by `identify` before anything else. Looks at headers, and at what `listen` knows of the connection.

use std::net::{Ipv4Addr, Ipv6Addr};

use agent_world_runtime::tools::launcher::Peer;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};

use crate::problem::Problem;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// A host as a client wrote it, in lower case, with the port where one was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Host {
    name: String,
    port: Option<u16>,
}

impl Host {
    /// `name`, `name:port`, `[v6]` or `[v6]:port`; nothing else.
    fn read(text: &str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                (text.get(..address.len() + 2)?, port)
            }
            None => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|one| one.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            Some(_) => return None,
            None if port.is_empty() => None,
            None => return None,
        };
        let usual = |one: u8| {
            one.is_ascii_alphanumeric() || matches!(one, b'.' | b'-' | b'_' | b'[' | b']' | b':')
        };
        let is_name = !name.is_empty() && name.bytes().all(usual);
        is_name.then(|| Self { name: name.to_ascii_lowercase(), port })
    }

    /// A name that no resolver can bend: addresses of this machine, and `localhost`.
    fn is_loopback(&self) -> bool {
        let v6 = self.name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        match v6 {
            Some(address) => address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback()),
            None => {
                self.name == "localhost"
                    || self.name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }

    fn is_at(&self, other: &Self, usual_port: u16) -> bool {
        let port = |host: &Self| host.port.unwrap_or(usual_port);
        self.name == other.name && port(self) == port(other)
    }
}

/// The host a request is for: where HTTP/2 and absolute addresses name one, it and `Host` must agree. None where it
/// names none at all.
pub(super) fn host(parts: &Parts) -> Result<Option<Host>, Problem> {
    let mut named = Vec::new();
    if let Some(authority) = parts.uri.authority() {
        named.push(Host::read(authority.as_str()));
    }
    for value in parts.headers.get_all(header::HOST) {
        named.push(value.to_str().ok().and_then(Host::read));
    }
    match named.as_slice() {
        [] => Ok(None),
        [Some(host)] => Ok(Some(host.clone())),
        [Some(host), Some(same)] if host == same => Ok(Some(host.clone())),
        _ => Err(refused_host("the request names several hosts, or one that cannot be read")),
    }
}

pub(super) fn no_host() -> Problem {
    refused_host("the request names no host")
}

/// Without tokens only this machine is let in, under names that are its own.
pub(super) fn check_loopback(host: &Host) -> Result<(), Problem> {
    if host.is_loopback() {
        return Ok(());
    }
    Err(refused_host("without tokens this server answers only to localhost, 127.0.0.1 and [::1]"))
}

/// Without tokens whoever asks must be on this machine. What a proxy hands on may come from anywhere.
pub(super) fn check_direct(headers: &HeaderMap) -> Result<(), Problem> {
    let handed_on = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    if handed_on.iter().all(|name| !headers.contains_key(*name)) {
        return Ok(());
    }
    let why = "a proxy handed the request on, and without tokens nobody can say whose it is";
    Err(refused_host(why))
}

/// Without tokens whoever is on this machine may do everything, and with a browser's cookie what its person may; what agents
/// run there must not decide for people.
pub(super) fn check_peer(peer: Peer) -> Result<(), Problem> {
    let why = match peer {
        Peer::Other => return Ok(()),
        Peer::Own => {
            "this request comes from a program that this server runs for an agent, which may not use it"
        }
        Peer::Gone => "whoever sent this request is gone, so nobody can say who it was",
        Peer::Unclear => {
            "this request may come from a program that this server runs for an agent: one of them hides what it does"
        }
    };
    let detail = format!(
        "{why}; people and their programs get in with a token: `agent-world token create NAME --role admin`"
    );
    Err(Problem::new(StatusCode::FORBIDDEN, "own_program_refused", detail))
}

fn refused_host(why: &str) -> Problem {
    let detail = format!(
        "{why}; use http://localhost, or make a token with `agent-world token create NAME --role admin`"
    );
    Problem::new(StatusCode::MISDIRECTED_REQUEST, "host_refused", detail)
}

/// Whether a path shows something to anybody, so that a link from elsewhere may lead to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Showing {
    Public,
    Private,
}

/// Refuses what a page of another origin sends, also one on another port of this machine.
pub(super) fn check_origin(
    parts: &Parts,
    host: Option<&Host>,
    showing: Showing,
) -> Result<(), Problem> {
    for origin in parts.headers.get_all(header::ORIGIN) {
        if !origin.to_str().is_ok_and(|origin| host.is_some_and(|host| is_own(origin, host))) {
            return Err(refused_origin());
        }
    }
    // Browsers say where a request comes from even where they leave out its origin.
    match text(&parts.headers, &FETCH_SITE) {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) if showing == Showing::Public && is_link(parts) => Ok(()),
        Some(_) => Err(refused_origin()),
    }
}

fn is_own(origin: &str, host: &Host) -> bool {
    let origin = origin.to_ascii_lowercase();
    let (rest, usual_port) = match (origin.strip_prefix("http://"), origin.strip_prefix("https://"))
    {
        (Some(rest), _) => (rest, 80),
        (None, Some(rest)) => (rest, 443),
        (None, None) => return false,
    };
    Host::read(rest).is_some_and(|origin| origin.is_at(host, usual_port))
}

/// A person followed a link: the browser shows the page, and the page that had the link sees nothing of it.
fn is_link(parts: &Parts) -> bool {
    parts.method == Method::GET
        && text(&parts.headers, &FETCH_MODE) == Some("navigate")
        && text(&parts.headers, &FETCH_DEST) == Some("document")
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"))
}

fn refused_origin() -> Problem {
    let detail = "this request comes from a page of another site, which may not use this server; \
                  open the server's own page, or send the request from a program";
    Problem::new(StatusCode::FORBIDDEN, "origin_refused", detail)
}

#[cfg(test)]
#[path = "origin_tests.rs"]
mod tests;
