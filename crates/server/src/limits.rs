//! Decides how much the server takes at once, and says so when it is too much.
//! Layers around every route. What is refused here has had no effect; what was accepted is never given up.

mod bucket;
mod slow;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::access::Identity;
use crate::app::App;
use crate::held::{self, Kind};
use crate::listen::Link;
use crate::problem::Problem;

use bucket::Buckets;
pub(crate) use slow::TooSlow;

/// Attempts to sign in from one address at once, and after that in a second. Nobody guesses a token; a log should not fill
/// with those who try.
const SIGN_INS: u32 = 20;
const SIGN_INS_PER_SECOND: f64 = 0.5;

/// How much a server takes. The defaults suit a machine that other things run on, too.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Bytes of one request's body: 8 MiB. Routes for larger things say so.
    pub body_bytes: usize,
    /// Bytes of a world that is imported: 256 MiB. All of it is held in memory while it is looked through.
    pub import_bytes: usize,
    /// Bytes of all headers of one request: 64 KiB.
    pub header_bytes: usize,
    /// Headers of one request: 100.
    pub headers: usize,
    /// Connections that carry no stream: 1,024. Further ones wait until one is free, and for that those go that do
    /// nothing: see `crowded_idle`.
    pub connections: usize,
    /// Requests that are being worked on: 512. Further ones are refused.
    pub requests: usize,
    /// Event streams and WebSockets that are open: 2,048. Further ones are refused.
    pub streams: usize,
    /// Requests that change something, for each person: 1,000 in a second,
    pub writes_per_second: f64,
    /// and 2,000 at once after a quiet time.
    pub write_burst: u32,
    /// How long a request's head may take, and how long a connection may be idle: 15 s.
    pub header_timeout: Duration,
    /// How long a body may stand still: 30 s.
    pub body_timeout: Duration,
    /// How long a client may take nothing of what it is sent: 30 s. Then its connection is closed. Streams of events have a
    /// bound of their own on how far a reader may be behind.
    pub write_timeout: Duration,
    /// How long a connection may be idle while another waits for its place: 1 s.
    pub crowded_idle: Duration,
    /// How long requests may take to finish when the server stops: 10 s.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 8 << 20,
            import_bytes: 256 << 20,
            header_bytes: 64 << 10,
            headers: 100,
            connections: 1_024,
            requests: 512,
            streams: 2_048,
            writes_per_second: 1_000.0,
            write_burst: 2_000,
            header_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            crowded_idle: Duration::from_secs(1),
            grace: Duration::from_secs(10),
        }
    }
}

/// What is left of the limits.
#[derive(Debug)]
pub(crate) struct Gate {
    pub limits: Limits,
    requests: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    writes: Buckets,
    /// By address: attempts to sign in.
    pub sign_ins: Buckets,
}

impl Gate {
    pub fn new(limits: Limits) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(limits.requests.min(Semaphore::MAX_PERMITS))),
            streams: Arc::new(Semaphore::new(limits.streams.min(Semaphore::MAX_PERMITS))),
            writes: Buckets::new(limits.writes_per_second, limits.write_burst),
            sign_ins: Buckets::new(SIGN_INS_PER_SECOND, SIGN_INS),
            limits,
        }
    }

    fn request(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let free = Arc::clone(&self.requests).try_acquire_owned();
        free.map_err(|_| {
            let detail = "the server is working on as many requests as it takes; try again soon";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_busy", detail)
        })
    }

    fn stream(&self) -> Result<OwnedSemaphorePermit, Problem> {
        let free = Arc::clone(&self.streams).try_acquire_owned();
        free.map_err(|_| {
            let detail = "as many streams are open as the server takes; close one, or try again";
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail)
        })
    }
}

/// Takes a request if there is room for it, and keeps its room until it is answered.
pub(crate) async fn admit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let gate = &app.gate;
    if let Err(problem) = check_headers(request.headers(), &gate.limits) {
        return problem.into_response();
    }
    // Whoever asks whether the process lives or is ready must not be told that it is busy.
    if matches!(request.uri().path(), "/healthz" | "/readyz") {
        return next.run(request).await;
    }
    // Who waits for something to happen does no work meanwhile, and takes no place of those who do.
    let waits = request.uri().query().is_some_and(|query| query.contains("wait="));
    let room = if waits || announces_stream(request.headers()) {
        gate.stream().map(Room::Stream)
    } else {
        gate.request().map(Room::Request)
    };
    let room = match room {
        Ok(room) => room,
        Err(problem) => return problem.into_response(),
    };
    let link = request.extensions().get::<Arc<Link>>().cloned();
    let version = request.version();
    let request = slow::watched(request, gate.limits.body_timeout);
    let response = next.run(request).await;
    settle(gate, room, link.as_deref(), version, response)
}

/// Which bound a request counts against, for as long as this is kept.
#[derive(Debug)]
#[expect(dead_code, reason = "what counts is that it is not dropped")]
enum Room {
    Request(OwnedSemaphorePermit),
    Stream(OwnedSemaphorePermit),
}

fn settle(
    gate: &Gate,
    room: Room,
    link: Option<&Link>,
    version: Version,
    mut response: Response,
) -> Response {
    let kind = held::kind(&response);
    let room = match (kind, room) {
        // The work is done: how fast the client reads it is no reason to refuse another's request. A connection has one
        // such answer at a time, so what they hold is bounded by the number of connections,
        (Kind::Whole, _) if version < Version::HTTP_2 => return response,
        // but where it has many at once, only by the number of requests.
        (Kind::Whole, room) => room,
        // Not announced, but a stream. Where no room is left for it, it goes on to count as a request: it has had its
        // effect already and cannot be refused any more.
        (Kind::Stream | Kind::Upgrade, Room::Request(room)) => match gate.stream() {
            Ok(stream) => Room::Stream(stream),
            Err(_) => Room::Request(room),
        },
        (_, room) => room,
    };
    if let (Some(link), true) = (link, held::is_unhurried(&response) && version < Version::HTTP_2) {
        link.leave_time();
    }
    if let (Kind::Stream | Kind::Upgrade, Room::Stream(_), Some(link), true) =
        (kind, &room, link, version < Version::HTTP_2)
    {
        // A connection that carries nothing but a stream is counted as one. It is not used again afterwards.
        link.leave_place();
        if kind == Kind::Stream {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
    }
    match (kind, link) {
        (Kind::Upgrade, Some(link)) => {
            link.keep(room);
            response
        }
        _ => held::holding(response, room),
    }
}

fn announces_stream(headers: &HeaderMap) -> bool {
    let begins = |name: header::HeaderName, with: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    begins(header::ACCEPT, "text/event-stream") || begins(header::UPGRADE, "websocket")
}

fn check_headers(headers: &HeaderMap, limits: &Limits) -> Result<(), Problem> {
    // As they are on the wire: `name: value` and the end of the line.
    let bytes: usize =
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if headers.len() <= limits.headers && bytes <= limits.header_bytes {
        return Ok(());
    }
    let detail = format!(
        "the request has {} headers of {bytes} bytes in all; this server takes {} of {} bytes",
        headers.len(),
        limits.headers,
        limits.header_bytes
    );
    Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", detail))
}

/// Slows down whoever changes more in a second than a person or a careful program would.
pub(crate) async fn pace(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let only_reads = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    if !only_reads
        && let Some(identity) = request.extensions().get::<Identity>()
        && let Err(wait) = app.gate.writes.take(&identity.principal.name, Instant::now())
    {
        return too_fast(&identity.principal.name, wait);
    }
    next.run(request).await
}

pub(crate) fn too_fast(name: &str, wait: Duration) -> Response {
    let seconds = wait.as_secs_f64().ceil().clamp(1.0, 3_600.0);
    let detail = format!("{name} does this faster than this server allows; wait {seconds} s");
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail);
    let mut response = problem.into_response();
    if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
        response.headers_mut().insert(header::RETRY_AFTER, value);
    }
    response
}
