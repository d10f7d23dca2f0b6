//! What a turn costs the server: the real program with its embedded store, a vendor on a loopback port, one client.
//! Prints processor time of the server's process, per turn, as the median over batches; and the same for a request that
//! does nothing, so that a machine's noise can be told from a change.

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

use std::time::Duration;

use serde_json::json;
use stage::House;

const BATCHES: usize = 15;
const TURNS: usize = 200;
/// Turns of one chat: a model is sent what was said before, so a turn costs more the longer its chat is.
const LENGTH: usize = 10;

#[tokio::main]
async fn main() {
    // `cargo test` starts benches to see whether they run.
    let turns = if std::env::args().any(|argument| argument == "--bench") { TURNS } else { 1 };
    let house = House::open().await;
    house.world("lab", &["ada"], json!({"title_model": null})).await;
    let (mut busy, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        let before = processor_time(house.pid());
        for _ in 0..turns.div_ceil(LENGTH) {
            let chat = house.chat("lab").await;
            let mut stream = house.follow(&chat.path("/events"), None).await;
            for _ in 0..LENGTH.min(turns) {
                house.say(&chat, "!say hello there").await;
                stream.until_idle().await;
            }
        }
        busy.push((processor_time(house.pid()) - before) / turns as u32);
        let before = processor_time(house.pid());
        for _ in 0..turns {
            house.get("/healthz").await.is(200);
        }
        idle.push((processor_time(house.pid()) - before) / turns as u32);
    }
    println!("a turn without tools:      {:?} of server time (median)", median(&mut busy));
    println!("a request that does nothing: {:?} of server time (median)", median(&mut idle));
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// What all threads of a process have used so far, in steps of a hundredth of a second: batches are long enough for it.
fn processor_time(pid: u32) -> Duration {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name of the program may hold anything; what follows it are numbers.
    let numbers = text.rsplit_once(')').unwrap().1;
    let ticks: u64 =
        numbers.split_whitespace().skip(11).take(2).map(|n| n.parse::<u64>().unwrap()).sum();
    Duration::from_millis(10 * ticks)
}
