//! Decides how a reply of the Messages format is read, whole or as a stream of events.
//! Called by the dialect. Both ways feed the same `Assembly`, so both give the same items.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::assembly::Assembly;
use crate::dialect::{Asked, Reader};
use crate::frames::Frame;
use crate::{Class, Draft, Error, Response, explain};

/// Reads a whole reply.
pub fn whole(body: &[u8], asked: &Asked) -> Result<Response, Error> {
    let mut value: Value =
        serde_json::from_slice(body).map_err(|error| asked.unreadable("the reply", &error))?;
    if kind(&value) == "error" {
        return Err(explain::value(&asked.vendor, &value));
    }
    let content = value.as_object_mut().and_then(|message| message.shift_remove("content"));
    let (Value::Object(message), Some(Value::Array(content))) = (value, content) else {
        return Err(asked.error(Class::Server, "the reply cannot be read: it has no content"));
    };
    let inputs = inputs(body);
    let mut draft = Draft::new();
    let mut assembly = Assembly::new(asked);
    assembly.begin(message, &mut draft);
    for (index, block) in (0..).zip(content) {
        let input = usize::try_from(index).ok().and_then(|place| inputs.get(place)).copied();
        assembly.start(index, block, input.flatten(), &mut draft);
        assembly.stop(index, &mut draft);
    }
    assembly.finish(&mut draft);
    draft.into_response().ok_or_else(|| asked.error(Class::Server, "the reply has no end"))
}

/// The arguments of each block's call in the vendor's own words. Without them, the parsed value is written again.
fn inputs(body: &[u8]) -> Vec<Option<&str>> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        content: Vec<Block<'a>>,
    }
    #[derive(Deserialize)]
    struct Block<'a> {
        #[serde(borrow, default)]
        input: Option<&'a RawValue>,
    }
    let message = serde_json::from_slice::<Message<'_>>(body);
    let content = message.map(|message| message.content).unwrap_or_default();
    content.into_iter().map(|block| block.input.map(RawValue::get)).collect()
}

/// Reads a streamed reply event by event.
pub struct Stream {
    asked: Asked,
    assembly: Assembly,
}

impl Stream {
    pub fn new(asked: &Asked) -> Self {
        Self { asked: asked.clone(), assembly: Assembly::new(asked) }
    }
}

impl Reader for Stream {
    fn read(&mut self, frame: &Frame, draft: &mut Draft) -> Result<(), Error> {
        let is_error = frame.event.as_deref() == Some("error");
        let event: Value = match serde_json::from_str(&frame.data) {
            Ok(event) => event,
            Err(_) if is_error => return Err(self.asked.error(Class::Server, &*frame.data)),
            Err(error) => return Err(self.asked.unreadable("an event of the stream", &error)),
        };
        if is_error || kind(&event) == "error" {
            return Err(explain::value(&self.asked.vendor, &event));
        }
        let Value::Object(mut event) = event else { return Ok(()) };
        let name = text(&event, "type");
        let index = event.get("index").and_then(Value::as_u64).unwrap_or_default();
        let assembly = &mut self.assembly;
        match name.as_str() {
            "message_start" => {
                let mut message = object(&mut event, "message");
                message.shift_remove("content");
                assembly.begin(message, draft);
            }
            "content_block_start" => {
                let block = event.shift_remove("content_block").unwrap_or_default();
                assembly.start(index, block, None, draft);
            }
            "content_block_delta" => assembly.delta(index, &object(&mut event, "delta"), draft),
            "content_block_stop" => assembly.stop(index, draft),
            "message_delta" => {
                let mut end = object(&mut event, "delta");
                for key in ["usage", "context_management", "input_transformations"] {
                    if let Some(value) = event.shift_remove(key) {
                        end.insert(key.to_owned(), value);
                    }
                }
                assembly.learn(end, draft);
            }
            "message_stop" => assembly.finish(draft),
            // Pings keep the connection open, and the vendor announces that more kinds will come.
            _ => {}
        }
        Ok(())
    }
}

fn kind(value: &Value) -> &str {
    value.get("type").and_then(Value::as_str).unwrap_or_default()
}

fn text(fields: &Map<String, Value>, key: &str) -> String {
    fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn object(fields: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match fields.shift_remove(key) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}
