//! What a model call took is told with the message that came of it, wherever the message is read.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::asking::{script, text, trusted};
use crate::stage::{Chat, House};

/// By their ids: what messages say they took.
fn taken(messages: &[Value]) -> BTreeMap<&str, &Value> {
    messages.iter().map(|message| (text(message, "id"), &message["usage"])).collect()
}

#[tokio::test]
async fn every_message_that_a_model_made_says_what_it_took() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada"], trusted()).await;
    let mut live = house.follow(&chat.path("/events"), Some(0)).await;
    house.say(&chat, &format!("{}\n!then finished", script("echo hi"))).await;
    let seen = live.until_idle().await;
    let messages = house.messages(&chat).await;
    let roles: Vec<&str> = messages.iter().map(|message| text(message, "role")).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    for message in &messages {
        if message["role"] == "assistant" {
            let usage = &message["usage"];
            let tokens = ["input_tokens", "output_tokens", "total_tokens"].map(|one| &usage[one]);
            assert_eq!(tokens, [&json!(10), &json!(5), &json!(15)], "{message:#}");
        } else {
            assert!(message.get("usage").is_none(), "{message:#}");
        }
        let one = house.get(&chat.path(&format!("/messages/{}", text(message, "id")))).await;
        assert_eq!(one.is(200).json(), *message);
    }
    let told: Vec<&Value> = seen
        .iter()
        .filter(|event| event.kind == "message")
        .map(|event| &event.data["data"])
        .collect();
    assert_eq!(told, messages.iter().collect::<Vec<_>>(), "events tell the same messages");
    let ended: BTreeMap<&str, &Value> = seen
        .iter()
        .filter(|event| event.kind == "stream" && event.data["data"]["phase"] == "end")
        .map(|event| (text(&event.data["data"], "message_id"), &event.data["data"]["usage"]))
        .collect();
    let mut made = taken(&messages);
    made.retain(|_, usage| !usage.is_null());
    assert_eq!(ended, made, "and so does the end of each stream");

    // A fork tells what its history took; the world's sums count it once.
    let last = messages.last().unwrap();
    let fork = json!({"message_id": last["id"]});
    let forked = house.post(&chat.path("/fork"), fork).await.is(201).json();
    let copy = Chat { world: "lab".to_owned(), id: text(&forked, "id").to_owned() };
    assert_eq!(taken(&house.messages(&copy).await), taken(&messages));
}
