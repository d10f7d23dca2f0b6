//! Tells what happens in a chat besides messages: tools, decisions, notices, stops.
//! Used by `lines`. Remembers how calls stood, because what is told of one depends on what it was before.

use std::collections::{HashMap, HashSet};

use agent_world_client::wire::{
    Approval, ApprovalState, Call, CallState, Changed, News, Notice, Role,
};
use serde_json::Value;

use crate::screen::Tone;
use crate::words;

/// Lines of a tool's output that are shown.
const OUTPUT_LINES: usize = 5;

#[derive(Debug, Default)]
pub struct Telling {
    calls: HashMap<String, CallState>,
    /// Messages that were told as notices.
    notices: HashSet<String>,
}

/// What there is to say about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub tone: Tone,
    pub text: String,
}

impl Telling {
    /// The line for an event; none where it says nothing to a person, or is a message or a request.
    pub fn tell(&mut self, news: &News) -> Option<Told> {
        match news {
            News::Tool(call) => self.tool(call),
            News::Approval(approval) => decision(approval),
            News::Notice(notice) => self.notice(notice),
            News::Changed(changed) => change(changed),
            News::Message(message) if message.role == Role::System => {
                self.notices.insert(message.id.clone());
                warning(format!("! {}", message.content))
            }
            News::Message(_) | News::Stream(_) | News::Activity(_) | News::Other => None,
        }
    }

    fn tool(&mut self, call: &Call) -> Option<Told> {
        let before = self.calls.insert(call.id.clone(), call.state);
        let (agent, tool) = (&call.agent_id, &call.name);
        match call.state {
            CallState::Executing if before != Some(CallState::Executing) => {
                quiet(format!("* {agent}: {} started", words::call(tool, &call.arguments)))
            }
            CallState::Pending if before == Some(CallState::Executing) => {
                let text = "was interrupted and runs again, which it says is harmless";
                quiet(format!("* {agent}: {tool} {text}"))
            }
            state if state.is_over() => {
                self.calls.remove(&call.id);
                quiet(format!("* {agent}: {tool} {}", ended(call)))
            }
            _ => None,
        }
    }

    fn notice(&mut self, notice: &Notice) -> Option<Told> {
        match notice.code.as_str() {
            "title" | "title_failed" => None,
            "turn_paused" => {
                quiet("* a call was denied: the agent goes on with your next message".to_owned())
            }
            "work_stopped" => {
                let by = notice.by.as_deref().unwrap_or("somebody");
                quiet(match &notice.agent_id {
                    Some(agent) => format!("* {agent} was stopped by {by}"),
                    None => format!("* the agents were stopped by {by}"),
                })
            }
            _ if notice.message_id.as_ref().is_some_and(|id| self.notices.contains(id)) => None,
            _ => warning(format!("! {}", notice.text)),
        }
    }
}

fn decision(approval: &Approval) -> Option<Told> {
    let id = &approval.id;
    match approval.state {
        ApprovalState::Approved => {
            let (agent, tool) = (&approval.agent_id, &approval.tool);
            quiet(format!("* {agent}: {tool} {}", approved(approval)))
        }
        ApprovalState::Expired => quiet(format!("* {id} expired: nobody answered")),
        ApprovalState::Withdrawn => {
            let reason = approval.reason.as_deref().unwrap_or("it is not needed any more");
            quiet(format!("* {id} withdrawn: {reason}"))
        }
        // A denial is told with the end of its call.
        ApprovalState::Denied | ApprovalState::Pending | ApprovalState::Other => None,
    }
}

fn approved(approval: &Approval) -> String {
    let scope = match approval.scope.as_deref() {
        _ if approval.form.is_some() => "answered".to_owned(),
        Some("session") => "approved for the session".to_owned(),
        Some(scope) => format!("approved {scope}"),
        None => "approved".to_owned(),
    };
    let edited = if approval.edited_arguments.is_some() { ", with other arguments," } else { "" };
    let by = match (&approval.decided_by, &approval.decided_through) {
        (Some(by), Some(through)) => format!(" by {by}'s {through}"),
        (Some(by), None) => format!(" by {by}"),
        (None, _) => String::new(),
    };
    format!("{scope}{edited}{by}")
}

fn change(changed: &Changed) -> Option<Told> {
    let by = changed.by.as_deref().unwrap_or("somebody");
    match (changed.entity.as_str(), changed.action.as_str()) {
        ("message", "deleted") => {
            quiet(format!("* {by} took messages back; the chat goes on before them"))
        }
        ("grant", "deleted") => quiet(format!("* {by} revoked {}", changed.id)),
        ("chat", "deleted") => warning(format!("! {by} deleted this chat")),
        _ => None,
    }
}

/// How a call ended, with the first lines of what it gave back.
fn ended(call: &Call) -> String {
    let name = match call.state {
        CallState::Completed => "completed",
        CallState::Failed => "failed",
        CallState::Timeout => "timed out",
        CallState::Denied => "denied",
        CallState::Expired => "expired",
        CallState::Interrupted => "interrupted",
        CallState::Cancelled => "cancelled",
        _ => "ended",
    };
    let details = call.more.get("details").and_then(|details| details.get("exit_code"));
    let code = match details.and_then(Value::as_i64) {
        Some(code) => format!(", exit code {code}"),
        None => String::new(),
    };
    match words::first_lines(call.result.as_deref().unwrap_or_default(), OUTPUT_LINES) {
        shown if shown.is_empty() => format!("{name}{code}"),
        shown => format!("{name}{code}\n{shown}"),
    }
}

fn quiet(text: String) -> Option<Told> {
    Some(Told { tone: Tone::Quiet, text })
}

fn warning(text: String) -> Option<Told> {
    Some(Told { tone: Tone::Warning, text })
}
