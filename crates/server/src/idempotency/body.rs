//! Follows a request's body while a route reads it, to know whether a repetition sends the same.
//! Used by `idempotency`. Never holds the body: it may be large, and the route has limits of its own.

use std::sync::{Arc, Mutex, PoisonError};

use async_stream::stream;
use axum::body::Body;
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// What a route read of a body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Sent {
    /// It did not look: whatever is sent makes no difference.
    Unread,
    /// All of it.
    Read { bytes: u64, digest: String },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Reading(Arc<Mutex<Progress>>);

#[derive(Debug, Default)]
struct Progress {
    state: State,
    bytes: u64,
    hasher: Sha256,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Untouched,
    Begun,
    Ended,
}

impl Reading {
    /// The same body, followed.
    pub fn follow(body: Body) -> (Body, Self) {
        let reading = Self::default();
        let followed = reading.clone();
        let pieces = stream! {
            let mut pieces = body.into_data_stream();
            followed.change(|progress| progress.state = State::Begun);
            while let Some(piece) = pieces.next().await {
                if let Ok(bytes) = &piece {
                    followed.change(|progress| progress.add(bytes));
                }
                yield piece;
            }
            followed.change(|progress| progress.state = State::Ended);
        };
        (Body::from_stream(pieces), reading)
    }

    /// None where the route gave up in the middle: nobody knows what the rest would have been.
    pub fn digest(&self) -> Option<Sent> {
        let mut progress = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match progress.state {
            State::Untouched => Some(Sent::Unread),
            State::Begun => None,
            State::Ended => Some(progress.sent()),
        }
    }

    fn change(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Progress {
    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    }

    fn sent(&mut self) -> Sent {
        let digest = super::record::hexadecimal(&self.hasher.finalize_reset());
        Sent::Read { bytes: self.bytes, digest }
    }
}

impl Sent {
    /// Whether a body is the one that was read. Gives up as soon as it is longer.
    pub async fn is(&self, body: Body) -> bool {
        let Self::Read { bytes: length, .. } = self else { return true };
        let mut progress = Progress::default();
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let Ok(piece) = piece else { return false };
            progress.add(&piece);
            if progress.bytes > *length {
                return false;
            }
        }
        progress.sent() == *self
    }
}
