//! Decides under which names this dialect notes on an item what only the host that made it understands, and how such
//! fields grow when they come in pieces. Written by `turn` and `calls`, read by `messages`.

use serde_json::{Map, Value};

/// On a reasoning item: the field in which it came.
pub(super) const FIELD: &str = "field";

/// On one item of a message: the message's fields that nobody here knows.
pub(super) const MESSAGE: &str = "message";

/// On a call: its fields that nobody here knows.
pub(super) const CALL: &str = "call";

/// On a call: its id was made up here, the host having given none.
pub(super) const MADE_ID: &str = "made_id";

/// Texts inside a list that grow piece by piece.
const GROWING: [&str; 3] = ["text", "summary", "data"];

/// Adds a field, or what came of it now to what came before. Nothing is not noted.
pub(super) fn merge(into: &mut Map<String, Value>, key: &str, value: &Value) {
    let empty = match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    if empty {
        return;
    }
    match (into.get_mut(key), value) {
        (Some(Value::Array(known)), Value::Array(more)) => {
            for element in more {
                match known.last_mut() {
                    Some(last) if goes_on(last, element) => grow(last, element),
                    _ => known.push(element.clone()),
                }
            }
        }
        (Some(Value::Object(known)), Value::Object(more)) => {
            for (key, value) in more {
                merge(known, key, value);
            }
        }
        _ => {
            into.insert(key.to_owned(), value.clone());
        }
    }
}

/// Whether an element of a list is the continuation of the one before it.
fn goes_on(last: &Value, element: &Value) -> bool {
    let same = |key: &str| last.get(key) == element.get(key);
    element.get("index").is_some_and(Value::is_u64) && same("index") && same("type")
}

fn grow(last: &mut Value, element: &Value) {
    let (Value::Object(last), Value::Object(element)) = (last, element) else { return };
    for (key, value) in element {
        match (last.get_mut(key), value) {
            (Some(Value::String(known)), Value::String(more))
                if GROWING.contains(&key.as_str()) =>
            {
                known.push_str(more);
            }
            (_, Value::Null) => {}
            _ => {
                last.insert(key.clone(), value.clone());
            }
        }
    }
}
