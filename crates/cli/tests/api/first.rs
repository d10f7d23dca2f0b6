//! From a first message to a decision.

use serde_json::json;

use crate::stage::House;

#[tokio::test]
async fn a_message_is_answered_and_a_call_waits_until_somebody_decides() {
    let house = House::open().await;
    let chat = house.world("lab", &["ada"], json!({})).await;
    let mut stream = house.follow(&chat.path("/events"), Some(0)).await;
    house.say(&chat, "hello").await;
    let seen = stream.until_idle().await;
    let said: Vec<&str> = seen
        .iter()
        .filter(|event| event.kind == "message")
        .map(|event| event.data["data"]["content"].as_str().unwrap())
        .collect();
    assert_eq!(said, ["hello", "you said: hello"]);

    house.say(&chat, "!call shell_cmd {\"command\": \"echo\", \"parameters\": [\"hi\"]}").await;
    stream.until(|event| event.kind == "approval").await;
    let waiting = house.waiting(&chat).await;
    assert_eq!(waiting.len(), 1, "{waiting:#?}");
    let decided = house.decide(&waiting[0], json!({"decision": "approve"})).await.is(200).json();
    assert_eq!(decided["decided_by"], "tester");
    stream.until_idle().await;
    let messages = house.messages(&chat).await;
    let last = messages.last().unwrap();
    assert!(last["content"].as_str().unwrap().starts_with("done: hi"), "{last}");
}
