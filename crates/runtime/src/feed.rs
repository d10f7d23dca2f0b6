//! Brings events to whoever follows along: stored ones by cursor, pieces of replies as they come.
//! A signal says that something is new; the subscriber reads the log from its cursor. So a lost signal loses nothing but
//! pieces, which the stored reply makes good. A signal of this process brings short events along: whoever has read up to
//! the place right before them need not ask the store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use agent_world_core::ids::{AgentId, CallId, ChatId, MessageId, WorldId};
use agent_world_store::{Scope, Store, StoredEvent};
use agent_world_tools::watcher::Channel;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use crate::error::Error;

/// Signals a slow subscriber may fall behind before it skips to the log: it then misses pieces, never events.
const SIGNALS_KEPT: usize = 4_096;
/// Events read at once.
const PAGE: usize = 256;
/// Bytes of events that a signal brings along at most: a subscriber that falls behind holds about twice that for each, the
/// texts and what they say.
const BROUGHT: usize = 8 * 1024;

/// A piece of a reply while it is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    pub world: WorldId,
    pub chat: ChatId,
    pub agent: AgentId,
    /// The id the reply will have.
    pub message: MessageId,
    /// Characters of text that came before; 0 begins anew, also after the call was repeated.
    pub offset: usize,
    pub text: String,
    pub reasoning: String,
    /// Counts the pieces of all replies of this process: see [`Begun`].
    pub number: u64,
}

/// What there is of the replies that are being made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Begun {
    /// The newest piece of all: those with a number up to it are in these texts, those after it are not.
    pub number: u64,
    /// Each from its beginning.
    pub replies: Vec<Arc<Chunk>>,
}

/// A piece of what a tool writes while it runs. Whoever joins later gets what follows; the result has everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub world: WorldId,
    pub chat: ChatId,
    pub agent: AgentId,
    pub call: CallId,
    pub channel: Channel,
    pub text: String,
}

/// What a subscriber gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedItem {
    Stored(Arc<StoredEvent>),
    Chunk(Arc<Chunk>),
    Output(Arc<ToolOutput>),
}

#[derive(Clone, Debug)]
enum Signal {
    /// Something is new up to this position; what, if it is known.
    Stored(u64, Option<Arc<News>>),
    Chunk(Arc<Chunk>),
    Output(Arc<ToolOutput>),
    Closed,
}

/// What was stored in one chat at once.
#[derive(Debug)]
struct News {
    world: WorldId,
    chat: ChatId,
    /// Empty when they are too long to be passed around.
    events: Vec<Arc<StoredEvent>>,
}

#[derive(Debug)]
pub(crate) struct Feed {
    signals: broadcast::Sender<Signal>,
    partial: Mutex<Partial>,
}

/// The text so far of every reply being made, for those who join in the middle.
#[derive(Debug, Default)]
struct Partial {
    replies: BTreeMap<MessageId, Chunk>,
    /// Of the newest piece.
    number: u64,
}

impl Feed {
    pub fn new() -> Self {
        Self { signals: broadcast::Sender::new(SIGNALS_KEPT), partial: Mutex::default() }
    }

    /// Something was stored somewhere: every subscriber has a look.
    pub fn stored(&self, position: u64) {
        self.send(Signal::Stored(position, None));
    }

    /// Something was stored in one chat: only those who follow it have a look, however many others there are.
    pub fn stored_in(
        &self,
        world: &WorldId,
        chat: &ChatId,
        position: u64,
        events: &[Arc<StoredEvent>],
    ) {
        let length: usize = events.iter().map(|event| event.sealed.payload.len()).sum();
        let brought = if length > BROUGHT { &[] } else { events };
        let news = News { world: world.clone(), chat: chat.clone(), events: brought.to_vec() };
        self.send(Signal::Stored(position, Some(Arc::new(news))));
    }

    /// Begins a reply anew: what was streamed of it before a crash or a retry is void.
    pub fn begin(&self, chunk: Chunk) {
        self.partial().replies.insert(chunk.message.clone(), chunk);
    }

    pub fn piece(&self, message: &MessageId, text: &str, reasoning: &str) {
        let mut known = self.partial();
        let Partial { replies, number } = &mut *known;
        let Some(partial) = replies.get_mut(message) else {
            return;
        };
        *number += 1;
        let chunk = Chunk {
            world: partial.world.clone(),
            chat: partial.chat.clone(),
            agent: partial.agent.clone(),
            message: message.clone(),
            offset: partial.offset,
            text: text.to_owned(),
            reasoning: reasoning.to_owned(),
            number: *number,
        };
        partial.text.push_str(text);
        partial.offset += text.chars().count();
        partial.reasoning.push_str(reasoning);
        // Sent under the lock, so that whoever joins sees each piece once: in the text so far or as a signal.
        self.send(Signal::Chunk(Arc::new(chunk)));
    }

    pub fn output(&self, output: ToolOutput) {
        self.send(Signal::Output(Arc::new(output)));
    }

    pub fn end(&self, message: &MessageId) {
        self.partial().replies.remove(message);
    }

    pub fn close(&self) {
        self.send(Signal::Closed);
    }

    pub fn subscribe(&self, store: Arc<dyn Store>, scope: Scope, after: u64) -> Subscription {
        let partial = self.partial();
        let signals = self.signals.subscribe();
        let begun = partial.begun(&scope).replies.into();
        // Whatever is stored already is new to this subscriber.
        Subscription {
            store,
            scope,
            cursor: after,
            newest: u64::MAX,
            page: VecDeque::new(),
            begun,
            signals,
            closed: false,
        }
    }

    /// What there is now of the replies being made, for a follower who shares a subscription with others.
    pub fn begun(&self, scope: &Scope) -> Begun {
        self.partial().begun(scope)
    }

    // Without subscribers there is nobody to tell.
    fn send(&self, signal: Signal) {
        self.signals.send(signal).ok();
    }

    fn partial(&self) -> std::sync::MutexGuard<'_, Partial> {
        self.partial.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partial {
    fn begun(&self, scope: &Scope) -> Begun {
        let number = self.number;
        let said = |chunk: &&Chunk| !(chunk.text.is_empty() && chunk.reasoning.is_empty());
        let within = self.replies.values().filter(said).filter(|chunk| chunk.is_in(scope));
        let whole = |chunk: &Chunk| Arc::new(Chunk { offset: 0, number, ..chunk.clone() });
        Begun { number, replies: within.map(whole).collect() }
    }
}

impl News {
    /// Whether these are the very next events after a position: nobody else has stored anything in between.
    fn follows(&self, cursor: u64) -> bool {
        let places = cursor.checked_add(1).into_iter().flat_map(|first| first..);
        let mut next = self.events.iter().zip(places).peekable();
        next.peek().is_some() && next.all(|(event, place)| event.position == place)
    }
}

impl Chunk {
    fn is_in(&self, scope: &Scope) -> bool {
        covers(scope, &self.world, &self.chat)
    }
}

fn covers(scope: &Scope, world: &WorldId, chat: &ChatId) -> bool {
    match scope {
        Scope::All => true,
        Scope::World(followed) => followed == world,
        Scope::Chat(followed) => followed == chat,
    }
}

/// Follows a chat, a world or everything from a position on. Every stored event once, in order.
#[derive(Debug)]
pub struct Subscription {
    store: Arc<dyn Store>,
    scope: Scope,
    cursor: u64,
    /// The newest position known to exist; greater than the cursor means there is something to read.
    newest: u64,
    page: VecDeque<Arc<StoredEvent>>,
    begun: VecDeque<Arc<Chunk>>,
    signals: broadcast::Receiver<Signal>,
    /// The engine has shut down, and everything before that was heard.
    closed: bool,
}

impl Subscription {
    /// The next event or piece; none when the engine has shut down.
    pub async fn next(&mut self) -> Result<Option<FeedItem>, Error> {
        loop {
            if let Some(item) = self.at_hand().await? {
                return Ok(Some(item));
            }
            if self.closed {
                return Ok(None);
            }
            let heard = self.signals.recv().await;
            if let Some(item) = self.take_in(heard) {
                return Ok(Some(item));
            }
        }
    }

    /// The next event or piece that is there already. Whoever asks now and then is not woken for each.
    pub async fn next_present(&mut self) -> Result<Option<FeedItem>, Error> {
        loop {
            if let Some(item) = self.at_hand().await? {
                return Ok(Some(item));
            }
            let heard = match self.signals.try_recv() {
                Ok(signal) => Ok(signal),
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                Err(TryRecvError::Closed) => {
                    self.closed = true;
                    return Ok(None);
                }
            };
            if let Some(item) = self.take_in(heard) {
                return Ok(Some(item));
            }
        }
    }

    /// What needs no signal: what was read, and what is known to be in the log.
    async fn at_hand(&mut self) -> Result<Option<FeedItem>, Error> {
        loop {
            if let Some(event) = self.page.pop_front() {
                self.cursor = event.position;
                return Ok(Some(FeedItem::Stored(event)));
            }
            if self.newest <= self.cursor {
                return Ok(self.begun.pop_front().map(FeedItem::Chunk));
            }
            self.read_on().await?;
        }
    }

    fn take_in(&mut self, heard: Result<Signal, RecvError>) -> Option<FeedItem> {
        match heard {
            Ok(Signal::Stored(position, news)) => self.hear(position, news.as_deref()),
            Ok(Signal::Chunk(chunk)) if chunk.is_in(&self.scope) => {
                return Some(FeedItem::Chunk(chunk));
            }
            Ok(Signal::Output(output)) if covers(&self.scope, &output.world, &output.chat) => {
                return Some(FeedItem::Output(output));
            }
            Ok(Signal::Chunk(_) | Signal::Output(_)) => {}
            Err(RecvError::Lagged(_)) => self.newest = u64::MAX,
            Ok(Signal::Closed) | Err(RecvError::Closed) => self.closed = true,
        }
        None
    }

    fn hear(&mut self, position: u64, news: Option<&News>) {
        if let Some(News { world, chat, .. }) = news
            && !covers(&self.scope, world, chat)
        {
            return;
        }
        match news {
            Some(news) if self.scope == Scope::All && news.follows(self.cursor) => {
                self.page.extend(news.events.iter().cloned());
            }
            _ => self.newest = self.newest.max(position),
        }
    }

    /// The position of the last event given out.
    pub fn cursor(&self) -> u64 {
        self.cursor
    }

    // A short page is the end of the log as of now: what is newer will be signalled.
    async fn read_on(&mut self) -> Result<(), Error> {
        let newest = match self.newest {
            u64::MAX => self.store.position().await?,
            known => known,
        };
        let page = self.store.events(&self.scope, self.cursor, PAGE).await?;
        if page.len() < PAGE {
            // Events of other scopes are passed over.
            let last = page.last().map_or(self.cursor, |event| event.position);
            if page.is_empty() {
                self.cursor = self.cursor.max(newest);
            }
            self.newest = newest.max(last);
        }
        self.page = page.into_iter().map(Arc::new).collect();
        Ok(())
    }
}
