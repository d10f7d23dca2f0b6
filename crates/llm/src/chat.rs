//! Decides how the chat completions format is spoken: the one that OpenAI made and that most hosts of models
//! understand, each in its own flavour. Set up by whoever knows the host; used through `Dialect`.
//! Never does IO, never holds a key, and never guesses what host it talks to.

mod calls;
mod content;
mod envelope;
mod flavour;
mod ids;
mod messages;
mod notes;
mod reply;
mod request;
#[cfg(test)]
mod testing;
mod think;
mod turn;
mod usage;

pub use flavour::{Effort, Files, Flavour, Ids, Path, Thoughts};

use crate::dialect::{Asked, Dialect, Outgoing, Reader};
use crate::{Class, Error, Request, Response, explain};

/// The chat completions format as one host speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chat {
    flavour: Flavour,
}

impl Chat {
    pub const fn new(flavour: Flavour) -> Self {
        Self { flavour }
    }

    pub const fn flavour(&self) -> &Flavour {
        &self.flavour
    }
}

impl Dialect for Chat {
    fn encode(&self, request: &Request, asked: &Asked) -> Result<Outgoing, Error> {
        request::encode(request, &self.flavour, asked)
    }

    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error> {
        reply::whole(body, &self.flavour, asked)
    }

    fn reader(&self, asked: &Asked) -> Box<dyn Reader> {
        Box::new(reply::Listener::new(&self.flavour, asked))
    }

    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error {
        let mut error = explain::body(&asked.vendor, status, body);
        // A llama.cpp server answers 500 to what it was not started for: asking again changes nothing.
        if error.class == Class::Server && error.message.contains("requires --jinja") {
            error.class = Class::InvalidRequest;
        }
        error
    }
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
