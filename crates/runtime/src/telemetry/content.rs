//! Decides how what was said is written for OpenTelemetry: messages of parts, as its conventions have them.
//! Called where a person asked for content to be told. What has no text (images, sealed thoughts) is left out.

use std::sync::Arc;

use agent_world_core::item::{Item, Role};
use serde_json::{Value, json};

/// What a model was told first.
pub(super) fn instructions(text: &str) -> String {
    json!([part(text)]).to_string()
}

/// What a model was shown.
pub(super) fn heard(items: &[Arc<Item>]) -> String {
    Value::Array(items.iter().filter_map(|item| message(item)).collect()).to_string()
}

/// What it answered.
pub(super) fn said(items: &[Item]) -> String {
    Value::Array(items.iter().filter_map(message).collect()).to_string()
}

fn message(item: &Item) -> Option<Value> {
    let (role, part) = match item {
        Item::Message(message) => (name(message.role), part(&message.text())),
        Item::FunctionCall(call) => {
            let arguments = serde_json::from_str(&call.arguments)
                .unwrap_or_else(|_| Value::String(call.arguments.clone()));
            let made = json!({"type": "tool_call", "id": call.call_id, "name": call.name, "arguments": arguments});
            ("assistant", made)
        }
        Item::FunctionCallOutput(output) => {
            let answered = json!({"type": "tool_call_response", "id": output.call_id, "response": output.output});
            ("tool", answered)
        }
        Item::Reasoning(_) | Item::Unknown(_) => return None,
    };
    Some(json!({"role": role, "parts": [part]}))
}

fn part(text: &str) -> Value {
    json!({"type": "text", "content": text})
}

fn name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
    }
}
