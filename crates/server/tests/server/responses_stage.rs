//! Where the OpenAI-compatible interface is tested: an engine with the demo model, a scripted one and one that never ends,
//! served on a loopback port; and a checker that compares every body and event with the specification.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_world_runtime::Engine;
use agent_world_runtime::llm::demo::Demo;
use agent_world_runtime::llm::scripted::Scripted;
use agent_world_runtime::llm::{Class, Draft, Error, Event, Events, Model, Request, Response};
use agent_world_runtime::store::Memory;
use agent_world_server::{Access, Options, Principal, Proof, Role, Server};
use async_stream::stream;
use jsonschema::Validator;
use reqwest::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

pub struct Stage {
    pub scripted: Scripted,
    pub endless: Endless,
    pub engine: Engine,
    pub checker: Checker,
    /// Somebody with every right.
    pub admin: Client,
}

/// Somebody who asks the server.
pub struct Client {
    pub address: String,
    pub server: Server,
    http: reqwest::Client,
}

/// An answer: status, headers and body.
pub struct Answer {
    pub status: StatusCode,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Stage {
    pub async fn set() -> Self {
        // A second one says that the first is there, which is all that is wanted.
        rustls::crypto::ring::default_provider().install_default().ok();
        let (scripted, endless) = (Scripted::new(), Endless::default());
        let engine = Engine::builder(Arc::new(Memory::new()))
            .model("demo", Arc::new(Demo))
            .model("scripted", Arc::new(scripted.clone()))
            .model("endless", Arc::new(endless.clone()))
            .model("broken", Arc::new(Broken))
            .start()
            .unwrap();
        let admin = enter(&engine, "root", Role::Admin).await;
        Self { scripted, endless, engine, checker: Checker::new(), admin }
    }

    /// Lets somebody else in, by a door of their own to the same engine.
    pub async fn enter(&self, name: &str, role: Role) -> Client {
        enter(&self.engine, name, role).await
    }
}

#[allow(clippy::field_reassign_with_default, reason = "what else can be set stays as it is")]
async fn enter(engine: &Engine, name: &str, role: Role) -> Client {
    let mut access = Access::default();
    access.local = Principal { name: name.to_owned(), role, proof: Proof::Local };
    let mut options = Options::default();
    options.access = access;
    let server = Server::new(engine.clone(), options);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let router = server.router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    Client { address, server, http: reqwest::Client::new() }
}

impl Client {
    pub async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let text = body.map(Value::to_string);
        self.send_text(method, path, text.as_deref()).await
    }

    pub async fn send_text(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        let response = self.open(method, path, body).await;
        let (status, headers) = (response.status(), response.headers().clone());
        Answer { status, headers, text: response.text().await.unwrap() }
    }

    /// The answer as it begins, to be read piece by piece.
    pub async fn open(&self, method: &str, path: &str, body: Option<&str>) -> reqwest::Response {
        let address = format!("http://{}{path}", self.address);
        let mut request = self.http.request(method.parse().unwrap(), address);
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_owned());
        }
        request.send().await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, Some(&body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, None).await
    }

    /// A response that must be complete.
    pub async fn respond(&self, body: Value) -> Value {
        let answer = self.post("/v1/responses", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }

    /// All events of a stream, which must end as it should.
    pub async fn stream(&self, mut body: Value) -> Vec<Value> {
        body["stream"] = true.into();
        let answer = self.post("/v1/responses", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert!(answer.header("content-type").starts_with("text/event-stream"));
        answer.events()
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// What went wrong, after a look at its shape.
    pub fn error(&self) -> (u16, String, Option<String>) {
        assert!(self.header("content-type").starts_with("application/json"), "{}", self.text);
        let body = self.json();
        let error = &body["error"];
        assert!(error["type"].is_string() && error["message"].is_string(), "{body}");
        assert!(body.as_object().unwrap().len() == 1 && error.get("param").is_some(), "{body}");
        let code = error["code"].as_str().expect("a code").to_owned();
        (self.status.as_u16(), code, error["param"].as_str().map(str::to_owned))
    }

    /// Server-sent events: each named by its type, numbered without a gap, and `[DONE]` at the end.
    pub fn events(&self) -> Vec<Value> {
        let mut frames: Vec<&str> = self.text.trim_end().split("\n\n").collect();
        assert_eq!(frames.pop(), Some("data: [DONE]"));
        let events: Vec<Value> = frames
            .into_iter()
            .map(|frame| {
                let (name, data) = frame.split_once('\n').expect("two lines");
                let data: Value =
                    serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
                assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
                data
            })
            .collect();
        numbered(&events);
        events
    }
}

pub fn numbered(events: &[Value]) {
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
    }
}

pub fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

/// All text of a response.
pub fn text(response: &Value) -> String {
    let parts = response["output"].as_array().unwrap().iter().flat_map(|item| {
        item["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str())
    });
    parts.collect()
}

/// A model that begins to answer and never ends, and knows how many of its calls still live.
#[derive(Clone, Debug)]
pub struct Endless {
    alive: watch::Sender<usize>,
    asked: watch::Sender<usize>,
}

impl Default for Endless {
    fn default() -> Self {
        Self { alive: watch::Sender::new(0), asked: watch::Sender::new(0) }
    }
}

impl Endless {
    pub async fn asked(&self, count: usize) {
        self.asked.subscribe().wait_for(|asked| *asked >= count).await.unwrap();
    }

    /// Returns when no call is under way.
    pub async fn dropped(&self) {
        self.alive.subscribe().wait_for(|alive| *alive == 0).await.unwrap();
    }

    pub fn alive(&self) -> usize {
        *self.alive.borrow()
    }
}

struct Living(watch::Sender<usize>);

impl Drop for Living {
    fn drop(&mut self) {
        self.0.send_modify(|alive| *alive -= 1);
    }
}

impl Model for Endless {
    fn stream(&self, _: Request) -> Events {
        self.alive.send_modify(|alive| *alive += 1);
        self.asked.send_modify(|asked| *asked += 1);
        let living = Living(self.alive.clone());
        Box::pin(stream! {
            let _living = living;
            yield Ok(Event::Started(Box::<Response>::default()));
            std::future::pending::<()>().await;
        })
    }
}

/// A model that fails in the middle of its first word.
#[derive(Debug)]
struct Broken;

impl Model for Broken {
    fn stream(&self, _: Request) -> Events {
        Box::pin(stream! {
            let mut draft = Draft::new();
            draft.say("Hel");
            for event in draft.take_events() {
                yield Ok(event);
            }
            yield Err(Error::new(Class::Overloaded, "broken", "no more"));
        })
    }
}

/// Compares bodies and events with the specification, where it is there; else it counts what it did not compare.
pub struct Checker {
    specification: Option<Value>,
    /// Those that were needed so far, by name: making one takes a while.
    schemas: RefCell<BTreeMap<String, Validator>>,
    skipped: Cell<usize>,
}

impl Checker {
    fn new() -> Self {
        Self { specification: specification(), schemas: RefCell::default(), skipped: Cell::new(0) }
    }

    pub fn body(&self, name: &str, body: &Value) {
        let Some(specification) = &self.specification else {
            self.skipped.set(self.skipped.get() + 1);
            return;
        };
        let mut schemas = self.schemas.borrow_mut();
        let schema = schemas.entry(name.to_owned()).or_insert_with(|| schema(specification, name));
        fits(schema, body);
    }

    pub fn response(&self, body: &Value) {
        self.body("ResponseResource", body);
    }

    pub fn event(&self, event: &Value) {
        let Some(specification) = &self.specification else {
            self.skipped.set(self.skipped.get() + 1);
            return;
        };
        let schemas = specification["components"]["schemas"].as_object().unwrap();
        let of = |(name, schema): &(&String, &Value)| {
            name.ends_with("StreamingEvent")
                && schema["properties"]["type"]["enum"][0] == event["type"]
        };
        let (name, _) = schemas.iter().find(of).unwrap_or_else(|| panic!("no such event: {event}"));
        self.body(name, event);
    }

    pub fn all(&self, events: &[Value]) {
        for event in events {
            self.event(event);
        }
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        if self.skipped.get() > 0 {
            println!("skipped {} checks: the specification is not here", self.skipped.get());
        }
    }
}

fn fits(schema: &Validator, value: &Value) {
    let problems: Vec<String> = schema
        .iter_errors(value)
        .map(|error| format!("{} at {}", error, error.instance_path()))
        .collect();
    assert!(problems.is_empty(), "{problems:#?} in {value}");
}

fn specification() -> Option<Value> {
    let named = std::env::var_os("AGENT_WORLD_SPECS").map(PathBuf::from);
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs");
    let path = named.clone().unwrap_or_else(beside).join("open-responses.openapi.json");
    match std::fs::read_to_string(&path) {
        Ok(text) => Some(serde_json::from_str(&text).expect("the specification is JSON")),
        Err(error) => {
            assert!(
                named.is_none(),
                "AGENT_WORLD_SPECS holds no specification: {}: {error}",
                path.display()
            );
            None
        }
    }
}

fn schema(specification: &Value, name: &str) -> Validator {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{name}"),
        "components": specification["components"],
    });
    jsonschema::validator_for(&schema).expect("a schema")
}

/// A message of the user.
pub fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": text})
}

/// A function that tells the weather.
pub fn weather() -> Value {
    json!({
        "type": "function",
        "name": "get_weather",
        "description": "Tells the weather at a place",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string"}},
            "required": ["location"],
        },
    })
}
