//! Holds what one reader of a stream has still to be sent, and decides when it has too much.
//!
//! Bounded in frames and in bytes. The hub fills it and never waits; its reader empties it. What does not fit means:
//!
//! - while the reader still reads the log (`CatchingUp`), it is left behind: the mailbox is emptied and takes nothing until
//!   the reader has come to the end of the log again. It misses nothing that way, for all of it is in the log.
//! - afterwards (`Live`), it is cut off: the mailbox is emptied for good and its reader is told that it was too slow.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use agent_world_core::ids::WorldId;
use futures::task::AtomicWaker;

use super::frame::Frame;
use super::telling::Told;
use super::wire::{Kind, Wish};

/// Frames a live reader may be behind: some seconds of a reply that streams fast.
const FRAMES: usize = 2_048;
/// Bytes a live reader may be behind, beyond one frame of any size. Frames are shared, so readers that are behind in the
/// same chat hold the same bytes.
const BYTES: usize = 1024 * 1024;
/// Bytes handed to the connection at once.
pub(super) const BATCH: usize = 32 * 1024;

#[derive(Debug)]
pub(super) struct Mailbox {
    /// The world of the followed chat: with it, the chat is gone.
    pub world: Option<WorldId>,
    pub wish: Wish,
    inside: Mutex<Inside>,
    reader: AtomicWaker,
}

#[derive(Debug)]
struct Inside {
    frames: VecDeque<Frame>,
    bytes: usize,
    standing: Standing,
    /// Nothing follows what is in it.
    closed: Option<Closed>,
    /// What is followed was there after everything up to this position: an earlier end was a namesake's.
    since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// The reader reads the log: events are kept for when it is done, pieces are not.
    CatchingUp,
    /// The reader reads the log, and will have to read on.
    LeftBehind,
    Live,
    CutOff,
}

/// Why nothing more comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closed {
    /// What was followed was deleted, by the event at this position.
    Gone { at: u64 },
    /// The log cannot be read on.
    Unreadable,
    /// The server or its engine stops.
    Stopping,
}

/// What a live reader finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Frames,
    /// All was sent, and nothing follows.
    End,
    TooSlow,
    /// The log cannot be read on.
    Unreadable,
}

/// Whether a reader that came to the end of the log may go on live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Caught {
    Up,
    /// More was stored meanwhile than the mailbox holds: it is in the log.
    Behind,
}

impl Mailbox {
    pub fn new(world: Option<WorldId>, wish: Wish, since: u64) -> Self {
        let inside = Inside {
            frames: VecDeque::new(),
            bytes: 0,
            standing: Standing::CatchingUp,
            closed: None,
            since,
        };
        Self { world, wish, inside: Mutex::new(inside), reader: AtomicWaker::new() }
    }

    /// Puts in what an event was told as.
    pub fn put(&self, told: &Told) {
        let mut inside = self.inside();
        let was_empty = inside.frames.is_empty();
        for frame in &told.frames {
            if self.wish.types.contain(frame.kind) {
                inside.put(frame);
            }
        }
        self.wake_after(inside, was_empty);
    }

    /// Puts in a piece, which is made when the first reader wants it.
    pub fn put_piece<'a>(&self, kind: Kind, piece: impl FnOnce() -> Option<&'a Frame>) {
        if !self.wish.types.contain(kind) {
            return;
        }
        let mut inside = self.inside();
        if inside.standing != Standing::Live || inside.closed.is_some() {
            return;
        }
        let was_empty = inside.frames.is_empty();
        if let Some(frame) = piece() {
            inside.put(frame);
        }
        self.wake_after(inside, was_empty);
    }

    /// Whether its reader wants to hear of something.
    pub fn wants(&self, kind: Kind) -> bool {
        self.wish.types.contain(kind)
    }

    /// Nothing is put in any more. What is there is still sent.
    pub fn close(&self, why: Closed) {
        self.inside().closed.get_or_insert(why);
        self.reader.wake();
    }

    /// What is followed is deleted by this event, unless it was somebody else of that name.
    pub fn end_with(&self, told: &Told) {
        if self.hears_of(told) {
            self.close(Closed::Gone { at: told.position });
        }
    }

    /// What is followed is there after everything up to this position.
    pub fn is_there(&self, since: u64) {
        let mut inside = self.inside();
        inside.since = inside.since.max(since);
        if let Some(Closed::Gone { at }) = inside.closed
            && at <= inside.since
        {
            // What was not put in meanwhile is in the log.
            inside.closed = None;
            inside.standing = Standing::LeftBehind;
        }
    }

    /// Whether an event comes after what is followed was there.
    pub fn hears_of(&self, told: &Told) -> bool {
        told.position > self.inside().since
    }

    // A reader is never asleep while there is something in it: it looks before it sleeps.
    fn wake_after(&self, inside: MutexGuard<'_, Inside>, was_empty: bool) {
        let wake = (was_empty && !inside.frames.is_empty()) || inside.standing == Standing::CutOff;
        drop(inside);
        if wake {
            self.reader.wake();
        }
    }

    /// Called by the reader when it has come to the end of the log.
    pub fn caught_up(&self) -> Caught {
        let mut inside = self.inside();
        match inside.standing {
            Standing::LeftBehind => {
                inside.standing = Standing::CatchingUp;
                Caught::Behind
            }
            _ => {
                inside.standing = Standing::Live;
                Caught::Up
            }
        }
    }

    pub fn is_stopping(&self) -> bool {
        self.inside().closed == Some(Closed::Stopping)
    }

    /// Takes out what is there, up to a batch.
    pub fn poll_take(&self, context: &mut Context<'_>, taken: &mut Vec<Frame>) -> Poll<Found> {
        if let Some(found) = self.inside().take(taken) {
            return Poll::Ready(found);
        }
        // Registered first, then looked again: what was put in between is not missed.
        self.reader.register(context.waker());
        self.inside().take(taken).map_or(Poll::Pending, Poll::Ready)
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    fn put(&mut self, frame: &Frame) {
        if self.closed.is_some() {
            return;
        }
        match self.standing {
            Standing::LeftBehind | Standing::CutOff => return,
            Standing::CatchingUp | Standing::Live => {}
        }
        if self.is_full_for(frame) {
            self.frames = VecDeque::new();
            self.bytes = 0;
            self.standing = match self.standing {
                Standing::CatchingUp => Standing::LeftBehind,
                _ => Standing::CutOff,
            };
            return;
        }
        self.bytes += frame.bytes.len();
        self.frames.push_back(frame.clone());
    }

    // One frame fits however long it is: there is no other way to get it.
    fn is_full_for(&self, frame: &Frame) -> bool {
        !self.frames.is_empty()
            && (self.frames.len() >= FRAMES || self.bytes + frame.bytes.len() > BYTES)
    }

    fn take(&mut self, taken: &mut Vec<Frame>) -> Option<Found> {
        if self.standing == Standing::CutOff {
            return Some(Found::TooSlow);
        }
        let mut size = 0;
        while let Some(frame) = self.frames.front() {
            size += frame.bytes.len();
            if size > BATCH && !taken.is_empty() {
                break;
            }
            self.bytes -= frame.bytes.len();
            taken.extend(self.frames.pop_front());
        }
        match taken.is_empty() {
            false => Some(Found::Frames),
            true => self.closed.map(|why| match why {
                Closed::Unreadable => Found::Unreadable,
                Closed::Gone { .. } | Closed::Stopping => Found::End,
            }),
        }
    }
}

#[cfg(test)]
#[path = "mailbox_tests.rs"]
mod tests;
