//! Decides what can go wrong with a store, and who has to act.
//! Returned by every store. Never carries a rejection: stores do not know rules.

use agent_world_core::chain::Unreadable;
use agent_world_core::ids::{ChatId, RuleId, WorldId};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else appended first: load again and decide anew.
    #[error("chat {chat} has moved on to event {head}; load it again")]
    Conflict { chat: ChatId, head: u64 },
    /// What was decided under other settings may be what the present ones forbid: read them and decide anew.
    #[error("the settings of world {world} have changed to version {version}; decide anew")]
    StaleSettings { world: WorldId, version: u64 },
    /// Another node has the chat's lease now; what this one was doing is not wanted any more.
    #[error("chat {chat} is worked on by another node now")]
    Fenced { chat: ChatId },
    /// This command was carried out before; here is what it led to.
    #[error("this request was carried out before")]
    Repeated { outcome: String },
    #[error(
        "world {world} is at version {actual:?} now, not {expected:?}; read it again and repeat the change"
    )]
    WorldConflict { world: WorldId, expected: Option<u64>, actual: Option<u64> },
    #[error(
        "the document {kind}/{key} is at version {actual:?} now; read it again and repeat the change"
    )]
    DocumentConflict { kind: String, key: String, actual: Option<u64> },
    #[error("world {0} does not exist; `agent-world world list` shows those that do")]
    UnknownWorld(WorldId),
    #[error("world {world} has no granted rule {rule}; it may have been revoked already")]
    UnknownRule { world: WorldId, rule: RuleId },
    /// A mistake of the program, found before anything was written.
    #[error(
        "the events for chat {chat} do not belong there: {why}; this is a bug, please report it"
    )]
    Misplaced { chat: ChatId, why: String },
    /// Opened to look and to leave inputs; the right to perform effects is another process's.
    #[error(
        "the store {path} is in use by another agent-world process, which performs its work; stop it, or leave the work to it"
    )]
    InUse { path: String },
    #[error("the store was opened without the right to perform effects")]
    Visitor,
    #[error("the store cannot take more work now: {0}; try again")]
    Busy(String),
    /// Full disk, lost connection, closed store. Nothing of the request was written, or its fate is not known.
    #[error("the store failed: {0}")]
    Unavailable(String),
    #[error(
        "the store was written by a newer agent-world (schema {found}, this one knows {known}); update agent-world"
    )]
    NewerSchema { found: u32, known: u32 },
    #[error("the store holds something that cannot be read: {0}")]
    Corrupt(String),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Error::Corrupt(error.to_string())
    }
}
