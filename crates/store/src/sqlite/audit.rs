//! Decides how the audit is written and looked up, and how it is made for a log that is older than it.
//! Written inside the transaction of the event an entry tells of; read by the readers. Never changes or removes an
//! entry: the file itself refuses that (see `schema`).

use agent_world_core::Timestamp;
use agent_world_core::apply::apply;
use agent_world_core::audit::{self, Actor, Entry, Statistics, What};
use agent_world_core::chat::Chat;
use agent_world_core::ids::{AgentId, ApprovalId, CallId, ChatId, WorldId};
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row as Columns, params, params_from_iter};
use serde::{Deserialize, Serialize};
use tracing::warn;

use super::queries;
use super::rows::{self, integer, limit as rows_limit, moment};
use crate::error::Error;
use crate::placing::{WORLD_CHANGED, entry_of_change};
use crate::types::{AuditFilter, AuditPage, Audited, Scope, WorldChange};

/// Events read at once while an older log is gone through.
const PAGE: usize = 500;

/// What is kept of an entry as JSON. All else has a column of its own, by which it is found.
#[derive(Serialize, Deserialize)]
struct Document<A, W> {
    actor: A,
    what: W,
}

/// An entry, ready to be bound.
#[derive(Debug)]
pub(super) struct Encoded {
    entry: Box<Entry>,
    document: String,
}

impl Encoded {
    pub(super) fn new(entry: Box<Entry>) -> Result<Self, Error> {
        let document = Document { actor: &entry.actor, what: &entry.what };
        Ok(Self { document: serde_json::to_string(&document)?, entry })
    }

    pub(super) fn insert(
        &self,
        connection: &Connection,
        position: u64,
    ) -> Result<usize, rusqlite::Error> {
        let Entry { at, world, chat, agent, tool, call, approval, actor, rule, what } =
            &*self.entry;
        let duration = match what {
            What::Finished { duration_ms, .. } => duration_ms.map(integer),
            _ => None,
        };
        connection
            .prepare_cached(
                "INSERT INTO audit (position, at, kind, world, chat, agent, tool, call, approval,
                     actor, rule, result, duration, document)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
            )?
            .execute(params![
                integer(position),
                moment(*at),
                what.kind(),
                world.as_str(),
                chat.as_ref().map(ChatId::as_str),
                agent.as_ref().map(AgentId::as_str),
                tool,
                call.as_ref().map(CallId::as_str),
                approval.as_ref().map(ApprovalId::as_str),
                actor.person(),
                rule,
                what.result(),
                duration,
                self.document,
            ])
    }
}

const COLUMNS: &str = "position, at, world, chat, agent, tool, call, approval, rule, document";

fn audited(columns: &Columns<'_>) -> Result<Audited, Error> {
    let Document { actor, what }: Document<Actor, What> = rows::document(columns, 9)?;
    let text = |column: usize| columns.get::<_, Option<String>>(column);
    let entry = Entry {
        at: time(columns.get(1)?)?,
        world: WorldId::from(columns.get::<_, String>(2)?),
        chat: text(3)?.map(ChatId::from),
        agent: text(4)?.map(AgentId::from),
        tool: text(5)?,
        call: text(6)?.map(CallId::from),
        approval: text(7)?.map(ApprovalId::from),
        actor,
        rule: text(8)?,
        what,
    };
    Ok(Audited { position: columns.get(0)?, entry })
}

fn time(nanoseconds: i64) -> Result<Timestamp, Error> {
    Timestamp::from_nanosecond(nanoseconds.into())
        .map_err(|error| Error::Corrupt(format!("an entry's time: {error}")))
}

pub(super) fn page(
    connection: &Connection,
    filter: &AuditFilter,
    page: AuditPage,
) -> Result<Vec<Audited>, Error> {
    let Some(mut wanted) = Wanted::of(connection, filter, page)? else {
        return Ok(Vec::new());
    };
    let (order, limit) = match page {
        AuditPage::After(position, limit) => {
            wanted.add("position > ?", integer(position).into());
            ("position", limit)
        }
        AuditPage::Before(position, limit) => {
            if let Some(position) = position {
                wanted.add("position < ?", integer(position).into());
            }
            ("position DESC", limit)
        }
    };
    wanted.values.push(rows_limit(limit).into());
    let conditions = match wanted.conditions.join(" AND ") {
        none if none.is_empty() => "true".to_owned(),
        some => some,
    };
    let sql = format!("SELECT {COLUMNS} FROM audit WHERE {conditions} ORDER BY {order} LIMIT ?");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(wanted.values))?;
    let mut entries = Vec::new();
    while let Some(columns) = found.next()? {
        entries.push(audited(columns)?);
    }
    if matches!(page, AuditPage::Before(..)) {
        entries.reverse();
    }
    Ok(entries)
}

/// Conditions and what they are compared with.
#[derive(Default)]
struct Wanted {
    conditions: Vec<String>,
    values: Vec<Value>,
}

impl Wanted {
    /// None: nothing can fit. The narrowest condition is left to its index, which holds positions in order; a `+` keeps
    /// the others from being chosen in its place, so that a page never costs more than what it leaves out.
    fn of(
        connection: &Connection,
        filter: &AuditFilter,
        page: AuditPage,
    ) -> Result<Option<Self>, Error> {
        let AuditFilter { world, chat, agent, tool, call, kind, actor, since, until } = filter;
        let mut wanted = Self::default();
        let narrowest_first = [
            ("call", call.as_ref().map(CallId::as_str)),
            ("chat", chat.as_ref().map(ChatId::as_str)),
            ("actor", actor.as_deref()),
            ("tool", tool.as_deref()),
            ("agent", agent.as_ref().map(AgentId::as_str)),
            ("world", world.as_ref().map(WorldId::as_str)),
        ];
        let given = narrowest_first.iter().filter_map(|(column, value)| Some((column, (*value)?)));
        for (number, (column, value)) in given.enumerate() {
            let kept_off = if number == 0 { "" } else { "+" };
            wanted.add(&format!("{kept_off}{column} = ?"), value.to_owned().into());
        }
        if let Some(kind) = kind {
            wanted.add("+kind = ?", kind.clone().into());
        }
        if let Some(until) = until {
            wanted.add("+at < ?", moment(*until).into());
        }
        if let Some(since) = since {
            wanted.add("+at >= ?", moment(*since).into());
            // Pages after the first begin behind it anyway.
            if !matches!(page, AuditPage::After(1.., _)) {
                let Some(first) = first_since(connection, *since)? else {
                    return Ok(None);
                };
                wanted.add("position >= ?", first.into());
            }
        }
        Ok(Some(wanted))
    }

    fn add(&mut self, condition: &str, value: Value) {
        self.conditions.push(condition.to_owned());
        self.values.push(value);
    }
}

/// The first entry that is not older. Clocks may be set back, so it need not be the oldest of those.
fn first_since(connection: &Connection, since: Timestamp) -> Result<Option<i64>, Error> {
    let sql = "SELECT min(position) FROM audit WHERE at >= ?1";
    let found = connection.prepare_cached(sql)?.query_row([moment(since)], |row| row.get(0));
    Ok(found.optional()?.flatten())
}

/// The condition of the index that holds all that is counted, word for word.
const COUNTED: &str = "kind IN ('called', 'requested', 'decided', 'expired', 'finished')";

pub(super) fn statistics(
    connection: &Connection,
    world: Option<&WorldId>,
) -> Result<Vec<Statistics>, Error> {
    let condition = if world.is_some() { "AND world = ?" } else { "" };
    let sql = format!(
        "SELECT world, tool, agent, kind, result, count(*), count(duration),
             coalesce(sum(duration), 0), coalesce(max(duration), 0), min(at), max(at)
         FROM audit WHERE {COUNTED} AND tool IS NOT NULL AND agent IS NOT NULL {condition}
         GROUP BY world, tool, agent, kind, result"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(world.map(WorldId::as_str)))?;
    let mut all: Vec<Statistics> = Vec::new();
    while let Some(columns) = found.next()? {
        let world = WorldId::from(columns.get::<_, String>(0)?);
        let tool: String = columns.get(1)?;
        let agent = AgentId::from(columns.get::<_, String>(2)?);
        let first = time(columns.get(9)?)?;
        let is_same = |sums: &&mut Statistics| {
            sums.world == world && sums.tool == tool && sums.agent == agent
        };
        match all.last_mut().filter(is_same) {
            Some(sums) => add(sums, columns)?,
            None => {
                let mut sums = Statistics::new(world, tool, agent, first);
                add(&mut sums, columns)?;
                all.push(sums);
            }
        }
    }
    Ok(all)
}

fn add(sums: &mut Statistics, columns: &Columns<'_>) -> Result<(), Error> {
    let kind: String = columns.get(3)?;
    let result: Option<String> = columns.get(4)?;
    let number: u64 = columns.get(5)?;
    sums.first = sums.first.min(time(columns.get(9)?)?);
    sums.last = sums.last.max(time(columns.get(10)?)?);
    match (kind.as_str(), result) {
        ("called", _) => sums.calls += number,
        ("requested", _) => sums.asked += number,
        ("decided", Some(answer)) if answer == "approved" => sums.approved += number,
        ("decided", _) => sums.denied += number,
        ("expired", _) => sums.expired += number,
        (_, outcome) => {
            *sums.outcomes.entry(outcome.unwrap_or_default()).or_default() += number;
            sums.runs += columns.get::<_, u64>(6)?;
            sums.total_ms += columns.get::<_, u64>(7)?;
            sums.longest_ms = sums.longest_ms.max(columns.get(8)?);
        }
    }
    Ok(())
}

/// Makes the audit of a log that was written without one. What cannot be read is left out: `verify` names it, and a
/// store that does not open could not even be looked at.
pub(super) fn fill(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection
        .prepare("SELECT DISTINCT chat FROM events WHERE chat IS NOT NULL ORDER BY chat")?;
    let chats: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, rusqlite::Error>>()?;
    for chat in chats.into_iter().map(ChatId::from) {
        fill_chat(connection, &chat)?;
    }
    fill_changes(connection)
}

fn fill_chat(connection: &Connection, id: &ChatId) -> Result<(), Error> {
    let scope = Scope::Chat(id.clone());
    let mut chat = Chat::unborn(id.clone());
    let mut after = 0;
    loop {
        let page = queries::events(connection, &scope, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = last.position;
        for event in &page {
            let recorded = match event.sealed.open() {
                Ok(recorded) => recorded,
                Err(error) => {
                    warn!(chat = %id, %error, "the audit of this chat ends where its log cannot be read");
                    return Ok(());
                }
            };
            let before = chat.clone();
            apply(&mut chat, &recorded);
            if let Some(entry) = audit::entry(&before, &chat, &recorded) {
                Encoded::new(Box::new(entry))?.insert(connection, event.position)?;
            }
        }
    }
}

fn fill_changes(connection: &Connection) -> Result<(), Error> {
    let mut statement = connection
        .prepare("SELECT position, world, payload FROM events WHERE chat IS NULL AND kind = ?1")?;
    let mut found = statement.query([WORLD_CHANGED])?;
    while let Some(columns) = found.next()? {
        let (position, world): (u64, String) = (columns.get(0)?, columns.get(1)?);
        match rows::document::<WorldChange>(columns, 2) {
            Ok(change) => {
                let entry = entry_of_change(&WorldId::from(world), &change);
                Encoded::new(Box::new(entry))?.insert(connection, position)?;
            }
            Err(error) => warn!(%world, %error, "a change of this world cannot be read"),
        }
    }
    Ok(())
}
