//! Decides when a request's body has stood still for too long: whoever dribbles must not hold a place for ever.
//! Put around every body by `limits::admit`. Never limits how long a body takes that keeps coming.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use hyper::body::{Body as _, Frame, SizeHint};
use tokio::time::Sleep;

/// The body stood still.
#[derive(Debug, thiserror::Error)]
#[error("no more of the body came for {} s", .0.as_secs_f64())]
pub(crate) struct TooSlow(Duration);

pub(super) fn watched(request: Request, limit: Duration) -> Request {
    if request.body().is_end_stream() {
        return request;
    }
    request.map(|inner| Body::new(Watched { inner, limit, waiting: None }))
}

struct Watched {
    inner: Body,
    limit: Duration,
    /// Runs while a piece is waited for.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) {
            self.waiting = None;
            return Poll::Ready(frame);
        }
        let limit = self.limit;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => {
                self.waiting = None;
                Poll::Ready(Some(Err(axum::Error::new(TooSlow(limit)))))
            }
            Poll::Pending => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
