//! Decides what a model's answer is: the response of the *Responses* format.
//! Made by every dialect, given to callers. A reply that failed is an `Error` and never a response.

use agent_world_core::item::{self, Finish, FunctionCall, Item, Part, Reply, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A complete answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Response {
    #[serde(default)]
    pub id: String,
    /// The model that answered, as the vendor names it.
    #[serde(default)]
    pub model: String,
    /// Seconds since 1970, where the vendor says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<i64>,
    #[serde(default)]
    pub status: Status,
    #[serde(default)]
    pub output: Vec<Item>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(default)]
    pub incomplete_details: Option<IncompleteDetails>,
    #[serde(default)]
    pub error: Option<Failure>,
    /// What else the vendor said.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    #[default]
    Completed,
    /// Cut by a limit or a filter. Its calls may have broken arguments and must never be executed.
    Incomplete,
    Failed,
    InProgress,
    Queued,
    Cancelled,
    #[serde(untagged)]
    Unknown(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncompleteDetails {
    /// `max_output_tokens`, `content_filter` or the vendor's word.
    #[serde(default)]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    #[serde(default)]
    pub code: String,
    #[serde(default)]
    pub message: String,
}

/// Tokens one call used. Input counts everything that was read, cached or not; output everything that was written,
/// thoughts included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub input_tokens_details: InputDetails,
    #[serde(default)]
    pub output_tokens: u64,
    #[serde(default)]
    pub output_tokens_details: OutputDetails,
    #[serde(default)]
    pub total_tokens: u64,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputDetails {
    /// Read from the vendor's cache.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Written to it, where the vendor bills that apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutputDetails {
    #[serde(default)]
    pub reasoning_tokens: u64,
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Response {
    /// All text of the answer, joined.
    pub fn output_text(&self) -> String {
        self.output
            .iter()
            .filter_map(|item| match item {
                Item::Message(message) if message.role == Role::Assistant => Some(&message.content),
                _ => None,
            })
            .flatten()
            .filter_map(|part| match part {
                Part::OutputText { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// What the model said instead of an answer.
    pub fn refusal(&self) -> Option<&str> {
        self.output.iter().find_map(|item| match item {
            Item::Message(message) => message.content.iter().find_map(|part| match part {
                Part::Refusal { refusal, .. } => Some(refusal.as_str()),
                _ => None,
            }),
            _ => None,
        })
    }

    /// The calls in the order in which the model made them.
    pub fn calls(&self) -> impl Iterator<Item = &FunctionCall> {
        self.output.iter().filter_map(|item| match item {
            Item::FunctionCall(call) => Some(call),
            _ => None,
        })
    }

    pub fn is_complete(&self) -> bool {
        self.status == Status::Completed
    }

    pub fn incomplete(&mut self, reason: impl Into<String>) {
        self.status = Status::Incomplete;
        self.incomplete_details = Some(IncompleteDetails { reason: reason.into() });
    }
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        let finish = match (&response.status, response.incomplete_details) {
            (Status::Completed, _) => Finish::Completed,
            (_, Some(details)) => Finish::Incomplete { reason: details.reason },
            (_, None) => Finish::Incomplete { reason: "unknown".to_owned() },
        };
        let usage = response.usage.map(item::Usage::from).unwrap_or_default();
        Self { items: response.output, usage, finish }
    }
}

impl From<Reply> for Response {
    fn from(reply: Reply) -> Self {
        let mut response =
            Self { output: reply.items, usage: Some(reply.usage.into()), ..Self::default() };
        if let Finish::Incomplete { reason } = reply.finish {
            response.incomplete(reason);
        }
        response
    }
}

impl Usage {
    /// Counted by the vendor as input and output; the total follows.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            ..Self::default()
        }
    }

    pub fn with_cached(mut self, tokens: u64) -> Self {
        self.input_tokens_details.cached_tokens = tokens;
        self
    }

    pub fn with_reasoning(mut self, tokens: u64) -> Self {
        self.output_tokens_details.reasoning_tokens = tokens;
        self
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(&mut self.total_tokens, other.total_tokens);
        let (input, more) = (&mut self.input_tokens_details, other.input_tokens_details);
        add(&mut input.cached_tokens, more.cached_tokens);
        if let Some(written) = more.cache_write_tokens {
            add(input.cache_write_tokens.get_or_insert(0), written);
        }
        add(
            &mut self.output_tokens_details.reasoning_tokens,
            other.output_tokens_details.reasoning_tokens,
        );
    }
}

impl From<Usage> for item::Usage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens,
            cached_input_tokens: usage.input_tokens_details.cached_tokens,
            reasoning_tokens: usage.output_tokens_details.reasoning_tokens,
        }
    }
}

impl From<item::Usage> for Usage {
    fn from(usage: item::Usage) -> Self {
        let mut made = Self::new(usage.input_tokens, usage.output_tokens)
            .with_cached(usage.cached_input_tokens)
            .with_reasoning(usage.reasoning_tokens);
        made.total_tokens = usage.total_tokens;
        made
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
