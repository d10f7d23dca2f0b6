//! Turns with an approved tool in 64 chats at once on SQLite, against the same rows written by the bare floor.

use std::sync::Arc;
use std::time::Instant;

use agent_world_store::Sqlite;
use agent_world_store::sqlite::Role;

use crate::{Effort, bare, capture, cast, median, report, runtime};

const CHATS: usize = 64;
/// Appends of one turn: post, reply with a call, decision, start, result, final reply.
const APPENDS_PER_TURN: usize = 6;
/// The part of the floor's speed that the engine must reach.
const REQUIRED: f64 = 0.5;

pub fn measure(effort: Effort) {
    let (samples, turns) = effort.pick((5, 30), (3, 8));
    let appends = (CHATS * turns * APPENDS_PER_TURN) as f64;
    let (mut engine, mut floor, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // Side by side, so that both meet the same machine.
    for _ in 0..samples {
        floor.push(appends / floor_seconds(turns));
        engine.push(appends / engine_seconds(turns));
        ratios.push(engine.last().unwrap() / floor.last().unwrap());
    }
    let (engine, floor, ratio) = (median(engine), median(floor), median(ratios));
    report("64 chats, bare floor", &format!("{floor:.0} appends/s"), None);
    report("64 chats, engine", &format!("{engine:.0} appends/s"), None);
    let per_second = engine / APPENDS_PER_TURN as f64;
    report(
        "64 chats, engine, turns with an approved tool",
        &format!("{per_second:.0} turns/s"),
        None,
    );
    let verdict = (">= 0.50", ratio >= REQUIRED);
    report("engine / floor", &format!("{ratio:.2}"), Some(verdict));
}

fn engine_seconds(turns: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    runtime().block_on(async {
        let store = Sqlite::open(folder.path().join("bench.db"), Role::Worker).unwrap();
        let engine = cast::engine(Arc::new(store));
        engine.create_world(cast::world(), "eve").await.unwrap();
        let chats = cast::new_chats(&engine, CHATS).await;
        cast::take_turns(&engine, &chats, 1).await;
        let begin = Instant::now();
        cast::take_turns(&engine, &chats, turns).await;
        let taken = begin.elapsed();
        engine.shutdown().await;
        taken.as_secs_f64()
    })
}

fn floor_seconds(turns: usize) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = bare::open(&folder.path().join("bench.db"));
    let (made, taken) = capture::turns(CHATS, turns);
    assert_eq!(taken.len(), CHATS * turns * APPENDS_PER_TURN);
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
