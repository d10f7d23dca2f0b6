//! An edited history is found, wherever it was edited.

use agent_world_core::chain::{Hash, Sealed};
use agent_world_core::command::{Command, Scope as Reach};
use agent_world_core::config::World;
use agent_world_core::ids::ChatId;
use agent_world_store::verify::{Broken, compare_read_models, verify, verify_world};
use agent_world_store::{Scope, WorldChange, WorldWrite};
use rusqlite::Connection;

use crate::backend::{Backend, OnDisk};
use crate::teller::{Teller, change, create_world};

async fn told() -> (OnDisk, ChatId) {
    let backend = OnDisk::empty();
    let world = create_world(&*backend.store(), "w").await;
    let mut teller = Teller::begin(backend.store(), &world).await;
    teller.snapshot = true;
    teller.exchange("hello").await;
    teller.snapshot = false;
    teller.exchange("again").await;
    (backend, teller.id())
}

fn edit(backend: &OnDisk, sql: &str) {
    let connection = Connection::open(backend.path()).unwrap();
    assert_eq!(connection.execute(sql, []).unwrap(), 1, "{sql}");
}

#[tokio::test]
async fn an_untouched_log_is_whole() {
    let (backend, chat) = told().await;
    let store = backend.store();
    let verified = verify(&*store, &chat).await.unwrap();
    assert_eq!(verified.head, store.load(&chat).await.unwrap().unwrap().head);
    compare_read_models(&*store, &chat).await.unwrap();
    let nobody = verify(&*store, &"chat_none".into()).await;
    assert!(matches!(nobody, Err(Broken::UnknownChat(_))));
}

#[tokio::test]
async fn an_edited_event_is_found_where_it_stands() {
    let edits = [
        "payload = replace(payload, 'hello', 'jello')",
        "at = at + 1000000",
        "kind = 'chat_renamed'",
        "hash = zeroblob(32)",
    ];
    for change in edits {
        let (backend, chat) = told().await;
        edit(&backend, &format!("UPDATE events SET {change} WHERE chat IS NOT NULL AND seq = 2"));
        match verify(&*backend.store(), &chat).await {
            Err(Broken::Log { seq, .. }) => assert_eq!(seq, 2, "{change}"),
            other => panic!("{change}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_removed_event_is_found() {
    let (backend, chat) = told().await;
    let last = verify(&*backend.store(), &chat).await.unwrap().events;
    for seq in [1, 5, last] {
        let (backend, chat) = told().await;
        edit(&backend, &format!("DELETE FROM events WHERE chat IS NOT NULL AND seq = {seq}"));
        match verify(&*backend.store(), &chat).await {
            Err(Broken::Log { seq: found, .. }) => assert!(found == seq || seq == last),
            other => panic!("{seq}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_edited_change_of_settings_is_found() {
    let (backend, _) = told().await;
    edit(
        &backend,
        "UPDATE events SET payload = replace(payload, 'tester', 'nobody') WHERE chat IS NULL",
    );
    let found = verify_world(&*backend.store(), &"w".into()).await;
    assert!(matches!(found, Err(Broken::Log { seq: 1, .. })));
}

#[tokio::test]
async fn edited_read_models_are_found_and_named() {
    let edits = [
        (
            "messages",
            "UPDATE messages SET document = replace(document, 'hello', 'jello') WHERE seq = 2",
        ),
        ("messages", "DELETE FROM messages WHERE seq = 2"),
        ("calls", "DELETE FROM calls WHERE ordinal = 1"),
        (
            "approvals",
            "UPDATE approvals SET document = replace(document, 'once', 'nonce') WHERE ordinal = 1",
        ),
        ("usage", "DELETE FROM usage WHERE turn = (SELECT min(turn) FROM usage)"),
        ("the view", "UPDATE chats SET view = replace(view, 'New Chat', 'Old Chat')"),
        ("the snapshot", "UPDATE snapshots SET state = replace(state, 'New Chat', 'Old Chat')"),
    ];
    for (name, sql) in edits {
        let (backend, chat) = told().await;
        edit(&backend, sql);
        match compare_read_models(&*backend.store(), &chat).await {
            Err(Broken::ReadModel { model, .. }) => assert_eq!(model, name, "{sql}"),
            // An edit may leave a document that cannot be read at all.
            Err(Broken::Store(_)) => {}
            other => panic!("{sql}: {other:?}"),
        }
    }
}

/// A world whose settings were edited, with two granted rules, another one revoked, and a deleted chat among them.
async fn permitted(backend: &OnDisk) {
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    for (number, command) in ["ls", "pwd", "id"].into_iter().enumerate() {
        teller.say(command).await.unwrap();
        let approval = teller.call_shell(command).await;
        teller.approve(&approval, Reach::Always).await;
        teller.run_tool("done").await;
        teller.answer_text("done").await;
        if number == 0 {
            teller.tell(Command::DeleteChat { by: "ann".into() }).await.unwrap();
            teller = Teller::begin(store.clone(), &teller.world).await;
        }
    }
    let world = teller.world.clone();
    let rule = world.policy.granted[1].id.clone();
    store.revoke_rule(&world.id, &rule, change("rule", "deleted", rule.as_str())).await.unwrap();
    let write = WorldWrite {
        expected: Some(5),
        change: change("world", "updated", "w"),
        world: World { name: "edited".to_owned(), ..world },
    };
    store.write_world(write).await.unwrap();
    teller.read_settings().await;
    teller.say("one more").await.unwrap();
    let approval = teller.call_shell("date").await;
    teller.approve(&approval, Reach::Always).await;
}

#[tokio::test]
async fn untouched_settings_and_rules_are_what_the_log_says() {
    let backend = OnDisk::empty();
    permitted(&backend).await;
    let store = backend.store();
    assert_eq!(store.world(&"w".into()).await.unwrap().unwrap().policy.granted.len(), 3);
    assert_eq!(verify_world(&*store, &"w".into()).await.unwrap().events, 3);
    store.delete_world(&"w".into(), change("world", "deleted", "w")).await.unwrap();
    assert_eq!(verify_world(&*store, &"w".into()).await.unwrap().events, 4);
    create_world(&*store, "w").await;
    assert_eq!(verify_world(&*store, &"w".into()).await.unwrap().events, 5);
}

#[tokio::test]
async fn edited_settings_and_rules_are_found_and_named() {
    let forged = "INSERT INTO rules (world, id, position, document)
        SELECT world, 'rule_forged', position, replace(document, id, 'rule_forged')
        FROM rules WHERE ordinal = 1";
    let edits = [
        ("granted rules", forged),
        ("granted rules", "DELETE FROM rules WHERE ordinal = 1"),
        (
            "granted rules",
            "UPDATE rules SET document = replace(document, '\"ls\"', '\"rm\"') WHERE ordinal = 1",
        ),
        ("settings", "UPDATE worlds SET document = replace(document, 'edited', 'forged')"),
        ("settings", "UPDATE worlds SET version = version - 1"),
    ];
    for (name, sql) in edits {
        let backend = OnDisk::empty();
        permitted(&backend).await;
        edit(&backend, sql);
        match verify_world(&*backend.store(), &"w".into()).await {
            Err(Broken::Settings { what, .. }) => assert_eq!(what, name, "{sql}"),
            other => panic!("{sql}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn settings_that_no_event_tells_of_are_believed() {
    let backend = OnDisk::empty();
    let world = create_world(&*backend.store(), "w").await;
    // As it was written before the settings were part of the event.
    let sealed = backend.store().events(&Scope::All, 0, 1).await.unwrap().remove(0).sealed;
    let change: WorldChange = serde_json::from_str(&sealed.payload).unwrap();
    let payload = serde_json::to_string(&WorldChange { settings: None, ..change }).unwrap();
    let older = Sealed { payload, ..sealed };
    let connection = Connection::open(backend.path()).unwrap();
    let hash = older.hash_after(Hash::default());
    let sql = "UPDATE events SET payload = ?1, hash = ?2";
    connection.execute(sql, rusqlite::params![older.payload, hash.0]).unwrap();
    assert_eq!(verify_world(&*backend.store(), &world.id).await.unwrap().events, 1);
    edit(&backend, "UPDATE worlds SET document = replace(document, 'ada', 'bob')");
    assert_eq!(verify_world(&*backend.store(), &world.id).await.unwrap().events, 1);
}
