//! Decides how a conversation is held: items in the OpenAI *Responses* format.
//! Shared by every vendor's converter, the log and the prompt. Unknown items and fields survive a round trip.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One element of a conversation, as a model sent it or as a model is given it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Item {
    Message(MessageItem),
    FunctionCall(FunctionCall),
    FunctionCallOutput(FunctionCallOutput),
    Reasoning(Reasoning),
    /// Kept as it came, so that a conversation continued with the same vendor replays verbatim.
    #[serde(untagged)]
    Unknown(Value),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageItem {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub role: Role,
    pub content: Vec<Part>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    System,
    Developer,
}

/// A piece of a message's content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    InputText {
        text: String,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    OutputText {
        text: String,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    Refusal {
        refusal: String,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// By an address (which may be a `data:` URL) or by the id of a file that the vendor has.
    InputImage {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        image_url: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// By its content as a `data:` URL, by an address or by the id of a file that the vendor has.
    InputFile {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        filename: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_data: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_url: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file_id: Option<String>,
        #[serde(flatten)]
        extra: Map<String, Value>,
    },
    /// Whatever a vendor adds: carried, never interpreted here.
    #[serde(untagged)]
    Unknown(Value),
}

/// A model's wish to call a tool. `arguments` is text: it may not be JSON at all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionCall {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The vendor's id, kept to answer the vendor; vendors repeat and omit them.
    #[serde(default)]
    pub call_id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub arguments: String,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FunctionCallOutput {
    pub call_id: String,
    pub output: Value,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reasoning {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    #[serde(default)]
    pub summary: Vec<Value>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Tokens one model call used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    #[serde(default)]
    pub cached_input_tokens: u64,
    #[serde(default)]
    pub reasoning_tokens: u64,
}

/// Everything a model answered to one call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub items: Vec<Item>,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub finish: Finish,
}

/// Whether a reply came to its natural end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    #[default]
    Completed,
    /// Cut by a limit of the vendor. Its calls may have broken arguments and are never executed.
    Incomplete { reason: String },
}

impl Item {
    pub fn user(text: impl Into<String>) -> Self {
        Self::message(Role::User, Part::said(Role::User, text))
    }

    pub fn assistant(text: impl Into<String>) -> Self {
        Self::message(Role::Assistant, Part::said(Role::Assistant, text))
    }

    pub fn call(call_id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self::FunctionCall(FunctionCall {
            id: None,
            call_id: call_id.into(),
            name: name.into(),
            arguments: arguments.to_string(),
            extra: Map::new(),
        })
    }

    pub fn output(call_id: impl Into<String>, output: impl Into<String>) -> Self {
        Self::FunctionCallOutput(FunctionCallOutput {
            call_id: call_id.into(),
            output: Value::String(output.into()),
            extra: Map::new(),
        })
    }

    fn message(role: Role, part: Part) -> Self {
        Self::Message(MessageItem { id: None, role, content: vec![part], extra: Map::new() })
    }
}

impl Part {
    /// What a person reads of this part.
    pub fn text(&self) -> Option<&str> {
        match self {
            Part::InputText { text, .. } | Part::OutputText { text, .. } => Some(text),
            Part::Refusal { refusal, .. } => Some(refusal),
            Part::InputImage { .. } | Part::InputFile { .. } | Part::Unknown(_) => None,
        }
    }

    /// A text in the words of the format: what a model said, or what it is told.
    pub fn said(role: Role, text: impl Into<String>) -> Self {
        let (text, extra) = (text.into(), Map::new());
        match role {
            Role::Assistant => Self::OutputText { text, extra },
            Role::User | Role::System | Role::Developer => Self::InputText { text, extra },
        }
    }
}

impl MessageItem {
    pub fn text(&self) -> String {
        self.content.iter().filter_map(Part::text).collect()
    }
}

impl FunctionCallOutput {
    /// What a person or a model reads of it: its texts, or the JSON as it came.
    pub fn text(&self) -> String {
        let texts = |parts: &[Value]| -> Option<Vec<String>> {
            let text = |part: &Value| part.get("text")?.as_str().map(str::to_owned);
            parts.iter().map(text).collect()
        };
        match &self.output {
            Value::String(text) => text.clone(),
            Value::Array(parts) => {
                texts(parts).map_or_else(|| self.output.to_string(), |texts| texts.join("\n"))
            }
            other => other.to_string(),
        }
    }
}

impl Reply {
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(vec![Item::assistant(text)])
    }

    pub fn of(items: Vec<Item>) -> Self {
        Self { items, usage: Usage::default(), finish: Finish::Completed }
    }

    /// The calls in the order in which the model made them.
    pub fn calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.items.iter().filter_map(|item| match item {
            Item::FunctionCall(call) => Some(call),
            _ => None,
        })
    }

    /// The text a person reads: all messages in the model's own name, in order, a line apart.
    pub fn spoken(&self) -> String {
        let texts: Vec<String> = self
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Message(message) if message.role == Role::Assistant => Some(message.text()),
                _ => None,
            })
            .filter(|text| !text.is_empty())
            .collect();
        texts.join("\n")
    }
}

/// More tokens than any call can use, and few enough that sums of them fit every store's integers.
const TOKENS_LIMIT: u64 = 1 << 40;

impl Usage {
    /// As it is summed up: a vendor can state any number, and an absurd one must not spoil the sums.
    pub fn capped(self) -> Self {
        Self {
            input_tokens: self.input_tokens.min(TOKENS_LIMIT),
            output_tokens: self.output_tokens.min(TOKENS_LIMIT),
            total_tokens: self.total_tokens.min(TOKENS_LIMIT),
            cached_input_tokens: self.cached_input_tokens.min(TOKENS_LIMIT),
            reasoning_tokens: self.reasoning_tokens.min(TOKENS_LIMIT),
        }
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cached_input_tokens =
            self.cached_input_tokens.saturating_add(other.cached_input_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}
