//! Agents of a world as clients make, read, change and take them out.

use reqwest::Method;
use serde_json::{Value, json};

use crate::settings_stage::Stage;

const AGENTS: &str = "/api/worlds/w/agents";

#[tokio::test]
async fn an_agent_is_made_read_changed_and_taken_out() {
    let stage = Stage::open().await;
    stage.world().await;
    let body = json!({"name": "Bob", "model": "scripted/bob", "temperature": 0.5, "tools": ["act"],
        "parallel_tool_calls": false});
    let made = stage.post(AGENTS, body).await.is(201);
    assert_eq!(made.location.as_deref(), Some("/api/worlds/w/agents/bob"));
    assert_eq!(made.tag.as_deref(), Some("\"2\""));
    let expected = json!({
        "id": "bob", "name": "Bob", "model": "scripted/bob", "instructions": "", "temperature": 0.5,
        "max_output_tokens": null, "reasoning_effort": null, "tools": ["act"], "auto_reply": true,
        "parallel_tool_calls": false, "streaming": null,
    });
    assert_eq!(made.body, expected);
    let one = "/api/worlds/w/agents/bob";
    assert_eq!(stage.get(one).await.is(200).body, expected);
    let change =
        json!({"temperature": null, "tools": null, "model": null, "instructions": "be kind"});
    let changed = stage.patch(one, change).await.is(200);
    assert_eq!(changed.tag.as_deref(), Some("\"3\""));
    assert_eq!(
        (&changed.body["temperature"], &changed.body["tools"]),
        (&Value::Null, &json!(["*"]))
    );
    assert_eq!((&changed.body["model"], &changed.body["name"]), (&Value::Null, &json!("Bob")));
    assert_eq!(changed.body["instructions"], "be kind");
    stage.delete(one).await.is(204);
    stage.get(one).await.fails(404, "agent_not_found");
    stage.delete(one).await.fails(404, "agent_not_found");
    stage.patch(one, json!({})).await.fails(404, "agent_not_found");
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let stage = Stage::open().await;
    stage.world().await;
    stage.post(AGENTS, json!({"id": "ada"})).await.fails(409, "agent_exists");
    stage.post(AGENTS, json!({})).await.fails(422, "body_invalid");
    stage.post(AGENTS, json!({"name": " "})).await.fails(422, "body_invalid");
    stage.post(AGENTS, json!({"id": "x", "version": 1})).await.fails(422, "body_invalid");
    stage.post(AGENTS, json!({"id": "No Slug"})).await.fails(422, "settings_invalid");
    stage.post(AGENTS, json!({"id": "human"})).await.fails(422, "settings_invalid");
    stage.post(AGENTS, json!({"id": "x", "name": "ada"})).await.fails(422, "settings_invalid");
    stage
        .post(AGENTS, json!({"id": "x", "colour": 1}))
        .await
        .fails(422, "body_invalid")
        .says("colour");
    stage.post("/api/worlds/none/agents", json!({"id": "x"})).await.fails(404, "world_not_found");
    let ada = "/api/worlds/w/agents/ada";
    stage
        .patch(ada, json!({"id": "eve"}))
        .await
        .fails(422, "body_invalid")
        .says("cannot be changed");
    stage.patch(ada, json!({"id": "ada", "tools": "all"})).await.fails(422, "body_invalid");
    stage.patch("/api/worlds/w", json!({"main_agent": "ada"})).await.is(200);
    stage.delete(ada).await.fails(409, "agent_is_main").says("name another main_agent");
    let stale = stage.ask(Method::PATCH, ada, Some(r#"{"name":"A"}"#.into()), Some("\"9\"")).await;
    assert_eq!(stale.fails(409, "version_conflict").body["version"], 2);
    stage.patch(ada, json!({"name": "A", "version": 9})).await.fails(409, "version_conflict");
    stage.post(AGENTS, json!({"id": "bob"})).await.is(201);
    let stale = stage.ask(Method::DELETE, "/api/worlds/w/agents/bob", None, Some("\"1\"")).await;
    stale.fails(409, "version_conflict");
}

#[tokio::test]
async fn agents_made_at_the_same_time_are_all_there_and_listed_page_by_page() {
    let stage = Stage::on_disk().await;
    stage.world().await;
    let made = (0..16).map(|number| stage.post(AGENTS, json!({"id": format!("a{number}")})));
    for reply in futures::future::join_all(made).await {
        reply.is(201);
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = stage.get(&format!("{AGENTS}?limit=5{after}")).await.is(200).body;
        let agents = page["data"].as_array().unwrap();
        seen.extend(agents.iter().map(|agent| agent["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!((seen.len(), seen[0].as_str()), (17, "ada"));
    stage.get(&format!("{AGENTS}?after=none")).await.fails(404, "agent_not_found");
    let racing = (0..8).map(|_| stage.post(AGENTS, json!({"id": "one"})));
    let statuses = futures::future::join_all(racing).await.into_iter();
    let mut statuses: Vec<u16> = statuses.map(|reply| reply.status.as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![201], vec![409; 7]].concat());
}

#[tokio::test]
async fn a_change_of_an_agent_is_told_as_one() {
    let stage = Stage::open().await;
    stage.world().await;
    stage.post(AGENTS, json!({"id": "bob"})).await.is(201);
    stage.patch("/api/worlds/w/agents/bob", json!({"name": "B"})).await.is(200);
    stage.delete("/api/worlds/w/agents/bob").await.is(204);
    let told = stage.get("/api/audit?agent=bob").await.is(200).body;
    let told: Vec<&Value> =
        told["data"].as_array().unwrap().iter().map(|entry| &entry["data"]).collect();
    let expected = ["created", "updated", "deleted"]
        .map(|action| json!({"entity": "agent", "action": action, "id": "bob"}));
    assert_eq!(told, expected.iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn whoever_chooses_a_model_is_told_what_it_can_do() {
    let stage = Stage::open().await;
    stage.world().await;
    let body = json!({"name": "Bob", "model": "scripted/bob"});
    stage.post(AGENTS, body).await.is(201);
    let stage = stage.seen_by(agent_world_server::Role::Viewer).await;
    let listed = stage.get("/api/models").await.is(200).body;
    let found: Vec<&str> =
        listed["data"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    assert!(found.contains(&"scripted/bob"), "{found:?}");
    let one = stage.get("/api/models/scripted%2Fnobody%2Fknows").await.is(200).body;
    assert_eq!((&one["id"], &one["vendor"]), (&json!("scripted/nobody/knows"), &json!("scripted")));
    assert!(one["tools"].is_boolean() && one["vision"].is_boolean(), "{one}");
    stage.get("/api/models/nobody%2Fx").await.fails(404, "model_not_found").says("nobody");
}
