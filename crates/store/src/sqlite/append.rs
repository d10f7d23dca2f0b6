//! Decides whether an append may be written, and writes it with all that follows from it.
//! Run by the writer inside its transaction. Checks everything before it writes anything, so that a refusal
//! needs no rollback.

use agent_world_core::chain::{Head, Sealed};
use agent_world_core::chat::Life;
use agent_world_core::event::Position;
use agent_world_core::ids::{AgentId, ChatId, TurnId, WorldId};
use agent_world_core::outstanding::Wake;
use agent_world_core::view::UsageView;
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::rows::{self, Encoded, integer, moment};
use super::writer::{Fault, Within, Write};
use crate::error::Error;
use crate::placing::{
    AT_ONCE, check_order, check_settings, next_head, position_of, wake_after, wake_at,
};
use crate::types::{Append, Appended, Idempotency, Snapshot};

/// An append with everything turned into text.
#[derive(Debug)]
pub(super) struct Prepared {
    append: Append,
    head: Head,
    rows: Vec<Encoded>,
    view: String,
}

/// What the file says of the world and the chat before the append.
struct Standing {
    /// The version of the world's settings.
    version: u64,
    chat: Option<Known>,
}

/// A chat's row before the append.
struct Known {
    ordinal: i64,
    head: Head,
    /// What its indexes hold.
    indexed: Indexed,
}

struct Indexed {
    living: bool,
    wake_at: Option<i64>,
    waiting: i64,
}

impl Prepared {
    pub(super) fn new(append: Append) -> Result<Self, Error> {
        check_order(&append)?;
        let rows = append.rows.iter().map(rows::encode).collect::<Result<_, _>>()?;
        let view = serde_json::to_string(&append.view)?;
        Ok(Self { head: next_head(&append), rows, view, append })
    }
}

impl Write for Prepared {
    type Output = Appended;

    fn write(&self, within: Within<'_>) -> Result<Appended, Fault> {
        let standing = self.check(within)?;
        let connection = within.connection;
        let Append { chat, world, .. } = &self.append;
        let mut positions = Vec::with_capacity(self.append.events.len());
        for event in &self.append.events {
            let glance = self.glance(event.seq);
            positions.push(insert_event(connection, world, Some(chat), event, glance)?);
        }
        self.write_chat(connection, &standing)?;
        for row in &self.rows {
            self.write_row(connection, row, &positions)?;
        }
        if let Some(snapshot) = &self.append.snapshot {
            write_snapshot(connection, chat, snapshot)?;
        }
        if self.append.life == Life::Deleted {
            hide(connection, chat)?;
        }
        if let Some(idempotency) = &self.append.idempotency {
            self.write_outcome(connection, idempotency)?;
        }
        let last = positions.last().copied();
        Ok(Appended { position: last.map_or_else(|| newest(connection), Ok)?, positions })
    }
}

impl Prepared {
    fn check(&self, within: Within<'_>) -> Result<Standing, Fault> {
        let Append { chat, world, expected, fence, idempotency, .. } = &self.append;
        if let Some(Idempotency { key, .. }) = idempotency
            && let Some(outcome) = outcome(within.connection, key)?
        {
            return Err(Error::Repeated { outcome }.into());
        }
        let standing = self.standing(within.connection)?;
        if fence.is_some_and(|fence| fence.0 != within.epoch) {
            return Err(Error::Fenced { chat: chat.clone() }.into());
        }
        let Some(standing) = standing else {
            return Err(Error::UnknownWorld(world.clone()).into());
        };
        let head = standing.chat.as_ref().map(|known| known.head).unwrap_or_default();
        if head != *expected {
            return Err(Error::Conflict { chat: chat.clone(), head: head.seq }.into());
        }
        check_settings(&self.append, standing.version)?;
        Ok(standing)
    }

    fn standing(&self, connection: &Connection) -> Result<Option<Standing>, Fault> {
        let Append { chat, world, .. } = &self.append;
        let mut statement = connection.prepare_cached(
            "SELECT worlds.version, chats.world = worlds.id, chats.head_seq, chats.head_hash,
                 chats.life = 'living', chats.wake_at, chats.waiting, chats.ordinal
             FROM worlds LEFT JOIN chats ON chats.id = ?2 WHERE worlds.id = ?1",
        )?;
        let found = statement.query_row([world.as_str(), chat.as_str()], |row| {
            let own: Option<bool> = row.get(1)?;
            let chat = own.map(|_| known(row)).transpose()?;
            Ok((own, Standing { version: row.get(0)?, chat }))
        });
        match found.optional()? {
            Some((Some(false), _)) => {
                let why = format!("it is not a chat of world {world}");
                Err(Error::Misplaced { chat: chat.clone(), why }.into())
            }
            found => Ok(found.map(|(_, standing)| standing)),
        }
    }

    fn write_chat(
        &self,
        connection: &Connection,
        standing: &Standing,
    ) -> Result<(), rusqlite::Error> {
        let append = &self.append;
        let indexed = Indexed {
            living: append.life == Life::Living,
            wake_at: wake_after(append),
            waiting: rows::limit(append.view.activity.waiting.len()),
        };
        let (seq, hash) = (integer(self.head.seq), self.head.hash.0);
        // An index is rewritten when one of its columns is named, whatever the value: most appends change when the chat
        // is due and nothing else that is indexed, or not even that.
        if let Some(known) = &standing.chat
            && (known.indexed.living, known.indexed.waiting) == (indexed.living, indexed.waiting)
        {
            let (ordinal, view) = (known.ordinal, &self.view);
            if known.indexed.wake_at == indexed.wake_at {
                let sql =
                    "UPDATE chats SET head_seq = ?2, head_hash = ?3, view = ?4 WHERE ordinal = ?1";
                connection.prepare_cached(sql)?.execute(params![ordinal, seq, hash, view])?;
            } else {
                let sql = "UPDATE chats SET head_seq = ?2, head_hash = ?3, view = ?4, wake_at = ?5
                           WHERE ordinal = ?1";
                let wake = indexed.wake_at;
                connection.prepare_cached(sql)?.execute(params![ordinal, seq, hash, view, wake])?;
            }
            return Ok(());
        }
        let sql = if standing.chat.is_some() {
            "UPDATE chats SET head_seq = :seq, head_hash = :hash, life = :life, wake_at = :wake,
                 waiting = :waiting, view = :view
             WHERE id = :chat AND world = :world"
        } else {
            "INSERT INTO chats (id, world, head_seq, head_hash, life, wake_at, waiting, view)
             VALUES (:chat, :world, :seq, :hash, :life, :wake, :waiting, :view)"
        };
        connection.prepare_cached(sql)?.execute(named_params! {
            ":chat": append.chat.as_str(),
            ":world": append.world.as_str(),
            ":seq": seq,
            ":hash": hash,
            ":life": rows::life(append.life),
            ":wake": indexed.wake_at,
            ":waiting": indexed.waiting,
            ":view": self.view,
        })?;
        Ok(())
    }

    fn write_row(
        &self,
        connection: &Connection,
        row: &Encoded,
        positions: &[u64],
    ) -> Result<(), rusqlite::Error> {
        let Append { chat, world, .. } = &self.append;
        match row {
            Encoded::Message { position, id, document } => connection
                .prepare_cached("INSERT INTO messages VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute(params![
                    chat.as_str(),
                    integer(position.seq),
                    position.index,
                    id.as_str(),
                    document
                ])?,
            Encoded::MessagesCut(position) => cut(connection, chat, *position)?,
            Encoded::Call { id, document } => connection
                .prepare_cached(
                    "INSERT INTO calls (chat, id, document) VALUES (?1, ?2, ?3)
                     ON CONFLICT (chat, id) DO UPDATE SET document = excluded.document",
                )?
                .execute([chat.as_str(), id.as_str(), document])?,
            // A request belongs to its chat for good: another chat's append cannot take it over.
            Encoded::Approval { id, agent, pending, document } => connection
                .prepare_cached(
                    "INSERT INTO approvals (id, world, chat, agent, pending, document)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                     ON CONFLICT (id) DO UPDATE
                     SET pending = excluded.pending, document = excluded.document
                     WHERE chat = excluded.chat",
                )?
                .execute(params![
                    id.as_str(),
                    world.as_str(),
                    chat.as_str(),
                    agent.as_str(),
                    pending,
                    document
                ])?,
            Encoded::Grant { id, document } => connection
                .prepare_cached("INSERT INTO grants (chat, id, document) VALUES (?1, ?2, ?3)")?
                .execute([chat.as_str(), id.as_str(), document])?,
            Encoded::GrantRevoked(id) => connection
                .prepare_cached("DELETE FROM grants WHERE chat = ?1 AND id = ?2")?
                .execute([chat.as_str(), id.as_str()])?,
            Encoded::Rule { id, document } => {
                add_rule(connection, world, chat, [id.as_str(), document])?
            }
            Encoded::Usage(usage) => add_usage(connection, world, chat, usage)?,
            Encoded::Audit { seq, entry } => match position_of(&self.append, positions, *seq) {
                Some(position) => entry.insert(connection, position)?,
                None => 0,
            },
            // Written with its event.
            Encoded::Glance { .. } => 0,
        };
        Ok(())
    }

    /// What goes on since an event, if the event changed it.
    fn glance(&self, of: u64) -> Option<&str> {
        self.rows.iter().find_map(|row| match row {
            Encoded::Glance { seq, document } if *seq == of => Some(document.as_str()),
            _ => None,
        })
    }

    fn write_outcome(
        &self,
        connection: &Connection,
        idempotency: &Idempotency,
    ) -> Result<(), rusqlite::Error> {
        connection.prepare_cached("INSERT INTO idempotency VALUES (?1, ?2, ?3)")?.execute(
            params![idempotency.key, idempotency.outcome, moment(self.append.view.updated_at)],
        )?;
        Ok(())
    }
}

fn known(row: &rusqlite::Row<'_>) -> Result<Known, rusqlite::Error> {
    let indexed = Indexed { living: row.get(4)?, wake_at: row.get(5)?, waiting: row.get(6)? };
    Ok(Known { ordinal: row.get(7)?, head: rows::head(row, 2)?, indexed })
}

/// A new wake time for a chat that nothing was appended to.
#[derive(Debug)]
pub(super) struct SetWake {
    pub chat: ChatId,
    pub head: u64,
    pub world_version: u64,
    pub wake: Wake,
}

impl Write for SetWake {
    type Output = ();

    fn write(&self, within: Within<'_>) -> Result<(), Fault> {
        let head: Option<u64> = within
            .connection
            .prepare_cached("SELECT head_seq FROM chats WHERE id = ?1")?
            .query_row([self.chat.as_str()], |row| row.get(0))
            .optional()?;
        let head = head.unwrap_or(0);
        if head != self.head {
            return Err(Error::Conflict { chat: self.chat.clone(), head }.into());
        }
        let mut statement = within.connection.prepare_cached(
            "UPDATE chats SET wake_at = CASE
                 WHEN waiting > 0 AND (SELECT ruled FROM worlds WHERE id = chats.world) > ?2 THEN ?3
                 ELSE ?4
             END
             WHERE id = ?1 AND life = 'living'",
        )?;
        let version = integer(self.world_version);
        statement.execute(params![self.chat.as_str(), version, AT_ONCE, wake_at(self.wake)])?;
        Ok(())
    }
}

/// Puts an event at the end of everything. Returns its position.
pub(super) fn insert_event(
    connection: &Connection,
    world: &WorldId,
    chat: Option<&ChatId>,
    event: &Sealed,
    glance: Option<&str>,
) -> Result<u64, rusqlite::Error> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO events (world, chat, seq, at, kind, version, payload, hash, glance)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let position = statement.insert(params![
        world.as_str(),
        chat.map(ChatId::as_str),
        integer(event.seq),
        moment(event.at),
        event.kind,
        event.version,
        event.payload,
        event.hash.0,
        glance,
    ])?;
    Ok(position.unsigned_abs())
}

pub(super) fn newest(connection: &Connection) -> Result<u64, rusqlite::Error> {
    connection
        .prepare_cached("SELECT coalesce(max(position), 0) FROM events")?
        .query_row([], |row| row.get(0))
}

pub(super) fn outcome(
    connection: &Connection,
    key: &str,
) -> Result<Option<String>, rusqlite::Error> {
    connection
        .prepare_cached("SELECT outcome FROM idempotency WHERE key = ?1")?
        .query_row([key], |row| row.get(0))
        .optional()
}

fn cut(connection: &Connection, chat: &ChatId, from: Position) -> Result<usize, rusqlite::Error> {
    connection
        .prepare_cached("DELETE FROM messages WHERE chat = ?1 AND (seq, idx) >= (?2, ?3)")?
        .execute(params![chat.as_str(), integer(from.seq), from.index])
}

/// A rule granted in one chat may settle what others of its world wait for: they are due for a review.
fn add_rule(
    connection: &Connection,
    world: &WorldId,
    chat: &ChatId,
    [id, document]: [&str; 2],
) -> Result<usize, rusqlite::Error> {
    connection
        .prepare_cached(
            "INSERT INTO rules (world, id, position, document) VALUES (?1, ?2, ?3, ?4)",
        )?
        .execute(params![world.as_str(), id, newest(connection)?, document])?;
    connection
        .prepare_cached(
            "UPDATE worlds SET version = version + 1, ruled = version + 1 WHERE id = ?1",
        )?
        .execute([world.as_str()])?;
    connection
        .prepare_cached(
            "UPDATE chats SET wake_at = 0
             WHERE world = ?1 AND id <> ?2 AND waiting > 0 AND life = 'living'",
        )?
        .execute([world.as_str(), chat.as_str()])
}

fn add_usage(
    connection: &Connection,
    world: &WorldId,
    chat: &ChatId,
    view: &UsageView,
) -> Result<usize, rusqlite::Error> {
    let usage = view.usage;
    connection
        .prepare_cached(
            "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?10)
             ON CONFLICT DO UPDATE SET
                 model_calls = model_calls + 1,
                 input_tokens = input_tokens + excluded.input_tokens,
                 output_tokens = output_tokens + excluded.output_tokens,
                 total_tokens = total_tokens + excluded.total_tokens,
                 cached_input_tokens = cached_input_tokens + excluded.cached_input_tokens,
                 reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens",
        )?
        .execute(params![
            chat.as_str(),
            view.turn.as_ref().map(TurnId::as_str),
            view.agent.as_ref().map(AgentId::as_str),
            view.model,
            world.as_str(),
            integer(usage.input_tokens),
            integer(usage.output_tokens),
            integer(usage.total_tokens),
            integer(usage.cached_input_tokens),
            integer(usage.reasoning_tokens),
        ])
}

fn write_snapshot(
    connection: &Connection,
    chat: &ChatId,
    snapshot: &Snapshot,
) -> Result<(), rusqlite::Error> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO snapshots VALUES (?1, ?2, ?3)")?
        .execute(params![chat.as_str(), integer(snapshot.seq), snapshot.state])?;
    Ok(())
}

/// What a deleted chat said cannot be looked up any more; its log, calls and requests stay for an audit.
fn hide(connection: &Connection, chat: &ChatId) -> Result<(), rusqlite::Error> {
    for sql in ["DELETE FROM messages WHERE chat = ?1", "DELETE FROM grants WHERE chat = ?1"] {
        connection.prepare_cached(sql)?.execute([chat.as_str()])?;
    }
    Ok(())
}
