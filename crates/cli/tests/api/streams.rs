//! The event stream: what has an id, what has none, and how a reader comes back.

use std::time::Duration;

use serde_json::{Value, json};

use crate::asking::{script, text};
use crate::following::{Event, Stream};
use crate::stage::House;

fn stored(events: &[Event]) -> Vec<Value> {
    events.iter().filter(|event| event.id.is_some()).map(|event| event.data.clone()).collect()
}

#[tokio::test]
async fn pieces_are_told_live_and_everything_else_can_be_read_again() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let mut live = house.follow(&chat.path("/events"), Some(0)).await;
    house.say(&chat, "!words 40").await;
    let seen = live.until_idle().await;
    let phase = |event: &Event| match event.kind.as_str() {
        "stream" => event.data["data"]["phase"].as_str().map(str::to_owned),
        _ => None,
    };
    let phases: Vec<String> = seen.iter().filter_map(phase).collect();
    assert_eq!(
        (phases.first().unwrap().as_str(), phases.last().unwrap().as_str()),
        ("start", "end")
    );
    let said = seen.iter().rfind(|event| event.kind == "message").unwrap();
    let mut told = String::new();
    for event in &seen {
        let is_piece = phase(event).as_deref() == Some("chunk");
        assert_eq!(event.id.is_none(), is_piece, "only pieces have no id: {event:?}");
        if is_piece {
            assert_eq!(event.data["data"]["message_id"], said.data["data"]["id"]);
            assert_eq!(event.data["data"]["agent_id"], "ada");
            told.push_str(event.data["data"]["delta"].as_str().unwrap_or_default());
        } else {
            assert_eq!(event.data["seq"].as_u64(), event.id);
            assert_eq!(event.data["type"], event.kind.as_str());
        }
    }
    assert_eq!(told, text(&said.data["data"], "content"), "the pieces are the message");
    let usage = seen.iter().find(|event| phase(event).as_deref() == Some("end")).unwrap();
    assert_eq!(usage.data["data"]["usage"]["total_tokens"], 15);

    // From every place on, the rest comes once and in order, as pages and as a stream.
    let all = stored(&seen);
    house.settled(&chat).await;
    for (index, event) in all.iter().enumerate() {
        let seq = event["seq"].as_u64().unwrap();
        let page = house.list(&chat.path(&format!("/events?after={seq}"))).await;
        assert_eq!(page[..all.len() - index - 1], all[index + 1..], "after {seq}");
        let mut stream = house.follow(&chat.path("/events"), Some(seq)).await;
        for expected in &all[index + 1..] {
            assert_eq!(stream.next_stored().await.data, *expected);
        }
    }
    // The header says more than the query: a browser that reconnects sends both.
    let last = all.last().unwrap()["seq"].as_u64().unwrap();
    let mut stream = house.follow(&chat.path("/events?after=0"), Some(last)).await;
    house.say(&chat, "more").await;
    assert!(stream.next_stored().await.id.unwrap() > last);
}

#[tokio::test]
async fn a_world_and_everything_can_be_followed_too_and_types_can_be_chosen() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let den = house.world("den", &["ada"], json!({})).await;
    let mut world = house.follow("/api/worlds/lab/events", Some(0)).await;
    let mut all = house.follow("/api/events", Some(0)).await;
    let mut approvals = house.follow("/api/events?types=approval,crud", Some(0)).await;
    let second = house.another_chat(&chat).await;
    house.say(&den, "elsewhere").await;
    house.say(&second, &script("echo hi")).await;
    let is_request = |event: &Event| event.kind == "approval";
    let of_world = world.until(is_request).await;
    assert!(of_world.iter().all(|event| event.data["world_id"] == "lab"), "{of_world:#?}");
    let chats: std::collections::BTreeSet<&str> =
        of_world.iter().filter_map(|event| event.data["chat_id"].as_str()).collect();
    assert!(chats.contains(second.id.as_str()) && chats.contains(chat.id.as_str()), "{chats:?}");
    let of_all = all.until(is_request).await;
    assert!(of_all.iter().any(|event| event.data["world_id"] == "den"));
    let chosen = approvals.until(is_request).await;
    assert!(chosen.iter().all(|event| ["approval", "crud"].contains(&event.kind.as_str())));
    // An event has the same number wherever it is read.
    let request = of_world.last().unwrap();
    assert_eq!((request, request), (of_all.last().unwrap(), chosen.last().unwrap()));
    // Changes of settings are told, without what was set.
    house.patch("/api/worlds/lab", json!({"variables": {"pet": "cat"}})).await.is(200);
    let told = approvals
        .until(|event| {
            event.kind == "crud"
                && event.data["data"]["action"] == "updated"
                && event.data["data"]["entity"] == "world"
        })
        .await;
    assert!(!told.last().unwrap().data.to_string().contains("cat"));
    // A chat that is deleted ends its stream.
    let mut ending = house.follow(&second.path("/events"), Some(0)).await;
    house.delete(&second.path("")).await.is(204);
    ends(&mut ending).await;
}

async fn ends(stream: &mut Stream) {
    let ended = tokio::time::timeout(Duration::from_secs(20), async {
        while stream.next().await.is_some() {}
    });
    ended.await.expect("the stream ends");
}
