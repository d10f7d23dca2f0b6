//! A message that is edited goes the way it went before: to whom it was posted, in reply to what, under which terms.

use reqwest::StatusCode;
use serde_json::json;

use crate::asking::{askers, said, script, text};
use crate::stage::{Chat, House};

#[tokio::test]
async fn a_message_posted_for_one_agent_is_edited_for_that_agent() {
    let house = House::open().await;
    house.world_of("lab", &["ada", "bob"], json!({})).await;
    let body = json!({"model": "world:lab/ada", "input": "!say one"});
    house.post("/v1/responses", body).await.is(200);
    let id = text(house.list("/api/worlds/lab/chats").await.last().unwrap(), "id").to_owned();
    let chat = Chat { world: "lab".to_owned(), id };
    house.settled(&chat).await;
    let first = house.messages(&chat).await.remove(0);
    let path = chat.path(&format!("/messages/{}", text(&first, "id")));
    house.put(&path, json!({"content": "!say two"})).await.is(202);
    house.settled(&chat).await;
    assert_eq!(said(&house.messages(&chat).await), [("human", "!say two"), ("ada", "two")]);
    // Also what is edited a second time, and in a copy.
    let messages = house.messages(&chat).await;
    let fork = json!({"message_id": messages[1]["id"]});
    let forked = house.post(&chat.path("/fork"), fork).await.is(201).json();
    let copy = Chat { world: "lab".to_owned(), id: text(&forked, "id").to_owned() };
    let first = house.messages(&copy).await.remove(0);
    let path = copy.path(&format!("/messages/{}", text(&first, "id")));
    house.put(&path, json!({"content": "!say three"})).await.is(202);
    house.settled(&copy).await;
    assert_eq!(said(&house.messages(&copy).await), [("human", "!say three"), ("ada", "three")]);
    assert_eq!(askers(&house), ["ada", "ada", "ada"]);
    // Nothing is taken back for an agent that is gone.
    house.delete("/api/worlds/lab/agents/ada").await.is(204);
    let first = house.messages(&copy).await.remove(0);
    let path = copy.path(&format!("/messages/{}", text(&first, "id")));
    let refused = house.put(&path, json!({"content": "!say four"})).await;
    refused.refused(StatusCode::UNPROCESSABLE_ENTITY, "agent_not_found");
    assert_eq!(house.messages(&copy).await.len(), 2);
}

#[tokio::test]
async fn an_edited_message_replies_to_the_same_and_asks_nobody_it_could_not_ask_before() {
    let house = House::open().await;
    let chat = house.world_of("lab", &["ada"], json!({})).await;
    house.say_and_settle(&chat, "!say one").await;
    let about = house.messages(&chat).await[1]["id"].clone();
    let post = json!({"content": "!say two", "reply_to": about, "on_approval": "deny"});
    let posted = house.post(&chat.path("/messages"), post).await.is(202).json();
    house.settled(&chat).await;
    let path = chat.path(&format!("/messages/{}", text(&posted["message"], "id")));
    let edited = house.put(&path, json!({"content": script("echo hi")})).await.is(202).json();
    assert_eq!(edited["message"]["reply_to"], about);
    house.settled(&chat).await;
    assert_eq!(house.messages(&chat).await[2]["reply_to"], about);
    assert_eq!(house.last_call(&chat).await["state"], "denied");
    assert!(house.waiting(&chat).await.is_empty());
}
