//! Counts and times every request, and watches the event streams that are open.
//! Runs around all routes. Never looks into a body but to count the events of a stream.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use futures::StreamExt as _;

use super::metrics::{self, Metrics};
use super::names::OTHER;
use crate::app::App;

pub(crate) async fn measure(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let metrics = &app.metrics;
    let began = Instant::now();
    let method = method(request.method());
    let matched = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let route: Arc<str> = Arc::from(matched.unwrap_or(OTHER));
    // A client that leaves drops this future: what was begun must end then, too.
    let waiting = InFlight::begin(metrics);
    let response = next.run(request).await;
    drop(waiting);
    let status = class(response.status());
    metrics.answered(&metrics::Request { route, method, status }, began.elapsed());
    if is_stream(response.headers()) { watched(metrics, response) } else { response }
}

struct InFlight(Arc<Metrics>);

impl InFlight {
    fn begin(metrics: &Arc<Metrics>) -> Self {
        metrics.request_began();
        Self(Arc::clone(metrics))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.request_left();
    }
}

struct OpenStream(Arc<Metrics>);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.stream_closed();
    }
}

/// The same stream, open for as long as somebody reads it.
fn watched(metrics: &Arc<Metrics>, response: Response) -> Response {
    metrics.stream_opened();
    let open = OpenStream(Arc::clone(metrics));
    response.map(|body| {
        let pieces = body.into_data_stream().inspect(move |piece| {
            if let Ok(bytes) = piece {
                open.0.streamed(events_in(bytes));
            }
        });
        Body::from_stream(pieces)
    })
}

/// Events end with an empty line; comments that keep the connection open are none.
fn events_in(piece: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(piece);
    let blocks = text.split("\n\n");
    let events = blocks.filter(|block| block.lines().any(|line| line.starts_with("data:")));
    u64::try_from(events.count()).unwrap_or(u64::MAX)
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/event-stream"))
}

fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}

/// Clients can make methods up.
fn method(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_counted_and_comments_are_not() {
        for (piece, number) in [
            ("id: 1\nevent: tool\ndata: {}\n\n", 1),
            ("data: a\n\nid: 2\ndata: b\n\n", 2),
            ("data: a\ndata: b\n\n", 1),
            (": still here\n\n", 0),
            ("retry: 1000\n\n", 0),
            ("", 0),
        ] {
            assert_eq!(events_in(piece.as_bytes()), number, "{piece:?}");
        }
    }

    #[test]
    fn a_method_nobody_knows_is_one_of_many() {
        assert_eq!(method(&Method::from_bytes(b"BREW").unwrap()), OTHER);
        assert_eq!(method(&Method::PATCH), "PATCH");
    }
}
