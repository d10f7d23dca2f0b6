//! An edited history is found, wherever it was edited.

use agent_world_core::ids::ChatId;
use agent_world_store::verify::{Broken, compare_read_models, verify, verify_world};
use rusqlite::Connection;

use crate::backend::{Backend, OnDisk};
use crate::teller::{Teller, create_world};

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
