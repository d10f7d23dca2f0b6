//! Decides what a successful reply's bytes are, whatever they were asked for as, and reads them.
//! Made by `Round`. Vendors answer a request for a stream with one JSON body, for errors or always, and some answer
//! with a stream what was asked for whole; content types lie about both, so the first bytes decide.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap};

use super::Setup;
use crate::dialect::{Asked, Caps, Dialect, StreamDecoder};
use crate::frames::Framing;
use crate::secret::Mask;
use crate::transport::{Arrival, Body, Failed, request_id};
use crate::{Class, Error, Event, Response};

/// Bytes of white space before a reply that are looked through; some hosts keep connections alive with them.
const LONGEST_PRELUDE: usize = 64 << 10;

/// A reply that is being read.
pub(super) struct Reply {
    body: Body,
    kind: Kind,
    reading: Reading,
}

enum Kind {
    /// With what was read of it to find out, until that is taken.
    Stream(Box<StreamDecoder>, Option<Bytes>),
    /// With what was read of it to find out.
    Whole(Vec<u8>),
    /// Everything was told.
    Over,
}

/// What it takes to read a reply and to report that it cannot be read.
struct Reading {
    dialect: Arc<dyn Dialect>,
    asked: Asked,
    caps: Caps,
    mask: Mask,
    request_id: Option<String>,
}

impl Reply {
    /// Reads as much as it takes to know what kind of reply it is.
    pub async fn open(
        arrival: Arrival,
        setup: &Setup,
        asked: &Asked,
        mask: Mask,
    ) -> Result<Self, Failed> {
        let Arrival { headers, mut body, .. } = arrival;
        let reading = Reading {
            dialect: Arc::clone(&setup.dialect),
            asked: asked.clone(),
            caps: setup.caps,
            mask,
            request_id: request_id(&headers),
        };
        let mut prelude = Vec::new();
        loop {
            let begins = beginning(&prelude);
            let next = match begins {
                Some(_) => None,
                None if prelude.len() > LONGEST_PRELUDE => None,
                None => body.next().await.map_err(|error| reading.failed(error))?,
            };
            match next {
                Some(bytes) => prelude.extend_from_slice(&bytes),
                None => {
                    let kind = reading.kind(prelude, &headers);
                    return Ok(Self { body, kind, reading });
                }
            }
        }
    }

    /// What comes next. The last event there is completes the response; whoever asks after that gets an error.
    pub async fn next(&mut self) -> Result<Vec<Event>, Failed> {
        let events = self.read().await.map_err(|error| self.reading.failed(error))?;
        if matches!(events.last(), Some(Event::Completed(_))) {
            self.body.finish().await;
        }
        Ok(events)
    }

    /// The whole of it.
    pub async fn whole(mut self) -> Result<Response, Failed> {
        if let Kind::Whole(read) = &mut self.kind {
            let read = std::mem::take(read);
            let response = self.decode(read).await;
            return response.map_err(|error| self.reading.failed(error));
        }
        loop {
            for event in self.next().await? {
                if let Event::Completed(response) = event {
                    return Ok(*response);
                }
            }
        }
    }

    async fn read(&mut self) -> Result<Vec<Event>, Error> {
        match &mut self.kind {
            Kind::Whole(read) => {
                let read = std::mem::take(read);
                self.kind = Kind::Over;
                Ok(crate::all_of(self.decode(read).await?))
            }
            Kind::Stream(decoder, first) => loop {
                let bytes = match first.take() {
                    Some(bytes) => Some(bytes),
                    None => self.body.next().await?,
                };
                let events = match bytes {
                    Some(bytes) => decoder.push(&bytes)?,
                    None => {
                        let events = decoder.end();
                        self.kind = Kind::Over;
                        return events;
                    }
                };
                if !events.is_empty() {
                    return Ok(events);
                }
            },
            Kind::Over => {
                Err(Error::new(Class::StreamCut, "", "the reply ended before it was complete"))
            }
        }
    }

    async fn decode(&mut self, read: Vec<u8>) -> Result<Response, Error> {
        let body = self.body.whole(read, self.reading.caps.reply).await?;
        self.reading.dialect.decode(&body, &self.reading.asked)
    }
}

impl Reading {
    fn kind(&self, prelude: Vec<u8>, headers: &HeaderMap) -> Kind {
        if !self.is_stream(&prelude, headers) {
            return Kind::Whole(prelude);
        }
        let decoder = StreamDecoder::new(&*self.dialect, self.asked.clone(), self.caps);
        Kind::Stream(Box::new(decoder), Some(Bytes::from(prelude)))
    }

    fn is_stream(&self, prelude: &[u8], headers: &HeaderMap) -> bool {
        // Where every line is JSON, a whole reply is a stream of one line.
        if self.dialect.framing() == Framing::Lines {
            return self.asked.stream;
        }
        let said = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let says_stream = said.is_some_and(|said| said.starts_with("text/event-stream"));
        match beginning(prelude) {
            Some(b'{' | b'[' | b'"' | b'<') => false,
            Some(_) => self.asked.stream || says_stream || looks_like_events(prelude),
            None => self.asked.stream,
        }
    }

    fn failed(&self, mut error: Error) -> Failed {
        error.vendor = self.asked.vendor.to_string();
        error.request_id = error.request_id.or_else(|| self.request_id.clone());
        Failed::from(self.mask.error(error))
    }
}

/// The first byte that says something.
fn beginning(bytes: &[u8]) -> Option<u8> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    bytes.iter().copied().find(|byte| !byte.is_ascii_whitespace())
}

fn looks_like_events(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii_start();
    ["data:", "event:", "id:", "retry:", ":"]
        .iter()
        .any(|field| bytes.starts_with(field.as_bytes()))
}
