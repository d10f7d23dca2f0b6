//! A model and a tool that cost next to nothing, the world they live in, and somebody who approves everything.

use std::collections::HashMap;
use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::command::{Answer, Claims, Scope as Reach};
use agent_world_core::config::{Agent, ToolSpec, World};
use agent_world_core::event::{Event, Output};
use agent_world_core::ids::{ChatId, WorldId};
use agent_world_core::item::{Item, Reply};
use agent_world_llm::{Events, Model, Request, Response, whole};
use agent_world_runtime::{Engine, FeedItem, NewMessage, Options};
use agent_world_store::{Scope, Store, StoredEvent};
use agent_world_tools::{Failure, Invocation, Tool};
use serde_json::json;
use tokio::sync::mpsc;

pub const WORLD: &str = "bench";

/// `quick/talk` speaks; `quick/act` calls a tool, then speaks. Looks at no more than the last item of its prompt.
#[derive(Debug)]
struct Quick;

impl Model for Quick {
    fn stream(&self, request: Request) -> Events {
        let has_result =
            matches!(request.input.last().map(Arc::as_ref), Some(Item::FunctionCallOutput(_)));
        let reply = if request.model == "talk" || has_result {
            Reply::text("It has been taken care of, and nothing else was touched.")
        } else {
            Reply::of(vec![Item::call("call", "act", &json!({"what": "tidy up the workshop"}))])
        };
        whole(async move { Ok(Response::from(reply)) })
    }
}

/// Asks, and then does nothing.
#[derive(Debug)]
struct Idle;

#[async_trait::async_trait]
impl Tool for Idle {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({"type": "object", "properties": {"what": {"type": "string"}}});
        ToolSpec::new("act", "Does nothing.", parameters)
    }

    async fn run(&self, _: Invocation) -> Result<Output, Failure> {
        Ok(Output::text("done"))
    }
}

/// Ada acts, Bob only talks.
pub fn world() -> World {
    let mut world = World::new(WorldId::new(WORLD), "Bench", Timestamp::UNIX_EPOCH);
    for (name, model) in [("ada", "quick/act"), ("bob", "quick/talk")] {
        world.agents.push(Agent { model: Some(model.to_owned()), ..Agent::new(name) });
    }
    world
}

pub fn engine(store: Arc<dyn Store>) -> Engine {
    engine_with(store, Options::default())
}

pub fn engine_with(store: Arc<dyn Store>, options: Options) -> Engine {
    let builder = Engine::builder(store).options(options).model("quick", Arc::new(Quick));
    builder.tool(Arc::new(Idle)).unwrap().start().unwrap()
}

/// Chats that a person has named, so that no model is asked to.
pub async fn new_chats(engine: &Engine, count: usize) -> Vec<ChatId> {
    let mut chats = Vec::with_capacity(count);
    for _ in 0..count {
        let title = Some("Bench".to_owned());
        chats.push(engine.create_chat(&WorldId::new(WORLD), title, "eve").await.unwrap().id);
    }
    chats
}

/// Takes turns in all chats at once, each chat one after another. One subscriber follows everything and approves.
pub async fn take_turns(engine: &Engine, chats: &[ChatId], turns: usize) {
    // Before anybody posts: what is asked first must be seen too.
    let position = engine.store().position().await.unwrap();
    let mut ended = HashMap::new();
    let mut tasks = Vec::new();
    for chat in chats {
        let (sender, mut over) = mpsc::unbounded_channel();
        ended.insert(chat.clone(), sender);
        let (engine, chat) = (engine.clone(), chat.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..turns {
                engine.post(&chat, NewMessage::human("@ada tidy up, please")).await.unwrap();
                over.recv().await.unwrap();
            }
        }));
    }
    let approver = tokio::spawn(approve_all(engine.clone(), position, ended));
    for task in tasks {
        task.await.unwrap();
    }
    approver.abort();
}

/// Reads everything of one chat until the engine ends.
pub async fn follow(engine: Engine, chat: ChatId) {
    let mut events = engine.subscribe(Scope::Chat(chat), 0);
    while let Ok(Some(_)) = events.next().await {}
}

async fn approve_all(
    engine: Engine,
    position: u64,
    ended: HashMap<ChatId, mpsc::UnboundedSender<()>>,
) {
    let mut events = engine.subscribe(Scope::All, position);
    while let Some(item) = events.next().await.unwrap() {
        let FeedItem::Stored(event) = item else { continue };
        match event.sealed.kind.as_str() {
            "turn_ended" => {
                ended[event.chat.as_ref().unwrap()].send(()).ok();
            }
            "approval_requested" => {
                let engine = engine.clone();
                tokio::spawn(async move { approve(&engine, &event).await });
            }
            _ => {}
        }
    }
}

async fn approve(engine: &Engine, event: &StoredEvent) {
    let Event::ApprovalRequested(asked) = event.sealed.open().unwrap().event else {
        unreachable!("the kind says so");
    };
    let answer =
        Answer::Approve { scope: Reach::Once, matches: Vec::new(), arguments: None, reason: None };
    engine.answer(&asked.approval, answer, "eve", Claims::default()).await.unwrap();
}
