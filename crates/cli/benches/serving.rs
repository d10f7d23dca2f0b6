//! What a turn costs the server: the real program with its embedded store, a vendor on a loopback port, one client.
//! Prints processor time of the server's process, per turn, as the median over batches; and the same for a request that
//! does nothing, so that a machine's noise can be told from a change. A turn is all of it: the message that is accepted, the
//! model's reply as it streams, both made durable, every event on its way to a follower. An agent that has tools sends what
//! they are to the model with every call, and the vendor sends it back: that is measured on its own.

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

use serde_json::{Value, json};
use stage::House;
use vendor::MODEL;

const BATCHES: usize = 11;
/// Chats of one batch, and turns of each that are measured.
const CHATS: usize = 40;
/// A model is sent what was said before, so a turn costs more the longer its chat is.
const TURNS: usize = 9;

#[tokio::main]
async fn main() {
    // `cargo test` starts benches to see whether they run.
    let chats = if std::env::args().any(|argument| argument == "--bench") { CHATS } else { 1 };
    let house = House::open().await;
    let agent = |tools: Value| json!({"agents": [{"id": "ada", "name": "ada", "model": MODEL, "tools": tools}]});
    house.world("talk", &["ada"], agent(json!([]))).await;
    house.world("work", &["ada"], json!({})).await;
    let (mut without, mut with, mut idle) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        without.push(a_turn(&house, "talk", chats).await);
        with.push(a_turn(&house, "work", chats).await);
        let requests = chats * TURNS;
        let before = processor_time(house.pid());
        for _ in 0..requests {
            house.get("/healthz").await.is(200);
        }
        idle.push((processor_time(house.pid()) - before) / requests as u32);
    }
    let tell = |what: &str, times: &mut [Duration]| {
        println!("{what:<34} {:?} of server time (median)", median(times));
    };
    tell("a turn without tools:", &mut without);
    tell("a turn that could use tools:", &mut with);
    tell("a request that does nothing:", &mut idle);
}

/// What one turn took in chats that are open, followed and have their title.
async fn a_turn(house: &House, world: &str, chats: usize) -> Duration {
    let mut open = Vec::new();
    for _ in 0..chats {
        let chat = house.chat(world).await;
        let mut stream = house.follow(&chat.path("/events"), None).await;
        house.say(&chat, "!say hello there").await;
        stream.until_idle().await;
        open.push((chat, stream));
    }
    let before = processor_time(house.pid());
    for _ in 0..TURNS {
        for (chat, stream) in &mut open {
            house.say(chat, "!say hello there").await;
            stream.until_idle().await;
        }
    }
    (processor_time(house.pid()) - before) / (chats * TURNS) as u32
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
