//! One file, several processes: one works, others visit. Each handle here stands for a process.

use std::sync::Arc;

use agent_world_core::apply::apply;
use agent_world_core::command::Scope as Reach;
use agent_world_core::ids::{ApprovalId, ChatId};
use agent_world_store::sqlite::{Role, Sqlite};
use agent_world_store::verify::{compare_read_models, verify};
use agent_world_store::{Error, NodeId, Store};
use rusqlite::Connection;

use crate::backend::{Backend, OnDisk};
use crate::teller::{Teller, create_world, now};

/// What a second process knows of a chat: what it has read.
async fn met(store: Arc<dyn Store>, chat: &ChatId) -> Teller {
    let loaded = store.load(chat).await.unwrap().unwrap();
    let world = store.chat(chat).await.unwrap().unwrap().world;
    let world = store.world(&world).await.unwrap().unwrap();
    let mut teller = Teller::unborn(store, &world);
    teller.chat.id = chat.clone();
    loaded.events.iter().for_each(|sealed| apply(&mut teller.chat, &sealed.open().unwrap()));
    teller.head = loaded.head;
    teller
}

async fn chat_that_asks(store: Arc<dyn Store>) -> (Teller, ApprovalId) {
    let world = create_world(&*store, "w").await;
    let mut teller = Teller::begin(store, &world).await;
    teller.say("run").await.unwrap();
    let approval = teller.call_shell("ls").await;
    (teller, approval)
}

#[tokio::test]
async fn a_visitor_reads_and_leaves_a_decision_that_the_worker_sees() {
    let backend = OnDisk::empty();
    let worker = backend.store();
    let (mut working, approval) = chat_that_asks(worker.clone()).await;
    let seen = worker.position().await.unwrap();

    let visitor: Arc<dyn Store> = Arc::new(Sqlite::open(backend.path(), Role::Visitor).unwrap());
    let mut visiting = met(visitor.clone(), &working.id()).await;
    visiting.approve(&approval, Reach::Once).await;
    let no_lease = visitor.lease(&working.id(), &NodeId("v".into()), now()).await;
    assert!(matches!(no_lease, Err(Error::Visitor)));

    assert_eq!(worker.changes(seen).await.unwrap().chats, [(working.id(), visiting.head.seq)]);
    assert_eq!(worker.due(now(), None, 10).await.unwrap(), [working.id()]);
    assert!(matches!(working.say("too late").await, Err(Error::Conflict { .. })));
    let mut working = met(worker.clone(), &working.id()).await;
    working.run_tool("a.txt").await;
    compare_read_models(&*visitor, &working.id()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_and_a_worker_can_write_at_the_same_time() {
    let backend = OnDisk::empty();
    let worker = backend.store();
    let world = create_world(&*worker, "w").await;
    let visitor: Arc<dyn Store> = Arc::new(Sqlite::open(backend.path(), Role::Visitor).unwrap());
    let writers: Vec<_> = (0..8)
        .map(|number| {
            let store = if number % 2 == 0 { worker.clone() } else { visitor.clone() };
            let world = world.clone();
            tokio::spawn(async move {
                let mut teller = Teller::begin(store, &world).await;
                for round in 0..20 {
                    teller.say(&format!("{round}")).await.unwrap();
                }
                teller.id()
            })
        })
        .collect();
    for writer in writers {
        let chat = writer.await.unwrap();
        verify(&*worker, &chat).await.unwrap();
        compare_read_models(&*worker, &chat).await.unwrap();
    }
}

#[tokio::test]
async fn a_second_worker_is_turned_away_until_the_first_is_gone() {
    let mut backend = OnDisk::empty();
    let error = Sqlite::open(backend.path(), Role::Worker).unwrap_err();
    assert!(matches!(error, Error::InUse { .. }), "{error}");
    backend.close();
    let second = Sqlite::open(backend.path(), Role::Worker).unwrap();
    let lease = second.lease(&"chat_a".into(), &NodeId("two".into()), now()).await.unwrap();
    assert_eq!(lease.epoch.0, 2);
}

#[tokio::test]
async fn visitors_do_not_begin_an_epoch() {
    let backend = OnDisk::empty();
    drop(Sqlite::open(backend.path(), Role::Visitor).unwrap());
    let lease =
        backend.store().lease(&"chat_a".into(), &NodeId("one".into()), now()).await.unwrap();
    assert_eq!(lease.epoch.0, 1);
}

#[tokio::test]
async fn a_file_of_a_newer_program_is_left_alone() {
    let mut backend = OnDisk::empty();
    backend.close();
    let connection = Connection::open(backend.path()).unwrap();
    connection.execute("UPDATE meta SET schema = 99", []).unwrap();
    for role in [Role::Worker, Role::Visitor] {
        match Sqlite::open(backend.path(), role) {
            Err(Error::NewerSchema { found: 99, .. }) => {}
            other => panic!("{other:?}"),
        }
    }
    let epoch: u64 = connection.query_row("SELECT epoch FROM meta", [], |row| row.get(0)).unwrap();
    assert_eq!(epoch, 1);
}

#[tokio::test]
async fn a_visitor_makes_the_file_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new.db");
    let visitor = Sqlite::open(&path, Role::Visitor).unwrap();
    create_world(&visitor, "w").await;
    let worker = Sqlite::open(&path, Role::Worker).unwrap();
    assert_eq!(worker.worlds().await.unwrap().len(), 1);
}
