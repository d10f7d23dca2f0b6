//! Decides how a JSON schema is put so that the vendor holds the model to it. It takes only a part of the language and
//! refuses the rest: objects must be closed, and limits on numbers, texts and lists are not known.
//! Used for structured replies and strict tools. Changes nothing but what the vendor refuses, and tells the model in
//! the description what was taken away.

use serde_json::{Map, Value};

/// Keywords that hold one schema.
const ONE: &[&str] = &["items", "not", "if", "then", "else", "contains", "propertyNames"];
/// Keywords that hold a list of schemas.
const LIST: &[&str] = &["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords that hold schemas by names of the caller.
const NAMED: &[&str] = &["properties", "$defs", "definitions", "patternProperties"];
/// Limits that the vendor refuses.
const LIMITS: &[&str] = &[
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
];

/// The schema as the vendor takes it.
pub fn strict(schema: &Value) -> Value {
    let mut schema = schema.clone();
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    let mut taken = Vec::new();
    for limit in LIMITS {
        if let Some(value) = fields.shift_remove(*limit) {
            taken.push(format!("{limit}: {value}"));
        }
    }
    if fields.get("minItems").and_then(Value::as_u64).is_some_and(|least| least > 1)
        && let Some(value) = fields.shift_remove("minItems")
    {
        taken.push(format!("minItems: {value}"));
    }
    describe(fields, &taken);
    // Only one of them fits in either case, as far as the model can be held to it.
    if !fields.contains_key("anyOf")
        && let Some(choices) = fields.shift_remove("oneOf")
    {
        fields.insert("anyOf".to_owned(), choices);
    }
    let is_object = fields.contains_key("properties")
        || match fields.get("type") {
            Some(Value::String(kind)) => kind == "object",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
            _ => false,
        };
    let is_open = matches!(fields.get("additionalProperties"), None | Some(Value::Bool(true)));
    if is_object && is_open {
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    for (key, value) in fields.iter_mut() {
        match (key.as_str(), value) {
            (key, value) if ONE.contains(&key) => close(value),
            (key, Value::Array(list)) if LIST.contains(&key) => list.iter_mut().for_each(close),
            (key, Value::Object(named)) if NAMED.contains(&key) => {
                named.values_mut().for_each(close);
            }
            _ => {}
        }
    }
}

fn describe(fields: &mut Map<String, Value>, taken: &[String]) {
    if taken.is_empty() {
        return;
    }
    let words = format!("({})", taken.join(", "));
    match fields.get_mut("description") {
        Some(Value::String(text)) => {
            text.push(' ');
            text.push_str(&words);
        }
        _ => {
            fields.insert("description".to_owned(), Value::String(words));
        }
    }
}
