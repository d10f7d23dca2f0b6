//! Decides what a client of a *Responses* endpoint is given: the whole response object, and the events of a stream.
//! Used by whoever serves that format, for replies of any vendor. Pure: it has no clock and makes no random ids, so a
//! response without a time was made at 0 and an item without an id gets one from the response's id and its place.
//!
//! Items keep their `origin`: the format allows further fields, and a client that keeps the conversation itself sends
//! it back with the items, so that the vendor gets its own signatures again.

mod items;
mod settings;
mod writer;

use serde_json::{Map, Value, json};

pub use writer::EventWriter;

use crate::{Class, Error, Request, Response, Status};
use items::Standing;

/// The response object that answers a request.
pub fn resource(request: &Request, response: &Response) -> Value {
    let last = response.output.len().checked_sub(1);
    let output = response.output.iter().enumerate().map(|(index, item)| {
        // Only the last item can have been cut.
        let cut = response.status == Status::Incomplete && Some(index) == last;
        let standing = if cut { Standing::Incomplete } else { Standing::Completed };
        items::written(item, &items::id(response_id(response), index, item), standing)
    });
    let output = output.collect();
    compose(&settings::asked(request), response_id(response), response, output)
}

/// What a client is told of a failed call, as the `error` of an event or of a body.
pub fn failure(error: &Error) -> Value {
    json!({
        "type": kind(error.class),
        "code": code(error.class),
        "message": error.to_string(),
        "param": null,
    })
}

/// The response object: what was asked, what was answered, and what the vendor said beside it.
fn compose(asked: &Map<String, Value>, id: &str, response: &Response, output: Vec<Value>) -> Value {
    let model = match (response.model.as_str(), asked.get("model")) {
        ("", Some(model)) => model.clone(),
        (model, _) => model.into(),
    };
    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
    put("id", id.into());
    put("object", "response".into());
    put("created_at", response.created_at.unwrap_or_default().into());
    put("completed_at", completed_at(response));
    put("status", json!(response.status));
    put("incomplete_details", json!(response.incomplete_details));
    put("error", json!(response.error));
    put("model", model);
    put("output", Value::Array(output));
    put("usage", json!(response.usage));
    settings::fill(asked, response, &mut fields);
    Value::Object(fields)
}

fn completed_at(response: &Response) -> Value {
    match response.extra.get("completed_at") {
        Some(Value::Number(at)) if at.is_i64() || at.is_u64() => Value::Number(at.clone()),
        _ => Value::Null,
    }
}

fn response_id(response: &Response) -> &str {
    match response.id.as_str() {
        "" => "resp_0",
        id => id,
    }
}

/// The family of a failure, in the words of the format.
fn kind(class: Class) -> &'static str {
    match class {
        Class::RateLimited { .. } => "too_many_requests",
        Class::Quota => "insufficient_quota",
        Class::InvalidRequest | Class::ContextTooLong | Class::ContentRefused => {
            "invalid_request_error"
        }
        Class::Auth => "authentication_error",
        Class::UnknownModel => "not_found",
        Class::Overloaded
        | Class::Server
        | Class::Network
        | Class::Timeout
        | Class::StreamCut
        | Class::Cancelled => "server_error",
    }
}

/// The failure itself. `explain` reads each of these as the same class again.
fn code(class: Class) -> &'static str {
    match class {
        Class::RateLimited { .. } => "rate_limit_exceeded",
        Class::Quota => "insufficient_quota",
        Class::ContextTooLong => "context_length_exceeded",
        Class::InvalidRequest => "invalid_request",
        Class::ContentRefused => "content_filter",
        Class::Auth => "authentication_error",
        Class::UnknownModel => "model_not_found",
        Class::Overloaded => "server_is_overloaded",
        Class::Timeout => "timeout_error",
        Class::Server | Class::Network | Class::StreamCut => "server_error",
        Class::Cancelled => "cancelled",
    }
}

#[cfg(test)]
#[path = "resource_tests.rs"]
mod tests;
