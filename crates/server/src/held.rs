//! Decides how long what belongs to an answer is kept: until its body has been handed over, or somebody ends it.
//! Used by the layers around all routes. Never looks into what is answered.

use std::any::Any;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::response::Response;
use hyper::body::{Body as _, Frame, SizeHint};

/// Resolves when something is over.
pub(crate) type Until = Pin<Box<dyn Future<Output = ()> + Send>>;

/// How an answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All of it is in memory.
    Whole,
    /// It is made while it is sent.
    Parts,
    /// Events, as they happen.
    Stream,
    /// The connection is a WebSocket from now on.
    Upgrade,
}

pub(crate) fn kind(response: &Response) -> Kind {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Kind::Upgrade;
    }
    let content = response.headers().get(header::CONTENT_TYPE);
    if content.is_some_and(|content| content.as_bytes().starts_with(b"text/event-stream")) {
        return Kind::Stream;
    }
    match response.body().size_hint().exact() {
        Some(_) => Kind::Whole,
        None => Kind::Parts,
    }
}

/// Of an answer whose reader is given up by whoever makes it, not by how fast it takes bytes.
#[derive(Clone, Copy, Debug)]
struct Unhurried;

pub(crate) fn unhurried(mut response: Response) -> Response {
    response.extensions_mut().insert(Unhurried);
    response
}

pub(crate) fn is_unhurried(response: &Response) -> bool {
    response.extensions().get::<Unhurried>().is_some()
}

/// Keeps something until the answer has been handed over or given up.
pub(crate) fn holding(response: Response, kept: impl Any + Send) -> Response {
    response.map(|inner| Body::new(Held { inner, kept: Some(Box::new(kept)), until: None }))
}

/// Ends the answer when something is over.
pub(crate) fn until(response: Response, until: Until) -> Response {
    response.map(|inner| Body::new(Held { inner, kept: None, until: Some(until) }))
}

struct Held {
    inner: Body,
    kept: Option<Box<dyn Any + Send>>,
    until: Option<Until>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Some(until) = &mut self.until
            && until.as_mut().poll(context).is_ready()
        {
            self.until = None;
            self.inner = Body::empty();
        }
        let frame = Pin::new(&mut self.inner).poll_frame(context);
        if matches!(frame, Poll::Ready(None | Some(Err(_)))) {
            self.kept = None;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
