//! Decides how a reply in the *Responses* format is read: leniently, since many hosts speak it their own way.
//! Called for whole replies and for every event that carries a response or an item. Never fails: what is missing or of
//! another type than it should be is taken as absent.

use agent_world_core::item::Item;
use serde_json::{Map, Value, json};

use super::Flavour;
use crate::{Failure, IncompleteDetails, Response, Status, Usage, origin};

/// An item that came behind a reasoning item of the same reply notes this in its origin.
pub(super) const REASONED: &str = "reasoned";

/// Takes over what a response object says. Gives its output, which is read apart.
pub(super) fn apply(
    mut fields: Map<String, Value>,
    response: &mut Response,
    flavour: Flavour,
) -> Vec<Value> {
    let mut take = |key: &str| fields.shift_remove(key).unwrap_or_default();
    if let Value::String(id) = take("id") {
        response.id = id;
    }
    if let Value::String(model) = take("model") {
        response.model = model;
    }
    let created = take("created_at");
    if let Some(at) = created.as_i64().or_else(|| created.as_f64().map(|at| at as i64)) {
        response.created_at = Some(at);
    }
    if let Ok(status) = serde_json::from_value::<Status>(take("status")) {
        response.status = status;
    }
    if let Value::Object(usage) = take("usage") {
        response.usage = Some(usage_from(usage, flavour));
    }
    response.incomplete_details = match take("incomplete_details") {
        Value::Object(details) => Some(IncompleteDetails { reason: text(&details, "reason") }),
        _ => None,
    };
    response.error = match take("error") {
        Value::Object(error) => {
            Some(Failure { code: text(&error, "code"), message: text(&error, "message") })
        }
        _ => None,
    };
    let output = match take("output") {
        Value::Array(output) => output,
        _ => Vec::new(),
    };
    response.extra = fields;
    output
}

fn text(fields: &Map<String, Value>, key: &str) -> String {
    fields.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn usage_from(mut fields: Map<String, Value>, flavour: Flavour) -> Usage {
    let mut input = details(&mut fields, "input_tokens_details");
    let mut output = details(&mut fields, "output_tokens_details");
    let mut usage = Usage {
        input_tokens: number(&mut fields, "input_tokens").unwrap_or_default(),
        output_tokens: number(&mut fields, "output_tokens").unwrap_or_default(),
        ..Usage::default()
    };
    usage.input_tokens_details.cached_tokens =
        number(&mut input, "cached_tokens").unwrap_or_default();
    usage.input_tokens_details.cache_write_tokens = number(&mut input, "cache_write_tokens");
    usage.input_tokens_details.extra = input;
    usage.output_tokens_details.reasoning_tokens =
        number(&mut output, "reasoning_tokens").unwrap_or_default();
    usage.output_tokens_details.extra = output;
    let total = number(&mut fields, "total_tokens");
    let said = usage.input_tokens.saturating_add(usage.output_tokens);
    let thought = usage.output_tokens_details.reasoning_tokens;
    // xAI counts thoughts apart from the output in one of its interfaces and with it in the other; the total tells.
    if flavour == Flavour::Xai && thought > 0 && total == Some(said.saturating_add(thought)) {
        usage.output_tokens = usage.output_tokens.saturating_add(thought);
    }
    usage.total_tokens = total.unwrap_or(said);
    usage.extra = fields;
    usage
}

fn details(fields: &mut Map<String, Value>, key: &str) -> Map<String, Value> {
    match fields.shift_remove(key) {
        Some(Value::Object(details)) => details,
        _ => Map::new(),
    }
}

fn number(fields: &mut Map<String, Value>, key: &str) -> Option<u64> {
    fields.shift_remove(key)?.as_u64()
}

/// Reads one item of the output.
pub(super) fn item(mut value: Value) -> Item {
    if let Value::Object(fields) = &mut value {
        repair(fields);
    }
    match serde::Deserialize::deserialize(&value) {
        Ok(item) => item,
        Err(_) => Item::Unknown(value),
    }
}

/// Some hosts leave out what the format requires, or write it in another way.
fn repair(fields: &mut Map<String, Value>) {
    match fields.get("type").and_then(Value::as_str) {
        Some("message") => {
            fields.entry("role").or_insert_with(|| "assistant".into());
            let content = fields.entry("content").or_insert(Value::Null);
            if content.is_null() {
                *content = json!([]);
            } else if content.is_string() {
                *content = json!([{"type": "output_text", "text": content.take()}]);
            }
        }
        Some("function_call") => {
            for key in ["call_id", "name", "arguments", "id"] {
                match fields.get_mut(key) {
                    Some(Value::Null) => {
                        fields.shift_remove(key);
                    }
                    Some(value) if key == "arguments" && !value.is_string() => {
                        *value = value.to_string().into();
                    }
                    _ => {}
                }
            }
        }
        Some("reasoning") if !fields.get("summary").is_some_and(Value::is_array) => {
            fields.shift_remove("summary");
        }
        _ => {}
    }
}

/// Notes where an item came from, and gives a call an id when it came without.
pub(super) fn mark(
    item: &mut Item,
    vendor: &str,
    asked_model: &str,
    response: &Response,
    (index, reasoned): (usize, bool),
) {
    let model = if response.model.is_empty() { asked_model } else { &response.model };
    let mut made = false;
    if let Item::FunctionCall(call) = &mut *item
        && call.call_id.is_empty()
    {
        let id = if response.id.is_empty() { "0" } else { &response.id };
        call.call_id = format!("call_{id}_{index}");
        made = true;
    }
    origin::mark(item, vendor, model);
    if made {
        origin::note(item, "made_id", true.into());
    }
    if reasoned && !matches!(item, Item::Reasoning(_)) {
        origin::note(item, REASONED, true.into());
    }
}
