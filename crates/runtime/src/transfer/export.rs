//! Decides how a world becomes a document: what belongs to it at one moment, and in which order it is told.
//! Called by `Engine::export`. Reads through the store in pages, so that a world of any size needs little memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::chain::Hash;
use agent_world_core::config::World;
use agent_world_core::event::Event;
use agent_world_core::ids::{ChatId, RuleId, WorldId};
use agent_world_core::policy::Rule;
use agent_world_store::{self as store, Scope, Store, StoredEvent, WorldChange};
use async_stream::try_stream;
use futures::Stream;
use serde::Serialize;

use super::Literals;
use super::document::{FORMAT, Revocation, SealedEvent, VERSION, settings_to};
use super::reference::{MissingSecret, replace_literals};
use crate::error::Error;

/// Events read at a time.
const PAGE: usize = 500;
/// Characters of a long result read at a time.
const RESULT_PIECE: u64 = 50_000;
/// About how many bytes are handed on at a time.
const PIECE: usize = 64 << 10;
/// How often a world's settings may change while they are looked at.
const TRIES: usize = 8;

/// What belongs to a world at one moment.
#[derive(Debug)]
pub(super) struct Outline {
    world: World,
    /// Nothing after this position belongs to the document.
    position: u64,
    granted: Vec<Rule>,
    revoked: Vec<Revocation>,
    /// In the order in which they were made, deleted ones included.
    chats: Vec<ChatId>,
}

impl Outline {
    pub fn settings_mut(&mut self) -> &mut World {
        &mut self.world
    }

    pub async fn read(store: &dyn Store, id: &WorldId) -> Result<Self, Error> {
        let (world, position) = settle(store, id).await?;
        let mut outline =
            Self { world, position, granted: Vec::new(), revoked: Vec::new(), chats: Vec::new() };
        outline.granted = outline.world.policy.granted.iter().cloned().collect();
        // Only a rule's id says where it stands in a file: which of two that allow comes first makes no difference.
        outline.granted.sort_by(|one, other| one.id.cmp(&other.id));
        outline.world.policy.granted.clear();
        outline.look_through(store).await?;
        Ok(outline)
    }

    /// Finds the chats and the rules that were taken back, in what is stored of the world.
    async fn look_through(&mut self, store: &dyn Store) -> Result<(), Error> {
        let scope = Scope::World(self.world.id.clone());
        let mut revoked: BTreeMap<RuleId, Revocation> = BTreeMap::new();
        let mut after = 0;
        loop {
            let page = page(store, &scope, after, self.position).await?;
            let Some(last) = page.last() else { break };
            after = last.position;
            for event in &page {
                match &event.chat {
                    Some(chat) if event.sealed.seq == 1 => self.chats.push(chat.clone()),
                    Some(_) => {}
                    None => {
                        let change: WorldChange = serde_json::from_str(&event.sealed.payload)
                            .map_err(store::Error::from)?;
                        note_revocation(&mut revoked, change);
                    }
                }
            }
        }
        self.revoked = revoked.into_values().collect();
        Ok(())
    }
}

fn note_revocation(revoked: &mut BTreeMap<RuleId, Revocation>, change: WorldChange) {
    match (change.entity.as_str(), change.action.as_str()) {
        // What follows is of a namesake.
        ("world", "deleted") => revoked.clear(),
        ("rule", "deleted") => {
            let rule = RuleId::new(change.id);
            let (by, at) = (change.by, change.at);
            revoked.insert(rule.clone(), Revocation { rule, by, at });
        }
        _ => {}
    }
}

/// A world's settings, and a position at which they were in force.
async fn settle(store: &dyn Store, id: &WorldId) -> Result<(World, u64), Error> {
    for _ in 0..TRIES {
        let position = store.position().await?;
        let world = store.world(id).await?.ok_or_else(|| Error::UnknownWorld(id.clone()))?;
        // The two are read one after another; they are of one moment only if nothing was changed in between.
        if !store.changes(position).await?.worlds.contains(id) {
            return Ok((world, position));
        }
    }
    Err(store::Error::Busy(format!("the settings of world {id} never stand still")).into())
}

/// The next events of a scope, none of them after the last that belongs to the document.
async fn page(
    store: &dyn Store,
    scope: &Scope,
    after: u64,
    last: u64,
) -> Result<Vec<StoredEvent>, Error> {
    let mut page = store.events(scope, after, PAGE).await?;
    page.retain(|event| event.position <= last);
    Ok(page)
}

pub(super) fn pieces(
    store: Arc<dyn Store>,
    outline: Outline,
    literals: Literals,
    now: Timestamp,
) -> impl Stream<Item = Result<String, Error>> + Send + use<> {
    try_stream! {
        let Outline { mut world, position, granted, revoked, chats } = outline;
        let missing = match literals {
            Literals::Kept => Vec::new(),
            Literals::Replaced => replace_literals(&mut world),
        };
        let mut piece = head(&world, now, &granted, &revoked, &missing)?;
        let mut wholes = BTreeSet::new();
        for (number, chat) in chats.iter().enumerate() {
            piece.push_str(if number == 0 { "\n" } else { ",\n" });
            let id = json(chat)?;
            piece.push_str(&format!("{{\"id\":{id},\"events\":["));
            let scope = Scope::Chat(chat.clone());
            let mut after = 0;
            loop {
                let page = page(store.as_ref(), &scope, after, position).await?;
                let Some(end) = page.last() else { break };
                let is_first = after == 0;
                after = end.position;
                for (number, event) in page.into_iter().enumerate() {
                    note_wholes(&event, &mut wholes)?;
                    piece.push_str(if is_first && number == 0 { "\n" } else { ",\n" });
                    piece.push_str(&json(&SealedEvent::from(event.sealed))?);
                    if piece.len() >= PIECE {
                        yield std::mem::take(&mut piece);
                    }
                }
            }
            piece.push_str("]}");
        }
        piece.push_str("],\n\"results\":[");
        for (number, digest) in wholes.into_iter().map(Hash).enumerate() {
            piece.push_str(if number == 0 { "\n" } else { ",\n" });
            let name = json(&digest)?;
            piece.push_str(&format!("{{\"digest\":{name},\"text\":\""));
            let mut offset = 0;
            loop {
                let part = part(store.as_ref(), &world.id, digest, offset).await?;
                if part.is_empty() {
                    break;
                }
                offset += RESULT_PIECE;
                piece.push_str(inside(&json(&part)?));
                if piece.len() >= PIECE {
                    yield std::mem::take(&mut piece);
                }
            }
            piece.push_str("\"}");
        }
        piece.push_str("]}\n");
        yield piece;
    }
}

/// Everything before the first chat.
fn head(
    world: &World,
    now: Timestamp,
    granted: &[Rule],
    revoked: &[Revocation],
    missing: &[MissingSecret],
) -> Result<String, Error> {
    let settings = settings_to(world).map_err(store::Error::from)?;
    Ok(format!(
        "{{\"format\":{},\n\"version\":{VERSION},\n\"exported_at\":{},\n\"world\":{},\n\"granted\":{},\n\
         \"revoked\":{},\n\"missing_secrets\":{},\n\"chats\":[",
        json(&FORMAT)?,
        json(&now)?,
        json(&settings)?,
        json(&granted)?,
        json(&revoked)?,
        json(&missing)?,
    ))
}

/// Notes the long texts an event names, each once.
fn note_wholes(event: &StoredEvent, wholes: &mut BTreeSet<[u8; 32]>) -> Result<(), Error> {
    // Most events name none, and a look at the text costs less than reading it.
    if !event.sealed.payload.contains("\"whole\"") {
        return Ok(());
    }
    let recorded = event.sealed.open().map_err(store::Error::from)?;
    collect(&recorded.event, wholes);
    Ok(())
}

fn collect(event: &Event, wholes: &mut BTreeSet<[u8; 32]>) {
    match event {
        Event::ToolFinished(finished) => {
            wholes.extend(finished.output.whole.as_ref().map(|whole| whole.digest.0));
        }
        Event::HistoryCopied { events } => {
            events.iter().for_each(|copied| collect(&copied.event, wholes));
        }
        _ => {}
    }
}

async fn part(
    store: &dyn Store,
    world: &WorldId,
    digest: Hash,
    offset: u64,
) -> Result<String, Error> {
    match store.result(world, digest, offset, RESULT_PIECE).await? {
        Some(piece) => Ok(piece.text),
        None => Err(store::Error::Corrupt(format!(
            "world {world} has no text {digest}, which an event names; `agent-world verify` says more"
        ))
        .into()),
    }
}

fn json(value: &impl Serialize) -> Result<String, Error> {
    Ok(serde_json::to_string(value).map_err(store::Error::from)?)
}

/// What stands between the quotes of a JSON string.
fn inside(quoted: &str) -> &str {
    quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(quoted)
}
