//! Decides what one reader of a stream is sent: first what the log has after the last event it knows, as fast as its
//! connection takes it, then what happens, live. See `hub` for why nothing is missing or twice.
//! Called by the routes. Ends when what is followed is deleted, the server stops, or the reader is too slow.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use agent_world_runtime::store;
use async_stream::stream;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use futures::Stream;
use tokio::time::{Instant, MissedTickBehavior};

use super::Topic;
use super::frame::{self, Frame, Order};
use super::hub::{Hub, Place};
use super::mailbox::{BATCH, Caught, Found};
use super::number::Number;
use super::telling::Ends;
use super::wire::{Kind, Wish};
use crate::held;
use crate::problem::Problem;

/// How often a stream says something at least.
const PULSE: Duration = Duration::from_secs(15);
/// Events read at once. A reader holds no more than these while its connection is busy.
const PAGE: usize = 64;

const BEGINS: HeaderName = HeaderName::from_static("last-event-id");
const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Answers with a stream of what happens after an event.
pub(super) async fn follow(
    hub: &Hub,
    topic: Topic,
    wish: Wish,
    after: Number,
) -> Result<Response, Problem> {
    let place = hub.join(topic.clone(), wish).await?;
    let newest = hub.store().position().await?;
    topic.check(hub.store()).await?;
    place.mailbox.is_there(newest);
    let reader = Reader {
        hub: hub.clone(),
        place,
        // Whoever claims to know more than there is gets what comes.
        known: after.min(Number::end_of(newest)),
        topic,
        wish,
        since: newest,
    };
    let headers =
        [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store"), (NO_BUFFERING, "no")];
    // Whoever begins at the live end can resume before the first event.
    let begins = [(BEGINS, reader.known.0.to_string())];
    // The mailbox decides who is too slow, and then there is still something to be said.
    let response = (headers, begins, Body::from_stream(reader.read())).into_response();
    Ok(held::unhurried(response))
}

struct Reader {
    hub: Hub,
    place: Place,
    topic: Topic,
    wish: Wish,
    /// All up to here was sent, or read and not wanted.
    known: Number,
    /// It existed after everything up to this position: an earlier deletion was of a namesake.
    since: u64,
}

/// How far a reading of the log has come.
enum Reading {
    /// The log may have more.
    Page(Vec<Bytes>),
    /// The log has no more; the stream is live from here.
    End(Vec<Bytes>),
    /// What is followed is deleted: nothing comes after this.
    Gone(Vec<Bytes>),
}

impl Reader {
    fn read(mut self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream! {
            yield Ok(frame::PREAMBLE);
            loop {
                if self.place.mailbox.is_stopping() {
                    return;
                }
                match self.read_log().await {
                    Ok(Reading::Page(batches)) => for batch in batches { yield Ok(batch); },
                    Ok(Reading::Gone(batches)) => {
                        for batch in batches { yield Ok(batch); }
                        return;
                    }
                    Ok(Reading::End(batches)) => {
                        for batch in batches { yield Ok(batch); }
                        match self.place.mailbox.caught_up() {
                            Caught::Up => break,
                            // What was followed can be gone without a word in the log: with its world.
                            Caught::Behind if self.topic.check(self.hub.store()).await.is_err() => return,
                            Caught::Behind => {}
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a stream of events cannot read the log");
                        yield Ok(frame::error("store_unavailable", "the log cannot be read now; resume after the last id"));
                        return;
                    }
                }
            }
            let begun = self.hub.begun(&self.topic);
            if self.wish.types.contain(Kind::Stream) {
                for reply in &begun.replies {
                    if let Some(frame) = self.hub.begun_frame(reply, self.wish.form).await {
                        yield Ok(frame.bytes);
                    }
                }
            }
            let mut pulse = tokio::time::interval_at(Instant::now() + PULSE, PULSE);
            pulse.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mailbox = Arc::clone(&self.place.mailbox);
            let mut taken = Vec::new();
            loop {
                taken.clear();
                let found = tokio::select! {
                    biased;
                    found = poll_fn(|context| mailbox.poll_take(context, &mut taken)) => Some(found),
                    _ = pulse.tick() => None,
                };
                match found {
                    None => yield Ok(frame::KEEP_ALIVE),
                    Some(Found::Frames) => {
                        let fresh = |frame: &&Frame| self.is_new(frame, begun.number);
                        if let Some(batch) = joined(taken.iter().filter(fresh)) {
                            yield Ok(batch);
                        }
                    }
                    Some(Found::End) => return,
                    Some(Found::Unreadable) => {
                        yield Ok(frame::error("log_unreadable", "something in the log cannot be read; resume after the last id, or without one"));
                        return;
                    }
                    Some(Found::TooSlow) => {
                        yield Ok(frame::error("slow_reader", "the stream was read too slowly and ends here; resume after the last id"));
                        return;
                    }
                }
            }
        }
    }

    /// Whether a live frame tells something that the log and the replies so far have not.
    fn is_new(&self, frame: &Frame, begun: u64) -> bool {
        match frame.order {
            Order::Stored(number) => number > self.known,
            Order::Piece(number) => number > begun,
            Order::Output => true,
        }
    }

    /// Reads on in the log, by one page.
    async fn read_log(&mut self) -> Result<Reading, store::Error> {
        let after = self.known.read_after();
        let page = self.hub.store().events(&self.topic.scope(), after, PAGE).await?;
        let is_last = page.len() < PAGE;
        let mut batches = Batches::default();
        for event in &page {
            let told = self.hub.telling().tell(event, self.wish.form).await?;
            for frame in &told.frames {
                if self.wish.types.contain(frame.kind) && self.is_new(frame, u64::MAX) {
                    batches.add(frame);
                }
            }
            self.known = self.known.max(Number::end_of(event.position));
            if self.is_end(told.ends) && event.position > self.since {
                return Ok(Reading::Gone(batches.done()));
            }
        }
        let batches = batches.done();
        Ok(if is_last { Reading::End(batches) } else { Reading::Page(batches) })
    }

    fn is_end(&self, ends: Ends) -> bool {
        match &self.topic {
            Topic::All => false,
            Topic::World(_) => ends == Ends::World,
            Topic::Chat(..) => ends == Ends::Chat,
        }
    }
}

/// Frames put together for the connection, some at a time.
#[derive(Default)]
struct Batches {
    done: Vec<Bytes>,
    open: BytesMut,
}

impl Batches {
    fn add(&mut self, frame: &Frame) {
        if !self.open.is_empty() && self.open.len() + frame.bytes.len() > BATCH {
            self.done.push(self.open.split().freeze());
        }
        self.open.extend_from_slice(&frame.bytes);
    }

    fn done(mut self) -> Vec<Bytes> {
        if !self.open.is_empty() {
            self.done.push(self.open.freeze());
        }
        self.done
    }
}

/// One piece of a body: a frame as it is, or several in one. Fewer pieces mean fewer writes.
fn joined<'a>(mut frames: impl Iterator<Item = &'a Frame>) -> Option<Bytes> {
    let first = frames.next()?;
    let Some(second) = frames.next() else {
        return Some(first.bytes.clone());
    };
    let mut batch = BytesMut::with_capacity(BATCH);
    batch.extend_from_slice(&first.bytes);
    batch.extend_from_slice(&second.bytes);
    frames.for_each(|frame| batch.extend_from_slice(&frame.bytes));
    Some(batch.freeze())
}
