//! Readers that lose their connection all the time miss nothing and hear nothing twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_world_runtime::NewMessage;
use agent_world_runtime::llm::scripted::Scripted as Model;
use agent_world_runtime::tools::Tool;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tokio::sync::Semaphore;

use super::reader::{Reader, numbers};
use super::stage::{Backend, Stage, doing, free, perform};

const RECONNECTIONS: usize = 200;

/// Connects, reads a little, is cut off; until it has been so often and then to the end.
async fn connect_again_and_again(
    stage: &Stage,
    topic: &str,
    seed: u64,
    work: &Semaphore,
    quiet: impl AsyncFnOnce(),
) -> Vec<u64> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut seen: Vec<u64> = Vec::new();
    for turn in 0..RECONNECTIONS {
        work.add_permits(1);
        let after = seen.last().copied();
        // The header wins over the address, and either is enough.
        let mut reader = match (turn % 3, after) {
            (0, Some(after)) => {
                Reader::open(&stage.host, &format!("{topic}?after={after}"), None).await
            }
            (1, after) => {
                Reader::open(&stage.host, &format!("{topic}?after=1"), after.or(Some(0))).await
            }
            (_, after) => Reader::open(&stage.host, topic, after).await,
        };
        let frames = random.random_range(0..6);
        for _ in 0..frames {
            seen.extend(reader.next().await.unwrap().id);
        }
    }
    quiet().await;
    let last = *numbers(&stage.pages(topic, 1000).await).last().unwrap();
    if seen.last() != Some(&last) {
        let mut reader = Reader::open(&stage.host, topic, seen.last().copied()).await;
        seen.extend(reader.up_to(last).await.iter().filter_map(|frame| frame.id));
    }
    seen
}

async fn everything_once_and_in_order(backend: Backend) {
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(doing(free("look")))];
    let stage = Stage::open(backend, &["ada"], tools).await;
    let other =
        stage.engine.create_chat(&stage.world, Some("Other".to_owned()), "eve").await.unwrap().id;
    let busy = AtomicBool::new(true);
    let enough = Semaphore::new(1);
    let work = async {
        while busy.load(Ordering::Relaxed) {
            // Readers that are cut off keep the work going, so that there is always something new and never too much.
            enough.acquire().await.unwrap().forget();
            keep_busy(&stage.model);
            stage.say("go").await;
            stage.engine.post(&other, NewMessage::human("go")).await.unwrap();
            stage.idle().await;
        }
    };
    let topics = stage.topics();
    let done = tokio::sync::Barrier::new(topics.len() + 1);
    let quiet = tokio::sync::Barrier::new(topics.len() + 1);
    let read = |index: usize| {
        let (stage, topics, done, quiet, enough) = (&stage, &topics, &done, &quiet, &enough);
        async move {
            let wait = async || {
                done.wait().await;
                quiet.wait().await;
            };
            connect_again_and_again(stage, &topics[index], index as u64, enough, wait).await
        }
    };
    let settle = async {
        let stop = async {
            done.wait().await;
            busy.store(false, Ordering::Relaxed);
            enough.add_permits(1);
        };
        tokio::join!(work, stop);
        quiet.wait().await;
    };
    let (chat, world, all, ()) = tokio::join!(read(0), read(1), read(2), settle);
    for (topic, seen) in topics.iter().zip([chat, world, all]) {
        assert_eq!(seen, numbers(&stage.pages(topic, 1000).await), "{topic}");
        assert!(seen.len() > RECONNECTIONS, "{topic}: {}", seen.len());
    }
}

fn keep_busy(model: &Model) {
    let call = |what: &str| ("look", json!({"what": what}));
    model.push(
        "ada",
        agent_world_runtime::llm::scripted::Answer::calls([call("here"), call("there")]),
    );
}

#[test]
fn whoever_reconnects_at_random_gets_every_event_once_and_in_order_in_memory() {
    perform(everything_once_and_in_order(Backend::Memory));
}

#[test]
fn whoever_reconnects_at_random_gets_every_event_once_and_in_order_in_a_file() {
    perform(everything_once_and_in_order(Backend::Sqlite));
}
