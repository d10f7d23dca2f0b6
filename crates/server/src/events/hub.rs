//! Hands what happens to all who follow it, live: reads the log once and encodes once, however many they are.
//!
//! One task follows the engine for the whole process, as long as anybody listens, and puts frames into the mailboxes of
//! those whose chat or world it is. It never waits for a reader.
//!
//! **No gap and no repeat.** Whoever joins has a mailbox *before* it reads the log, and reads the log to its end *after*
//! that. An event that the hub handed out before the mailbox was there was stored before, so the reading finds it; one
//! that it hands out later is in the mailbox. What is found in both has the same number and is sent once. So joining needs
//! no agreement on a position, and leaving anybody behind (see `mailbox`) is joining again.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_world_core::ids::{ChatId, WorldId};
use agent_world_runtime::store::{Error, Scope, Store, StoredEvent};
use agent_world_runtime::{Begun, Chunk, Engine, FeedItem, Subscription, ToolOutput};
use tokio_util::sync::CancellationToken;

use super::Topic;
use super::frame::Frame;
use super::live::Live;
use super::mailbox::{Closed, Mailbox};
use super::telling::{Ends, Telling, Told, is_lasting};
use super::wire::{Form, Kind, Wish};

/// How long the hub waits before it asks a store again that did not answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Where all streams of a server come from. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    engine: Engine,
    stopping: CancellationToken,
    telling: Telling,
    readers: Mutex<Readers>,
    live: Live,
}

#[derive(Debug, Default)]
struct Readers {
    /// Whether the task runs. It begins with the first reader and ends when it finds none.
    served: bool,
    all: Vec<Arc<Mailbox>>,
    worlds: HashMap<WorldId, Vec<Arc<Mailbox>>>,
    chats: HashMap<ChatId, Vec<Arc<Mailbox>>>,
}

/// A reader's place among those who are told. Dropping it leaves.
#[derive(Debug)]
pub(super) struct Place {
    hub: Hub,
    topic: Topic,
    pub mailbox: Arc<Mailbox>,
}

impl Hub {
    pub fn new(engine: Engine, stopping: CancellationToken) -> Self {
        let telling = Telling::new(Arc::clone(engine.store()));
        let shared =
            Shared { engine, stopping, telling, readers: Mutex::default(), live: Live::default() };
        Self { shared: Arc::new(shared) }
    }

    pub(super) fn store(&self) -> &dyn Store {
        self.shared.telling.store()
    }

    pub(super) fn telling(&self) -> &Telling {
        &self.shared.telling
    }

    /// The replies that are being made.
    pub(super) fn begun(&self, topic: &Topic) -> Begun {
        self.shared.engine.begun(&topic.scope())
    }

    /// What there is of a reply, for somebody who joins.
    pub(super) async fn begun_frame(&self, reply: &Chunk, form: Form) -> Option<Frame> {
        let blocks = match form {
            Form::Plain => None,
            Form::Html => Some(self.shared.live.all(self.store(), reply).await),
        };
        made(Frame::of_chunk(reply, blocks))
    }

    /// From now on everything about a topic is put into the mailbox.
    pub(super) async fn join(&self, topic: Topic, wish: Wish) -> Result<Place, Error> {
        // Where the hub would begin if it does not run. Read before the mailbox is there, as the log is after it.
        let position = self.store().position().await?;
        let world = match &topic {
            Topic::Chat(world, _) => Some(world.clone()),
            Topic::World(_) | Topic::All => None,
        };
        let mailbox = Arc::new(Mailbox::new(world, wish, position));
        let mut readers = self.shared.readers();
        readers.of(&topic).push(Arc::clone(&mailbox));
        if !readers.served {
            readers.served = true;
            let subscription = self.shared.engine.subscribe(Scope::All, position);
            tokio::spawn(serve(Arc::clone(&self.shared), subscription));
        }
        drop(readers);
        Ok(Place { hub: self.clone(), topic, mailbox })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.hub.shared.readers().remove(&self.topic, &self.mailbox);
    }
}

async fn serve(shared: Arc<Shared>, mut subscription: Subscription) {
    let stopping = shared.stopping.clone();
    let mut stopped = std::pin::pin!(stopping.cancelled());
    loop {
        let item = tokio::select! {
            item = subscription.next() => item,
            () = &mut stopped => Ok(None),
        };
        let goes_on = match item {
            Ok(Some(FeedItem::Stored(event))) => shared.pass_event(&event).await,
            Ok(Some(FeedItem::Chunk(chunk))) => shared.pass_chunk(&chunk).await,
            Ok(Some(FeedItem::Output(output))) => shared.pass_output(&output),
            Ok(None) => shared.close_all(Closed::Stopping),
            Err(agent_world_runtime::Error::Store(error)) if is_lasting(&error) => {
                // Asked again, it would say the same. Whoever comes back begins behind it.
                tracing::error!(%error, "the event streams end: the log cannot be read on");
                shared.close_all(Closed::Unreadable)
            }
            Err(error) => {
                tracing::warn!(%error, "the event streams wait for the store");
                tokio::time::sleep(PATIENCE).await;
                Service::GoesOn
            }
        };
        if goes_on == Service::Ends {
            return;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Service {
    GoesOn,
    Ends,
}

impl Shared {
    fn readers(&self) -> MutexGuard<'_, Readers> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass_event(&self, event: &StoredEvent) -> Service {
        {
            let mut readers = self.readers();
            if readers.are_none() {
                readers.served = false;
                return Service::Ends;
            }
            if !readers.follow(event) {
                return Service::GoesOn;
            }
        }
        let Some(plain) = self.told(event, Form::Plain).await else {
            return Service::GoesOn;
        };
        let mut told = Both { plain, html: None };
        if let Some(ended) = &told.plain.ended {
            self.live.forget(ended);
        }
        // Somebody may come in meanwhile who wants it otherwise.
        while !self.readers().hand_out(&told) {
            told.html = self.told(event, Form::Html).await;
            if told.html.is_none() {
                return Service::GoesOn;
            }
        }
        Service::GoesOn
    }

    /// Asks until the store answers; nothing when the server stops.
    async fn told(&self, event: &StoredEvent, form: Form) -> Option<Arc<Told>> {
        loop {
            match self.telling.tell(event, form).await {
                Ok(told) => return Some(told),
                Err(_) if self.stopping.is_cancelled() => return None,
                Err(error) => {
                    tracing::warn!(%error, "the event streams wait for the store");
                    tokio::time::sleep(PATIENCE).await;
                }
            }
        }
    }

    async fn pass_chunk(&self, chunk: &Chunk) -> Service {
        let wants_html = {
            let readers = self.readers();
            let mut about = readers.about(&chunk.world, Some(&chunk.chat));
            about.any(|mailbox| mailbox.wish.form == Form::Html && mailbox.wants(Kind::Stream))
        };
        let blocks = match wants_html {
            true => Some(self.live.changed(self.telling.store(), &self.engine, chunk).await),
            false => None,
        };
        let plain = LazyCell::new(|| made(Frame::of_chunk(chunk, None)));
        // Whoever came in meanwhile reads the log first, and then gets all there is of the reply.
        let html = LazyCell::new(|| made(Frame::of_chunk(chunk, blocks)));
        let frame = |form| match form {
            Form::Plain => plain.as_ref(),
            Form::Html => html.as_ref(),
        };
        self.pass_piece(Kind::Stream, (&chunk.world, &chunk.chat), frame)
    }

    fn pass_output(&self, output: &ToolOutput) -> Service {
        let frame = LazyCell::new(|| made(Frame::of_output(output)));
        self.pass_piece(Kind::Tool, (&output.world, &output.chat), |_| frame.as_ref())
    }

    /// Encoded when the first reader wants it, for all.
    fn pass_piece<'f>(
        &self,
        kind: Kind,
        (world, chat): (&WorldId, &ChatId),
        frame: impl Fn(Form) -> Option<&'f Frame>,
    ) -> Service {
        let mut readers = self.readers();
        if readers.are_none() {
            readers.served = false;
            return Service::Ends;
        }
        for mailbox in readers.about(world, Some(chat)) {
            mailbox.put_piece(kind, || frame(mailbox.wish.form));
        }
        Service::GoesOn
    }

    fn close_all(&self, why: Closed) -> Service {
        let mut readers = self.readers();
        readers.served = false;
        readers.everybody().for_each(|mailbox| mailbox.close(why));
        Service::Ends
    }
}

fn made(frame: Result<Frame, serde_json::Error>) -> Option<Frame> {
    frame.inspect_err(|error| tracing::error!(%error, "a piece cannot be told")).ok()
}

impl Readers {
    fn of(&mut self, topic: &Topic) -> &mut Vec<Arc<Mailbox>> {
        match topic {
            Topic::All => &mut self.all,
            Topic::World(world) => self.worlds.entry(world.clone()).or_default(),
            Topic::Chat(_, chat) => self.chats.entry(chat.clone()).or_default(),
        }
    }

    fn remove(&mut self, topic: &Topic, mailbox: &Arc<Mailbox>) {
        let list = self.of(topic);
        if let Some(index) = list.iter().position(|other| Arc::ptr_eq(other, mailbox)) {
            list.swap_remove(index);
        }
        if list.is_empty() {
            match topic {
                Topic::All => {}
                Topic::World(world) => drop(self.worlds.remove(world)),
                Topic::Chat(_, chat) => drop(self.chats.remove(chat)),
            }
        }
    }

    fn are_none(&self) -> bool {
        self.all.is_empty() && self.worlds.is_empty() && self.chats.is_empty()
    }

    /// Whether anybody is to hear of an event. A change of a world can be its end, which ends its chats.
    fn follow(&self, event: &StoredEvent) -> bool {
        self.about(&event.world, event.chat.as_ref()).next().is_some()
            || (event.chat.is_none() && self.in_world(&event.world).next().is_some())
    }

    fn about(&self, world: &WorldId, chat: Option<&ChatId>) -> impl Iterator<Item = &Arc<Mailbox>> {
        let of_world = self.worlds.get(world).into_iter().flatten();
        let of_chat = chat.and_then(|chat| self.chats.get(chat)).into_iter().flatten();
        self.all.iter().chain(of_world).chain(of_chat)
    }

    /// Those who follow a chat of a world.
    fn in_world(&self, world: &WorldId) -> impl Iterator<Item = &Arc<Mailbox>> {
        let followers = self.chats.values().flatten();
        followers.filter(move |mailbox| mailbox.world.as_ref() == Some(world))
    }

    fn everybody(&self) -> impl Iterator<Item = &Arc<Mailbox>> {
        let of_worlds = self.worlds.values().flatten();
        self.all.iter().chain(of_worlds).chain(self.chats.values().flatten())
    }

    /// Whether all could be handed what they want: otherwise nobody was.
    fn hand_out(&self, both: &Both) -> bool {
        let told = both.plain.as_ref();
        let wants_html = |mailbox: &Arc<Mailbox>| mailbox.wish.form == Form::Html;
        let mut about = self.about(&told.world, told.chat.as_ref());
        if both.html.is_none() && about.any(wants_html) {
            return false;
        }
        let about = self.about(&told.world, told.chat.as_ref());
        about.for_each(|mailbox| mailbox.put(both.told(mailbox.wish.form)));
        match (told.ends, &told.chat) {
            (Ends::Nothing, _) => {}
            (Ends::Chat, chat) => {
                let followers = chat.as_ref().and_then(|chat| self.chats.get(chat));
                let followers = followers.into_iter().flatten();
                followers.for_each(|mailbox| mailbox.end_with(told));
            }
            (Ends::World, _) => {
                let followers = self.worlds.get(&told.world).into_iter().flatten();
                followers.for_each(|mailbox| mailbox.end_with(told));
                // A chat's log is gone with its world, and with it the event that says so.
                let followers = self.in_world(&told.world);
                followers.filter(|mailbox| mailbox.hears_of(told)).for_each(|mailbox| {
                    mailbox.put(told);
                    mailbox.end_with(told);
                });
            }
        }
        true
    }
}

/// An event in both forms; as HTML only where somebody wants it.
struct Both {
    plain: Arc<Told>,
    html: Option<Arc<Told>>,
}

impl Both {
    fn told(&self, form: Form) -> &Told {
        match form {
            Form::Plain => &self.plain,
            Form::Html => self.html.as_ref().unwrap_or(&self.plain),
        }
    }
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
