//! Conversations in fewer words, and that they are understood when they come back.

use agent_world_core::item::{Item, Role};
use serde_json::{Value, json};

use crate::responses_stage::{Stage, text, user};

fn talk() -> Value {
    json!([
        user("We launch on Tuesday and tell support first."),
        {"type": "message", "role": "assistant", "content": "Understood: Tuesday, support first."},
    ])
}

#[tokio::test]
async fn a_conversation_is_compacted_into_items_that_stand_for_it() {
    let stage = Stage::set().await;
    let body = json!({"model": "demo/demo", "prompt_cache_key": "key", "input": talk()});
    let compacted = stage.admin.post("/v1/responses/compact", body).await;
    assert_eq!(compacted.status, 200, "{}", compacted.text);
    let compacted = compacted.json();
    stage.checker.body("CompactResource", &compacted);
    assert_eq!(compacted["object"], "response.compaction");
    let output = compacted["output"].as_array().unwrap();
    assert_eq!(output.last().unwrap()["type"], "compaction");
    for item in output {
        let param = if item["type"] == "compaction" {
            "CompactionSummaryItemParam"
        } else {
            "UserMessageItemParam"
        };
        stage.checker.body(param, item);
    }

    stage.scripted.push("m", "fine");
    let mut input = output.clone();
    input.push(user("When do we launch?"));
    let response = stage.admin.respond(json!({"model": "scripted/m", "input": input})).await;
    stage.checker.response(&response);
    let told: Vec<(Role, String)> = stage.scripted.requests()[0]
        .input
        .iter()
        .map(|item| match &**item {
            Item::Message(message) => (message.role, message.text()),
            other => panic!("a model cannot read {other:?}"),
        })
        .collect();
    let [(Role::User, kept), (Role::Developer, summary), (Role::User, asked)] = told.as_slice()
    else {
        panic!("{told:?}");
    };
    assert_eq!(kept, "We launch on Tuesday and tell support first.");
    assert!(summary.contains("Understood: Tuesday, support first."), "{summary}");
    assert_eq!(asked, "When do we launch?");
    // And it is the client's own again where it is listed.
    let path = format!("/v1/responses/{}/input_items", response["id"].as_str().unwrap());
    assert_eq!(stage.admin.get(&path).await.json()["data"][1]["type"], "compaction");
}

#[tokio::test]
async fn a_stored_conversation_is_compacted_by_the_model_that_is_named() {
    let stage = Stage::set().await;
    stage.scripted.push("m", "noted").push("m", "They said hello.");
    let first = stage.admin.respond(json!({"model": "scripted/m", "input": "hello"})).await;
    let body = json!({"model": "scripted/m", "previous_response_id": first["id"], "instructions": "Be kind."});
    let compacted = stage.admin.post("/v1/responses/compact", body).await.json();
    stage.checker.body("CompactResource", &compacted);
    let asked = &stage.scripted.requests()[1];
    assert!(asked.instructions.contains("fewer words"));
    let said = serde_json::to_string(&asked.input).unwrap();
    for words in ["Be kind.", "hello", "noted"] {
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn a_call_that_waits_for_its_result_stays_as_it_is() {
    let stage = Stage::set().await;
    stage.scripted.push("m", "A file was read.");
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"});
    let result = |id: &str| json!({"type": "function_call_output", "call_id": id, "output": "ok"});
    let input = json!([user("go"), call("c1"), result("c1"), call("c2"), call("c3"), result("c2")]);
    let compacted = stage
        .admin
        .post("/v1/responses/compact", json!({"model": "scripted/m", "input": input}))
        .await
        .json();
    stage.checker.body("CompactResource", &compacted);
    let mut input = compacted["output"].as_array().unwrap().clone();
    let kinds: Vec<&str> = input.iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["message", "compaction", "function_call", "function_call", "function_call_output"]
    );
    input.push(result("c3"));
    stage.scripted.push("m", "done");
    let response = stage.admin.respond(json!({"model": "scripted/m", "input": input})).await;
    assert_eq!(text(&response), "done");
}

#[tokio::test]
async fn what_cannot_be_compacted_is_refused() {
    let stage = Stage::set().await;
    for (body, code) in [
        (json!({"input": talk()}), "missing_required_parameter"),
        (json!({"model": "demo/demo"}), "missing_required_parameter"),
        (json!({"model": "demo/demo", "input": []}), "missing_required_parameter"),
        (json!({"model": "demo/demo", "input": 7}), "invalid_type"),
        (json!({"model": 7, "input": talk()}), "invalid_type"),
        (json!({"model": "world:home/ada", "input": talk()}), "invalid_value"),
    ] {
        let (status, given, _) =
            stage.admin.post("/v1/responses/compact", body.clone()).await.error();
        assert_eq!((status, given.as_str()), (400, code), "{body}");
    }
    stage.scripted.push("m", "");
    let empty = json!({"model": "scripted/m", "input": talk()});
    assert_eq!(stage.admin.post("/v1/responses/compact", empty).await.error().1, "no_summary");
}
