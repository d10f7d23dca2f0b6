//! Decides how one element of the conversation looks on the wire.
//! Made by `input`, serialised by `body`. What the vendor itself made looks as it came, but for our own `origin`;
//! parts that do not fit a message's role are turned into those that do.

use std::borrow::Cow;

use agent_world_core::item::{MessageItem, Part, Reasoning, Role};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value, json};

use crate::Capabilities;
use crate::origin::{self, ORIGIN};

/// One element of `input`. `extra` is what else goes with it, if anything may.
pub(super) enum Line<'a> {
    Message {
        id: Option<&'a str>,
        role: &'static str,
        parts: Vec<Piece<'a>>,
        extra: Option<&'a Map<String, Value>>,
    },
    Call {
        id: Option<&'a str>,
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        arguments: &'a str,
        extra: Option<&'a Map<String, Value>>,
    },
    Output {
        call_id: Cow<'a, str>,
        output: Cow<'a, Value>,
        extra: Option<&'a Map<String, Value>>,
    },
    /// Stands where a result should be.
    Unanswered {
        call_id: Cow<'a, str>,
    },
    Reasoning(&'a Reasoning),
    Other {
        value: &'a Value,
        keeps_id: bool,
    },
}

/// A part of a message.
pub(super) enum Piece<'a> {
    Same(&'a Part),
    /// A text in the words of the message's role.
    Text {
        kind: &'static str,
        text: Cow<'a, str>,
    },
    Refusal(&'a str),
}

impl<'a> Line<'a> {
    /// A message that only says something.
    pub(super) fn words(role: &'static str, text: Cow<'a, str>) -> Self {
        let parts = vec![Piece::Text { kind: "input_text", text }];
        Self::Message { id: None, role, parts, extra: None }
    }
}

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Message { id, role, parts, extra } => {
                map.serialize_entry("type", "message")?;
                named(&mut map, *id)?;
                map.serialize_entry("role", role)?;
                match (*role, parts.as_slice()) {
                    // xAI is only known to take what the system says as a text; the others take both.
                    ("system" | "developer", [Piece::Text { text, .. }]) => {
                        map.serialize_entry("content", text)?;
                    }
                    _ => map.serialize_entry("content", parts)?,
                }
                rest(&mut map, *extra, &[])?;
            }
            Self::Call { id, call_id, name, arguments, extra } => {
                map.serialize_entry("type", "function_call")?;
                named(&mut map, *id)?;
                map.serialize_entry("call_id", call_id)?;
                map.serialize_entry("name", name)?;
                map.serialize_entry("arguments", arguments)?;
                rest(&mut map, *extra, &[])?;
            }
            Self::Output { call_id, output, extra } => {
                map.serialize_entry("type", "function_call_output")?;
                map.serialize_entry("call_id", call_id)?;
                map.serialize_entry("output", output)?;
                // That a call failed is said by its result; a word for it is what another vendor's format has.
                rest(&mut map, *extra, &["id", "is_error"])?;
            }
            Self::Unanswered { call_id } => {
                map.serialize_entry("type", "function_call_output")?;
                map.serialize_entry("call_id", call_id)?;
                map.serialize_entry("output", "There is no result: the call was not carried out.")?;
            }
            Self::Reasoning(reasoning) => {
                map.serialize_entry("type", "reasoning")?;
                named(&mut map, reasoning.id.as_deref())?;
                map.serialize_entry("summary", &reasoning.summary)?;
                // Its status is told but not taken.
                rest(&mut map, Some(&reasoning.extra), &["status"])?;
            }
            Self::Other { value, keeps_id } => {
                let left_out: &[&str] = if *keeps_id { &[] } else { &["id"] };
                rest(&mut map, value.as_object(), left_out)?;
            }
        }
        map.end()
    }
}

fn named<M: serde::ser::SerializeMap>(map: &mut M, id: Option<&str>) -> Result<(), M::Error> {
    match id {
        Some(id) => map.serialize_entry("id", id),
        None => Ok(()),
    }
}

/// The other fields of an item. A null says nothing, and is refused in places.
fn rest<M: serde::ser::SerializeMap>(
    map: &mut M,
    extra: Option<&Map<String, Value>>,
    left_out: &[&str],
) -> Result<(), M::Error> {
    for (key, value) in extra.into_iter().flatten() {
        if key != ORIGIN && !value.is_null() && !left_out.contains(&key.as_str()) {
            map.serialize_entry(key, value)?;
        }
    }
    Ok(())
}

impl Serialize for Piece<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, key, text) = match self {
            Self::Same(part) => return part.serialize(serializer),
            Self::Text { kind, text } => (*kind, "text", &**text),
            Self::Refusal(text) => ("refusal", "refusal", *text),
        };
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", kind)?;
        map.serialize_entry(key, text)?;
        map.end()
    }
}

/// The parts of a message. `ours` says that it was written in this format, by the vendor or by a caller.
pub(super) fn parts<'a>(
    message: &'a MessageItem,
    ours: bool,
    able: &Capabilities,
) -> Vec<Piece<'a>> {
    let said = message.role == Role::Assistant;
    message.content.iter().map(|part| piece(part, said, ours, able)).collect()
}

fn piece<'a>(part: &'a Part, said: bool, ours: bool, able: &Capabilities) -> Piece<'a> {
    let kind = if said { "output_text" } else { "input_text" };
    let in_words = || Piece::Text { kind, text: Cow::Owned(origin::in_words(part)) };
    match part {
        Part::OutputText { .. } if said && ours => Piece::Same(part),
        Part::InputText { extra, .. } if !said && ours && !extra.is_empty() => Piece::Same(part),
        Part::InputText { text, .. } | Part::OutputText { text, .. } => {
            Piece::Text { kind, text: Cow::Borrowed(text) }
        }
        Part::Refusal { refusal, .. } if said => Piece::Refusal(refusal),
        Part::Refusal { refusal, .. } => Piece::Text { kind, text: Cow::Borrowed(refusal) },
        Part::InputImage { .. } if !said && able.vision => Piece::Same(part),
        Part::InputFile { .. } if !said => Piece::Same(part),
        Part::Unknown(_) if ours => Piece::Same(part),
        Part::InputImage { .. } | Part::InputFile { .. } | Part::Unknown(_) => in_words(),
    }
}

/// The result of a call: a text, or a list of parts.
pub(super) fn result<'a>(output: &'a Value, able: &Capabilities) -> Cow<'a, Value> {
    match output {
        Value::String(_) => Cow::Borrowed(output),
        Value::Array(parts) if parts.iter().all(|part| taken(part, able)) && !parts.is_empty() => {
            Cow::Borrowed(output)
        }
        Value::Array(parts) if parts.iter().all(is_part) => {
            let converted = parts.iter().map(|part| {
                if taken(part, able) {
                    part.clone()
                } else {
                    json!({"type": "input_text", "text": part_in_words(part)})
                }
            });
            Cow::Owned(converted.collect())
        }
        output => Cow::Owned(Value::String(output.to_string())),
    }
}

/// A result in words, for a model that must be told it in another way.
pub(super) fn result_in_words(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        Value::Array(parts) if parts.iter().all(is_part) => {
            let texts: Vec<String> = parts.iter().map(part_in_words).collect();
            texts.join("\n")
        }
        output => output.to_string(),
    }
}

fn kind(part: &Value) -> Option<&str> {
    part.get("type").and_then(Value::as_str)
}

fn is_part(part: &Value) -> bool {
    kind(part).is_some()
}

fn taken(part: &Value, able: &Capabilities) -> bool {
    match kind(part) {
        Some("input_text" | "input_file") => true,
        Some("input_image") => able.vision,
        _ => false,
    }
}

fn part_in_words(part: &Value) -> String {
    match <Part as serde::Deserialize>::deserialize(part) {
        Ok(part) => origin::in_words(&part),
        Err(_) => part.to_string(),
    }
}
