//! How fast a log becomes a chat's state again: every event from the first, and a load as the engine does it.

use std::sync::Arc;
use std::time::Instant;

use agent_world_core::apply::apply;
use agent_world_core::chain::Recorded;
use agent_world_core::chat::Chat;
use agent_world_store::sqlite::Role;
use agent_world_store::{Sqlite, Store};

use crate::{Effort, bare, capture, median, milliseconds, report, runtime};

pub fn measure(effort: Effort) {
    let messages = effort.pick(10_000, 2_000);
    let (chat, appends) = capture::conversation(messages);
    let sealed: Vec<_> = appends.iter().flat_map(|append| &append.events).collect();
    let opened = Instant::now();
    let log: Vec<Recorded> = sealed.iter().map(|sealed| sealed.open().unwrap()).collect();
    let opened = log.len() as f64 / opened.elapsed().as_secs_f64();
    let mut rates = Vec::new();
    for _ in 0..effort.pick(15, 5) {
        let begin = Instant::now();
        let mut state = Chat::unborn(chat.clone());
        log.iter().for_each(|recorded| apply(&mut state, recorded));
        assert_eq!(state.head, log.len() as u64);
        rates.push(log.len() as f64 / begin.elapsed().as_secs_f64());
    }
    report("folding with core::apply", &format!("{:.2} M events/s", median(rates) / 1e6), None);
    report("reading events from JSON", &format!("{:.2} M events/s", opened / 1e6), None);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.db");
    let mut connection = bare::open(&path);
    for group in bare::prepare(appends).chunks(256) {
        bare::write(&mut connection, group);
    }
    drop(connection);
    let store: Arc<dyn Store> = Arc::new(Sqlite::open(&path, Role::Worker).unwrap());
    let times = runtime().block_on(async {
        let mut times = Vec::new();
        for _ in 0..effort.pick(50, 10) {
            let begin = Instant::now();
            let loaded = store.load(&chat).await.unwrap().unwrap();
            let snapshot = loaded.snapshot.unwrap();
            let mut state = Chat::from_snapshot(&snapshot.state).unwrap();
            for sealed in &loaded.events {
                apply(&mut state, &sealed.open().unwrap());
            }
            assert_eq!(state.head, loaded.head.seq);
            times.push(begin.elapsed().as_secs_f64());
        }
        times
    });
    let load = std::time::Duration::from_secs_f64(median(times));
    report(&format!("loading a chat of {messages} messages"), &milliseconds(load), None);
}
