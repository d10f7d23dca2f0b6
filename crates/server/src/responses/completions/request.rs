//! Decides what a request in the older format asks, in the words of a request for a response.
//! Called by the route. What the newer format cannot say is refused: leaving it out would change what was asked.

use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::super::asked::typed;
use super::super::failure::{Failure, short};

/// A request for a chat completion.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatBody {
    /// `vendor/model`, or `world:WORLD/AGENT` for an agent.
    #[schema(nullable = false, required, example = "demo/demo")]
    model: Option<String>,
    #[schema(nullable = false, required, value_type = Vec<Object>)]
    messages: Option<Vec<Map<String, Value>>>,
    #[schema(value_type = Option<Vec<Object>>)]
    tools: Option<Vec<Map<String, Value>>>,
    #[schema(value_type = Option<Object>)]
    tool_choice: Option<Value>,
    #[schema(value_type = Option<Object>)]
    response_format: Option<Map<String, Value>>,
    stream: Option<bool>,
    /// `include_usage` adds a last chunk with the tokens used.
    #[schema(value_type = Option<Object>)]
    stream_options: Option<Map<String, Value>>,
    #[schema(minimum = 1)]
    max_tokens: Option<u64>,
    #[schema(minimum = 1)]
    max_completion_tokens: Option<u64>,
    reasoning_effort: Option<String>,
    verbosity: Option<String>,
    /// Only one answer is given.
    #[schema(minimum = 1, maximum = 1)]
    n: Option<u64>,
}

/// What is asked, and what else is wanted of the answer.
pub(super) struct Wanted {
    pub body: Value,
    /// A last chunk that says how many tokens were used.
    pub usage: bool,
}

/// Fields that mean the same in both formats.
const SAME: [&str; 11] = [
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "parallel_tool_calls",
    "user",
    "metadata",
    "service_tier",
    "prompt_cache_key",
    "safety_identifier",
    "vendor_options",
];

/// Fields that the newer format has nothing for.
const UNSUPPORTED: [&str; 7] =
    ["stop", "logit_bias", "functions", "function_call", "audio", "prediction", "logprobs"];

pub(super) fn read(body: Value) -> Result<Wanted, Failure> {
    let Value::Object(fields) = body else {
        let message = "the body must be a JSON object";
        return Err(Failure::new(StatusCode::BAD_REQUEST, "invalid_body", message));
    };
    let form: ChatBody = typed(&fields)?;
    refuse_unsupported(&fields, &form)?;
    let Some(messages) = form.messages else {
        let message = "messages are needed";
        return Err(Failure::refused("missing_required_parameter", "messages", message));
    };
    let mut out = Map::new();
    for name in SAME {
        if let Some(value) = fields.get(name) {
            out.insert(name.to_owned(), value.clone());
        }
    }
    let mut put = |name: &str, value: Value| out.insert(name.to_owned(), value);
    put("model", json!(form.model));
    put("input", Value::Array(items(&messages)?));
    put("store", false.into());
    put("stream", json!(form.stream));
    put("max_output_tokens", json!(form.max_completion_tokens.or(form.max_tokens)));
    if let Some(tools) = form.tools {
        put("tools", tools.into_iter().map(tool).collect());
    }
    if let Some(choice) = form.tool_choice {
        put("tool_choice", tool_choice(choice));
    }
    if let Some(effort) = form.reasoning_effort {
        put("reasoning", json!({"effort": effort}));
    }
    let mut text = Map::new();
    if let Some(format) = form.response_format {
        text.insert("format".to_owned(), flat(format, "json_schema"));
    }
    if let Some(verbosity) = form.verbosity {
        text.insert("verbosity".to_owned(), verbosity.into());
    }
    if !text.is_empty() {
        put("text", Value::Object(text));
    }
    let options = form.stream_options.unwrap_or_default();
    let usage = options.get("include_usage").and_then(Value::as_bool).unwrap_or(false);
    Ok(Wanted { body: Value::Object(out), usage })
}

fn refuse_unsupported(fields: &Map<String, Value>, form: &ChatBody) -> Result<(), Failure> {
    let said = |value: &&Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => true,
    };
    if let Some(name) =
        UNSUPPORTED.into_iter().find(|name| fields.get(*name).filter(said).is_some())
    {
        let message = format!("{name} cannot be handed on to every model; leave it out");
        return Err(Failure::refused("unsupported_parameter", name, message));
    }
    if form.n.is_some_and(|n| n != 1) {
        return Err(Failure::refused("unsupported_value", "n", "one answer is given; n must be 1"));
    }
    Ok(())
}

/// The messages as items.
fn items(messages: &[Map<String, Value>]) -> Result<Vec<Value>, Failure> {
    let mut items = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = |what: &str| format!("messages[{index}]{what}");
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        let content = message.get("content");
        match role {
            "system" | "developer" | "user" => {
                let parts = parts(content, "input_text")
                    .map_err(|error| Failure::invalid(at(".content"), error))?;
                items.push(json!({"type": "message", "role": role, "content": parts}));
            }
            "assistant" => {
                let mut said = parts(content, "output_text")
                    .map_err(|error| Failure::invalid(at(".content"), error))?;
                if let Some(refusal) = message.get("refusal").and_then(Value::as_str) {
                    said.push(json!({"type": "refusal", "refusal": refusal}));
                }
                if !said.is_empty() {
                    items.push(json!({"type": "message", "role": "assistant", "content": said}));
                }
                let calls = message.get("tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    items.push(called(call).ok_or_else(|| {
                        Failure::invalid(
                            at(".tool_calls"),
                            "a call needs an id and a function with a name",
                        )
                    })?);
                }
            }
            "tool" => {
                let id = message.get("tool_call_id").and_then(Value::as_str).ok_or_else(|| {
                    Failure::invalid(at(".tool_call_id"), "a result needs the id of its call")
                })?;
                let output = match content {
                    Some(Value::String(text)) => json!(text),
                    content => json!(
                        parts(content, "input_text")
                            .map_err(|error| Failure::invalid(at(".content"), error))?
                    ),
                };
                items
                    .push(json!({"type": "function_call_output", "call_id": id, "output": output}));
            }
            other => {
                let message = format!(
                    "a role is system, developer, user, assistant or tool, not `{}`",
                    short(other)
                );
                return Err(Failure::invalid(at(".role"), message));
            }
        }
    }
    Ok(items)
}

/// The parts of a message; a text is one part.
fn parts(content: Option<&Value>, text: &str) -> Result<Vec<Value>, String> {
    match content {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(said)) => Ok(vec![json!({"type": text, "text": said})]),
        Some(Value::Array(parts)) => parts.iter().map(|part| converted(part, text)).collect(),
        Some(_) => Err("content is a text or a list of parts".to_owned()),
    }
}

fn converted(part: &Value, text: &str) -> Result<Value, String> {
    let inner = |name: &str, key: &str| part.get(name).and_then(|inner| inner.get(key)).cloned();
    match part.get("type").and_then(Value::as_str).unwrap_or_default() {
        "text" => match part.get("text").and_then(Value::as_str) {
            Some(said) => Ok(json!({"type": text, "text": said})),
            None => Err("a part of the type text needs a text".to_owned()),
        },
        "refusal" => Ok(
            json!({"type": "refusal", "refusal": part.get("refusal").and_then(Value::as_str).unwrap_or_default()}),
        ),
        "image_url" => match inner("image_url", "url") {
            Some(Value::String(url)) => {
                let detail = inner("image_url", "detail").unwrap_or_else(|| "auto".into());
                Ok(json!({"type": "input_image", "image_url": url, "detail": detail}))
            }
            _ => Err("an image needs image_url.url".to_owned()),
        },
        "file" => {
            let mut file = Map::new();
            file.insert("type".to_owned(), "input_file".into());
            for key in ["filename", "file_data", "file_id"] {
                if let Some(value) = inner("file", key) {
                    file.insert(key.to_owned(), value);
                }
            }
            Ok(Value::Object(file))
        }
        other => Err(format!("parts of the type `{}` cannot be handed on", short(other))),
    }
}

fn called(call: &Value) -> Option<Value> {
    let function = call.get("function")?;
    let (id, name) = (call.get("id")?.as_str()?, function.get("name")?.as_str()?);
    let arguments = function.get("arguments").and_then(Value::as_str).unwrap_or("{}");
    Some(json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments}))
}

fn tool(tool: Map<String, Value>) -> Value {
    flat(tool, "function")
}

/// What is held in a field of its own, beside its type.
fn flat(mut outer: Map<String, Value>, field: &str) -> Value {
    match outer.shift_remove(field) {
        Some(Value::Object(inner)) => {
            let mut flat = Map::new();
            flat.insert("type".to_owned(), field.into());
            flat.extend(inner);
            Value::Object(flat)
        }
        Some(other) => {
            outer.insert(field.to_owned(), other);
            Value::Object(outer)
        }
        None => Value::Object(outer),
    }
}

fn tool_choice(choice: Value) -> Value {
    let Value::Object(choice) = choice else { return choice };
    match flat(flat_object(choice, "allowed_tools"), "function") {
        Value::Object(mut choice) => {
            if let Some(Value::Array(tools)) = choice.get_mut("tools") {
                for one in tools {
                    if let Value::Object(fields) = one {
                        *one = tool(std::mem::take(fields));
                    }
                }
            }
            Value::Object(choice)
        }
        other => other,
    }
}

fn flat_object(outer: Map<String, Value>, field: &str) -> Map<String, Value> {
    match flat(outer, field) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
