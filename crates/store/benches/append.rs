//! How fast events become durable: the store's append against the bare floor, in one run.
//!
//! The floor is plain rusqlite: the same rows with the same durability, encoded beforehand, one transaction for as
//! many appends as there are writers. What the store adds to it is heads, fences, encoding and threads. After
//! divan's table the ratio of both is printed for each number of writers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

#[allow(dead_code, reason = "shared with the tests, which tell longer stories")]
#[path = "../tests/store/teller.rs"]
mod teller;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_world_core::view::Row;
use agent_world_store::sqlite::Role;
use agent_world_store::{Append, Sqlite, Store};
use divan::Bencher;
use divan::counter::ItemsCount;
use rusqlite::{Connection, TransactionBehavior, params};
use teller::{Teller, create_world, post};
use tokio::runtime::Runtime;

const WRITERS: [usize; 3] = [1, 32, 64];
/// Appends of each writer in one sample.
const ROUNDS: usize = 24;

/// Appends and the time they took, by kind and number of writers.
type Measured = BTreeMap<(&'static str, usize), (usize, Duration)>;
static MEASURED: Mutex<Measured> = Mutex::new(Measured::new());

fn main() {
    divan::main();
    let measured = MEASURED.lock().unwrap();
    let rate = |kind, writers| {
        let (appends, time) = measured.get(&(kind, writers))?;
        Some(*appends as f64 / time.as_secs_f64())
    };
    for writers in WRITERS {
        if let (Some(floor), Some(store)) = (rate("floor", writers), rate("store", writers)) {
            println!(
                "{writers:>3} writers: floor {floor:>7.0}/s, store {store:>7.0}/s, ratio {:.2}",
                store / floor
            );
        }
    }
}

fn measure(kind: &'static str, writers: usize, work: impl FnOnce()) {
    let begin = Instant::now();
    work();
    let taken = begin.elapsed();
    let mut measured = MEASURED.lock().unwrap();
    let (appends, time) = measured.entry((kind, writers)).or_default();
    *appends += writers * ROUNDS;
    *time += taken;
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

/// One chat for each writer, each with a turn under way, so that a message is one event.
async fn chats(path: &Path, writers: usize) -> (Arc<dyn Store>, Vec<Teller>) {
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(path, Role::Worker).unwrap());
    let world = create_world(&*store, "w").await;
    let mut tellers = Vec::new();
    for _ in 0..writers {
        let mut teller = Teller::begin(store.clone(), &world).await;
        teller.say("hello").await.unwrap();
        tellers.push(teller);
    }
    (store, tellers)
}

/// The next appends of a chat: messages that make events of about 512 bytes.
fn next(teller: &mut Teller) -> Vec<Append> {
    let text = "All work and no play makes a dull log. ".repeat(8);
    let mut appends = Vec::new();
    for _ in 0..ROUNDS {
        let (append, chat) = teller.prepare(post(&text));
        (teller.chat, teller.head) = (chat, append.events.last().unwrap().head());
        appends.push(append);
    }
    appends
}

#[divan::bench(args = WRITERS, sample_size = 1, sample_count = 24)]
fn store(bencher: Bencher, writers: usize) {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let (store, mut tellers) = runtime.block_on(chats(&folder.path().join("w.db"), writers));
    bencher
        .counter(ItemsCount::new(writers * ROUNDS))
        .with_inputs(|| tellers.iter_mut().map(next).collect::<Vec<_>>())
        .bench_local_values(|work| {
            measure("store", writers, || runtime.block_on(write_all(&store, work)));
        });
}

async fn write_all(store: &Arc<dyn Store>, work: Vec<Vec<Append>>) {
    let tasks: Vec<_> = work
        .into_iter()
        .map(|appends| {
            let store = store.clone();
            tokio::spawn(async move {
                for append in appends {
                    store.append(append).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

/// What an append writes, as text.
struct Bare {
    append: Append,
    view: String,
    messages: Vec<(u64, u32, String, String)>,
}

impl From<Append> for Bare {
    fn from(append: Append) -> Self {
        let message = |row: &Row| match row {
            Row::Message(view) => (
                view.position.seq,
                view.position.index,
                view.id.to_string(),
                serde_json::to_string(view).unwrap(),
            ),
            other => panic!("only messages are written here, not {other:?}"),
        };
        let messages = append.rows.iter().map(message).collect();
        Self { view: serde_json::to_string(&append.view).unwrap(), messages, append }
    }
}

#[divan::bench(args = WRITERS, sample_size = 1, sample_count = 24)]
fn floor(bencher: Bencher, writers: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.db");
    let (store, mut tellers) = runtime().block_on(chats(&path, writers));
    drop(store);
    tellers.iter_mut().for_each(|teller| teller.store = Arc::new(agent_world_store::Memory::new()));
    let mut connection = Connection::open(&path).unwrap();
    for (name, value) in
        [("journal_mode", "WAL"), ("synchronous", "FULL"), ("wal_autocheckpoint", "4000")]
    {
        connection.pragma_update(None, name, value).unwrap();
    }
    connection.set_prepared_statement_cache_capacity(64);
    bencher
        .counter(ItemsCount::new(writers * ROUNDS))
        .with_inputs(|| {
            let work: Vec<Vec<Append>> = tellers.iter_mut().map(next).collect();
            let round = |index: usize| {
                work.iter().map(|appends| Bare::from(appends[index].clone())).collect()
            };
            (0..ROUNDS).map(round).collect::<Vec<Vec<Bare>>>()
        })
        .bench_local_values(|rounds| {
            measure("floor", writers, || {
                rounds.iter().for_each(|round| write_bare(&mut connection, round));
            });
        });
}

fn write_bare(connection: &mut Connection, round: &[Bare]) {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    for Bare { append, view, messages } in round {
        let chat = append.chat.as_str();
        let event = append.events.last().unwrap();
        transaction
            .prepare_cached(
                "INSERT INTO events (world, chat, seq, at, kind, version, payload, hash)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )
            .unwrap()
            .execute(params![
                append.world.as_str(),
                chat,
                event.seq,
                event.at.as_millisecond(),
                event.kind,
                event.version,
                event.payload,
                event.hash.0
            ])
            .unwrap();
        let moved = transaction
            .prepare_cached(
                "UPDATE chats SET head_seq = ?2, head_hash = ?3, view = ?4
                 WHERE id = ?1 AND head_seq = ?5 AND head_hash = ?6",
            )
            .unwrap()
            .execute(params![
                chat,
                event.seq,
                event.hash.0,
                view,
                append.expected.seq,
                append.expected.hash.0
            ])
            .unwrap();
        assert_eq!(moved, 1);
        for (seq, index, id, document) in messages {
            transaction
                .prepare_cached("INSERT INTO messages VALUES (?1, ?2, ?3, ?4, ?5)")
                .unwrap()
                .execute(params![chat, seq, index, id, document])
                .unwrap();
        }
    }
    transaction.commit().unwrap();
}
