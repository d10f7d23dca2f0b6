//! What an append promises: one winner for each head, all or nothing, once for each key, in order.

use std::collections::BTreeMap;

use agent_world_core::chain::Head;
use agent_world_core::command::{Command, CreateChat, Scope as Reach};
use agent_world_core::config::World;
use agent_world_core::ids::{ChatId, WorldId};
use agent_world_store::{
    Epoch, Error, Idempotency, MessagePage, NodeId, Scope, Store, StoredEvent, WorldWrite,
};

use crate::backend::{Backend, on_every_store};
use crate::teller::{Teller, change, create_world, now, post};

on_every_store!(
    an_append_on_an_old_head_is_refused_and_leaves_nothing,
    a_head_with_the_right_number_and_another_hash_is_a_conflict,
    of_many_appends_on_one_head_exactly_one_is_written,
    an_append_under_other_settings_is_refused_and_leaves_nothing,
    an_append_on_an_old_head_and_under_old_settings_is_a_conflict,
    a_rule_granted_or_revoked_meanwhile_is_not_missed,
    appends_of_many_chats_at_once_are_all_written_in_order,
    an_append_of_a_former_owner_is_fenced,
    a_repeated_key_gives_the_first_outcome_and_writes_nothing,
    an_append_to_an_unknown_world_is_refused,
    events_that_do_not_follow_their_head_are_refused,
    a_chat_of_another_world_is_not_written_to,
    pages_of_every_scope_hold_everything_once_in_order,
    changes_name_chats_and_worlds_written_to_since_a_position,
    loading_from_a_snapshot_gives_what_folding_everything_gives,
    everything_is_still_there_after_a_restart,
);

async fn all(store: &dyn Store, scope: &Scope, page: usize) -> Vec<StoredEvent> {
    let mut events: Vec<StoredEvent> = Vec::new();
    loop {
        let after = events.last().map_or(0, |event| event.position);
        let found = store.events(scope, after, page).await.unwrap();
        assert!(found.len() <= page);
        if found.is_empty() {
            return events;
        }
        events.extend(found);
    }
}

async fn an_append_on_an_old_head_is_refused_and_leaves_nothing(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut first = Teller::begin(store.clone(), &world).await;
    let mut second = first.clone();
    first.say("first").await.unwrap();
    let before = store.position().await.unwrap();
    let (mut late, _) = second.prepare(post("second"));
    late.idempotency = Some(Idempotency { key: "late".into(), outcome: "o".into() });
    let error = store.append(late).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { head, .. } if head == first.head.seq), "{error}");
    assert!(second.say("again").await.is_err());
    assert_eq!(store.position().await.unwrap(), before);
    assert_eq!(store.outcome("late").await.unwrap(), None);
    let messages = store.messages(&first.id(), MessagePage::After(None, 10)).await.unwrap();
    assert_eq!(messages.len(), 1);
}

async fn a_head_with_the_right_number_and_another_hash_is_a_conflict(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let teller = Teller::begin(store.clone(), &world).await;
    let (mut append, _) = teller.prepare(post("hello"));
    append.expected = Head { seq: append.expected.seq, ..Head::default() };
    assert!(matches!(store.append(append).await, Err(Error::Conflict { .. })));
}

async fn of_many_appends_on_one_head_exactly_one_is_written(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let teller = Teller::begin(store.clone(), &world).await;
    for round in 1..=5 {
        let loaded = store.load(&teller.id()).await.unwrap().unwrap();
        let mut teller = teller.clone();
        for sealed in loaded.events.iter().skip(usize::try_from(teller.head.seq).unwrap()) {
            agent_world_core::apply::apply(&mut teller.chat, &sealed.open().unwrap());
        }
        teller.head = loaded.head;
        let racers: Vec<_> = (0..20)
            .map(|racer| {
                let mut teller = teller.clone();
                tokio::spawn(async move { teller.say(&format!("racer {racer}")).await })
            })
            .collect();
        let mut won = 0;
        for racer in racers {
            match racer.await.unwrap() {
                Ok(_) => won += 1,
                Err(Error::Conflict { .. }) => {}
                Err(other) => panic!("{other}"),
            }
        }
        assert_eq!(won, 1);
        let messages = store.messages(&teller.id(), MessagePage::After(None, 100)).await.unwrap();
        assert_eq!(messages.len(), round);
    }
}

async fn edit(store: &dyn Store, world: &World) -> World {
    let change = change("world", "updated", world.id.as_str());
    let write = WorldWrite { world: world.clone(), expected: Some(world.version), change };
    store.write_world(write).await.unwrap()
}

async fn an_append_under_other_settings_is_refused_and_leaves_nothing(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    let mut ahead = teller.clone();
    edit(&*store, &world).await;
    let before = store.position().await.unwrap();
    let (mut late, _) = teller.prepare(post("late"));
    late.idempotency = Some(Idempotency { key: "late".into(), outcome: "o".into() });
    let error = store.append(late).await.unwrap_err();
    assert!(matches!(&error, Error::StaleSettings { version: 2, .. }), "{error}");
    assert_eq!(error.to_string(), "the settings of world w have changed to version 2; decide anew");
    ahead.world.version = 3;
    assert!(matches!(ahead.say("early").await, Err(Error::StaleSettings { version: 2, .. })));
    let unborn = Teller::unborn(store.clone(), &world);
    let create =
        CreateChat { world: world.id.clone(), title: None, by: "ann".to_owned(), fork: None };
    let (create, _) = unborn.prepare(Command::CreateChat(create));
    assert!(matches!(store.append(create).await, Err(Error::StaleSettings { .. })));
    assert_eq!(store.position().await.unwrap(), before);
    assert_eq!(store.outcome("late").await.unwrap(), None);
    assert_eq!(store.load(&teller.id()).await.unwrap().unwrap().head, teller.head);
    teller.read_settings().await;
    teller.say("in time").await.unwrap();
}

async fn an_append_on_an_old_head_and_under_old_settings_is_a_conflict(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut first = Teller::begin(store.clone(), &world).await;
    let mut second = first.clone();
    first.say("first").await.unwrap();
    edit(&*store, &world).await;
    assert!(matches!(second.say("second").await, Err(Error::Conflict { .. })));
}

async fn a_rule_granted_or_revoked_meanwhile_is_not_missed(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut granting = Teller::begin(store.clone(), &world).await;
    let mut other = Teller::begin(store.clone(), &world).await;
    granting.say("run").await.unwrap();
    let approval = granting.call_shell("ls").await;
    // What carries the rule was decided before there was one.
    granting.approve(&approval, Reach::Always).await;
    assert_eq!(granting.world.version, 2);
    assert!(matches!(other.say("hello").await, Err(Error::StaleSettings { version: 2, .. })));
    other.read_settings().await;
    other.say("hello").await.unwrap();
    let rule = granting.world.policy.granted[0].id.clone();
    store.revoke_rule(&world.id, &rule, change("rule", "deleted", rule.as_str())).await.unwrap();
    assert!(matches!(other.say("again").await, Err(Error::StaleSettings { version: 3, .. })));
}

async fn appends_of_many_chats_at_once_are_all_written_in_order(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let writers: Vec<_> = (0..32)
        .map(|_| {
            let (store, world) = (store.clone(), world.clone());
            tokio::spawn(async move {
                let mut teller = Teller::begin(store, &world).await;
                let mut last = 0;
                for number in 0..5 {
                    let position = teller.say(&format!("{number}")).await.unwrap().position;
                    assert!(position > last);
                    last = position;
                }
                (teller.id(), teller.head)
            })
        })
        .collect();
    for writer in writers {
        let (chat, head) = writer.await.unwrap();
        assert_eq!(store.load(&chat).await.unwrap().unwrap().head, head);
        agent_world_store::verify::verify(&*store, &chat).await.unwrap();
    }
}

async fn an_append_of_a_former_owner_is_fenced(mut backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let teller = Teller::begin(store.clone(), &world).await;
    let node = NodeId("one".to_owned());
    let old = store.lease(&teller.id(), &node, now()).await.unwrap();
    let world = world.id.clone();
    let (chat, head) = (teller.chat.clone(), teller.head);
    drop((store, teller));
    backend.restart();

    let store = backend.store();
    let world = store.world(&world).await.unwrap().unwrap();
    let teller = Teller { chat, head, ..Teller::unborn(store.clone(), &world) };
    let new = store.lease(&teller.id(), &node, now()).await.unwrap();
    assert!(new.epoch > old.epoch);
    for stale in [old.epoch, Epoch(new.epoch.0 + 1)] {
        let (mut append, _) = teller.prepare(post("late"));
        append.fence = Some(stale);
        assert!(matches!(store.append(append).await, Err(Error::Fenced { .. })));
    }
    let (mut append, _) = teller.prepare(post("in time"));
    append.fence = Some(new.epoch);
    store.append(append).await.unwrap();
    store.release(&teller.id(), new).await.unwrap();
}

async fn a_repeated_key_gives_the_first_outcome_and_writes_nothing(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let teller = Teller::begin(store.clone(), &world).await;
    let (mut append, _) = teller.prepare(post("once"));
    append.idempotency = Some(Idempotency { key: "k".into(), outcome: "posted".into() });
    store.append(append.clone()).await.unwrap();
    let before = store.position().await.unwrap();
    // The head has moved on as well: the key is what counts.
    match store.append(append).await {
        Err(Error::Repeated { outcome }) => assert_eq!(outcome, "posted"),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.position().await.unwrap(), before);
    assert_eq!(store.outcome("k").await.unwrap().as_deref(), Some("posted"));
    assert_eq!(store.outcome("other").await.unwrap(), None);
}

async fn an_append_to_an_unknown_world_is_refused(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let teller = Teller::begin(store.clone(), &world).await;
    let (mut append, _) = teller.prepare(post("hello"));
    append.world = WorldId::from("nowhere");
    assert!(matches!(store.append(append).await, Err(Error::UnknownWorld(_))));
}

async fn events_that_do_not_follow_their_head_are_refused(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let teller = Teller::begin(store.clone(), &world).await;
    let (mut append, _) = teller.prepare(post("hello"));
    append.events.remove(0);
    assert!(matches!(store.append(append).await, Err(Error::Misplaced { .. })));
}

async fn a_chat_of_another_world_is_not_written_to(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let other = create_world(&*store, "other").await;
    let teller = Teller::begin(store.clone(), &world).await;
    let (mut append, _) = teller.prepare(post("hello"));
    append.world = other.id;
    assert!(matches!(store.append(append).await, Err(Error::Misplaced { .. })));
}

async fn pages_of_every_scope_hold_everything_once_in_order(backend: impl Backend) {
    let store = backend.store();
    let mut written: BTreeMap<ChatId, u64> = BTreeMap::new();
    let mut tellers = Vec::new();
    for name in ["v", "w"] {
        let world = create_world(&*store, name).await;
        for _ in 0..3 {
            tellers.push(Teller::begin(store.clone(), &world).await);
        }
    }
    for round in 0..4 {
        for teller in &mut tellers {
            teller.say(&format!("round {round}")).await.unwrap();
            written.insert(teller.id(), teller.head.seq);
        }
    }
    let everything = all(&*store, &Scope::All, usize::MAX).await;
    assert_eq!(everything.len() as u64, written.values().sum::<u64>() + 2);
    assert!(everything.is_sorted_by(|a, b| a.position < b.position));
    let position = store.position().await.unwrap();
    assert_eq!(everything.last().unwrap().position, position);
    for size in [1, 3, 7, 1000] {
        assert_eq!(all(&*store, &Scope::All, size).await, everything);
        let world = Scope::World(WorldId::from("v"));
        let of_world: Vec<_> =
            everything.iter().filter(|event| event.world.as_str() == "v").cloned().collect();
        assert_eq!(all(&*store, &world, size).await, of_world);
        for chat in written.keys() {
            let of_chat: Vec<_> = everything
                .iter()
                .filter(|event| event.chat.as_ref() == Some(chat))
                .cloned()
                .collect();
            assert_eq!(all(&*store, &Scope::Chat(chat.clone()), size).await, of_chat);
            assert_eq!(of_chat.len() as u64, written[chat]);
            // A cursor may be any position, also one of another chat.
            for after in 0..=position {
                let later = store.events(&Scope::Chat(chat.clone()), after, 1000).await.unwrap();
                assert!(later.iter().eq(of_chat.iter().filter(|event| event.position > after)));
            }
            assert_last(&*store, &Scope::Chat(chat.clone()), &of_chat, size).await;
        }
        assert_last(&*store, &Scope::All, &everything, size).await;
        assert_last(&*store, &world, &of_world, size).await;
    }
}

/// The last events up to any position are those that a reading from the front gives.
async fn assert_last(store: &dyn Store, scope: &Scope, all: &[StoredEvent], limit: usize) {
    let newest = store.position().await.unwrap();
    for until in (0..=newest + 1).chain([u64::MAX]) {
        let earlier: Vec<_> = all.iter().filter(|event| event.position <= until).collect();
        let last = &earlier[earlier.len().saturating_sub(limit)..];
        let found = store.last_events(scope, until, limit).await.unwrap();
        assert!(found.iter().eq(last.iter().copied()), "{scope:?} up to {until}: {found:?}");
    }
}

async fn changes_name_chats_and_worlds_written_to_since_a_position(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut one = Teller::begin(store.clone(), &world).await;
    let mut other = Teller::begin(store.clone(), &world).await;
    let before = store.position().await.unwrap();
    let nothing = store.changes(before).await.unwrap();
    assert_eq!((nothing.position, nothing.chats.len(), nothing.worlds.len()), (before, 0, 0));
    one.say("hello").await.unwrap();
    one.answer_text("hello").await;
    let changes = store.changes(before).await.unwrap();
    assert_eq!(changes.chats, [(one.id(), one.head.seq)]);
    assert_eq!(changes.worlds, []);
    assert_eq!(changes.position, store.position().await.unwrap());
    create_world(&*store, "x").await;
    other.say("run").await.unwrap();
    let approval = other.call_shell("ls").await;
    let before_rule = store.position().await.unwrap();
    other.approve(&approval, agent_world_core::command::Scope::Always).await;
    assert_eq!(store.changes(before).await.unwrap().worlds, ["w".into(), "x".into()]);
    assert_eq!(store.changes(before_rule).await.unwrap().worlds, ["w".into()]);
}

async fn loading_from_a_snapshot_gives_what_folding_everything_gives(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.exchange("one").await;
    assert_eq!(store.load(&teller.id()).await.unwrap().unwrap().snapshot, None);
    teller.snapshot = true;
    teller.say("two").await.unwrap();
    let taken = teller.head.seq;
    teller.snapshot = false;
    teller.call_shell("pwd").await;

    let loaded = store.load(&teller.id()).await.unwrap().unwrap();
    let snapshot = loaded.snapshot.unwrap();
    assert_eq!(snapshot.seq, taken);
    assert_eq!(loaded.head, teller.head);
    let mut chat = agent_world_core::chat::Chat::from_snapshot(&snapshot.state).unwrap();
    assert_eq!(loaded.events.first().unwrap().seq, taken + 1);
    for sealed in &loaded.events {
        agent_world_core::apply::apply(&mut chat, &sealed.open().unwrap());
    }
    assert_eq!(chat, teller.chat);
    agent_world_store::verify::compare_read_models(&*store, &teller.id()).await.unwrap();
}

async fn everything_is_still_there_after_a_restart(mut backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.exchange("hello").await;
    let chat = teller.id();
    let before = all(&*store, &Scope::All, 100).await;
    let messages = store.messages(&chat, MessagePage::After(None, 100)).await.unwrap();
    drop((store, teller));
    backend.restart();
    let store = backend.store();
    assert_eq!(all(&*store, &Scope::All, 100).await, before);
    assert_eq!(store.messages(&chat, MessagePage::After(None, 100)).await.unwrap(), messages);
    assert_eq!(store.world(&world.id).await.unwrap(), Some(world));
    agent_world_store::verify::compare_read_models(&*store, &chat).await.unwrap();
}
