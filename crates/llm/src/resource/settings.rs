//! Decides which settings a response object repeats: those of the request, else those the vendor says it used, else
//! the defaults of the format.
//! Called for every response object. A setting of the wrong type is taken as not said.

use serde_json::{Map, Value, json};

use crate::{Format, JsonSchema, Request, Response, Text, Tool};

/// What a request says, in the words of a response.
pub(super) fn asked(request: &Request) -> Map<String, Value> {
    let mut asked: Map<String, Value> = request
        .extra
        .iter()
        .filter(|(key, value)| is_setting(key) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            asked.insert(key.to_owned(), value);
        }
    };
    put("model", request.model.as_str().into());
    // These are the client's own; a vendor may have been told something else.
    put("tools", request.tools.iter().map(tool).collect());
    put("metadata", Value::Object(request.metadata.clone()));
    if !request.instructions.is_empty() {
        put("instructions", request.instructions.as_str().into());
    }
    put("tool_choice", json!(request.tool_choice));
    put("text", request.text.as_ref().map(text).unwrap_or_default());
    put("temperature", json!(request.temperature));
    put("top_p", json!(request.top_p));
    put("max_output_tokens", json!(request.max_output_tokens));
    put("parallel_tool_calls", json!(request.parallel_tool_calls));
    put("previous_response_id", json!(request.previous_response_id));
    put("store", json!(request.store));
    put("prompt_cache_key", json!(request.prompt_cache_key));
    if let Some(options) = &request.reasoning {
        put("reasoning", json!({"effort": options.effort, "summary": options.summary}));
    }
    asked
}

/// Adds every setting to a response object, and behind them what else the vendor said.
pub(super) fn fill(asked: &Map<String, Value>, response: &Response, into: &mut Map<String, Value>) {
    for (key, default) in DEFAULTS {
        // What only the client can have said is never taken from the vendor, which was told it in its own words.
        let echo = match *key {
            "tools" | "metadata" | "instructions" | "text" | "tool_choice" => None,
            key => response.extra.get(key),
        };
        let fits = |value: &&Value| fits(key, value);
        let value = asked.get(*key).filter(fits).or_else(|| echo.filter(fits));
        into.insert((*key).to_owned(), value.cloned().unwrap_or_else(default));
    }
    for (key, value) in &response.extra {
        if !into.contains_key(key) {
            into.insert(key.clone(), value.clone());
        }
    }
}

type Make = fn() -> Value;

/// The settings of a response object, and what they are when nobody says.
const DEFAULTS: &[(&str, Make)] = &[
    ("previous_response_id", || Value::Null),
    ("instructions", || Value::Null),
    ("tools", || json!([])),
    ("tool_choice", || json!("auto")),
    ("truncation", || json!("disabled")),
    ("parallel_tool_calls", || json!(true)),
    ("text", || json!({"format": {"type": "text"}})),
    ("top_p", || json!(1.0)),
    ("presence_penalty", || json!(0.0)),
    ("frequency_penalty", || json!(0.0)),
    ("top_logprobs", || json!(0)),
    ("temperature", || json!(1.0)),
    ("reasoning", || json!({"effort": null, "summary": null})),
    ("max_output_tokens", || Value::Null),
    ("max_tool_calls", || Value::Null),
    ("store", || json!(true)),
    ("background", || json!(false)),
    ("service_tier", || json!("default")),
    ("metadata", || json!({})),
    ("safety_identifier", || Value::Null),
    ("prompt_cache_key", || Value::Null),
    ("user", || Value::Null),
];

fn is_setting(key: &str) -> bool {
    DEFAULTS.iter().any(|(name, _)| *name == key)
}

/// Whether a value can stand in a field. Clients with fixed types would fail on another.
fn fits(key: &str, value: &Value) -> bool {
    match key {
        "parallel_tool_calls" | "store" | "background" => value.is_boolean(),
        "top_p" | "presence_penalty" | "frequency_penalty" | "temperature" => value.is_number(),
        "top_logprobs" | "max_output_tokens" | "max_tool_calls" => value.is_u64(),
        "tools" => value.is_array(),
        "metadata" | "text" => value.is_object(),
        "reasoning" => ["effort", "summary"].iter().all(|part| value.get(part).is_some()),
        "tool_choice" => value.is_string() || value.is_object(),
        _ => value.is_string(),
    }
}

fn tool(tool: &Tool) -> Value {
    match tool {
        Tool::Function(function) => {
            let mut fields = function.extra.clone();
            let mut put = |key: &str, value: Value| fields.insert(key.to_owned(), value);
            put("type", "function".into());
            put("name", function.name.as_str().into());
            put("description", or_null(&function.description));
            put("parameters", Value::clone(&function.parameters));
            put("strict", function.strict.into());
            Value::Object(fields)
        }
        Tool::Unknown(value) => value.clone(),
    }
}

fn or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}

fn text(text: &Text) -> Value {
    let mut fields = text.extra.clone();
    let format = match &text.format {
        Some(Format::JsonSchema(JsonSchema { name, description, schema, strict, extra })) => {
            let mut format = extra.clone();
            let mut put = |key: &str, value: Value| format.insert(key.to_owned(), value);
            put("type", "json_schema".into());
            put("name", name.as_str().into());
            put("description", json!(description));
            put("schema", schema.clone());
            put("strict", (*strict).into());
            Value::Object(format)
        }
        Some(format) => json!(format),
        None => json!({"type": "text"}),
    };
    fields.insert("format".to_owned(), format);
    if let Some(verbosity) = &text.verbosity {
        fields.insert("verbosity".to_owned(), verbosity.as_str().into());
    }
    Value::Object(fields)
}
