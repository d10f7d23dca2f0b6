//! A world with two agents, a scripted model and a scripted tool, served on loopback ports: one for each person.
//! Used by every test here.

use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, Approval, ToolSpec, World};
use agent_world_core::event::Output;
use agent_world_runtime::llm::scripted::{Answer, Scripted as Model};
use agent_world_runtime::store::sqlite::Role as StoreRole;
use agent_world_runtime::store::{Memory, Sqlite, Store};
use agent_world_runtime::tools::person::{Answer as Told, Question};
use agent_world_runtime::tools::scripted::Scripted as Tool;
use agent_world_runtime::{Engine, Options as EngineOptions};
use agent_world_server::{Access, Options, Principal, Proof, Role, Server};
use reqwest::Method;
use serde_json::{Value, json};

pub struct Stage {
    pub engine: Engine,
    pub model: Model,
    /// Asks before it does what it is told.
    pub act: Tool,
    /// Whoever is at the keyboard.
    pub human: Client,
    /// A chat with a name, in which ada answers.
    pub chat: String,
    _folder: tempfile::TempDir,
}

/// Somebody who talks to the server.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    pub server: Server,
}

#[derive(Debug)]
pub struct Got {
    pub status: u16,
    pub body: Value,
    pub headers: reqwest::header::HeaderMap,
}

impl Stage {
    pub async fn open() -> Self {
        Self::on(Arc::new(Memory::default()), tempfile::tempdir().unwrap()).await
    }

    pub async fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path().join("test.db"), StoreRole::Worker).unwrap();
        Self::on(Arc::new(store), folder).await
    }

    async fn on(store: Arc<dyn Store>, folder: tempfile::TempDir) -> Self {
        let model = Model::new();
        let act = Tool::new(spec("act"), |invocation| async move {
            let what = invocation.arguments["what"].as_str().unwrap_or_default().to_owned();
            Ok(Output::text(format!("did {what}")))
        });
        let long = ToolSpec { approval: Approval::not_required(), ..spec("long") };
        let long = Tool::text(long, "0123456789".repeat(20_000));
        let engine = Engine::builder(store)
            .model("scripted", Arc::new(model.clone()))
            .tool(Arc::new(act.clone()))
            .unwrap()
            .tool(Arc::new(long))
            .unwrap()
            .tool(Arc::new(painting()))
            .unwrap()
            .options(EngineOptions { poll: Duration::from_millis(50), ..Default::default() })
            .start()
            .unwrap();
        for id in ["w", "other"] {
            let world = World {
                agents: vec![agent("ada"), agent("bob")],
                main_agent: Some("ada".into()),
                ..World::new(id.into(), id, Timestamp::now())
            };
            engine.create_world(world, "test").await.unwrap();
        }
        let local = Access::default().local;
        let human = Client::new(&engine, local).await;
        let opened = human.post("/api/worlds/w/chats", json!({"title": "Scene"})).await;
        let chat = format!("/api/worlds/w/chats/{}", opened.ok(201)["id"].as_str().unwrap());
        Self { engine, model, act, human, chat, _folder: folder }
    }

    /// A person with a token, at a port of their own.
    pub async fn person(&self, name: &str, role: Role) -> Client {
        let principal = Principal { name: name.to_owned(), role, proof: Proof::Token };
        Client::new(&self.engine, principal).await
    }

    /// The address of something in the chat.
    pub fn at(&self, place: &str) -> String {
        format!("{}/{place}", self.chat)
    }

    pub async fn say(&self, text: &str) -> Value {
        let posted = self.human.post(&self.at("messages"), json!({"content": text})).await;
        posted.ok(202)["message"].clone()
    }

    /// Ada calls the tool for each of these; returns the requests for approval, in that order.
    pub async fn asked(&self, whats: &[&str]) -> Vec<Value> {
        self.model.push("ada", acts(whats));
        self.say("go").await;
        self.pending(whats.len()).await
    }

    pub async fn pending(&self, count: usize) -> Vec<Value> {
        self.until(async || {
            let page = self.human.get("/api/approvals").await.ok(200);
            let data = page["data"].as_array().unwrap().clone();
            (data.len() == count).then_some(data)
        })
        .await
    }

    pub async fn idle(&self) {
        self.until(async || {
            let chat = self.human.get(&self.chat).await.ok(200);
            (chat["activity"]["state"] == "idle").then_some(())
        })
        .await;
    }

    pub async fn until<T>(&self, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let looking = async {
            loop {
                if let Some(found) = look().await {
                    return found;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), looking).await.expect("it never happened")
    }

    pub async fn texts(&self) -> Vec<String> {
        let page = self.human.get(&self.at("messages")).await.ok(200);
        let text = |message: &Value| message["content"].as_str().unwrap().to_owned();
        page["data"].as_array().unwrap().iter().map(text).collect()
    }

    /// All that the model was shown, as JSON.
    pub fn shown(&self) -> String {
        let requests = self.model.requests();
        let inputs = requests.iter().map(|request| serde_json::to_string(&request.input).unwrap());
        inputs.collect::<Vec<_>>().join("\n")
    }

    /// What the tool was told to do, in the order of its starts.
    pub fn done(&self) -> Vec<String> {
        let what = |arguments: &Value| arguments["what"].as_str().unwrap().to_owned();
        self.act.invocations().iter().map(|invocation| what(&invocation.arguments)).collect()
    }
}

impl Client {
    #[allow(clippy::needless_update, reason = "what is not set here has a default, also later")]
    async fn new(engine: &Engine, local: Principal) -> Self {
        // The second one finds the first one's, which is the same.
        rustls::crypto::ring::default_provider().install_default().ok();
        let access = Access { local };
        let server = Server::new(engine.clone(), Options { access, ..Options::default() });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let router = server.router();
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { http: reqwest::Client::builder().no_proxy().build().unwrap(), base, server }
    }

    pub async fn get(&self, path: &str) -> Got {
        self.send(Method::GET, path, None, None).await
    }

    pub async fn delete(&self, path: &str) -> Got {
        self.send(Method::DELETE, path, None, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Got {
        self.send(Method::POST, path, Some(body.to_string()), None).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Got {
        self.send(Method::PUT, path, Some(body.to_string()), None).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Got {
        self.send(Method::PATCH, path, Some(body.to_string()), None).await
    }

    /// A POST with an idempotency key.
    pub async fn post_once(&self, path: &str, key: &str, body: Value) -> Got {
        self.send(Method::POST, path, Some(body.to_string()), Some(key)).await
    }

    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<String>,
        key: Option<&str>,
    ) -> Got {
        let mut request = self.http.request(method, format!("{}{path}", self.base));
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        if let Some(body) = body {
            request = request.header("Content-Type", "application/json").body(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() };
        Got { status, body, headers }
    }

    /// Where this person's server listens.
    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }
}

impl Got {
    #[track_caller]
    pub fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    /// A problem document with this status and code.
    #[track_caller]
    pub fn problem(self, status: u16, code: &str) -> Value {
        assert_eq!((self.status, &self.body["code"]), (status, &json!(code)), "{}", self.body);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert_eq!(self.body["status"], status);
        self.body
    }

    pub fn is_replayed(&self) -> bool {
        self.headers.get("idempotency-replayed").is_some_and(|value| value == "true")
    }
}

pub fn spec(name: &str) -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {"what": {"type": "string"}, "token": {"type": "string"}},
        "required": ["what"],
    });
    ToolSpec::new(name, "Does something.", parameters)
}

/// A tool that asks for a colour while it runs.
fn painting() -> Tool {
    let spec = ToolSpec { approval: Approval::not_required(), ..spec("paint") };
    Tool::new(spec, |invocation| async move {
        let schema = json!({
            "type": "object",
            "properties": {"colour": {"type": "string"}},
            "required": ["colour"],
        });
        let question = Question { message: "Which colour?".to_owned(), schema, url: None };
        Ok(Output::text(match invocation.person.ask(question).await {
            Told::Given(content) => format!("painted {}", content["colour"].as_str().unwrap()),
            Told::Declined | Told::Unanswered => "not painted".to_owned(),
        }))
    })
}

fn agent(name: &str) -> Agent {
    Agent { model: Some(format!("scripted/{name}")), ..Agent::new(name) }
}

/// A reply that calls the tool for each of these at once.
pub fn acts(whats: &[&str]) -> Answer {
    Answer::calls(whats.iter().map(|what| ("act", json!({"what": what}))))
}

pub fn id(value: &Value) -> &str {
    value["id"].as_str().unwrap()
}
