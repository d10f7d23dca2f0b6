//! Decides what is sent for a request: which parameters, under which names, as the host and the model take them.
//! Called by `Chat`. The messages are written by `messages`. What a host cannot take is left out or put in words; what
//! the caller says for this vendor alone is merged over everything, last.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::content::Viewer;
use super::flavour::{Effort, Flavour, Path};
use super::messages::{Message, Writer};
use crate::dialect::{Asked, Outgoing};
use crate::names::shortened;
use crate::{Error, Format, FunctionTool, JsonSchema, Request, Tool, ToolChoice};

/// Characters of a key for the prompt cache.
const LONGEST_KEY: usize = 64;

/// A request's body.
#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Offered<'a> {
    Function { r#type: &'static str, function: Function<'a> },
    AsItIs(&'a Value),
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Cow<'a, Value>,
    // Its absence means no, unlike in the format of responses; hosts that do not know it need not see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

pub(super) fn encode(
    request: &Request,
    flavour: &Flavour,
    asked: &Asked,
) -> Result<Outgoing, Error> {
    let viewer = Viewer { flavour, capabilities: &asked.capabilities };
    let (format, words) = response_format(request, &viewer);
    let instructions = match words {
        None => Cow::Borrowed(request.instructions.as_str()),
        Some(words) if request.instructions.is_empty() => Cow::Owned(words),
        Some(words) => Cow::Owned(format!("{}\n\n{words}", request.instructions)),
    };
    let tools = tools(request, &viewer);
    let mut parameters = Map::new();
    if let Some(format) = format {
        parameters.insert("response_format".to_owned(), format);
    }
    if !tools.is_empty() {
        tool_parameters(request, &viewer, &mut parameters);
    }
    limits(request, &viewer, &mut parameters);
    reasoning(request, &viewer, &asked.model, &mut parameters);
    if flavour.openai_fields {
        openai_fields(request, flavour, &mut parameters);
    }
    if asked.stream {
        parameters.insert("stream".to_owned(), true.into());
        if flavour.include_usage {
            parameters.insert("stream_options".to_owned(), json!({"include_usage": true}));
        }
    }
    let messages = Writer::new(viewer, asked, request).write(instructions, request);
    let body = Body { model: &asked.model, messages, tools, parameters };
    let path = path(flavour, &asked.model);
    let mut outgoing = match request.options_for(&asked.vendor) {
        None => Outgoing::json(path, &body)?,
        Some(options) => {
            let mut value = serde_json::to_value(&body)
                .map_err(|error| asked.unreadable("the request", &error))?;
            if let Value::Object(fields) = &mut value {
                merge(fields, options);
            }
            Outgoing::json(path, &value)?
        }
    };
    if let (Some(key), "xai") = (&request.prompt_cache_key, flavour.name)
        && key.bytes().all(|byte| byte.is_ascii_graphic())
    {
        // Requests with the same id reach the server that has the conversation in its cache. A key that no header can
        // hold is no reason to ask nothing.
        outgoing.headers.push(("x-grok-conv-id".to_owned(), key.clone()));
    }
    Ok(outgoing)
}

fn path(flavour: &Flavour, model: &str) -> String {
    match flavour.path {
        Path::Plain => "/chat/completions".to_owned(),
        Path::Deployment => {
            let model: String = model.bytes().map(escaped).collect();
            format!("/openai/deployments/{model}/chat/completions")
        }
    }
}

/// One byte of a name as it stands in a path.
fn escaped(byte: u8) -> Cow<'static, str> {
    match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            Cow::Owned(char::from(byte).to_string())
        }
        _ => Cow::Owned(format!("%{byte:02X}")),
    }
}

/// The tools the host is offered. Where a choice of several cannot be said, only these are.
fn tools<'a>(request: &'a Request, viewer: &Viewer<'_>) -> Vec<Offered<'a>> {
    if !viewer.capabilities.tools {
        return Vec::new();
    }
    let allowed = match &request.tool_choice {
        Some(ToolChoice::Allowed { names, .. }) if !viewer.flavour.allowed_tools => Some(names),
        _ => None,
    };
    let offered = |tool: &'a Tool| match tool {
        Tool::Function(tool) => {
            let wanted = allowed.is_none_or(|names| names.contains(&tool.name));
            wanted.then(|| function(tool, viewer.flavour))
        }
        // The caller wrote it for this vendor, who knows best whether it can be had.
        Tool::Unknown(value) => Some(Offered::AsItIs(value)),
    };
    request.tools.iter().filter_map(offered).collect()
}

fn function<'a>(tool: &'a FunctionTool, flavour: &Flavour) -> Offered<'a> {
    Offered::Function {
        r#type: "function",
        function: Function {
            name: &tool.name,
            description: &tool.description,
            parameters: tool.described(),
            strict: (tool.strict && flavour.strict).then_some(true),
        },
    }
}

fn tool_parameters(request: &Request, viewer: &Viewer<'_>, parameters: &mut Map<String, Value>) {
    let named = |name: &String| json!({"type": "function", "function": {"name": name}});
    let choice = match &request.tool_choice {
        None => None,
        Some(ToolChoice::Auto) => Some("auto".into()),
        Some(ToolChoice::None) => Some("none".into()),
        Some(ToolChoice::Required) => Some("required".into()),
        Some(ToolChoice::Function { name }) => Some(named(name)),
        Some(ToolChoice::Allowed { required, names }) => {
            let mode = if *required { "required" } else { "auto" };
            if viewer.flavour.allowed_tools {
                let tools: Vec<Value> = names.iter().map(named).collect();
                Some(json!({
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": mode, "tools": tools},
                }))
            } else {
                Some(mode.into())
            }
        }
        // In the words of another format it would be refused; in this one's it names a function.
        Some(ToolChoice::Unknown(value)) => value.get("function").is_some().then(|| value.clone()),
    };
    if let Some(choice) = choice {
        parameters.insert("tool_choice".to_owned(), choice);
    }
    if let Some(parallel) = request.parallel_tool_calls
        && viewer.flavour.parallel_tool_calls
        && viewer.capabilities.accepts.parallel_tool_calls
    {
        parameters.insert("parallel_tool_calls".to_owned(), parallel.into());
    }
}

fn limits(request: &Request, viewer: &Viewer<'_>, parameters: &mut Map<String, Value>) {
    let accepts = &viewer.capabilities.accepts;
    // A model that fixes its temperature fixes the rest of its sampling too.
    if accepts.temperature {
        let sampling = [("temperature", request.temperature), ("top_p", request.top_p)];
        for (name, value) in sampling {
            if let Some(value) = value {
                parameters.insert(name.to_owned(), value.into());
            }
        }
    }
    if let Some(limit) = request.max_output_tokens {
        let newer = viewer.flavour.max_completion_tokens && accepts.max_completion_tokens;
        let name = if newer { "max_completion_tokens" } else { "max_tokens" };
        parameters.insert(name.to_owned(), limit.into());
    }
}

/// How the reply must look, and the words for it where the host has no parameter for it.
fn response_format(request: &Request, viewer: &Viewer<'_>) -> (Option<Value>, Option<String>) {
    let can = viewer.capabilities;
    let object = || can.json.then(|| json!({"type": "json_object"}));
    match request.text.as_ref().and_then(|text| text.format.as_ref()) {
        None | Some(Format::Text) => (None, None),
        // Hosts refuse to hold a reply to JSON when nobody has asked for it in words.
        Some(Format::JsonObject) if can.json && request.asks_for_json() => (object(), None),
        Some(Format::JsonObject) => {
            (object(), Some("Answer with one JSON object alone.".to_owned()))
        }
        Some(Format::JsonSchema(schema)) if viewer.flavour.json_schema && can.json_schema => {
            (Some(json_schema(schema)), None)
        }
        Some(Format::JsonSchema(schema)) => {
            let words = format!(
                "Answer with JSON alone, which must be valid against this JSON schema:\n{}",
                schema.schema
            );
            (object(), Some(words))
        }
        Some(Format::Unknown(value)) => (Some(value.clone()), None),
    }
}

fn json_schema(schema: &JsonSchema) -> Value {
    let mut inner = Map::new();
    inner.insert("name".to_owned(), schema.name.as_str().into());
    if let Some(description) = &schema.description {
        inner.insert("description".to_owned(), description.as_str().into());
    }
    inner.insert("schema".to_owned(), schema.schema.clone());
    inner.insert("strict".to_owned(), schema.strict.into());
    json!({"type": "json_schema", "json_schema": inner})
}

/// How much to think, in the host's words.
fn reasoning(
    request: &Request,
    viewer: &Viewer<'_>,
    model: &str,
    parameters: &mut Map<String, Value>,
) {
    let Some(options) = request.reasoning.as_ref().filter(|_| viewer.capabilities.reasoning) else {
        return;
    };
    let effort = options.effort.as_deref();
    let off = effort == Some("none");
    let mut say = |key: &str, value: Value| {
        parameters.insert(key.to_owned(), value);
    };
    match (viewer.flavour.effort, effort) {
        // Some models think as much as they like.
        (Effort::Word, Some(_)) if !viewer.capabilities.accepts.effort => {}
        (Effort::Word, Some(word)) => say("reasoning_effort", word.into()),
        // These always think, and refuse to be told how much.
        (Effort::OnOrOff, _) if model.starts_with("magistral") => {}
        (Effort::OnOrOff, Some(word)) => {
            let on = !matches!(word, "none" | "minimal");
            say("reasoning_effort", if on { "high" } else { "none" }.into());
        }
        (Effort::Groq, word) if model.starts_with("qwen/") => {
            say("reasoning_format", "parsed".into());
            if word.is_some() {
                say("reasoning_effort", if off { "none" } else { "default" }.into());
            }
        }
        (Effort::Groq, Some(word)) => {
            let least = matches!(word, "none" | "minimal");
            say("reasoning_effort", if least { "low" } else { word }.into());
        }
        (Effort::Switch, word) => {
            say("thinking", json!({"type": if off { "disabled" } else { "enabled" }}));
            if let Some(word) = word.filter(|_| !off) {
                say("reasoning_effort", word.into());
            }
        }
        (Effort::Object, word) => match (word, options.max_tokens) {
            // The host takes one or the other; a number says it more exactly.
            (_, Some(tokens)) if !off => say("reasoning", json!({"max_tokens": tokens})),
            (Some(word), _) => say("reasoning", json!({"effort": word})),
            (None, _) => say("reasoning", json!({"enabled": true})),
        },
        (Effort::WordOrOff, Some(_)) if off => say("reasoning", json!({"enabled": false})),
        (Effort::WordOrOff, Some(word)) => say("reasoning_effort", word.into()),
        (Effort::Template, word) => {
            say("chat_template_kwargs", json!({"enable_thinking": !off}));
            if let Some(word) = word.filter(|_| !off) {
                say("reasoning_effort", word.into());
            }
        }
        (Effort::Word | Effort::OnOrOff | Effort::Groq | Effort::WordOrOff, None) => {}
    }
}

fn openai_fields(request: &Request, flavour: &Flavour, parameters: &mut Map<String, Value>) {
    if let Some(store) = request.store.filter(|store| *store || !flavour.dated) {
        parameters.insert("store".to_owned(), store.into());
        // Notes on a reply that is not kept are refused.
        if store && !request.metadata.is_empty() {
            parameters.insert("metadata".to_owned(), Value::Object(request.metadata.clone()));
        }
    }
    if let Some(key) = request.prompt_cache_key.as_ref().filter(|_| !flavour.dated) {
        let key = shortened(key, LONGEST_KEY).into_owned();
        parameters.insert("prompt_cache_key".to_owned(), key.into());
    }
    if let Some(verbosity) = request.text.as_ref().and_then(|text| text.verbosity.as_deref()) {
        parameters.insert("verbosity".to_owned(), verbosity.into());
    }
}

/// Lays one object over another; objects inside are laid over each other too.
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

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
