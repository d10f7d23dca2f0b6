//! Decides how Google's Gemini is spoken with: `generateContent` and `streamGenerateContent`.
//! Used by a provider that adds the address and the key. Never does IO and never keeps anything between two calls:
//! what a later request needs of a reply is noted on the reply's items.

mod arguments;
mod conversation;
mod grounding;
mod media;
mod reply;
mod results;
mod settings;
mod wire;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

use crate::dialect::{Asked, Dialect, Outgoing, Reader};
use crate::{Error, Request, Response, explain};

/// The wire format of Google's Gemini.
#[derive(Clone, Copy, Debug, Default)]
pub struct Google;

impl Dialect for Google {
    fn encode(&self, request: &Request, asked: &Asked) -> Result<Outgoing, Error> {
        let body = Body {
            conversation: conversation::write(request, asked),
            settings: settings::write(request, asked),
            options: request.options_for(&asked.vendor),
        };
        let mut outgoing = Outgoing::json(path(request, asked), &body).map_err(|mut error| {
            error.vendor = asked.vendor.to_string();
            error
        })?;
        if asked.stream {
            outgoing.query.push(("alt".to_owned(), "sse".to_owned()));
        }
        Ok(outgoing)
    }

    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error> {
        reply::whole(body, asked)
    }

    fn reader(&self, asked: &Asked) -> Box<dyn Reader> {
        Box::new(reply::Reply::new(asked.clone()))
    }

    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error {
        explain::body(&asked.vendor, status, body)
    }
}

/// `/models/{model}:{method}`; a name that says itself where the model is kept goes as it is.
fn path(request: &Request, asked: &Asked) -> String {
    let model = if asked.model.is_empty() { &request.model } else { &asked.model };
    let method = if asked.stream { "streamGenerateContent" } else { "generateContent" };
    let folder = if model.contains('/') { "" } else { "models/" };
    format!("/{folder}{}:{method}", escaped(model.trim_start_matches('/')))
}

/// A name as it may stand in a path, whatever somebody typed for it.
fn escaped(name: &str) -> String {
    let mut path = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' | b'@' => {
                path.push(char::from(byte));
            }
            byte => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

/// A request's body. What is asked of this vendor alone is laid over what was made of the rest.
struct Body<'a> {
    conversation: conversation::Conversation<'a>,
    settings: settings::Settings<'a>,
    options: Option<&'a Map<String, Value>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let options = self.options;
        let (conversation, settings) = (&self.conversation, &self.settings);
        field(&mut map, options, "contents", Some(&conversation.contents))?;
        field(&mut map, options, "systemInstruction", conversation.system.as_ref())?;
        field(&mut map, options, "tools", Some(&settings.tools).filter(|tools| !tools.is_empty()))?;
        field(&mut map, options, "toolConfig", settings.tool_config.as_ref())?;
        let generation = Some(&settings.generation).filter(|generation| !generation.is_empty());
        field(&mut map, options, "generationConfig", generation)?;
        for (key, value) in options.into_iter().flatten() {
            if !FIELDS.contains(&key.as_str()) {
                map.serialize_entry(key, value)?;
            }
        }
        map.end()
    }
}

/// What is made here; options of these names are laid over it.
const FIELDS: &[&str] =
    &["contents", "systemInstruction", "tools", "toolConfig", "generationConfig"];

/// Writes one field. Only a field that an option touches is taken apart: everything else goes out byte for byte.
fn field<M: SerializeMap, T: Serialize>(
    map: &mut M,
    options: Option<&Map<String, Value>>,
    key: &str,
    value: Option<&T>,
) -> Result<(), M::Error> {
    match (options.and_then(|options| options.get(key)), value) {
        (None, None) => Ok(()),
        (None, Some(value)) => map.serialize_entry(key, value),
        (Some(option), None) => map.serialize_entry(key, option),
        (Some(option), Some(value)) => {
            let mut whole = serde_json::to_value(value).map_err(serde::ser::Error::custom)?;
            lay_over(&mut whole, option);
            map.serialize_entry(key, &whole)
        }
    }
}

fn lay_over(whole: &mut Value, option: &Value) {
    match (whole, option) {
        (Value::Object(whole), Value::Object(option)) => {
            for (key, value) in option {
                lay_over(whole.entry(key).or_insert(Value::Null), value);
            }
        }
        (whole, option) => *whole = option.clone(),
    }
}

#[cfg(test)]
#[path = "google/replay_tests.rs"]
mod replay_tests;
#[cfg(test)]
#[path = "google/reply_tests.rs"]
mod reply_tests;
#[cfg(test)]
#[path = "google/request_tests.rs"]
mod request_tests;
