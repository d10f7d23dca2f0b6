//! Decides everything of a request beside its conversation: tools, thinking, limits, the shape of the reply.
//! Called when a request is written. Settings that the model refuses together are resolved here, never sent:
//!
//! - A tool that must be called wins over thinking, since the vendor refuses both: the caller relies on the call, and
//!   thoughts are a means. A model that refuses forced calls altogether is asked for the call in words.
//! - Thinking wins over temperature and `top_p`, which the vendor fixes while the model thinks.
//! - Thinking with a budget is left out where it has no room below the limit of the reply, or in the midst of calls
//!   that began without it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::schema;
use super::turns::Conversation;
use crate::dialect::Asked;
use crate::{Format, FunctionTool, Request, Thinking, ToolChoice};

/// Tokens of a reply where neither the caller nor the table of models says how many.
const USUAL_REPLY: u64 = 8_192;
/// The vendor accepts no smaller budget.
const LEAST_BUDGET: u64 = 1_024;

const FILES_BETA: &str = "files-api-2025-04-14";
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";

/// Everything beside the conversation.
#[derive(Debug)]
pub struct Settings<'a> {
    pub tools: Vec<Tool<'a>>,
    /// The small fields of the body.
    pub rest: Map<String, Value>,
    /// Wishes for which the vendor has no field.
    pub words: Vec<String>,
    pub betas: Vec<String>,
    /// Whether the model goes on with its own last words.
    pub continues: bool,
}

/// A tool as the vendor takes it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        input_schema: Cow<'a, Value>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        strict: bool,
    },
    /// A tool that runs at the vendor or is built into its models.
    Own(&'a Value),
}

impl<'a> Settings<'a> {
    pub fn of(request: &'a Request, asked: &Asked, conversation: &Conversation<'_>) -> Self {
        let accepts = &asked.capabilities.accepts;
        let tools = tools(request, asked.capabilities.json_schema);
        let mut settings = Self {
            rest: Map::new(),
            words: Vec::new(),
            betas: Vec::new(),
            continues: false,
            tools,
        };
        let limit = limit(request, asked);
        settings.set("max_tokens", limit.into());
        if asked.stream {
            settings.set("stream", true.into());
        }
        let forced = settings.choose(request, accepts.forced_tool_choice);
        settings.shape(request, asked.capabilities.json_schema);
        let thinks = settings.think(request, asked, conversation, limit, forced);
        settings.sample(request, accepts.temperature, thinks);
        settings.continues = !thinks && accepts.thinking != Thinking::Adaptive;
        if request.prompt_cache_key.is_some() {
            settings.set("cache_control", json!({"type": "ephemeral"}));
        }
        if let Some(user) = request.metadata.get("user_id").filter(|user| user.is_string()) {
            settings.set("metadata", json!({ "user_id": user }));
        }
        if conversation.names_files() {
            settings.betas.push(FILES_BETA.to_owned());
        }
        settings
    }

    fn set(&mut self, key: &str, value: Value) {
        self.rest.insert(key.to_owned(), value);
    }

    /// Says whether and which tool is to be called; tells whether one must be.
    fn choose(&mut self, request: &Request, may_force: bool) -> bool {
        if self.tools.is_empty() {
            return false;
        }
        let mut choice = match &request.tool_choice {
            None => Map::new(),
            Some(ToolChoice::None) => kind("none"),
            Some(ToolChoice::Auto | ToolChoice::Allowed { required: false, .. }) => kind("auto"),
            Some(ToolChoice::Required | ToolChoice::Allowed { required: true, .. }) => kind("any"),
            Some(ToolChoice::Function { name }) => {
                let mut choice = kind("tool");
                choice.insert("name".to_owned(), name.as_str().into());
                choice
            }
            Some(ToolChoice::Unknown(value)) => own_choice(value),
        };
        let named = choice.get("name").and_then(Value::as_str);
        let forced = match choice.get("type").and_then(Value::as_str) {
            Some("any") => Some("Answer by calling one of the tools.".to_owned()),
            Some("tool") => {
                Some(format!("Answer by calling the tool `{}`.", named.unwrap_or_default()))
            }
            _ => None,
        };
        if let Some(words) = &forced
            && !may_force
        {
            self.words.push(words.clone());
            choice = kind("auto");
        }
        if request.parallel_tool_calls == Some(false) {
            choice.entry("type").or_insert_with(|| "auto".into());
            if choice.get("type").is_some_and(|kind| kind != "none") {
                choice.insert("disable_parallel_tool_use".to_owned(), true.into());
            }
        }
        if !choice.is_empty() {
            self.set("tool_choice", Value::Object(choice));
        }
        forced.is_some() && may_force
    }

    fn shape(&mut self, request: &Request, takes_schemas: bool) {
        let format = request.text.as_ref().and_then(|text| text.format.as_ref());
        match format {
            Some(Format::JsonSchema(wanted)) if takes_schemas => {
                let schema = schema::strict(&wanted.schema);
                self.output("format", json!({"type": "json_schema", "schema": schema}));
            }
            Some(Format::JsonSchema(wanted)) => self.words.push(format!(
                "Answer with JSON alone, without any other text, that follows this JSON schema:\n{}",
                wanted.schema
            )),
            Some(Format::JsonObject) => {
                self.words.push("Answer with one JSON object and no other text.".to_owned());
            }
            Some(Format::Text | Format::Unknown(_)) | None => {}
        }
    }

    /// Says how much to think; tells whether the model will, as far as that is said here.
    fn think(
        &mut self,
        request: &Request,
        asked: &Asked,
        conversation: &Conversation<'_>,
        limit: u64,
        forced: bool,
    ) -> bool {
        if !asked.capabilities.reasoning {
            return false;
        }
        match asked.capabilities.accepts.thinking {
            Thinking::Adaptive => self.think_freely(request, asked, conversation, forced),
            Thinking::Budget | Thinking::Effort => {
                let budget = budget(request, limit);
                let Some(budget) = budget.filter(|_| !forced) else { return false };
                if conversation.goes_on_without_thought() {
                    return false;
                }
                self.set("thinking", json!({"type": "enabled", "budget_tokens": budget}));
                true
            }
        }
    }

    /// For models that decide themselves, within a word for the effort.
    fn think_freely(
        &mut self,
        request: &Request,
        asked: &Asked,
        conversation: &Conversation<'_>,
        forced: bool,
    ) -> bool {
        let accepts = &asked.capabilities.accepts;
        let options = request.reasoning.as_ref().filter(|options| {
            options.effort.is_some() || options.summary.is_some() || options.max_tokens.is_some()
        });
        let word = options.and_then(|options| options.effort.as_deref());
        let off = word == Some("none") || (forced && options.is_some());
        if off && accepts.no_thinking {
            self.set("thinking", json!({"type": "disabled"}));
            return false;
        }
        let mut thinking = Map::new();
        if let Some(options) = options.filter(|_| !off) {
            thinking = kind("adaptive");
            // Newer models show nothing of their thoughts unless asked to.
            if options.summary.as_deref().is_some_and(|summary| summary != "none") {
                thinking.insert("display".to_owned(), "summarized".into());
            }
        }
        if conversation.has_thoughts() && !accepts.stale_thoughts {
            // What stands before a thought may have changed since: instructions, tools, a shortened history.
            thinking.entry("type").or_insert_with(|| "adaptive".into());
            thinking.insert(
                "block_binding".to_owned(),
                json!({"prefix_mismatch_behavior": "drop_block"}),
            );
            self.betas.push(BINDING_BETA.to_owned());
        }
        let thinks = !thinking.is_empty();
        if thinks {
            self.set("thinking", Value::Object(thinking));
        }
        let effort = match word {
            _ if off => Some("low"),
            Some(word) => Some(effort(word, &asked.model)),
            None => options.and_then(|options| options.max_tokens).map(effort_for),
        };
        if let Some(effort) = effort {
            self.output("effort", effort.into());
        }
        thinks
    }

    fn output(&mut self, key: &str, value: Value) {
        let config = self.rest.entry("output_config").or_insert_with(|| json!({}));
        if let Value::Object(config) = config {
            config.insert(key.to_owned(), value);
        }
    }

    /// The vendor takes a temperature up to 1, and not together with `top_p`.
    fn sample(&mut self, request: &Request, accepted: bool, thinks: bool) {
        if !accepted {
            return;
        }
        match (request.temperature, request.top_p) {
            _ if thinks => {}
            (Some(temperature), _) => self.set("temperature", temperature.clamp(0.0, 1.0).into()),
            (None, Some(top_p)) => self.set("top_p", top_p.into()),
            (None, None) => {}
        }
    }
}

fn kind(name: &str) -> Map<String, Value> {
    Map::from_iter([("type".to_owned(), name.into())])
}

/// A choice in the vendor's own words; anything else says nothing to it.
fn own_choice(value: &Value) -> Map<String, Value> {
    match (value.as_object(), value.get("type").and_then(Value::as_str)) {
        (Some(choice), Some("auto" | "any" | "none" | "tool")) => choice.clone(),
        _ => Map::new(),
    }
}

/// Functions, and those of the built-in tools that are this vendor's. A choice among some of them leaves out the others.
fn tools(request: &Request, may_be_strict: bool) -> Vec<Tool<'_>> {
    let allowed = match &request.tool_choice {
        Some(ToolChoice::Allowed { names, .. }) => Some(names),
        _ => None,
    };
    let is_allowed =
        |name: &str| allowed.is_none_or(|names| names.iter().any(|allowed| allowed == name));
    let tools = request.tools.iter().filter_map(|tool| match tool {
        crate::Tool::Function(function) => {
            is_allowed(&function.name).then(|| written(function, may_be_strict))
        }
        crate::Tool::Unknown(value) => {
            (allowed.is_none() && is_own(value)).then_some(Tool::Own(value))
        }
    });
    tools.collect()
}

fn written(function: &FunctionTool, may_be_strict: bool) -> Tool<'_> {
    let strict = function.strict && may_be_strict;
    let input_schema = match &*function.parameters {
        parameters if strict => Cow::Owned(schema::strict(parameters)),
        parameters if parameters.get("type").is_some_and(|kind| kind == "object") => {
            Cow::Borrowed(parameters)
        }
        // The vendor wants an object to be described, even one without fields.
        Value::Object(fields) => {
            let mut fields = fields.clone();
            fields.insert("type".to_owned(), "object".into());
            Cow::Owned(Value::Object(fields))
        }
        _ => Cow::Owned(json!({"type": "object", "properties": {}})),
    };
    Tool::Function {
        name: &function.name,
        description: &function.description,
        input_schema,
        strict,
    }
}

/// The vendor's tools carry the date of their version in their type, like `web_search_20250305`, and `custom` is its
/// word for a function.
fn is_own(tool: &Value) -> bool {
    let Some(kind) = tool.get("type").and_then(Value::as_str) else { return false };
    let dated = kind
        .rsplit_once('_')
        .is_some_and(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()));
    dated || matches!(kind, "custom" | "mcp_toolset")
}

/// The vendor wants a limit in every request, and none above the model's own.
fn limit(request: &Request, asked: &Asked) -> u64 {
    let most = asked.capabilities.max_output_tokens;
    match (request.max_output_tokens, most) {
        (Some(wanted), Some(most)) => wanted.min(most),
        (Some(wanted), None) => wanted,
        (None, most) => most.unwrap_or(USUAL_REPLY),
    }
}

/// Tokens for thinking, which count as part of the reply; none where too few would be left.
fn budget(request: &Request, limit: u64) -> Option<u64> {
    let options = request.reasoning.as_ref()?;
    let wanted = match (options.max_tokens, options.effort.as_deref()) {
        (_, Some("none")) | (None, None) => return None,
        (Some(tokens), _) => tokens,
        (None, Some("minimal")) => LEAST_BUDGET,
        (None, Some("low")) => 2_048,
        (None, Some("medium")) => 8_192,
        (None, Some("xhigh" | "max")) => 32_768,
        (None, Some(_)) => 16_384,
    };
    let most = limit.saturating_sub(1);
    (most >= LEAST_BUDGET).then(|| wanted.clamp(LEAST_BUDGET, most))
}

/// The vendor's word for an effort. The first models that took one knew no `xhigh`.
fn effort<'a>(word: &'a str, model: &str) -> &'a str {
    match word {
        "minimal" => "low",
        "xhigh" if model.contains("-4-6") || model.contains("-4-5") => "high",
        word => word,
    }
}

/// The effort that comes closest to a budget, for models that take none.
fn effort_for(tokens: u64) -> &'static str {
    match tokens {
        0..=2_048 => "low",
        2_049..=8_192 => "medium",
        _ => "high",
    }
}
