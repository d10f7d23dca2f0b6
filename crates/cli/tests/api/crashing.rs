//! The server is killed under load, again and again: clients resume, and nothing that was accepted is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::RwLock;

use crate::following::Event;
use crate::stage::{Chat, House};

const WRITERS: usize = 4;
const MESSAGES: usize = 12;
const KILLS: usize = 4;

/// A house that may be down: whoever finds it so tries again.
type Shared = Arc<RwLock<House>>;

/// Posts one message until it is accepted. The key makes a repetition harmless.
async fn post(house: &Shared, chat: &Chat, text: &str) -> String {
    loop {
        let house = house.read().await;
        let request = house
            .request(Method::POST, &chat.path("/messages"))
            .header("content-type", "application/json")
            .header("idempotency-key", text)
            .body(json!({"content": format!("!say answer to {text}")}).to_string());
        let Ok(response) = request.send().await else { continue };
        let status = response.status().as_u16();
        let Ok(body) = response.text().await else { continue };
        match status {
            202 => {
                let body: Value = serde_json::from_str(&body).unwrap();
                return body["message"]["id"].as_str().unwrap().to_owned();
            }
            429 | 503 => tokio::task::yield_now().await,
            other => panic!("{other}: {body}"),
        }
    }
}

/// Follows a chat over every crash until told to stop and everything was seen.
async fn follow(house: Shared, chat: Chat, done: Arc<AtomicBool>) -> Vec<Event> {
    let mut seen: Vec<Event> = Vec::new();
    loop {
        let after = seen.last().and_then(|event| event.id).unwrap_or(0);
        let request = {
            let house = house.read().await;
            let request = house.request(Method::GET, &chat.path("/events"));
            request.header("accept", "text/event-stream").header("last-event-id", after)
        };
        let Ok(response) = request.send().await else { continue };
        let mut stream = crate::following::Stream::reading(response);
        loop {
            let next = tokio::time::timeout(Duration::from_millis(500), stream.next()).await;
            match next {
                Ok(Some(event)) if event.id.is_some() => seen.push(event),
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) if done.load(Ordering::Acquire) => return seen,
                Err(_) => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_accepted_is_answered_and_followers_miss_nothing() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let house: Shared = Arc::new(RwLock::new(house));
    let done = Arc::new(AtomicBool::new(false));
    let follower = tokio::spawn(follow(Arc::clone(&house), chat.clone(), Arc::clone(&done)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (house, chat) = (Arc::clone(&house), chat.clone());
            tokio::spawn(async move {
                let mut accepted = Vec::new();
                for number in 0..MESSAGES {
                    let text = format!("{writer}-{number}");
                    accepted.push((text.clone(), post(&house, &chat, &text).await));
                }
                accepted
            })
        })
        .collect();
    for _ in 0..KILLS {
        // Let it do some work: as many events as a few messages make.
        let mut stream = {
            let house = house.read().await;
            house.follow(&chat.path("/events"), None).await
        };
        for _ in 0..10 {
            if tokio::time::timeout(Duration::from_secs(2), stream.next()).await.is_err() {
                break;
            }
        }
        let mut house = house.write().await;
        house.kill().await;
        house.start().await;
    }
    let mut accepted: BTreeMap<String, String> = BTreeMap::new();
    for writer in writers {
        accepted.extend(writer.await.unwrap());
    }
    let house_now = house.read().await;
    house_now.settled(&chat).await;
    let messages = house_now.messages(&chat).await;
    for (text, id) in &accepted {
        let posted: Vec<&Value> = messages
            .iter()
            .filter(|message| message["content"] == format!("!say answer to {text}"))
            .collect();
        assert_eq!(posted.len(), 1, "{text} is there once");
        assert_eq!(posted[0]["id"], id.as_str());
    }
    // Messages that arrive together are answered together, by the last one's words.
    let last = messages.iter().rfind(|message| message["role"] == "assistant").unwrap();
    let newest = messages.iter().rfind(|message| message["role"] == "user").unwrap();
    let expected = newest["content"].as_str().unwrap().trim_start_matches("!say ");
    assert_eq!(last["content"], expected);

    drop(house_now);
    done.store(true, Ordering::Release);
    let seen: Vec<Value> = follower.await.unwrap().into_iter().map(|event| event.data).collect();
    // Read when nothing comes any more: a chat gets its title after its turns.
    let all = house.read().await.list(&chat.path("/events")).await;
    assert_eq!(seen.len(), all.len());
    assert_eq!(seen, all);
}
