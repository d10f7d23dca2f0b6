//! A vendor on a loopback port that does what messages tell it to, so that a test says in one place what a person
//! writes and what the model answers. Speaks *Responses* as OpenAI does.
//!
//! Lines of the last message, behind mentions:
//! `!say TEXT` answers with the text. `!call NAME {JSON}` calls a tool; several lines, several calls. `!then TEXT`
//! is said when their results are there; `{}` in it stands for them. `!words N` says so many words, each a piece of
//! its own. `!hold KEY` answers only when the test says [`Vendor::release`]; `!half KEY` stops in the middle for it.
//! `!fail STATUS` is an error. Any other message is repeated.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use agent_world_core::item::{FunctionCall, Item, Part, Role};
use agent_world_llm::resource::{EventWriter, resource};
use agent_world_llm::{Event, Request, Response, Status, Usage, all_of};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response as Answer};
use axum::routing::post;
use futures::StreamExt as _;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

/// What the program is told to use it with.
pub const MODEL: &str = "openai/scripted";

#[derive(Clone, Debug)]
pub struct Vendor {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    asked: Mutex<Vec<Request>>,
    released: watch::Sender<BTreeSet<String>>,
}

/// What a message tells the model to do.
#[derive(Debug, Default)]
struct Script {
    say: Option<String>,
    calls: Vec<(String, String)>,
    then: Option<String>,
    hold: Option<String>,
    half: Option<String>,
    fail: Option<u16>,
}

impl Vendor {
    pub async fn start() -> Self {
        let released = watch::Sender::new(BTreeSet::new());
        let shared = Arc::new(Shared { asked: Mutex::default(), released });
        let router =
            Router::new().route("/v1/responses", post(answer)).with_state(Arc::clone(&shared));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared }
    }

    /// Its address, as `OPENAI_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Lets whoever waits for a key go on, now and later.
    pub fn release(&self, key: &str) {
        self.shared.released.send_modify(|keys| {
            keys.insert(key.to_owned());
        });
    }

    /// Every request so far, in order.
    pub fn asked(&self) -> Vec<Request> {
        self.shared.asked.lock().unwrap().clone()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer {
    let request: Request = serde_json::from_slice(&body).unwrap();
    shared.asked.lock().unwrap().push(request.clone());
    let script = Script::read(&request);
    if let Some(key) = &script.hold {
        shared.wait(key).await;
    }
    if let Some(status) = script.fail {
        let error = json!({"error": {"message": "as told", "type": "server_error", "code": null}});
        return (StatusCode::from_u16(status).unwrap(), error.to_string()).into_response();
    }
    let response = script.response(&request);
    if !request.stream {
        let body = resource(&request, &response).to_string();
        return ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    }
    let frames = frames(&request, response);
    let middle = frames.len() / 2;
    let stream = async_stream::stream! {
        for (index, frame) in frames.into_iter().enumerate() {
            if let Some(key) = script.half.as_ref().filter(|_| index == middle) {
                shared.wait(key).await;
            }
            yield Ok::<_, Infallible>(frame);
        }
    };
    let body = Body::from_stream(stream.boxed());
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}

impl Shared {
    async fn wait(&self, key: &str) {
        self.released.subscribe().wait_for(|keys| keys.contains(key)).await.unwrap();
    }
}

/// The events of a reply, its texts word by word.
fn frames(request: &Request, response: Response) -> Vec<String> {
    let mut writer = EventWriter::new(request);
    let mut written = Vec::new();
    for event in all_of(response) {
        for piece in pieces(event) {
            written.extend(writer.write(&piece));
        }
    }
    written.iter().map(frame).collect()
}

fn frame(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
}

fn pieces(event: Event) -> Vec<Event> {
    match event {
        Event::Delta { index, part, delta: agent_world_llm::Delta::Text(text) } => text
            .split_inclusive(' ')
            .map(|word| Event::Delta {
                index,
                part,
                delta: agent_world_llm::Delta::Text(word.to_owned()),
            })
            .collect(),
        event => vec![event],
    }
}

impl Script {
    fn read(request: &Request) -> Self {
        let last = request.input.iter().rposition(|item| is_from_a_person(item));
        let Some(last) = last else {
            return Self { say: Some("nobody spoke".to_owned()), ..Self::default() };
        };
        let text = text_of(&request.input[last]);
        let mut script = Self::parse(&text);
        let results: Vec<String> =
            request.input[last..].iter().filter_map(|item| result_of(item)).collect();
        if !script.calls.is_empty() && !results.is_empty() {
            script.calls.clear();
            let then = script.then.take().unwrap_or_else(|| "done: {}".to_owned());
            script.say = Some(then.replace("{}", &results.join(" | ")));
        }
        script
    }

    fn parse(text: &str) -> Self {
        let mut script = Self::default();
        let mut told = false;
        for line in text.lines() {
            let Some((_, directive)) = line.split_once('!') else { continue };
            let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
            let rest = rest.trim().to_owned();
            match word {
                "say" => script.say = Some(rest),
                "words" => {
                    let words = (0..rest.parse().unwrap()).map(|number| format!("word{number}"));
                    script.say = Some(words.collect::<Vec<_>>().join(" "));
                }
                "call" => {
                    let (name, arguments) = rest.split_once(' ').unwrap_or((&rest, "{}"));
                    script.calls.push((name.to_owned(), arguments.to_owned()));
                }
                "then" => script.then = Some(rest),
                "hold" => script.hold = Some(rest),
                "half" => script.half = Some(rest),
                "fail" => script.fail = Some(rest.parse().unwrap()),
                _ => continue,
            }
            told = true;
        }
        if !told || (script.say.is_none() && script.calls.is_empty()) {
            script.say = Some(format!("you said: {}", text.trim()));
        }
        script
    }

    fn response(&self, request: &Request) -> Response {
        let mut output: Vec<Item> = self.say.iter().map(Item::assistant).collect();
        output.extend(self.calls.iter().enumerate().map(|(index, (name, arguments))| {
            Item::FunctionCall(FunctionCall {
                id: None,
                call_id: format!("vendor_{index}"),
                name: name.clone(),
                arguments: arguments.clone(),
                extra: Map::new(),
            })
        }));
        Response {
            id: "resp_vendor".to_owned(),
            model: request.model.clone(),
            status: Status::Completed,
            output,
            usage: Some(Usage {
                input_tokens: 10,
                output_tokens: 5,
                total_tokens: 15,
                ..Usage::default()
            }),
            ..Response::default()
        }
    }
}

fn is_from_a_person(item: &Item) -> bool {
    matches!(item, Item::Message(message) if message.role == Role::User)
}

fn text_of(item: &Item) -> String {
    match item {
        Item::Message(message) => message.content.iter().filter_map(Part::text).collect(),
        _ => String::new(),
    }
}

fn result_of(item: &Item) -> Option<String> {
    match item {
        Item::FunctionCallOutput(output) => {
            let output = serde_json::to_value(output).unwrap();
            Some(match &output["output"] {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            })
        }
        _ => None,
    }
}
