//! What it costs to start the program: to say its version, and to send a message through a running server.
//! Prints processor time of the program's own process as a median; and the same for `true`, which does nothing, so that a
//! machine's noise can be told from a change.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

#[path = "../tests/api/following.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod following;
#[path = "../tests/api/stage.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod stage;
#[path = "../tests/api/vendor.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod vendor;

use std::process::Stdio;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::json;
use stage::House;
use tokio::process::Command;

const RUNS: usize = 51;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    // `cargo test` starts benches to see whether they run.
    let runs = if std::env::args().any(|argument| argument == "--bench") { RUNS } else { 1 };
    let house = House::open().await;
    house.world("lab", &["ada"], json!({})).await;
    let send = ["send", "-w", "lab", "--new", "!say hello there"];
    for (what, make) in [
        ("true", &(|| Command::new("true")) as &dyn Fn() -> Command),
        ("agent-world --version", &|| house.command(&["--version"])),
        ("agent-world send, beside a server", &|| house.command(&send)),
    ] {
        let mut times = Vec::new();
        for _ in 0..runs {
            times.push(cost(make()).await);
        }
        times.sort();
        println!("{what:<36} {:?} of processor time (median)", times[times.len() / 2]);
    }
}

/// What a program used from its start to its end. The server is a child of this process as well, and has not ended.
async fn cost(mut command: Command) -> Duration {
    let before = of_children();
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).status().await.unwrap();
    assert!(ended.success(), "{command:?}: {ended}");
    of_children() - before
}

fn of_children() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).unwrap();
    let microseconds = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(microseconds.try_into().unwrap())
}
