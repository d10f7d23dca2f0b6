//! Decides how the settings of a request are told to Gemini: tools, which of them to use, thinking, form of the reply.
//! Called by the dialect for every request. What the asked model does not take is left out.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::dialect::Asked;
use crate::{Format, FunctionTool, ReasoningOptions, Request, Thinking, Tool, ToolChoice};

#[derive(Debug)]
pub(super) struct Settings<'a> {
    pub tools: Vec<Offer<'a>>,
    pub tool_config: Option<Value>,
    pub generation: Generation<'a>,
}

/// An entry of `tools`.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Offer<'a> {
    #[serde(rename_all = "camelCase")]
    Functions { function_declarations: Vec<Declaration<'a>> },
    /// A tool of Gemini's own, as Gemini writes it.
    BuiltIn(&'a Value),
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Declaration<'a> {
    name: Cow<'a, str>,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a Value>,
}

#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Generation<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_k: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    thinking_config: Map<String, Value>,
}

impl Generation<'_> {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) fn write<'a>(request: &'a Request, asked: &Asked) -> Settings<'a> {
    let tools = offers(request, asked);
    let has_functions = tools.iter().any(|offer| matches!(offer, Offer::Functions { .. }));
    let choice = request.tool_choice.as_ref().filter(|_| has_functions);
    Settings { tools, tool_config: choice.and_then(config), generation: generation(request, asked) }
}

/// Models of the third generation on check the signatures of calls; the earlier ones are told a number of tokens.
pub(super) fn wants_signatures(asked: &Asked) -> bool {
    asked.capabilities.accepts.thinking != Thinking::Budget
}

/// The same models refuse, or soon will, to go on with what they said themselves.
pub(super) fn wants_the_users_word_last(asked: &Asked) -> bool {
    wants_signatures(asked)
}

fn offers<'a>(request: &'a Request, asked: &Asked) -> Vec<Offer<'a>> {
    if !asked.capabilities.tools {
        return Vec::new();
    }
    // Gemini can name the allowed functions only when one of them must be called. Otherwise only they are offered.
    let offered = |function: &FunctionTool| match &request.tool_choice {
        Some(ToolChoice::Allowed { required: false, names }) => names.contains(&function.name),
        _ => true,
    };
    let functions: Vec<Declaration<'a>> =
        request.functions().filter(|function| offered(function)).map(declaration).collect();
    let mut offers = Vec::new();
    if !functions.is_empty() {
        offers.push(Offer::Functions { function_declarations: functions });
    }
    offers.extend(request.tools.iter().filter_map(|tool| match tool {
        Tool::Unknown(value) if is_own(value) => Some(Offer::BuiltIn(value)),
        Tool::Unknown(_) | Tool::Function(_) => None,
    }));
    offers
}

/// Gemini's tools are named by their only field; those of other vendors have a type.
fn is_own(tool: &Value) -> bool {
    tool.as_object().is_some_and(|fields| !fields.is_empty() && !fields.contains_key("type"))
}

fn declaration(function: &FunctionTool) -> Declaration<'_> {
    Declaration {
        name: Cow::Borrowed(&function.name),
        description: &function.description,
        parameters_json_schema: Some(&*function.parameters).filter(|schema| schema.is_object()),
    }
}

fn config(choice: &ToolChoice) -> Option<Value> {
    let only = |names: &[String]| -> Value {
        names.iter().map(|name| Value::from(name.as_str())).collect()
    };
    let config = match choice {
        ToolChoice::Auto | ToolChoice::Allowed { required: false, .. } => json!({"mode": "AUTO"}),
        ToolChoice::None => json!({"mode": "NONE"}),
        ToolChoice::Required => json!({"mode": "ANY"}),
        ToolChoice::Function { name } => {
            json!({"mode": "ANY", "allowedFunctionNames": only(std::slice::from_ref(name))})
        }
        ToolChoice::Allowed { required: true, names } => {
            json!({"mode": "ANY", "allowedFunctionNames": only(names)})
        }
        ToolChoice::Unknown(_) => return None,
    };
    Some(json!({"functionCallingConfig": config}))
}

fn generation<'a>(request: &'a Request, asked: &Asked) -> Generation<'a> {
    let mut generation = Generation {
        max_output_tokens: request.max_output_tokens,
        seed: request.extra.get("seed").filter(|seed| seed.is_number()),
        stop_sequences: stops(request.extra.get("stop")),
        thinking_config: thinking(request.reasoning.as_ref(), asked),
        ..Generation::default()
    };
    // Models that take no temperature take no other setting of the kind either.
    if asked.capabilities.accepts.temperature {
        generation.temperature = request.temperature;
        generation.top_p = request.top_p;
        generation.top_k = request.extra.get("top_k").filter(|top| top.is_number());
    }
    if let Some(format) = format(request).filter(|_| takes_formats(request, asked)) {
        generation.response_mime_type = Some("application/json");
        if let Format::JsonSchema(schema) = format {
            generation.response_json_schema =
                asked.capabilities.json_schema.then_some(&schema.schema);
        }
    }
    generation
}

fn stops(stop: Option<&Value>) -> Vec<&str> {
    match stop {
        Some(Value::String(stop)) => vec![stop],
        Some(Value::Array(stops)) => stops.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The form that the reply must have, if it is JSON.
fn format(request: &Request) -> Option<&Format> {
    let format = request.text.as_ref()?.format.as_ref()?;
    matches!(format, Format::JsonObject | Format::JsonSchema(_)).then_some(format)
}

/// Models before the third generation refuse a form together with tools.
fn takes_formats(request: &Request, asked: &Asked) -> bool {
    let early = asked.capabilities.accepts.thinking == Thinking::Budget;
    asked.capabilities.json && (!early || offers(request, asked).is_empty())
}

/// The form of the reply as an instruction, for a model that cannot be held to it.
pub(super) fn format_in_words(request: &Request, asked: &Asked) -> Option<String> {
    let format = format(request)?;
    let held = takes_formats(request, asked);
    match format {
        Format::JsonSchema(schema) if !(held && asked.capabilities.json_schema) => Some(format!(
            "Answer with JSON and nothing else. The JSON must be valid against this JSON schema: {}",
            schema.schema
        )),
        Format::JsonObject if !held => {
            Some("Answer with a JSON object and nothing else.".to_owned())
        }
        _ => None,
    }
}

fn thinking(options: Option<&ReasoningOptions>, asked: &Asked) -> Map<String, Value> {
    let mut config = Map::new();
    let Some(options) = options.filter(|_| asked.capabilities.reasoning) else { return config };
    let model = asked.model.rsplit('/').next().unwrap_or_default().to_lowercase();
    let effort = options.effort.as_deref();
    match asked.capabilities.accepts.thinking {
        Thinking::Budget => {
            if let Some(budget) = budget(options, &model) {
                config.insert("thinkingBudget".to_owned(), budget.into());
            }
        }
        Thinking::Effort | Thinking::Adaptive => {
            if let Some(level) = level(options, &model) {
                config.insert("thinkingLevel".to_owned(), level.into());
            }
        }
    }
    let hidden = options.summary.as_deref() == Some("none");
    let silent = effort == Some("none") && options.summary.is_none();
    // A model that is not to think cannot be asked to show it.
    let off = config.get("thinkingBudget").is_some_and(|budget| budget == 0);
    if !hidden && !silent && !off {
        config.insert("includeThoughts".to_owned(), true.into());
    }
    config
}

/// Tokens for thinking, within what the model takes. Words mean the numbers that the vendor's own compatible
/// interface gives them.
fn budget(options: &ReasoningOptions, model: &str) -> Option<i64> {
    let wanted = match (options.max_tokens, options.effort.as_deref()) {
        (Some(tokens), _) => i64::try_from(tokens).unwrap_or(i64::MAX),
        (None, Some("none")) => 0,
        (None, Some("minimal" | "low")) => 1_024,
        (None, Some("medium")) => 8_192,
        (None, Some("high" | "xhigh" | "max")) => 24_576,
        (None, Some("auto" | "dynamic")) => return Some(-1),
        (None, _) => return None,
    };
    Some(if model.contains("pro") {
        // It cannot stop thinking.
        wanted.clamp(128, 32_768)
    } else if model.contains("lite") && wanted > 0 {
        wanted.clamp(512, 24_576)
    } else {
        wanted.clamp(0, 24_576)
    })
}

/// A word for the effort that the model knows, as near to the wanted one as there is.
fn level(options: &ReasoningOptions, model: &str) -> Option<&'static str> {
    let wanted = match (options.effort.as_deref(), options.max_tokens) {
        (Some("none" | "minimal"), _) | (None, Some(0)) => "MINIMAL",
        (Some("low"), _) | (None, Some(..=1_024)) => "LOW",
        (Some("medium"), _) | (None, Some(..=8_192)) => "MEDIUM",
        (Some("high" | "xhigh" | "max"), _) | (None, Some(_)) => "HIGH",
        (Some(_), _) | (None, None) => return None,
    };
    let known = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
    Some(match wanted {
        "MINIMAL" if !known(WITH_MINIMAL) => "LOW",
        "MEDIUM" if known(WITHOUT_MEDIUM) => "HIGH",
        level => level,
    })
}

/// Models that take the least effort; to all others it is an error.
const WITH_MINIMAL: &[&str] =
    &["gemini-3-flash", "gemini-3.1-flash", "gemini-3.5-flash", "gemini-3.6-flash"];
const WITHOUT_MEDIUM: &[&str] = &["gemini-3-pro"];
