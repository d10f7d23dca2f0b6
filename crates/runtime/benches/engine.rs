//! How fast the engine is, as ratios within one run: turns against a bare floor, folding, long chats, waiting chats.
//!
//! Run it with `cargo bench -p agent-world-runtime`; `-- --quick` takes a shorter look. Absolute numbers are the
//! machine's; what is required is stated beside each ratio.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

#[path = "engine/bare.rs"]
mod bare;
#[path = "engine/capture.rs"]
mod capture;
#[path = "engine/cast.rs"]
mod cast;
#[path = "engine/folding.rs"]
mod folding;
#[path = "engine/length.rs"]
mod length;
#[path = "engine/turns.rs"]
mod turns;
#[path = "engine/waiting.rs"]
mod waiting;

use std::time::Duration;

use tokio::runtime::Runtime;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    Full,
    Quick,
}

impl Effort {
    fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Effort::Full => full,
            Effort::Quick => quick,
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    // The memory of a process that has only reopened a store can be seen in one that did nothing else.
    if let Some(path) = arguments.iter().skip_while(|word| *word != waiting::REOPEN).nth(1) {
        waiting::reopen(path.as_ref());
        return;
    }
    let quick = arguments.iter().any(|word| word == "--quick" || word == "--test");
    let effort = if quick { Effort::Quick } else { Effort::Full };
    turns::measure(effort);
    folding::measure(effort);
    length::measure(effort);
    waiting::measure(effort);
}

/// Two threads, as on a small machine.
fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// One line of the table.
fn report(what: &str, value: &str, requirement: Option<(&str, bool)>) {
    let verdict = match requirement {
        Some((wanted, true)) => format!("{wanted}: yes"),
        Some((wanted, false)) => format!("{wanted}: NO"),
        None => String::new(),
    };
    println!("{what:<54} {value:>14}  {verdict}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
