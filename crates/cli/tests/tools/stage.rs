//! Where scenes are played: the engine on a SQLite file in a folder of its own, a scripted model, and the tools as the
//! program wires them. Used by every scene and by the corpus. Waits by following the log, never by sleeping for luck.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::command::{Answer as Decision, Claims, Scope as Reach};
use agent_world_core::config::{Agent, World};
use agent_world_core::ids::{ApprovalId, ChatId, WorldId};
use agent_world_core::item::{Item, Reply};
use agent_world_core::policy::{Policy, Rule, Ruling};
use agent_world_core::view::{ApprovalView, CallView, ChatView, Doing};
use agent_world_llm::scripted::{Answer, Scripted};
use agent_world_runtime::{Engine, Environment as _, Error, NewMessage, System};
use agent_world_store::sqlite::Role;
use agent_world_store::{ApprovalFilter, Scope, Sqlite, Store};
use agent_world_tools::fetch::{Fetch, FetchUrl};
use agent_world_tools::files;
use agent_world_tools::launcher::{Bubblewrap, Launcher};
use agent_world_tools::shell::ShellCmd;
use serde_json::Value;
use tempfile::TempDir;

/// The program itself, in whose role as a launcher commands are started.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_agent-world");
/// Longer than any scene takes on a slow machine: past it, something will never happen.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A data folder as the program has one, somebody's home, and a folder that is nobody's business.
pub struct Place {
    _folder: TempDir,
    root: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["data/running", "data/workspace/scene", "home", "outside"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        Self { _folder: folder, root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    /// Where running commands are noted.
    pub fn running(&self) -> PathBuf {
        self.data().join("running")
    }

    /// The world's working directory: inside the data folder, as for people.
    pub fn work(&self) -> PathBuf {
        self.data().join("workspace/scene")
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn outside(&self) -> PathBuf {
        self.root.join("outside")
    }

    /// Puts a file into the working directory.
    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.work().join(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.work().join(name)).unwrap()
    }

    pub fn has(&self, name: &str) -> bool {
        self.work().join(name).symlink_metadata().is_ok()
    }
}

/// What is on the stage before the scene begins.
pub struct Setup {
    pub place: Place,
    world: World,
    bubblewrap: Bubblewrap,
    search: Option<OsString>,
}

impl Setup {
    /// A world with the agent `ada`, whose tools work as they declare.
    pub fn new() -> Self {
        let place = Place::new();
        let mut world = World::new(WorldId::new("scene"), "Scene", System.now());
        world.agents = vec![Agent { model: Some("scripted/ada".to_owned()), ..Agent::new("ada") }];
        world.working_directory = Some(place.work().display().to_string());
        Self { place, world, bubblewrap: Bubblewrap::default(), search: None }
    }

    pub fn world(mut self, change: impl FnOnce(&mut World)) -> Self {
        change(&mut self.world);
        self
    }

    /// Every call is asked about, also those of tools that need not ask.
    pub fn asking(self) -> Self {
        self.world(|world| {
            let rules = vec![Rule::new("ask-everything", Ruling::Ask, "*")];
            world.policy = Policy { rules: rules.into(), ..Policy::default() };
        })
    }

    pub fn bubblewrap(mut self, bubblewrap: Bubblewrap) -> Self {
        self.bubblewrap = bubblewrap;
        self
    }

    /// Where programs are searched before the usual places.
    pub fn searching(mut self, folder: &Path) -> Self {
        let usual = std::env::var_os("PATH").unwrap_or_default();
        let folders = [folder.to_owned()].into_iter().chain(std::env::split_paths(&usual));
        self.search = Some(std::env::join_paths(folders).unwrap());
        self
    }

    pub async fn open(self) -> Stage {
        let Self { place, world, bubblewrap, search } = self;
        let store: Arc<dyn Store> =
            Arc::new(Sqlite::open(place.data().join("agent-world.db"), Role::Worker).unwrap());
        let model = Scripted::answering(|_| Ok(Reply::text("Done.")));
        let mut builder =
            Engine::builder(Arc::clone(&store)).model("scripted", Arc::new(model.clone()));
        for tool in files::all() {
            builder = builder.tool(tool).unwrap();
        }
        let shell = shell(&place, bubblewrap, search);
        builder = builder.tool(Arc::new(shell)).unwrap();
        builder = builder.tool(Arc::new(FetchUrl::new(Fetch::default()))).unwrap();
        let engine = builder.start().unwrap();
        let world = engine.create_world(world, "eve").await.unwrap().id;
        let mut stage = Stage { engine, store, model, world, chat: ChatId::new(""), place };
        stage.chat = stage.new_chat().await;
        stage
    }
}

/// As the program makes it, with the home of this place.
fn shell(place: &Place, bubblewrap: Bubblewrap, search: Option<OsString>) -> ShellCmd {
    let mut variables: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| name != "HOME").collect();
    variables.push(("HOME".into(), place.home().into()));
    if let Some(search) = search {
        variables.retain(|(name, _)| name != "PATH");
        variables.push(("PATH".into(), search));
    }
    ShellCmd::with_environment(variables)
        .launched_by(Launcher::at(PROGRAM).bubblewrap(bubblewrap))
        .hiding([place.data()])
        .recording_in(place.running())
}

pub struct Stage {
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub model: Scripted,
    pub world: WorldId,
    pub chat: ChatId,
    pub place: Place,
}

impl Stage {
    pub async fn new_chat(&self) -> ChatId {
        let title = Some("A chat with a name".to_owned());
        self.engine.create_chat(&self.world, title, "eve").await.unwrap().id
    }

    /// The model answers the next message with this, and then says that it is done.
    pub fn replies(&self, answer: impl Into<Answer>) {
        self.model.push("ada", answer);
        self.model.push("ada", "Done.");
    }

    /// The model's next reply is one call, and somebody says something.
    pub async fn calls(&self, tool: &str, arguments: Value) {
        self.replies(Answer::call(tool, arguments));
        self.say("go").await;
    }

    pub async fn say(&self, text: &str) {
        self.engine.post(&self.chat, NewMessage::human(text)).await.unwrap();
    }

    pub async fn approve(&self, approval: &ApprovalView, scope: Reach) -> ApprovalView {
        self.answer(&approval.id, approval_of(scope)).await.unwrap()
    }

    pub async fn deny(&self, approval: &ApprovalView, reason: &str) -> ApprovalView {
        let reason = Some(reason.to_owned());
        self.answer(&approval.id, Decision::Deny { reason }).await.unwrap()
    }

    pub async fn answer(
        &self,
        approval: &ApprovalId,
        answer: Decision,
    ) -> Result<ApprovalView, Error> {
        self.engine.answer(approval, answer, "eve", Claims::default()).await
    }

    /// Looks again after every stored event until there is something to see.
    pub async fn until<T>(&self, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let position = self.store.position().await.unwrap();
        let mut events = self.engine.subscribe(Scope::All, position);
        loop {
            if let Some(seen) = look().await {
                return seen;
            }
            let next = tokio::time::timeout(PATIENCE, events.next()).await;
            next.expect("it never comes to pass").unwrap().expect("the engine has not ended");
        }
    }

    pub async fn idle(&self) {
        self.until(async || (!self.view().await.activity.busy).then_some(())).await;
    }

    /// Approves once whatever is asked, until nothing is under way.
    pub async fn approve_everything(&self) {
        self.until(async || {
            for waiting in self.waiting().await {
                self.approve(&waiting, Reach::Once).await;
            }
            (!self.view().await.activity.busy).then_some(())
        })
        .await;
    }

    /// Returns when nothing happens any more unless somebody answers.
    pub async fn left_alone(&self) {
        self.until(async || {
            let activity = self.view().await.activity;
            let waits = |doing| doing == Doing::AwaitingApproval;
            let waiting = activity.running.is_empty()
                && !activity.waiting.is_empty()
                && activity.agents.iter().all(|agent| waits(agent.doing));
            (!activity.busy || waiting).then_some(())
        })
        .await;
    }

    /// The one request that waits, as soon as there is one.
    pub async fn asked(&self) -> ApprovalView {
        self.until(async || self.waiting().await.pop()).await
    }

    pub async fn waiting(&self) -> Vec<ApprovalView> {
        self.waiting_in(&self.chat).await
    }

    pub async fn waiting_in(&self, chat: &ChatId) -> Vec<ApprovalView> {
        self.requests(chat, true).await
    }

    /// Every request of the chat, the oldest first.
    pub async fn all_requests(&self) -> Vec<ApprovalView> {
        self.requests(&self.chat, false).await
    }

    async fn requests(&self, chat: &ChatId, only_pending: bool) -> Vec<ApprovalView> {
        let filter =
            ApprovalFilter { only_pending, chat: Some(chat.clone()), ..ApprovalFilter::default() };
        self.store.approvals(&filter, None, 1_000).await.unwrap()
    }

    pub async fn view(&self) -> ChatView {
        self.engine.chat(&self.chat).await.unwrap()
    }

    pub async fn made(&self) -> Vec<CallView> {
        self.store.calls(&self.chat, None, 1_000).await.unwrap()
    }

    pub async fn last_call(&self) -> CallView {
        self.made().await.pop().unwrap()
    }

    pub async fn states(&self) -> Vec<&'static str> {
        self.made().await.into_iter().map(|call| call.state.name()).collect()
    }

    /// The results that the model was given, in the order of its latest request.
    pub fn told(&self) -> Vec<String> {
        let requests = self.model.requests();
        let Some(last) = requests.last() else { return Vec::new() };
        let results = last.input.iter().filter_map(|item| match &**item {
            Item::FunctionCallOutput(output) => Some(
                output.output.as_str().map_or_else(|| output.output.to_string(), str::to_owned),
            ),
            _ => None,
        });
        results.collect()
    }
}

pub fn approval_of(scope: Reach) -> Decision {
    Decision::Approve { scope, matches: Vec::new(), arguments: None, reason: None }
}
