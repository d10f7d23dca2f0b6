//! Keeps the logs: appends events durably, reads them back, and maintains what can be looked up beside them.
//!
//! One trait, several stores, one conformance suite. A store checks heads, fences and idempotency keys and writes
//! everything of one append in one transaction; it never decides a rule and never performs an effect.

mod error;
pub mod memory;
mod placing;
pub mod sqlite;
mod types;
pub mod verify;

use agent_world_core::Timestamp;
use agent_world_core::audit::Statistics;
use agent_world_core::chain::Hash;
use agent_world_core::config::World;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, MessageId, RuleId, WorldId};
use agent_world_core::outstanding::Wake;
use agent_world_core::policy::Grant;
use agent_world_core::view::{ApprovalView, CallView, ChatView, MessageView};
use async_trait::async_trait;

pub use error::Error;
pub use memory::Memory;
pub use sqlite::Sqlite;
pub use types::{
    Append, Appended, ApprovalFilter, AtHand, AuditFilter, AuditPage, Audited, Changes, Document,
    DocumentWrite, Epoch, Expected, Idempotency, Lease, Loaded, MessagePage, NodeId, ResultPiece,
    Scope, Snapshot, StoredEvent, UsageScope, UsageTotal, WorldChange, WorldWrite,
};

/// A durable home for worlds and the logs of their chats.
///
/// *Inputs by any node, effects by one*: any handle may append an input on the head it has read; only the holder
/// of a chat's lease appends what effects gave, and its epoch is checked with every such append.
#[async_trait]
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    // Worlds: small versioned documents. Granted rules are kept apart and merged in when read.

    /// Creates or replaces a world's settings if its version is still the expected one. Returns what is stored now.
    async fn write_world(&self, write: WorldWrite) -> Result<World, Error>;
    async fn world(&self, id: &WorldId) -> Result<Option<World>, Error>;
    /// All worlds, by id.
    async fn worlds(&self) -> Result<Vec<World>, Error>;
    /// Removes a world, its chats' logs and all that was derived from them but the audit, which outlives it.
    async fn delete_world(&self, id: &WorldId, change: WorldChange) -> Result<(), Error>;
    /// Takes back a rule that somebody granted with `always`.
    async fn revoke_rule(
        &self,
        world: &WorldId,
        rule: &RuleId,
        change: WorldChange,
    ) -> Result<(), Error>;

    // Logs.

    /// Writes one command's events and all that follows from them, all or nothing, durable when it returns. Refused
    /// unless both the chat's head and the version of the world's settings are the ones it was decided on.
    async fn append(&self, append: Append) -> Result<Appended, Error>;
    /// What is needed to go on with a chat: its latest snapshot and the events after it.
    async fn load(&self, chat: &ChatId) -> Result<Option<Loaded>, Error>;
    /// Stored events after a position, in order. A page may be shorter than the limit only at the end of the log.
    async fn events(
        &self,
        scope: &Scope,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error>;
    /// The last stored events up to a position, in order. Fewer than the limit only where the log begins.
    async fn last_events(
        &self,
        scope: &Scope,
        until: u64,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error>;
    /// Events of one chat after a number of its own log, in order: for whoever knows where in it something stands.
    async fn log(&self, chat: &ChatId, after: u64, limit: usize)
    -> Result<Vec<StoredEvent>, Error>;
    /// The position of the newest stored event; 0 when there is none.
    async fn position(&self) -> Result<u64, Error>;
    /// Which chats and worlds were written to after a position, by whichever process. Reads no payloads.
    async fn changes(&self, after: u64) -> Result<Changes, Error>;
    /// The outcome recorded under an idempotency key.
    async fn outcome(&self, key: &str) -> Result<Option<String>, Error>;

    // Work.

    /// The right to perform a chat's effects, until released or, on a shared store, expired.
    async fn lease(&self, chat: &ChatId, node: &NodeId, now: Timestamp) -> Result<Lease, Error>;
    async fn release(&self, chat: &ChatId, lease: Lease) -> Result<(), Error>;
    /// Chats whose wake time has come, most overdue first, after a chat of an earlier page. If that chat is not due
    /// any more its place is lost and the page begins at the front: some may come twice, none is left out.
    async fn due(
        &self,
        now: Timestamp,
        after: Option<&ChatId>,
        limit: usize,
    ) -> Result<Vec<ChatId>, Error>;

    /// Sets when a chat is due without an event, if its head is still `head`: what woke it led to nothing under
    /// the world's settings of that version. A rule granted since keeps it due, as with an append.
    async fn set_wake(
        &self,
        chat: &ChatId,
        head: u64,
        world_version: u64,
        wake: Wake,
    ) -> Result<(), Error>;

    // Read models.

    async fn chat(&self, id: &ChatId) -> Result<Option<ChatView>, Error>;
    /// A world's living chats, oldest first, after a chat of an earlier page.
    async fn chats(
        &self,
        world: &WorldId,
        after: Option<&ChatId>,
        limit: usize,
    ) -> Result<Vec<ChatView>, Error>;
    async fn messages(&self, chat: &ChatId, page: MessagePage) -> Result<Vec<MessageView>, Error>;
    async fn message(&self, chat: &ChatId, id: &MessageId) -> Result<Option<MessageView>, Error>;
    /// A chat's calls, oldest first, after a call of an earlier page.
    async fn calls(
        &self,
        chat: &ChatId,
        after: Option<&CallId>,
        limit: usize,
    ) -> Result<Vec<CallView>, Error>;
    async fn call(&self, chat: &ChatId, id: &CallId) -> Result<Option<CallView>, Error>;
    /// Oldest first, after an approval of an earlier page.
    async fn approvals(
        &self,
        filter: &ApprovalFilter,
        after: Option<&ApprovalId>,
        limit: usize,
    ) -> Result<Vec<ApprovalView>, Error>;
    async fn approval(&self, id: &ApprovalId) -> Result<Option<ApprovalView>, Error>;
    async fn grants(&self, chat: &ChatId) -> Result<Vec<Grant>, Error>;
    /// Sums of the tokens used, one for each agent and one for what no agent used.
    async fn usage(&self, scope: &UsageScope) -> Result<Vec<UsageTotal>, Error>;

    // The audit: written with the events it tells of, never edited, and kept when a world is deleted.

    /// Entries that fit a filter, oldest first. A page may be shorter than the limit only at the end.
    async fn audit(&self, filter: &AuditFilter, page: AuditPage) -> Result<Vec<Audited>, Error>;
    /// How tools were used, of one world or of all: one for each world, tool and agent, in that order. A world that was
    /// made again under the same name goes on with the numbers of its namesake, as its audit does.
    async fn statistics(&self, world: Option<&WorldId>) -> Result<Vec<Statistics>, Error>;

    // Results too long for the log. Each is stored once in its world, and removed with it.

    /// Makes a text durable, and names it by its digest. Done before the event that names it is appended: if that never
    /// comes, nobody asks for the text, which is harmless. A text that is there already is not stored again.
    async fn keep_result(&self, world: &WorldId, text: String) -> Result<Hash, Error>;
    /// A part of a long result, by characters; empty behind its end. None where there is no such result.
    async fn result(
        &self,
        world: &WorldId,
        digest: Hash,
        offset: u64,
        limit: u64,
    ) -> Result<Option<ResultPiece>, Error>;

    // Documents: small, versioned, of no log. Their kinds are names that whoever uses them agrees on.

    /// Creates or replaces a document if what is stored is what was expected. Returns its version.
    async fn write_document(&self, write: DocumentWrite) -> Result<u64, Error>;
    async fn document(&self, kind: &str, key: &str) -> Result<Option<Document>, Error>;
    /// The documents of a kind by key, after one of an earlier page.
    async fn documents(
        &self,
        kind: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Document>, Error>;
    /// Says whether there was one.
    async fn delete_document(&self, kind: &str, key: &str) -> Result<bool, Error>;
    /// Removes those last written before a moment. Returns how many there were.
    async fn delete_documents(&self, kind: &str, before: Timestamp) -> Result<u64, Error>;
}
