//! Checks all that is stored, or all of one world, and says what was looked at and what is broken.
//! Called by the server for `verify`. Goes on after a finding: whoever repairs wants all of them. Repairs nothing.

use std::collections::BTreeSet;

use agent_world_core::ids::{ChatId, WorldId};

use super::{PAGE, compare_read_models, verify, verify_world};
use crate::Store;
use crate::error::Error;
use crate::types::Scope;

/// What was looked at, and what is not as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub worlds: usize,
    pub chats: usize,
    /// Events that were found whole.
    pub events: u64,
    /// Each thing that is broken, in words.
    pub broken: Vec<String>,
}

/// Walks every log and compares every read model with its log.
pub async fn verify_everything(store: &dyn Store, only: Option<&WorldId>) -> Result<Report, Error> {
    let there = There::find(store, only).await?;
    let mut report =
        Report { worlds: there.worlds.len(), chats: there.chats.len(), ..Report::default() };
    for world in &there.worlds {
        match verify_world(store, world).await {
            Ok(verified) => report.events += verified.events,
            Err(error) => report.broken.push(error.to_string()),
        }
    }
    for chat in &there.chats {
        match verify(store, chat).await {
            Ok(verified) => report.events += verified.events,
            Err(error) => {
                report.broken.push(error.to_string());
                continue;
            }
        }
        if let Err(error) = compare_read_models(store, chat).await {
            report.broken.push(error.to_string());
        }
    }
    Ok(report)
}

/// What there is to check. Found in the log and beside it: either may lack what the other has.
#[derive(Debug, Default)]
struct There {
    worlds: BTreeSet<WorldId>,
    chats: BTreeSet<ChatId>,
}

impl There {
    async fn find(store: &dyn Store, only: Option<&WorldId>) -> Result<Self, Error> {
        let mut found = Self::default();
        let scope = only.cloned().map_or(Scope::All, Scope::World);
        let mut cursor = 0;
        loop {
            let page = store.events(&scope, cursor, PAGE).await?;
            let Some(last) = page.last() else { break };
            cursor = last.position;
            for event in page {
                found.worlds.insert(event.world);
                found.chats.extend(event.chat);
            }
        }
        match only {
            Some(world) => found.worlds.extend([world.clone()]),
            None => found.worlds.extend(store.worlds().await?.into_iter().map(|world| world.id)),
        }
        for world in &found.worlds {
            let mut after = None;
            loop {
                let page = store.chats(world, after.as_ref(), PAGE).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.id.clone());
                found.chats.extend(page.into_iter().map(|chat| chat.id));
            }
        }
        Ok(found)
    }
}
