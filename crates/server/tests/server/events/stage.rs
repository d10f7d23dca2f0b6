//! Where the scenes about events are played: an engine with a scripted model, served over HTTP.
//! Waits by following the log, never by sleeping for luck.

use std::sync::Arc;
use std::time::Duration;

use agent_world_core::command::{Answer as Decision, Claims, Scope as Reach};
use agent_world_core::config::{Agent, Approval, Modes, ToolSpec, World};
use agent_world_core::event::Output;
use agent_world_core::ids::{ApprovalId, ChatId, WorldId};
use agent_world_core::item::Reply;
use agent_world_core::view::{ApprovalView, ChatView};
use agent_world_runtime::llm::scripted::{Answer, Scripted as Model};
use agent_world_runtime::store::sqlite::Role;
use agent_world_runtime::store::{ApprovalFilter, Memory, Scope, Sqlite, Store};
use agent_world_runtime::tools::Tool;
use agent_world_runtime::tools::scripted::Scripted as ScriptedTool;
use agent_world_runtime::{Engine, NewMessage, Options, Posted};
use agent_world_server::Server;
use serde_json::json;

use super::reader::{Host, Page, Reader};

/// Longer than any scene takes on a slow machine: past it, something will never happen.
const PATIENCE: Duration = Duration::from_secs(120);

pub const WORLD: &str = "scene";

/// Plays a scene on several threads.
pub fn perform(scene: impl Future<Output = ()>) {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        tokio::time::timeout(PATIENCE, scene).await.expect("the scene never came to its end");
    });
}

#[derive(Clone, Copy, Debug)]
pub enum Backend {
    Memory,
    Sqlite,
}

pub struct Stage {
    pub engine: Engine,
    pub server: Server,
    pub host: Host,
    pub model: Model,
    pub world: WorldId,
    /// Named by a person, so that no model is asked to.
    pub chat: ChatId,
    memory: Memory,
    tools: Vec<Arc<dyn Tool>>,
    // The file is there as long as the stage.
    _folder: tempfile::TempDir,
}

impl Stage {
    /// A world with these agents; each speaks with the scripted model of its own name. What no scene has prepared is
    /// answered with `Done.`
    pub async fn open(backend: Backend, agents: &[&str], tools: Vec<Arc<dyn Tool>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let memory = Memory::new();
        let store: Arc<dyn Store> = match backend {
            Backend::Memory => Arc::new(memory.clone()),
            Backend::Sqlite => {
                Arc::new(Sqlite::open(folder.path().join("scene.db"), Role::Worker).unwrap())
            }
        };
        let model = Model::answering(|_| Ok(Reply::text("Done.")));
        let engine = start(store, &model, &tools);
        let mut world =
            World::new(WorldId::new(WORLD), "Scene", "2026-01-01T00:00:00Z".parse().unwrap());
        let agent =
            |name: &&str| Agent { model: Some(format!("scripted/{name}")), ..Agent::new(*name) };
        world.agents = agents.iter().map(agent).collect();
        let world = engine.create_world(world, "eve").await.unwrap().id;
        let title = Some("A chat with a name".to_owned());
        let chat = engine.create_chat(&world, title, "eve").await.unwrap().id;
        let server = Server::new(engine.clone(), Default::default());
        let host = serve(&server).await;
        Self { engine, server, host, model, world, chat, memory, tools, _folder: folder }
    }

    /// The process dies without a word, and another begins on what it left in memory.
    pub async fn restart(self) -> Self {
        self.memory.crash();
        self.engine.abandon();
        self.engine.shutdown().await;
        let memory = self.memory.restart();
        let engine = start(Arc::new(memory.clone()), &self.model, &self.tools);
        let server = Server::new(engine.clone(), Default::default());
        let host = serve(&server).await;
        Self { engine, server, host, memory, ..self }
    }

    /// Another server around the same engine: it remembers nothing of what the first one told.
    pub async fn another_server(&self) -> Host {
        serve(&Server::new(self.engine.clone(), Default::default())).await
    }

    /// The addresses of the three things that can be followed.
    pub fn topics(&self) -> [String; 3] {
        [self.topic(), format!("/api/worlds/{WORLD}/events"), "/api/events".to_owned()]
    }

    pub fn topic(&self) -> String {
        format!("/api/worlds/{WORLD}/chats/{}/events", self.chat)
    }

    pub async fn follow(&self, topic: &str) -> Reader {
        Reader::open(&self.host, topic, None).await
    }

    pub async fn pages(&self, topic: &str, limit: usize) -> Vec<String> {
        Page::all(&self.host, topic, limit).await
    }

    pub async fn say(&self, text: &str) -> Posted {
        self.engine.post(&self.chat, NewMessage::human(text)).await.unwrap()
    }

    pub async fn approve(&self, approval: &ApprovalId, scope: Reach) {
        self.approve_with(approval, scope, None).await;
    }

    pub async fn approve_with(&self, approval: &ApprovalId, scope: Reach, what: Option<&str>) {
        let arguments = what.map(|what| json!({"what": what}));
        let answer = Decision::Approve { scope, matches: Vec::new(), arguments, reason: None };
        self.engine.answer(approval, answer, "eve", Claims::default()).await.unwrap();
    }

    pub async fn deny(&self, approval: &ApprovalId, reason: &str) {
        let answer = Decision::Deny { reason: Some(reason.to_owned()) };
        self.engine.answer(approval, answer, "eve", Claims::default()).await.unwrap();
    }

    /// The requests that wait in the chat, once there are so many.
    pub async fn pending(&self, count: usize) -> Vec<ApprovalView> {
        let filter = ApprovalFilter {
            only_pending: true,
            chat: Some(self.chat.clone()),
            ..ApprovalFilter::default()
        };
        self.until(async || {
            let found = self.engine.store().approvals(&filter, None, 100).await.unwrap();
            (found.len() == count).then_some(found)
        })
        .await
    }

    pub async fn idle(&self) -> ChatView {
        self.until(async || {
            let view = self.engine.chat(&self.chat).await.unwrap();
            (!view.activity.busy).then_some(view)
        })
        .await
    }

    /// Looks again after every event of the chat.
    pub async fn until<T>(&self, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let position = self.engine.store().position().await.unwrap();
        let mut events = self.engine.subscribe(Scope::Chat(self.chat.clone()), position);
        loop {
            if let Some(found) = look().await {
                return found;
            }
            events.next().await.unwrap().expect("the engine has stopped");
        }
    }
}

fn start(store: Arc<dyn Store>, model: &Model, tools: &[Arc<dyn Tool>]) -> Engine {
    let options = Options { poll: Duration::from_millis(50), ..Options::default() };
    let mut builder =
        Engine::builder(store).options(options).model("scripted", Arc::new(model.clone()));
    for tool in tools {
        builder = builder.tool(Arc::clone(tool)).unwrap();
    }
    builder.start().unwrap()
}

async fn serve(server: &Server) -> Host {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = server.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    Host::new(address)
}

/// A tool that takes `what` and asks before it does it.
pub fn spec(name: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"what": {"type": "string"}},
        "required": ["what"],
    });
    ToolSpec::new(name, "Does something.", parameters)
}

/// A tool that need not ask.
pub fn free(name: &str) -> ToolSpec {
    ToolSpec { approval: Approval::not_required(), ..spec(name) }
}

/// A tool that need not ask and runs in the background.
pub fn in_background(name: &str) -> ToolSpec {
    ToolSpec { mode: Modes::Background, ..free(name) }
}

/// Says what it has done.
pub fn doing(spec: ToolSpec) -> ScriptedTool {
    ScriptedTool::new(spec, |invocation| async move {
        let what = invocation.arguments["what"].as_str().unwrap().to_owned();
        Ok(Output::text(format!("did {what}")))
    })
}

/// A reply that calls one tool, once for each of these.
pub fn calls(tool: &str, what: &[&str]) -> Answer {
    Answer::calls(what.iter().map(|what| (tool, json!({"what": what}))))
}
