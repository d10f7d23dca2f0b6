//! Whoever follows along gets every stored event once and in order, from wherever it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use agent_world_core::command::Scope as Reach;
use agent_world_core::ids::ChatId;
use agent_world_llm::scripted::{Answer, Scripted};
use agent_world_runtime::{Engine, FeedItem, NewMessage};
use agent_world_store::memory::faults::{Fault, Operation};
use agent_world_store::{Scope, StoredEvent};
use futures::future::join_all;

use crate::props::{call, doing, free, spec};
use crate::stage::{Backend, Setup, Stage, on_both_stores, perform_in_virtual_time};

on_both_stores!(
    from_any_cursor_every_later_event_comes_once_and_in_order,
    a_visitor_sees_what_the_worker_writes_and_the_worker_what_a_visitor_leaves,
    subscribers_that_reconnect_again_and_again_see_exactly_what_is_stored,
    whoever_only_looks_now_and_then_finds_everything_and_never_waits,
);

async fn whoever_only_looks_now_and_then_finds_everything_and_never_waits(backend: Backend) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let position = stage.store.position().await.unwrap();
    let mut events = stage.engine.subscribe(Scope::All, position);
    for _ in 0..3 {
        let before = events.cursor();
        stage.model.push("ada", Answer::text("Hello."));
        stage.say_in(&stage.chat, "hello").await;
        stage.idle().await;
        let stored = stage.store.events(&Scope::All, before, 100).await.unwrap();
        assert!(!stored.is_empty());
        let mut found = Vec::new();
        while let Some(item) = events.next_present().await.unwrap() {
            if let FeedItem::Stored(event) = item {
                found.push(Arc::unwrap_or_clone(event));
            }
        }
        assert_eq!(found, stored);
    }
    stage.engine.shutdown().await;
    while events.next_present().await.unwrap().is_some() {}
    assert_eq!(events.next().await.unwrap(), None);
}

async fn from_any_cursor_every_later_event_comes_once_and_in_order(backend: Backend) {
    let tool = doing(spec("act"));
    let stage = Setup::of(&["ada"]).tool(&tool).open(backend).await;
    let elsewhere = stage.new_chat().await;
    for chat in [&stage.chat, &elsewhere] {
        stage.model.push("ada", call("act", "it"));
        stage.model.push("ada", Answer::text("Done."));
        stage.say_in(chat, "go").await;
        let asked = stage.pending_in(chat, 1).await;
        stage.approve(&asked[0].id, Reach::Once).await;
        stage.idle_in(chat).await;
    }
    let scopes = [
        Scope::All,
        Scope::World(stage.world.clone()),
        Scope::Chat(stage.chat.clone()),
        Scope::Chat(elsewhere),
    ];
    for scope in scopes {
        let stored = stage.store.events(&scope, 0, 1_000).await.unwrap();
        assert!(stored.len() > 10, "{}", stored.len());
        for cursor in 0..=stage.store.position().await.unwrap() {
            let later: Vec<&StoredEvent> =
                stored.iter().filter(|event| event.position > cursor).collect();
            let mut events = stage.engine.subscribe(scope.clone(), cursor);
            for expected in later {
                let next = events.next().await.unwrap().unwrap();
                assert_eq!(
                    next,
                    FeedItem::Stored(Arc::new(expected.clone())),
                    "{scope:?} from {cursor}"
                );
            }
        }
    }
}

async fn a_visitor_sees_what_the_worker_writes_and_the_worker_what_a_visitor_leaves(
    backend: Backend,
) {
    let stage = Setup::of(&["ada"]).open(backend).await;
    let visitor = stage.visitor();
    let scope = Scope::Chat(stage.chat.clone());
    let position = stage.store.position().await.unwrap();
    let mut here = stage.engine.subscribe(scope.clone(), position);
    let mut there = visitor.subscribe(scope.clone(), position);
    stage.model.push("ada", Answer::text("Hello."));
    visitor.post(&stage.chat, NewMessage::human("hello")).await.unwrap();
    stage.idle().await;
    let stored = stage.store.events(&scope, position, 100).await.unwrap();
    assert_eq!(stored.last().unwrap().sealed.kind, "turn_ended");
    for events in [&mut here, &mut there] {
        for expected in &stored {
            assert_eq!(next_stored(events).await, *expected);
        }
    }
}

async fn next_stored(events: &mut agent_world_runtime::Subscription) -> StoredEvent {
    loop {
        if let FeedItem::Stored(event) = events.next().await.unwrap().unwrap() {
            return Arc::unwrap_or_clone(event);
        }
    }
}

/// Reads a few events, goes away, comes back at its cursor, until it has read the end.
async fn follow(engine: Engine, scope: Scope, reader: usize) -> Vec<StoredEvent> {
    let mut seen: Vec<StoredEvent> = Vec::new();
    loop {
        let cursor = seen.last().map_or(0, |event| event.position);
        let mut events = engine.subscribe(scope.clone(), cursor);
        // Of uneven lengths that meet every boundary, and the same in every run.
        for _ in 0..1 + (seen.len() * 7 + reader) % 11 {
            let event = next_stored(&mut events).await;
            let end = event.sealed.payload.contains("The End");
            seen.push(event);
            if end {
                return seen;
            }
        }
    }
}

async fn converse(stage: &Stage, chat: &ChatId) {
    for number in 0..12 {
        stage.say_in(chat, &format!("message {number}")).await;
        if number % 3 == 0 {
            stage.idle_in(chat).await;
        }
    }
    stage.idle_in(chat).await;
}

async fn subscribers_that_reconnect_again_and_again_see_exactly_what_is_stored(backend: Backend) {
    let tool = doing(free("act"));
    let chatty = Scripted::answering(|request| {
        let called = request.input.len() % 2 == 0;
        let reply = agent_world_core::item::Reply::text("And so on.");
        let act = agent_world_core::item::Item::call("", "act", &serde_json::json!({"what": "it"}));
        Ok(if called { reply } else { agent_world_core::item::Reply::of(vec![act]) })
    });
    let stage = Setup::of(&["ada"])
        .tool(&tool)
        .vendor("chatty", chatty)
        .world(|world| {
            world.agents[0].model = Some("chatty/any".to_owned());
            world.max_iterations = 3;
        })
        .open(backend)
        .await;
    let visitor = stage.visitor();
    let mut chats = vec![stage.chat.clone()];
    for _ in 0..5 {
        chats.push(stage.new_chat().await);
    }
    let mut readers = Vec::new();
    for number in 0..24 {
        let engine = if number % 3 == 0 { &visitor } else { &stage.engine };
        let scope = match number % 2 {
            0 => Scope::All,
            _ => Scope::World(stage.world.clone()),
        };
        readers.push((scope.clone(), tokio::spawn(follow(engine.clone(), scope, number))));
    }
    join_all(chats.iter().map(|chat| converse(&stage, chat))).await;
    stage.engine.rename_chat(&stage.chat, "The End", "eve").await.unwrap();
    for (scope, reader) in readers {
        let seen = reader.await.unwrap();
        let stored = stage.store.events(&scope, 0, 100_000).await.unwrap();
        let positions = |events: &[StoredEvent]| -> Vec<u64> {
            events.iter().map(|event| event.position).collect()
        };
        assert_eq!(positions(&seen), positions(&stored), "{scope:?}");
        assert!(seen == stored);
        assert!(stored.len() > 300, "{}", stored.len());
    }
}

#[test]
fn whoever_keeps_up_with_everything_hears_it_without_asking_the_store() {
    perform_in_virtual_time(|backend| async move {
        let stage = Setup::of(&["ada"]).open(backend).await;
        let position = stage.store.position().await.unwrap();
        let followers: Vec<_> = (0..50)
            .map(|_| stage.engine.subscribe(Scope::All, position))
            .map(|mut events| {
                tokio::spawn(async move {
                    let mut seen = Vec::new();
                    while let Some(item) = events.next().await.unwrap() {
                        if let FeedItem::Stored(event) = item {
                            seen.push(Arc::unwrap_or_clone(event));
                        }
                    }
                    seen
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let reads = count_reads(&stage);
        for turn in 0..20 {
            // One in four is too long to be passed around and is read from the store.
            let long = "x".repeat(if turn % 4 == 0 { 20_000 } else { 10 });
            stage.say(&long).await;
            stage.idle().await;
        }
        // With every signal followed by a look at the store it would be thousands.
        let reads = reads.load(Ordering::SeqCst);
        assert!(reads < 500, "{reads}");
        let stored = stage.store.events(&Scope::All, position, 1_000).await.unwrap();
        stage.engine.shutdown().await;
        for seen in join_all(followers).await {
            assert!(seen.unwrap() == stored);
        }
    });
}

/// Counts how often events are read from now on.
fn count_reads(stage: &Stage) -> Arc<AtomicUsize> {
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    stage.memory().set_faults(move |operation: &Operation<'_>| {
        if matches!(operation, Operation::Read("events")) {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        Fault::Proceed
    });
    reads
}

#[test]
fn what_happens_in_one_chat_costs_the_followers_of_others_nothing() {
    perform_in_virtual_time(|backend| async move {
        let stage = Setup::of(&["ada"]).open(backend).await;
        let elsewhere = stage.new_chat().await;
        let position = stage.store.position().await.unwrap();
        let followers: Vec<_> = (0..50)
            .map(|_| stage.engine.subscribe(Scope::Chat(elsewhere.clone()), position))
            .map(|mut events| tokio::spawn(async move { events.next().await.unwrap() }))
            .collect();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let reads = count_reads(&stage);
        for _ in 0..20 {
            stage.say("hello").await;
            stage.idle().await;
        }
        // The scene reads for itself, a few times for each message; 50 followers would read thousands of times.
        let reads = reads.load(Ordering::SeqCst);
        assert!(reads < 200, "{reads}");
        stage.engine.shutdown().await;
        for ended in join_all(followers).await {
            assert_eq!(ended.unwrap(), None);
        }
    });
}
