//! Decides how the Anthropic Messages format is spoken: `POST /messages` out, blocks of content in.
//! Used by providers whose vendor speaks it, Anthropic or a host that copies it. Pure: bytes and items only, no key.
//!
//! `turns` writes the conversation, `settings` everything beside it, `assembly` reads replies. What only Anthropic
//! understands of a reply (signatures, server tool blocks, citations, further fields) is noted in the item's origin
//! and goes back as it came; it is never sent to a vendor of another name.

mod assembly;
mod blocks;
mod reply;
mod schema;
mod settings;
mod turns;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

use crate::dialect::{Asked, Dialect, Outgoing, Reader};
use crate::{Class, Error, Request, Response, explain};

use settings::Settings;
use turns::Conversation;

/// The version of the format; the vendor has had no other since.
const VERSION: &str = "2023-06-01";

/// The Messages format.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anthropic;

impl Dialect for Anthropic {
    fn encode(&self, request: &Request, asked: &Asked) -> Result<Outgoing, Error> {
        let mut conversation = Conversation::write(request, asked);
        if conversation.turns.is_empty() {
            return Err(asked.error(
                Class::InvalidRequest,
                "there is nothing to answer; send at least one message",
            ));
        }
        let settings = Settings::of(request, asked, &conversation);
        conversation.add_words(&settings.words);
        conversation.end_well(settings.continues);
        let options = request.options_for(&asked.vendor);
        let mut rest = settings.rest;
        let mut betas = settings.betas;
        if let Some(options) = options {
            merge(&mut rest, options);
            betas.extend(named_betas(&mut rest));
        }
        let body = Body {
            model: if asked.model.is_empty() { &request.model } else { &asked.model },
            conversation: &conversation,
            tools: &settings.tools,
            rest: &rest,
        };
        let mut outgoing = Outgoing::json("/messages", &body)?;
        outgoing.headers.push(("anthropic-version".to_owned(), VERSION.to_owned()));
        if !betas.is_empty() {
            outgoing.headers.push(("anthropic-beta".to_owned(), betas.join(",")));
        }
        Ok(outgoing)
    }

    fn decode(&self, body: &[u8], asked: &Asked) -> Result<Response, Error> {
        reply::whole(body, asked)
    }

    fn reader(&self, asked: &Asked) -> Box<dyn Reader> {
        Box::new(reply::Stream::new(asked))
    }

    fn explain(&self, status: u16, body: &[u8], asked: &Asked) -> Error {
        explain::body(&asked.vendor, status, body)
    }
}

/// The request's body. What the caller set for this vendor alone stands in `rest` and wins over the fields beside it.
struct Body<'a> {
    model: &'a str,
    conversation: &'a Conversation<'a>,
    tools: &'a [settings::Tool<'a>],
    rest: &'a Map<String, Value>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let free = |key: &str| !self.rest.contains_key(key);
        let mut map = serializer.serialize_map(None)?;
        if free("model") {
            map.serialize_entry("model", self.model)?;
        }
        if free("system")
            && let Some(system) = self.conversation.system()
        {
            map.serialize_entry("system", &system)?;
        }
        if free("tools") && !self.tools.is_empty() {
            map.serialize_entry("tools", self.tools)?;
        }
        if free("messages") {
            map.serialize_entry("messages", &self.conversation.turns)?;
        }
        // A null takes a field back that would be sent otherwise.
        for (key, value) in self.rest.iter().filter(|(_, value)| !value.is_null()) {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// Puts the caller's own fields over ours, object by object.
fn merge(into: &mut Map<String, Value>, from: &Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(Value::Object(into)), Value::Object(from)) => merge(into, from),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Previews of the vendor are asked for by a header; the caller names them in `betas`, as the vendor's own clients do.
fn named_betas(rest: &mut Map<String, Value>) -> Vec<String> {
    let named = rest.shift_remove("betas");
    let names = named.as_ref().and_then(Value::as_array).into_iter().flatten();
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
#[path = "anthropic_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "anthropic_reply_tests.rs"]
mod reply_tests;

#[cfg(test)]
#[path = "anthropic_settings_tests.rs"]
mod settings_tests;
