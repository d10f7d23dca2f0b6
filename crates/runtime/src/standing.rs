//! Says how a chat stands: whether somebody works on it, and what waits for a person.
//! Asked by programs that wait. The same fold and the same question as the engine's own, so "done" means the same.

use agent_world_core::Timestamp;
use agent_world_core::ids::{ApprovalId, ChatId};
use agent_world_core::outstanding::{Effect, outstanding};
use agent_world_store::Store;

use crate::error::Error;
use crate::ledger::Ledger;

/// How a chat stands after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The last event it was read from.
    pub head: u64,
    /// Something is under way that needs no person. Naming the chat does not count: nobody waits for it.
    pub works: bool,
    /// What waits for a decision.
    pub waiting: Vec<ApprovalId>,
}

impl Standing {
    pub async fn of(store: &dyn Store, chat: &ChatId, now: Timestamp) -> Result<Self, Error> {
        let loaded = Ledger::load(store, chat).await?;
        let ledger = loaded.ok_or_else(|| Error::UnknownChat(chat.clone()))?;
        let is_due = |effect: &Effect| effect.deadline().is_none_or(|at| at <= now);
        let owed = outstanding(&ledger.chat);
        Ok(Self {
            head: ledger.head.seq,
            works: owed.iter().any(|effect| *effect != Effect::NameChat && is_due(effect)),
            waiting: ledger.chat.approvals.keys().cloned().collect(),
        })
    }
}
