//! Settings with values that nobody can mean: refused with the field's name, before anything is changed.

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, World};
use agent_world_core::ids::WorldId;
use agent_world_runtime::store::{WorldChange, WorldWrite};
use serde_json::{Value, json};

use super::settings_stage::Stage;

#[tokio::test]
async fn odd_values_are_refused_by_the_name_of_their_field() {
    let stage = Stage::open().await;
    stage.world().await;
    let before = stage.get("/api/worlds/w").await.is(200).text;
    let long = |count: usize| "x".repeat(count);
    let (world, agents, ada) =
        ("/api/worlds/w", "/api/worlds/w/agents", "/api/worlds/w/agents/ada");
    let servers = "/api/worlds/w/mcp-servers";
    let cases: Vec<(&str, &str, Value, &str)> = vec![
        ("PATCH", world, json!({"name": long(201)}), "name"),
        ("PATCH", world, json!({"description": long(20_001)}), "description"),
        ("PATCH", world, json!({"turn_limit": 0}), "turn_limit"),
        ("PATCH", world, json!({"max_iterations": 0}), "max_iterations"),
        ("PATCH", world, json!({"approval_timeout_seconds": 0}), "approval_timeout_seconds"),
        ("PATCH", world, json!({"default_model": ""}), "default_model"),
        ("PATCH", world, json!({"result_limit": 0}), "result_limit"),
        ("PATCH", world, json!({"main_agent": "zoe"}), "main_agent"),
        ("PATCH", world, json!({"variables": {"v": long(100_001)}}), "variables.v"),
        ("PATCH", world, json!({"mcp_servers": {"s": {"command": " "}}}), "mcp_servers.s.command"),
        ("POST", "/api/worlds", json!({"name": long(201)}), "name"),
        ("POST", agents, json!({"id": "bob", "temperature": 2.5}), "temperature"),
        ("PATCH", ada, json!({"temperature": -0.1}), "temperature"),
        ("PATCH", ada, json!({"name": long(201)}), "name"),
        ("PATCH", ada, json!({"instructions": long(200_001)}), "instructions"),
        ("PATCH", ada, json!({"max_output_tokens": 0}), "max_output_tokens"),
        ("PATCH", ada, json!({"reasoning_effort": ""}), "reasoning_effort"),
        ("PATCH", ada, json!({"model": ""}), "model"),
        ("PATCH", ada, json!({"tools": [""]}), "tools"),
        ("POST", servers, json!({"name": "s", "command": ""}), "command"),
        ("POST", servers, json!({"name": "s", "url": ""}), "url"),
        (
            "POST",
            servers,
            json!({"name": "s", "command": "x", "timeout_seconds": 0}),
            "timeout_seconds",
        ),
        ("POST", servers, json!({"mcpServers": {"s": {"command": ""}}}), "mcpServers.s.command"),
    ];
    for (method, path, body, field) in cases {
        let reply = stage.ask(method.parse().unwrap(), path, Some(body.to_string()), None).await;
        let reply = reply.fails(422, "settings_invalid").says(field);
        assert_eq!(reply.body["field"], field, "{}", reply.text);
    }
    assert_eq!(stage.get("/api/worlds/w").await.text, before);
    assert_eq!(stage.get("/api/worlds").await.body["data"].as_array().unwrap().len(), 1);
    for good in
        [json!({"temperature": 0}), json!({"temperature": 2.0}), json!({"temperature": null})]
    {
        stage.patch(ada, good).await.is(200);
    }
}

#[tokio::test]
async fn a_world_that_was_stored_with_such_values_is_read_and_changed_as_ever() {
    let stage = Stage::open().await;
    let mut old = World::new(WorldId::new("old"), "x".repeat(300), Timestamp::now());
    old.agents = vec![Agent { temperature: Some(9.0), ..Agent::new("ada") }];
    let change = WorldChange {
        entity: "world".to_owned(),
        action: "created".to_owned(),
        id: "old".to_owned(),
        by: "eve".to_owned(),
        at: Timestamp::now(),
        settings: None,
    };
    stage.store.write_world(WorldWrite { world: old, expected: None, change }).await.unwrap();
    let (world, ada) = ("/api/worlds/old", "/api/worlds/old/agents/ada");
    assert_eq!(stage.get(ada).await.is(200).body["temperature"], 9.0);
    stage.patch(world, json!({"description": "new"})).await.is(200);
    stage.patch(ada, json!({"instructions": "new"})).await.is(200);
    stage.patch(ada, json!({"temperature": 8.0})).await.fails(422, "settings_invalid");
    stage.patch(ada, json!({"temperature": 1.0})).await.is(200);
}
