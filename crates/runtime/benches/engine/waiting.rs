//! Ten thousand chats that each wait for an approval: what they cost a restart in time and memory.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_store::sqlite::Role;
use agent_world_store::{ApprovalFilter, Sqlite};

use crate::{Effort, bare, capture, cast, report, runtime};

/// Tells the benchmark's own program to do nothing but reopen a store.
pub const REOPEN: &str = "--reopen";
/// Seconds until the first read is answered.
const REQUIRED: f64 = 0.2;

pub fn measure(effort: Effort) {
    let chats = effort.pick(10_000, 1_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bench.db");
    let mut connection = bare::open(&path);
    for group in bare::prepare(capture::waiting(chats)).chunks(256) {
        bare::write(&mut connection, group);
    }
    drop(connection);
    let this = std::env::current_exe().unwrap();
    let child = Command::new(this).arg(REOPEN).arg(&path).output().unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
    let said = String::from_utf8(child.stdout).unwrap();
    let numbers: Vec<f64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let [seconds, before, after, resident, waiting] = numbers[..] else {
        panic!("{said}");
    };
    assert_eq!(waiting, chats as f64);
    let verdict = ("< 0.2 s", seconds < REQUIRED);
    let what = format!("reopening {chats} waiting chats, to the first read");
    report(&what, &format!("{:.1} ms", seconds * 1e3), Some(verdict));
    report("  memory before and after", &format!("{before:.1} -> {after:.1} MB"), None);
    report("  chats in memory", &format!("{resident}"), Some(("= 0", resident == 0.0)));
}

/// In a process of its own: opens the store, starts the engine, reads, and says what that took.
pub fn reopen(path: &Path) {
    let before = resident_megabytes();
    let runtime = runtime();
    runtime.block_on(async {
        let begin = Instant::now();
        let store = Sqlite::open(path, Role::Worker).unwrap();
        let engine = cast::engine(Arc::new(store));
        let filter = ApprovalFilter { only_pending: true, ..ApprovalFilter::default() };
        let page = engine.store().approvals(&filter, None, 50).await.unwrap();
        let taken = begin.elapsed().as_secs_f64();
        assert_eq!(page.len(), 50);
        // Time enough to take up whatever is due.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let (resident, after) = (engine.resident_chats(), resident_megabytes());
        let all = engine.store().approvals(&filter, None, usize::MAX).await.unwrap();
        println!("{taken} {before} {after} {resident} {}", all.len());
        engine.shutdown().await;
    });
}

fn resident_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kilobytes: f64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    kilobytes / 1024.0
}
