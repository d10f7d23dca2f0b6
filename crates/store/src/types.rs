//! Decides what is said to a store and what it says back.
//! Used by every store and its callers. Plain data, no behaviour.

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::audit::Entry;
use agent_world_core::chain::{Head, Recorded, Sealed, Unreadable};
use agent_world_core::chat::Life;
use agent_world_core::config::World;
use agent_world_core::event::Position;
use agent_world_core::ids::{AgentId, CallId, ChatId, TurnId, WorldId};
use agent_world_core::item::Usage;
use agent_world_core::outstanding::Wake;
use agent_world_core::view::{ChatView, Glance, Row};
use serde::{Deserialize, Serialize};

/// One command's events for one chat, and all that is written with them.
#[derive(Clone, Debug)]
pub struct Append {
    pub chat: ChatId,
    pub world: WorldId,
    /// The version of the world's settings the events were decided under. Under any other the append is refused: no
    /// rule that somebody was told of can miss a call. A rule among `rows` makes the next version.
    pub world_version: u64,
    /// The head the events were decided on.
    pub expected: Head,
    /// Given by the holder of the chat's lease for what effects led to; inputs carry none.
    pub fence: Option<Epoch>,
    /// May be empty: a chat that was woken for nothing only gets a new `wake`.
    pub events: Vec<Sealed>,
    pub rows: Vec<Row>,
    pub view: ChatView,
    pub life: Life,
    pub wake: Wake,
    pub snapshot: Option<Snapshot>,
    pub idempotency: Option<Idempotency>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The position of the last event written; without events, of the newest in the store.
    pub position: u64,
    /// Of each event, in order.
    pub positions: Vec<u64>,
}

/// A chat's state after some event, as JSON: a shortcut, never the truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    pub seq: u64,
    pub state: String,
}

/// Makes a repeated request harmless: the second gets the first one's outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idempotency {
    pub key: String,
    pub outcome: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub snapshot: Option<Snapshot>,
    /// The events after the snapshot.
    pub events: Vec<Sealed>,
    pub head: Head,
}

/// An event with its place among all events of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    pub position: u64,
    pub world: WorldId,
    /// Absent for changes of a world's settings.
    pub chat: Option<ChatId>,
    pub sealed: Sealed,
    /// What goes on in the chat since, where the event changed it. Absent in what older programs wrote.
    pub glance: Option<Box<Glance>>,
    pub at_hand: AtHand,
}

/// What an event says, where whoever stored it still has it at hand: it need not be read from its text.
#[derive(Clone, Debug, Default)]
pub struct AtHand(pub Option<Arc<Recorded>>);

/// It says nothing that the event's text does not say.
impl PartialEq for AtHand {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for AtHand {}

impl StoredEvent {
    /// What it says.
    ///
    /// # Errors
    /// When its text cannot be read.
    pub fn open(&self) -> Result<Arc<Recorded>, Unreadable> {
        match &self.at_hand.0 {
            Some(recorded) => Ok(Arc::clone(recorded)),
            None => self.sealed.open().map(Arc::new),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    All,
    World(WorldId),
    Chat(ChatId),
}

/// Names a process among those that share a store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeId(pub String);

/// Counts the owners of a chat; an older one's writes are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    pub epoch: Epoch,
    /// When it must be renewed; absent where it ends with the process.
    pub until: Option<Timestamp>,
}

/// A world's new settings. The version in `world` is ignored; the stored one counts up.
#[derive(Clone, Debug)]
pub struct WorldWrite {
    pub world: World,
    /// The version the change was made on; none to create.
    pub expected: Option<u64>,
    pub change: WorldChange,
}

/// What is told about a change of settings; stored as an event of the world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldChange {
    /// `world`, `agent`, `policy`, `mcp_server`, `rule`.
    pub entity: String,
    /// `created`, `updated`, `deleted`.
    pub action: String,
    pub id: String,
    pub by: String,
    pub at: Timestamp,
    /// All settings as they are since the change, without granted rules. Filled in by the store when it writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Value>,
}

/// A window on a chat's messages, always given oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessagePage {
    /// The first messages after a place.
    After(Option<Position>, usize),
    /// The last messages before a place.
    Before(Option<Position>, usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    pub only_pending: bool,
    pub world: Option<WorldId>,
    pub chat: Option<ChatId>,
    pub agent: Option<AgentId>,
}

/// An entry of the audit, at the position of the event it tells of.
#[derive(Clone, Debug, PartialEq)]
pub struct Audited {
    pub position: u64,
    pub entry: Entry,
}

/// Entries that fit all that is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub world: Option<WorldId>,
    pub chat: Option<ChatId>,
    pub agent: Option<AgentId>,
    pub tool: Option<String>,
    pub call: Option<CallId>,
    /// One of `What::KINDS`.
    pub kind: Option<String>,
    /// A person's name, or `nobody`; see `Actor::person`.
    pub actor: Option<String>,
    /// Not before this moment.
    pub since: Option<Timestamp>,
    /// Before this moment.
    pub until: Option<Timestamp>,
}

/// A window on the audit, always given oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditPage {
    /// The first entries after a position.
    After(u64, usize),
    /// The last entries before a position, or the last of all.
    Before(Option<u64>, usize),
}

/// A part of a long result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultPiece {
    pub text: String,
    /// How long the whole result is.
    pub characters: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageScope {
    World(WorldId),
    Chat(ChatId),
    Turn(ChatId, TurnId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageTotal {
    /// Absent for what no agent used: titles.
    pub agent: Option<AgentId>,
    pub model_calls: u64,
    pub usage: Usage,
}

/// What was written after a position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The position of the newest stored event.
    pub position: u64,
    /// Each chat written to, with its newest sequence number.
    pub chats: Vec<(ChatId, u64)>,
    /// Worlds whose settings or granted rules changed (an append with a granted rule counts).
    pub worlds: Vec<WorldId>,
}

/// A small document that belongs to no log: a token, a stored response, how far something was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Unique within its kind; documents are listed in its order.
    pub key: String,
    /// Counts its writes from 1.
    pub version: u64,
    /// When it was last written.
    pub at: Timestamp,
    pub body: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentWrite {
    pub kind: String,
    pub key: String,
    pub expected: Expected,
    pub body: String,
    pub at: Timestamp,
}

/// What must be stored for a write to take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Anything,
    Nothing,
    Version(u64),
}
