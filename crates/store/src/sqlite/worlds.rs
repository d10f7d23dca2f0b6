//! Decides whether a world's settings may change, writes them with an event that tells of it, and reads them back.
//! Writes are run by the writer inside its transaction, reads by the readers. Never writes granted rules into the
//! settings: they have a table of their own, so that granting one does not rewrite what people edit.

use agent_world_core::chain::Sealed;
use agent_world_core::config::World;
use agent_world_core::ids::{RuleId, WorldId};
use agent_world_core::policy::Rule;
use rusqlite::{Connection, OptionalExtension, params};

use super::append::insert_event;
use super::audit::Encoded;
use super::rows::{self, integer};
use super::writer::{Fault, Within, Write};
use crate::error::Error;
use crate::placing::{entry_of_change, seal_change, tell_settings};
use crate::types::{WorldChange, WorldWrite};

#[derive(Debug)]
pub(super) struct DeleteWorld {
    pub world: WorldId,
    pub change: WorldChange,
}

#[derive(Debug)]
pub(super) struct RevokeRule {
    pub world: WorldId,
    pub rule: RuleId,
    pub change: WorldChange,
}

impl Write for WorldWrite {
    type Output = World;

    fn write(&self, within: Within<'_>) -> Result<World, Fault> {
        let connection = within.connection;
        let id = &self.world.id;
        let actual = version(connection, id)?;
        match (self.expected, actual) {
            (Some(_), None) => return Err(Error::UnknownWorld(id.clone()).into()),
            (expected, actual) if expected != actual => {
                return Err(Error::WorldConflict { world: id.clone(), expected, actual }.into());
            }
            _ => {}
        }
        let mut world = self.world.clone();
        world.version = actual.unwrap_or(0) + 1;
        world.policy.granted.clear();
        let document = serde_json::to_string(&world).map_err(Error::from)?;
        let event = next_change(connection, id, &tell_settings(&self.change, &world)?)?;
        world.policy.granted = granted(connection, id)?.into();
        connection
            .prepare_cached(
                "INSERT INTO worlds (id, version, document) VALUES (?1, ?2, ?3)
                 ON CONFLICT (id) DO UPDATE SET version = excluded.version, document = excluded.document",
            )?
            .execute(params![id.as_str(), integer(world.version), document])?;
        tell(connection, id, &self.change, &event)?;
        Ok(world)
    }
}

impl Write for DeleteWorld {
    type Output = ();

    fn write(&self, within: Within<'_>) -> Result<(), Fault> {
        let connection = within.connection;
        let id = &self.world;
        if version(connection, id)?.is_none() {
            return Err(Error::UnknownWorld(id.clone()).into());
        }
        let event = next_change(connection, id, &self.change)?;
        connection
            .prepare_cached("DELETE FROM events WHERE world = ?1 AND chat IS NOT NULL")?
            .execute([id.as_str()])?;
        // All that was derived goes with the chats and the world that own it. The audit belongs to nobody and stays.
        connection.prepare_cached("DELETE FROM worlds WHERE id = ?1")?.execute([id.as_str()])?;
        tell(connection, id, &self.change, &event)?;
        Ok(())
    }
}

impl Write for RevokeRule {
    type Output = ();

    fn write(&self, within: Within<'_>) -> Result<(), Fault> {
        let connection = within.connection;
        let Self { world, rule, change } = self;
        if version(connection, world)?.is_none() {
            return Err(Error::UnknownWorld(world.clone()).into());
        }
        let event = next_change(connection, world, change)?;
        let revoked = connection
            .prepare_cached("DELETE FROM rules WHERE world = ?1 AND id = ?2")?
            .execute([world.as_str(), rule.as_str()])?;
        if revoked == 0 {
            return Err(Error::UnknownRule { world: world.clone(), rule: rule.clone() }.into());
        }
        connection
            .prepare_cached("UPDATE worlds SET version = version + 1 WHERE id = ?1")?
            .execute([world.as_str()])?;
        tell(connection, world, change, &event)?;
        Ok(())
    }
}

pub(super) fn world(connection: &Connection, id: &WorldId) -> Result<Option<World>, Error> {
    let mut statement =
        connection.prepare_cached("SELECT version, document FROM worlds WHERE id = ?1")?;
    let mut found = statement.query([id.as_str()])?;
    let Some(columns) = found.next()? else {
        return Ok(None);
    };
    let mut world: World = rows::document(columns, 1)?;
    world.version = columns.get(0)?;
    world.policy.granted = granted(connection, id)?.into();
    Ok(Some(world))
}

pub(super) fn worlds(connection: &Connection) -> Result<Vec<World>, Error> {
    let mut statement = connection.prepare_cached("SELECT id FROM worlds ORDER BY id")?;
    let ids: Vec<String> =
        statement.query_map([], |row| row.get(0))?.collect::<Result<_, rusqlite::Error>>()?;
    ids.into_iter().filter_map(|id| world(connection, &WorldId::from(id)).transpose()).collect()
}

fn granted(connection: &Connection, world: &WorldId) -> Result<Vec<Rule>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT document FROM rules WHERE world = ?1 ORDER BY ordinal")?;
    let mut found = statement.query([world.as_str()])?;
    let mut granted = Vec::new();
    while let Some(columns) = found.next()? {
        granted.push(rows::document(columns, 0)?);
    }
    Ok(granted)
}

pub(super) fn version(
    connection: &Connection,
    id: &WorldId,
) -> Result<Option<u64>, rusqlite::Error> {
    connection
        .prepare_cached("SELECT version FROM worlds WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()
}

/// Writes the event that tells of a change, and what the audit says of it.
fn tell(
    connection: &Connection,
    world: &WorldId,
    change: &WorldChange,
    event: &Sealed,
) -> Result<(), Fault> {
    let entry = Encoded::new(Box::new(entry_of_change(world, change)))?;
    let position = insert_event(connection, world, None, event, None)?;
    entry.insert(connection, position)?;
    Ok(())
}

/// The event that tells of a change. A world's own log outlives it: its last event says that it was deleted, and a
/// namesake goes on behind it.
fn next_change(
    connection: &Connection,
    world: &WorldId,
    change: &WorldChange,
) -> Result<Sealed, Fault> {
    let head = connection
        .prepare_cached(
            "SELECT seq, hash FROM events WHERE world = ?1 AND chat IS NULL ORDER BY seq DESC LIMIT 1",
        )?
        .query_row([world.as_str()], |row| rows::head(row, 0))
        .optional()?
        .unwrap_or_default();
    Ok(seal_change(head, change)?)
}
