//! Messages and tool calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Message {
    pub id: String,
    pub chat_id: String,
    pub role: Role,
    /// `human`, `world`, `system` or an agent's id.
    pub sender: String,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub agent_id: Option<String>,
    /// The turn in which an agent said it.
    #[serde(default)]
    pub turn_id: Option<String>,
    #[serde(default)]
    pub content: String,
    /// Images and files beside the text.
    #[serde(default)]
    pub parts: Vec<Value>,
    #[serde(default)]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default)]
    pub tool_call_id: Option<String>,
    #[serde(default)]
    pub reply_to: Option<String>,
    pub created_at: String,
    #[serde(default)]
    pub usage: Option<Usage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    Tool,
    #[serde(other)]
    System,
}

/// A call inside a message, in OpenAI's format.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub function: Function,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Function {
    pub name: String,
    /// JSON as text.
    #[serde(default)]
    pub arguments: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub input_tokens: u64,
    #[serde(default)]
    pub output_tokens: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Call {
    pub id: String,
    pub chat_id: String,
    pub agent_id: String,
    /// The turn in which it was made.
    #[serde(default)]
    pub turn_id: Option<String>,
    pub name: String,
    #[serde(default)]
    pub arguments: Value,
    #[serde(default)]
    pub blocking: bool,
    pub state: CallState,
    #[serde(default)]
    pub approval_id: Option<String>,
    #[serde(default)]
    pub started_at: Option<String>,
    #[serde(default)]
    pub ended_at: Option<String>,
    #[serde(default)]
    pub duration_ms: Option<i64>,
    #[serde(default)]
    pub result: Option<String>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    Pending,
    AwaitingApproval,
    Executing,
    Completed,
    Failed,
    Timeout,
    Denied,
    Expired,
    Interrupted,
    Cancelled,
    /// One this client does not know.
    #[serde(other)]
    Other,
}

impl CallState {
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Pending | Self::AwaitingApproval | Self::Executing | Self::Other)
    }
}

/// A message to be posted.
#[derive(Clone, Debug, Serialize)]
pub struct NewMessage {
    pub content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub on_approval: OnApproval,
}

/// What becomes of calls that need approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnApproval {
    /// They wait for a person.
    Ask,
    /// They are denied, because nobody is there.
    Deny,
}

/// A message that is stored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Posted {
    pub message: Message,
}
