//! A full disk, a locked or damaged file: a clean error for whoever is concerned, and the store goes on.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use agent_world_store::sqlite::{Options, Role, Sqlite};
use agent_world_store::verify::{compare_read_models, verify};
use agent_world_store::{Error, Idempotency, Store};
use rusqlite::Connection;

use crate::backend::{Backend, OnDisk};
use crate::teller::{Teller, change, create_world, post};

#[tokio::test]
async fn a_full_disk_is_a_clean_error_and_the_store_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { page_limit: Some(120), ..Options::default() };
    let sqlite = Sqlite::open_with(folder.path().join("w.db"), Role::Worker, options).unwrap();
    let store: Arc<dyn Store> = Arc::new(sqlite);
    let world = create_world(&*store, "w").await;
    let filler = create_world(&*store, "filler").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    let mut filling = Teller::begin(store.clone(), &filler).await;
    let text = "x".repeat(20_000);
    let error = loop {
        match filling.say(&text).await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(&error, Error::Unavailable(why) if why.contains("full")), "{error}");
    // What was accepted is whole, and nothing of what was refused is there.
    verify(&*store, &filling.id()).await.unwrap();
    compare_read_models(&*store, &filling.id()).await.unwrap();
    assert_eq!(store.load(&filling.id()).await.unwrap().unwrap().head, filling.head);
    // Space is made; the same store writes again.
    store.delete_world(&filler.id, change("world", "deleted", "filler")).await.unwrap();
    teller.exchange(&text).await;
    compare_read_models(&*store, &teller.id()).await.unwrap();
}

#[tokio::test]
async fn a_write_that_the_file_refuses_does_not_take_its_neighbours_along() {
    let backend = OnDisk::empty();
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut tellers = Vec::new();
    for _ in 0..6 {
        tellers.push(Teller::begin(store.clone(), &world).await);
    }
    // A message in a place that is taken: no check finds it, the file refuses it.
    let (mut wrong, _) = tellers[0].prepare(post("twice"));
    wrong.rows = wrong.rows.iter().chain(&wrong.rows).cloned().collect();
    // While another process holds the file everything is queued, and shares a group once it lets go.
    let holder = Connection::open(backend.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut appends = vec![tellers[1].prepare(post("before")).0, wrong];
    appends.extend(tellers[2..].iter().map(|teller| teller.prepare(post("after")).0));
    let mut writes = Vec::new();
    for append in appends {
        let store = store.clone();
        writes.push(tokio::spawn(async move { store.append(append).await }));
        tokio::task::yield_now().await;
    }
    holder.execute_batch("ROLLBACK").unwrap();
    let mut results = Vec::new();
    for write in writes {
        results.push(write.await.unwrap());
    }
    assert!(matches!(results.remove(1), Err(Error::Unavailable(_))));
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(store.load(&tellers[0].id()).await.unwrap().unwrap().head, tellers[0].head);
}

#[tokio::test]
async fn a_file_that_another_process_keeps_locked_is_a_clean_error() {
    let mut backend = OnDisk::empty();
    backend.close();
    let options = Options { busy_wait: Duration::from_millis(50), ..Options::default() };
    let sqlite = Sqlite::open_with(backend.path(), Role::Worker, options).unwrap();
    let store: Arc<dyn Store> = Arc::new(sqlite);
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    let holder = Connection::open(backend.path()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(matches!(teller.say("hello").await, Err(Error::Busy(_))));
    assert!(store.chat(&teller.id()).await.unwrap().is_some());
    holder.execute_batch("ROLLBACK").unwrap();
    teller.say("hello").await.unwrap();
}

#[tokio::test]
async fn a_missing_table_is_a_clean_error_and_the_store_goes_on() {
    let backend = OnDisk::empty();
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store.clone(), &world).await;
    let raw = Connection::open(backend.path()).unwrap();
    raw.execute_batch("ALTER TABLE messages RENAME TO hidden").unwrap();
    assert!(matches!(teller.say("hello").await, Err(Error::Unavailable(_))));
    raw.execute_batch("ALTER TABLE hidden RENAME TO messages").unwrap();
    teller.say("hello").await.unwrap();
    compare_read_models(&*store, &teller.id()).await.unwrap();
}

#[tokio::test]
async fn something_that_is_no_store_is_refused_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "not a database at all, but quite long enough to look like one").unwrap();
    assert!(matches!(Sqlite::open(&path, Role::Worker), Err(Error::Corrupt(_))));
    let nowhere = Sqlite::open(folder.path().join("no/such/folder.db"), Role::Worker).unwrap_err();
    assert!(nowhere.to_string().contains("no/such"), "{nowhere}");
}

#[tokio::test]
async fn dropping_the_store_writes_what_is_queued() {
    let mut backend = OnDisk::empty();
    let store = backend.store();
    let world = create_world(&*store, "w").await;
    let mut tellers = Vec::new();
    for _ in 0..50 {
        tellers.push(Teller::begin(store.clone(), &world).await);
    }
    let mut context = Context::from_waker(Waker::noop());
    for (number, teller) in tellers.iter().enumerate() {
        let (mut append, _) = teller.prepare(post("last words"));
        let key = format!("key {number}");
        append.idempotency = Some(Idempotency { key, outcome: "kept".into() });
        // Queued by the first poll and then abandoned: nobody waits for the answer.
        let _answer = pin!(store.append(append)).poll(&mut context);
    }
    drop((store, tellers));
    backend.restart();
    for number in 0..50 {
        let outcome = backend.store().outcome(&format!("key {number}")).await.unwrap();
        assert_eq!(outcome.as_deref(), Some("kept"));
    }
}
