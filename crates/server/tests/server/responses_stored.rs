//! Stored responses: conversations that go on by id, who may read them, lists of what was asked, work in the background.

use std::sync::Arc;

use agent_world_core::Timestamp;
use agent_world_core::item::Item;
use agent_world_runtime::llm::Request;
use agent_world_runtime::llm::scripted::Answer as Line;
use agent_world_server::Role;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::responses_stage::{Stage, kinds, numbered, text, user};

fn id(response: &Value) -> &str {
    response["id"].as_str().unwrap()
}

fn path(response: &Value) -> String {
    format!("/v1/responses/{}", id(response))
}

fn said(request: &Request) -> Vec<String> {
    request
        .input
        .iter()
        .map(|item| match &**item {
            Item::Message(message) => message.text(),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn a_conversation_goes_on_by_the_id_of_its_last_response() {
    let stage = Stage::set().await;
    stage.scripted.push("m", "one").push("m", "two").push("m", "three").push("m", "other");
    let ask = |input: &str, previous: Option<&Value>| {
        json!({
            "model": "scripted/m",
            "input": input,
            "instructions": format!("about {input}"),
            "previous_response_id": previous.map(|response| response["id"].clone()),
        })
    };
    let first = stage.admin.respond(ask("a", None)).await;
    let second = stage.admin.respond(ask("b", Some(&first))).await;
    let third = stage.admin.stream(ask("c", Some(&second))).await;
    let third = &third.last().unwrap()["response"];
    let branch = stage.admin.respond(ask("d", Some(&first))).await;
    stage.checker.response(&branch);
    let requests = stage.scripted.requests();
    assert_eq!(said(&requests[1]), ["a", "one", "b"]);
    assert_eq!(said(&requests[2]), ["a", "one", "b", "two", "c"]);
    assert_eq!(said(&requests[3]), ["a", "one", "d"]);
    // Instructions hold for one request.
    assert_eq!(requests[2].instructions, "about c");

    let items = stage.admin.get(&format!("{}/input_items?order=asc", path(third))).await.json();
    let texts: Vec<&str> = items["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["a", "one", "b", "two", "c"]);
    assert_eq!((&items["object"], &items["has_more"]), (&json!("list"), &json!(false)));

    let gone = stage.admin.send("DELETE", &path(&first), None).await.json();
    assert_eq!(gone, json!({"id": first["id"], "object": "response", "deleted": true}));
    assert_eq!(stage.admin.get(&path(&first)).await.error().0, 404);
    let (status, code, _) =
        stage.admin.post("/v1/responses", ask("e", Some(&second))).await.error();
    assert_eq!((status, code.as_str()), (400, "previous_response_not_found"));
}

#[tokio::test]
async fn a_long_conversation_is_the_same_however_it_is_stored() {
    let stage = Stage::set().await;
    let mut previous = Value::Null;
    for turn in 0..70 {
        stage.scripted.push("m", Line::text(format!("answer {turn}")));
        let body = json!({"model": "scripted/m", "input": format!("question {turn}"), "previous_response_id": previous});
        previous = stage.admin.respond(body).await["id"].clone();
    }
    let expected: Vec<String> = (0..70)
        .flat_map(|turn| [format!("question {turn}"), format!("answer {turn}")])
        .take(139)
        .collect();
    assert_eq!(said(stage.scripted.requests().last().unwrap()), expected);
}

#[tokio::test]
async fn input_items_are_paged_newest_first() {
    let stage = Stage::set().await;
    let input: Vec<Value> = (0..5).map(|n| user(&n.to_string())).collect();
    let response = stage.admin.respond(json!({"model": "demo/demo", "input": input})).await;
    let list = |query: String| {
        let path = format!("{}/input_items{query}", path(&response));
        async { stage.admin.get(&{ path }).await }
    };
    let texts = |page: &Value| -> String {
        page["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["content"][0]["text"].as_str().unwrap())
            .collect()
    };
    let first = list("?limit=2".to_owned()).await.json();
    for item in first["data"].as_array().unwrap() {
        stage.checker.body("Message", item);
    }
    assert_eq!((texts(&first).as_str(), &first["has_more"]), ("43", &json!(true)));
    assert_eq!(first["last_id"], first["data"][1]["id"]);
    let second =
        list(format!("?limit=2&after={}", first["last_id"].as_str().unwrap())).await.json();
    assert_eq!((texts(&second).as_str(), &second["has_more"]), ("21", &json!(true)));
    let all = list("?order=asc".to_owned()).await.json();
    assert_eq!((texts(&all).as_str(), &all["has_more"]), ("01234", &json!(false)));
    for query in ["?limit=0", "?limit=101", "?order=up", "?after=nothing"] {
        assert_eq!(list(query.to_owned()).await.error().0, 400, "{query}");
    }
}

#[tokio::test]
async fn a_response_is_its_owners_and_nobody_elses() {
    let stage = Stage::set().await;
    let (ann, bob) =
        (stage.enter("ann", Role::Member).await, stage.enter("bob", Role::Approver).await);
    let response = ann.respond(json!({"model": "demo/demo", "input": "secret"})).await;
    assert_eq!(ann.get(&path(&response)).await.json(), response);
    assert_eq!(stage.admin.get(&path(&response)).await.json(), response);
    for (method, path) in [
        ("GET", path(&response)),
        ("DELETE", path(&response)),
        ("POST", format!("{}/cancel", path(&response))),
        ("GET", format!("{}/input_items", path(&response))),
    ] {
        assert_eq!(bob.send(method, &path, None).await.error().0, 404, "{method} {path}");
    }
    let body = json!({"model": "demo/demo", "input": "x", "previous_response_id": response["id"]});
    assert_eq!(
        bob.post("/v1/responses", body.clone()).await.error().1,
        "previous_response_not_found"
    );
    assert_eq!(
        bob.post("/v1/responses/compact", body.clone()).await.error().1,
        "previous_response_not_found"
    );
    assert_eq!(ann.post("/v1/responses", body).await.status, 200);
}

#[tokio::test]
async fn what_is_not_to_be_stored_is_not() {
    let stage = Stage::set().await;
    let response =
        stage.admin.respond(json!({"model": "demo/demo", "input": "x", "store": false})).await;
    stage.checker.response(&response);
    assert_eq!(response["store"], false);
    assert_eq!(stage.admin.get(&path(&response)).await.error().0, 404);
    assert_eq!(stage.engine.store().documents("response", None, 10).await.unwrap(), []);
}

#[tokio::test]
async fn responses_older_than_thirty_days_are_removed() {
    use agent_world_runtime::store::{DocumentWrite, Expected};
    let stage = Stage::set().await;
    let write = |key: &str, days: i64| DocumentWrite {
        kind: "response".to_owned(),
        key: key.to_owned(),
        expected: Expected::Nothing,
        body: "{}".to_owned(),
        at: Timestamp::from_second(Timestamp::now().as_second() - days * 86_400).unwrap(),
    };
    stage.engine.store().write_document(write("resp_29", 29)).await.unwrap();
    stage.engine.store().write_document(write("resp_31", 31)).await.unwrap();
    let response = stage.admin.respond(json!({"model": "demo/demo", "input": "x"})).await;
    let left = stage.engine.store().documents("response", None, 10).await.unwrap();
    let mut keys: Vec<&str> = left.iter().map(|document| document.key.as_str()).collect();
    keys.sort_unstable();
    let mut expected = ["resp_29", id(&response)];
    expected.sort_unstable();
    assert_eq!(keys, expected);
}

#[tokio::test]
async fn a_response_too_large_to_keep_is_given_and_says_so() {
    let stage = Stage::set().await;
    stage.scripted.push("m", Line::text("x".repeat(9 * 1024 * 1024)));
    let response = stage.admin.respond(json!({"model": "scripted/m", "input": "x"})).await;
    assert_eq!((&response["status"], &response["store"]), (&json!("completed"), &json!(false)));
    assert_eq!(stage.admin.get(&path(&response)).await.error().0, 404);
}

#[tokio::test]
async fn work_in_the_background_can_be_read_while_it_is_done_and_afterwards() {
    let stage = Stage::set().await;
    let gate = Arc::new(Semaphore::new(0));
    stage.scripted.push("m", Line::text("done").held_by(&gate));
    let begun =
        stage.admin.respond(json!({"model": "scripted/m", "input": "x", "background": true})).await;
    stage.checker.response(&begun);
    assert_eq!((&begun["status"], &begun["background"]), (&json!("in_progress"), &json!(true)));
    assert_eq!(stage.admin.get(&path(&begun)).await.json(), begun);
    let early = json!({"model": "scripted/m", "input": "y", "previous_response_id": begun["id"]});
    assert_eq!(
        stage.admin.post("/v1/responses", early.clone()).await.error().1,
        "response_not_finished"
    );
    gate.add_permits(1);
    let done = loop {
        let now = stage.admin.get(&path(&begun)).await.json();
        if now["status"] != "in_progress" {
            break now;
        }
        tokio::task::yield_now().await;
    };
    stage.checker.response(&done);
    assert_eq!((&done["status"], text(&done).as_str()), (&json!("completed"), "done"));
    assert_eq!(done["background"], true);
    // There is nothing left to cancel, and saying so again changes nothing.
    assert_eq!(
        stage.admin.send("POST", &format!("{}/cancel", path(&begun)), None).await.json(),
        done
    );
    stage.scripted.push("m", "more");
    assert_eq!(text(&stage.admin.respond(early).await), "more");
}

#[tokio::test]
async fn work_in_the_background_can_be_cancelled_and_goes_on_without_a_listener() {
    let stage = Stage::set().await;
    let body = r#"{"model":"endless/m","input":"x","background":true,"stream":true}"#;
    let mut answer = stage.admin.open("POST", "/v1/responses", Some(body)).await;
    let first = answer.chunk().await.unwrap().unwrap();
    let first = std::str::from_utf8(&first).unwrap();
    let event: Value =
        serde_json::from_str(first.lines().nth(1).unwrap().strip_prefix("data: ").unwrap())
            .unwrap();
    stage.checker.event(&event);
    let begun = event["response"].clone();
    drop(answer);
    assert_eq!(stage.admin.get(&path(&begun)).await.json()["status"], "in_progress");
    assert_eq!(stage.endless.alive(), 1);
    let cancelled =
        stage.admin.send("POST", &format!("{}/cancel", path(&begun)), None).await.json();
    stage.checker.response(&cancelled);
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(stage.endless.alive(), 0);
    assert_eq!(stage.admin.get(&path(&begun)).await.json(), cancelled);

    let plain = stage.admin.respond(json!({"model": "demo/demo", "input": "x"})).await;
    let refused = stage.admin.send("POST", &format!("{}/cancel", path(&plain)), None).await.error();
    assert_eq!((refused.0, refused.1.as_str()), (400, "not_in_background"));
}

#[tokio::test]
async fn work_in_the_background_can_be_followed_and_its_failure_is_kept() {
    let stage = Stage::set().await;
    let events = stage
        .admin
        .stream(json!({"model": "demo/demo", "input": "hello", "background": true}))
        .await;
    stage.checker.all(&events);
    numbered(&events);
    assert_eq!(kinds(&events).last(), Some(&"response.completed"));

    let begun =
        stage.admin.respond(json!({"model": "broken/m", "input": "x", "background": true})).await;
    let failed = loop {
        let now = stage.admin.get(&path(&begun)).await.json();
        if now["status"] != "in_progress" {
            break now;
        }
        tokio::task::yield_now().await;
    };
    stage.checker.response(&failed);
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!("server_is_overloaded"))
    );
}

#[tokio::test]
async fn work_that_another_run_of_the_server_left_has_failed() {
    let stage = Stage::set().await;
    let earlier = stage.enter("root", Role::Admin).await;
    let begun =
        earlier.respond(json!({"model": "endless/m", "input": "x", "background": true})).await;
    let now = stage.admin.get(&path(&begun)).await.json();
    stage.checker.response(&now);
    assert_eq!((&now["status"], &now["error"]["code"]), (&json!("failed"), &json!("server_error")));
}
