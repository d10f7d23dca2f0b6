//! Finds chats that owe work and takes them up: at the start, when their time has come, and when another process
//! left an input. One indexed query, so what only waits for a person costs nothing.

use std::sync::Arc;

use agent_world_core::ids::ChatId;

use crate::chat_task;
use crate::engine::{Mode, Shared};
use crate::error::Error;

/// Chats taken up at once; the rest follows in the next page.
const PAGE: usize = 256;

/// Runs until the engine shuts down.
pub(crate) async fn watch(shared: Arc<Shared>) {
    let mut seen = None;
    loop {
        if let Err(error) = look(&shared, &mut seen).await {
            tracing::warn!(%error, "the store could not be asked for due work; trying again");
        }
        tokio::select! {
            biased;
            () = shared.cancelled.cancelled() => return,
            () = tokio::time::sleep(shared.options.poll) => {}
        }
    }
}

async fn look(shared: &Arc<Shared>, seen: &mut Option<u64>) -> Result<(), Error> {
    // What is stored at the start needs no telling: subscribers read it, and due chats are found below.
    let after = match *seen {
        Some(position) => position,
        None => shared.store.position().await?,
    };
    let changes = shared.store.changes(after).await?;
    // Whoever is told that settings have changed must not find the old ones.
    for world in &changes.worlds {
        shared.worlds.forget(world);
        if shared.store.world(world).await?.is_none() {
            shared.toolbox.forget(world);
        }
    }
    if !changes.worlds.is_empty() {
        // A granted rule may settle what waits anywhere, and a deleted world takes its chats along.
        chat_task::tell_all(shared);
    }
    for (chat, seq) in &changes.chats {
        chat_task::tell_changed(shared, chat, *seq);
    }
    if *seen < Some(changes.position) {
        shared.feed.stored(changes.position);
    }
    *seen = Some(changes.position);
    if shared.mode == Mode::Worker {
        take_up_due(shared).await?;
    }
    Ok(())
}

async fn take_up_due(shared: &Arc<Shared>) -> Result<(), Error> {
    let now = shared.environment.now();
    let mut after: Option<ChatId> = None;
    loop {
        let page = shared.store.due(now, after.as_ref(), PAGE).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.clone());
        for chat in page {
            chat_task::take_up(shared, &chat);
        }
    }
}
