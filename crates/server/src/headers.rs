//! Decides what every answer carries besides itself: what browsers may do with it, and the id its request is found by
//! in the log. The outermost layer. Never logs a query, a header or a body: secrets travel in all three.

use std::any::Any;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tracing::Instrument as _;
use tracing::field::Empty;

use crate::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Scripts, styles and connections of this origin only, nothing inline, in nobody's frame.
const CONTENT_POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                              frame-ancestors 'none'; object-src 'none'";

/// What no page here needs.
const PERMISSIONS: &str = "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), \
                           magnetometer=(), microphone=(), payment=(), usb=()";

const ALWAYS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), PERMISSIONS),
];

/// Gives a request an id and a span, and its answer the headers that all have.
pub(crate) async fn dress(request: Request, next: Next) -> Response {
    let id = format!("{:032x}", rand::random::<u128>());
    // The route and not the path: what people name their worlds is theirs.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str);
    let span = tracing::info_span!(
        "request",
        id,
        method = %request.method(),
        route,
        principal = Empty,
        status = Empty,
        duration_ms = Empty,
    );
    let private = is_private(request.uri().path());
    let version = request.version();
    let start = Instant::now();
    let mut response = next.run(request).instrument(span.clone()).await;
    let duration = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
    span.record("status", response.status().as_u16());
    span.record("duration_ms", duration);
    span.in_scope(|| tracing::info!("answered"));
    put(response.headers_mut(), &id, private);
    if leaves_body_unread(response.status()) && version <= Version::HTTP_11 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn put(headers: &mut HeaderMap, id: &str, private: bool) {
    for (name, value) in ALWAYS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // A page that needs something else says so itself.
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static(CONTENT_POLICY));
    if private {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
}

/// The connection ends with such an answer: a client that is not told would send its next request into nothing.
fn leaves_body_unread(status: StatusCode) -> bool {
    matches!(status, StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_TIMEOUT)
}

fn is_private(path: &str) -> bool {
    path.starts_with("/api") || path.starts_with("/v1") || path == "/metrics"
}

/// The answer to a request whose handler panicked. What it said goes to the log.
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
    Problem::internal(format!("a handler panicked: {text}")).into_response()
}
