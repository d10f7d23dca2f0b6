//! Gets one page: follows redirects, each checked like the first address, and reads no more than allowed.
//! Called by `fetch`. Knows HTTP and no format; see `text` for what a page says.

use std::error::Error as _;
use std::io::Read;
use std::net::IpAddr;

use agent_world_core::display::reveal_line;
use agent_world_core::event::Output;
use flate2::read::MultiGzDecoder;
use reqwest::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::json;

use super::address::Private;
use super::text::{self, Content, Form};
use crate::Failure;

const REDIRECTS: usize = 5;
const ACCEPTED: &str =
    "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.5";

/// A page as it came.
#[derive(Debug)]
pub struct Page {
    status: StatusCode,
    url: Url,
    content_type: Option<String>,
    /// How the body is still packed, in a way that is not understood here.
    encoding: Option<String>,
    body: Vec<u8>,
    limit: u64,
    is_cut: bool,
}

/// The address a call asks for, if it can be asked for at all.
pub fn address(text: &str, may_reach: fn(IpAddr) -> bool) -> Result<Url, String> {
    let mut url = Url::parse(text.trim())
        .map_err(|error| format!("`{}` is not a URL: {error}", reveal_line(text)))?;
    check(&url, may_reach)?;
    url.set_fragment(None);
    Ok(url)
}

fn check(url: &Url, may_reach: fn(IpAddr) -> bool) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https are fetched, not {}", reveal_line(url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a URL with a user or password in it is not fetched; take them out".to_owned());
    }
    let Some(host) = url.host_str() else {
        return Err("the URL names no host".to_owned());
    };
    // Addresses are connected to without being looked up.
    match host.trim_matches(['[', ']']).parse() {
        Ok(address) if !may_reach(address) => Err(Private(host.to_owned()).to_string()),
        _ => Ok(()),
    }
}

impl Page {
    pub async fn get(
        client: &Client,
        mut url: Url,
        limit: u64,
        may_reach: fn(IpAddr) -> bool,
    ) -> Result<Self, String> {
        for _ in 0..=REDIRECTS {
            let response = ask(client, &url).await?;
            if response.remote_addr().is_some_and(|address| !may_reach(address.ip())) {
                return Err(Private(host(&url)).to_string());
            }
            match next(&url, &response)? {
                Some(next) => {
                    check(&next, may_reach)
                        .map_err(|problem| format!("{} redirects: {problem}", host(&url)))?;
                    url = next;
                }
                None => return Self::read(url, response, limit).await,
            }
        }
        Err(format!("there were more than {REDIRECTS} redirects, the last one from {}", host(&url)))
    }

    async fn read(url: Url, mut response: Response, limit: u64) -> Result<Self, String> {
        let header = |name| {
            let value = response.headers().get(name)?;
            Some(String::from_utf8_lossy(value.as_bytes()).trim().to_owned())
        };
        let content_type = header(CONTENT_TYPE);
        let mut encoding = header(CONTENT_ENCODING)
            .filter(|value| !value.is_empty() && !value.eq_ignore_ascii_case("identity"));
        let status = response.status();
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut body = Vec::new();
        while body.len() <= most {
            let piece = response.chunk().await.map_err(|error| {
                format!("the page of {} broke off: {}", host(&url), root(&error))
            })?;
            match piece {
                // One byte too many tells a cut page from one that just fits.
                Some(piece) => body.extend(piece.iter().take(most + 1 - body.len())),
                None => break,
            }
        }
        let mut is_cut = body.len() > most;
        body.truncate(most);
        if encoding.as_deref().is_some_and(is_gzip) {
            encoding = None;
            (body, is_cut) = unpack(body.as_slice(), limit, is_cut);
        }
        Ok(Self { status, url, content_type, encoding, body, limit, is_cut })
    }

    /// What a model is given. A page that says it is none is a failure of the call, with the same text.
    pub fn into_output(self, form: Form) -> Result<Output, Failure> {
        let Self { status, url, content_type, encoding, body, limit, is_cut } = self;
        let kind = content_type.as_deref().unwrap_or("no content type");
        let mut text = format!("[{status}, {}, {url}]\n", reveal_line(kind));
        let size = if is_cut { format!("more than {limit}") } else { body.len().to_string() };
        let content = match encoding {
            Some(encoding) => Content::Binary(Some(encoding)),
            None => text::read(content_type.as_deref(), &body, &url, form),
        };
        match &content {
            Content::Text(content) => text.push_str(content),
            Content::Binary(Some(how)) => {
                text.push_str(&format!(
                    "packed with {}: {size} bytes, not shown",
                    reveal_line(how)
                ));
            }
            Content::Binary(None) if body.is_empty() => text.push_str("(empty)"),
            Content::Binary(None) => text.push_str(&format!("binary: {size} bytes, not shown")),
        }
        if is_cut && matches!(content, Content::Text(_)) {
            text.push_str(&format!("\n[cut: only the first {limit} bytes of the page were read]"));
        }
        let details = json!({
            "status": status.as_u16(), "url": url.as_str(), "content_type": content_type,
            "bytes": body.len(), "truncated": is_cut,
        });
        let output = Output { details, ..Output::text(text) };
        if status.is_success() { Ok(output) } else { Err(Failure::Failed(output)) }
    }
}

async fn ask(client: &Client, url: &Url) -> Result<Response, String> {
    let request = client.get(url.clone()).header(ACCEPT, ACCEPTED).header(ACCEPT_ENCODING, "gzip");
    request.send().await.map_err(|error| {
        let mut cause = error.source();
        while let Some(found) = cause {
            if let Some(private) = found.downcast_ref::<Private>() {
                return private.to_string();
            }
            cause = found.source();
        }
        format!("cannot reach {}: {}", host(url), root(&error))
    })
}

/// Where a reply sends the client.
fn next(url: &Url, response: &Response) -> Result<Option<Url>, String> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else {
        return Ok(None);
    };
    redirected(url, &String::from_utf8_lossy(location.as_bytes())).map(Some)
}

pub fn redirected(url: &Url, location: &str) -> Result<Url, String> {
    let mut next = url.join(location).map_err(|error| {
        format!(
            "{} redirects to `{}`, which is not a URL: {error}",
            host(url),
            reveal_line(location)
        )
    })?;
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(format!(
            "{} redirects from https to http, which is not followed; fetch {} if that is meant",
            host(url),
            reveal_line(next.as_str())
        ));
    }
    next.set_fragment(None);
    Ok(next)
}

fn is_gzip(encoding: &str) -> bool {
    encoding.eq_ignore_ascii_case("gzip") || encoding.eq_ignore_ascii_case("x-gzip")
}

/// Unpacks no more than the limit, however much is packed. Of a body that is cut or damaged, what can be unpacked.
pub fn unpack(packed: impl Read, limit: u64, was_cut: bool) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    let whole = MultiGzDecoder::new(packed).take(limit.saturating_add(1)).read_to_end(&mut body);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let is_cut = was_cut || whole.is_err() || body.len() > most;
    body.truncate(most);
    (body, is_cut)
}

/// What was asked, without what a path or query may give away.
fn host(url: &Url) -> String {
    reveal_line(url.host_str().unwrap_or("the host")).into_owned()
}

fn root(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}
