//! What a caller of the engine may be told. A rejection is the caller's to mend; the rest is ours.

use agent_world_core::command::Rejection;
use agent_world_core::config::Invalid;
use agent_world_core::ids::{ApprovalId, ChatId, MessageId, WorldId};
use agent_world_core::view::{ApprovalState, ApprovalView};
use agent_world_store as store;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    #[error(transparent)]
    Settings(#[from] Invalid),
    #[error("chat {0} does not exist")]
    UnknownChat(ChatId),
    #[error("world {0} does not exist")]
    UnknownWorld(WorldId),
    #[error("world {0} exists already; choose another id")]
    WorldExists(WorldId),
    #[error("message {message} does not exist in chat {chat}, or was taken back")]
    UnknownMessage { chat: ChatId, message: MessageId },
    #[error("approval {0} does not exist")]
    UnknownApproval(ApprovalId),
    /// Somebody was faster; here is what they decided.
    #[error("{}", settled_text(.0))]
    AlreadySettled(Box<ApprovalView>),
    #[error("this idempotency key was used for another message in this chat; use a new one")]
    KeyReused,
    #[error("chat {0} has more requests waiting than it takes; try again in a moment")]
    Overloaded(ChatId),
    #[error("the engine is shutting down; the request was not carried out")]
    ShuttingDown,
    #[error(transparent)]
    Store(#[from] store::Error),
}

fn settled_text(approval: &ApprovalView) -> String {
    use agent_world_core::event::{Decider, Decision};
    let id = &approval.id;
    match &approval.state {
        ApprovalState::Pending => format!("approval {id} is waiting for a decision"),
        ApprovalState::Expired { at } => {
            format!("approval {id} expired at {at}; ask the agent again")
        }
        ApprovalState::Withdrawn { reason, at } => {
            format!("approval {id} was withdrawn at {at}: {reason}")
        }
        ApprovalState::Decided { decision, by, at } => {
            let decided = match **decision {
                Decision::Approved { .. } => "approved",
                Decision::Denied { .. } => "denied",
                Decision::Answered { .. } => "answered",
            };
            let by = match by {
                Decider::Person(name) => format!("by {name}"),
                Decider::Grant { grant, by } => format!("by {by}'s grant {grant}"),
                Decider::Rule { rule, by } => format!("by {by}'s rule {rule}"),
                Decider::Nobody => "because nobody could be asked".to_owned(),
            };
            format!("approval {id} was already {decided} {by} at {at}; nothing was changed")
        }
    }
}
