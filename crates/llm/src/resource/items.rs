//! Decides how an item of any vendor looks in a response object: with the id and the status that the format requires.
//! Called for whole responses and for every event that carries an item. Whatever else an item holds stays.

use agent_world_core::item::Item;
use serde_json::{Map, Value, json};

/// How far an item has come. An item that says so itself is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    InProgress,
    Completed,
    Incomplete,
}

impl Standing {
    fn word(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete => "incomplete",
        }
    }
}

/// The item's own id, or one made from the response's and its place.
pub(super) fn id(response: &str, index: usize, item: &Item) -> String {
    let (own, beginning) = match item {
        Item::Message(message) => (message.id.as_deref(), "msg"),
        Item::FunctionCall(call) => (call.id.as_deref(), "fc"),
        Item::Reasoning(reasoning) => (reasoning.id.as_deref(), "rs"),
        Item::FunctionCallOutput(output) => (output.extra.get("id").and_then(Value::as_str), "fco"),
        Item::Unknown(value) => (value.get("id").and_then(Value::as_str), "item"),
    };
    match own {
        Some(own) if !own.is_empty() => own.to_owned(),
        _ => format!("{beginning}_{}_{index}", response.trim_start_matches("resp_")),
    }
}

/// The item as a client is given it.
pub(super) fn written(item: &Item, id: &str, standing: Standing) -> Value {
    let mut value = serde_json::to_value(item).unwrap_or_default();
    let Value::Object(fields) = &mut value else { return value };
    fields.insert("id".to_owned(), id.into());
    match item {
        Item::Message(_) => {
            status(fields, standing);
            if let Some(Value::Array(parts)) = fields.get_mut("content") {
                parts.iter_mut().for_each(complete);
            }
        }
        Item::FunctionCall(_) | Item::FunctionCallOutput(_) => status(fields, standing),
        Item::Reasoning(_) => {
            // Where the format knows a text or a list, a null is neither.
            for key in ["content", "encrypted_content"] {
                if fields.get(key).is_some_and(Value::is_null) {
                    fields.shift_remove(key);
                }
            }
        }
        Item::Unknown(_) => {}
    }
    value
}

/// The item before any of its text: what is told of it when it begins.
pub(super) fn begun(item: &Item, id: &str) -> Value {
    let mut value = written(item, id, Standing::InProgress);
    if let Value::Object(fields) = &mut value {
        let in_progress = |fields: &mut Map<String, Value>| {
            fields.insert("status".to_owned(), Standing::InProgress.word().into());
        };
        match item {
            Item::Message(_) => {
                fields.insert("content".to_owned(), json!([]));
                in_progress(fields);
            }
            Item::FunctionCall(_) => {
                fields.insert("arguments".to_owned(), "".into());
                in_progress(fields);
            }
            Item::Reasoning(_) => {
                fields.insert("summary".to_owned(), json!([]));
                fields.shift_remove("content");
            }
            Item::FunctionCallOutput(_) | Item::Unknown(_) => {}
        }
    }
    value
}

fn status(fields: &mut Map<String, Value>, standing: Standing) {
    let said = fields.get("status").and_then(Value::as_str);
    if !matches!(said, Some("in_progress" | "completed" | "incomplete")) {
        fields.insert("status".to_owned(), standing.word().into());
    }
}

/// Adds what the format requires of a part.
fn complete(part: &mut Value) {
    let kind = part.get("type").and_then(Value::as_str).map(str::to_owned);
    let Value::Object(fields) = part else { return };
    match kind.as_deref() {
        Some("output_text") => {
            for key in ["annotations", "logprobs"] {
                if !fields.get(key).is_some_and(Value::is_array) {
                    fields.insert(key.to_owned(), json!([]));
                }
            }
        }
        Some("input_image") => {
            fields.entry("image_url").or_insert(Value::Null);
            fields.entry("detail").or_insert_with(|| "auto".into());
        }
        _ => {}
    }
}
