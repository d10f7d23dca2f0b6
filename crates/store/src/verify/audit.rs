//! Decides whether the audit of a world is what its own log makes of it, and whether the statistics are what the audit
//! makes of them.
//! Called by `verify_world`; the entries of a chat are compared with its log by `read_models`. What is left of chats
//! that were deleted with their world has no log any more and is believed. Never repairs anything.

use std::collections::BTreeSet;

use agent_world_core::audit::{Entry, Tally, What};
use agent_world_core::ids::{ChatId, WorldId};

use super::{Broken, PAGE};
use crate::Store;
use crate::error::Error;
use crate::placing::entry_of_change;
use crate::types::{AuditFilter, AuditPage, Audited, Scope, WorldChange};

/// How often a world may move on while it is looked at.
const TRIES: usize = 8;

pub(super) async fn compare(store: &dyn Store, world: &WorldId) -> Result<(), Broken> {
    for _ in 0..TRIES {
        let before = store.position().await?;
        let checked = check(store, world).await;
        // All is read one after another; what differs does so only if nothing was written in between.
        if checked.is_ok() || store.position().await? == before {
            return checked;
        }
    }
    Err(Error::Busy(format!("the store of world {world} never stands still")).into())
}

async fn check(store: &dyn Store, world: &WorldId) -> Result<(), Broken> {
    let differs = |why| Err(Broken::Audit { world: world.clone(), why });
    let stored = Stored::read(store, world).await?;
    let changes = changes(store, world).await?;
    if stored.changes != changes {
        return differs(format!("stored is {:?}, the log says {changes:?}", stored.changes));
    }
    for chat in stored.chats {
        if store.events(&Scope::Chat(chat.clone()), 0, 1).await?.is_empty() {
            return differs(format!("it tells of chat {chat}, which has no log"));
        }
    }
    let (sums, made) = (store.statistics(Some(world)).await?, stored.tally.finish());
    if sums != made {
        return differs(format!("the statistics are {sums:?}, its entries make {made:?}"));
    }
    Ok(())
}

/// What the entries of a world come to.
#[derive(Default)]
struct Stored {
    changes: Vec<Audited>,
    /// The chats told of since the world was last deleted: their logs must be there.
    chats: BTreeSet<ChatId>,
    tally: Tally,
}

impl Stored {
    async fn read(store: &dyn Store, world: &WorldId) -> Result<Self, Error> {
        let filter = AuditFilter { world: Some(world.clone()), ..AuditFilter::default() };
        let mut stored = Self::default();
        let mut after = 0;
        loop {
            let page = store.audit(&filter, AuditPage::After(after, PAGE)).await?;
            let Some(last) = page.last() else { return Ok(stored) };
            after = last.position;
            page.into_iter().for_each(|audited| stored.take(audited));
        }
    }

    fn take(&mut self, audited: Audited) {
        self.tally.add(&audited.entry);
        match &audited.entry.chat {
            Some(chat) => {
                self.chats.insert(chat.clone());
            }
            None => {
                if is_deletion(&audited.entry) {
                    self.chats.clear();
                }
                self.changes.push(audited);
            }
        }
    }
}

fn is_deletion(entry: &Entry) -> bool {
    matches!(&entry.what, What::Changed { entity, action, .. }
        if entity == "world" && action == "deleted")
}

/// The entries that the world's own log makes.
async fn changes(store: &dyn Store, world: &WorldId) -> Result<Vec<Audited>, Error> {
    let scope = Scope::World(world.clone());
    let mut all = Vec::new();
    let mut after = 0;
    loop {
        let page = store.events(&scope, after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(all) };
        after = last.position;
        for event in page.iter().filter(|event| event.chat.is_none()) {
            let change: WorldChange = serde_json::from_str(&event.sealed.payload)?;
            let entry = entry_of_change(world, &change);
            all.push(Audited { position: event.position, entry });
        }
    }
}
