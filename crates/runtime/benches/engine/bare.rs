//! The floor: the rows of captured appends, turned into text beforehand, written by plain rusqlite with the same
//! durability. No engine, no checks, no threads.

use std::collections::HashMap;
use std::path::Path;

use agent_world_core::audit::{Entry, What};
use agent_world_core::ids::{AgentId, ChatId, TurnId};
use agent_world_core::outstanding::Wake;
use agent_world_core::view::{ApprovalState, Row, UsageView};
use agent_world_store::sqlite::Role;
use agent_world_store::{Append, Sqlite};
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use serde_json::json;

use crate::cast;
use crate::runtime;

/// What an append writes, as text.
pub struct Bare {
    append: Append,
    view: String,
    rows: Vec<BareRow>,
    place: Place,
}

enum BareRow {
    Message { seq: i64, index: u32, id: String, document: String },
    Call { id: String, document: String },
    Approval { id: String, agent: String, pending: bool, document: String },
    Usage(UsageView),
    Glance { seq: u64, document: String },
    Audit { seq: u64, entry: Box<Entry>, document: String },
}

/// What becomes of the chat's own row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    New,
    /// What is indexed stays as it is.
    Kept,
    Moved,
}

/// Prepares appends in their order; what a chat's row held before decides how it is written.
pub fn prepare(appends: Vec<Append>) -> Vec<Bare> {
    let mut indexed: HashMap<ChatId, (Option<i64>, usize)> = HashMap::new();
    let mut prepared = Vec::with_capacity(appends.len());
    for append in appends {
        let now = (wake_at(&append), append.view.activity.waiting.len());
        let place = match indexed.insert(append.chat.clone(), now) {
            _ if append.expected.seq == 0 => Place::New,
            Some(before) if before == now => Place::Kept,
            _ => Place::Moved,
        };
        prepared.push(Bare {
            view: serde_json::to_string(&append.view).unwrap(),
            rows: append.rows.iter().map(encode).collect(),
            place,
            append,
        });
    }
    prepared
}

fn wake_at(append: &Append) -> Option<i64> {
    match append.wake {
        Wake::Never => None,
        Wake::Now => Some(0),
        Wake::At(at) => Some(at.as_millisecond()),
    }
}

fn encode(row: &Row) -> BareRow {
    match row {
        Row::Message(view) => BareRow::Message {
            seq: number(view.position.seq),
            index: view.position.index,
            id: view.id.to_string(),
            document: serde_json::to_string(view).unwrap(),
        },
        Row::Call(view) => BareRow::Call {
            id: view.id.to_string(),
            document: serde_json::to_string(view).unwrap(),
        },
        Row::Approval(view) => BareRow::Approval {
            id: view.id.to_string(),
            agent: view.agent.to_string(),
            pending: view.state == ApprovalState::Pending,
            document: serde_json::to_string(view).unwrap(),
        },
        Row::Usage(view) => BareRow::Usage(view.clone()),
        Row::Audit { seq, entry } => BareRow::Audit {
            seq: *seq,
            document: json!({"actor": entry.actor, "what": entry.what}).to_string(),
            entry: entry.clone(),
        },
        Row::Glance { seq, glance } => {
            BareRow::Glance { seq: *seq, document: serde_json::to_string(glance).unwrap() }
        }
        other => panic!("no turn of this benchmark writes {other:?}"),
    }
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap()
}

/// Groups as many concurrent writers would make: the first append of every chat, then the second, and so on.
pub fn rounds(appends: Vec<Bare>) -> Vec<Vec<Bare>> {
    let mut written: HashMap<ChatId, usize> = HashMap::new();
    let mut rounds: Vec<Vec<Bare>> = Vec::new();
    for bare in appends {
        let round = written.entry(bare.append.chat.clone()).or_default();
        if rounds.len() == *round {
            rounds.push(Vec::new());
        }
        rounds[*round].push(bare);
        *round += 1;
    }
    rounds
}

/// An empty store with the benchmark's world, and a plain connection to it.
pub fn open(path: &Path) -> Connection {
    runtime().block_on(async {
        let store = Sqlite::open(path, Role::Worker).unwrap();
        let engine = cast::engine(std::sync::Arc::new(store));
        engine.create_world(cast::world(), "eve").await.unwrap();
        engine.shutdown().await;
    });
    let connection = Connection::open(path).unwrap();
    for (name, value) in
        [("journal_mode", "WAL"), ("synchronous", "FULL"), ("wal_autocheckpoint", "4000")]
    {
        connection.pragma_update(None, name, value).unwrap();
    }
    connection.set_prepared_statement_cache_capacity(64);
    connection
}

/// Writes a group in one transaction, durable when it returns.
pub fn write(connection: &mut Connection, group: &[Bare]) {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    for bare in group {
        bare.write(&transaction).unwrap();
    }
    transaction.commit().unwrap();
}

impl Bare {
    fn write(&self, transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
        let Append { world, chat, events, snapshot, .. } = &self.append;
        for event in events {
            transaction
                .prepare_cached(
                    "INSERT INTO events (world, chat, seq, at, kind, version, payload, hash)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute(params![
                    world.as_str(),
                    chat.as_str(),
                    number(event.seq),
                    i64::try_from(event.at.as_nanosecond()).unwrap(),
                    event.kind,
                    event.version,
                    event.payload,
                    event.hash.0
                ])?;
        }
        let last = transaction.last_insert_rowid();
        self.write_chat(transaction)?;
        for row in &self.rows {
            self.write_row(transaction, row, last)?;
        }
        if let Some(snapshot) = snapshot {
            transaction
                .prepare_cached(
                    "INSERT OR REPLACE INTO snapshots (chat, seq, state) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![chat.as_str(), number(snapshot.seq), snapshot.state])?;
        }
        Ok(())
    }

    fn write_chat(&self, transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
        let Append { world, chat, events, view, .. } = &self.append;
        let head = events.last().unwrap().head();
        let (seq, hash) = (number(head.seq), head.hash.0);
        let waiting = i64::try_from(view.activity.waiting.len()).unwrap();
        let wake = wake_at(&self.append);
        match self.place {
            Place::New => transaction
                .prepare_cached(
                    "INSERT INTO chats (id, world, head_seq, head_hash, life, wake_at, waiting, view)
                     VALUES (?1, ?2, ?3, ?4, 'living', ?5, ?6, ?7)",
                )?
                .execute(params![chat.as_str(), world.as_str(), seq, hash, wake, waiting, self.view])?,
            Place::Kept => transaction
                .prepare_cached("UPDATE chats SET head_seq = ?2, head_hash = ?3, view = ?4 WHERE id = ?1")?
                .execute(params![chat.as_str(), seq, hash, self.view])?,
            Place::Moved => transaction
                .prepare_cached(
                    "UPDATE chats SET head_seq = ?2, head_hash = ?3, view = ?4, wake_at = ?5, waiting = ?6
                     WHERE id = ?1",
                )?
                .execute(params![chat.as_str(), seq, hash, self.view, wake, waiting])?,
        };
        Ok(())
    }

    fn write_row(
        &self,
        transaction: &Transaction<'_>,
        row: &BareRow,
        last: i64,
    ) -> Result<(), rusqlite::Error> {
        let Append { world, chat, events, .. } = &self.append;
        match row {
            BareRow::Message { seq, index, id, document } => transaction
                .prepare_cached(
                    "INSERT INTO messages (chat, seq, idx, id, document) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![chat.as_str(), seq, index, id, document])?,
            BareRow::Call { id, document } => transaction
                .prepare_cached(
                    "INSERT INTO calls (chat, id, document) VALUES (?1, ?2, ?3)
                     ON CONFLICT (chat, id) DO UPDATE SET document = excluded.document",
                )?
                .execute(params![chat.as_str(), id, document])?,
            BareRow::Approval { id, agent, pending, document } => transaction
                .prepare_cached(
                    "INSERT INTO approvals (id, world, chat, agent, pending, document)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO UPDATE
                     SET pending = excluded.pending, document = excluded.document",
                )?
                .execute(params![id, world.as_str(), chat.as_str(), agent, pending, document])?,
            BareRow::Usage(view) => transaction
                .prepare_cached(
                    "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, 1, 0, 0, 0, 0, 0)
                     ON CONFLICT DO UPDATE SET model_calls = model_calls + 1",
                )?
                .execute(params![
                    chat.as_str(),
                    view.turn.as_ref().map(TurnId::as_str),
                    view.agent.as_ref().map(AgentId::as_str),
                    view.model,
                    world.as_str()
                ])?,
            BareRow::Audit { seq, entry, document } => {
                // The events of an append stand one behind another.
                let behind = number(events.last().unwrap().seq - seq);
                write_entry(transaction, last - behind, entry, document)?
            }
            BareRow::Glance { seq, document } => transaction
                .prepare_cached("UPDATE events SET glance = ?2 WHERE position = ?1")?
                .execute(params![last - number(events.last().unwrap().seq - seq), document])?,
        };
        Ok(())
    }
}

fn write_entry(
    transaction: &Transaction<'_>,
    position: i64,
    entry: &Entry,
    document: &str,
) -> Result<usize, rusqlite::Error> {
    let duration = match &entry.what {
        What::Finished { duration_ms, .. } => duration_ms.map(number),
        _ => None,
    };
    transaction
        .prepare_cached(
            "INSERT INTO audit (position, at, kind, world, chat, agent, tool, call, approval, actor,
                 rule, result, duration, document)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            position,
            i64::try_from(entry.at.as_nanosecond()).unwrap(),
            entry.what.kind(),
            entry.world.as_str(),
            entry.chat.as_ref().map(ChatId::as_str),
            entry.agent.as_ref().map(AgentId::as_str),
            entry.tool,
            entry.call.as_ref().map(|id| id.as_str()),
            entry.approval.as_ref().map(|id| id.as_str()),
            entry.actor.person(),
            entry.rule,
            entry.what.result(),
            duration,
            document,
        ])
}
