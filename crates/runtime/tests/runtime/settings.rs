//! A world's settings: checked, never overwritten unseen, and seen by every process.

use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, Invalid, World};
use agent_world_core::ids::WorldId;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::{Engine, Error, Mode, NewMessage};
use agent_world_store::{Error as StoreError, Memory};

use crate::props::agent;
use crate::stage::{Backend, Setup, on_both_stores, perform_in_virtual_time};

on_both_stores!(
    a_lost_update_is_refused,
    settings_under_which_nothing_could_be_routed_are_refused,
    a_world_is_created_once_with_one_chat,
    settings_changed_by_another_process_are_seen,
    a_world_without_agents_says_so,
    what_does_not_exist_is_named,
);

async fn a_lost_update_is_refused(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let read = World::clone(&*stage.engine.world(&stage.world).await.unwrap());
    let mut mine = read.clone();
    mine.description = "mine".to_owned();
    let written = stage.engine.update_world(mine, "eve").await.unwrap();
    assert_eq!(written.version, read.version + 1);
    let mut yours = read;
    yours.description = "yours".to_owned();
    for engine in [stage.engine.clone(), stage.visitor()] {
        let lost = engine.update_world(yours.clone(), "joe").await;
        assert!(matches!(lost, Err(Error::Store(StoreError::WorldConflict { .. }))), "{lost:?}");
    }
    let kept = stage.engine.world(&stage.world).await.unwrap();
    assert_eq!(kept.description, "mine");
}

async fn settings_under_which_nothing_could_be_routed_are_refused(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let good = World::clone(&*stage.engine.world(&stage.world).await.unwrap());
    let with = |agents: Vec<Agent>| World { agents, ..good.clone() };
    let named = |id: &str, name: &str| Agent { name: name.to_owned(), ..agent(id) };
    let bad = [
        (with(vec![agent("human")]), Invalid::Reserved("human".to_owned())),
        (with(vec![named("ada", "World")]), Invalid::Reserved("world".to_owned())),
        (with(vec![agent("ada"), agent("ada")]), Invalid::Ambiguous("ada".to_owned())),
        (with(vec![agent("ada"), named("bob", "ADA")]), Invalid::Ambiguous("ada".to_owned())),
        (with(vec![agent("Ada Lovelace")]), Invalid::Slug("Ada Lovelace".to_owned())),
        (World { turn_limit: 0, ..good.clone() }, Invalid::Zero { field: "turn_limit" }),
        (
            World { main_agent: Some("zoe".into()), ..good.clone() },
            Invalid::MainAgent("zoe".into()),
        ),
    ];
    for (world, expected) in bad {
        let refused = stage.engine.update_world(world, "eve").await;
        assert!(matches!(&refused, Err(Error::Settings(why)) if *why == expected), "{refused:?}");
    }
    let nameless = World::new(WorldId::new("Not A Slug"), "x", Timestamp::UNIX_EPOCH);
    let refused = stage.engine.create_world(nameless, "eve").await;
    assert!(matches!(refused, Err(Error::Settings(Invalid::Slug(_)))), "{refused:?}");
    assert_eq!(*stage.engine.world(&stage.world).await.unwrap(), good);
}

async fn a_world_is_created_once_with_one_chat(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let world = World::new(WorldId::new("second"), "Second", Timestamp::UNIX_EPOCH);
    stage.engine.create_world(world.clone(), "eve").await.unwrap();
    let again = stage.engine.create_world(world.clone(), "eve").await;
    assert!(matches!(again, Err(Error::WorldExists(_))), "{again:?}");
    let chats = stage.store.chats(&world.id, None, 10).await.unwrap();
    assert_eq!(chats.len(), 1);
    assert_eq!(chats[0].title, "New Chat");
}

async fn settings_changed_by_another_process_are_seen(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    stage.model.push("ada", Answer::text("One."));
    stage.say("hello").await;
    stage.idle().await;
    let visitor = stage.visitor();
    let mut world = World::clone(&*visitor.world(&stage.world).await.unwrap());
    world.agents[0].instructions = "Be brief, {{who}}.".to_owned();
    world.variables.insert("who".to_owned(), "Ada".to_owned());
    let written = visitor.update_world(world, "joe").await.unwrap();
    // With its next look at the store, at the latest.
    while stage.engine.world(&stage.world).await.unwrap().version != written.version {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    stage.model.push("ada", Answer::text("Two."));
    stage.say("hello").await;
    stage.idle().await;
    assert_eq!(stage.model.requests()[1].instructions, "Be brief, Ada.");
}

async fn a_world_without_agents_says_so(backend: Backend) {
    let stage = Setup::of(&[]).open(backend).await;
    stage.say("hello?").await;
    assert!(stage.notices().await[0].contains("no agents"));
}

async fn what_does_not_exist_is_named(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let chat = "chat_00000000000000000000000000".into();
    for engine in [stage.engine.clone(), stage.visitor()] {
        let posted = engine.post(&chat, NewMessage::human("hello?")).await;
        assert!(matches!(&posted, Err(Error::UnknownChat(id)) if *id == chat), "{posted:?}");
        let world = engine.create_chat(&"nowhere".into(), None, "eve").await;
        assert!(matches!(&world, Err(Error::UnknownWorld(_))), "{world:?}");
        let message = "msg_0".into();
        let edited = engine.edit_message(&stage.chat, &message, "x", None, "eve").await;
        assert!(matches!(&edited, Err(Error::UnknownMessage { .. })), "{edited:?}");
    }
    let posted = stage.engine.post(&stage.chat, NewMessage::human("  ")).await;
    assert!(matches!(&posted, Err(Error::Rejected(_))), "{posted:?}");
}

#[test]
fn settings_changed_on_a_store_that_was_empty_are_seen() {
    perform_in_virtual_time(|_| async {
        let memory = Memory::new();
        let start = |mode| {
            let builder = Engine::builder(Arc::new(memory.clone())).mode(mode);
            builder.start().unwrap()
        };
        let (worker, visitor) = (start(Mode::Worker), start(Mode::Visitor));
        let a_while = || tokio::time::sleep(Duration::from_secs(1));
        a_while().await;
        let world = World::new(WorldId::new("late"), "Late", Timestamp::UNIX_EPOCH);
        let mut world = visitor.create_world(world, "joe").await.unwrap();
        assert_eq!(worker.world(&world.id).await.unwrap().description, "");
        world.description = "changed".to_owned();
        visitor.update_world(world.clone(), "joe").await.unwrap();
        a_while().await;
        assert_eq!(worker.world(&world.id).await.unwrap().description, "changed");
    });
}
