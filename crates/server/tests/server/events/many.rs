//! Very many readers, and readers that do not read.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use futures::FutureExt;
use tower::ServiceExt;

use super::reader::{Reader, numbers};
use super::stage::{Backend, Stage, perform};

const READERS: usize = 500;

/// A reader of the chat without a connection: what it does not take stays with the server.
async fn follow(router: &Router, stage: &Stage, after: u64, query: &str) -> Reader {
    let request = Request::get(format!("{}{query}", stage.topic()))
        .header("Accept", "text/event-stream")
        .header("Last-Event-ID", after)
        .body(Body::empty())
        .unwrap();
    let response = router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    Reader::of_router(response.into_body())
}

/// What the process holds in memory, in bytes, where that can be seen.
fn resident() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

async fn newest(stage: &Stage) -> u64 {
    *numbers(&stage.pages(&stage.topic(), 1000).await).last().unwrap()
}

#[test]
fn five_hundred_readers_get_a_thousand_events_each() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let router = stage.server.router();
        let start = newest(&stage).await;
        let mut readers = Vec::new();
        for number in 0..READERS {
            let query = if number % 2 == 0 { "" } else { "?render=html" };
            let mut reader = follow(&router, &stage, start, query).await;
            assert_eq!(reader.next().await.unwrap().other, "retry: 1000");
            readers.push(tokio::spawn(async move {
                let mut read = Vec::new();
                while read.len() < 1_000 {
                    read.extend(reader.event().await.id);
                }
                read
            }));
        }
        // Each message of a world without agents is two events of the log and three for clients.
        for number in 0..350 {
            stage.say(&format!("message {number}")).await;
        }
        let pages = numbers(&stage.pages(&stage.topic(), 1000).await);
        let expected: Vec<u64> =
            pages.into_iter().filter(|number| *number > start).take(1_000).collect();
        assert_eq!(expected.len(), 1_000);
        for reader in readers {
            assert_eq!(reader.await.unwrap(), expected);
        }
    });
}

#[test]
fn readers_that_do_not_read_are_cut_off_hold_no_memory_and_can_resume() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let router = stage.server.router();
        let start = newest(&stage).await;
        let mut readers = Vec::new();
        for _ in 0..READERS {
            readers.push(follow(&router, &stage, start, "").await);
        }
        // Each has nothing left to read in the log: it is live. Then it does not read any more.
        for reader in &mut readers {
            assert_eq!(reader.next().await.unwrap().other, "retry: 1000");
            assert_eq!(reader.next().now_or_never(), None);
        }
        stage.say("hello").await;
        for reader in &mut readers {
            reader.up_to(start + 1).await;
        }
        let before = resident();
        let large = "x".repeat(64 * 1024);
        for _ in 0..200 {
            stage.say(&large).await;
        }
        // The store has 13 MB of it, the cache of frames 16. Copies for each reader would be gigabytes.
        if let (Some(before), Some(after)) = (before, resident()) {
            let grown = after.saturating_sub(before) / (1024 * 1024);
            assert!(grown < 200, "{grown} MB for {READERS} readers");
        }
        let expected: Vec<u64> = numbers(&stage.pages(&stage.topic(), 1000).await)
            .into_iter()
            .filter(|n| *n > start)
            .collect();
        for mut reader in readers.into_iter().take(5) {
            let rest = reader.rest().await;
            let (error, told) = rest.split_last().unwrap();
            assert_eq!((error.event.as_str(), error.id), ("error", None));
            assert_eq!(error.json()["code"], "slow_reader");
            let known = told.iter().filter_map(|frame| frame.id).next_back();
            assert!(known < expected.last().copied());
            // What it knows by now counts, wherever it was cut off.
            let known = known.unwrap_or(start);
            let mut again = follow(&router, &stage, known, "").await;
            let read = again.up_to(*expected.last().unwrap()).await;
            let read: Vec<u64> = read.iter().filter_map(|frame| frame.id).collect();
            let missing: Vec<u64> = expected.iter().copied().filter(|n| *n > known).collect();
            assert_eq!(read, missing);
        }
    });
}

#[test]
fn a_reader_that_catches_up_slowly_is_not_cut_off() {
    perform(async {
        let stage = Stage::open(Backend::Memory, &[], Vec::new()).await;
        let router = stage.server.router();
        let start = newest(&stage).await;
        // Joined, and nothing read of the log yet.
        let mut reader = follow(&router, &stage, start, "").await;
        for number in 0..1_500 {
            stage.say(&format!("message {number}")).await;
        }
        let pages = stage.pages(&stage.topic(), 1000).await;
        let expected: Vec<u64> = numbers(&pages).into_iter().filter(|n| *n > start).collect();
        assert!(expected.len() > 4_000, "more than a mailbox holds");
        let read = reader.up_to(*expected.last().unwrap()).await;
        let read: Vec<u64> = read.iter().filter_map(|frame| frame.id).collect();
        assert_eq!(read, expected);
        // And it is live afterwards.
        stage.say("one more").await;
        assert_eq!(reader.event().await.json()["data"]["content"], "one more");
    });
}
