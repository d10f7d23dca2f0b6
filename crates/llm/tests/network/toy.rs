//! A vendor that does not exist, with a format of its own: enough to see that what goes between a dialect and the
//! network is passed on. Used by every test of the network.

use std::sync::Arc;
use std::time::Duration;

use agent_world_core::item::Item;
use agent_world_llm::dialect::{Asked, Dialect, Outgoing, Reader};
use agent_world_llm::frames::Frame;
use agent_world_llm::provider::{Builder, KeyPlace, Provider};
use agent_world_llm::transport::{Proxies, Retry, Transport};
use agent_world_llm::{Class, Draft, Error, Request, Response, Usage, explain, origin};
use serde_json::{Value, json};

use crate::server::Server;

/// Speaks `{"say": ...}` and `{"stop": ...}`.
#[derive(Debug)]
pub struct Toy;

impl Dialect for Toy {
    fn encode(&self, request: &Request, asked: &Asked) -> Result<Outgoing, Error> {
        if request.input.is_empty() {
            return Err(Error::new(Class::InvalidRequest, "", "there is nothing to answer"));
        }
        let body = json!({
            "model": asked.model, "stream": asked.stream, "input": request.input,
        });
        let mut outgoing = Outgoing::json("/talk", &body)?;
        outgoing.query.push(("toy".to_owned(), "1".to_owned()));
        outgoing.headers.push(("toy-version".to_owned(), "7".to_owned()));
        Ok(outgoing)
    }

    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error> {
        let mut draft = Draft::new();
        let whole: Value =
            serde_json::from_slice(body).map_err(|error| asked.unreadable("the reply", &error))?;
        read(&whole, &mut draft, asked)?;
        draft.into_response().ok_or_else(|| asked.error(Class::Server, "this is no reply"))
    }

    fn reader(&self, asked: &Asked) -> Box<dyn Reader> {
        Box::new(ToyReader(asked.clone()))
    }

    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error {
        explain::body(&asked.vendor, status, body)
    }
}

struct ToyReader(Asked);

impl Reader for ToyReader {
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let event: Value = serde_json::from_str(&frame.data)
            .map_err(|error| self.0.unreadable("an event", &error))?;
        read(&event, draft, &self.0)
    }
}

/// A whole reply holds what the events of a stream hold together.
fn read(event: &Value, draft: &mut Draft, asked: &Asked) -> Result<(), Error> {
    if event.get("error").is_some() {
        return Err(explain::value(&asked.vendor, event));
    }
    if let Some(id) = event["start"].as_str() {
        draft.response_mut().id = id.to_owned();
        draft.response_mut().model = asked.model.clone();
        draft.start();
    }
    if let Some(text) = event["say"].as_str() {
        draft.say(text);
    }
    if let Some(reason) = event["stop"].as_str() {
        if let (Some(input), Some(output)) = (event["in"].as_u64(), event["out"].as_u64()) {
            draft.usage(Usage::new(input, output));
        }
        for index in 0..draft.response().output.len() {
            if let Some(item) = draft.item_mut(index) {
                origin::mark(item, &asked.vendor, &asked.model);
            }
        }
        match reason {
            "end" => draft.complete(),
            reason => draft.incomplete(reason),
        }
    }
    Ok(())
}

/// A transport that no environment changes.
pub fn transport() -> Transport {
    Transport::builder().proxies(Proxies::none()).build().unwrap()
}

/// A provider of the server, without a key and with pauses too short to notice.
pub fn builder(server: &Server) -> Builder {
    Provider::builder("toy", Arc::new(Toy))
        .base_url(server.url())
        .key_place(KeyPlace::None)
        .transport(transport())
        .retry(Retry { first_delay: Duration::from_millis(1), ..Retry::default() })
}

pub fn provider(server: &Server) -> Provider {
    builder(server).build().unwrap()
}

pub fn question() -> Request {
    Request::new("small", "why?")
}

pub fn spoken(item: &Item) -> String {
    match item {
        Item::Message(message) => message.text(),
        other => panic!("{other:?} is no message"),
    }
}
