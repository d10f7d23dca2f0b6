//! Decides how small documents are kept beside the logs: by kind and key, each with a version of its own.
//! Written by the writer, read by the readers. Never knows what is in one.

use agent_world_core::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::{self, integer, moment};
use super::writer::{Fault, Within, Write};
use crate::error::Error;
use crate::placing::check_document;
use crate::types::{Document, DocumentWrite};

impl Write for DocumentWrite {
    type Output = u64;

    fn write(&self, within: Within<'_>) -> Result<u64, Fault> {
        let Self { kind, key, body, at, .. } = self;
        let connection = within.connection;
        let actual = version(connection, kind, key)?;
        check_document(self, actual)?;
        let next = actual.unwrap_or(0) + 1;
        connection
            .prepare_cached(
                "INSERT INTO documents (kind, key, version, at, body) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (kind, key) DO UPDATE
                 SET version = excluded.version, at = excluded.at, body = excluded.body",
            )?
            .execute(params![kind, key, integer(next), moment(*at), body])?;
        Ok(next)
    }
}

fn version(connection: &Connection, kind: &str, key: &str) -> Result<Option<u64>, rusqlite::Error> {
    connection
        .prepare_cached("SELECT version FROM documents WHERE kind = ?1 AND key = ?2")?
        .query_row([kind, key], |row| row.get(0))
        .optional()
}

/// Removes one document.
#[derive(Debug)]
pub(super) struct DeleteDocument {
    pub kind: String,
    pub key: String,
}

impl Write for DeleteDocument {
    type Output = bool;

    fn write(&self, within: Within<'_>) -> Result<bool, Fault> {
        let sql = "DELETE FROM documents WHERE kind = ?1 AND key = ?2";
        Ok(within.connection.prepare_cached(sql)?.execute([&self.kind, &self.key])? > 0)
    }
}

/// Removes the documents of a kind that were last written before a moment.
#[derive(Debug)]
pub(super) struct DeleteDocuments {
    pub kind: String,
    pub before: Timestamp,
}

impl Write for DeleteDocuments {
    type Output = u64;

    fn write(&self, within: Within<'_>) -> Result<u64, Fault> {
        let sql = "DELETE FROM documents WHERE kind = ?1 AND at < ?2";
        let parameters = params![self.kind, moment(self.before)];
        let gone = within.connection.prepare_cached(sql)?.execute(parameters)?;
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }
}

pub(super) fn one(
    connection: &Connection,
    kind: &str,
    key: &str,
) -> Result<Option<Document>, Error> {
    let found = connection
        .prepare_cached(
            "SELECT key, version, at, body FROM documents WHERE kind = ?1 AND key = ?2",
        )?
        .query_row([kind, key], columns)
        .optional()?;
    found.map(read).transpose()
}

pub(super) fn page(
    connection: &Connection,
    kind: &str,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<Document>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT key, version, at, body FROM documents
         WHERE kind = ?1 AND (?2 IS NULL OR key > ?2) ORDER BY key LIMIT ?3",
    )?;
    let found = statement.query_map(params![kind, after, rows::limit(limit)], columns)?;
    found.map(|found| read(found?)).collect()
}

type Columns = (String, u64, i64, String);

fn columns(row: &rusqlite::Row<'_>) -> Result<Columns, rusqlite::Error> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
}

fn read((key, version, at, body): Columns) -> Result<Document, Error> {
    let at = Timestamp::from_nanosecond(at.into())
        .map_err(|error| Error::Corrupt(format!("a document's time: {error}")))?;
    Ok(Document { key, version, at, body })
}
