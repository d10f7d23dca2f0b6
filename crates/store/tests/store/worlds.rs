//! What a world's settings promise: no lost update, and granted rules kept apart from what people edit.

use agent_world_core::command::Scope as Reach;
use agent_world_core::config::World;
use agent_world_core::ids::WorldId;
use agent_world_store::verify::verify_world;
use agent_world_store::{Error, Scope, WorldChange, WorldWrite};

use crate::backend::{Backend, on_every_store};
use crate::teller::{Teller, change, create_world, now};

on_every_store!(
    a_change_made_on_an_old_version_is_refused,
    a_world_is_created_once,
    every_change_of_settings_is_an_event_in_an_unbroken_log,
    a_granted_rule_is_merged_in_and_survives_an_edit,
    a_revoked_rule_is_gone,
);

async fn a_change_made_on_an_old_version_is_refused(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    assert_eq!(world.version, 1);
    let edit = |name: &str, expected| WorldWrite {
        world: World { name: name.to_owned(), version: 77, ..world.clone() },
        expected: Some(expected),
        change: change("world", "updated", "w"),
    };
    let second = store.write_world(edit("second", 1)).await.unwrap();
    assert_eq!((second.version, second.name.as_str()), (2, "second"));
    match store.write_world(edit("lost", 1)).await {
        Err(Error::WorldConflict { expected, actual, .. }) => {
            assert_eq!((expected, actual), (Some(1), Some(2)));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(store.world(&world.id).await.unwrap(), Some(second));
    let missing = WorldWrite { world: World { id: "x".into(), ..world.clone() }, ..edit("x", 1) };
    assert!(matches!(store.write_world(missing).await, Err(Error::UnknownWorld(_))));
}

async fn a_world_is_created_once(backend: impl Backend) {
    let store = backend.store();
    create_world(&*store, "b").await;
    create_world(&*store, "a").await;
    let again = WorldWrite {
        world: World::new(WorldId::from("a"), "a", now()),
        expected: None,
        change: change("world", "created", "a"),
    };
    let error = store.write_world(again).await.unwrap_err();
    assert!(matches!(error, Error::WorldConflict { expected: None, actual: Some(1), .. }));
    let ids: Vec<_> = store.worlds().await.unwrap().into_iter().map(|world| world.id).collect();
    assert_eq!(ids, ["a".into(), "b".into()]);
}

async fn every_change_of_settings_is_an_event_in_an_unbroken_log(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let told = change("agent", "updated", "ada");
    let write = WorldWrite { world: world.clone(), expected: Some(1), change: told.clone() };
    store.write_world(write).await.unwrap();
    let events = store.events(&Scope::World(world.id.clone()), 0, 10).await.unwrap();
    assert_eq!(events.len(), 2);
    assert_eq!(events[1].chat, None);
    assert_eq!(events[1].sealed.seq, 2);
    assert_eq!(events[1].sealed.at, told.at);
    let read: WorldChange = serde_json::from_str(&events[1].sealed.payload).unwrap();
    // The event says what the settings are, without what is kept apart from them.
    assert_eq!(read.settings.as_ref().unwrap()["version"], 2);
    assert_eq!(WorldChange { settings: None, ..read }, told);
    assert_eq!(verify_world(&*store, &world.id).await.unwrap().events, 2);
}

async fn a_granted_rule_is_merged_in_and_survives_an_edit(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("ls").await;
    teller.approve(&approval, Reach::Always).await;
    let ruled = store.world(&world.id).await.unwrap().unwrap();
    assert_eq!(ruled.version, 2);
    assert_eq!(ruled.policy.granted.len(), 1);
    assert_eq!(ruled.policy.granted[0].origin.as_ref().unwrap().approval, approval);
    // Whoever edits the settings cannot add, change or drop granted rules by the way.
    let mut edited = ruled.clone();
    edited.policy.granted.clear();
    edited.name = "edited".to_owned();
    let write =
        WorldWrite { world: edited, expected: Some(2), change: change("world", "updated", "w") };
    let stored = store.write_world(write).await.unwrap();
    assert_eq!(stored.policy.granted, ruled.policy.granted);
    assert_eq!(store.world(&world.id).await.unwrap().unwrap(), stored);
}

async fn a_revoked_rule_is_gone(backend: impl Backend) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("ls").await;
    teller.approve(&approval, Reach::Always).await;
    let rule = store.world(&world.id).await.unwrap().unwrap().policy.granted[0].id.clone();
    let told = || change("rule", "deleted", rule.as_str());
    store.revoke_rule(&world.id, &rule, told()).await.unwrap();
    let after = store.world(&world.id).await.unwrap().unwrap();
    assert_eq!((after.version, after.policy.granted.len()), (3, 0));
    let again = store.revoke_rule(&world.id, &rule, told()).await;
    assert!(matches!(again, Err(Error::UnknownRule { .. })));
    let nowhere = store.revoke_rule(&"x".into(), &rule, told()).await;
    assert!(matches!(nowhere, Err(Error::UnknownWorld(_))));
    assert_eq!(verify_world(&*store, &world.id).await.unwrap().events, 2);
}
