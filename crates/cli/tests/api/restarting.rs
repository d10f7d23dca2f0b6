//! What a crash, a restart and a time without a server leave as it was.

use reqwest::Method;
use serde_json::{Value, json};

use crate::asking::{said, script, text, trusted, turns};
use crate::following::Event;
use crate::stage::{Chat, House};

async fn cli(house: &House, arguments: &[&str]) -> String {
    let output = house.command(arguments).output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}{complaint}");
    said
}

async fn ran(house: &House) -> usize {
    let world = house.get("/api/worlds/lab").await.is(200).json();
    let file = std::path::Path::new(text(&world, "working_directory")).join("ran");
    std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
}

#[tokio::test]
async fn requests_keep_their_ids_over_a_crash_and_a_decision_without_a_server_counts() {
    let mut house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob", "cleo"], json!({})).await;
    for agent in ["ada", "bob", "cleo"] {
        house
            .say_and_settle(
                &chat,
                &format!("@{agent} {}", script(&format!("echo {agent} | tee -a ran"))),
            )
            .await;
    }
    let before = house.waiting_in(&chat).await;
    assert_eq!(before.len(), 3);
    house.kill().await;
    let id = |index: usize| text(&before[index], "id").to_owned();
    cli(&house, &["approvals", "approve", &id(0)]).await;
    cli(&house, &["approvals", "deny", &id(1), "--reason", "said at night"]).await;
    house.start().await;
    house.settled(&chat).await;
    let left = house.waiting_in(&chat).await;
    assert_eq!(left, [before[2].clone()], "as it was, and nothing but it");
    for (index, state) in [(0, "approved"), (1, "denied")] {
        let shown = house.approval(&before[index]).await;
        assert_eq!(
            (text(&shown, "state"), text(&shown, "decided_by")),
            (state, "tester"),
            "{shown:#}"
        );
    }
    let calls = house.calls(&chat).await;
    let states: Vec<&str> = calls.iter().map(|call| text(call, "state")).collect();
    assert_eq!(states, ["completed", "denied", "awaiting_approval"]);
    assert_eq!(ran(&house).await, 1);
    let messages = house.messages(&chat).await;
    let words = said(&messages);
    let (_, told) = words.iter().find(|(sender, _)| *sender == "bob").expect("bob's word");
    assert!(told.contains("denied by the user: said at night"), "{told}");

    house.kill().await;
    house.start().await;
    let decided = house.decide(&left[0], json!({"decision": "approve"})).await.is(200).json();
    assert_eq!(decided["id"], before[2]["id"]);
    house.settled(&chat).await;
    assert_eq!(ran(&house).await, 2, "what ran before the crash does not run again");
    assert_eq!(house.decide(&before[0], json!({"decision": "deny"})).await.status, 409);
    // The same command beside a running server goes through it.
    house.say_and_settle(&chat, &format!("@ada {}", script("echo more >> ran"))).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    cli(&house, &["approvals", "approve", text(&waiting, "id")]).await;
    house.settled(&chat).await;
    assert_eq!(ran(&house).await, 3);
    cli(&house, &["verify"]).await;
}

#[tokio::test]
async fn what_ran_when_the_server_died_is_interrupted_and_what_was_asked_is_asked_again() {
    let mut house = House::open().await;
    let chat = house.world_of("lab", &["ada", "bob"], trusted()).await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    house.say(&chat, &format!("@ada {}", script("echo begun >> ran; sleep 3600"))).await;
    stream.until(|event| event.kind == "tool" && event.data["data"]["state"] == "executing").await;
    while ran(&house).await == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    house.say(&chat, "@bob !half middle\n!words 30").await;
    stream.until(|event| event.kind == "stream" && event.data["data"]["phase"] == "chunk").await;
    let asked_before = turns(&house).len();
    house.kill().await;
    house.vendor.release("middle");
    house.start().await;
    house.settled(&chat).await;
    let call = house.last_call(&chat).await;
    assert_eq!(
        (text(&call, "state"), &call["is_error"]),
        ("interrupted", &json!(true)),
        "{call:#}"
    );
    assert_eq!(ran(&house).await, 1, "it is not run again by itself");
    let messages = house.messages(&chat).await;
    let of = |agent: &str| -> Vec<&str> {
        let spoken = messages
            .iter()
            .filter(|message| message["sender"] == agent && message["role"] == "assistant");
        spoken.map(|message| text(message, "content")).filter(|text| !text.is_empty()).collect()
    };
    assert_eq!(of("ada").len(), 1, "{messages:#?}");
    assert!(of("ada")[0].contains("may or may not have taken effect"), "{:?}", of("ada"));
    assert_eq!(of("bob").len(), 1);
    assert!(of("bob")[0].ends_with("word29"), "whole, and once: {:?}", of("bob"));
    assert_eq!(turns(&house).len(), asked_before + 2, "bob's reply again, ada's with the result");
}

#[tokio::test]
async fn the_server_ends_in_order_and_streams_go_on_behind_the_restart() {
    let mut house = House::open().await;
    let chat: Chat = house.world("lab", &["ada"], json!({})).await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    house.say(&chat, "!say one").await;
    let mut seen: Vec<Event> = stream.until_idle().await;
    seen.retain(|event| event.id.is_some());
    let request = house
        .request(Method::POST, &chat.path("/messages"))
        .header("content-type", "application/json")
        .header("idempotency-key", "held")
        .body(json!({"content": "!hold open\n!say two"}).to_string());
    let posted = house.send(request.try_clone().unwrap()).await.is(202).json();
    let status = house.terminate().await;
    assert_eq!(status.code(), Some(0), "{status}");
    // What the stream still told before it ended counts as seen.
    while let Some(event) = stream.next().await {
        if event.id.is_some() && event.kind != "error" {
            seen.push(event);
        }
    }
    assert!(!house.folder.path().join("data/server.json").exists());
    house.vendor.release("open");
    house.start().await;
    let last = seen.last().unwrap().id;
    let mut stream = house.follow(&chat.path("/events"), last).await;
    house.settled(&chat).await;
    // The same post again, by the same key, is the same message: it is not answered twice.
    let again = house.client.post(format!("{}{}", house.url, chat.path("/messages")));
    let again = again.header("content-type", "application/json").header("idempotency-key", "held");
    let again = again.body(json!({"content": "!hold open\n!say two"}).to_string());
    assert_eq!(house.send(again).await.is(202).json()["message"]["id"], posted["message"]["id"]);
    house.say_and_settle(&chat, "!say three").await;
    let all: Vec<Value> = house.list(&chat.path("/events")).await;
    while seen.len() < all.len() {
        seen.push(stream.next_stored().await);
    }
    let told: Vec<Value> = seen.into_iter().map(|event| event.data).collect();
    assert_eq!(told, all, "every one, once, in order");
    let seqs: Vec<u64> = all.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(seqs.is_sorted_by(|a, b| a < b), "{seqs:?}");
    let words: Vec<&Value> = all
        .iter()
        .filter(|event| event["type"] == "message")
        .map(|event| &event["data"]["content"])
        .collect();
    assert_eq!(words, ["!say one", "one", "!hold open\n!say two", "two", "!say three", "three"]);
}

#[tokio::test]
async fn time_goes_on_while_nobody_serves_and_a_world_can_move_with_its_history() {
    let mut house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({"approval_timeout_seconds": 2})).await;
    house.say_and_settle(&chat, &script("echo ran >> ran")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    house.kill().await;
    let expires: agent_world_core::Timestamp = text(&waiting, "expires_at").parse().unwrap();
    while agent_world_core::Timestamp::now() <= expires {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    house.start().await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    stream
        .until(|event| event.kind == "approval" && event.data["data"]["state"] == "expired")
        .await;
    house.settled(&chat).await;
    assert_eq!(house.last_call(&chat).await["state"], "expired");
    assert_eq!(ran(&house).await, 0);

    // Taken out and brought in elsewhere, with its history.
    house.patch("/api/worlds/lab", json!({"approval_timeout_seconds": null})).await.is(200);
    house.say_and_settle(&chat, &script("echo moved")).await;
    let waiting = house.waiting_in(&chat).await.remove(0);
    let messages = house.messages(&chat).await;
    let export = house.get("/api/worlds/lab/export").await.is(200).json();
    let other = House::open().await;
    other.post("/api/worlds/import", export).await.is(201);
    // What was under way there is not taken up here: nothing runs, and nobody is asked, because a file was read.
    let moved = other.messages(&chat).await;
    assert_eq!(moved[..messages.len()], messages);
    assert_eq!(other.approval(&waiting).await["state"], "withdrawn");
    assert_eq!(other.waiting_in(&chat).await, [] as [Value; 0]);
    assert_eq!(other.last_call(&chat).await["state"], "cancelled");
    other.say_and_settle(&chat, "!say going on").await;
    assert_eq!(other.last_words(&chat).await, "going on");
    assert_eq!(
        house.approval(&waiting).await["state"],
        "pending",
        "the one it came from is as it was"
    );
}
