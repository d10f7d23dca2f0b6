//! Decides how long results are stored: once for each world and content, in pieces that can be read on their own.
//! Written by the writer before the event that names the result; read by the readers. Never reads more than is asked
//! for. A result that no event names is harmless: a process may have died before it wrote the event.

use agent_world_core::chain::Hash;
use agent_world_core::event::Whole;
use agent_world_core::ids::WorldId;
use rusqlite::{Connection, OptionalExtension, params};

use super::rows::integer;
use super::worlds::version;
use super::writer::{Fault, Within, Write};
use crate::error::Error;
use crate::types::ResultPiece;

/// Characters of a piece. SQLite's own functions on text end at its first NUL, which a tool may well write.
const PIECE: u64 = 8_192;

#[derive(Debug)]
pub(super) struct KeepResult {
    world: WorldId,
    whole: Whole,
    text: String,
}

impl KeepResult {
    pub(super) fn new(world: WorldId, text: String) -> Self {
        Self { world, whole: Whole::of(&text), text }
    }
}

impl Write for KeepResult {
    type Output = Hash;

    fn write(&self, within: Within<'_>) -> Result<Hash, Fault> {
        let Within { connection, .. } = within;
        let Self { world, whole, text } = self;
        if version(connection, world)?.is_none() {
            return Err(Error::UnknownWorld(world.clone()).into());
        }
        let id: Option<i64> = connection
            .prepare_cached(
                "INSERT INTO results (world, digest, characters) VALUES (?1, ?2, ?3)
                 ON CONFLICT (world, digest) DO NOTHING RETURNING id",
            )?
            .query_row(params![world.as_str(), whole.digest.0, integer(whole.characters)], |row| {
                row.get(0)
            })
            .optional()?;
        let Some(id) = id else { return Ok(whole.digest) };
        let mut insert = connection.prepare_cached(
            "INSERT INTO result_pieces (result, first, text) VALUES (?1, ?2, ?3)",
        )?;
        let (mut first, mut rest) = (0, text.as_str());
        while !rest.is_empty() {
            let (piece, behind) = split(rest, PIECE);
            insert.execute(params![id, integer(first), piece])?;
            (first, rest) = (first + PIECE, behind);
        }
        Ok(whole.digest)
    }
}

pub(super) fn piece(
    connection: &Connection,
    world: &WorldId,
    digest: Hash,
    offset: u64,
    limit: u64,
) -> Result<Option<ResultPiece>, Error> {
    let known: Option<(i64, u64)> = connection
        .prepare_cached("SELECT id, characters FROM results WHERE world = ?1 AND digest = ?2")?
        .query_row(params![world.as_str(), digest.0], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((id, characters)) = known else { return Ok(None) };
    let start = offset - offset % PIECE;
    let mut statement = connection.prepare_cached(
        "SELECT text FROM result_pieces WHERE result = ?1 AND first >= ?2 AND first < ?3
         ORDER BY first",
    )?;
    let end = offset.saturating_add(limit);
    let mut found = statement.query(params![id, integer(start), integer(end)])?;
    let (mut text, mut skipped, mut left) = (String::new(), offset - start, limit);
    while let Some(columns) = found.next()? {
        let piece = columns.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        let (_, wanted) = split(piece, std::mem::take(&mut skipped));
        let (wanted, _) = split(wanted, left);
        left -= u64::try_from(wanted.chars().count()).unwrap_or(left).min(left);
        text.push_str(wanted);
    }
    Ok(Some(ResultPiece { text, characters }))
}

/// The first characters of a text, and what follows them.
fn split(text: &str, characters: u64) -> (&str, &str) {
    let characters = usize::try_from(characters).unwrap_or(usize::MAX);
    let end = text.char_indices().nth(characters).map_or(text.len(), |(end, _)| end);
    text.split_at_checked(end).unwrap_or((text, ""))
}
