//! Decides how what is written takes its place: behind a head, in a world's own log, at a moment of waking.
//! Used by every store, so that all agree. Never reads or writes anything itself.

use agent_world_core::Timestamp;
use agent_world_core::audit::{self, Entry};
use agent_world_core::chain::{Hash, Head, Sealed};
use agent_world_core::chat::Life;
use agent_world_core::config::World;
use agent_world_core::event::FORMAT;
use agent_world_core::ids::WorldId;
use agent_world_core::outstanding::Wake;
use agent_world_core::view::Row;

use crate::error::Error;
use crate::types::{Append, DocumentWrite, Expected, WorldChange};

/// The kind under which changes of a world's settings stand in its log.
pub const WORLD_CHANGED: &str = "world_changed";

/// A wake time that has always come.
pub(crate) const AT_ONCE: i64 = 0;

/// Refuses events that are not numbered on from the head they were decided on.
pub(crate) fn check_order(append: &Append) -> Result<(), Error> {
    let mut seq = append.expected.seq;
    for event in &append.events {
        seq += 1;
        if event.seq != seq {
            let why = format!("event {} stands where {seq} is expected", event.seq);
            return Err(Error::Misplaced { chat: append.chat.clone(), why });
        }
    }
    for row in &append.rows {
        if let Row::Audit { seq: told, .. } = row
            && (*told <= append.expected.seq || *told > seq)
        {
            let why = format!("its audit tells of event {told}, which is not among them");
            return Err(Error::Misplaced { chat: append.chat.clone(), why });
        }
    }
    Ok(())
}

/// Where an event of an append came to stand, given the positions of all of them.
pub(crate) fn position_of(append: &Append, positions: &[u64], seq: u64) -> Option<u64> {
    let index = seq.checked_sub(append.expected.seq + 1)?;
    positions.get(usize::try_from(index).ok()?).copied()
}

/// What the audit tells of a change of a world.
pub(crate) fn entry_of_change(world: &WorldId, change: &WorldChange) -> Entry {
    let WorldChange { entity, action, id, by, at, settings: _ } = change;
    audit::of_change(audit::Change { world, at: *at, by, entity, action, id })
}

/// Where the chat's log ends once the append is written.
pub(crate) fn next_head(append: &Append) -> Head {
    append.events.last().map_or(append.expected, Sealed::head)
}

/// Refuses what was decided under settings that are not the world's present ones.
pub(crate) fn check_settings(append: &Append, version: u64) -> Result<(), Error> {
    if append.world_version == version {
        return Ok(());
    }
    Err(Error::StaleSettings { world: append.world.clone(), version })
}

/// A change with the settings it led to, so that the world's log says what they are.
pub(crate) fn tell_settings(change: &WorldChange, settings: &World) -> Result<WorldChange, Error> {
    Ok(WorldChange { settings: Some(serde_json::to_value(settings)?), ..change.clone() })
}

/// A change of settings as the next event of the world's own log.
pub(crate) fn seal_change(head: Head, change: &WorldChange) -> Result<Sealed, Error> {
    let mut sealed = Sealed {
        seq: head.seq + 1,
        at: change.at,
        kind: WORLD_CHANGED.to_owned(),
        version: FORMAT,
        payload: serde_json::to_string(change)?,
        hash: Hash::default(),
    };
    sealed.hash = sealed.hash_after(head.hash);
    Ok(sealed)
}

/// Milliseconds at which a chat is due, rounded up: whoever is woken finds that the moment has come.
pub(crate) fn wake_at(wake: Wake) -> Option<i64> {
    match wake {
        Wake::Never => None,
        Wake::Now => Some(AT_ONCE),
        Wake::At(moment) => Some(milliseconds_up(moment)),
    }
}

/// When a chat is due after an append.
pub(crate) fn wake_after(append: &Append) -> Option<i64> {
    match append.life {
        Life::Living => wake_at(append.wake),
        Life::Unborn | Life::Deleted => None,
    }
}

fn milliseconds_up(moment: Timestamp) -> i64 {
    let floor = moment.as_millisecond();
    let whole = Timestamp::from_millisecond(floor).is_ok_and(|floored| floored == moment);
    if whole { floor } else { floor.saturating_add(1) }
}

/// Refuses a document that was written on another version than the stored one.
pub(crate) fn check_document(write: &DocumentWrite, actual: Option<u64>) -> Result<(), Error> {
    let holds = match write.expected {
        Expected::Anything => true,
        Expected::Nothing => actual.is_none(),
        Expected::Version(version) => actual == Some(version),
    };
    if holds {
        return Ok(());
    }
    Err(Error::DocumentConflict { kind: write.kind.clone(), key: write.key.clone(), actual })
}
