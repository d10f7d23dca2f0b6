//! What scripts are given: worlds, chats, messages, calls, approvals and events as JSON.
//! Used wherever `--json` is offered. A format of its own: what is stored may change without it. Secrets in
//! arguments and in the log are masked; what somebody said and what a tool gave back are handed on as they are.

use agent_world_core::audit::Statistics;
use agent_world_core::config::{McpServer, ToolSpec, World};
use agent_world_core::display::mask_secrets;
use agent_world_core::event::{Decider, Decision, Permission};
use agent_world_core::ids::ChatId;
use agent_world_core::view::{ApprovalState, ApprovalView, CallView, ChatView, MessageView};
use agent_world_store::{Audited, StoredEvent};
use serde_json::{Map, Value, json};

pub fn message(chat: &ChatId, view: &MessageView) -> Value {
    json!({
        "type": "message",
        "id": view.id,
        "chat_id": chat,
        "role": view.role,
        "sender": view.sender,
        "agent_id": view.agent,
        "content": view.text,
        "reply_to": view.reply_to,
        "created_at": view.at,
    })
}

pub fn call(chat: &ChatId, view: &CallView) -> Value {
    let duration = view.started_at.zip(view.ended_at);
    json!({
        "type": "tool",
        "id": view.id,
        "chat_id": chat,
        "agent_id": view.agent,
        "turn_id": view.turn,
        "name": view.name,
        "arguments": mask_secrets(&view.arguments),
        "blocking": view.blocking,
        "state": view.state.name(),
        "approval_id": view.approval,
        "started_at": view.started_at,
        "ended_at": view.ended_at,
        "duration_ms": duration.map(|(from, to)| to.as_millisecond() - from.as_millisecond()),
        "result": view.output.as_ref().map(|output| &output.text),
        "result_whole": view.output.as_ref().and_then(|output| output.whole.as_deref()),
        "details": view.output.as_ref().map(|output| &output.details),
    })
}

pub fn approval(view: &ApprovalView) -> Value {
    let mut value = json!({
        "type": "approval",
        "id": view.id,
        "world_id": view.world,
        "chat_id": view.chat,
        "agent_id": view.agent,
        "tool_call_id": view.call,
        "tool": view.tool,
        "arguments": mask_secrets(&view.arguments),
        "working_directory": view.working_directory,
        "message": view.question,
        "shown": view.shown,
        "options": view.options,
        "suggested_matches": mask_secrets(&json!(view.suggestions)),
        "created_at": view.created_at,
        "expires_at": view.expires_at,
        "preview": view.preview,
        "binding": view.binding,
        "voided": view.voided,
        "form": view.form,
    });
    if let Some(fields) = value.as_object_mut() {
        fields.extend(outcome(&view.state));
    }
    value
}

fn outcome(state: &ApprovalState) -> Map<String, Value> {
    let value = match state {
        ApprovalState::Pending => json!({ "state": "pending" }),
        ApprovalState::Expired { at } => json!({ "state": "expired", "decided_at": at }),
        ApprovalState::Withdrawn { reason, at } => {
            json!({ "state": "withdrawn", "reason": reason, "decided_at": at })
        }
        ApprovalState::Decided { decision, by, at } => {
            let by = decider(by);
            match &**decision {
                Decision::Denied { reason } => json!({
                    "state": "denied", "decision": "deny", "reason": reason,
                    "decided_by": by, "decided_at": at,
                }),
                Decision::Answered { content } => json!({
                    "state": "approved", "decision": "approve", "scope": "once",
                    "answer": mask_secrets(content), "decided_by": by, "decided_at": at,
                }),
                Decision::Approved { scope, arguments } => json!({
                    "state": "approved", "decision": "approve", "scope": scope_name(scope),
                    "edited_arguments": arguments.as_ref().map(mask_secrets),
                    "decided_by": by, "decided_at": at,
                }),
            }
        }
    };
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn scope_name(scope: &Permission) -> &'static str {
    match scope {
        Permission::Once => "once",
        Permission::Session(_) => "session",
        Permission::Always(_) => "always",
    }
}

fn decider(by: &Decider) -> Value {
    match by {
        Decider::Person(name) => json!(name),
        Decider::Grant { grant, .. } => json!(grant),
        Decider::Rule { rule, .. } => json!(rule),
        Decider::Nobody => Value::Null,
    }
}

/// An event as it stands in the log, but for its secrets. The hash is that of what is stored.
pub fn event(stored: &StoredEvent) -> Value {
    // What cannot be read as JSON is still part of the log, and shown as the text it is.
    let data = serde_json::from_str(&stored.sealed.payload)
        .unwrap_or_else(|_| Value::String(stored.sealed.payload.clone()));
    let data = without_secrets(data);
    json!({
        "seq": stored.position,
        "world_id": stored.world,
        "chat_id": stored.chat,
        "chat_seq": stored.sealed.seq,
        "at": stored.sealed.at,
        "type": stored.sealed.kind,
        "data": data,
        "hash": stored.sealed.hash,
    })
}

fn without_secrets(mut data: Value) -> Value {
    for_each_call(&mut data, read_arguments);
    let mut masked = mask_secrets(&data);
    for_each_call(&mut masked, write_arguments);
    // A request's texts were masked when they were made. Done twice, the markers would hide each other.
    for name in ["question", "shown"] {
        if let (Some(after), Some(before)) = (masked.get_mut(name), data.get(name)) {
            *after = before.clone();
        }
    }
    masked
}

/// A reply holds the arguments of its calls as text. Only as a value do they show which word is a secret.
fn for_each_call(data: &mut Value, change: fn(&mut Value)) {
    let items = data.get_mut("items").and_then(Value::as_array_mut);
    let arguments = items.into_iter().flatten().filter_map(|item| item.get_mut("arguments"));
    arguments.for_each(change);
}

fn read_arguments(arguments: &mut Value) {
    let read = arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
    // Text that is no JSON is what the model wrote, and is masked as a text.
    if let Some(value @ (Value::Object(_) | Value::Array(_))) = read {
        *arguments = value;
    }
}

fn write_arguments(arguments: &mut Value) {
    if !arguments.is_string() {
        *arguments = Value::String(arguments.to_string());
    }
}

/// An entry of the audit. Its secrets were masked when it was written.
pub fn audited(audited: &Audited) -> Value {
    let entry = &audited.entry;
    let mut data = json!(entry.what);
    if let Some(fields) = data.as_object_mut() {
        fields.remove("kind");
    }
    json!({
        "seq": audited.position,
        "at": entry.at,
        "kind": entry.what.kind(),
        "world_id": entry.world,
        "chat_id": entry.chat,
        "agent_id": entry.agent,
        "tool": entry.tool,
        "tool_call_id": entry.call,
        "approval_id": entry.approval,
        "actor": entry.actor,
        "rule": entry.rule,
        "data": data,
    })
}

pub fn statistics(sums: &Statistics) -> Value {
    json!({
        "world_id": sums.world,
        "tool": sums.tool,
        "agent_id": sums.agent,
        "calls": sums.calls,
        "outcomes": sums.outcomes,
        "approvals": {
            "asked": sums.asked,
            "approved": sums.approved,
            "denied": sums.denied,
            "expired": sums.expired,
        },
        "runs": sums.runs,
        "mean_ms": sums.mean_ms(),
        "max_ms": (sums.runs > 0).then_some(sums.longest_ms),
        "first_at": sums.first,
        "last_at": sums.last,
    })
}

pub fn chat(view: &ChatView) -> Value {
    json!({
        "id": view.id,
        "world_id": view.world,
        "title": view.title,
        "busy": view.activity.busy,
        "waiting_approvals": view.activity.waiting,
        "created_at": view.created_at,
        "updated_at": view.updated_at,
    })
}

pub fn mcp_server(name: &str, server: &McpServer) -> Value {
    let mut shown = Map::from_iter([("name".to_owned(), Value::from(name))]);
    shown.extend(server.shown());
    Value::Object(shown)
}

pub fn world(world: &World, chats: &[ChatView]) -> Value {
    let servers: Map<String, Value> = world
        .mcp_servers
        .iter()
        .map(|(name, server)| (name.clone(), mcp_server(name, server)))
        .collect();
    json!({
        "id": world.id,
        "name": world.name,
        "description": world.description,
        "turn_limit": world.turn_limit,
        "max_iterations": world.max_iterations,
        "main_agent": world.main_agent,
        "after_denial": world.after_denial,
        "approval_timeout_seconds": world.approval_timeout_seconds,
        "working_directory": world.working_directory,
        "default_model": world.default_model,
        "agents": world.agents,
        "policy": world.policy.shown(),
        "sandbox": world.sandbox,
        "mcp_servers": servers,
        "version": world.version,
        "created_at": world.created_at,
        "updated_at": world.updated_at,
        "chats": chats.iter().map(chat).collect::<Vec<_>>(),
    })
}

/// What a tool says about itself, without its schema.
pub fn tool(spec: &ToolSpec) -> Value {
    let mut value = json!(spec);
    if let Some(fields) = value.as_object_mut() {
        fields.remove("parameters");
        fields.insert("type".to_owned(), json!("tool"));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_an_event_are_masked_and_the_rest_stays_as_it_is() {
        let arguments = json!({"command": "curl", "parameters": ["--token", "hunter2"]});
        let data = json!({
            "items": [
                {"type": "function_call", "name": "shell_cmd", "arguments": arguments.to_string()},
                {"type": "function_call", "name": "shell_cmd", "arguments": "{ not json"},
            ],
            "usage": {"input_tokens": 7},
            "shown": "{\"token\": \"[secret masked: value of a secret field, 7 characters]\"}",
        });
        let masked = without_secrets(data.clone());
        assert!(!masked.to_string().contains("hunter2"), "{masked}");
        let written = masked["items"][0]["arguments"].as_str().unwrap();
        let read: Value = serde_json::from_str(written).unwrap();
        assert_eq!(read["parameters"][0], "--token");
        assert_eq!(masked["items"][1], data["items"][1]);
        assert_eq!((&masked["usage"], &masked["shown"]), (&data["usage"], &data["shown"]));
    }
}
