//! Decides how values become columns and columns values again.
//! Encoding runs on the caller's thread, so that the writer only binds text. Never touches a connection.

use agent_world_core::Timestamp;
use agent_world_core::chain::{Hash, Head, Sealed};
use agent_world_core::chat::Life;
use agent_world_core::event::Position;
use agent_world_core::ids::AgentId;
use agent_world_core::ids::{ApprovalId, CallId, ChatId, GrantId, MessageId, RuleId, WorldId};
use agent_world_core::view::{ApprovalState, Row, UsageView};
use rusqlite::Row as Columns;
use serde::de::DeserializeOwned;

use super::audit;
use crate::error::Error;
use crate::types::{AtHand, StoredEvent};

/// A change of a read model, ready to be bound.
#[derive(Debug)]
pub(super) enum Encoded {
    Message { position: Position, id: MessageId, document: String },
    MessagesCut(Position),
    Call { id: CallId, document: String },
    Approval { id: ApprovalId, agent: AgentId, pending: bool, document: String },
    Grant { id: GrantId, document: String },
    GrantRevoked(GrantId),
    Rule { id: RuleId, document: String },
    Usage(UsageView),
    Audit { seq: u64, entry: audit::Encoded },
    Glance { seq: u64, document: String },
}

pub(super) fn encode(row: &Row) -> Result<Encoded, Error> {
    Ok(match row {
        Row::Message(view) => Encoded::Message {
            position: view.position,
            id: view.id.clone(),
            document: serde_json::to_string(view)?,
        },
        Row::MessagesCut(position) => Encoded::MessagesCut(*position),
        Row::Call(view) => {
            Encoded::Call { id: view.id.clone(), document: serde_json::to_string(view)? }
        }
        Row::Approval(view) => Encoded::Approval {
            id: view.id.clone(),
            agent: view.agent.clone(),
            pending: view.state == ApprovalState::Pending,
            document: serde_json::to_string(view)?,
        },
        Row::Grant(grant) => {
            Encoded::Grant { id: grant.id.clone(), document: serde_json::to_string(grant)? }
        }
        Row::GrantRevoked(grant) => Encoded::GrantRevoked(grant.clone()),
        Row::Rule(rule) => {
            Encoded::Rule { id: rule.id.clone(), document: serde_json::to_string(rule)? }
        }
        Row::Usage(view) => Encoded::Usage(view.clone()),
        Row::Audit { seq, entry } => {
            Encoded::Audit { seq: *seq, entry: audit::Encoded::new(entry.clone())? }
        }
        Row::Glance { seq, glance } => {
            Encoded::Glance { seq: *seq, document: serde_json::to_string(glance)? }
        }
    })
}

pub(super) fn life(life: Life) -> &'static str {
    match life {
        Life::Unborn => "unborn",
        Life::Living => "living",
        Life::Deleted => "deleted",
    }
}

/// Nanoseconds since 1970. Moments three centuries from now are all the same one.
pub(super) fn moment(at: Timestamp) -> i64 {
    i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX)
}

/// Numbers that only count up from 0 fit SQLite's signed integers for longer than anything lasts.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A page's length as SQLite wants it.
pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) const EVENT_COLUMNS: &str =
    "position, world, chat, seq, at, kind, version, payload, hash, glance";

/// An event from the columns `EVENT_COLUMNS`.
pub(super) fn stored_event(columns: &Columns<'_>) -> Result<StoredEvent, Error> {
    let chat: Option<String> = columns.get(2)?;
    let at: i64 = columns.get(4)?;
    let sealed = Sealed {
        seq: columns.get(3)?,
        at: Timestamp::from_nanosecond(at.into())
            .map_err(|error| Error::Corrupt(format!("an event's time: {error}")))?,
        kind: columns.get(5)?,
        version: columns.get(6)?,
        payload: columns.get(7)?,
        hash: Hash(columns.get(8)?),
    };
    Ok(StoredEvent {
        position: columns.get(0)?,
        world: WorldId::from(columns.get::<_, String>(1)?),
        chat: chat.map(ChatId::from),
        sealed,
        glance: columns
            .get_ref(9)?
            .as_str_or_null()
            .map_err(rusqlite::Error::from)?
            .map(serde_json::from_str)
            .transpose()?,
        at_hand: AtHand::default(),
    })
}

/// A head from two neighbouring columns.
pub(super) fn head(columns: &Columns<'_>, first: usize) -> Result<Head, rusqlite::Error> {
    Ok(Head { seq: columns.get(first)?, hash: Hash(columns.get(first + 1)?) })
}

/// A JSON document from a column, without a copy of its text.
pub(super) fn document<T: DeserializeOwned>(
    columns: &Columns<'_>,
    column: usize,
) -> Result<T, Error> {
    let text = columns.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
    Ok(serde_json::from_str(text)?)
}
