//! Addresses that are told of what waits for approval: signed, repeated until it is heard, each on its own.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::command::{Answer as Decision, Claims};
use agent_world_core::config::{Agent, ToolSpec, World};
use agent_world_core::event::Output;
use agent_world_core::ids::{ApprovalId, ChatId, WorldId};
use agent_world_core::item::Reply;
use agent_world_runtime::llm::scripted::{Answer, Scripted as Model};
use agent_world_runtime::store::Memory;
use agent_world_runtime::tools::scripted::Scripted as Tool;
use agent_world_runtime::{Engine, NewMessage};
use agent_world_server::{Options, Server};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Longer than anything takes on a slow machine: past it, something will never happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody who is told.
struct Receiver {
    url: String,
    heard: mpsc::UnboundedReceiver<(HeaderMap, String)>,
    answers: Arc<Mutex<VecDeque<StatusCode>>>,
}

type Ear = (mpsc::UnboundedSender<(HeaderMap, String)>, Arc<Mutex<VecDeque<StatusCode>>>);

async fn hear(State((heard, answers)): State<Ear>, headers: HeaderMap, body: String) -> Response {
    heard.send((headers, body)).ok();
    let status = answers.lock().unwrap().pop_front().unwrap_or(StatusCode::NO_CONTENT);
    (status, [(header::LOCATION, "/elsewhere")]).into_response()
}

impl Receiver {
    async fn open(answers: &[u16]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), answers)
    }

    fn on(listener: TcpListener, answers: &[u16]) -> Self {
        let (sender, heard) = mpsc::unbounded_channel();
        let answers = answers.iter().map(|status| StatusCode::from_u16(*status).unwrap());
        let answers = Arc::new(Mutex::new(answers.collect::<VecDeque<_>>()));
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let routes = Router::new().route("/hook", post(hear)).route("/elsewhere", post(hear));
        let routes = routes.with_state((sender, Arc::clone(&answers)));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, heard, answers }
    }

    async fn next(&mut self) -> (HeaderMap, String) {
        let heard = tokio::time::timeout(PATIENCE, self.heard.recv()).await;
        heard.expect("nothing came").unwrap()
    }
}

struct Place {
    memory: Memory,
    engine: Engine,
    model: Model,
    server: Server,
    url: String,
    client: reqwest::Client,
    deliveries: JoinHandle<()>,
}

impl Place {
    async fn on(memory: Memory) -> Self {
        Self::with(memory, None).await
    }

    async fn with(memory: Memory, public_url: Option<&str>) -> Self {
        rustls::crypto::ring::default_provider().install_default().ok();
        let model = Model::answering(|_| Ok(Reply::text("Done.")));
        let spec = ToolSpec::new("act", "Does something.", json!({"type": "object"}));
        let engine = Engine::builder(Arc::new(memory.clone()))
            .model("scripted", Arc::new(model.clone()))
            .tool(Arc::new(Tool::new(spec, |_| async { Ok(Output::text("did it")) })))
            .unwrap()
            .start()
            .unwrap();
        let public_url = public_url.map(str::to_owned);
        let server = Server::new(engine.clone(), Options { public_url, ..Options::default() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/webhooks", listener.local_addr().unwrap());
        let running = server.clone();
        let deliveries = tokio::spawn(async move { running.serve(listener).await.unwrap() });
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { memory, engine, model, server, url, client, deliveries }
    }

    async fn new() -> Self {
        Self::found_at(None).await
    }

    /// Of which it is said how people reach it.
    async fn found_at(public_url: Option<&str>) -> Self {
        let place = Self::with(Memory::new(), public_url).await;
        let mut world = World::new(WorldId::new("lab"), "Lab", Timestamp::now());
        world.agents = vec![Agent { model: Some("scripted/ada".to_owned()), ..Agent::new("ada") }];
        place.engine.create_world(world, "eve").await.unwrap();
        place
    }

    /// The process ends, and another takes over.
    async fn restart(self) -> Self {
        self.server.stopping().cancel();
        self.deliveries.await.unwrap();
        self.engine.shutdown().await;
        Self::on(self.memory.restart()).await
    }

    async fn create(&self, body: Value) -> (u16, Value) {
        let request = self.client.post(&self.url).header("content-type", "application/json");
        let answer = request.body(body.to_string()).send().await.unwrap();
        (answer.status().as_u16(), serde_json::from_str(&answer.text().await.unwrap()).unwrap())
    }

    async fn hook(&self, url: &str) -> Value {
        let (status, hook) = self.create(json!({"url": url, "allow_private": true})).await;
        assert_eq!(status, 201, "{hook}");
        hook
    }

    async fn list(&self) -> Vec<Value> {
        let text = self.client.get(&self.url).send().await.unwrap().text().await.unwrap();
        let page: Value = serde_json::from_str(&text).unwrap();
        page["data"].as_array().unwrap().clone()
    }

    async fn state_is(&self, id: &Value, state: &str) -> Value {
        let look = async {
            loop {
                let listed = self.list().await.into_iter().find(|hook| hook["id"] == *id).unwrap();
                if listed["state"] == state {
                    return listed;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(PATIENCE, look).await.expect("the state never came")
    }

    /// Has an agent ask for something.
    async fn ask(&self) -> ChatId {
        let world = WorldId::new("lab");
        let chat = self.engine.create_chat(&world, Some("x".to_owned()), "eve").await.unwrap().id;
        self.model.push("ada", Answer::call("act", json!({})));
        self.engine.post(&chat, NewMessage::human("go")).await.unwrap();
        chat
    }
}

/// A port on which nobody listens any more.
async fn nobody_listens() -> std::net::SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// As a receiver would check it.
#[track_caller]
fn verify(secret: &Value, headers: &HeaderMap, body: &str) {
    let header = |name: &str| headers[name].to_str().unwrap().to_owned();
    let key = STANDARD.decode(secret.as_str().unwrap().strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(
        format!("{}.{}.{body}", header("webhook-id"), header("webhook-timestamp")).as_bytes(),
    );
    let signature = STANDARD.decode(header("webhook-signature").strip_prefix("v1,").unwrap());
    mac.verify_slice(&signature.unwrap()).expect("the signature must hold");
}

#[tokio::test]
async fn a_request_is_told_signed_and_again_until_it_is_heard() {
    let place = Place::new().await;
    let mut receiver = Receiver::open(&[500]).await;
    let hook = place.hook(&receiver.url).await;
    let chat = place.ask().await;
    let (headers, body) = receiver.next().await;
    verify(&hook["secret"], &headers, &body);
    let told: Value = serde_json::from_str(&body).unwrap();
    let approval = &told["data"]["approval"];
    assert_eq!(
        (&told["type"], &approval["state"]),
        (&json!("approval.requested"), &json!("pending"))
    );
    assert_eq!((&approval["chat_id"], &approval["tool"]), (&json!(chat), &json!("act")));
    // It leads to the approval as it is.
    let link = told["data"]["link"].as_str().unwrap();
    let shown = place.client.get(link).send().await.unwrap().text().await.unwrap();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["id"], &shown["tool"]), (&approval["id"], &json!("act")), "{link}");
    let (again, same) = receiver.next().await;
    verify(&hook["secret"], &again, &same);
    assert_eq!((&again["webhook-id"], &same), (&headers["webhook-id"], &body));
    let listed = place.state_is(&hook["id"], "ok").await;
    assert!(listed["last_success_at"].is_string(), "{listed}");
    let secret = hook["secret"].as_str().unwrap();
    assert!(!json!(place.list().await).to_string().contains(secret), "it is shown once");
}

#[tokio::test]
async fn a_link_begins_with_the_address_people_know() {
    let place = Place::found_at(Some("https://agents.example.com/lab/")).await;
    let mut receiver = Receiver::open(&[]).await;
    place.hook(&receiver.url).await;
    place.ask().await;
    let told: Value = serde_json::from_str(&receiver.next().await.1).unwrap();
    let id = told["data"]["approval"]["id"].as_str().unwrap();
    let link = format!("https://agents.example.com/lab/api/approvals/{id}");
    assert_eq!(told["data"]["link"], link);
}

#[tokio::test]
async fn what_came_of_a_request_is_told_to_those_who_ask_for_it() {
    let place = Place::new().await;
    let (mut both, mut only) = (Receiver::open(&[]).await, Receiver::open(&[]).await);
    let mut usual = Receiver::open(&[]).await;
    let hook = place.hook(&usual.url).await;
    assert_eq!(hook["events"], json!(["approval.requested"]), "nobody is told more than before");
    let wanted = [
        (&both, json!(["approval.requested", "approval.decided"])),
        (&only, json!(["approval.decided"])),
    ];
    for (receiver, events) in wanted {
        let body = json!({"url": receiver.url, "allow_private": true, "events": events});
        let (status, hook) = place.create(body).await;
        assert_eq!((status, &hook["events"]), (201, &events), "{hook}");
    }
    async fn heard(receiver: &mut Receiver) -> (String, String, String) {
        let told: Value = serde_json::from_str(&receiver.next().await.1).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let approval = &told["data"]["approval"];
        (text(&told["type"]), text(&approval["id"]), text(&approval["state"]))
    }
    let line = |kind: &str, id: &str, state: &str| (kind.into(), id.into(), state.into());
    for state in ["denied", "withdrawn"] {
        let chat = place.ask().await;
        let (_, id, _) = heard(&mut usual).await;
        assert_eq!(heard(&mut both).await, line("approval.requested", &id, "pending"));
        if state == "denied" {
            let approval = ApprovalId::new(id.as_str());
            let deny = Decision::Deny { reason: None };
            place.engine.answer(&approval, deny, "eve", Claims::default()).await.unwrap();
        } else {
            place.engine.stop(&chat, None, "eve").await.unwrap();
        }
        assert_eq!(heard(&mut both).await, line("approval.decided", &id, state));
        assert_eq!(heard(&mut only).await, line("approval.decided", &id, state));
    }
    // The one that asked for nothing more has heard nothing of it: what it hears next is the next request.
    place.ask().await;
    assert_eq!(heard(&mut usual).await.0, "approval.requested");
}

#[tokio::test]
async fn what_could_not_be_told_is_told_after_a_restart() {
    let place = Place::new().await;
    let address = nobody_listens().await;
    let hook = place.hook(&format!("http://{address}/hook")).await;
    let first = place.ask().await;
    let listed = place.state_is(&hook["id"], "retrying").await;
    assert!(!listed["last_error"].as_str().unwrap().contains("/hook"), "{listed}");
    let place = place.restart().await;
    let second = place.ask().await;
    let mut receiver = Receiver::on(TcpListener::bind(address).await.unwrap(), &[]);
    for chat in [first, second] {
        let (headers, body) = receiver.next().await;
        verify(&hook["secret"], &headers, &body);
        let told: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(told["data"]["approval"]["chat_id"], json!(chat), "in order");
    }
}

#[tokio::test]
async fn one_that_never_answers_delays_no_other_and_no_redirect_is_followed() {
    let place = Place::new().await;
    let mut astray = Receiver::open(&[302, 307]).await;
    // Takes the connection and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    place.hook(&format!("http://{}/hook", silent.local_addr().unwrap())).await;
    let redirected = place.hook(&astray.url).await;
    let mut receiver = Receiver::open(&[]).await;
    place.hook(&receiver.url).await;
    place.ask().await;
    receiver.next().await;
    let (headers, _) = astray.next().await;
    let listed = place.state_is(&redirected["id"], "retrying").await;
    assert!(listed["last_error"].as_str().unwrap().contains("redirects are not followed"));
    let (again, _) = astray.next().await;
    assert_eq!(headers["webhook-id"], again["webhook-id"]);
    assert!(astray.answers.lock().unwrap().is_empty(), "only the address itself was asked");
}

#[tokio::test]
async fn what_was_decided_before_it_could_be_told_is_no_news() {
    let place = Place::new().await;
    let address = nobody_listens().await;
    let hook = place.hook(&format!("http://{address}/hook")).await;
    let chat = place.ask().await;
    place.state_is(&hook["id"], "retrying").await;
    place.engine.stop(&chat, None, "eve").await.unwrap();
    let next = place.ask().await;
    let mut receiver = Receiver::on(TcpListener::bind(address).await.unwrap(), &[]);
    let (_, body) = receiver.next().await;
    let told: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(told["data"]["approval"]["chat_id"], json!(next));
    let url = format!("{}/{}", place.url, hook["id"].as_str().unwrap());
    assert_eq!(place.client.delete(&url).send().await.unwrap().status().as_u16(), 204);
    assert_eq!(place.client.delete(&url).send().await.unwrap().status().as_u16(), 404);
    assert!(place.list().await.is_empty());
}

#[tokio::test]
async fn addresses_that_must_not_be_reached_are_refused() {
    let place = Place::new().await;
    for body in [
        json!({"url": "http://example.com/"}),
        json!({"url": "https://127.0.0.1/"}),
        json!({"url": "https://[::1]/"}),
        json!({"url": "https://10.0.0.1/"}),
        json!({"url": "http://169.254.169.254/", "allow_private": true}),
        json!({"url": "https://me:key@example.com/"}),
        json!({"url": "ftp://example.com/"}),
        json!({"url": "x"}),
        json!({"url": format!("https://example.com/{}", "x".repeat(3_000))}),
        json!({"url": "https://example.com/", "events": []}),
        json!({"url": "https://example.com/", "events": ["other"]}),
        json!({"url": "https://example.com/", "world": "nobody"}),
        json!({"url": "https://example.com/", "secret": "mine"}),
        json!({}),
    ] {
        let (status, problem) = place.create(body.clone()).await;
        assert_eq!(status, 422, "{body}: {problem}");
    }
    for id in ["x", "%00", "%ff", &"x".repeat(5_000)] {
        let answer = place.client.delete(format!("{}/{id}", place.url)).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 404, "{id}");
    }
    assert!(place.list().await.is_empty());
}
