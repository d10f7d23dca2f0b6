//! Decides whether a call's arguments are valid, and what their canonical form is.
//! Called by `decide` for a model's calls and for arguments a person edited. What it returns is what is stored,
//! shown, approved and run. Lenient only where the meaning is plain; never guesses.

mod cost;

use jsonschema::Validator;
use serde_json::{Map, Number, Value};

use crate::nesting;

/// Deepest nesting that is coerced; deeper values are left to the schema.
const COERCION_DEPTH: u32 = 16;
/// Below this every whole number has one floating-point form.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A tool's schema, ready to be held against many calls.
#[derive(Debug)]
pub struct Schema {
    document: Value,
    validator: Result<Validator, String>,
}

/// The canonical arguments in a model's text, or what is wrong with it.
pub fn parse(text: &str, schema: &Value) -> Result<Value, String> {
    Schema::new(schema).parse(text)
}

/// The canonical form of arguments that are JSON already.
pub fn validate(value: Value, schema: &Value) -> Result<Value, String> {
    Schema::new(schema).validate(value)
}

impl Schema {
    /// One that is invalid refuses every call, saying so.
    pub fn new(document: &Value) -> Self {
        let validator = jsonschema::validator_for(document)
            .map_err(|error| format!("the tool's own schema is invalid: {error}"));
        Self { document: document.clone(), validator }
    }

    /// The canonical arguments in a model's text, or what is wrong with it.
    pub fn parse(&self, text: &str) -> Result<Value, String> {
        let value = if text.trim().is_empty() {
            Value::Object(Map::new())
        } else {
            serde_json::from_str(text)
                .map_err(|error| format!("the arguments are not JSON: {error}"))?
        };
        self.validate(value)
    }

    /// The canonical form of arguments that are JSON already.
    pub fn validate(&self, value: Value) -> Result<Value, String> {
        let value = canonical(value, &self.document)?;
        let validator = self.validator.as_ref().map_err(Clone::clone)?;
        if !cost::is_reasonable(&self.document, &value) {
            return Err("the tool's own schema refers to itself too often to be checked".to_owned());
        }
        check(value, validator)
    }
}

fn canonical(value: Value, schema: &Value) -> Result<Value, String> {
    let value = match value {
        Value::Null => Value::Object(Map::new()),
        value => value,
    };
    if !value.is_object() {
        return Err("the arguments are not an object".to_owned());
    }
    if nesting::is_too_deep(&value) {
        return Err(format!("the arguments are nested deeper than {} levels", nesting::LIMIT));
    }
    Ok(coerce(value, schema, COERCION_DEPTH))
}

fn check(value: Value, validator: &Validator) -> Result<Value, String> {
    let problems: Vec<String> = validator
        .iter_errors(&value)
        .take(5)
        .map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => error.to_string(),
            path => format!("{path}: {error}"),
        })
        .collect();
    if problems.is_empty() {
        Ok(value)
    } else {
        Err(format!("the arguments do not fit the tool: {}", problems.join("; ")))
    }
}

/// Whether a tool's schema can be used at all.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    jsonschema::validator_for(schema).map(|_| ()).map_err(|error| error.to_string())
}

fn coerce(value: Value, schema: &Value, depth: u32) -> Value {
    if depth == 0 {
        return value;
    }
    let kind = kind_of(&value);
    let fits = wants(schema, kind) || kind == "integer" && wants(schema, "number");
    let wraps = wants(schema, "array") && !fits;
    match value {
        Value::Array(values) => match schema.get("items") {
            Some(items) => {
                Value::Array(values.into_iter().map(|one| coerce(one, items, depth - 1)).collect())
            }
            None => Value::Array(values),
        },
        Value::String(text) if !wants(schema, "string") => coerce_text(text, schema, depth),
        Value::Null => Value::Null,
        value if wraps => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            Value::Array(vec![coerce(value, items, depth - 1)])
        }
        Value::Object(fields) => coerce_fields(fields, schema, depth),
        Value::Number(number) if wants(schema, "integer") && !fits => whole(number),
        value => value,
    }
}

// An absent optional is often sent as null; a null the schema allows stays.
fn coerce_fields(fields: Map<String, Value>, schema: &Value, depth: u32) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = |name: &str| {
        schema
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|one| one == name))
    };
    let mut kept = Map::new();
    for (name, value) in fields {
        match properties.and_then(|properties| properties.get(&name)) {
            Some(property) if value.is_null() && !required(&name) && !wants(property, "null") => {}
            Some(property) => {
                kept.insert(name, coerce(value, property, depth - 1));
            }
            None => {
                kept.insert(name, value);
            }
        }
    }
    Value::Object(kept)
}

fn coerce_text(text: String, schema: &Value, depth: u32) -> Value {
    let trimmed = text.trim();
    let number = || serde_json::from_str::<serde_json::Number>(trimmed).ok();
    if wants(schema, "integer")
        && let Some(number) = number().filter(|number| number.is_i64() || number.is_u64())
    {
        return Value::Number(number);
    }
    if wants(schema, "number")
        && let Some(number) = number()
    {
        return Value::Number(number);
    }
    match trimmed {
        "true" if wants(schema, "boolean") => Value::Bool(true),
        "false" if wants(schema, "boolean") => Value::Bool(false),
        _ if wants(schema, "array") => {
            let items = schema.get("items").unwrap_or(&Value::Null);
            Value::Array(vec![coerce(Value::String(text), items, depth - 1)])
        }
        _ => Value::String(text),
    }
}

// `3.0` is an integer to a schema; written as one, it is also equal to the 3 of a rule.
fn whole(number: Number) -> Value {
    match number.as_f64() {
        Some(float) if float.fract() == 0.0 && float.abs() < EXACT => Value::from(float as i64),
        _ => Value::Number(number),
    }
}

/// Whether the schema names this type. One that names none wants everything as it is.
fn wants(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == kind,
        Some(Value::Array(names)) => names.iter().any(|name| name == kind),
        _ => kind == "string" || kind == "null",
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
