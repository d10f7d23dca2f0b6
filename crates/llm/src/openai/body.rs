//! Decides what of a request's settings is sent, and under which names.
//! Called by `Responses::encode`; the conversation itself is written by `input`. What a model or a flavour would
//! refuse is left out; the vendor's own options come last and win.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Flavour;
use super::input;
use super::written::Line;
use crate::dialect::{Asked, Outgoing};
use crate::names::shortened;
use crate::{Error, Format, JsonSchema, ReasoningOptions, Request, Text, Tool, ToolChoice};

/// Asks for reasoning in a form that can be sent back when the vendor keeps nothing.
const ENCRYPTED: &str = "reasoning.encrypted_content";

/// OpenAI refuses a smaller limit.
const FEWEST_TOKENS: u64 = 16;

/// The longest key of a cache.
const LONGEST_KEY: usize = 64;

pub(super) fn write(request: &Request, asked: &Asked, flavour: Flavour) -> Result<Outgoing, Error> {
    let body = Body::of(request, asked, flavour);
    let Some(options) = request.options_for(&asked.vendor).filter(|own| !own.is_empty()) else {
        return Outgoing::json("/responses", &body);
    };
    let mut body = serde_json::to_value(&body).map_err(|error| {
        asked.error(crate::Class::InvalidRequest, format!("the request cannot be written: {error}"))
    })?;
    if let Value::Object(fields) = &mut body {
        merge(fields, options);
    }
    Outgoing::json("/responses", &body)
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: &'a str,
    input: Vec<Line<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Shape<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_response_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Effort<'a>>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    include: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

impl<'a> Body<'a> {
    fn of(request: &'a Request, asked: &'a Asked, flavour: Flavour) -> Self {
        let able = &asked.capabilities;
        let warm = able.accepts.temperature;
        let tools = tools(request, flavour);
        let fewest = if flavour == Flavour::Xai { 0 } else { FEWEST_TOKENS };
        Self {
            model: &asked.model,
            // xAI refuses instructions beside an earlier response; a system message says the same.
            instructions: if flavour == Flavour::Xai { "" } else { &request.instructions },
            input: input::lines(request, asked, flavour),
            tool_choice: tool_choice(request, flavour).filter(|_| !tools.is_empty()),
            text: request.text.as_ref().and_then(|text| shape(text, asked)),
            temperature: request.temperature.filter(|_| warm),
            top_p: request.top_p.filter(|_| warm),
            max_output_tokens: request.max_output_tokens.map(|most| most.max(fewest)),
            parallel_tool_calls: request
                .parallel_tool_calls
                .filter(|_| able.accepts.parallel_tool_calls && !tools.is_empty()),
            previous_response_id: request.previous_response_id.as_deref(),
            reasoning: request.reasoning.as_ref().and_then(|options| effort(options, asked)),
            metadata: metadata(request),
            store: request.store,
            include: include(request, asked),
            prompt_cache_key: request
                .prompt_cache_key
                .as_deref()
                .map(|key| shortened(key, LONGEST_KEY)),
            stream: asked.stream,
            extra: &request.extra,
            tools,
        }
    }
}

/// A tool as it is offered to the model.
#[derive(Serialize)]
#[serde(untagged)]
enum Offered<'a> {
    Function {
        r#type: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        description: &'a str,
        parameters: Cow<'a, Value>,
        /// Always said: an omitted one is read as true, and changes the schema.
        strict: bool,
        #[serde(flatten)]
        extra: &'a Map<String, Value>,
    },
    Own(&'a Value),
}

fn tools(request: &Request, flavour: Flavour) -> Vec<Offered<'_>> {
    let offered = |tool: &Tool| match (&request.tool_choice, tool.function_name()) {
        // xAI knows no list of allowed tools; the others are not offered at all.
        (Some(ToolChoice::Allowed { names, .. }), Some(name)) if flavour == Flavour::Xai => {
            names.iter().any(|allowed| allowed == name)
        }
        _ => true,
    };
    request.tools.iter().filter(|tool| offered(tool)).map(offer).collect()
}

fn offer(tool: &Tool) -> Offered<'_> {
    match tool {
        Tool::Function(function) => Offered::Function {
            r#type: "function",
            name: &function.name,
            description: &function.description,
            parameters: function.described(),
            strict: function.strict,
            extra: &function.extra,
        },
        Tool::Unknown(value) => Offered::Own(value),
    }
}

fn tool_choice(request: &Request, flavour: Flavour) -> Option<ToolChoice> {
    Some(match request.tool_choice.as_ref()? {
        ToolChoice::Allowed { required, .. } if flavour == Flavour::Xai => {
            if *required {
                ToolChoice::Required
            } else {
                ToolChoice::Auto
            }
        }
        other => other.clone(),
    })
}

/// How the text of the reply must look.
#[derive(Serialize)]
struct Shape<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Held<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verbosity: Option<&'a str>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Held<'a> {
    Schema {
        r#type: &'static str,
        name: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<&'a str>,
        schema: &'a Value,
        strict: bool,
        #[serde(flatten)]
        extra: &'a Map<String, Value>,
    },
    Other(Cow<'a, Format>),
}

fn shape<'a>(text: &'a Text, asked: &Asked) -> Option<Shape<'a>> {
    let able = &asked.capabilities;
    let format = match text.format.as_ref() {
        Some(Format::JsonSchema(schema)) if able.json_schema => Some(held_to(schema)),
        // The schema is put in words by `input`.
        Some(Format::JsonSchema(_)) => {
            able.json.then(|| Held::Other(Cow::Owned(Format::JsonObject)))
        }
        Some(Format::JsonObject) if !able.json => None,
        Some(format) => Some(Held::Other(Cow::Borrowed(format))),
        None => None,
    };
    let shape = Shape { format, verbosity: text.verbosity.as_deref(), extra: &text.extra };
    (shape.format.is_some() || shape.verbosity.is_some() || !shape.extra.is_empty())
        .then_some(shape)
}

fn held_to(schema: &JsonSchema) -> Held<'_> {
    Held::Schema {
        r#type: "json_schema",
        name: &schema.name,
        description: schema.description.as_deref(),
        schema: &schema.schema,
        strict: schema.strict,
        extra: &schema.extra,
    }
}

/// How much the model should think. A number of tokens cannot be said here.
#[derive(Serialize)]
struct Effort<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(flatten)]
    extra: &'a Map<String, Value>,
}

fn effort<'a>(options: &'a ReasoningOptions, asked: &Asked) -> Option<Effort<'a>> {
    let able = &asked.capabilities;
    let effort = Effort {
        effort: options.effort.as_deref().filter(|_| able.accepts.effort),
        summary: options.summary.as_deref(),
        extra: &options.extra,
    };
    let says = effort.effort.is_some() || effort.summary.is_some() || !effort.extra.is_empty();
    (able.reasoning && says).then_some(effort)
}

/// Only texts are taken as values.
fn metadata(request: &Request) -> Map<String, Value> {
    let text = |value: &Value| match value {
        Value::String(_) => value.clone(),
        value => Value::String(value.to_string()),
    };
    request.metadata.iter().map(|(key, value)| (key.clone(), text(value))).collect()
}

fn include<'a>(request: &'a Request, asked: &Asked) -> Vec<&'a str> {
    let mut include: Vec<&str> = request.include.iter().map(String::as_str).collect();
    let forgets = request.store == Some(false);
    if forgets && asked.capabilities.reasoning && !include.contains(&ENCRYPTED) {
        include.push(ENCRYPTED);
    }
    include
}

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
