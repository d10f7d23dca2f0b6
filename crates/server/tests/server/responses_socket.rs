//! Responses over a WebSocket, with the scenes that the public compliance tests play there.

use std::sync::Arc;

use agent_world_runtime::llm::scripted::Answer as Line;
use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::responses_stage::{Checker, Client, Stage, kinds, numbered, text, user};

struct Socket<'a> {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    checker: &'a Checker,
}

impl<'a> Socket<'a> {
    async fn open(client: &Client, checker: &'a Checker) -> Self {
        let (stream, _) =
            connect_async(format!("ws://{}/v1/responses", client.address)).await.unwrap();
        Self { stream, checker }
    }

    async fn send(&mut self, mut body: Value) {
        body["type"] = "response.create".into();
        self.send_text(&body.to_string()).await;
    }

    async fn send_text(&mut self, text: &str) {
        self.stream.send(Message::text(text)).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let message = self.stream.next().await.expect("a message").unwrap();
        serde_json::from_str(message.to_text().unwrap()).unwrap()
    }

    /// Everything that is told of one request: up to its last event, which is told once.
    async fn turn(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.next().await;
            self.checker.event(&event);
            let kind = event["type"].as_str().unwrap().to_owned();
            if kind == "error" {
                self.checker.body("WebSocketErrorEvent", &event);
            }
            events.push(event);
            let last = ["response.completed", "response.incomplete", "response.failed", "error"];
            if last.contains(&kind.as_str()) {
                numbered(&events);
                return events;
            }
        }
    }

    async fn ask(&mut self, body: Value) -> Value {
        self.send(body).await;
        let events = self.turn().await;
        let response = events.last().unwrap()["response"].clone();
        assert_eq!(response["status"], "completed", "{events:?}");
        self.checker.response(&response);
        response
    }

    /// The code of the error that answers.
    async fn refused(&mut self, body: Value) -> (u64, String) {
        self.send(body).await;
        let events = self.turn().await;
        assert_eq!(kinds(&events), ["error"]);
        let error = &events[0];
        (error["status"].as_u64().unwrap(), error["error"]["code"].as_str().unwrap().to_owned())
    }
}

fn ask(input: Value) -> Value {
    json!({"model": "demo/demo", "store": false, "input": input})
}

fn follow(input: Value, previous: &Value) -> Value {
    let mut body = ask(input);
    body["previous_response_id"] = previous["id"].clone();
    body
}

#[tokio::test]
async fn requests_are_answered_one_after_another() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    socket.send(json!({"model": "demo/demo", "input": [user("count to 3")]})).await;
    let events = socket.turn().await;
    assert_eq!(kinds(&events)[..2], ["response.created", "response.in_progress"]);
    assert!(kinds(&events).contains(&"response.output_text.delta"));
    let first = &events.last().unwrap()["response"];
    assert!(text(first).contains("1 2 3"));
    // It is stored like any other.
    let path = format!("/v1/responses/{}", first["id"].as_str().unwrap());
    assert_eq!(stage.admin.get(&path).await.json(), *first);
    let second = socket.ask(ask(json!("hello"))).await;
    assert_ne!(second["id"], first["id"]);
}

#[tokio::test]
async fn requests_sent_at_once_wait_for_each_other_and_too_many_are_refused() {
    let stage = Stage::set().await;
    let gate = Arc::new(Semaphore::new(0));
    stage.scripted.push("m", Line::text("first").held_by(&gate));
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    socket.send(json!({"model": "scripted/m", "input": "x"})).await;
    stage.scripted.received(1).await;
    for number in 0..17 {
        stage.scripted.push("m", Line::text(number.to_string()));
        socket.send(json!({"model": "scripted/m", "input": "x"})).await;
    }
    let refused = socket.next().await;
    assert_eq!(
        (&refused["status"], &refused["error"]["code"]),
        (&json!(429), &json!("too_many_waiting"))
    );
    gate.add_permits(1);
    assert_eq!(text(&socket.turn().await.last().unwrap()["response"]), "first");
    for number in 0..16 {
        assert_eq!(text(&socket.turn().await.last().unwrap()["response"]), number.to_string());
    }
}

/// As large as a body may be.
const LARGEST: usize = 16 * 1024 * 1024;

#[tokio::test]
async fn a_message_larger_than_a_body_is_refused_and_the_connection_stays() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    socket.send_text(&"x".repeat(LARGEST + 1)).await;
    let refused = socket.turn().await.remove(0);
    assert_eq!(
        (&refused["status"], &refused["error"]["code"]),
        (&json!(413), &json!("message_too_large"))
    );
    // One that is not even read to its end is told the same, as the last that is said.
    socket.ask(ask(json!("still here?"))).await;
    for (number, part) in [LARGEST, LARGEST, 1].into_iter().enumerate() {
        let kind = if number == 0 { Data::Text } else { Data::Continue };
        let frame = Frame::message("x".repeat(part), OpCode::Data(kind), number == 2);
        socket.stream.send(Message::Frame(frame)).await.unwrap();
    }
    assert_eq!(socket.turn().await[0]["error"]["code"], "message_too_large");
    let last = socket.stream.next().await.unwrap().unwrap();
    assert!(matches!(last, Message::Close(Some(frame)) if u16::from(frame.code) == 1009));
}

#[tokio::test]
async fn what_waits_on_a_connection_is_bounded_in_bytes() {
    let stage = Stage::set().await;
    let gate = Arc::new(Semaphore::new(0));
    stage.scripted.push("m", Line::text("first").held_by(&gate)).push("m", "second");
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    socket.send(json!({"model": "scripted/m", "input": "x"})).await;
    stage.scripted.received(1).await;
    for _ in 0..2 {
        let input = "x".repeat(LARGEST / 2 + 1);
        socket.send(json!({"model": "scripted/m", "store": false, "input": input})).await;
    }
    let refused = socket.next().await;
    assert_eq!(refused["error"]["code"], "too_many_waiting");
    gate.add_permits(1);
    assert_eq!(text(&socket.turn().await.last().unwrap()["response"]), "first");
    assert_eq!(text(&socket.turn().await.last().unwrap()["response"]), "second");
}

#[tokio::test]
async fn what_is_not_stored_can_be_continued_on_its_connection_alone() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    let first = socket.ask(ask(json!("Remember the word cobalt."))).await;
    stage.scripted.push("m", "cobalt");
    let mut body = follow(json!("Which word?"), &first);
    body["model"] = "scripted/m".into();
    let second = socket.ask(body).await;
    assert_eq!(text(&second), "cobalt");
    let told = serde_json::to_string(&stage.scripted.requests()[0].input).unwrap();
    assert!(told.contains("Remember the word cobalt.") && told.contains("Which word?"), "{told}");

    let mut other = Socket::open(&stage.admin, &stage.checker).await;
    let refused = other.refused(follow(json!("go on"), &first)).await;
    assert_eq!(refused, (400, "previous_response_not_found".to_owned()));
    other.ask(ask(json!([user("start anew")]))).await;
    // The first connection still knows it.
    socket.ask(follow(json!("and now?"), &first)).await;
}

#[tokio::test]
async fn a_stored_response_can_be_continued_on_any_connection() {
    let stage = Stage::set().await;
    let first = stage.admin.respond(json!({"model": "demo/demo", "input": "hello"})).await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    let second = socket.ask(follow(json!("thanks"), &first)).await;
    assert_eq!(text(&second), "You are welcome.");
}

#[tokio::test]
async fn a_response_that_is_not_there_cannot_be_continued() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    let refused = socket.refused(follow(json!("x"), &json!({"id": "resp_missing_1"}))).await;
    assert_eq!(refused, (400, "previous_response_not_found".to_owned()));
}

#[tokio::test]
async fn a_failed_request_makes_the_connection_forget_what_it_went_on_from() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    let first = socket.ask(ask(json!("Remember the word ember."))).await;
    let result =
        json!([{"type": "function_call_output", "call_id": "call_missing", "output": "nothing"}]);
    let refused = socket.refused(follow(result, &first)).await;
    assert_eq!(refused, (400, "call_not_found".to_owned()));
    let refused = socket.refused(follow(json!("go on"), &first)).await;
    assert_eq!(refused, (400, "previous_response_not_found".to_owned()));
}

#[tokio::test]
async fn a_request_can_be_made_ready_without_an_answer() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    let mut body = ask(json!("Prepare."));
    body["generate"] = false.into();
    let warm = socket.ask(body).await;
    assert_eq!(warm["output"], json!([]));
    stage.scripted.push("m", "warmed");
    let mut body = follow(json!("Now."), &warm);
    body["model"] = "scripted/m".into();
    assert_eq!(text(&socket.ask(body).await), "warmed");
    assert_eq!(stage.scripted.requests()[0].input.len(), 2);
}

#[tokio::test]
async fn a_compacted_conversation_begins_a_new_one() {
    let stage = Stage::set().await;
    let talk = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "The word is slate."}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "OK."}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Make this short."}]},
    ]);
    let compacted = stage
        .admin
        .post("/v1/responses/compact", json!({"model": "demo/demo", "input": talk}))
        .await
        .json();
    let mut input = compacted["output"].as_array().unwrap().clone();
    input.push(user("Go on from here."));
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    let mut body = ask(json!(input));
    body["tools"] = json!([]);
    socket.ask(body).await;
}

#[tokio::test]
async fn what_is_no_request_is_answered_with_an_error_and_the_connection_stays() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    for (message, code) in [
        ("{", "invalid_body"),
        ("[]", "invalid_type"),
        (r#"{"type":"response.cancel"}"#, "invalid_type"),
        (r#"{"type":"response.create","input":"x"}"#, "missing_required_parameter"),
        (
            r#"{"type":"response.create","model":"demo/demo","input":"x","stream":true}"#,
            "unsupported_parameter",
        ),
        (
            r#"{"type":"response.create","model":"demo/demo","input":"x","background":true}"#,
            "unsupported_parameter",
        ),
        (r#"{"type":"response.create","model":"nobody/m","input":"x"}"#, "model_not_found"),
    ] {
        socket.send_text(message).await;
        let events = socket.turn().await;
        assert_eq!(events[0]["error"]["code"], code, "{message}");
    }
    socket.stream.send(Message::binary(vec![1, 2])).await.unwrap();
    assert_eq!(socket.turn().await[0]["error"]["code"], "invalid_body");
    socket.send(json!({"model": "broken/m", "input": "x"})).await;
    let events = socket.turn().await;
    assert_eq!(kinds(&events).last(), Some(&"response.failed"));
    assert!(!kinds(&events).contains(&"error"), "one end is enough");
    socket.ask(ask(json!("still here?"))).await;
}

#[tokio::test]
async fn a_connection_that_ends_ends_the_vendors_call_and_the_servers_end_ends_it() {
    let stage = Stage::set().await;
    let mut socket = Socket::open(&stage.admin, &stage.checker).await;
    socket.send(json!({"model": "endless/m", "input": "x"})).await;
    stage.endless.asked(1).await;
    assert_eq!(stage.endless.alive(), 1);
    drop(socket);
    stage.endless.dropped().await;

    let mut idle = Socket::open(&stage.admin, &stage.checker).await;
    stage.admin.server.stopping().cancel();
    let last = idle.stream.next().await.unwrap().unwrap();
    assert!(matches!(last, Message::Close(Some(frame)) if u16::from(frame.code) == 1001));
}
