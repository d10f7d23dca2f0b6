//! Decides how the *Responses* format is spoken with the vendors that have it: OpenAI, xAI and Azure OpenAI.
//! It is the format of this crate too, so most things go through as they are; what is decided here is what these
//! vendors refuse, and what of a conversation with others they can be told.
//! Called through `Dialect`. Never does IO.

mod body;
mod input;
mod reply;
mod stream;
mod told;
mod written;

use agent_world_core::item::Item;
use serde_json::{Value, json};

use crate::dialect::{Asked, Dialect, Outgoing, Reader};
use crate::{Class, Draft, Error, Request, Response, Status, explain};

/// The *Responses* format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Responses {
    flavour: Flavour,
}

/// Whose way of speaking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    OpenAi,
    Xai,
    /// Azure OpenAI by its `v1` address, where the model is the name of a deployment.
    Azure,
}

impl Responses {
    pub const fn new(flavour: Flavour) -> Self {
        Self { flavour }
    }
}

impl Dialect for Responses {
    fn encode(&self, request: &Request, asked: &Asked) -> Result<Outgoing, Error> {
        body::write(request, asked, self.flavour)
    }

    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error> {
        let value: Value =
            serde_json::from_slice(body).map_err(|error| asked.unreadable("the reply", &error))?;
        let Value::Object(fields) = value else {
            return Err(asked.error(Class::Server, "the reply is no object"));
        };
        if !fields.get("output").is_some_and(Value::is_array)
            || fields.get("status").is_some_and(|status| status == "failed")
        {
            return Err(failure(asked, fields.get("error")));
        }
        let says_status = fields.contains_key("status");
        let mut draft = Draft::new();
        let output = reply::apply(fields, draft.response_mut(), self.flavour);
        let response = draft.response_mut();
        if response.status == Status::Cancelled {
            return Err(asked.error(Class::Cancelled, "the vendor cancelled the reply"));
        }
        if response.model.is_empty() {
            response.model.clone_from(&asked.model);
        }
        let mut reasoned = false;
        for (index, value) in output.into_iter().enumerate() {
            let mut item = reply::item(value);
            let place = (index, reasoned);
            reply::mark(&mut item, &asked.vendor, &asked.model, draft.response(), place);
            reasoned |= matches!(item, Item::Reasoning(_));
            draft.add(item);
        }
        Ok(finished(draft, says_status))
    }

    fn reader(&self, asked: &Asked) -> Box<dyn Reader> {
        Box::new(stream::Events::new(self.flavour, asked.clone()))
    }

    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error {
        explain::body(&asked.vendor, status, body)
    }
}

/// A whole reply has whatever status it says; one that says nothing is complete.
fn finished(mut draft: Draft, says_status: bool) -> Response {
    let said = draft.response().status.clone();
    if said == Status::Incomplete {
        let reason = reason(draft.response());
        draft.incomplete(&reason);
    } else {
        draft.complete();
    }
    let mut response = draft.into_response().unwrap_or_default();
    // A reply that is made in the background is not complete because we were told of it.
    if says_status && matches!(said, Status::InProgress | Status::Queued) {
        response.status = said;
    }
    response
}

/// Why a reply stopped early.
fn reason(response: &Response) -> String {
    match &response.incomplete_details {
        Some(details) if !details.reason.is_empty() => details.reason.clone(),
        _ => "unknown".to_owned(),
    }
}

/// A reply that says itself that it failed.
fn failure(asked: &Asked, error: Option<&Value>) -> Error {
    let mut failed = explain::value(&asked.vendor, &json!({"error": error}));
    if failed.message.is_empty() {
        "the reply failed without saying why".clone_into(&mut failed.message);
    }
    failed
}

#[cfg(test)]
#[path = "openai_tests.rs"]
mod tests;
