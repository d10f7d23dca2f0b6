//! Says what is still to be done: in one chat, or anywhere in a store.
//! Asked by every command that waits. Never does any of it.

use std::time::{Duration, Instant};

use agent_world_core::Timestamp;
use agent_world_core::ids::ChatId;
use agent_world_runtime::Standing;
use agent_world_store::Store;
use anyhow::{Result, anyhow};

use crate::setup::Session;
use crate::signals::Signals;

const PAGE: usize = 500;
/// How often a store is asked whether everything is done.
const LOOK: Duration = Duration::from_millis(50);
/// Work that takes longer than this is mentioned.
const NOTICEABLE: Duration = Duration::from_secs(1);

pub async fn standing(store: &dyn Store, id: &ChatId) -> Result<Standing> {
    match Standing::of(store, id, Timestamp::now()).await {
        Err(agent_world_runtime::Error::UnknownChat(_)) => Err(anyhow!(
            "chat {id} does not exist; `agent-world chat list` shows the chats of a world"
        )),
        standing => Ok(standing?),
    }
}

/// Chats that owe something now. One that cannot be read is told apart: waiting for it would never end.
#[derive(Debug, Default)]
pub struct Owing {
    pub chats: Vec<ChatId>,
    pub unreadable: Vec<(ChatId, anyhow::Error)>,
}

pub async fn owing(store: &dyn Store) -> Result<Owing> {
    let mut owing = Owing::default();
    let due = store.due(Timestamp::now(), None, PAGE).await?;
    for chat in due {
        match standing(store, &chat).await {
            Ok(_) => owing.chats.push(chat),
            Err(error) => owing.unreadable.push((chat, error)),
        }
    }
    Ok(owing)
}

/// Waits until nothing is under way in any chat, or somebody wants the program to end. The process that works does
/// so for all: ending it in the middle of a tool would leave that tool's fate unknown.
pub async fn finish(session: &Session, signals: &mut Signals) -> Result<()> {
    let start = Instant::now();
    let mut mentioned = false;
    while !session.is_visitor() {
        let left = owing(session.store()).await?.chats.len();
        if left == 0 {
            break;
        }
        if !mentioned && start.elapsed() > NOTICEABLE {
            mentioned = true;
            eprintln!("finishing what is under way in other chats ({left}); Ctrl-C leaves it");
        }
        tokio::select! {
            _ = signals.next() => break,
            () = tokio::time::sleep(LOOK) => {}
        }
    }
    Ok(())
}
