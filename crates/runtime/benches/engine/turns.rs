//! Turns with an approved tool in 64 chats at once on SQLite, against the same rows written by the bare floor.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use agent_world_core::ids::ChatId;
use agent_world_store::sqlite::Role;
use agent_world_store::{Append, Sqlite, Store};

use crate::{Effort, bare, capture, cast, median, report, runtime};

const CHATS: usize = 64;
/// Appends of one turn: post, reply with a call, decision, start, result, final reply.
const APPENDS_PER_TURN: usize = 6;
/// The part of the floor's speed that the engine must reach.
const REQUIRED: f64 = 0.5;

pub fn measure(effort: Effort) {
    let (samples, turns) = effort.pick((5, 30), (3, 8));
    let appends = (CHATS * turns * APPENDS_PER_TURN) as f64;
    let (mut floors, mut stores, mut engines) = (Vec::new(), Vec::new(), Vec::new());
    let (mut of_floor, mut of_store, mut followed) = (Vec::new(), Vec::new(), Vec::new());
    // Side by side, so that all meet the same machine.
    for _ in 0..samples {
        let (made, taken) = capture::turns(CHATS, turns);
        assert_eq!(taken.len(), CHATS * turns * APPENDS_PER_TURN);
        let floor = appends / floor_seconds(made.clone(), taken.clone());
        let store = appends / store_seconds(made, taken);
        let engine = appends / engine_seconds(turns, Following::Nobody);
        let watched = appends / engine_seconds(turns, Following::EachChat);
        floors.push(floor);
        stores.push(store);
        engines.push(engine);
        of_floor.push(engine / floor);
        of_store.push(engine / store);
        followed.push(watched / engine);
    }
    let rate = |rates: Vec<f64>| format!("{:.0} appends/s", median(rates));
    report("64 chats, bare floor", &rate(floors), None);
    report("64 chats, store alone", &rate(stores), None);
    report("64 chats, engine", &rate(engines.clone()), None);
    let per_second = median(engines) / APPENDS_PER_TURN as f64;
    let what = "64 chats, engine, turns with an approved tool";
    report(what, &format!("{per_second:.0} turns/s"), None);
    let ratio = median(of_floor);
    let verdict = (">= 0.50", ratio >= REQUIRED);
    report("engine / floor", &format!("{ratio:.2}"), Some(verdict));
    report("engine / store alone", &format!("{:.2}", median(of_store)), None);
    let followed = format!("{:.2}", median(followed));
    report("engine with a subscriber on each chat / without", &followed, None);
}

/// Who looks on, besides the one who approves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Following {
    Nobody,
    EachChat,
}

fn engine_seconds(turns: usize, following: Following) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = Sqlite::open(folder.path().join("bench.db"), Role::Worker).unwrap();
        let engine = cast::engine(Arc::new(store));
        engine.create_world(cast::world(), "eve").await.unwrap();
        let chats = cast::new_chats(&engine, CHATS).await;
        cast::take_turns(&engine, &chats, 1).await;
        if following == Following::EachChat {
            for chat in &chats {
                tokio::spawn(cast::follow(engine.clone(), chat.clone()));
            }
        }
        let begin = Instant::now();
        cast::take_turns(&engine, &chats, turns).await;
        let taken = begin.elapsed();
        engine.shutdown().await;
        taken.as_secs_f64()
    })
}

fn floor_seconds(made: Vec<Append>, taken: Vec<Append>) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = bare::open(&folder.path().join("bench.db"));
    let all = bare::prepare(made.into_iter().chain(taken).collect());
    let mut rounds = bare::rounds(all).into_iter();
    // The world's own first chat is not one of the 64 but shares their first round.
    bare::write(&mut connection, &rounds.next().unwrap());
    let rounds: Vec<_> = rounds.collect();
    assert!(rounds.iter().all(|round| round.len() == CHATS));
    let begin = Instant::now();
    rounds.iter().for_each(|round| bare::write(&mut connection, round));
    begin.elapsed().as_secs_f64()
}

/// The same appends through the store, by one writer for each chat: what is left of the gap is the engine's.
fn store_seconds(made: Vec<Append>, taken: Vec<Append>) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.db");
    drop(bare::open(&path));
    let mut chats: HashMap<ChatId, Vec<Append>> = HashMap::new();
    for append in taken {
        // Another process captured them.
        let append = Append { fence: None, ..append };
        chats.entry(append.chat.clone()).or_default().push(append);
    }
    runtime().block_on(async {
        let store: Arc<dyn Store> = Arc::new(Sqlite::open(&path, Role::Worker).unwrap());
        for append in made {
            store.append(Append { fence: None, ..append }).await.unwrap();
        }
        let begin = Instant::now();
        let writers: Vec<_> = chats
            .into_values()
            .map(|appends| {
                let store = Arc::clone(&store);
                tokio::spawn(async move {
                    for append in appends {
                        store.append(append).await.unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        begin.elapsed().as_secs_f64()
    })
}
