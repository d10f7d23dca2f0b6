//! Decides whether a body can be a request for a response, and reads out of it what the server itself does: keeping,
//! streaming, working in the background. Called by the routes and by the socket. Everything else is the model's business
//! and goes on as it came, also fields nobody here knows.

use agent_world_runtime::llm::{Format, Request, Tool, ToolChoice};
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::failure::{Failure, short};

const LONGEST_INPUT: usize = 10 * 1024 * 1024;
const MOST_METADATA: usize = 16;
const LONGEST_METADATA_KEY: usize = 64;
const LONGEST_METADATA: usize = 512;
const LONGEST_KEY: usize = 64;
const LONGEST_TOOL_NAME: usize = 128;

/// A request for a response. Fields that are not listed go to the vendor as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub(crate) struct CreateResponse {
    /// `vendor/model`, or `world:WORLD/AGENT` for an agent.
    #[schema(nullable = false, required, example = "demo/demo")]
    pub model: Option<String>,
    /// A text, or a list of items.
    #[schema(value_type = Option<Object>)]
    pub input: Option<Value>,
    pub instructions: Option<String>,
    /// Goes on from a stored response: its input and its output come before this input.
    pub previous_response_id: Option<String>,
    pub include: Option<Vec<String>>,
    #[schema(value_type = Option<Vec<Object>>)]
    pub tools: Option<Vec<Map<String, Value>>>,
    /// `auto`, `none`, `required`, or an object that names a tool or the tools that are allowed.
    #[schema(value_type = Option<Object>)]
    pub tool_choice: Option<Value>,
    /// At most 16 texts of 512 characters.
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// How the text must look: `format` may hold a JSON schema.
    #[schema(value_type = Option<Object>)]
    pub text: Option<Map<String, Value>>,
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub presence_penalty: Option<f64>,
    pub frequency_penalty: Option<f64>,
    pub parallel_tool_calls: Option<bool>,
    /// Events as they happen, instead of the response at its end.
    pub stream: Option<bool>,
    #[schema(value_type = Option<Object>)]
    pub stream_options: Option<Map<String, Value>>,
    /// Answers at once; the response is then read by its id.
    pub background: Option<bool>,
    #[schema(minimum = 1)]
    pub max_output_tokens: Option<u64>,
    #[schema(minimum = 1)]
    pub max_tool_calls: Option<u64>,
    #[schema(value_type = Option<Object>)]
    pub reasoning: Option<Map<String, Value>>,
    #[schema(max_length = 64)]
    pub safety_identifier: Option<String>,
    #[schema(max_length = 64)]
    pub prompt_cache_key: Option<String>,
    /// `auto` or `disabled`.
    pub truncation: Option<String>,
    /// Whether the response is kept, for thirty days; it is unless this is false.
    pub store: Option<bool>,
    pub service_tier: Option<String>,
    #[schema(maximum = 20)]
    pub top_logprobs: Option<u64>,
    pub user: Option<String>,
}

/// A request that can be carried out.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// As the client said it; a response repeats its settings.
    pub request: Request,
    pub store: bool,
    pub stream: bool,
    pub background: bool,
}

/// Fields of OpenAI's own service that this one has nothing for. Leaving them out in silence would change the meaning.
const UNSUPPORTED: [(&str, &str); 2] = [
    ("conversation", "conversations are not kept; use previous_response_id"),
    ("prompt", "stored prompts do not exist here; send the text as instructions and input"),
];

/// Reads a body.
pub(super) fn read(body: Value) -> Result<Asked, Failure> {
    let Value::Object(fields) = body else {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "invalid_body",
            "the body must be a JSON object",
        ));
    };
    for (field, advice) in UNSUPPORTED {
        if fields.get(field).is_some_and(|value| !value.is_null()) {
            return Err(Failure::refused("unsupported_parameter", field, advice));
        }
    }
    let form: CreateResponse = typed(&fields)?;
    check(&form)?;
    let mut request: Request = typed(&fields)?;
    // Whoever asks is known by the token; this field is only handed on.
    for own in ["background", "stream_options", "generate", "type"] {
        request.extra.shift_remove(own);
    }
    if form.background == Some(true) {
        request.extra.insert("background".to_owned(), true.into());
    }
    check_request(&request)?;
    let asked = Asked {
        store: form.store.unwrap_or(true),
        stream: form.stream.unwrap_or(false),
        background: form.background.unwrap_or(false),
        request,
    };
    if asked.background && !asked.store {
        let message = "a response made in the background must be stored; leave store out";
        return Err(Failure::invalid("background", message));
    }
    Ok(asked)
}

/// A form of the fields, or which of them does not fit.
pub(super) fn typed<T: serde::de::DeserializeOwned>(
    fields: &Map<String, Value>,
) -> Result<T, Failure> {
    let value = Value::Object(fields.clone());
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let message = error.inner().to_string();
        // A field that is caught late knows its own place and says it: `input[2]: ...`.
        let named =
            message.split(':').next().filter(|name| name.starts_with("input[")).map(str::to_owned);
        let param = named.unwrap_or(path);
        Failure::refused("invalid_type", param, format!("the body is refused: {}", short(&message)))
    })
}

fn check(form: &CreateResponse) -> Result<(), Failure> {
    if form.model.as_deref().unwrap_or_default().is_empty() {
        let message = "a model is needed: `vendor/model`, or `world:WORLD/AGENT`";
        return Err(Failure::refused("missing_required_parameter", "model", message));
    }
    let given = form.input.as_ref().is_some_and(|input| !input.is_null());
    if !given && form.previous_response_id.is_none() {
        let message = "input is needed, or a previous_response_id to go on from";
        return Err(Failure::refused("missing_required_parameter", "input", message));
    }
    if let Some(Value::String(text)) = &form.input
        && text.len() > LONGEST_INPUT
    {
        return Err(Failure::refused("string_above_max_length", "input", "input is too long"));
    }
    if let Some(input) = &form.input
        && !(input.is_string() || input.is_array() || input.is_null())
    {
        return Err(Failure::refused(
            "invalid_type",
            "input",
            "input must be a text or a list of items",
        ));
    }
    let keys = [
        ("safety_identifier", &form.safety_identifier),
        ("prompt_cache_key", &form.prompt_cache_key),
    ];
    for (name, value) in keys {
        if value.as_ref().is_some_and(|value| value.chars().count() > LONGEST_KEY) {
            let message = format!("{name} may have {LONGEST_KEY} characters");
            return Err(Failure::refused("string_above_max_length", name, message));
        }
    }
    if let Some(other) =
        form.truncation.as_deref().filter(|one| !matches!(*one, "auto" | "disabled"))
    {
        let message = format!("truncation is `auto` or `disabled`, not `{}`", short(other));
        return Err(Failure::invalid("truncation", message));
    }
    check_numbers(form)?;
    form.metadata.as_ref().map_or(Ok(()), check_metadata)
}

fn check_numbers(form: &CreateResponse) -> Result<(), Failure> {
    for (name, value) in
        [("max_output_tokens", form.max_output_tokens), ("max_tool_calls", form.max_tool_calls)]
    {
        if value == Some(0) {
            return Err(Failure::invalid(name, format!("{name} must be 1 or more")));
        }
    }
    if form.top_logprobs.is_some_and(|count| count > 20) {
        return Err(Failure::invalid("top_logprobs", "top_logprobs may be 20 at most"));
    }
    Ok(())
}

pub(super) fn check_metadata(metadata: &Map<String, Value>) -> Result<(), Failure> {
    if metadata.len() > MOST_METADATA {
        let message = format!("metadata may have {MOST_METADATA} entries");
        return Err(Failure::invalid("metadata", message));
    }
    for (key, value) in metadata {
        let param = format!("metadata.{}", short(key));
        let Some(text) = value.as_str() else {
            return Err(Failure::refused("invalid_type", param, "values of metadata are texts"));
        };
        if key.chars().count() > LONGEST_METADATA_KEY || text.chars().count() > LONGEST_METADATA {
            let message = format!(
                "keys of metadata may have {LONGEST_METADATA_KEY} characters, values {LONGEST_METADATA}"
            );
            return Err(Failure::refused("string_above_max_length", param, message));
        }
    }
    Ok(())
}

/// What the types alone do not say: whether tools can be named, and whether those that are named are there.
pub(super) fn check_request(request: &Request) -> Result<(), Failure> {
    for (index, tool) in request.tools.iter().enumerate() {
        check_tool(tool).map_err(|message| Failure::invalid(format!("tools[{index}]"), message))?;
    }
    if let Some(text) = &request.text
        && let Some(Format::Unknown(format)) = &text.format
    {
        let message = match format.get("type").and_then(Value::as_str) {
            Some("json_schema") => "a JSON schema needs a name and a schema",
            _ => "a format is `text`, `json_object` or `json_schema`",
        };
        return Err(Failure::invalid("text.format", message));
    }
    let known = |name: &str| request.tools.iter().any(|tool| tool.function_name() == Some(name));
    let missing = match &request.tool_choice {
        Some(ToolChoice::Function { name }) => (!known(name)).then_some(name),
        Some(ToolChoice::Allowed { names, .. }) => names.iter().find(|name| !known(name)),
        Some(ToolChoice::Unknown(value)) if !value.is_object() && !value.is_null() => {
            let message = "tool_choice is `auto`, `none`, `required` or an object";
            return Err(Failure::invalid("tool_choice", message));
        }
        Some(ToolChoice::Required) if request.tools.is_empty() => {
            let message = "tool_choice is `required`, and there are no tools";
            return Err(Failure::invalid("tool_choice", message));
        }
        _ => None,
    };
    match missing {
        Some(name) => {
            let message =
                format!("tool_choice names `{}`, which is not among the tools", short(name));
            Err(Failure::invalid("tool_choice", message))
        }
        None => Ok(()),
    }
}

fn check_tool(tool: &Tool) -> Result<(), String> {
    match tool {
        Tool::Function(function) if function.name.trim().is_empty() => {
            Err("a function needs a name".to_owned())
        }
        Tool::Function(function) if function.name.len() > LONGEST_TOOL_NAME => {
            Err(format!("the name of a function may have {LONGEST_TOOL_NAME} characters"))
        }
        Tool::Function(function)
            if !(function.parameters.is_object() || function.parameters.is_null()) =>
        {
            Err("the parameters of a function are a JSON schema".to_owned())
        }
        Tool::Unknown(value) if value.get("type").and_then(Value::as_str) == Some("function") => {
            Err("a function needs a name".to_owned())
        }
        Tool::Unknown(value) if value.get("type").and_then(Value::as_str).is_none() => {
            Err("a tool needs a type".to_owned())
        }
        Tool::Function(_) | Tool::Unknown(_) => Ok(()),
    }
}
