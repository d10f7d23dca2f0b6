//! The embedder's API: start an engine on a store, then post, decide, subscribe.
//! Every input goes to the chat's task or, where another process performs the work, straight into the log.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_world_core::chain::Recorded;
use agent_world_core::command::{
    Answer, AnswerApproval, Claims, Command, CreateChat, Fork, MessageRef, PostMessage, Rejection,
};
use agent_world_core::config::{Rules, Tools, World};
use agent_world_core::event::{Attendance, Event, ForkOrigin, Message, Output};
use agent_world_core::fork;
use agent_world_core::ids::{
    AgentId, ApprovalId, CallId, ChatId, GrantId, Ids, MessageId, RuleId, WorldId,
};
use agent_world_core::item::Part;
use agent_world_core::sender::Sender;
use agent_world_core::view::{ApprovalView, ChatView};
use agent_world_llm::Models;
use agent_world_store::{self as store, NodeId, Scope, Store, WorldChange, WorldWrite};
use agent_world_tools::{Registry, Unusable};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::chat_task::{self, Handle};
use crate::environment::{Environment, System};
use crate::error::Error;
use crate::feed::{Feed, Subscription};
use crate::ledger::{Committed, Ledger, Terms};
use crate::read_result::ReadResult;
use crate::recover;
use crate::worlds::Worlds;

/// Attempts at an input that others keep overtaking.
const ATTEMPTS: u32 = 32;
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
    environment: Arc<dyn Environment>,
    options: Options,
    mode: Mode,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub store: Arc<dyn Store>,
    pub models: Models,
    pub tools: Registry,
    pub specs: Tools,
    pub environment: Arc<dyn Environment>,
    pub options: Options,
    pub mode: Mode,
    pub node: NodeId,
    pub worlds: Worlds,
    pub feed: Feed,
    pub chats: Mutex<HashMap<ChatId, Handle>>,
    pub cancelled: CancellationToken,
    pub tasks: TaskTracker,
}

/// A message to post.
#[derive(Clone, Debug)]
pub struct NewMessage {
    pub sender: Sender,
    pub user: Option<String>,
    pub text: String,
    pub parts: Vec<Part>,
    pub reply_to: Option<MessageId>,
    pub attendance: Attendance,
    /// Makes a repetition of the request harmless.
    pub key: Option<String>,
}

/// A message that is stored.
#[derive(Clone, Debug)]
pub struct Posted {
    pub message: Message,
    /// Its position among all events; subscribing after it shows what it led to.
    pub position: u64,
}

impl Builder {
    pub fn model(mut self, vendor: &str, model: Arc<dyn agent_world_llm::Model>) -> Self {
        self.models = self.models.with(vendor, model);
        self
    }

    pub fn tool(mut self, tool: Arc<dyn agent_world_tools::Tool>) -> Result<Self, Unusable> {
        self.tools.add(tool)?;
        Ok(self)
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
            specs: self.tools.specs(),
            node: NodeId(format!("{:032x}", self.environment.entropy())),
            store: self.store,
            models: self.models,
            tools: self.tools,
            environment: self.environment,
            options: self.options,
            mode: self.mode,
            worlds: Worlds::default(),
            feed: Feed::new(),
            chats: Mutex::default(),
            cancelled: CancellationToken::new(),
            tasks: TaskTracker::new(),
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
            environment: Arc::new(System),
            options: Options::default(),
            mode: Mode::Worker,
        }
    }

    /// The store, for everything that is only looked up.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// What the registered tools say about themselves.
    pub fn tools(&self) -> &Tools {
        &self.shared.specs
    }

    pub fn mode(&self) -> Mode {
        self.shared.mode
    }

    // Worlds.

    /// Creates a world with its first chat.
    pub async fn create_world(&self, world: World, by: &str) -> Result<World, Error> {
        let id = world.id.clone();
        let change = self.change("world", "created", id.as_str(), by);
        let world = match self.write_world(WorldWrite { world, expected: None, change }).await {
            Err(Error::Store(store::Error::WorldConflict { .. })) => {
                return Err(Error::WorldExists(id));
            }
            written => written?,
        };
        self.create_chat(&id, None, by).await?;
        Ok(world)
    }

    /// Replaces a world's settings if its version is still the one given.
    pub async fn update_world(&self, world: World, by: &str) -> Result<World, Error> {
        let expected = Some(world.version);
        let change = self.change("world", "updated", world.id.as_str(), by);
        self.write_world(WorldWrite { world, expected, change }).await
    }

    async fn write_world(&self, write: WorldWrite) -> Result<World, Error> {
        write.world.check()?;
        let id = write.world.id.clone();
        let written = self.shared.store.write_world(write).await;
        self.shared.worlds.forget(&id);
        self.tell_stored().await?;
        Ok(written?)
    }

    pub async fn delete_world(&self, id: &WorldId, by: &str) -> Result<(), Error> {
        for chat in self.all_chats(id).await? {
            self.input(&chat.id, Command::DeleteChat { by: by.to_owned() }, None).await?;
        }
        let change = self.change("world", "deleted", id.as_str(), by);
        self.shared.store.delete_world(id, change).await?;
        self.shared.worlds.forget(id);
        self.tell_stored().await
    }

    /// Takes back a rule that somebody granted with `always`.
    pub async fn revoke_rule(&self, world: &WorldId, rule: &RuleId, by: &str) -> Result<(), Error> {
        let change = self.change("rule", "deleted", rule.as_str(), by);
        self.shared.store.revoke_rule(world, rule, change).await?;
        self.shared.worlds.forget(world);
        self.tell_stored().await
    }

    pub async fn world(&self, id: &WorldId) -> Result<Arc<World>, Error> {
        self.shared.worlds.get(self.shared.store.as_ref(), id).await
    }

    // Chats.

    pub async fn create_chat(
        &self,
        world: &WorldId,
        title: Option<String>,
        by: &str,
    ) -> Result<ChatView, Error> {
        let create = CreateChat { world: world.clone(), title, by: by.to_owned(), fork: None };
        self.create(create).await
    }

    /// A new chat with the history up to a message. Nothing in it runs again, and no permission comes along.
    pub async fn fork(
        &self,
        chat: &ChatId,
        message: &MessageId,
        by: &str,
    ) -> Result<ChatView, Error> {
        let target = self.message_ref(chat, message).await?;
        let world = self.chat(chat).await?.world;
        let history = fork::history_until(&self.log(chat).await?, target.position);
        let origin = ForkOrigin { chat: chat.clone(), message: message.clone() };
        let fork = Some(Fork { origin, history });
        self.create(CreateChat { world, title: None, by: by.to_owned(), fork }).await
    }

    async fn create(&self, create: CreateChat) -> Result<ChatView, Error> {
        let environment = &self.shared.environment;
        let chat = ChatId::next(&mut Ids::new(environment.now(), environment.entropy()));
        self.world(&create.world).await?;
        self.input(&chat, Command::CreateChat(create), None).await?;
        self.chat(&chat).await
    }

    pub async fn chat(&self, id: &ChatId) -> Result<ChatView, Error> {
        self.shared.store.chat(id).await?.ok_or_else(|| Error::UnknownChat(id.clone()))
    }

    pub async fn rename_chat(&self, chat: &ChatId, title: &str, by: &str) -> Result<(), Error> {
        let (title, by) = (title.to_owned(), by.to_owned());
        self.input(chat, Command::RenameChat { title, by }, None).await.map(drop)
    }

    pub async fn delete_chat(&self, chat: &ChatId, by: &str) -> Result<(), Error> {
        self.input(chat, Command::DeleteChat { by: by.to_owned() }, None).await.map(drop)
    }

    /// Cancels model calls, ends running tools, withdraws what waits: of one agent, or of the whole chat.
    pub async fn stop(&self, chat: &ChatId, agent: Option<AgentId>, by: &str) -> Result<(), Error> {
        self.input(chat, Command::Stop { agent, by: by.to_owned() }, None).await.map(drop)
    }

    /// Takes failed turns up again.
    pub async fn retry(&self, chat: &ChatId, agent: Option<AgentId>) -> Result<(), Error> {
        self.input(chat, Command::RetryTurns { agent }, None).await.map(drop)
    }

    // Messages.

    /// Returns once the message is durable. What it leads to comes on a subscription.
    pub async fn post(&self, chat: &ChatId, message: NewMessage) -> Result<Posted, Error> {
        let command = Command::PostMessage(PostMessage {
            sender: message.sender,
            user: message.user,
            text: message.text,
            parts: message.parts,
            reply_to: message.reply_to,
            attendance: message.attendance,
        });
        let committed = self.input(chat, command, message.key).await?;
        posted(committed)
    }

    /// Takes a human message and everything after it back, and posts a new text in its place.
    pub async fn edit_message(
        &self,
        chat: &ChatId,
        message: &MessageId,
        text: &str,
        by: &str,
    ) -> Result<Posted, Error> {
        let target = self.message_ref(chat, message).await?;
        let (text, by) = (text.to_owned(), by.to_owned());
        let committed = self.input(chat, Command::EditMessage { target, text, by }, None).await?;
        posted(committed)
    }

    pub async fn delete_message(
        &self,
        chat: &ChatId,
        message: &MessageId,
        by: &str,
    ) -> Result<(), Error> {
        let target = self.message_ref(chat, message).await?;
        self.input(chat, Command::DeleteMessage { target, by: by.to_owned() }, None).await.map(drop)
    }

    // Decisions.

    /// Decides a waiting request. Of racing answers exactly one takes effect; the others are told which.
    pub async fn answer(
        &self,
        approval: &ApprovalId,
        answer: Answer,
        by: &str,
        claims: Claims,
    ) -> Result<ApprovalView, Error> {
        let known = self.approval(approval).await?;
        let command = Command::AnswerApproval(AnswerApproval {
            approval: approval.clone(),
            answer,
            by: by.to_owned(),
            claims,
        });
        match self.input(&known.chat, command, None).await {
            Ok(_) => self.approval(approval).await,
            Err(Error::Rejected(Rejection::ApprovalNotPending(_) | Rejection::ChatDeleted)) => {
                Err(Error::AlreadySettled(Box::new(self.approval(approval).await?)))
            }
            Err(error) => Err(error),
        }
    }

    pub async fn approval(&self, id: &ApprovalId) -> Result<ApprovalView, Error> {
        self.shared.store.approval(id).await?.ok_or_else(|| Error::UnknownApproval(id.clone()))
    }

    pub async fn revoke_grant(
        &self,
        chat: &ChatId,
        grant: &GrantId,
        by: &str,
    ) -> Result<(), Error> {
        let (grant, by) = (grant.clone(), by.to_owned());
        self.input(chat, Command::RevokeGrant { grant, by }, None).await.map(drop)
    }

    /// The result of a tool that the client executed.
    pub async fn client_result(
        &self,
        chat: &ChatId,
        call: &CallId,
        output: Output,
        is_error: bool,
    ) -> Result<(), Error> {
        let command = Command::RecordClientResult { call: call.clone(), output, is_error };
        self.input(chat, command, None).await.map(drop)
    }

    // Following along.

    /// Every stored event after a position, once, in order, then live; with pieces of replies as they are made.
    pub fn subscribe(&self, scope: Scope, after: u64) -> Subscription {
        self.shared.feed.subscribe(Arc::clone(&self.shared.store), scope, after)
    }

    /// Ends running tools and model calls and returns when all is quiet. What was under way is taken up, or said
    /// to be interrupted, at the next start.
    pub async fn shutdown(&self) {
        self.shared.cancelled.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
        self.shared.feed.close();
    }

    /// Lets go of everything at once, as a crash would. For simulations.
    pub fn abandon(&self) {
        self.shared.cancelled.cancel();
        for (_, handle) in self.shared.lock_chats().drain() {
            handle.abort();
        }
    }

    /// How many chats are held in memory.
    pub fn resident_chats(&self) -> usize {
        self.shared.lock_chats().len()
    }

    async fn input(
        &self,
        chat: &ChatId,
        command: Command,
        key: Option<String>,
    ) -> Result<Committed, Error> {
        let asked_before = key.clone();
        let result = match self.shared.mode {
            Mode::Worker => chat_task::ask(&self.shared, chat, command, key).await,
            Mode::Visitor => self.shared.submit(chat, command, key).await,
        };
        match (result, asked_before) {
            (Err(Error::Store(store::Error::Repeated { outcome })), Some(_)) => {
                self.recall(chat, &outcome).await
            }
            (result, _) => result,
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
                    events: vec![first.sealed.open().map_err(store::Error::from)?],
                    rows: Vec::new(),
                    position: Some(first.position),
                });
            }
        }
    }

    async fn message_ref(&self, chat: &ChatId, message: &MessageId) -> Result<MessageRef, Error> {
        let found = self.shared.store.message(chat, message).await?;
        let view = found.ok_or_else(|| Error::UnknownMessage {
            chat: chat.clone(),
            message: message.clone(),
        })?;
        Ok(MessageRef { id: view.id, position: view.position, sender: view.sender })
    }

    async fn log(&self, chat: &ChatId) -> Result<Vec<Recorded>, Error> {
        let scope = Scope::Chat(chat.clone());
        let mut log = Vec::new();
        let mut after = 0;
        loop {
            let page = self.shared.store.events(&scope, after, PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(log);
            };
            after = last.position;
            for event in &page {
                log.push(event.sealed.open().map_err(store::Error::from)?);
            }
        }
    }

    async fn all_chats(&self, world: &WorldId) -> Result<Vec<ChatView>, Error> {
        let mut all: Vec<ChatView> = Vec::new();
        loop {
            let after = all.last().map(|chat| chat.id.clone());
            let page = self.shared.store.chats(world, after.as_ref(), PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    fn change(&self, entity: &str, action: &str, id: &str, by: &str) -> WorldChange {
        WorldChange {
            entity: entity.to_owned(),
            action: action.to_owned(),
            id: id.to_owned(),
            by: by.to_owned(),
            at: self.shared.environment.now(),
        }
    }

    async fn tell_stored(&self) -> Result<(), Error> {
        self.shared.feed.stored(self.shared.store.position().await?);
        Ok(())
    }
}

impl Shared {
    pub fn lock_chats(&self) -> std::sync::MutexGuard<'_, HashMap<ChatId, Handle>> {
        self.chats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever follows along, and drops settings that a granted rule has changed.
    pub fn committed(&self, world: &WorldId, committed: &Committed) {
        let granted =
            |row: &agent_world_core::view::Row| matches!(row, agent_world_core::view::Row::Rule(_));
        if committed.rows.iter().any(granted) {
            self.worlds.forget(world);
        }
        if let Some(position) = committed.position {
            self.feed.stored(position);
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
            let terms = Terms {
                store: self.store.as_ref(),
                environment: self.environment.as_ref(),
                rules: Rules { world: &settings, tools: &self.specs },
                fence: None,
                key: key.clone(),
            };
            match ledger.commit(command.clone(), terms).await {
                Err(Error::Store(store::Error::Conflict { .. })) => {}
                result => {
                    if let Ok(committed) = &result {
                        self.committed(&world, committed);
                    }
                    return result;
                }
            }
        }
        Err(Error::Overloaded(chat.clone()))
    }
}

impl NewMessage {
    /// A message from the person at the keyboard.
    pub fn human(text: impl Into<String>) -> Self {
        Self {
            sender: Sender::Human,
            user: None,
            text: text.into(),
            parts: Vec::new(),
            reply_to: None,
            attendance: Attendance::Attended,
            key: None,
        }
    }
}

fn posted(committed: Committed) -> Result<Posted, Error> {
    // Events of one append have neighbouring positions, the last one's is known.
    let positions = (0..=committed.position.unwrap_or_default()).rev();
    let message =
        positions.zip(committed.events.into_iter().rev()).find_map(|(position, recorded)| {
            match recorded.event {
                Event::MessagePosted(posted) => Some((position, posted.message)),
                _ => None,
            }
        });
    match message {
        Some((position, message)) => Ok(Posted { message, position }),
        None => Err(Error::Store(store::Error::Corrupt("a post left no message".to_owned()))),
    }
}
