//! Decides where one message of a stream ends and the next begins: server-sent events, or a line of JSON each.
//! Fed by `StreamDecoder` with bytes as they come. Linear in their number; a message that grows too large is refused
//! before it fills the memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures::Stream;
use sse_stream::{Sse, SseByteStream};

/// How a vendor divides its streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON value a line.
    Lines,
}

/// One message of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What kind of event it says it is.
    pub event: Option<String>,
    pub data: String,
}

/// Why no more messages can be had from these bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("one event of the stream is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the stream is not text: {0}")]
    NotText(String),
}

/// Takes bytes, gives messages.
pub struct Frames {
    framing: Framing,
    cap: usize,
    /// Bytes since the last end of a message.
    pending: usize,
    last: u8,
    events: SseByteStream<Queue>,
    queue: Queue,
    line: Vec<u8>,
    broken: Option<Broken>,
}

impl Frames {
    pub fn new(framing: Framing, cap: usize) -> Self {
        let queue = Queue::default();
        let events = SseByteStream::new(queue.clone());
        Self { framing, cap, pending: 0, last: b' ', events, queue, line: Vec::new(), broken: None }
    }

    /// Takes the next bytes and gives every message they complete. Where messages come before the bytes that cannot
    /// be read, they are given now and the failure is given next time, or by `broken`: what a stream says must not
    /// depend on how it was cut.
    ///
    /// # Errors
    /// When the bytes are no text or a message is too large. Nothing comes after that.
    pub fn push(&mut self, bytes: &Bytes) -> Result<Vec<Frame>, Broken> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let fitting = self.measure(bytes);
        let mut frames = Vec::new();
        let read = match self.framing {
            Framing::Sse => self.sse(bytes.slice(..fitting), &mut frames),
            Framing::Lines => self.lines(&bytes.slice(..fitting), &mut frames),
        };
        let too_large = || (fitting < bytes.len()).then_some(Broken::TooLarge(self.cap));
        self.broken = read.err().or_else(too_large);
        match &self.broken {
            Some(broken) if frames.is_empty() => Err(broken.clone()),
            _ => Ok(frames),
        }
    }

    /// Why nothing comes any more.
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// How many of the bytes may be kept before a message is too large: the same however they are cut.
    fn measure(&mut self, bytes: &[u8]) -> usize {
        let Some(&last) = bytes.last() else { return 0 };
        let all = self.pending.saturating_add(bytes.len());
        if all <= self.cap {
            // Nothing in them can be too large; all that matters is where the last message ends.
            self.pending = match self.last_end(bytes) {
                Some(place) => bytes.len() - place - 1,
                None => all,
            };
            self.last = last;
            return bytes.len();
        }
        for (place, &byte) in bytes.iter().enumerate() {
            let ends = self.ends(self.last, byte);
            self.last = byte;
            self.pending = if ends { 0 } else { self.pending.saturating_add(1) };
            if self.pending > self.cap {
                return place;
            }
        }
        bytes.len()
    }

    /// The place of the last byte that ends a message.
    fn last_end(&self, bytes: &[u8]) -> Option<usize> {
        // Searched from behind: most reads of a stream end with a message.
        let previous = bytes.iter().rev().skip(1).chain([&self.last]);
        let mut pairs = bytes.iter().enumerate().rev().zip(previous);
        pairs
            .find(|((_, byte), previous)| self.ends(**previous, **byte))
            .map(|((place, _), _)| place)
    }

    /// Whether a byte behind another ends a message.
    fn ends(&self, previous: u8, byte: u8) -> bool {
        match self.framing {
            Framing::Lines => byte == b'\n',
            // An empty line ends an event, whichever way lines are ended; only CR and LF together are one end.
            Framing::Sse => matches!((previous, byte), (b'\n', b'\n' | b'\r') | (b'\r', b'\r')),
        }
    }

    /// What was left when the bytes ended: a last message whose end nobody marked, whole or not.
    ///
    /// # Errors
    /// When the bytes are no text.
    pub fn end(&mut self) -> Result<Option<Frame>, Broken> {
        let ending: &'static [u8] = match self.framing {
            Framing::Sse => b"\n\n",
            Framing::Lines => b"\n",
        };
        Ok(self.push(&Bytes::from_static(ending))?.into_iter().next())
    }

    fn sse(&mut self, bytes: Bytes, frames: &mut Vec<Frame>) -> Result<(), Broken> {
        self.queue.push(bytes);
        let mut context = Context::from_waker(Waker::noop());
        // Pending means that the queue is empty. The queue never ends, so the stream ends only with an error.
        while let Poll::Ready(Some(next)) = Pin::new(&mut self.events).poll_next(&mut context) {
            match next {
                Ok(Sse { event, data: Some(data), .. }) => frames.push(Frame { event, data }),
                Ok(_) => {}
                Err(error) => return Err(Broken::NotText(error.to_string())),
            }
        }
        Ok(())
    }

    fn lines(&mut self, bytes: &[u8], frames: &mut Vec<Frame>) -> Result<(), Broken> {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            self.line.extend_from_slice(line);
            rest = behind.get(1..).unwrap_or_default();
            let line = String::from_utf8(std::mem::take(&mut self.line))
                .map_err(|error| Broken::NotText(error.to_string()))?;
            let line = line.trim_start_matches('\u{feff}').trim();
            if !line.is_empty() {
                frames.push(Frame { event: None, data: line.to_owned() });
            }
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }
}

impl std::fmt::Debug for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames")
            .field("framing", &self.framing)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}

/// The parser wants a stream; this one is fed by hand and waits whenever it is empty.
#[derive(Clone, Default)]
struct Queue(Arc<Mutex<VecDeque<Bytes>>>);

impl Queue {
    fn push(&self, bytes: Bytes) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(bytes);
    }
}

impl Stream for Queue {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
            Some(bytes) => Poll::Ready(Some(Ok(bytes))),
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
#[path = "frames_tests.rs"]
mod tests;
