//! Decides what a chat still owes the outside: effects, derived from its state and nothing else.
//! Called by the runtime after every append and after every load: what is owed after a crash is by construction
//! what was owed before it. Never performs an effect and does not know which are under way.

use std::time::Duration;

use crate::Timestamp;
use crate::chat::{CallState, Chat, Life, Naming, Phase};
use crate::config::Location;
use crate::ids::{AgentId, CallId, MessageId, TurnId};

/// Something the outside must do or wait for. Equal effects are the same effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    CallModel {
        turn: TurnId,
        agent: AgentId,
        reply: MessageId,
    },
    /// Record the start, then run it.
    RunTool {
        call: CallId,
    },
    /// It was started: whoever runs it reports its end. If nobody does, it is lost.
    FinishTool {
        call: CallId,
        attempt: u32,
    },
    /// A client executes it; past the deadline it has timed out.
    AwaitClient {
        call: CallId,
        attempt: u32,
        deadline: Timestamp,
    },
    ExpireApprovals {
        at: Timestamp,
    },
    NameChat,
}

/// When a chat needs somebody's attention again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Only an input can move it.
    Never,
    At(Timestamp),
    Now,
}

pub fn outstanding(chat: &Chat) -> Vec<Effect> {
    let mut effects = Vec::new();
    if chat.life != Life::Living {
        return effects;
    }
    for turn in chat.turns.values() {
        if let Phase::CallingModel { reply } = &turn.phase {
            effects.push(Effect::CallModel {
                turn: turn.id.clone(),
                agent: turn.agent.clone(),
                reply: reply.clone(),
            });
        }
    }
    for call in chat.runnable() {
        effects.push(Effect::RunTool { call: call.made.call.clone() });
    }
    for call in chat.calls.values().filter(|call| call.state == CallState::Executing) {
        let (id, attempt) = (call.made.call.clone(), call.attempt);
        effects.push(match call.made.location {
            Location::Server => Effect::FinishTool { call: id, attempt },
            Location::Client => {
                let limit = Duration::from_secs(call.made.timeout_seconds);
                let since = call.started_at.unwrap_or(call.requested_at);
                let deadline = since.checked_add(limit).unwrap_or(Timestamp::MAX);
                Effect::AwaitClient { call: id, attempt, deadline }
            }
        });
    }
    let first_expiry = chat.approvals.values().filter_map(|request| request.asked.expires_at).min();
    effects.extend(first_expiry.map(|at| Effect::ExpireApprovals { at }));
    if chat.title.naming == Naming::Due && chat.is_idle() {
        effects.push(Effect::NameChat);
    }
    effects
}

impl Effect {
    /// When the effect is due, if it is one that waits for a moment.
    pub fn deadline(&self) -> Option<Timestamp> {
        match self {
            Effect::AwaitClient { deadline, .. } => Some(*deadline),
            Effect::ExpireApprovals { at } => Some(*at),
            _ => None,
        }
    }
}

/// When the earliest of these effects is due.
pub fn wake(effects: &[Effect]) -> Wake {
    let mut wake = Wake::Never;
    for effect in effects {
        wake = match (effect.deadline(), wake) {
            (None, _) => return Wake::Now,
            (Some(at), Wake::At(earlier)) if earlier <= at => Wake::At(earlier),
            (Some(at), _) => Wake::At(at),
        };
    }
    wake
}
