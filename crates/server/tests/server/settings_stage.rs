//! What the scenes about settings are played on: an engine in memory behind a server on a loopback port, and a client.
//! Holds no expectations of its own but that every error is a problem document.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use agent_world_core::command::{Answer as Decision, Claims, Scope as Reach};
use agent_world_core::config::{McpServer, McpTransport, ToolSpec};
use agent_world_core::event::Output;
use agent_world_core::ids::WorldId;
use agent_world_core::view::ApprovalView;
use agent_world_runtime::llm::scripted::{Answer, Scripted};
use agent_world_runtime::store::{ApprovalFilter, Memory, Scope, Sqlite, Store, sqlite};
use agent_world_runtime::tools::mcp;
use agent_world_runtime::tools::scripted::Scripted as ScriptedTool;
use agent_world_runtime::{Engine, NewMessage};
use agent_world_server::{Access, Options, Principal, Proof, Role, Secrets, Server, is_secret};
use reqwest::{Client, Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

pub struct Stage {
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub model: Scripted,
    pub folder: TempDir,
    pub secrets: Arc<Drawer>,
    options: Options,
    address: String,
    client: Client,
}

/// What the server said.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub tag: Option<String>,
    pub location: Option<String>,
    pub kind: String,
    pub text: String,
    pub body: Value,
    asked: String,
}

/// Keys in memory.
#[derive(Debug, Default)]
pub struct Drawer {
    pub keys: Mutex<BTreeMap<String, String>>,
    put_away: AtomicUsize,
    /// Where whoever puts something away waits for others who do.
    pub meeting: Mutex<Option<Arc<Barrier>>>,
}

impl Secrets for Drawer {
    fn put_away(
        &self,
        world: &str,
        name: &str,
        server: &mut McpServer,
    ) -> Result<Vec<String>, String> {
        let meeting = self.meeting.lock().unwrap().clone();
        let values = match &mut server.transport {
            McpTransport::Stdio { env, .. } => env,
            McpTransport::Http { headers, .. } => headers,
        };
        let mut keys = self.keys.lock().unwrap();
        let mut names = Vec::new();
        for (key, value) in values.iter_mut().filter(|(key, value)| is_secret(key, value)) {
            // A new name every time: one that is in force is never overwritten.
            let number = self.put_away.fetch_add(1, Ordering::Relaxed);
            let variable = format!("MCP_{world}_{name}_{key}_{number}").to_uppercase();
            keys.insert(variable.clone(), std::mem::take(value));
            *value = format!("${{{variable}}}");
            names.push(key.clone());
        }
        drop(keys);
        if let Some(meeting) = meeting {
            meeting.wait();
        }
        Ok(names)
    }

    fn forget(&self, world: &str, name: &str, variables: &[String]) -> Result<(), String> {
        let prefix = format!("MCP_{world}_{name}_").to_uppercase();
        assert!(variables.iter().all(|variable| variable.starts_with(&prefix)), "{variables:?}");
        self.keys.lock().unwrap().retain(|variable, _| !variables.contains(variable));
        Ok(())
    }
}

/// A tool that takes `what` and asks before it does it.
fn act() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"what": {"type": "string"}},
        "required": ["what"],
    });
    ToolSpec::new("act", "Does something.", parameters)
}

impl Stage {
    pub async fn open() -> Self {
        Self::with(|_| {}).await
    }

    /// With other options than the usual ones.
    pub async fn with(change: impl FnOnce(&mut Options)) -> Self {
        Self::start(tempfile::tempdir().unwrap(), Arc::new(Memory::new()), change).await
    }

    /// On a store that takes its time, so that requests made at the same time overtake each other.
    pub async fn on_disk() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path().join("store.db"), sqlite::Role::Worker).unwrap();
        Self::start(folder, Arc::new(store), |_| {}).await
    }

    async fn start(
        folder: TempDir,
        store: Arc<dyn Store>,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let (secrets, model) = (Arc::new(Drawer::default()), Scripted::new());
        let kept = Arc::clone(&secrets);
        let put_away = move |_: mcp::Starting<'_>| {
            let keys = kept.keys.lock().unwrap();
            keys.iter().map(|(name, value)| (name.into(), value.into())).collect()
        };
        let options = mcp::Options { put_away: Some(Arc::new(put_away)), ..Default::default() };
        let servers = Arc::new(mcp::Servers::new(options));
        let tool = ScriptedTool::new(act(), |_| async { Ok(Output::text("did it")) });
        let engine = Engine::builder(Arc::clone(&store))
            .model("scripted", Arc::new(model.clone()))
            .tool(Arc::new(tool))
            .unwrap()
            .source(Arc::<mcp::Servers>::clone(&servers))
            .start()
            .unwrap();
        let mut options = Options {
            workspace: Some(folder.path().join("data/workspace")),
            data_folder: Some(folder.path().join("data")),
            mcp: Some(servers),
            secrets: Some(Arc::<Drawer>::clone(&secrets)),
            ..Options::default()
        };
        change(&mut options);
        let (address, client) = serve(&engine, options.clone(), Role::Admin).await;
        Self { engine, store, model, folder, secrets, options, address, client }
    }

    /// The same server for somebody with another role.
    pub async fn seen_by(&self, role: Role) -> Self {
        let (address, client) = serve(&self.engine, self.options.clone(), role).await;
        Self {
            engine: self.engine.clone(),
            store: Arc::clone(&self.store),
            model: self.model.clone(),
            folder: tempfile::tempdir().unwrap(),
            secrets: Arc::clone(&self.secrets),
            options: self.options.clone(),
            address,
            client,
        }
    }

    /// The keys that are put away, as `NAME=key`.
    pub fn kept(&self) -> Vec<String> {
        let keys = self.secrets.keys.lock().unwrap();
        keys.iter().map(|(name, key)| format!("{name}={key}")).collect()
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.ask(Method::GET, path, None, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.ask(Method::POST, path, Some(body.to_string()), None).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.ask(Method::PATCH, path, Some(body.to_string()), None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.ask(Method::PUT, path, Some(body.to_string()), None).await
    }

    pub async fn delete(&self, path: &str) -> Reply {
        self.ask(Method::DELETE, path, None, None).await
    }

    /// Any request, with a version it is meant for.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        if_match: Option<&str>,
    ) -> Reply {
        let asked = format!("{method} {path} {}", body.as_deref().unwrap_or_default());
        let mut request = self.client.request(method, format!("{}{path}", self.address));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body);
        }
        if let Some(tag) = if_match {
            request = request.header("if-match", tag);
        }
        let response = request.send().await.unwrap();
        let header = |name: &str| {
            response.headers().get(name).map(|value| value.to_str().unwrap().to_owned())
        };
        let (tag, location) = (header("etag"), header("location"));
        let (status, kind) = (response.status(), header("content-type").unwrap_or_default());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or_default();
        Reply { status, tag, location, kind, text, body, asked }
    }

    /// A world `w` with an agent `ada`.
    pub async fn world(&self) -> Reply {
        let agent = json!({"id": "ada", "model": "scripted/ada"});
        self.post("/api/worlds", json!({"id": "w", "name": "W", "agents": [agent]})).await.is(201)
    }

    /// Has ada call `act`, which is then allowed for always. Gives the request that was answered.
    pub async fn grant_always(&self) -> ApprovalView {
        let world = WorldId::new("w");
        let chat = self.store.chats(&world, None, 1).await.unwrap().remove(0);
        let mut feed = self.engine.subscribe(Scope::All, self.store.position().await.unwrap());
        self.model.push("ada", Answer::call("act", json!({"what": "it"})));
        self.model.push("ada", Answer::text("done"));
        self.engine.post(&chat.id, NewMessage::human("@ada go")).await.unwrap();
        let filter = ApprovalFilter { only_pending: true, ..ApprovalFilter::default() };
        let asked = loop {
            if let Some(asked) = self.store.approvals(&filter, None, 1).await.unwrap().pop() {
                break asked;
            }
            feed.next().await.unwrap().unwrap();
        };
        let answer = Decision::Approve {
            scope: Reach::Always,
            matches: Vec::new(),
            arguments: None,
            reason: None,
        };
        let answered = self.engine.answer(&asked.id, answer, "eve", Claims::default()).await;
        let answered = answered.unwrap();
        while self.store.chat(&chat.id).await.unwrap().unwrap().activity.busy {
            feed.next().await.unwrap().unwrap();
        }
        answered
    }
}

async fn serve(engine: &Engine, options: Options, role: Role) -> (String, Client) {
    let local = Principal { name: "eve".to_owned(), role, proof: Proof::Local };
    let server = Server::new(engine.clone(), Options { access: Access { local }, ..options });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(axum::serve(listener, server.router()).into_future());
    // Only the first one of a process is installed.
    rustls::crypto::ring::default_provider().install_default().ok();
    (address, Client::builder().no_proxy().build().unwrap())
}

impl Reply {
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status.as_u16(), status, "{}\n{}", self.asked, self.text);
        self
    }

    /// An error of that code, as RFC 9457 wants it.
    #[track_caller]
    pub fn fails(self, status: u16, code: &str) -> Self {
        let reply = self.is(status);
        assert_eq!(reply.body["code"], code, "{}\n{}", reply.asked, reply.text);
        assert_eq!(reply.body["status"], status);
        assert_eq!(reply.body["type"], format!("urn:agent-world:problem:{code}"));
        assert!(reply.kind.starts_with("application/problem+json"), "{}", reply.kind);
        assert!(!reply.body["detail"].as_str().unwrap().is_empty());
        reply
    }

    #[track_caller]
    pub fn says(self, words: &str) -> Self {
        assert!(self.text.contains(words), "{}\n{}", self.asked, self.text);
        self
    }

    #[track_caller]
    pub fn does_not_say(self, words: &str) -> Self {
        assert!(!self.text.contains(words), "{}\n{}", self.asked, self.text);
        self
    }
}
