//! Tells what happens in a chat besides messages: tools, decisions, notices, stops; as servers tell it.
//! Used by `send`, `resume` and `chat`, which show messages themselves. Remembers how calls stood, because what a state means
//! depends on the one before it.

use std::collections::HashMap;

use agent_world_client::wire::{
    Approval, ApprovalState, Call, CallState, Changed, Event, News, Notice,
};

use crate::screen::Tone;
use crate::{phrases, words};

#[derive(Debug, Default)]
pub struct Narration {
    calls: HashMap<String, CallState>,
}

/// What there is to say about an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub tone: Tone,
    pub text: String,
}

impl Narration {
    /// The line for an event; none where it says nothing to a person, or is a message or a request.
    pub fn tell(&mut self, event: &Event) -> Option<Told> {
        match &event.news {
            News::Tool(call) => self.call(call),
            News::Approval(approval) => decision(approval),
            News::Notice(notice) => self::notice(notice),
            News::Changed(changed) => self::changed(changed),
            News::Message(_) | News::Stream(_) | News::Activity(_) | News::Other => None,
        }
    }

    fn call(&mut self, call: &Call) -> Option<Told> {
        let Call { id, agent_id, name, state, .. } = call;
        let before = match state.is_over() {
            true => self.calls.remove(id),
            false => self.calls.insert(id.clone(), *state),
        };
        match (before, state) {
            (Some(CallState::Executing), CallState::Executing) => None,
            (_, CallState::Executing) => {
                let line = words::call(name, &call.arguments);
                quiet(format!("* {agent_id}: {line} started"))
            }
            (Some(CallState::Executing), CallState::Pending) => {
                let text = "was interrupted and runs again, which it says is harmless";
                quiet(format!("* {agent_id}: {name} {text}"))
            }
            (_, state) if state.is_over() => {
                quiet(format!("* {agent_id}: {name} {}", phrases::ended(call)))
            }
            _ => None,
        }
    }
}

/// Whether a notice says that somebody's message was not answered as it should have been.
pub fn is_failure(notice: &Notice) -> bool {
    matches!(
        notice.code.as_str(),
        "nobody_addressed"
            | "no_agents"
            | "model_failed"
            | "iteration_limit"
            | "agent_gone"
            | "reply_empty"
    )
}

fn decision(approval: &Approval) -> Option<Told> {
    let Approval { id, agent_id, tool, state, .. } = approval;
    match state {
        ApprovalState::Approved => {
            quiet(format!("* {agent_id}: {tool} {}", phrases::decided(approval)))
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

fn notice(notice: &Notice) -> Option<Told> {
    let Notice { code, text, agent_id, by, .. } = notice;
    let by = by.as_deref().unwrap_or("somebody");
    match code.as_str() {
        "title" | "title_failed" => None,
        "turn_paused" => {
            quiet("* a call was denied: the agent goes on with your next message".to_owned())
        }
        "work_stopped" => quiet(match agent_id {
            Some(agent) => format!("* {agent} was stopped by {by}"),
            None => format!("* the agents were stopped by {by}"),
        }),
        _ => Some(Told { tone: Tone::Warning, text: format!("! {text}") }),
    }
}

fn changed(changed: &Changed) -> Option<Told> {
    let Changed { entity, action, id, by, .. } = changed;
    let by = by.as_deref().unwrap_or("somebody");
    match (entity.as_str(), action.as_str()) {
        ("message", "deleted") => {
            quiet(format!("* {by} took messages back; the chat goes on before them"))
        }
        ("grant", "deleted") => quiet(format!("* {by} revoked {id}")),
        ("chat", "deleted") => {
            Some(Told { tone: Tone::Warning, text: format!("! {by} deleted this chat") })
        }
        _ => None,
    }
}

fn quiet(text: String) -> Option<Told> {
    Some(Told { tone: Tone::Quiet, text })
}
