//! A chat as this process knows it, and the one way to change it: decide, then append, then believe.
//! Used by chat tasks and, where another process performs the work, by the engine directly.

use std::sync::Arc;

use agent_world_core::apply::apply;
use agent_world_core::chain::{self, Head, Recorded, Sealed};
use agent_world_core::chat::Chat;
use agent_world_core::command::{Command, Input};
use agent_world_core::config::Rules;
use agent_world_core::decide::decide;
use agent_world_core::event::Event;
use agent_world_core::ids::ChatId;
use agent_world_core::outstanding::{outstanding, wake};
use agent_world_core::view::{self, Row};
use agent_world_store::{
    Append, Appended, AtHand, Epoch, Idempotency, Scope, Snapshot, Store, StoredEvent,
};

use crate::environment::Environment;
use crate::error::Error;
use crate::kill_point;

/// Events after which a new snapshot is stored: what a load has to fold at most, roughly.
const SNAPSHOT_EVERY: u64 = 64;
/// Events read at once when the whole log is folded.
const PAGE: usize = 1_000;

#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub chat: Chat,
    pub head: Head,
    snapshot: u64,
}

/// What a command led to. Empty when there was nothing to record.
#[derive(Clone, Debug, Default)]
pub(crate) struct Committed {
    pub events: Vec<Arc<Recorded>>,
    pub rows: Vec<Row>,
    pub position: Option<u64>,
    /// The events as the store gives them to whoever reads it.
    pub stored: Vec<Arc<StoredEvent>>,
}

/// What a commit is made with besides the command.
pub(crate) struct Terms<'a> {
    pub store: &'a dyn Store,
    pub environment: &'a dyn Environment,
    pub rules: Rules<'a>,
    pub fence: Option<Epoch>,
    pub key: Option<String>,
}

impl Ledger {
    pub fn unborn(id: ChatId) -> Self {
        Self { chat: Chat::unborn(id), head: Head::default(), snapshot: 0 }
    }

    /// Folds the newest snapshot and what came after it.
    pub async fn load(store: &dyn Store, id: &ChatId) -> Result<Option<Self>, Error> {
        let Some(loaded) = store.load(id).await? else {
            return Ok(None);
        };
        let snapshot = loaded.snapshot.as_ref();
        let known =
            snapshot.and_then(|known| Some((Chat::from_snapshot(&known.state)?, known.seq)));
        let (mut chat, seq) = match known {
            Some(known) => known,
            // Written by another version of this program: the log has everything.
            None if snapshot.is_some() => {
                return Self::fold(store, id, loaded.head).await.map(Some);
            }
            None => (Chat::unborn(id.clone()), 0),
        };
        for sealed in &loaded.events {
            apply(&mut chat, &sealed.open().map_err(agent_world_store::Error::from)?);
        }
        Ok(Some(Self { chat, head: loaded.head, snapshot: seq }))
    }

    /// Folds the whole log up to a head.
    async fn fold(store: &dyn Store, id: &ChatId, head: Head) -> Result<Self, Error> {
        let scope = Scope::Chat(id.clone());
        let mut chat = Chat::unborn(id.clone());
        let mut after = 0;
        while chat.head < head.seq {
            let page = store.events(&scope, after, PAGE).await?;
            let Some(last) = page.last() else { break };
            after = last.position;
            for event in page.iter().filter(|event| event.sealed.seq <= head.seq) {
                apply(&mut chat, &event.sealed.open().map_err(agent_world_store::Error::from)?);
            }
        }
        Ok(Self { chat, head, snapshot: 0 })
    }

    /// Decides a command and makes what follows durable. On any error this ledger is as before.
    pub async fn commit(&mut self, command: Command, terms: Terms<'_>) -> Result<Committed, Error> {
        let at = terms.environment.now();
        let input = Input { at, entropy: terms.environment.entropy(), command };
        let events = decide(&self.chat, terms.rules, input)?;
        if events.is_empty() {
            return Ok(Committed::default());
        }
        let mut chat = self.chat.clone();
        let mut head = self.head;
        let (mut sealed, mut rows, mut recorded) = (Vec::new(), Vec::new(), Vec::new());
        for event in events {
            let next = Recorded { seq: head.seq + 1, at, event };
            let seal = chain::seal(head, &next).map_err(agent_world_store::Error::from)?;
            head = seal.head();
            sealed.push(seal);
            let before = chat.clone();
            apply(&mut chat, &next);
            rows.extend(view::rows(&before, &chat, &next));
            recorded.push(Arc::new(next));
        }
        settle_glances(&mut rows, &self.chat, &chat);
        let copied =
            |recorded: &Arc<Recorded>| matches!(recorded.event, Event::HistoryCopied { .. });
        let snapshot = self.snapshot_of(&chat, recorded.iter().any(copied))?;
        let written = sealed.clone();
        let append = Append {
            chat: chat.id.clone(),
            world: chat.world.clone(),
            world_version: terms.rules.world.version,
            expected: self.head,
            fence: terms.fence,
            events: sealed,
            rows: rows.clone(),
            view: view::chat_view(&chat, at),
            life: chat.life,
            wake: wake(&outstanding(&chat)),
            snapshot: snapshot.clone(),
            idempotency: terms.key.map(|key| Idempotency { key, outcome: receipt(&recorded) }),
        };
        kill_point::reached(kill_point::BEFORE_APPEND);
        let Appended { position, positions } = terms.store.append(append).await?;
        kill_point::reached(kill_point::AFTER_APPEND);
        self.snapshot = snapshot.map_or(self.snapshot, |snapshot| snapshot.seq);
        let stored = stored(&chat, written, &recorded, &positions, &rows);
        self.chat = chat;
        self.head = head;
        Ok(Committed { events: recorded, rows, position: Some(position), stored })
    }

    // Copied history is long and leaves no trace in the state: nobody should have to read it twice.
    fn snapshot_of(&self, chat: &Chat, copied: bool) -> Result<Option<Snapshot>, Error> {
        if chat.head < self.snapshot + SNAPSHOT_EVERY && !copied {
            return Ok(None);
        }
        let state = chat.to_snapshot().map_err(agent_world_store::Error::from)?;
        Ok(Some(Snapshot { seq: chat.head, state }))
    }
}

/// What a reader of the log would find.
fn stored(
    chat: &Chat,
    written: Vec<Sealed>,
    recorded: &[Arc<Recorded>],
    positions: &[u64],
    rows: &[Row],
) -> Vec<Arc<StoredEvent>> {
    let glance = |of: u64| {
        rows.iter().find_map(|row| match row {
            Row::Glance { seq, glance } if *seq == of => Some(Box::new(glance.clone())),
            _ => None,
        })
    };
    let places = positions.iter().copied().zip(recorded);
    let found = written.into_iter().zip(places).map(|(sealed, (position, recorded))| StoredEvent {
        position,
        world: chat.world.clone(),
        chat: Some(chat.id.clone()),
        glance: glance(sealed.seq),
        sealed,
        at_hand: AtHand(Some(Arc::clone(recorded))),
    });
    found.map(Arc::new).collect()
}

/// What goes on in the middle of a command is over before anybody can look: a turn that ends for the next to begin leaves
/// no moment in which the chat rests. Only what goes on after it is kept, with its last event.
fn settle_glances(rows: &mut Vec<Row>, before: &Chat, after: &Chat) {
    rows.retain(|row| !matches!(row, Row::Glance { .. }));
    let glance = view::glance(after);
    if glance != view::glance(before) {
        rows.push(Row::Glance { seq: after.head, glance });
    }
}

/// What a repeated request is answered with: the events the first one caused.
fn receipt(recorded: &[Arc<Recorded>]) -> String {
    let seq = recorded.first().map_or(0, |first| first.seq);
    seq.to_string()
}
