//! The real runtime on a simulated store, with scripted models and tools in virtual time, under seeded faults.
//!
//! Appends fail, are torn from their answers, or kill the process; answers come twice and race each other; the process
//! dies at random and at every append boundary. Afterwards the promises are checked against the log and against what
//! the tools really did. A failure prints its seed: `SEED=17 cargo test --release --test simulation` repeats it alone.

// Tests may panic: that is how they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "simulation/checks.rs"]
mod checks;
#[path = "simulation/node.rs"]
mod node;
#[path = "simulation/outside.rs"]
mod outside;
#[path = "simulation/people.rs"]
mod people;
#[path = "simulation/random.rs"]
mod random;
#[path = "simulation/run.rs"]
mod run;

use agent_world_store::memory::faults::Sabotage;
use run::{Death, Plan, Report, run};

/// Seeds with random faults. An unoptimised build runs fewer.
const SEEDS: u64 = if cfg!(debug_assertions) { 60 } else { 2_000 };
/// Seeds whose every append boundary is a place to die.
const BOUNDARY_SEEDS: u64 = if cfg!(debug_assertions) { 1 } else { 12 };

#[test]
fn every_promise_holds_under_random_faults_and_crashes() {
    if let Ok(seed) = std::env::var("SEED") {
        let seed = seed.parse().expect("SEED is a number");
        println!("{:#?}", must_hold(Plan::random(seed)));
        return;
    }
    let mut sum = Report::default();
    for seed in 0..SEEDS {
        sum += must_hold(Plan::random(seed));
    }
    println!("{SEEDS} seeds: {sum:?}");
    // A simulation in which nothing happens proves nothing.
    assert!(sum.crashes > SEEDS && sum.tools_run > SEEDS && sum.decisions > SEEDS, "{sum:?}");
}

#[test]
fn a_crash_at_every_append_boundary_loses_nothing_and_repeats_nothing() {
    let mut runs = 0;
    for seed in 0..BOUNDARY_SEEDS {
        let calm = must_hold(Plan::calm(seed));
        for append in 1..=calm.appends {
            for death in [Death::BeforeCommit, Death::AfterCommit] {
                must_hold(Plan { die_at: Some((append, death)), ..Plan::calm(seed) });
                runs += 1;
            }
        }
    }
    println!("{runs} crashes at append boundaries");
}

#[test]
fn the_same_seed_gives_the_same_history() {
    for seed in 0..5 {
        let (first, second) = (must_hold(Plan::random(seed)), must_hold(Plan::random(seed)));
        assert_eq!(first.fingerprint, second.fingerprint, "seed {seed} is not deterministic");
    }
}

#[test]
fn a_store_that_does_not_check_heads_is_noticed() {
    let sabotage = Sabotage { skip_head_check: true, ..Sabotage::default() };
    let noticed = (0..200).find(|seed| {
        let plan = Plan { sabotage, ..Plan::random(*seed) };
        run(plan).is_err()
    });
    println!("noticed with seed {noticed:?}");
    assert!(noticed.is_some(), "200 seeds and nobody noticed that heads are not checked");
}

fn must_hold(plan: Plan) -> Report {
    let described = format!("{plan:?}");
    run(plan).unwrap_or_else(|broken| panic!("{described}\n{broken}"))
}
