//! Messages over HTTP: posted, read, edited, taken back.

use agent_world_runtime::llm::scripted::Answer;
use serde_json::{Value, json};

use super::stage::{Stage, id};

#[tokio::test]
async fn a_message_is_durable_when_it_is_accepted_and_is_answered() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::text("Hello, human."));
    let posted = stage.say("hello").await;
    assert_eq!((&posted["role"], &posted["sender"]), (&json!("user"), &json!("human")));
    assert_eq!(posted["user"], Value::Null);
    let place = stage.at(&format!("messages/{}", id(&posted)));
    assert_eq!(stage.human.get(&place).await.ok(200), posted);
    stage.idle().await;
    let page = stage.human.get(&stage.at("messages")).await.ok(200);
    let answer = &page["data"][1];
    assert_eq!((&answer["content"], &answer["agent_id"]), (&json!("Hello, human."), &json!("ada")));
    assert_eq!(answer["role"], "assistant");
}

#[tokio::test]
async fn messages_are_read_forwards_and_backwards() {
    let stage = Stage::open().await;
    for number in 0..5 {
        stage.human.post(&stage.at("messages"), system(number)).await.ok(202);
    }
    let all = stage.human.get(&stage.at("messages")).await.ok(200)["data"].clone();
    let place = |query: &str| stage.at(&format!("messages?{query}"));
    let numbers = |page: &Value| -> Vec<String> {
        let text = |message: &Value| message["content"].as_str().unwrap().to_owned();
        page["data"].as_array().unwrap().iter().map(text).collect()
    };
    let first = stage.human.get(&place("limit=2")).await.ok(200);
    assert_eq!((numbers(&first), &first["next"]), (vec!["0".into(), "1".into()], &all[1]["id"]));
    let after = stage.human.get(&place(&format!("limit=9&after={}", id(&all[1])))).await.ok(200);
    assert_eq!((numbers(&after).join(""), &after["next"]), ("234".to_owned(), &Value::Null));
    let before = stage.human.get(&place(&format!("limit=2&before={}", id(&all[3])))).await.ok(200);
    assert_eq!((numbers(&before).join(""), &before["next"]), ("12".to_owned(), &all[2]["id"]));
    let last = stage.human.get(&place("limit=2&before=")).await.ok(200);
    assert_eq!((numbers(&last).join(""), &last["next"]), ("34".to_owned(), &Value::Null));
    let both = format!("after={0}&before={0}", id(&all[1]));
    stage.human.get(&place(&both)).await.problem(422, "query_invalid");
    stage.human.get(&place("after=msg_none")).await.problem(422, "cursor_unknown");
    stage.human.get(&place("before=msg_none")).await.problem(422, "cursor_unknown");
}

#[tokio::test]
async fn a_chat_in_use_takes_messages_in_its_own_world_and_not_after_its_end() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::text("Hello, human."));
    stage.say("hello").await;
    stage.idle().await;
    stage.human.post("/api/worlds", json!({"name": "other"})).await.ok(201);
    let elsewhere = stage.at("messages").replacen("/worlds/w/", "/worlds/other/", 1);
    stage.human.post(&elsewhere, system(1)).await.problem(404, "chat_not_found");
    stage.human.delete(stage.at("").trim_end_matches('/')).await.ok(204);
    stage.human.post(&stage.at("messages"), system(2)).await.problem(404, "chat_not_found");
}

/// Nobody answers the system.
fn system(number: usize) -> Value {
    json!({"content": number.to_string(), "sender": "system"})
}

#[tokio::test]
async fn content_may_be_parts_and_the_model_gets_them() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::text("A cat."));
    let content = json!([
        {"type": "input_text", "text": "what is"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
        {"type": "input_text", "text": "in here?"},
        {"type": "input_file", "filename": "a.txt", "file_data": "data:text/plain;base64,AAAA"},
    ]);
    let posted = stage.human.post(&stage.at("messages"), json!({"content": content})).await.ok(202);
    let message = &posted["message"];
    assert_eq!(message["content"], "what is\nin here?");
    assert_eq!(message["parts"][0]["detail"], "low");
    assert_eq!(message["parts"][1]["filename"], "a.txt");
    stage.idle().await;
    assert!(stage.shown().contains("data:image/png;base64,AAAA"), "{}", stage.shown());
}

#[tokio::test]
async fn what_is_no_message_is_refused_with_its_field() {
    let stage = Stage::open().await;
    let refused = async |body: Value, status: u16, code: &str| {
        stage.human.post(&stage.at("messages"), body).await.problem(status, code)
    };
    refused(json!({"content": " "}), 422, "message_empty").await;
    refused(json!({"content": []}), 422, "message_empty").await;
    let wrong = refused(json!({"content": 5}), 422, "body_invalid").await;
    assert_eq!(wrong["field"], "content");
    refused(json!({}), 422, "body_invalid").await;
    refused(json!({"content": [{"type": "sound"}]}), 422, "body_invalid").await;
    let extra = json!({"content": [{"type": "input_text", "text": "x", "colour": "red"}]});
    refused(extra, 422, "body_invalid").await;
    let empty = refused(json!({"content": [{"type": "input_image"}]}), 422, "part_empty").await;
    assert_eq!(empty["field"], "content[0]");
    let unknown = refused(json!({"content": "x", "user": "eve"}), 422, "body_invalid").await;
    assert!(unknown["detail"].as_str().unwrap().contains("user"), "{unknown}");
    refused(json!({"content": "x", "on_approval": "allow"}), 422, "body_invalid").await;
    refused(json!({"content": "x", "sender": "nobody"}), 422, "agent_not_found").await;
    refused(json!({"content": "x", "reply_to": "msg_none"}), 422, "reply_to_unknown").await;
    let long = refused(json!({"content": "x".repeat(1024 * 1024 + 1)}), 413, "message_too_large");
    assert_eq!(long.await["field"], "content");
    refused(json!({"content": "x".repeat(9 * 1024 * 1024)}), 413, "body_too_large").await;
    let image = json!({"type": "input_image", "image_url": "x".repeat(7 * 1024 * 1024)});
    refused(json!({"content": [image]}), 413, "message_too_large").await;
    let text = Some("{".to_owned());
    let place = stage.at("messages");
    stage.human.send(reqwest::Method::POST, &place, text, None).await.problem(400, "json_invalid");
    let nothing = stage.human.send(reqwest::Method::POST, &place, None, None).await;
    nothing.problem(415, "not_json");
    assert_eq!(stage.texts().await, [""; 0]);
}

#[tokio::test]
async fn the_longest_message_is_taken() {
    let stage = Stage::open().await;
    let content = "x".repeat(1024 * 1024);
    let body = json!({"content": content, "sender": "system"});
    stage.human.post(&stage.at("messages"), body).await.ok(202);
    assert_eq!(stage.texts().await, [content]);
}

#[tokio::test]
async fn editing_takes_back_what_followed_and_goes_on_from_there() {
    let stage = Stage::open().await;
    stage.model.push("ada", Answer::text("Old answer."));
    let first = stage.say("old question").await;
    stage.idle().await;
    stage.model.push("ada", Answer::text("New answer."));
    let place = stage.at(&format!("messages/{}", id(&first)));
    let edited = stage.human.put(&place, json!({"content": "new question"})).await.ok(202);
    assert_eq!(edited["message"]["user"], first["user"], "nobody has a name here");
    assert_eq!(edited["message"]["content"], "new question");
    assert_ne!(edited["message"]["id"], first["id"]);
    stage.idle().await;
    assert_eq!(stage.texts().await, ["new question", "New answer."]);
    stage.human.get(&place).await.problem(404, "message_not_found");
    let again = json!({"content": "x"});
    stage.human.put(&place, again.clone()).await.problem(404, "message_not_found");
    stage.human.delete(&place).await.problem(404, "message_not_found");

    let page = stage.human.get(&stage.at("messages")).await.ok(200);
    let answer = stage.at(&format!("messages/{}", id(&page["data"][1])));
    stage.human.put(&answer, again).await.problem(409, "message_not_human");
    stage.human.delete(&answer).await.problem(409, "message_not_human");
    let question = stage.at(&format!("messages/{}", id(&page["data"][0])));
    stage.human.put(&question, json!({"content": ""})).await.problem(422, "message_empty");
    let long = json!({"content": "x".repeat(1024 * 1024 + 1)});
    stage.human.put(&question, long).await.problem(413, "message_too_large");
}

#[tokio::test]
async fn images_stay_when_a_message_is_edited_also_without_a_text() {
    let stage = Stage::open().await;
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,AAAA"});
    let body = json!({"content": [{"type": "input_text", "text": "look"}, image.clone()], "sender": "human"});
    stage.model.push("ada", Answer::text("I see."));
    let posted = stage.human.post(&stage.at("messages"), body).await.ok(202);
    stage.idle().await;
    let mut last = posted["message"].clone();
    for text in ["look again", ""] {
        stage.model.push("ada", Answer::text("I see."));
        let place = stage.at(&format!("messages/{}", id(&last)));
        last = stage.human.put(&place, json!({"content": text})).await.ok(202)["message"].clone();
        stage.idle().await;
        assert_eq!(last["content"], text);
        assert_eq!(last["parts"][0]["image_url"], image["image_url"], "{last}");
    }
}

#[tokio::test]
async fn deleting_a_message_withdraws_what_it_led_to() {
    let stage = Stage::open().await;
    stage.model.push("ada", super::stage::acts(&["a"]));
    let said = stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let deleted = stage.human.delete(&stage.at(&format!("messages/{}", id(&said)))).await;
    assert_eq!(deleted.status, 204);
    assert_eq!(stage.texts().await, [""; 0]);
    let approval = stage.human.get(&format!("/api/approvals/{}", id(&asked))).await.ok(200);
    assert_eq!(approval["state"], "withdrawn");
}
