//! Decides how Ollama's own chat format is spoken: `/api/chat`, whose streams are a JSON object a line.
//! Used by the provider of an Ollama server. Requests are written in `ollama/write.rs` and replies read in
//! `ollama/read.rs`; nothing here does IO or knows an address.

mod read;
mod wire;
mod write;

use crate::dialect::{Asked, Dialect, Outgoing, Reader};
use crate::frames::Framing;
use crate::{Class, Draft, Error, Request, Response, explain};

/// The native format of Ollama.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ollama;

impl Dialect for Ollama {
    fn encode(&self, request: &Request, asked: &Asked) -> Result<Outgoing, Error> {
        Outgoing::json("/api/chat", &write::body(request, asked))
    }

    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error> {
        let mut draft = Draft::new();
        let mut reader = read::Lines::new(asked);
        // A server that streams although it was not asked to says the same in several objects.
        let mut rest = serde_json::Deserializer::from_slice(body).into_iter();
        while !draft.is_completed()
            && let Some(line) = rest.next()
        {
            let line = line.map_err(|error| asked.unreadable("the reply", &error))?;
            reader.take(line, &mut draft)?;
        }
        draft
            .into_response()
            .ok_or_else(|| asked.error(Class::StreamCut, "the reply does not say that it is done"))
    }

    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn reader(&self, asked: &Asked) -> Box<dyn Reader> {
        Box::new(read::Lines::new(asked))
    }

    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error {
        explain::body(&asked.vendor, status, body)
    }
}

#[cfg(test)]
#[path = "ollama_tests.rs"]
mod tests;
