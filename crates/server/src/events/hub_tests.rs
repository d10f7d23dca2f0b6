//! What the hub does with what it can never tell, and with the end of a world that was made again since.

use std::future::poll_fn;

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, ToolSpec, World};
use agent_world_runtime::NewMessage;
use agent_world_runtime::llm::scripted::{Answer, Scripted as Model};
use agent_world_runtime::store::sqlite::Role;
use agent_world_runtime::store::{Memory, Sqlite};
use agent_world_runtime::tools::scripted::Scripted as Tool;
use rusqlite::Connection;
use serde_json::json;
use tokio::time::timeout;

use super::*;
use crate::events::mailbox::{Caught, Found};
use crate::events::wire::Types;

/// Far longer than anything here takes.
const DEADLINE: Duration = Duration::from_secs(30);

fn hub(engine: &Engine) -> Hub {
    Hub::new(engine.clone(), CancellationToken::new())
}

fn world(id: &str) -> World {
    let ada = Agent { model: Some("scripted/ada".to_owned()), ..Agent::new("ada") };
    let mut world = World::new(WorldId::new(id), id, Timestamp::now());
    world.agents = vec![ada];
    world
}

async fn take(place: &Place) -> (Found, String) {
    let mut taken = Vec::new();
    let taking = poll_fn(|context| place.mailbox.poll_take(context, &mut taken));
    let found = timeout(DEADLINE, taking).await.expect("something comes");
    let text = taken.iter().map(|frame| String::from_utf8_lossy(&frame.bytes).into_owned());
    (found, text.collect())
}

/// A store whose file the test writes to, with one request for approval in it.
async fn asked(folder: &std::path::Path) -> (Engine, Connection, Vec<StoredEvent>) {
    let file = folder.join("store.db");
    let store = Arc::new(Sqlite::open(&file, Role::Worker).unwrap());
    let parameters = json!({"type": "object"});
    let tool = Tool::text(ToolSpec::new("act", "Does something.", parameters), "done");
    let model = Model::new();
    model.push("ada", Answer::call("act", json!({})));
    let engine = Engine::builder(store).model("scripted", Arc::new(model));
    let engine = engine.tool(Arc::new(tool)).unwrap().start().unwrap();
    let world = engine.create_world(world("w"), "eve").await.unwrap();
    let chat = engine.create_chat(&world.id, Some("Chat".to_owned()), "eve").await.unwrap();
    let mut events = engine.subscribe(Scope::All, 0);
    engine.post(&chat.id, NewMessage::human("@ada go")).await.unwrap();
    let mut stored = Vec::new();
    loop {
        let next = timeout(DEADLINE, events.next()).await.expect("an event").unwrap().unwrap();
        if let FeedItem::Stored(event) = next {
            let is_last = event.sealed.kind == "approval_requested";
            stored.push(Arc::unwrap_or_clone(event));
            if is_last {
                return (engine, Connection::open(file).unwrap(), stored);
            }
        }
    }
}

#[tokio::test]
async fn an_event_that_can_never_be_told_is_passed_over_and_readers_are_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let (engine, file, stored) = asked(folder.path()).await;
    assert_eq!(file.execute("UPDATE approvals SET document = '{'", []).unwrap(), 1);
    let hub = hub(&engine);
    let place = hub.join(Topic::All, Wish { types: Types::ALL, form: Form::Plain }).await.unwrap();
    assert_eq!(place.mailbox.caught_up(), Caught::Up);
    let passed = timeout(DEADLINE, hub.shared.pass_event(stored.last().unwrap())).await;
    assert_eq!(passed.expect("the hub goes on"), Service::GoesOn);
    let (found, told) = take(&place).await;
    assert_eq!(found, Found::Frames);
    assert!(told.contains("event_unreadable"), "{told}");
    engine.shutdown().await;
}

#[tokio::test]
async fn a_log_that_cannot_be_read_on_ends_the_streams_and_is_not_asked_for_ever() {
    for spoiled in ["glance = '{'", "payload = x'00ff'"] {
        let folder = tempfile::tempdir().unwrap();
        let (engine, file, _) = asked(folder.path()).await;
        let sql = format!("UPDATE events SET {spoiled} WHERE kind = 'approval_requested'");
        assert_eq!(file.execute(&sql, []).unwrap(), 1);
        let hub = hub(&engine);
        let place =
            hub.join(Topic::All, Wish { types: Types::ALL, form: Form::Plain }).await.unwrap();
        assert_eq!(place.mailbox.caught_up(), Caught::Up);
        let serving = serve(Arc::clone(&hub.shared), engine.subscribe(Scope::All, 0));
        timeout(DEADLINE, serving).await.expect("it ends");
        assert_eq!(take(&place).await.0, Found::Unreadable, "{spoiled}");
        // Whoever comes back is served again.
        let again =
            hub.join(Topic::All, Wish { types: Types::ALL, form: Form::Plain }).await.unwrap();
        assert_eq!(again.mailbox.caught_up(), Caught::Up);
        engine.create_world(world("another"), "eve").await.unwrap();
        let (found, told) = take(&again).await;
        assert_eq!(found, Found::Frames, "{spoiled}");
        assert!(told.contains("another"), "{told}");
        engine.shutdown().await;
    }
}

#[tokio::test]
async fn the_end_of_a_world_does_not_end_the_streams_of_one_that_was_made_again() {
    let engine = Engine::builder(Arc::new(Memory::new())).start().unwrap();
    let id = WorldId::new("w");
    engine.create_world(world("w"), "eve").await.unwrap();
    engine.delete_world(&id, "eve").await.unwrap();
    engine.create_world(world("w"), "eve").await.unwrap();
    let chat = engine.create_chat(&id, Some("Chat".to_owned()), "eve").await.unwrap();
    let hub = hub(&engine);
    let topics = [Topic::World(id.clone()), Topic::Chat(id.clone(), chat.id.clone())];
    let mut places = Vec::new();
    for topic in topics {
        let place = hub.join(topic, Wish { types: Types::ALL, form: Form::Plain }).await.unwrap();
        assert_eq!(place.mailbox.caught_up(), Caught::Up);
        places.push(place);
    }
    // The hub is late: only now it comes to the end of the first one.
    let log = engine.store().events(&Scope::All, 0, 100).await.unwrap();
    let mut ended = 0;
    for event in &log {
        if hub.telling().tell(event, Form::Plain).await.unwrap().ends == Ends::World {
            hub.shared.pass_event(event).await;
            ended += 1;
        }
    }
    assert_eq!(ended, 1);
    engine.post(&chat.id, NewMessage::human("hello")).await.unwrap();
    for place in &places {
        let mut told = String::new();
        while !told.contains("hello") {
            let (found, more) = take(place).await;
            assert_eq!(found, Found::Frames, "{told}");
            told.push_str(&more);
        }
    }
    // Its own end ends them.
    engine.delete_world(&id, "eve").await.unwrap();
    for place in &places {
        while take(place).await.0 != Found::End {}
    }
    engine.shutdown().await;
}
