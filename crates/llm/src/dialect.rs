//! Decides what it takes to speak a vendor's wire format: pure functions from request to bytes and from bytes to
//! items. Used by `Provider`, which does the talking, and by anybody who has bytes from elsewhere.
//! Never does IO and never keeps a key.

use std::sync::Arc;

use bytes::Bytes;

use crate::frames::{Broken, Frame, Frames, Framing};
use crate::{Capabilities, Class, Draft, Error, Event, Request, Response};

/// A vendor's wire format.
pub trait Dialect: std::fmt::Debug + Send + Sync {
    /// What to send for a request. What this vendor cannot take of it is left out or put in words.
    ///
    /// # Errors
    /// When the request makes no sense for any vendor.
    fn encode(&self, request: &Request, asked: &Asked) -> Result<Outgoing, Error>;

    /// Reads a whole reply that came with a successful status.
    ///
    /// # Errors
    /// When it is no reply, or says itself that it failed.
    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error>;

    fn framing(&self) -> Framing {
        Framing::Sse
    }

    /// Reads a streamed reply that came with a successful status.
    fn reader(&self, asked: &Asked) -> Box<dyn Reader>;

    /// Reads a reply that came with a status of failure. What its headers say is added by the caller.
    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error;
}

/// Reads a stream's messages one by one.
pub trait Reader: Send {
    /// # Errors
    /// When the message cannot be read, or says that the reply failed.
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error>;

    /// The stream has ended. A reader that knows by now that the reply is whole completes it; a draft left
    /// incomplete is reported as cut.
    ///
    /// # Errors
    /// When the end explains itself as something other than a cut.
    fn end(&mut self, _draft: &mut Draft) -> Result<(), Error> {
        Ok(())
    }
}

/// Who is asked, as far as the wire format depends on it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The name under which the vendor is set up.
    pub vendor: Arc<str>,
    /// The model as the vendor names it.
    pub model: String,
    pub capabilities: Capabilities,
    /// Whether the reply is asked for as a stream.
    pub stream: bool,
}

/// A request as it goes over the wire, without address and key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Behind the base URL, beginning with a slash.
    pub path: String,
    pub query: Vec<(String, String)>,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Outgoing {
    pub fn json(path: impl Into<String>, body: &impl serde::Serialize) -> Result<Self, Error> {
        let body = serde_json::to_vec(body).map_err(|error| {
            Error::new(Class::InvalidRequest, "", format!("the request cannot be written: {error}"))
        })?;
        Ok(Self { path: path.into(), query: Vec::new(), headers: Vec::new(), body })
    }
}

impl Asked {
    pub fn error(&self, class: Class, message: impl Into<String>) -> Error {
        Error::new(class, &*self.vendor, message)
    }

    /// A message of the vendor that is not what its format says.
    pub fn unreadable(&self, what: &str, error: &serde_json::Error) -> Error {
        self.error(Class::Server, format!("{what} cannot be read: {error}"))
    }
}

/// A stream of bytes on its way to a response.
pub struct StreamDecoder {
    frames: Frames,
    reader: Box<dyn Reader>,
    draft: Draft,
    asked: Asked,
    size: usize,
    caps: Caps,
}

/// How much of a reply is taken.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// Bytes of one event.
    pub event: usize,
    /// Bytes of a reply.
    pub reply: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { event: 32 << 20, reply: 128 << 20 }
    }
}

impl StreamDecoder {
    pub fn new(dialect: &dyn Dialect, asked: Asked, caps: Caps) -> Self {
        Self {
            frames: Frames::new(dialect.framing(), caps.event),
            reader: dialect.reader(&asked),
            draft: Draft::new(),
            asked,
            size: 0,
            caps,
        }
    }

    /// Takes the next bytes and tells what they bring. Bytes behind the end are ignored.
    ///
    /// # Errors
    /// When the reply failed or cannot be read.
    pub fn push(&mut self, bytes: &Bytes) -> Result<Vec<Event>, Error> {
        if self.draft.is_completed() {
            return Ok(Vec::new());
        }
        self.size = self.size.saturating_add(bytes.len());
        if self.size > self.caps.reply {
            return Err(self.asked.error(
                Class::Server,
                format!("the reply is larger than {} bytes", self.caps.reply),
            ));
        }
        let frames = self.frames.push(bytes).map_err(|broken| self.broken(&broken))?;
        for frame in &frames {
            if !self.draft.is_completed() {
                self.reader.read(frame, &mut self.draft)?;
            }
        }
        match self.frames.broken() {
            Some(broken) if !self.draft.is_completed() => Err(self.broken(broken)),
            _ => Ok(self.draft.take_events()),
        }
    }

    /// The bytes have ended.
    ///
    /// # Errors
    /// When the reply was not complete by then.
    pub fn end(&mut self) -> Result<Vec<Event>, Error> {
        if !self.draft.is_completed() {
            // What is left may be a message without its end or a piece of one; a piece is no more than a cut.
            if let Ok(Some(frame)) = self.frames.end()
                && is_whole(&frame.data)
            {
                self.reader.read(&frame, &mut self.draft)?;
            }
        }
        if !self.draft.is_completed() {
            self.reader.end(&mut self.draft)?;
        }
        if self.draft.is_completed() { Ok(self.draft.take_events()) } else { Err(self.cut()) }
    }

    pub fn is_completed(&self) -> bool {
        self.draft.is_completed()
    }

    fn cut(&self) -> Error {
        self.asked.error(Class::StreamCut, "the stream ended before the reply was complete")
    }

    fn broken(&self, broken: &Broken) -> Error {
        self.asked.error(Class::Server, broken.to_string())
    }
}

/// Whether a message whose end nobody marked has come to its end: a JSON value, or the word that many vendors send last.
fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<serde::de::IgnoredAny>(data).is_ok()
}

impl std::fmt::Debug for StreamDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamDecoder")
            .field("asked", &self.asked)
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
