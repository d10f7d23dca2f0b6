//! Decides whether what is stored can be believed: whether a log is unbroken, and whether the read models say what
//! the log says.
//! Called for `agent-world verify`, by the simulation and by tests. Only reads, through the same trait as everybody else.

mod audit;
mod everything;
mod read_models;
mod settings;

use agent_world_core::chain::Head;
use agent_world_core::event::FORMAT;
use agent_world_core::ids::{ChatId, WorldId};

use crate::error::Error;
use crate::placing::WORLD_CHANGED;
use crate::types::{Scope, StoredEvent};
use crate::{Store, types};

pub use everything::{Report, verify_everything};
pub use read_models::compare_read_models;

/// Events read at a time.
const PAGE: usize = 1_000;

/// What was looked at and found whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    pub events: u64,
    pub head: Head,
}

/// Why something stored cannot be believed.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The first event that is not what its predecessor and the chat's head say it must be.
    #[error("the log of {log} is broken at event {seq}: {why}")]
    Log { log: String, seq: u64, why: String },
    /// The log may be whole; what was derived from it is not what it says.
    #[error("{model} of chat {chat} is not what its log says: {why}")]
    ReadModel { chat: ChatId, model: &'static str, why: String },
    /// What the world allows and is set to is not what was decided.
    #[error("the {what} of world {world} are not what its log says: {why}")]
    Settings { world: WorldId, what: &'static str, why: String },
    #[error("the audit of world {world} is not what its log says: {why}")]
    Audit { world: WorldId, why: String },
    #[error("chat {0} does not exist")]
    UnknownChat(ChatId),
    #[error(transparent)]
    Store(#[from] Error),
}

/// Walks the log of a chat from its first event to its head.
pub async fn verify(store: &dyn Store, chat: &ChatId) -> Result<Verified, Broken> {
    let Some(before) = store.load(chat).await? else {
        return Err(Broken::UnknownChat(chat.clone()));
    };
    let mut walk = Walk::new(format!("chat {chat}"));
    walk.through(store, &Scope::Chat(chat.clone()), before.head.seq, |event, walk| {
        let read = event.sealed.open().map_err(|error| walk.broken(error.to_string()))?;
        if read.event.kind() != event.sealed.kind {
            let (kind, is) = (&event.sealed.kind, read.event.kind());
            return Err(walk.broken(format!("it is filed as `{kind}` and says `{is}`")));
        }
        Ok(())
    })
    .await?;
    if walk.head != before.head {
        let why = format!("the log ends there, the chat's head is event {}", before.head.seq);
        return Err(walk.broken(why));
    }
    Ok(Verified { events: walk.head.seq, head: walk.head })
}

/// Walks a world's own log: the changes of its settings. It outlives the world. Then compares the settings and
/// granted rules that are stored with those that the events of the world and its chats tell of, and the audit of its
/// changes and the statistics with what they are made from.
pub async fn verify_world(store: &dyn Store, world: &WorldId) -> Result<Verified, Broken> {
    let mut walk = Walk::new(format!("world {world}"));
    walk.through(store, &Scope::World(world.clone()), u64::MAX, |event, walk| {
        let read: Result<types::WorldChange, _> = serde_json::from_str(&event.sealed.payload);
        match read {
            Err(error) => Err(walk.broken(format!("it cannot be read: {error}"))),
            Ok(_) if event.sealed.kind != WORLD_CHANGED => {
                Err(walk.broken(format!("it is filed as `{}`", event.sealed.kind)))
            }
            Ok(_) => Ok(()),
        }
    })
    .await?;
    settings::compare(store, world).await?;
    audit::compare(store, world).await?;
    Ok(Verified { events: walk.head.seq, head: walk.head })
}

/// A place in a log up to which everything was right.
struct Walk {
    log: String,
    head: Head,
}

impl Walk {
    fn new(log: String) -> Self {
        Self { log, head: Head::default() }
    }

    /// Checks every event up to a number. What was appended after the caller looked is not walked.
    async fn through(
        &mut self,
        store: &dyn Store,
        scope: &Scope,
        last: u64,
        mut check: impl FnMut(&StoredEvent, &Self) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        let mut after = 0;
        loop {
            let page = store.events(scope, after, PAGE).await?;
            let Some(end) = page.last() else {
                return Ok(());
            };
            after = end.position;
            let of_chat = matches!(scope, Scope::Chat(_));
            for event in page.iter().filter(|event| event.chat.is_some() == of_chat) {
                if event.sealed.seq > last {
                    return Ok(());
                }
                self.step(event)?;
                check(event, self)?;
            }
        }
    }

    fn step(&mut self, event: &StoredEvent) -> Result<(), Broken> {
        let sealed = &event.sealed;
        let expected = self.head.seq + 1;
        if sealed.seq != expected {
            let found = sealed.seq;
            self.head.seq = expected;
            return Err(self.broken(format!("it is missing; event {found} comes next")));
        }
        let previous = std::mem::replace(&mut self.head, sealed.head());
        if sealed.hash != sealed.hash_after(previous.hash) {
            return Err(self.broken("it or the event before it was changed".to_owned()));
        }
        if sealed.version > FORMAT {
            return Err(self.broken("a newer agent-world wrote it; update to read it".to_owned()));
        }
        Ok(())
    }

    fn broken(&self, why: String) -> Broken {
        Broken::Log { log: self.log.clone(), seq: self.head.seq, why }
    }
}
