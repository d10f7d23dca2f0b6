//! When a chat is due: in the order of urgency, and never forgotten.

use std::time::Duration;

use agent_world_core::command::Scope as Reach;
use agent_world_core::ids::ChatId;
use agent_world_core::outstanding::Wake;
use agent_world_store::{Error, Store};

use crate::backend::{Backend, on_every_store};
use crate::teller::{Teller, create_world, now, post};

on_every_store!(
    chats_are_due_when_their_time_has_come_most_overdue_first,
    a_place_that_is_not_due_any_more_leaves_nobody_out,
    a_granted_rule_wakes_the_other_waiting_chats_of_its_world,
    a_chat_that_was_looked_at_without_a_rule_granted_since_stays_due,
    a_chat_woken_for_nothing_can_be_put_to_rest,
    an_append_without_events_sets_when_a_chat_is_due,
);

async fn put(teller: &mut Teller, wake: Wake) {
    let (mut append, chat) = teller.prepare(post("hello"));
    append.wake = wake;
    teller.head = append.events.last().unwrap().head();
    teller.store.append(append).await.unwrap();
    teller.chat = chat;
}

async fn due(store: &dyn Store) -> Vec<ChatId> {
    store.due(now(), None, 100).await.unwrap()
}

async fn chats_are_due_when_their_time_has_come_most_overdue_first(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let base = now();
    let after = |milliseconds| base + Duration::from_millis(milliseconds);
    let wakes = [
        Wake::At(after(300)),
        Wake::Never,
        Wake::At(after(100)),
        Wake::Now,
        Wake::At(after(100)),
        Wake::At(after(900)),
    ];
    let mut ids = Vec::new();
    for wake in wakes {
        let mut teller = Teller::begin(store.clone(), &world).await;
        put(&mut teller, wake).await;
        ids.push(teller.id());
    }
    let expected = [3, 2, 4, 0].map(|index: usize| ids[index].clone());
    assert_eq!(store.due(after(500), None, 100).await.unwrap(), expected);
    assert_eq!(store.due(after(500), None, 2).await.unwrap(), expected[..2]);
    assert_eq!(store.due(after(500), Some(&expected[1]), 100).await.unwrap(), expected[2..]);
    assert_eq!(store.due(after(500), Some(&expected[3]), 100).await.unwrap(), []);
    assert_eq!(store.due(after(99), None, 100).await.unwrap(), expected[..1]);
    // Not a moment too early: who is woken finds that the time has come.
    let early = after(900) - Duration::from_nanos(1);
    assert_eq!(store.due(early, None, 100).await.unwrap(), expected);
    assert_eq!(store.due(after(901), None, 100).await.unwrap().last(), Some(&ids[5]));
}

async fn a_place_that_is_not_due_any_more_leaves_nobody_out(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut tellers = Vec::new();
    for _ in 0..4 {
        let mut teller = Teller::begin(store.clone(), &world).await;
        put(&mut teller, Wake::Now).await;
        tellers.push(teller);
    }
    let page = store.due(now(), None, 2).await.unwrap();
    put(&mut tellers[1], Wake::Never).await;
    let rest = store.due(now(), page.last(), 100).await.unwrap();
    assert!(rest.contains(&tellers[2].id()) && rest.contains(&tellers[3].id()), "{rest:?}");
}

/// A chat with a request that waits for a person, for whom nothing else is to be done.
async fn waiting(
    store: &std::sync::Arc<dyn Store>,
    world: &agent_world_core::config::World,
) -> Teller {
    let mut teller = Teller::begin(store.clone(), world).await;
    teller.say("run").await.unwrap();
    teller.call_shell("ls").await;
    teller
}

async fn a_granted_rule_wakes_the_other_waiting_chats_of_its_world(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let elsewhere = create_world(&*store, "x").await;
    let mut granting = waiting(&store, &world).await;
    let other = waiting(&store, &world).await;
    let mut idle = Teller::begin(store.clone(), &world).await;
    idle.say("hello").await.unwrap();
    idle.answer_text("hello").await;
    put(&mut idle, Wake::Never).await;
    waiting(&store, &elsewhere).await;
    assert_eq!(due(&*store).await, []);
    let approval = granting.chat.approvals.keys().next().unwrap().clone();
    granting.approve(&approval, Reach::Always).await;
    let mut expected = vec![granting.id(), other.id()];
    expected.sort();
    // The granting chat has its tool to run.
    assert_eq!(due(&*store).await, expected);
}

async fn a_chat_that_was_looked_at_without_a_rule_granted_since_stays_due(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut granting = waiting(&store, &world).await;
    let approval = granting.chat.approvals.keys().next().unwrap().clone();
    let mut other = waiting(&store, &world).await;
    granting.approve(&approval, Reach::Always).await;
    assert!(due(&*store).await.contains(&other.id()));
    // Decided before the rule, written after it: the wake-up must not be overwritten.
    store.set_wake(&other.id(), other.head.seq, world.version, Wake::Never).await.unwrap();
    assert!(due(&*store).await.contains(&other.id()));
    // Decided with it: the chat has had its review.
    other.read_settings().await;
    put(&mut other, Wake::Never).await;
    assert!(!due(&*store).await.contains(&other.id()));
}

async fn a_chat_woken_for_nothing_can_be_put_to_rest(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    put(&mut teller, Wake::Now).await;
    let (chat, head) = (teller.id(), teller.head.seq);
    let stale = store.set_wake(&chat, head - 1, 1, Wake::Never).await;
    assert!(matches!(stale, Err(Error::Conflict { .. })));
    assert_eq!(due(&*store).await, std::slice::from_ref(&chat));
    store.set_wake(&chat, head, 1, Wake::Never).await.unwrap();
    assert_eq!(due(&*store).await, []);
    store.set_wake(&chat, head, 1, Wake::Now).await.unwrap();
    assert_eq!(due(&*store).await, [chat]);
}

async fn an_append_without_events_sets_when_a_chat_is_due(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    put(&mut teller, Wake::Now).await;
    let (mut append, _) = teller.prepare(post("not said"));
    append.events = Vec::new();
    append.rows = Vec::new();
    append.wake = Wake::Never;
    let position = store.position().await.unwrap();
    assert_eq!(store.append(append).await.unwrap().position, position);
    assert_eq!(due(&*store).await, []);
    assert_eq!(store.load(&teller.id()).await.unwrap().unwrap().head, teller.head);
}
