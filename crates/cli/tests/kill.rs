//! Kills the real binary, as `kill -9` does, at every named place and at random moments, and looks at what is left.
//!
//! The tool is a script that appends to a ledger outside and syncs it. After each death the program is started again
//! until nothing is left to do. Then: every message that was answered with "stored" is there and answered; every call
//! is in exactly one final state; the ledger never holds a call twice; what is said to be completed is in it.
//! `RUNS=50 cargo test --profile proof --features kill-points --test kill` makes a shorter campaign.

// Tests may panic: that is how they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "kill/checks.rs"]
mod checks;
#[path = "kill/life.rs"]
mod life;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use life::{Kill, Life, Scene};

/// Deaths in one campaign.
const RUNS: u64 = 500;
/// Lives lived at the same time.
const TOGETHER: u64 = 3;
/// The named places, and how often each is passed in one life at most.
const PLACES: [(&str, u64); 6] = [
    ("before_append", 14),
    ("after_append", 14),
    ("tool_started", 3),
    ("tool_ended", 3),
    ("model_answered", 3),
    ("chat_loaded", 2),
];

#[test]
fn killed_anywhere_nothing_is_lost_and_nothing_runs_twice() {
    let runs = std::env::var("RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    let span = Life::new(Scene::ApprovedAtOnce, runs).span();
    let next = AtomicU64::new(0);
    let (deaths, interrupted) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|threads| {
        for _ in 0..TOGETHER {
            threads.spawn(|| {
                loop {
                    let run = next.fetch_add(1, Ordering::SeqCst);
                    if run >= runs {
                        return;
                    }
                    let (scene, kill) = plan(run, span);
                    let mut life = Life::new(scene, run);
                    life.live(kill);
                    let found = checks::check(&life).unwrap_or_else(|broken| {
                        panic!("run {run}, {scene:?}, {kill:?}: {broken}")
                    });
                    deaths.fetch_add(life.deaths, Ordering::SeqCst);
                    interrupted.fetch_add(found.interrupted, Ordering::SeqCst);
                }
            });
        }
    });
    let (deaths, interrupted) = (deaths.into_inner(), interrupted.into_inner());
    println!("{runs} runs, {deaths} deaths, {interrupted} calls interrupted");
    // A campaign in which hardly anything dies proves little.
    assert!(deaths * 2 > runs, "only {deaths} deaths in {runs} runs");
}

/// The named places come first, each with every pass in every scene; then random moments.
fn plan(run: u64, span: Duration) -> (Scene, Kill) {
    let scene = match run % 2 {
        0 => Scene::ApprovedAtOnce,
        _ => Scene::ApprovedWhileNothingRuns,
    };
    let mut passes = PLACES
        .iter()
        .flat_map(|(place, passes)| (1..=*passes).map(|pass| Kill::At { place, pass }));
    let kill = passes.nth((run / 2) as usize).unwrap_or_else(|| {
        // Spread over the time such a life takes here, and a little longer: several are lived at once.
        let part = run.wrapping_mul(7_919) % 1_000;
        Kill::After(span.mul_f64(part as f64 / 700.0))
    });
    (scene, kill)
}
