//! Decides what can be asked of a model: the request of the *Responses* format, lenient in what it accepts.
//! Made by callers, read by every dialect. Fields nobody here knows are carried along.

use std::borrow::Cow;
use std::sync::Arc;

use agent_world_core::config::ToolSpec;
use agent_world_core::item::{Item, MessageItem, Part, Role};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// One call of a model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The model's name without its vendor.
    #[serde(default, deserialize_with = "or_default")]
    pub model: String,
    #[serde(default, skip_serializing_if = "String::is_empty", deserialize_with = "or_default")]
    pub instructions: String,
    #[serde(default, deserialize_with = "lenient_input")]
    pub input: Vec<Arc<Item>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub tools: Vec<Tool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_response_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningOptions>,
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "or_default")]
    pub metadata: Map<String, Value>,
    /// Whether the vendor may keep the response. Reasoning of a reply that is not kept is asked for in encrypted
    /// form, or the next request could not send it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<bool>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub include: Vec<String>,
    /// Says that this conversation will go on: requests with the same key share a prefix worth caching. Vendors with
    /// explicit caching are told where to cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_cache_key: Option<String>,
    /// Whether pieces of the reply are wanted; the reply is the same either way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", deserialize_with = "or_default")]
    pub stream: bool,
    /// Settings only one vendor knows, by the vendor's name. They become fields of that vendor's request body and
    /// win over what was made of the other fields; nobody else sees them.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "or_default")]
    pub vendor_options: Map<String, Value>,
    /// On whose behalf: whose credentials are used. Never sent.
    #[serde(skip)]
    pub user: Option<String>,
    /// Fields of the format that are not named above; vendors that speak it get them.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Something the model may use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Tool {
    Function(FunctionTool),
    /// A vendor's own tool (web search and the like), as that vendor writes it.
    #[serde(untagged)]
    Unknown(Value),
}

/// A function that the caller executes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionTool {
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// JSON Schema of the arguments object.
    #[serde(default, deserialize_with = "or_default")]
    pub parameters: Arc<Value>,
    /// Whether the vendor must hold the model to the schema. Vendors differ in what they read into its absence, so
    /// nothing is sent as "no".
    #[serde(default, deserialize_with = "or_default")]
    pub strict: bool,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Whether and which tools the model must use.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolChoice {
    Auto,
    None,
    Required,
    Function {
        name: String,
    },
    /// Only some of the tools; `required` says that one of them must be used.
    Allowed {
        required: bool,
        names: Vec<String>,
    },
    Unknown(Value),
}

/// How the text of the reply must look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Text {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbosity: Option<String>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Format {
    Text,
    JsonObject,
    JsonSchema(JsonSchema),
    #[serde(untagged)]
    Unknown(Value),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonSchema {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub schema: Value,
    #[serde(default, deserialize_with = "or_default")]
    pub strict: bool,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// How much the model should think, and what is shown of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReasoningOptions {
    /// `none`, `minimal`, `low`, `medium`, `high`, or what the vendor calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Tokens that may be spent on thinking, for vendors that count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Request {
    /// A question and nothing else.
    pub fn new(model: impl Into<String>, input: impl Into<String>) -> Self {
        Self { model: model.into(), input: vec![Arc::new(Item::user(input))], ..Self::default() }
    }

    /// What is asked of one vendor alone.
    pub fn options_for(&self, vendor: &str) -> Option<&Map<String, Value>> {
        self.vendor_options.get(vendor).and_then(Value::as_object)
    }

    pub fn functions(&self) -> impl Iterator<Item = &FunctionTool> {
        self.tools.iter().filter_map(|tool| match tool {
            Tool::Function(function) => Some(function),
            Tool::Unknown(_) => None,
        })
    }

    /// Whether the word JSON stands in what is said, or in the instructions.
    pub fn asks_for_json(&self) -> bool {
        names_json(&self.instructions) || self.talks_of_json()
    }

    /// Whether the word JSON stands in what is said; some vendors do not look into the instructions.
    pub fn talks_of_json(&self) -> bool {
        self.input.iter().any(|item| match &**item {
            Item::Message(message) => message.content.iter().filter_map(Part::text).any(names_json),
            _ => false,
        })
    }

    /// The schema the text of the reply must follow, if it must.
    pub fn json_schema(&self) -> Option<&JsonSchema> {
        match self.text.as_ref()?.format.as_ref()? {
            Format::JsonSchema(schema) => Some(schema),
            _ => None,
        }
    }
}

impl Tool {
    /// A tool that the caller executes, by its name.
    pub fn function_name(&self) -> Option<&str> {
        match self {
            Self::Function(function) => Some(&function.name),
            Self::Unknown(_) => None,
        }
    }
}

impl FunctionTool {
    /// The schema of the arguments as the strictest vendors want it: an object that lists its properties, even where it
    /// has none. Tools that come by MCP need not say so.
    pub fn described(&self) -> Cow<'_, Value> {
        let Value::Object(fields) = &*self.parameters else {
            return Cow::Owned(serde_json::json!({"type": "object", "properties": {}}));
        };
        if fields.contains_key("type") && fields.contains_key("properties") {
            return Cow::Borrowed(&self.parameters);
        }
        let mut fields = fields.clone();
        fields.entry("type").or_insert_with(|| "object".into());
        fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        Cow::Owned(Value::Object(fields))
    }
}

impl From<&ToolSpec> for Tool {
    fn from(spec: &ToolSpec) -> Self {
        Self::Function(FunctionTool {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: Arc::clone(&spec.parameters),
            strict: false,
            extra: Map::new(),
        })
    }
}

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => "auto".serialize(serializer),
            Self::None => "none".serialize(serializer),
            Self::Required => "required".serialize(serializer),
            Self::Function { name } => {
                serde_json::json!({"type": "function", "name": name}).serialize(serializer)
            }
            Self::Allowed { required, names } => {
                let tools: Vec<Value> = names
                    .iter()
                    .map(|name| serde_json::json!({"type": "function", "name": name}))
                    .collect();
                let mode = if *required { "required" } else { "auto" };
                serde_json::json!({"type": "allowed_tools", "mode": mode, "tools": tools})
                    .serialize(serializer)
            }
            Self::Unknown(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl From<Value> for ToolChoice {
    fn from(value: Value) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        match (value.as_str(), text("type"), text("name")) {
            (Some("auto"), ..) => Self::Auto,
            (Some("none"), ..) => Self::None,
            (Some("required"), ..) => Self::Required,
            (_, Some("function"), Some(name)) => Self::Function { name: name.to_owned() },
            (_, Some("allowed_tools"), _) => match allowed(&value) {
                Some(names) => Self::Allowed { required: text("mode") == Some("required"), names },
                None => Self::Unknown(value),
            },
            _ => Self::Unknown(value),
        }
    }
}

fn names_json(text: &str) -> bool {
    text.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"json"))
}

/// The names of allowed functions; nothing when other tools are among them.
fn allowed(value: &Value) -> Option<Vec<String>> {
    let tools = value.get("tools")?.as_array()?;
    tools
        .iter()
        .map(|tool| {
            let name = tool.get("name")?.as_str()?;
            (tool.get("type")? == "function").then(|| name.to_owned())
        })
        .collect()
}

/// A null says the same as nothing.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// A text, one item, or a list of items; a message may leave its type out and have a text for content.
fn lenient_input<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<Item>>, D::Error> {
    input_from(Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Reads what may stand in `input`.
///
/// # Errors
/// Says which element is not an item.
pub fn input_from(value: Value) -> Result<Vec<Arc<Item>>, String> {
    match value {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Arc::new(Item::user(text))]),
        Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                item_from(item)
                    .map(Arc::new)
                    .map_err(|problem| format!("input[{index}]: {problem}"))
            })
            .collect(),
        object @ Value::Object(_) => item_from(object).map(|item| vec![Arc::new(item)]),
        Value::Bool(_) | Value::Number(_) => {
            Err("input must be a text or a list of items".to_owned())
        }
    }
}

fn item_from(value: Value) -> Result<Item, String> {
    let Value::Object(mut object) = value else {
        return Err("an item must be an object with a type, or with a role and content".to_owned());
    };
    let kind = object.get("type").and_then(Value::as_str);
    if kind.is_some_and(|kind| kind != "message") {
        return serde_json::from_value(Value::Object(object)).map_err(|error| error.to_string());
    }
    let role = object.shift_remove("role").unwrap_or_default();
    let role: Role = serde_json::from_value(role)
        .map_err(|_| "role must be user, assistant, system or developer".to_owned())?;
    let content = content_from(object.shift_remove("content").unwrap_or_default(), role)?;
    object.shift_remove("type");
    let id = match object.shift_remove("id") {
        Some(Value::String(id)) => Some(id),
        _ => None,
    };
    Ok(Item::Message(MessageItem { id, role, content, extra: object }))
}

fn content_from(value: Value, role: Role) -> Result<Vec<Part>, String> {
    match value {
        Value::String(text) => Ok(vec![Part::said(role, text)]),
        Value::Array(parts) => parts
            .into_iter()
            .map(|part| match part {
                Value::String(text) => Ok(Part::said(role, text)),
                part => serde_json::from_value(part).map_err(|error| error.to_string()),
            })
            .collect(),
        _ => Err("content must be a text or a list of parts".to_owned()),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
