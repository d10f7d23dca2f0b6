//! A message as clients read it, with tool calls in OpenAI's format.

use agent_world_core::display::mask_secrets;
use agent_world_core::ids::ChatId;
use agent_world_core::item::Usage;
use agent_world_core::sender::Sender;
use agent_world_core::view::{MessageRole, MessageView, REQUEST_APPROVAL, ToolCallRef};
use agent_world_runtime::Posted;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Message {
    pub id: String,
    pub chat_id: String,
    #[schema(value_type = String, example = "assistant")]
    pub role: MessageRole,
    /// `human`, `world`, `system` or an agent's id.
    pub sender: String,
    /// The authenticated user's name, when there is one.
    pub user: Option<String>,
    pub agent_id: Option<String>,
    pub turn_id: Option<String>,
    pub content: String,
    /// The text as blocks of harmless HTML, with `render=html`. What tools gave back is no such text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<Vec<String>>,
    /// Images and files beside the text, as parts in the *Responses* format.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub parts: Vec<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    pub reply_to: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: agent_world_core::Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Usage>,
}

/// A call in OpenAI's format.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ToolCall {
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub function: ToolCallFunction,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ToolCallFunction {
    pub name: String,
    /// JSON as text, secrets masked.
    pub arguments: String,
}

impl Message {
    pub fn from_view(chat: &ChatId, view: &MessageView) -> Self {
        Self {
            id: view.id.to_string(),
            chat_id: chat.to_string(),
            role: view.role,
            sender: view.sender.to_string(),
            user: view.user.clone(),
            agent_id: view.agent.as_ref().map(ToString::to_string),
            turn_id: view.turn.as_ref().map(ToString::to_string),
            content: view.text.clone(),
            html: None,
            parts: view.parts.iter().filter_map(|part| serde_json::to_value(part).ok()).collect(),
            tool_calls: view.tool_calls.iter().map(ToolCall::from_ref).collect(),
            tool_call_id: view.tool_call.clone(),
            reply_to: view.reply_to.as_ref().map(ToString::to_string),
            created_at: view.at,
            usage: view.usage,
        }
    }
}

impl Message {
    /// A message as it was when it was stored: by now it may have been taken back.
    pub fn from_posted(chat: &ChatId, posted: &Posted) -> Self {
        let agent = match &posted.message.sender {
            Sender::Agent(agent) => Some(agent.to_string()),
            Sender::Human | Sender::World | Sender::System => None,
        };
        let message = &posted.message;
        let part = |part| serde_json::to_value(part).ok();
        Self {
            id: message.id.to_string(),
            chat_id: chat.to_string(),
            role: match &message.sender {
                Sender::Human | Sender::World => MessageRole::User,
                Sender::System => MessageRole::System,
                Sender::Agent(_) => MessageRole::Assistant,
            },
            sender: message.sender.to_string(),
            user: message.user.clone(),
            agent_id: agent,
            turn_id: None,
            content: message.text.clone(),
            html: None,
            parts: message.parts.iter().filter_map(part).collect(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reply_to: message.reply_to.as_ref().map(ToString::to_string),
            created_at: posted.at,
            usage: None,
        }
    }
}

impl ToolCall {
    fn from_ref(call: &ToolCallRef) -> Self {
        let function = ToolCallFunction { name: call.name.clone(), arguments: arguments(call) };
        Self { id: call.id.clone(), kind: "function", function }
    }
}

/// As text, without secrets. What a request for approval shows was masked when it was made.
fn arguments(call: &ToolCallRef) -> String {
    match &call.arguments {
        shown if call.name == REQUEST_APPROVAL => shown.to_string(),
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(value) => mask_secrets(&value).to_string(),
            // What the model wrote is no JSON; it is masked as the text it is.
            Err(_) => match mask_secrets(&call.arguments) {
                Value::String(text) => text,
                other => other.to_string(),
            },
        },
        value => mask_secrets(value).to_string(),
    }
}
