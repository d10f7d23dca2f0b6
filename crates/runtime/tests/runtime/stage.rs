//! Where scenes are played: the real engine on a store, with a scripted model, tools, and a clock that can be virtual.
//! Used by every scene. Waits by following the log, never by sleeping for luck.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::chat::CallState;
use agent_world_core::command::{Answer as Decision, Claims, Scope as Reach};
use agent_world_core::config::World;
use agent_world_core::event::Event;
use agent_world_core::ids::{ApprovalId, ChatId, WorldId};
use agent_world_core::item::Reply;
use agent_world_core::view::{ApprovalView, CallView, ChatView, MessageRole};
use agent_world_llm::scripted::Scripted as Model;
use agent_world_llm::{Model as AnyModel, Request};
use agent_world_runtime::{Engine, Environment, Error, Mode, NewMessage, Options, Posted, System};
use agent_world_store::sqlite::Role;
use agent_world_store::{ApprovalFilter, Memory, MessagePage, Scope, Sqlite, Store};
use agent_world_tools::{Source, Tool};
use tempfile::TempDir;
use tokio::runtime::Builder;

use crate::props::{agent, approval_of};

/// Longer than any scene takes on a slow machine: past it, something will never happen.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Memory,
    Sqlite,
}

/// Makes of each scene one test on the store in memory and one on a SQLite file.
macro_rules! on_both_stores {
    ($($name:ident),* $(,)?) => {
        mod memory {
            $(#[test]
            fn $name() {
                crate::stage::perform(crate::stage::Backend::Memory, super::$name);
            })*
        }
        mod sqlite {
            $(#[test]
            fn $name() {
                crate::stage::perform(crate::stage::Backend::Sqlite, super::$name);
            })*
        }
    };
}
pub(crate) use on_both_stores;

/// Plays a scene in real time: on one thread with the store in memory, on several with SQLite.
pub fn perform<F: Future<Output = ()>>(backend: Backend, scene: impl FnOnce(Backend) -> F) {
    let mut builder = match backend {
        Backend::Memory => Builder::new_current_thread(),
        Backend::Sqlite => Builder::new_multi_thread(),
    };
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let played = tokio::time::timeout(PATIENCE, scene(backend)).await;
        played.expect("the scene never came to its end");
    });
}

/// Plays a scene in virtual time, with the store in memory: hours pass at once when everybody waits.
pub fn perform_in_virtual_time<F: Future<Output = ()>>(scene: impl FnOnce(Backend) -> F) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let limit = Duration::from_secs(7 * 86_400);
        let played = tokio::time::timeout(limit, scene(Backend::Memory)).await;
        played.expect("the scene never came to its end");
    });
}

/// The time of tokio's clock, real or virtual.
#[derive(Debug)]
struct Clock {
    began: tokio::time::Instant,
}

impl Environment for Clock {
    fn now(&self) -> Timestamp {
        let passed = i64::try_from(self.began.elapsed().as_millis()).unwrap();
        Timestamp::from_millisecond(1_800_000_000_000 + passed).unwrap()
    }

    fn entropy(&self) -> u128 {
        System.entropy()
    }
}

/// What every engine of one scene is started with.
#[derive(Clone)]
struct Parts {
    clock: Arc<Clock>,
    model: Model,
    /// Models under other vendors' names.
    others: Vec<(&'static str, Arc<dyn AnyModel>)>,
    tools: Vec<Arc<dyn Tool>>,
    /// Each process makes its own.
    sources: Vec<Arc<dyn Fn() -> Arc<dyn Source>>>,
    options: Options,
}

/// What is on the stage before the scene begins.
pub struct Setup {
    pub world: World,
    parts: Parts,
}

impl Setup {
    /// A world with these agents; each speaks with the scripted model of its own name. What no scene has prepared
    /// is answered with `Done.`
    pub fn of(agents: &[&str]) -> Self {
        let clock = Clock { began: tokio::time::Instant::now() };
        let mut world = World::new(WorldId::new("scene"), "Scene", clock.now());
        world.agents = agents.iter().map(|name| agent(name)).collect();
        world.title_model = Some("scripted/titles".to_owned());
        let parts = Parts {
            clock: Arc::new(clock),
            model: Model::answering(|_| Ok(Reply::text("Done."))),
            others: Vec::new(),
            tools: Vec::new(),
            sources: Vec::new(),
            options: Options {
                // Scenes with two engines would otherwise spend their time waiting for each other.
                poll: Duration::from_millis(20),
                ..Options::default()
            },
        };
        Self { world, parts }
    }

    pub fn world(mut self, change: impl FnOnce(&mut World)) -> Self {
        change(&mut self.world);
        self
    }

    pub fn tool(mut self, tool: &(impl Tool + Clone + 'static)) -> Self {
        self.parts.tools.push(Arc::new(tool.clone()));
        self
    }

    pub fn source(self, source: &Arc<impl Source + 'static>) -> Self {
        let source = Arc::clone(source);
        self.source_of_each_process(move || Arc::clone(&source) as Arc<dyn Source>)
    }

    pub fn source_of_each_process(mut self, make: impl Fn() -> Arc<dyn Source> + 'static) -> Self {
        self.parts.sources.push(Arc::new(make));
        self
    }

    pub fn vendor(mut self, name: &'static str, model: impl AnyModel + 'static) -> Self {
        self.parts.others.push((name, Arc::new(model)));
        self
    }

    pub fn options(mut self, change: impl FnOnce(&mut Options)) -> Self {
        change(&mut self.parts.options);
        self
    }

    pub async fn open(self, backend: Backend) -> Stage {
        let house = match backend {
            Backend::Memory => House::Memory(Memory::new()),
            Backend::Sqlite => House::Sqlite(tempfile::tempdir().unwrap()),
        };
        let store = house.open(Role::Worker).unwrap();
        let engine = self.parts.start(&store, Mode::Worker);
        let world = engine.create_world(self.world, "eve").await.unwrap().id;
        let mut stage = Stage {
            engine,
            store,
            model: self.parts.model.clone(),
            chat: ChatId::new(""),
            world,
            house,
            parts: self.parts,
        };
        stage.chat = stage.new_chat().await;
        stage
    }
}

impl Parts {
    fn start(&self, store: &Arc<dyn Store>, mode: Mode) -> Engine {
        let mut builder = Engine::builder(Arc::clone(store))
            .mode(mode)
            .environment(Arc::clone(&self.clock) as Arc<dyn Environment>)
            .options(self.options.clone())
            .model("scripted", Arc::new(self.model.clone()));
        for (name, model) in &self.others {
            builder = builder.model(name, Arc::clone(model));
        }
        for tool in &self.tools {
            builder = builder.tool(Arc::clone(tool)).unwrap();
        }
        for source in &self.sources {
            builder = builder.source(source());
        }
        builder.start().unwrap()
    }
}

/// What outlives a process.
enum House {
    Memory(Memory),
    Sqlite(TempDir),
}

impl House {
    fn path(&self) -> PathBuf {
        match self {
            House::Memory(_) => PathBuf::new(),
            House::Sqlite(folder) => folder.path().join("scene.db"),
        }
    }

    fn open(&self, role: Role) -> Result<Arc<dyn Store>, agent_world_store::Error> {
        Ok(match self {
            House::Memory(memory) => Arc::new(memory.clone()),
            House::Sqlite(_) => Arc::new(Sqlite::open(self.path(), role)?),
        })
    }
}

pub struct Stage {
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub model: Model,
    pub world: WorldId,
    /// The chat most scenes play in. A person named it, so that no model is asked to.
    pub chat: ChatId,
    house: House,
    parts: Parts,
}

/// After the process has died: only what is stored is left, and the world outside.
pub struct Closed {
    house: House,
    parts: Parts,
    world: WorldId,
    chat: ChatId,
}

impl Stage {
    pub async fn new_chat(&self) -> ChatId {
        let title = Some("A chat with a name".to_owned());
        let chat = self.engine.create_chat(&self.world, title, "eve").await;
        chat.unwrap().id
    }

    /// Another process beside the worker, which leaves inputs and looks on.
    pub fn visitor(&self) -> Engine {
        let store = self.house.open(Role::Visitor).unwrap();
        self.parts.start(&store, Mode::Visitor)
    }

    pub fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    pub fn path(&self) -> PathBuf {
        self.house.path()
    }

    pub fn memory(&self) -> &Memory {
        match &self.house {
            House::Memory(memory) => memory,
            House::Sqlite(_) => panic!("this scene plays in memory"),
        }
    }

    /// The process dies without a word. Returns when nothing of it is left.
    pub async fn crash(self) -> Closed {
        if let House::Memory(memory) = &self.house {
            memory.crash();
        }
        self.engine.abandon();
        self.engine.shutdown().await;
        let house = match self.house {
            House::Memory(memory) => House::Memory(memory.restart()),
            sqlite => sqlite,
        };
        Closed { house, parts: self.parts, world: self.world, chat: self.chat }
    }

    pub async fn restart(self) -> Self {
        self.crash().await.open().await
    }

    // What people do.

    pub async fn say(&self, text: &str) -> Posted {
        self.say_in(&self.chat, text).await
    }

    pub async fn say_in(&self, chat: &ChatId, text: &str) -> Posted {
        let posted = self.engine.post(chat, NewMessage::human(text)).await;
        posted.unwrap()
    }

    pub async fn approve(&self, approval: &ApprovalId, scope: Reach) -> ApprovalView {
        self.answer(approval, approval_of(scope)).await.unwrap()
    }

    pub async fn deny(&self, approval: &ApprovalId, reason: &str) -> ApprovalView {
        let reason = Some(reason.to_owned());
        self.answer(approval, Decision::Deny { reason }).await.unwrap()
    }

    pub async fn answer(
        &self,
        approval: &ApprovalId,
        answer: Decision,
    ) -> Result<ApprovalView, Error> {
        self.engine.answer(approval, answer, "eve", Claims::default()).await
    }

    // What can be seen.

    /// What the model of one name was asked, in order.
    pub fn requests_of(&self, model: &str) -> Vec<Request> {
        let requests = self.model.requests().into_iter();
        requests.filter(|request| request.model == model).collect()
    }

    /// Looks again after every stored event until there is something to see.
    pub async fn until<T>(&self, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let position = self.store.position().await.unwrap();
        let mut events = self.engine.subscribe(Scope::All, position);
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            events.next().await.unwrap().expect("the engine has not ended");
        }
    }

    pub async fn idle(&self) {
        self.idle_in(&self.chat).await;
    }

    pub async fn idle_in(&self, chat: &ChatId) {
        self.until(async || (!self.view(chat).await.activity.busy).then_some(())).await;
    }

    /// Returns once so many requests of the stage's chat wait.
    pub async fn pending(&self, count: usize) -> Vec<ApprovalView> {
        self.pending_in(&self.chat, count).await
    }

    pub async fn pending_in(&self, chat: &ChatId, count: usize) -> Vec<ApprovalView> {
        self.until(async || {
            let waiting = self.waiting_in(chat).await;
            (waiting.len() == count).then_some(waiting)
        })
        .await
    }

    pub async fn waiting_in(&self, chat: &ChatId) -> Vec<ApprovalView> {
        let filter = ApprovalFilter {
            only_pending: true,
            chat: Some(chat.clone()),
            ..ApprovalFilter::default()
        };
        self.store.approvals(&filter, None, 1_000).await.unwrap()
    }

    pub async fn view(&self, chat: &ChatId) -> ChatView {
        self.engine.chat(chat).await.unwrap()
    }

    pub async fn calls(&self) -> Vec<CallView> {
        self.store.calls(&self.chat, None, 1_000).await.unwrap()
    }

    pub async fn states(&self) -> Vec<&'static str> {
        let calls = self.calls().await;
        calls.into_iter().map(|call| call.state.name()).collect()
    }

    /// Returns once the stage's call with this number has the state.
    pub async fn call_is(&self, number: usize, state: CallState) -> CallView {
        self.until(async || {
            let call = self.calls().await.into_iter().nth(number)?;
            (call.state == state).then_some(call)
        })
        .await
    }

    pub async fn log(&self, chat: &ChatId) -> Vec<Event> {
        let scope = Scope::Chat(chat.clone());
        let events = self.store.events(&scope, 0, 100_000).await.unwrap();
        let opened = events.iter().map(|event| event.sealed.open().unwrap().event);
        opened.collect()
    }

    /// What was said in the stage's chat: `sender: text`.
    pub async fn said(&self) -> Vec<String> {
        self.said_in(&self.chat).await
    }

    pub async fn said_in(&self, chat: &ChatId) -> Vec<String> {
        let page = MessagePage::After(None, 1_000);
        let messages = self.store.messages(chat, page).await.unwrap();
        let said = messages
            .into_iter()
            .filter(|message| message.role != MessageRole::Tool && message.tool_calls.is_empty());
        said.map(|message| format!("{}: {}", message.sender, message.text)).collect()
    }

    /// The system's notices in the stage's chat.
    pub async fn notices(&self) -> Vec<String> {
        let said = self.said().await;
        let notices =
            said.iter().filter_map(|line| line.strip_prefix("system: ").map(str::to_owned));
        notices.collect()
    }

    pub async fn change_world(&self, change: impl FnOnce(&mut World)) {
        let mut world = World::clone(&*self.engine.world(&self.world).await.unwrap());
        change(&mut world);
        self.engine.update_world(world, "eve").await.unwrap();
    }
}

impl Closed {
    pub async fn open(self) -> Stage {
        // A task that was cut off may hold the file for a moment longer.
        let store = loop {
            match self.house.open(Role::Worker) {
                Err(agent_world_store::Error::InUse { .. }) => tokio::task::yield_now().await,
                opened => break opened.unwrap(),
            }
        };
        let engine = self.parts.start(&store, Mode::Worker);
        Stage {
            engine,
            store,
            model: self.parts.model.clone(),
            world: self.world,
            chat: self.chat,
            house: self.house,
            parts: self.parts,
        }
    }

    pub fn visitor(&self) -> Engine {
        let store = self.house.open(Role::Visitor).unwrap();
        self.parts.start(&store, Mode::Visitor)
    }
}
