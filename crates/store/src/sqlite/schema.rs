//! Decides what the tables of a SQLite store look like, and brings older files up to date.
//! Called once when a store is opened. Never touches a file that a newer program has written.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use super::audit;
use crate::error::Error;

/// Each entry takes the schema one version further. Entries are never changed, only added.
const MIGRATIONS: &[Migration] = &[
    Migration { tables: FIRST, fill: None },
    Migration { tables: SECOND, fill: Some(audit::fill) },
    Migration { tables: THIRD, fill: None },
];

/// New tables, and how they are filled from the log of an older file.
struct Migration {
    tables: &'static str,
    fill: Option<Fill>,
}

type Fill = fn(&Connection) -> Result<(), Error>;

/// Moments of events are nanoseconds, wake times milliseconds since 1970. `ordinal` keeps the order of arrival.
/// Documents are JSON. An event without a chat belongs to its world's own log, which has its own numbers.
const FIRST: &str = "
CREATE TABLE worlds (
    id       TEXT PRIMARY KEY,
    version  INTEGER NOT NULL,
    ruled    INTEGER NOT NULL DEFAULT 0, -- the version that the latest granted rule made
    document TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE rules (
    ordinal  INTEGER PRIMARY KEY AUTOINCREMENT,
    world    TEXT NOT NULL REFERENCES worlds(id) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    position INTEGER NOT NULL, -- of the newest event when it was granted
    document TEXT NOT NULL,
    UNIQUE (world, id)
);
CREATE INDEX rules_by_position ON rules(position);

CREATE TABLE events (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    world    TEXT NOT NULL,
    chat     TEXT,
    seq      INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    version  INTEGER NOT NULL,
    payload  TEXT NOT NULL,
    hash     BLOB NOT NULL
);
CREATE UNIQUE INDEX events_of_chat ON events(chat, seq) WHERE chat IS NOT NULL;
CREATE UNIQUE INDEX changes_of_world ON events(world, seq) WHERE chat IS NULL;
CREATE INDEX events_of_world ON events(world);

CREATE TABLE chats (
    ordinal   INTEGER PRIMARY KEY AUTOINCREMENT,
    id        TEXT NOT NULL UNIQUE,
    world     TEXT NOT NULL REFERENCES worlds(id) ON DELETE CASCADE,
    head_seq  INTEGER NOT NULL,
    head_hash BLOB NOT NULL,
    life      TEXT NOT NULL,
    wake_at   INTEGER,
    waiting   INTEGER NOT NULL,
    view      TEXT NOT NULL
);
CREATE INDEX chats_due ON chats(wake_at, id) WHERE wake_at IS NOT NULL;
CREATE INDEX chats_living ON chats(world) WHERE life = 'living';
CREATE INDEX chats_waiting ON chats(world) WHERE waiting > 0;

-- Beside the chats and not in them: a chat's row is written with every append, a snapshot seldom.
CREATE TABLE snapshots (
    chat  TEXT PRIMARY KEY REFERENCES chats(id) ON DELETE CASCADE,
    seq   INTEGER NOT NULL,
    state TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE messages (
    chat     TEXT NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    seq      INTEGER NOT NULL,
    idx      INTEGER NOT NULL,
    id       TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (chat, seq, idx)
) WITHOUT ROWID;
CREATE INDEX messages_by_id ON messages(id);

CREATE TABLE calls (
    ordinal  INTEGER PRIMARY KEY AUTOINCREMENT,
    chat     TEXT NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (chat, id)
);
CREATE INDEX calls_of_chat ON calls(chat);

CREATE TABLE approvals (
    ordinal  INTEGER PRIMARY KEY AUTOINCREMENT,
    id       TEXT NOT NULL UNIQUE,
    world    TEXT NOT NULL,
    chat     TEXT NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    agent    TEXT NOT NULL,
    pending  INTEGER NOT NULL,
    document TEXT NOT NULL
);
CREATE INDEX approvals_of_chat ON approvals(chat);
CREATE INDEX approvals_of_world ON approvals(world);
CREATE INDEX approvals_pending ON approvals(pending) WHERE pending = 1;
CREATE INDEX approvals_pending_of_world ON approvals(world) WHERE pending = 1;

CREATE TABLE grants (
    ordinal  INTEGER PRIMARY KEY AUTOINCREMENT,
    chat     TEXT NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (chat, id)
);

CREATE TABLE usage (
    chat                TEXT NOT NULL REFERENCES chats(id) ON DELETE CASCADE,
    turn                TEXT, -- none for what belongs to no turn: titles
    agent               TEXT,
    model               TEXT NOT NULL,
    world               TEXT NOT NULL,
    model_calls         INTEGER NOT NULL,
    input_tokens        INTEGER NOT NULL,
    output_tokens       INTEGER NOT NULL,
    total_tokens        INTEGER NOT NULL,
    cached_input_tokens INTEGER NOT NULL,
    reasoning_tokens    INTEGER NOT NULL
);
-- Absent values are all different to SQLite; what belongs to no turn is to be summed up, too.
CREATE UNIQUE INDEX usage_of_chat ON usage(chat, ifnull(turn, ''), ifnull(agent, ''), model);
CREATE INDEX usage_of_world ON usage(world);

CREATE TABLE idempotency (
    key     TEXT PRIMARY KEY,
    outcome TEXT NOT NULL,
    at      INTEGER NOT NULL
) WITHOUT ROWID;
";

/// The audit belongs to no world and no chat: it is kept when they are deleted, and nothing in it can be changed or
/// removed through SQL. `actor` is a person, `result` and `duration` (milliseconds) are what statistics count.
/// Long results belong to their world.
const SECOND: &str = "
CREATE TABLE audit (
    position INTEGER PRIMARY KEY, -- of the event it tells of, which may be gone with its world
    at       INTEGER NOT NULL,
    kind     TEXT NOT NULL,
    world    TEXT NOT NULL,
    chat     TEXT,
    agent    TEXT,
    tool     TEXT,
    call     TEXT,
    approval TEXT,
    actor    TEXT,
    rule     TEXT,
    result   TEXT,
    duration INTEGER,
    document TEXT NOT NULL
);
CREATE INDEX audit_of_world ON audit(world);
CREATE INDEX audit_of_chat ON audit(chat) WHERE chat IS NOT NULL;
CREATE INDEX audit_of_call ON audit(call) WHERE call IS NOT NULL;
CREATE INDEX audit_of_agent ON audit(agent) WHERE agent IS NOT NULL;
CREATE INDEX audit_of_tool ON audit(tool) WHERE tool IS NOT NULL;
CREATE INDEX audit_of_actor ON audit(actor) WHERE actor IS NOT NULL;
CREATE INDEX audit_by_time ON audit(at);
-- Everything that statistics need, so that they read nothing else.
CREATE INDEX audit_counted ON audit(world, tool, agent, kind, result, duration, at)
    WHERE kind IN ('called', 'requested', 'decided', 'expired', 'finished');
CREATE TRIGGER audit_is_never_edited BEFORE UPDATE ON audit
BEGIN SELECT raise(ABORT, 'the audit is never edited'); END;
CREATE TRIGGER audit_is_never_removed BEFORE DELETE ON audit
BEGIN SELECT raise(ABORT, 'the audit is never removed'); END;

-- Results too long for the log, each once in its world. One that no event names was left by a process that ended
-- before it wrote the event; nobody asks for it.
CREATE TABLE results (
    id         INTEGER PRIMARY KEY,
    world      TEXT NOT NULL REFERENCES worlds(id) ON DELETE CASCADE,
    digest     BLOB NOT NULL, -- SHA-256 of the text
    characters INTEGER NOT NULL,
    UNIQUE (world, digest)
);
-- In pieces of 8192 characters, so that a part is read without the whole.
CREATE TABLE result_pieces (
    result INTEGER NOT NULL REFERENCES results(id) ON DELETE CASCADE,
    first  INTEGER NOT NULL, -- its first character's place in the text
    text   TEXT NOT NULL,
    UNIQUE (result, first)
);
";

/// What goes on in a chat since an event, where the event changed it; and documents that belong to no log.
const THIRD: &str = "
ALTER TABLE events ADD COLUMN glance TEXT;

CREATE TABLE documents (
    kind    TEXT NOT NULL,
    key     TEXT NOT NULL,
    version INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    body    TEXT NOT NULL,
    PRIMARY KEY (kind, key)
);
CREATE INDEX documents_by_age ON documents(kind, at);
";

/// The schema this program writes.
pub(super) const KNOWN: u32 = MIGRATIONS.len() as u32;

/// The schema of a file: 0 when it is new, an error when it is newer than this program.
pub(super) fn found(connection: &Connection) -> Result<u32, Error> {
    let exists = connection
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'meta'", [], |_| Ok(()))
        .optional()?
        .is_some();
    if !exists {
        return Ok(0);
    }
    let found = connection.query_row("SELECT schema FROM meta", [], |row| row.get(0))?;
    if found > KNOWN {
        return Err(Error::NewerSchema { found, known: KNOWN });
    }
    Ok(found)
}

/// Brings the file to the schema this program knows, all or nothing.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it since the caller looked.
    let from = found(&transaction)?;
    if from == 0 {
        transaction.execute_batch(
            "CREATE TABLE meta (
                 only   INTEGER PRIMARY KEY CHECK (only = 1),
                 schema INTEGER NOT NULL,
                 epoch  INTEGER NOT NULL
             );
             INSERT INTO meta VALUES (1, 0, 0);",
        )?;
    }
    let missing = || (1..).zip(MIGRATIONS).filter(|(version, _)| *version > from);
    // All tables first: what fills one reads the others as this program knows them.
    for (_, migration) in missing() {
        transaction.execute_batch(migration.tables)?;
    }
    for fill in missing().filter_map(|(_, migration)| migration.fill) {
        fill(&transaction)?;
    }
    transaction.execute("UPDATE meta SET schema = ?1", [KNOWN])?;
    transaction.commit()?;
    Ok(())
}

/// The number of workers this file has had: the epoch of the present one.
pub(super) fn epoch(connection: &Connection) -> Result<u64, rusqlite::Error> {
    connection.prepare_cached("SELECT epoch FROM meta")?.query_row([], |row| row.get(0))
}

/// Begins a new worker's epoch: what its predecessors still write is refused.
pub(super) fn next_epoch(connection: &Connection) -> Result<u64, Error> {
    let sql = "UPDATE meta SET epoch = epoch + 1 RETURNING epoch";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}
