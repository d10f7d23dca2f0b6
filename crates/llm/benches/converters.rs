//! What a converter costs beside serde's own work on the same bytes: reading a long stream, building a request for a
//! long history, and one huge event.
//!
//! Run it with `cargo bench -p agent-world-llm`. Absolute numbers are the machine's; what is required is stated beside
//! each line.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a benchmark fails by panicking"
)]

#[path = "converters/histories.rs"]
mod histories;
#[path = "converters/streams.rs"]
mod streams;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::chat::{self, Chat};
use agent_world_llm::dialect::{Asked, Caps, Dialect, StreamDecoder};
use agent_world_llm::frames::Framing;
use agent_world_llm::google::Google;
use agent_world_llm::ollama::Ollama;
use agent_world_llm::openai::{Flavour, Responses};
use agent_world_llm::{Capabilities, Event};
use bytes::Bytes;

/// Pieces of text in a stream.
const CHUNKS: usize = 2_000;

fn main() {
    let vendors: Vec<(&str, Arc<dyn Dialect>)> = vec![
        ("openai", Arc::new(Responses::new(Flavour::OpenAi))),
        ("anthropic", Arc::new(Anthropic)),
        ("google", Arc::new(Google)),
        ("chat", Arc::new(Chat::new(chat::Flavour::GENERIC))),
        ("ollama", Arc::new(Ollama)),
    ];
    println!("a stream of {CHUNKS} chunks, for each chunk (required: at most 3 µs):");
    for (name, dialect) in &vendors {
        stream(name, &**dialect);
    }
    println!(
        "one event of 2.5, 5 and 10 MB in pieces of 8 KiB (required: linear; every doubling about doubles it):"
    );
    for (name, dialect) in &vendors {
        huge(name, &**dialect);
    }
    println!("a request for 1,000 messages against one for 100 (required: about 10, not 100):");
    for (name, dialect) in &vendors {
        history(name, &**dialect);
    }
}

fn asked(vendor: &str) -> Asked {
    Asked {
        vendor: vendor.into(),
        model: "any".to_owned(),
        capabilities: Capabilities::default(),
        stream: true,
    }
}

fn stream(name: &str, dialect: &dyn Dialect) {
    let frames = streams::of(name, CHUNKS);
    let chunks: Vec<Bytes> =
        frames.iter().map(|frame| Bytes::from(streams::framed(dialect.framing(), frame))).collect();
    let ours = best(|| {
        let mut decoder = StreamDecoder::new(dialect, asked(name), Caps::default());
        let mut told = 0;
        for chunk in &chunks {
            told += decoder.push(chunk).unwrap().len();
        }
        let end = decoder.end().unwrap_or_default();
        told += end.len();
        assert!(told > CHUNKS, "{name} told {told} events");
    });
    let serde = best(|| {
        for frame in &frames {
            black_box(serde_json::from_str::<serde_json::Value>(frame).unwrap());
        }
    });
    let each = |time: Duration| time.as_secs_f64() * 1e6 / CHUNKS as f64;
    println!(
        "  {name:<10} {:>6.2} µs, of which serde alone takes {:>6.2} µs: {:.1} times",
        each(ours),
        each(serde),
        each(ours) / each(serde)
    );
}

fn huge(name: &str, dialect: &dyn Dialect) {
    let time = |size: usize| {
        let mut bytes = Vec::new();
        for frame in streams::with_text(name, &"x".repeat(size)) {
            bytes.extend_from_slice(&streams::framed(dialect.framing(), &frame));
        }
        let chunks: Vec<Bytes> = bytes.chunks(8 << 10).map(Bytes::copy_from_slice).collect();
        best(|| {
            let mut decoder = StreamDecoder::new(dialect, asked(name), Caps::default());
            let mut last = None;
            for chunk in &chunks {
                last = decoder.push(chunk).unwrap().pop().or(last);
            }
            last = decoder.end().unwrap_or_default().pop().or(last);
            let Some(Event::Completed(response)) = last else { panic!("{name} has no end") };
            assert_eq!(response.output_text().len(), size, "{name}");
        })
    };
    let times = [5 << 19, 5 << 20, 10 << 20].map(time);
    let [small, middle, large] = times.map(|time| time.as_secs_f64() * 1e3);
    let frames = streams::with_text(name, &"x".repeat(10 << 20));
    let serde = best(|| {
        for frame in &frames {
            black_box(serde_json::from_str::<serde_json::Value>(frame).unwrap());
        }
    });
    println!(
        "  {name:<10} {small:>6.1} ms, {middle:>6.1} ms, {large:>6.1} ms: {:.1} and {:.1} times; serde alone takes {:.1} ms",
        middle / small,
        large / middle,
        serde.as_secs_f64() * 1e3,
    );
}

fn history(name: &str, dialect: &dyn Dialect) {
    let time = |messages: usize| {
        let request = histories::of(messages);
        let mut size = 0;
        let ours = best(|| size = dialect.encode(&request, &asked(name)).unwrap().body.len());
        let serde = best(|| {
            black_box(serde_json::to_vec(&request).unwrap());
        });
        (ours, serde, size)
    };
    let (short, _, _) = time(100);
    let (long, serde, size) = time(1_000);
    println!(
        "  {name:<10} {:>6.0} µs, {:>6.0} µs: {:.1} times; serde alone takes {:.0} µs for the items ({} kB sent)",
        short.as_secs_f64() * 1e6,
        long.as_secs_f64() * 1e6,
        long.as_secs_f64() / short.as_secs_f64(),
        serde.as_secs_f64() * 1e6,
        size / 1_000,
    );
}

/// The best of several runs: what disturbs a machine only ever adds.
fn best(mut work: impl FnMut()) -> Duration {
    let quick = std::env::args().any(|word| word == "--quick" || word == "--test");
    let rounds = if quick { 2 } else { 25 };
    let once = || {
        let begin = Instant::now();
        work();
        begin.elapsed()
    };
    std::iter::repeat_with(once).take(rounds).min().unwrap()
}

/// How frames are divided, for `streams`.
pub(crate) fn divided(framing: Framing, frame: &str) -> Vec<u8> {
    match framing {
        Framing::Sse => format!("data: {frame}\n\n").into_bytes(),
        Framing::Lines => format!("{frame}\n").into_bytes(),
    }
}
