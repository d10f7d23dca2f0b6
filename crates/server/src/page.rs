//! Serves the web page: the same document for all its views, and the files it needs.
//! Needs no token: what it shows it asks the interface for. Nothing here knows what the page does.

use std::sync::Arc;

use agent_world_web::page::{self, Asset, INDEX};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::app::App;
use crate::problem;

/// What the page shows, by address.
const VIEWS: [&str; 12] = [
    "/",
    "/audit",
    "/inbox",
    "/inbox/{approval}",
    "/sign-in",
    "/stats",
    "/w/{world}",
    "/w/{world}/c/{chat}",
    "/w/{world}/c/{chat}/m/{message}",
    "/w/{world}/history",
    "/w/{world}/settings",
    "/worlds",
];

/// Nothing inline, nothing from elsewhere. Images that somebody attached to a message are part of it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
                      connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

/// The page itself is asked for every time; its files have their content in their names.
const ASKED: &str = "no-cache";
const KEPT: &str = "public, max-age=31536000, immutable";

pub(crate) fn routes() -> Router<Arc<App>> {
    let mut routes = Router::new().route("/assets/{*path}", get(asset));
    for view in VIEWS {
        let read = |uri: Uri, headers: HeaderMap| async move {
            answer(found(INDEX, ASKED, &headers), uri).await
        };
        routes = routes.route(view, get(read));
    }
    // An icon and the like, which browsers look for at the top.
    for path in page::paths().filter(|path| !path.contains('/') && path != INDEX) {
        let address = format!("/{path}");
        let read = |uri: Uri, headers: HeaderMap| async move {
            answer(found(&path, ASKED, &headers), uri).await
        };
        routes = routes.route(&address, get(read));
    }
    routes
}

/// Whether an address is of the page.
pub(crate) fn is_of_page(path: &str) -> bool {
    let fits = |view: &str| {
        let (mut parts, mut wanted) = (path.split('/'), view.split('/'));
        loop {
            match (parts.next(), wanted.next()) {
                (None, None) => return true,
                (Some(part), Some(name)) if name.starts_with('{') && !part.is_empty() => {}
                (Some(part), Some(name)) if part == name => {}
                _ => return false,
            }
        }
    };
    let at_top = || path.strip_prefix('/').is_some_and(|name| page::find(name).is_some());
    path.starts_with("/assets/") || VIEWS.into_iter().any(fits) || at_top()
}

/// An address that nothing is at. Whoever looks at it in a browser is led on by the page; programs are told as anywhere else.
pub(crate) async fn nowhere(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let is_looked_at = method == Method::GET && wants_document(&headers);
    let is_interface = ["/api/", "/v1/"].iter().any(|start| uri.path().starts_with(start));
    // Sent plain and whole: nothing that a browser has kept is of this address.
    if is_looked_at
        && !is_interface
        && let Some(document) = found(INDEX, ASKED, &HeaderMap::new())
    {
        return (StatusCode::NOT_FOUND, document).into_response();
    }
    problem::no_route(uri).await.into_response()
}

fn wants_document(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| value.contains("text/html"))
}

async fn asset(Path(path): Path<String>, uri: Uri, headers: HeaderMap) -> Response {
    answer(found(&format!("assets/{path}"), KEPT, &headers), uri).await
}

async fn answer(found: Option<Response>, uri: Uri) -> Response {
    match found {
        Some(response) => response,
        None => problem::no_route(uri).await.into_response(),
    }
}

fn found(path: &str, caching: &'static str, headers: &HeaderMap) -> Option<Response> {
    let asset = page::find(path)?;
    let encoding = Encoding::best(headers, &asset);
    let tag = tag(&asset, encoding);
    let is_known = is_known(headers, &tag);
    let (content_type, content) = (asset.content_type, encoding.content(asset));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::from(content).into_response(),
    };
    let answer = response.headers_mut();
    let mut put = |name, value: &'static str| answer.insert(name, HeaderValue::from_static(value));
    put(header::CACHE_CONTROL, caching);
    put(header::VARY, "accept-encoding");
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    if !is_known {
        put(header::CONTENT_TYPE, content_type);
        encoding.name().map(|name| put(header::CONTENT_ENCODING, name));
    }
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        answer.insert(header::ETAG, tag);
    }
    Some(response)
}

/// How a file is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Brotli,
    Gzip,
    Plain,
}

impl Encoding {
    /// The smallest that there is and that is accepted.
    fn best(headers: &HeaderMap, asset: &Asset) -> Self {
        if asset.brotli.is_some() && accepts(headers, "br") {
            Self::Brotli
        } else if asset.gzip.is_some() && accepts(headers, "gzip") {
            Self::Gzip
        } else {
            Self::Plain
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Brotli => Some("br"),
            Self::Gzip => Some("gzip"),
            Self::Plain => None,
        }
    }

    fn content(self, asset: Asset) -> Bytes {
        let content = match self {
            Self::Brotli => asset.brotli,
            Self::Gzip => asset.gzip,
            Self::Plain => None,
        };
        match content.unwrap_or(asset.content) {
            std::borrow::Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            std::borrow::Cow::Owned(bytes) => Bytes::from(bytes),
        }
    }
}

/// Whether a client takes an encoding: named, or covered by `*`, and not with a weight of nothing.
fn accepts(headers: &HeaderMap, encoding: &str) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter();
    let ranges: Vec<&str> =
        values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).collect();
    let weight = |wanted: &str| {
        ranges.iter().find_map(|range| {
            let (name, weight) = range.split_once(';').unwrap_or((range, ""));
            let weight = weight.trim().strip_prefix("q=").map_or(Ok(1.0), str::parse::<f32>);
            name.trim().eq_ignore_ascii_case(wanted).then(|| weight.unwrap_or(0.0))
        })
    };
    weight(encoding).or_else(|| weight("*")).is_some_and(|weight| weight > 0.0)
}

/// What is sent, encoded as it is, has a tag of its own.
fn tag(asset: &Asset, encoding: Encoding) -> String {
    let digest: String = asset.digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    match encoding.name() {
        Some(name) => format!("\"{digest}-{name}\""),
        None => format!("\"{digest}\""),
    }
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter();
    let mut known =
        values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    known.any(|known| matches!(known.trim(), "*") || known.trim().trim_start_matches("W/") == tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_told_from_other_addresses() {
        for path in ["/", "/w/my-world", "/w/a/c/chat_1/m/msg_2", "/inbox/apr_1", "/assets/x.js"] {
            assert!(is_of_page(path), "{path}");
        }
        for path in
            ["/w", "/w/", "/w/a/b", "/api/worlds", "/metrics", "/inbox/a/b", "//", "/v1/models"]
        {
            assert!(!is_of_page(path), "{path}");
        }
    }

    #[test]
    fn an_encoding_is_taken_when_the_client_wants_it() {
        let wants = |value: &'static str, encoding| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            accepts(&headers, encoding)
        };
        assert!(wants("gzip, deflate, br", "br"));
        assert!(wants("gzip;q=0.5, BR", "br"));
        assert!(wants("*", "gzip"));
        assert!(!wants("gzip, br;q=0", "br"));
        assert!(!wants("*;q=0, gzip", "br"));
        assert!(!wants("", "br"));
        assert!(!wants("br;q=much", "br"));
    }
}
