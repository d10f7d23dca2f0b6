//! Decides how what is stored is looked up: logs, work that is due, and read models.
//! Run by the readers; each function reads one moment of the file. Never writes and never folds a log.

use agent_world_core::Timestamp;
use agent_world_core::ids::{AgentId, ApprovalId, CallId, ChatId, MessageId, WorldId};
use agent_world_core::item::Usage;
use agent_world_core::policy::Grant;
use agent_world_core::view::{ApprovalView, CallView, ChatView, MessageView};
use rusqlite::types::ToSql;
use rusqlite::{Connection, OptionalExtension, Params, named_params, params};
use serde::de::DeserializeOwned;

use super::append::newest;
use super::rows::{self, EVENT_COLUMNS, integer, limit as rows_limit};
use crate::error::Error;
use crate::types::{
    ApprovalFilter, Changes, Loaded, MessagePage, Scope, Snapshot, StoredEvent, UsageScope,
    UsageTotal,
};

pub(super) fn load(connection: &Connection, chat: &ChatId) -> Result<Option<Loaded>, Error> {
    let head = connection
        .prepare_cached("SELECT head_seq, head_hash FROM chats WHERE id = ?1")?
        .query_row([chat.as_str()], |row| rows::head(row, 0))
        .optional()?;
    let Some(head) = head else { return Ok(None) };
    let snapshot = connection
        .prepare_cached("SELECT seq, state FROM snapshots WHERE chat = ?1")?
        .query_row([chat.as_str()], |row| Ok(Snapshot { seq: row.get(0)?, state: row.get(1)? }))
        .optional()?;
    let after = snapshot.as_ref().map_or(0, |snapshot| snapshot.seq);
    let events = of_chat(connection, chat, after, usize::MAX)?;
    let events = events.into_iter().map(|event| event.sealed).collect();
    Ok(Some(Loaded { snapshot, events, head }))
}

pub(super) fn events(
    connection: &Connection,
    scope: &Scope,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, Error> {
    match scope {
        Scope::All => stored(
            connection,
            "position > ?1 ORDER BY position LIMIT ?2",
            params![integer(after), rows_limit(limit)],
        ),
        Scope::World(world) => stored(
            connection,
            "world = ?1 AND position > ?2 ORDER BY position LIMIT ?3",
            params![world.as_str(), integer(after), rows_limit(limit)],
        ),
        Scope::Chat(chat) => {
            let seq = seq_at(connection, chat, after)?;
            of_chat(connection, chat, seq, limit)
        }
    }
}

pub(super) fn last_events(
    connection: &Connection,
    scope: &Scope,
    until: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, Error> {
    let limit = rows_limit(limit);
    let mut last = match scope {
        Scope::All => stored(
            connection,
            "position <= ?1 ORDER BY position DESC LIMIT ?2",
            params![integer(until), limit],
        ),
        Scope::World(world) => stored(
            connection,
            "world = ?1 AND position <= ?2 ORDER BY position DESC LIMIT ?3",
            params![world.as_str(), integer(until), limit],
        ),
        Scope::Chat(chat) => stored(
            connection,
            "chat = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT ?3",
            params![chat.as_str(), integer(seq_at(connection, chat, until)?), limit],
        ),
    }?;
    last.reverse();
    Ok(last)
}

pub(super) fn of_chat(
    connection: &Connection,
    chat: &ChatId,
    after: u64,
    limit: usize,
) -> Result<Vec<StoredEvent>, Error> {
    stored(
        connection,
        "chat = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
        params![chat.as_str(), integer(after), rows_limit(limit)],
    )
}

fn stored(
    connection: &Connection,
    condition: &str,
    parameters: impl Params,
) -> Result<Vec<StoredEvent>, Error> {
    let sql = format!("SELECT {EVENT_COLUMNS} FROM events WHERE {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(parameters)?;
    let mut events = Vec::new();
    while let Some(columns) = found.next()? {
        events.push(rows::stored_event(columns)?);
    }
    Ok(events)
}

/// The number in its chat of the last event up to a position. Numbers and positions grow together, so it is found
/// by halving instead of by one more index that every append would have to maintain.
fn seq_at(connection: &Connection, chat: &ChatId, position: u64) -> Result<u64, Error> {
    if position == 0 {
        return Ok(0);
    }
    let mut last =
        connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM events WHERE chat = ?1")?;
    let mut from = connection.prepare_cached(
        "SELECT seq, position FROM events WHERE chat = ?1 AND seq >= ?2 ORDER BY seq LIMIT 1",
    )?;
    let (mut low, mut high) = (0, last.query_row([chat.as_str()], |row| row.get::<_, u64>(0))?);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let (seq, found): (u64, u64) = from
            .query_row(params![chat.as_str(), integer(middle)], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        if found <= position {
            low = seq;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

pub(super) fn changes(connection: &Connection, after: u64) -> Result<Changes, Error> {
    let after = integer(after);
    let mut chats = connection.prepare_cached(
        "SELECT chat, max(seq) FROM events WHERE position > ?1 AND chat IS NOT NULL
         GROUP BY chat ORDER BY chat",
    )?;
    let chats = chats
        .query_map([after], |row| Ok((ChatId::from(row.get::<_, String>(0)?), row.get(1)?)))?;
    let mut worlds = connection.prepare_cached(
        "SELECT world FROM events WHERE position > ?1 AND chat IS NULL
         UNION SELECT world FROM rules WHERE position > ?1 ORDER BY world",
    )?;
    let worlds = worlds.query_map([after], |row| row.get::<_, String>(0))?;
    Ok(Changes {
        position: newest(connection)?,
        chats: chats.collect::<Result<_, _>>()?,
        worlds: worlds.map(|world| world.map(WorldId::from)).collect::<Result<_, _>>()?,
    })
}

pub(super) fn due(
    connection: &Connection,
    now: Timestamp,
    after: Option<&ChatId>,
    limit: usize,
) -> Result<Vec<ChatId>, Error> {
    let now = now.as_millisecond();
    let mut place = connection.prepare_cached("SELECT wake_at FROM chats WHERE id = ?1")?;
    let wake_at: Option<i64> = match after {
        Some(chat) => place.query_row([chat.as_str()], |row| row.get(0)).optional()?.flatten(),
        None => None,
    };
    let (wake_at, chat) = match (wake_at, after) {
        (Some(wake_at), Some(chat)) if wake_at <= now => (wake_at, chat.as_str()),
        _ => (i64::MIN, ""),
    };
    let mut statement = connection.prepare_cached(
        "SELECT id FROM chats WHERE wake_at <= ?1 AND (wake_at, id) > (?2, ?3)
         ORDER BY wake_at, id LIMIT ?4",
    )?;
    let ids = statement
        .query_map(params![now, wake_at, chat, rows_limit(limit)], |row| row.get::<_, String>(0))?;
    Ok(ids.map(|id| id.map(ChatId::from)).collect::<Result<_, _>>()?)
}

pub(super) fn chat(connection: &Connection, id: &ChatId) -> Result<Option<ChatView>, Error> {
    let sql = "SELECT view FROM chats WHERE id = ?1 AND life = 'living'";
    one(connection, sql, [id.as_str()])
}

pub(super) fn chats(
    connection: &Connection,
    world: &WorldId,
    after: Option<&ChatId>,
    limit: usize,
) -> Result<Vec<ChatView>, Error> {
    let sql = "SELECT view FROM chats
        WHERE world = ?1 AND life = 'living'
            AND ordinal > coalesce((SELECT ordinal FROM chats WHERE id = ?2), 0)
        ORDER BY ordinal LIMIT ?3";
    all(connection, sql, params![world.as_str(), after.map(ChatId::as_str), rows_limit(limit)])
}

pub(super) fn messages(
    connection: &Connection,
    chat: &ChatId,
    page: MessagePage,
) -> Result<Vec<MessageView>, Error> {
    match page {
        MessagePage::After(place, limit) => {
            let (seq, index) = place.map_or((-1, 0), |place| (integer(place.seq), place.index));
            let sql = "SELECT document FROM messages WHERE chat = ?1 AND (seq, idx) > (?2, ?3)
                ORDER BY seq, idx LIMIT ?4";
            all(connection, sql, params![chat.as_str(), seq, index, rows_limit(limit)])
        }
        MessagePage::Before(place, limit) => {
            let (seq, index) =
                place.map_or((i64::MAX, 0), |place| (integer(place.seq), place.index));
            let sql = "SELECT document FROM messages WHERE chat = ?1 AND (seq, idx) < (?2, ?3)
                ORDER BY seq DESC, idx DESC LIMIT ?4";
            let parameters = params![chat.as_str(), seq, index, rows_limit(limit)];
            let mut found: Vec<MessageView> = all(connection, sql, parameters)?;
            found.reverse();
            Ok(found)
        }
    }
}

pub(super) fn message(
    connection: &Connection,
    chat: &ChatId,
    id: &MessageId,
) -> Result<Option<MessageView>, Error> {
    let sql = "SELECT document FROM messages WHERE id = ?2 AND chat = ?1";
    one(connection, sql, [chat.as_str(), id.as_str()])
}

pub(super) fn calls(
    connection: &Connection,
    chat: &ChatId,
    after: Option<&CallId>,
    limit: usize,
) -> Result<Vec<CallView>, Error> {
    let sql = "SELECT document FROM calls
        WHERE chat = ?1
            AND ordinal > coalesce((SELECT ordinal FROM calls WHERE chat = ?1 AND id = ?2), 0)
        ORDER BY ordinal LIMIT ?3";
    all(connection, sql, params![chat.as_str(), after.map(CallId::as_str), rows_limit(limit)])
}

pub(super) fn call(
    connection: &Connection,
    chat: &ChatId,
    id: &CallId,
) -> Result<Option<CallView>, Error> {
    let sql = "SELECT document FROM calls WHERE chat = ?1 AND id = ?2";
    one(connection, sql, [chat.as_str(), id.as_str()])
}

pub(super) fn approvals(
    connection: &Connection,
    filter: &ApprovalFilter,
    after: Option<&ApprovalId>,
    limit: usize,
) -> Result<Vec<ApprovalView>, Error> {
    let after = after.map(ApprovalId::as_str);
    let limit = rows_limit(limit);
    let mut sql = "SELECT document FROM approvals
        WHERE ordinal > coalesce((SELECT ordinal FROM approvals WHERE id = :after), 0)"
        .to_owned();
    let mut parameters: Vec<(&str, &dyn ToSql)> = vec![(":after", &after), (":limit", &limit)];
    let world = filter.world.as_ref().map(WorldId::as_str);
    let chat = filter.chat.as_ref().map(ChatId::as_str);
    let agent = filter.agent.as_ref().map(AgentId::as_str);
    let conditions = [
        (&world, " AND world = :world", ":world"),
        (&chat, " AND chat = :chat", ":chat"),
        (&agent, " AND agent = :agent", ":agent"),
    ];
    for (value, condition, name) in conditions {
        if value.is_some() {
            sql.push_str(condition);
            parameters.push((name, value));
        }
    }
    if filter.only_pending {
        sql.push_str(" AND pending = 1");
    }
    sql.push_str(" ORDER BY ordinal LIMIT :limit");
    all(connection, &sql, parameters.as_slice())
}

pub(super) fn approval(
    connection: &Connection,
    id: &ApprovalId,
) -> Result<Option<ApprovalView>, Error> {
    one(connection, "SELECT document FROM approvals WHERE id = ?1", [id.as_str()])
}

pub(super) fn grants(connection: &Connection, chat: &ChatId) -> Result<Vec<Grant>, Error> {
    let sql = "SELECT document FROM grants WHERE chat = ?1 ORDER BY ordinal";
    all(connection, sql, [chat.as_str()])
}

pub(super) fn usage(connection: &Connection, scope: &UsageScope) -> Result<Vec<UsageTotal>, Error> {
    let (condition, place, turn) = match scope {
        UsageScope::World(world) => ("world = :place AND :turn IS NULL", world.as_str(), None),
        UsageScope::Chat(chat) => ("chat = :place AND :turn IS NULL", chat.as_str(), None),
        UsageScope::Turn(chat, turn) => {
            ("chat = :place AND turn = :turn", chat.as_str(), Some(turn.as_str()))
        }
    };
    let sql = format!(
        "SELECT agent, sum(model_calls), sum(input_tokens), sum(output_tokens), sum(total_tokens),
             sum(cached_input_tokens), sum(reasoning_tokens)
         FROM usage WHERE {condition} GROUP BY agent ORDER BY agent"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let totals = statement.query_map(named_params! { ":place": place, ":turn": turn }, |row| {
        Ok(UsageTotal {
            agent: row.get::<_, Option<String>>(0)?.map(AgentId::from),
            model_calls: row.get(1)?,
            usage: Usage {
                input_tokens: row.get(2)?,
                output_tokens: row.get(3)?,
                total_tokens: row.get(4)?,
                cached_input_tokens: row.get(5)?,
                reasoning_tokens: row.get(6)?,
            },
        })
    })?;
    Ok(totals.collect::<Result<_, rusqlite::Error>>()?)
}

fn one<T: DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
) -> Result<Option<T>, Error> {
    Ok(all(connection, sql, parameters)?.pop())
}

fn all<T: DeserializeOwned>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
) -> Result<Vec<T>, Error> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut found = statement.query(parameters)?;
    let mut documents = Vec::new();
    while let Some(columns) = found.next()? {
        documents.push(rows::document(columns, 0)?);
    }
    Ok(documents)
}
