//! Decides when a client has taken a piece of an answer, where several answers share a connection: each is handed over
//! in pieces, and a piece is taken when nothing holds its bytes any more.
//! Put around answers by `listen`, which closes connections whose clients take nothing. Changes nothing of what is sent.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};

use super::link::{Link, Offer};

/// Bytes of a piece: whoever takes this much within the time is not cut off.
const PIECE: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Sending {
    inner: Body,
    /// What of the last part of the body was not handed over yet.
    rest: Bytes,
    link: Arc<Link>,
    /// While it is the client's turn; absent while the answer itself has no more yet.
    offer: Option<Offer>,
}

impl Sending {
    pub fn new(inner: Body, link: Arc<Link>) -> Self {
        let offer = Some(link.offer());
        Self { inner, rest: Bytes::new(), link, offer }
    }

    fn piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(self.rest.len().min(PIECE));
        let offer = self.link.offer();
        // The next piece is the client's to ask for.
        self.offer = Some(self.link.offer());
        Frame::data(Bytes::from_owner(Piece { bytes, _offer: offer }))
    }
}

/// Bytes, and the knowledge of when they are gone.
struct Piece {
    bytes: Bytes,
    _offer: Offer,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl hyper::body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(self.piece())));
        }
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Pending => {
                self.offer = None;
                Poll::Pending
            }
            Poll::Ready(Some(Ok(frame))) => Poll::Ready(Some(Ok(match frame.into_data() {
                Ok(data) if data.is_empty() => Frame::data(data),
                Ok(data) => {
                    self.rest = data;
                    self.piece()
                }
                Err(other) => other,
            }))),
            Poll::Ready(ended) => {
                self.offer = None;
                Poll::Ready(ended)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let inner = self.inner.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint.set_lower(inner.lower().saturating_add(rest));
        hint
    }
}
