//! The client against a real server on a real connection.

// Tests may panic: that is how they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use agent_world_client::wire::{Chat, Message, NewMessage, News, OnApproval, Posted, World};
use agent_world_client::{Client, Error, Following, Heard, Path, Remote, Scope, Token};
use agent_world_runtime::Engine;
use agent_world_runtime::core::Timestamp;
use agent_world_runtime::core::config::{self, Agent};
use agent_world_runtime::llm::demo::Demo;
use agent_world_runtime::store::Memory;
use agent_world_server::{Options, Server};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

const DEADLINE: Duration = Duration::from_secs(30);

/// An engine that outlives the servers around it.
struct House {
    engine: Engine,
    address: SocketAddr,
    server: Option<(Server, JoinHandle<std::io::Result<()>>)>,
}

impl House {
    async fn new() -> Self {
        let engine =
            Engine::builder(Arc::new(Memory::new())).model("demo", Arc::new(Demo)).start().unwrap();
        let mut world = config::World::new("lab".into(), "Lab", Timestamp::now());
        world.agents.push(Agent { model: Some("demo/demo".into()), ..Agent::new("ada") });
        engine.create_world(world, "test").await.unwrap();
        let mut house = Self { engine, address: "127.0.0.1:0".parse().unwrap(), server: None };
        house.open().await;
        house
    }

    async fn open(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.address = listener.local_addr().unwrap();
        let server = Server::new(self.engine.clone(), Options::default());
        self.server = Some((server.clone(), tokio::spawn(server.serve(listener))));
    }

    /// Ends the server and every connection to it.
    async fn close(&mut self) {
        let (server, serving) = self.server.take().unwrap();
        server.stopping().cancel();
        serving.await.unwrap().unwrap();
    }

    fn client(&self) -> Client {
        let url = format!("http://{}", self.address);
        Client::new(Arc::new(Remote::new(&url, None, || Err("no TLS here".to_owned())).unwrap()))
    }
}

fn chats() -> Path {
    Path::new("/api/worlds").then("lab").then("chats")
}

async fn say(client: &Client, chat: &Chat, text: &str, key: &str) -> Message {
    let message =
        NewMessage { content: text.to_owned(), reply_to: None, on_approval: OnApproval::Ask };
    let path = chats().then(&chat.id).then("messages");
    client.post_once::<Posted>(path, &message, key).await.unwrap().message
}

async fn next(following: &mut Following) -> Heard {
    tokio::time::timeout(DEADLINE, following.next()).await.expect("something is heard").unwrap()
}

/// What is heard until the chat rests.
async fn until_idle(following: &mut Following) -> Vec<Heard> {
    let mut all = Vec::new();
    loop {
        let heard = next(following).await;
        let rests = matches!(&heard, Heard::Event(event)
            if matches!(&event.news, News::Activity(activity) if !activity.is_busy()));
        all.push(heard);
        if rests {
            return all;
        }
    }
}

fn texts(heard: &[Heard]) -> Vec<String> {
    let text = |heard: &Heard| match heard {
        Heard::Event(event) => match &event.news {
            News::Message(message) => Some(message.content.clone()),
            _ => None,
        },
        _ => None,
    };
    heard.iter().filter_map(text).collect()
}

#[tokio::test]
async fn what_is_asked_is_answered_and_what_is_refused_says_why() {
    let house = House::new().await;
    let client = house.client();
    let world: World = client.get("/api/worlds/lab").await.unwrap();
    assert_eq!((world.id.as_str(), world.agents.len()), ("lab", 1));
    let refused = client.get::<World>(Path::new("/api/worlds").then("no/such")).await;
    let Err(Error::Refused(problem)) = refused else { panic!("{refused:?}") };
    assert_eq!((problem.status, problem.code.as_str()), (404, "world_not_found"));
    assert!(problem.detail.contains("no/such"), "{problem}");
    for title in 0..25 {
        let _: Chat = client.post(chats(), &json!({ "title": format!("t{title}") })).await.unwrap();
    }
    let all: Vec<Chat> = client.all(chats().with("limit", "10")).await.unwrap();
    let titles: BTreeSet<&str> = all.iter().map(|chat| chat.title.as_str()).collect();
    assert_eq!(
        (all.len() >= 25, titles.contains("t0"), titles.contains("t24")),
        (true, true, true)
    );
    client.delete(chats().then(&all.last().unwrap().id)).await.unwrap();
}

#[tokio::test]
async fn nobody_there_is_told_from_a_refusal() {
    let mut house = House::new().await;
    let client = house.client();
    house.close().await;
    let error = client.get::<World>("/api/worlds/lab").await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }) && error.may_pass(), "{error:?}");
    assert!(error.to_string().contains(&house.address.to_string()), "{error}");
}

#[tokio::test]
async fn a_token_that_nobody_knows_is_refused_and_not_told() {
    let house = House::new().await;
    let wanted = agent_world_server::tokens::Wanted {
        name: "maria".to_owned(),
        role: agent_world_server::Role::Viewer,
        expires_at: None,
        by: "test".to_owned(),
    };
    let issued =
        agent_world_server::tokens::create(house.engine.store().as_ref(), wanted, Timestamp::now())
            .await
            .unwrap();
    let url = format!("http://{}", house.address);
    let with = |text: &str| {
        let remote = Remote::new(&url, Some(Token::new(text)), || Err(String::new())).unwrap();
        Client::new(Arc::new(remote))
    };
    let error = with("awt_guess").get::<World>("/api/worlds/lab").await.unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert!(!format!("{error} {error:?}").contains("awt_guess"));
    with(&issued.text).get::<World>("/api/worlds/lab").await.unwrap();
}

#[tokio::test]
async fn a_stream_goes_on_over_lost_connections_without_a_gap_or_a_repeat() {
    let mut house = House::new().await;
    let client = house.client();
    let chat: Chat = client.post(chats(), &json!({})).await.unwrap();
    let scope = Scope::Chat { world: "lab".to_owned(), chat: chat.id.clone() };
    // From now on, and nothing is heard before the connection is lost.
    let mut following = client.follow(&scope, None).await.unwrap();
    house.close().await;
    assert!(matches!(next(&mut following).await, Heard::Lost(_)));
    // It happens while nobody listens.
    let message = agent_world_runtime::NewMessage::human("one".to_owned());
    let id = chat.id.as_str().into();
    house.engine.post(&id, message).await.unwrap();
    house.open().await;
    assert_eq!(next(&mut following).await, Heard::Back);
    let heard = until_idle(&mut following).await;
    assert_eq!(texts(&heard).first().map(String::as_str), Some("one"));
    say(&client, &chat, "two", "k2").await;
    say(&client, &chat, "two", "k2").await;
    let heard = [heard, until_idle(&mut following).await].concat();
    let seqs: Vec<u64> = heard
        .iter()
        .filter_map(|heard| match heard {
            Heard::Event(event) => Some(event.seq),
            _ => None,
        })
        .collect();
    assert!(seqs.is_sorted_by(|one, other| one < other), "{seqs:?}");
    let said = texts(&heard);
    assert_eq!(said.iter().filter(|text| *text == "two").count(), 1, "{said:?}");
    // Whoever reads it all again is told the same events.
    let mut again = client.follow(&scope, Some(0)).await.unwrap();
    let mut stored = Vec::new();
    while stored.last() != seqs.last() {
        if let Heard::Event(event) = next(&mut again).await {
            stored.push(event.seq);
        }
    }
    assert!(stored.ends_with(&seqs), "{stored:?} {seqs:?}");
}

#[tokio::test]
async fn following_ends_when_there_is_nothing_to_follow() {
    let house = House::new().await;
    let client = house.client();
    let scope = Scope::Chat { world: "lab".to_owned(), chat: "chat_none".to_owned() };
    assert_eq!(client.follow(&scope, None).await.unwrap_err().status(), Some(404));
    let chat: Chat = client.post(chats(), &json!({})).await.unwrap();
    let scope = Scope::Chat { world: "lab".to_owned(), chat: chat.id.clone() };
    let mut following = client.follow(&scope, None).await.unwrap();
    client.delete(chats().then(&chat.id)).await.unwrap();
    let ended = loop {
        match tokio::time::timeout(DEADLINE, following.next()).await.expect("it ends") {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert_eq!(ended.status(), Some(404));
}
