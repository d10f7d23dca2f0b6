//! The embedder's API: start an engine on a store, then post, decide, subscribe.
//! Every input goes to the chat's task or, where another process performs the work, straight into the log.

mod chats;
mod decisions;
mod worlds;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_world_core::chain::Recorded;
use agent_world_core::command::Command;
use agent_world_core::config::{Rules, Tools, World};
use agent_world_core::event::Event;
use agent_world_core::ids::{ChatId, WorldId};
use agent_world_core::item::Part;
use agent_world_llm::Models;
use agent_world_store::{self as store, NodeId, Scope, Store};
use agent_world_tools::{Registry, Source, Unusable};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::chat_task::{self, Handle};
use crate::environment::{Environment, System};
use crate::error::Error;
use crate::feed::{Begun, Feed, Subscription};
use crate::ledger::{Committed, Ledger, Terms};
use crate::read_result::ReadResult;
use crate::recover;
use crate::toolbox::Toolbox;
use crate::worlds::Worlds;

pub use chats::{Delivery, NewMessage, Posted};
pub use worlds::WorldPart;

/// Attempts at an input that others keep overtaking.
const ATTEMPTS: u32 = 32;
/// Chats that are read from the store at the same time.
const OPENINGS: usize = 64;
/// Model calls under way at the same time.
const MODEL_CALLS: usize = 256;
/// Events read at once when a whole log is needed.
const PAGE: usize = 1_000;

/// A running engine. Cheap to clone; the last clone does not stop it, [`Engine::shutdown`] does.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
}

/// Whether this process performs effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Performs what chats owe.
    Worker,
    /// Leaves inputs for the worker and looks on.
    Visitor,
}

/// How an engine behaves where a choice is reasonable.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a chat with nothing to do stays in memory.
    pub idle_grace: Duration,
    /// How often the store is asked for what other processes wrote, and for what has come due.
    pub poll: Duration,
    /// How long a cancelled tool may take to end before it is dropped.
    pub cancel_grace: Duration,
    /// Inputs one chat holds before it answers that it is overloaded.
    pub mailbox: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            idle_grace: Duration::from_secs(10),
            poll: Duration::from_millis(500),
            cancel_grace: Duration::from_secs(5),
            mailbox: 256,
        }
    }
}

#[derive(Debug)]
pub struct Builder {
    store: Arc<dyn Store>,
    models: Models,
    tools: Registry,
    sources: Vec<Arc<dyn Source>>,
    environment: Arc<dyn Environment>,
    options: Options,
    mode: Mode,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub store: Arc<dyn Store>,
    pub models: Models,
    pub toolbox: Toolbox,
    pub environment: Arc<dyn Environment>,
    pub options: Options,
    pub mode: Mode,
    pub node: NodeId,
    pub worlds: Worlds,
    pub feed: Feed,
    /// In a stable order: chats that are told something hear it in the same order in every simulation.
    pub chats: Mutex<BTreeMap<ChatId, Handle>>,
    pub cancelled: CancellationToken,
    pub tasks: TaskTracker,
    /// Chats that are read at the same time.
    pub openings: Semaphore,
    /// Model calls that are made at the same time; further ones wait for a place.
    pub model_calls: Semaphore,
}

impl Builder {
    pub fn model(mut self, vendor: &str, model: Arc<dyn agent_world_llm::Model>) -> Self {
        self.models = self.models.with(vendor, model);
        self
    }

    /// Further vendors; of two with the same name, the one added last.
    pub fn models(mut self, models: Models) -> Self {
        self.models = self.models.and(models);
        self
    }

    pub fn tool(mut self, tool: Arc<dyn agent_world_tools::Tool>) -> Result<Self, Unusable> {
        self.tools.add(tool)?;
        Ok(self)
    }

    /// Tools that come and go: of MCP servers.
    pub fn source(mut self, source: Arc<dyn Source>) -> Self {
        self.sources.push(source);
        self
    }

    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = environment;
        self
    }

    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Starts the engine on the present tokio runtime. Chats that owe work are taken up at once.
    pub fn start(mut self) -> Result<Engine, Unusable> {
        self.tools.add(Arc::new(ReadResult::new(Arc::clone(&self.store))))?;
        let shared = Arc::new(Shared {
            toolbox: Toolbox::new(self.tools, self.sources),
            node: NodeId(format!("{:032x}", self.environment.entropy())),
            store: self.store,
            models: self.models,
            environment: self.environment,
            options: self.options,
            mode: self.mode,
            worlds: Worlds::default(),
            feed: Feed::new(),
            chats: Mutex::default(),
            cancelled: CancellationToken::new(),
            tasks: TaskTracker::new(),
            openings: Semaphore::new(OPENINGS),
            model_calls: Semaphore::new(MODEL_CALLS),
        });
        shared.tasks.spawn(recover::watch(Arc::clone(&shared)));
        Ok(Engine { shared })
    }
}

impl Engine {
    pub fn builder(store: Arc<dyn Store>) -> Builder {
        Builder {
            store,
            models: Models::default(),
            tools: Registry::default(),
            sources: Vec::new(),
            environment: Arc::new(System),
            options: Options::default(),
            mode: Mode::Worker,
        }
    }

    /// The store, for everything that is only looked up.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The models that can be asked.
    pub fn models(&self) -> &Models {
        &self.shared.models
    }

    /// What the program's own tools say about themselves.
    pub fn tools(&self) -> &Tools {
        self.shared.toolbox.own_specs()
    }

    /// What all tools of a world say about themselves, as far as they are known by now.
    pub fn tools_of(&self, world: &World) -> Arc<Tools> {
        self.shared.toolbox.specs(world)
    }

    /// Returns when a world's tools are known, or known not to be had for now.
    pub async fn tools_ready(&self, world: &World) {
        self.shared.toolbox.ready(world).await;
    }

    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    /// Every stored event after a position, once, in order, then live; with pieces of replies as they are made.
    pub fn subscribe(&self, scope: Scope, after: u64) -> Subscription {
        self.shared.feed.subscribe(Arc::clone(&self.shared.store), scope, after)
    }

    /// What there is now of the replies that are being made.
    pub fn begun(&self, scope: &Scope) -> Begun {
        self.shared.feed.begun(scope)
    }

    /// Ends running tools and model calls and returns when all is quiet. What was under way is taken up, or said
    /// to be interrupted, at the next start.
    pub async fn shutdown(&self) {
        self.shared.cancelled.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        self.shared.toolbox.close().await;
        self.shared.feed.close();
    }

    /// Lets go of everything at once, as a crash would. For simulations.
    pub fn abandon(&self) {
        self.shared.cancelled.cancel();
        for handle in std::mem::take(&mut *self.shared.lock_chats()).into_values() {
            handle.abort();
        }
    }

    /// How many chats are held in memory.
    pub fn resident_chats(&self) -> usize {
        self.shared.lock_chats().len()
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    async fn input(
        &self,
        chat: &ChatId,
        command: Command,
        key: Option<String>,
    ) -> Result<Committed, Error> {
        // A key means something within its chat only.
        let key = key.map(|key| format!("{chat}/{key}"));
        let asked = key.as_ref().and_then(|_| asked(&command));
        let result = match self.shared.mode {
            Mode::Worker => chat_task::ask(&self.shared, chat, command, key).await,
            Mode::Visitor => self.shared.submit(chat, command, key).await,
        };
        match result {
            Err(Error::Store(store::Error::Repeated { outcome })) => {
                let first = self.recall(chat, &outcome).await?;
                if first.events.iter().any(|recorded| is_said(recorded, asked.as_ref())) {
                    Ok(first)
                } else {
                    Err(Error::KeyReused)
                }
            }
            result => result,
        }
    }

    /// What a request led to when it was made for the first time.
    async fn recall(&self, chat: &ChatId, outcome: &str) -> Result<Committed, Error> {
        let corrupt = || store::Error::Corrupt(format!("the receipt `{outcome}` is not a number"));
        let seq: u64 = outcome.parse().map_err(|_| corrupt())?;
        let scope = Scope::Chat(chat.clone());
        let mut after = 0;
        loop {
            let page = self.shared.store.events(&scope, after, PAGE).await?;
            let Some(last) = page.last() else {
                return Err(Error::UnknownChat(chat.clone()));
            };
            after = last.position;
            if let Some(first) = page.into_iter().find(|event| event.sealed.seq == seq) {
                return Ok(Committed {
                    events: vec![first.open().map_err(store::Error::from)?],
                    position: Some(first.position),
                    ..Committed::default()
                });
            }
        }
    }
}

impl Shared {
    pub fn lock_chats(&self) -> std::sync::MutexGuard<'_, BTreeMap<ChatId, Handle>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever follows along, and drops settings that a granted rule has changed.
    pub fn committed(&self, world: &WorldId, chat: &ChatId, committed: &Committed) {
        let granted =
            |row: &agent_world_core::view::Row| matches!(row, agent_world_core::view::Row::Rule(_));
        if committed.rows.iter().any(granted) {
            self.worlds.forget(world);
        }
        if let Some(position) = committed.position {
            self.feed.stored_in(world, chat, position, &committed.stored);
        }
    }

    /// Records an input without performing what follows from it.
    async fn submit(
        &self,
        chat: &ChatId,
        command: Command,
        key: Option<String>,
    ) -> Result<Committed, Error> {
        for _ in 0..ATTEMPTS {
            let loaded = Ledger::load(self.store.as_ref(), chat).await?;
            let mut ledger = loaded.unwrap_or_else(|| Ledger::unborn(chat.clone()));
            let world = match &command {
                Command::CreateChat(create) => create.world.clone(),
                _ if ledger.head.seq == 0 => return Err(Error::UnknownChat(chat.clone())),
                _ => ledger.chat.world.clone(),
            };
            // Another process may have changed the settings since they were read.
            self.worlds.forget(&world);
            let settings = self.worlds.get(self.store.as_ref(), &world).await?;
            let specs = self.toolbox.specs(&settings);
            let terms = Terms {
                store: self.store.as_ref(),
                environment: self.environment.as_ref(),
                rules: Rules { world: &settings, tools: &specs },
                fence: None,
                key: key.clone(),
            };
            match ledger.commit(command.clone(), terms).await {
                Err(Error::Store(
                    store::Error::Conflict { .. } | store::Error::StaleSettings { .. },
                )) => {}
                result => {
                    if let Ok(committed) = &result {
                        self.committed(&world, chat, committed);
                    }
                    return result;
                }
            }
        }
        Err(Error::Overloaded(chat.clone()))
    }
}

/// What a message says: its text, and its images and files.
fn asked(command: &Command) -> Option<(String, Vec<Part>)> {
    match command {
        Command::PostMessage(post) => Some((post.text.clone(), post.parts.clone())),
        _ => None,
    }
}

fn is_said(recorded: &Recorded, asked: Option<&(String, Vec<Part>)>) -> bool {
    match (&recorded.event, asked) {
        (Event::MessagePosted(posted), Some((text, parts))) => {
            (&posted.message.text, &posted.message.parts) == (text, parts)
        }
        (Event::MessagePosted(_), None) => false,
        (_, asked) => asked.is_none(),
    }
}
