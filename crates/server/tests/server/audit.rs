//! What was done and how often, as clients read it.

use serde_json::{Value, json};

use crate::settings_stage::Stage;

fn kinds(body: &Value) -> Vec<&str> {
    body["data"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_approved_call_is_told_step_by_step_and_found_by_each_of_its_names() {
    let stage = Stage::open().await;
    stage.world().await;
    let approval = stage.grant_always().await;
    let all = stage.get("/api/audit").await.is(200).body;
    assert_eq!(kinds(&all), ["changed", "called", "requested", "decided", "started", "finished"]);
    let decided = &all["data"][3];
    assert_eq!(decided["actor"], json!({"kind": "person", "name": "eve"}));
    assert_eq!(
        (&decided["data"]["decision"], &decided["data"]["scope"]),
        (&json!("approved"), &json!("always"))
    );
    assert_eq!(decided["approval_id"], approval.id.as_str());
    let (chat, call) = (&approval.chat, &approval.call);
    let at = |number: usize| all["data"][number]["at"].as_str().unwrap();
    for (query, number) in [
        ("world=w".to_owned(), 6),
        ("world=none".to_owned(), 0),
        (format!("chat={chat}"), 5),
        ("agent=ada".to_owned(), 5),
        ("tool=act".to_owned(), 5),
        (format!("call={call}"), 5),
        ("kind=finished".to_owned(), 1),
        ("actor=eve".to_owned(), 2),
        (format!("until={}", at(0)), 0),
        ("since=2000-01-01T00:00:00Z".to_owned(), 6),
        ("since=2999-01-01T00:00:00Z".to_owned(), 0),
        (format!("agent=ada&tool=act&kind=called&call={call}"), 1),
    ] {
        let found = stage.get(&format!("/api/audit?{query}")).await.is(200).body;
        assert_eq!(found["data"].as_array().unwrap().len(), number, "{query}");
    }
    stage.delete("/api/worlds/w").await.is(204);
    let after = stage.get("/api/audit?world=w").await.is(200).body;
    assert_eq!(after["data"].as_array().unwrap().len(), 7, "it outlives the world");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn the_audit_is_read_page_by_page_in_both_directions() {
    let stage = Stage::open().await;
    stage.world().await;
    for number in 0..6 {
        stage.patch("/api/worlds/w", json!({"name": number.to_string()})).await.is(200);
    }
    let all = stage.get("/api/audit").await.is(200).body;
    let numbers = |body: &Value| -> Vec<u64> {
        body["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["seq"].as_u64().unwrap())
            .collect()
    };
    let expected = numbers(&all);
    assert_eq!((expected.len(), &all["next"]), (7, &Value::Null));
    let (mut forwards, mut query) = (Vec::new(), "limit=3".to_owned());
    loop {
        let page = stage.get(&format!("/api/audit?{query}")).await.is(200).body;
        forwards.extend(numbers(&page));
        match page["next"].as_str() {
            Some(next) => query = format!("limit=3&after={next}"),
            None => break,
        }
    }
    assert_eq!(forwards, expected);
    let (mut backwards, mut before) = (Vec::new(), u64::MAX.to_string());
    loop {
        let page = stage.get(&format!("/api/audit?limit=3&before={before}")).await.is(200).body;
        backwards = [numbers(&page), backwards].concat();
        match page["next"].as_str() {
            Some(next) => before = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(backwards, expected);
    for query in
        ["kind=guessed", "since=yesterday", "limit=x", "after=-1", "after=1&before=2", "who=eve"]
    {
        stage.get(&format!("/api/audit?{query}")).await.fails(422, "query_invalid");
    }
}

#[tokio::test]
async fn statistics_count_calls_answers_and_tokens() {
    let stage = Stage::open().await;
    stage.world().await;
    let empty = stage.get("/api/worlds/w/stats").await.is(200).body;
    assert_eq!(empty, json!({"world_id": "w", "tools": [], "usage": []}));
    stage.grant_always().await;
    let told = stage.get("/api/worlds/w/stats").await.is(200).body;
    let tool = &told["tools"][0];
    assert_eq!(
        (&tool["tool"], &tool["agent_id"], &tool["calls"]),
        (&json!("act"), &json!("ada"), &json!(1))
    );
    assert_eq!(tool["outcomes"], json!({"completed": 1}));
    assert_eq!(tool["approvals"], json!({"asked": 1, "approved": 1, "denied": 0, "expired": 0}));
    let usage = told["usage"].as_array().unwrap();
    let ada = usage.iter().find(|one| one["agent_id"] == "ada").unwrap();
    assert_eq!(ada["model_calls"], 2);
    assert!(ada["total_tokens"].is_u64());
    stage.get("/api/worlds/none/stats").await.fails(404, "world_not_found");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn statistics_of_all_worlds_outlive_them() {
    let stage = Stage::open().await;
    stage.world().await;
    assert_eq!(stage.get("/api/stats").await.is(200).body, json!({"data": [], "next": null}));
    let empty = stage.get("/api/stats?world=w").await.is(200).body;
    assert_eq!(empty["data"], json!([{"world_id": "w", "tools": [], "usage": []}]));
    stage.grant_always().await;
    let of_world = stage.get("/api/worlds/w/stats").await.is(200).body;
    let all = stage.get("/api/stats?limit=1").await.is(200).body;
    assert_eq!(all, json!({"data": [of_world], "next": null}));
    assert_eq!(stage.get("/api/stats?after=w").await.is(200).body["data"], json!([]));
    stage.delete("/api/worlds/w").await.is(204);
    for query in ["", "?world=w"] {
        let left = stage.get(&format!("/api/stats{query}")).await.is(200).body;
        assert_eq!(left["data"][0]["tools"], of_world["tools"], "{query}");
    }
    stage.get("/api/stats?world=none").await.fails(404, "world_not_found");
    stage.get("/api/stats?agent=ada").await.fails(422, "query_invalid");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn what_is_stored_can_be_verified_as_a_whole_or_by_world() {
    let stage = Stage::open().await;
    stage.world().await;
    stage.grant_always().await;
    for body in [json!({}), json!({"world": "w"})] {
        let found = stage.post("/api/verify", body).await.is(200).body;
        assert_eq!((&found["ok"], &found["worlds"]), (&json!(true), &json!(1)), "{found}");
        assert!(found["events"].as_u64().unwrap() > 5 && found["broken"] == json!([]), "{found}");
    }
    stage.post("/api/verify", json!({"world": "none"})).await.fails(404, "world_not_found");
    stage.post("/api/verify", json!({"worlds": []})).await.fails(422, "body_invalid");
    stage.engine.shutdown().await;
}
