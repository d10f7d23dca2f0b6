//! Puts what servers tell into words: requests, decisions, calls, events.
//! Used by commands that show it to a person. Never decides anything; what was not masked by the server is masked here
//! wherever it is only mentioned.

use agent_world_client::wire::{
    Activity, Approval, ApprovalState, Call, CallState, Changed, Doing, Event, Message, News,
    Notice, Phase, Stream,
};
use agent_world_core::command::UNATTENDED;
use serde_json::Value;

use crate::words::{self, count, excerpt, shortened};

/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 5;

/// Who wants what, on one line.
pub fn wish(approval: &Approval) -> String {
    if approval.form.is_some() {
        let question = shortened(&approval.message);
        return format!("{} of {} asks: {question}", approval.tool, approval.agent_id);
    }
    let call = words::call(&approval.tool, &approval.arguments);
    format!("{} wants to use {call}", approval.agent_id)
}

/// What became of a request.
pub fn state(approval: &Approval) -> String {
    let at = approval.decided_at.as_deref().unwrap_or_default();
    match approval.state {
        ApprovalState::Pending => "waiting for a decision".to_owned(),
        ApprovalState::Expired => format!("expired at {at}: nobody answered"),
        ApprovalState::Withdrawn => format!("withdrawn at {at}: {}", reason(approval)),
        ApprovalState::Approved | ApprovalState::Denied => format!("{} at {at}", decided(approval)),
        ApprovalState::Other => "in a state that this version does not know".to_owned(),
    }
}

/// Who decided what. Only of what was decided.
pub fn decided(approval: &Approval) -> String {
    let what = match (approval.state, &approval.decided_by, &approval.reason) {
        (ApprovalState::Denied, _, Some(reason)) if reason.starts_with(UNATTENDED) => {
            return format!("denied: {reason}");
        }
        (ApprovalState::Denied, Some(_), Some(reason)) => format!("denied ({reason})"),
        (ApprovalState::Denied, ..) => "denied".to_owned(),
        _ if approval.answer.is_some() => "answered".to_owned(),
        _ => {
            let scope = match approval.scope.as_deref() {
                Some("session") => "for the session",
                Some("always") => "always",
                _ => "once",
            };
            let edited = match approval.edited_arguments {
                Some(_) => ", with other arguments,",
                None => "",
            };
            format!("approved {scope}{edited}")
        }
    };
    let who = match (&approval.decided_by, approval.decided_through.as_deref()) {
        (None, _) => "because nobody could be asked".to_owned(),
        (Some(name), None) => format!("by {name}"),
        (Some(name), Some(rule)) if rule.starts_with("grant_") => {
            format!("by {name}'s grant {rule}")
        }
        (Some(name), Some(rule)) => format!("by {name}'s rule {rule}"),
    };
    // Who decided without looking, such as a program that was told to.
    match (approval.state, &approval.reason) {
        (ApprovalState::Approved, Some(reason)) => format!("{what} {who} ({reason})"),
        _ => format!("{what} {who}"),
    }
}

fn reason(approval: &Approval) -> &str {
    approval.reason.as_deref().unwrap_or_default()
}

/// How a call ended, with the first lines of what it gave back.
pub fn ended(call: &Call) -> String {
    let name = call_state(call.state);
    let code = call.more.get("details").and_then(|details| details.get("exit_code"));
    let code = match code.and_then(Value::as_i64) {
        Some(code) => format!(", exit code {code}"),
        None => String::new(),
    };
    match words::first_lines(call.result.as_deref().unwrap_or_default(), OUTPUT_LINES) {
        shown if shown.is_empty() => format!("{name}{code}"),
        shown => format!("{name}{code}\n{shown}"),
    }
}

fn call_state(state: CallState) -> &'static str {
    match state {
        CallState::Pending => "pending",
        CallState::AwaitingApproval => "awaiting approval",
        CallState::Executing => "executing",
        CallState::Completed => "completed",
        CallState::Failed => "failed",
        CallState::Timeout => "timed out",
        CallState::Denied => "denied",
        CallState::Expired => "expired",
        CallState::Interrupted => "interrupted",
        CallState::Cancelled => "cancelled",
        CallState::Other => "in a state that this version does not know",
    }
}

/// Somebody said it, or it is a notice; it is not a call, a request or a result.
pub fn is_said(message: &Message) -> bool {
    message.tool_calls.is_empty() && message.tool_call_id.is_none()
}

/// An event on one line.
pub fn event(event: &Event) -> String {
    match &event.news {
        News::Message(message) => self::message(message),
        News::Stream(stream) => self::stream(stream),
        News::Tool(call) => {
            let line = words::call(&call.name, &call.arguments);
            format!("{} {} {} {line}", call.agent_id, call.id, call_state(call.state))
        }
        News::Approval(approval) if approval.is_pending() => {
            format!("{} {}", approval.id, wish(approval))
        }
        News::Approval(approval) => format!("{} {}", approval.id, state(approval)),
        News::Activity(activity) => self::activity(activity),
        News::Notice(Notice { code, text, .. }) => format!("{code} {}", excerpt(text)),
        News::Changed(Changed { entity, action, id, by, .. }) => match by {
            Some(by) => format!("{entity} {id} {action} by {by}"),
            None => format!("{entity} {id} {action}"),
        },
        News::Other => excerpt(&event.json.get("data").map(Value::to_string).unwrap_or_default()),
    }
}

fn message(message: &Message) -> String {
    let sender = &message.sender;
    match (message.tool_calls.as_slice(), &message.tool_call_id) {
        ([], None) => format!("{sender}: {}", excerpt(&message.content)),
        ([], Some(call)) => format!("{sender} answers {call}: {}", excerpt(&message.content)),
        (calls, _) => {
            let names: Vec<&str> = calls.iter().map(|call| call.function.name.as_str()).collect();
            format!("{sender} calls {}", names.join(", "))
        }
    }
}

fn stream(stream: &Stream) -> String {
    let agent = &stream.agent_id;
    match stream.phase {
        Phase::Start => format!("{agent} begins a reply"),
        Phase::End => match &stream.usage {
            Some(usage) => format!(
                "{agent} ends a reply: {} tokens in, {} out",
                usage.input_tokens, usage.output_tokens
            ),
            None => format!("{agent} ends a reply"),
        },
        Phase::Error => {
            let error = stream.error.as_deref().unwrap_or_default();
            format!("the reply of {agent} ends without a result: {}", excerpt(error))
        }
        Phase::Chunk | Phase::Other => format!("{agent} replies"),
    }
}

/// Who does what.
pub fn activity(activity: &Activity) -> String {
    if !activity.is_busy() {
        return "idle".to_owned();
    }
    let mut parts: Vec<String> = activity
        .agents
        .iter()
        .map(|agent| format!("{} {}", agent.id, doing(agent.doing)))
        .collect();
    match activity.running_calls.len() {
        0 => {}
        number => parts.push(format!("{} running", count(number, "call"))),
    }
    match activity.waiting_approvals {
        0 => {}
        number => parts.push(format!("{} waiting", count(number, "approval"))),
    }
    match parts.as_slice() {
        [] => "busy".to_owned(),
        parts => format!("busy: {}", parts.join(", ")),
    }
}

fn doing(doing: Doing) -> &'static str {
    match doing {
        Doing::Thinking => "thinks",
        Doing::RunningTools => "uses tools",
        Doing::AwaitingApproval => "waits for approval",
        Doing::AwaitingHuman => "waits for a message",
        Doing::Other => "is at work",
    }
}
