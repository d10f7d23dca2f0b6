//! Worlds as clients make, read, change and delete them.

use std::os::unix::fs::PermissionsExt as _;

use agent_world_server::Role;
use reqwest::Method;
use serde_json::{Value, json};

use crate::settings_stage::Stage;

#[tokio::test]
async fn a_world_is_made_read_changed_and_deleted() {
    let stage = Stage::open().await;
    let made = stage
        .post("/api/worlds", json!({
            "name": "My World", "description": "d", "turn_limit": 7, "approval_timeout_seconds": 60,
            "variables": {"city": "Bonn"}, "default_model": "scripted/x", "sandbox": {"network": true},
            "agents": [{"name": "Ada Byron", "model": "scripted/ada"}, {"id": "bob", "auto_reply": false}],
            "policy": {"preset": "trusted"},
        }))
        .await
        .is(201);
    assert_eq!(made.location.as_deref(), Some("/api/worlds/my-world"));
    assert_eq!(made.tag.as_deref(), Some("\"1\""));
    let world = &made.body;
    assert_eq!((&world["id"], &world["version"]), (&json!("my-world"), &json!(1)));
    assert_eq!((&world["turn_limit"], &world["max_iterations"]), (&json!(7), &json!(10)));
    assert_eq!(world["main_agent"], Value::Null);
    assert_eq!(world["agents"][1]["auto_reply"], false);
    assert_eq!(world["policy"]["preset"], "trusted");
    assert_eq!(
        (&world["sandbox"]["network"], &world["sandbox"]["mode"]),
        (&json!(true), &json!("on"))
    );
    for field in
        ["title_model", "streaming", "result_limit", "mcp_servers", "after_denial", "created_at"]
    {
        assert!(world.get(field).is_some(), "{field}");
    }
    let read = stage.get("/api/worlds/my-world").await.is(200);
    assert_eq!((&read.body, &read.tag), (&made.body, &made.tag));

    let change = json!({"description": null, "turn_limit": null, "variables": {"city": null, "a": "b"},
        "main_agent": "bob", "sandbox": {"network": null, "mode": "off"}, "streaming": false});
    let changed = stage.patch("/api/worlds/my-world", change).await.is(200);
    assert_eq!(changed.tag.as_deref(), Some("\"2\""));
    assert_eq!(
        (&changed.body["description"], &changed.body["turn_limit"]),
        (&json!(""), &json!(5))
    );
    assert_eq!(changed.body["variables"], json!({"a": "b"}));
    assert_eq!(
        (&changed.body["main_agent"], &changed.body["name"]),
        (&json!("bob"), &json!("My World"))
    );
    assert_eq!(changed.body["sandbox"]["network"], false);
    assert_eq!(changed.body["sandbox"]["mode"], "off");
    assert_eq!(changed.body["approval_timeout_seconds"], 60);

    let same = stage.patch("/api/worlds/my-world", json!({"streaming": false})).await.is(200);
    assert_eq!(same.tag.as_deref(), Some("\"2\""), "nothing was changed, so nothing is counted");
    stage.delete("/api/worlds/my-world").await.is(204);
    stage.get("/api/worlds/my-world").await.fails(404, "world_not_found");
    stage.delete("/api/worlds/my-world").await.fails(404, "world_not_found");
    stage.patch("/api/worlds/my-world", json!({})).await.fails(404, "world_not_found");
}

#[tokio::test]
async fn a_world_without_an_id_gets_one_that_is_free() {
    let stage = Stage::open().await;
    let long = "x".repeat(80);
    for (name, id) in [
        ("Same", "same"),
        ("same!", "same-2"),
        ("SAME", "same-3"),
        ("日本", "world"),
        (&long, &long[..64]),
        (&long, &format!("{}-2", &long[..62])),
    ] {
        let made = stage.post("/api/worlds", json!({"name": name})).await.is(201);
        assert_eq!(made.body["id"], id);
    }
    stage.post("/api/worlds", json!({"id": "same", "name": "x"})).await.fails(409, "world_exists");
    // An address of the interface has that name.
    stage
        .post("/api/worlds", json!({"id": "import", "name": "x"}))
        .await
        .fails(409, "world_exists");
    let made = stage.post("/api/worlds", json!({"name": "Import"})).await.is(201);
    assert_eq!(made.body["id"], "import-2");
}

#[tokio::test]
async fn a_world_gets_a_folder_of_its_own_that_nobody_else_can_read() {
    let stage = Stage::open().await;
    let made = stage.post("/api/worlds", json!({"id": "w", "name": "W"})).await.is(201);
    let folder = made.body["working_directory"].as_str().unwrap();
    assert_eq!(folder, stage.path().join("data/workspace/w").to_str().unwrap());
    let mode = std::fs::metadata(folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    let bad = json!({"id": "../evil", "name": "W"});
    stage.post("/api/worlds", bad).await.fails(422, "settings_invalid");
    assert!(!stage.path().join("data/evil").exists());

    let project = stage.path().join("project");
    std::fs::create_dir(&project).unwrap();
    let body = json!({"id": "x", "name": "X", "working_directory": project});
    let made = stage.post("/api/worlds", body).await.is(201);
    assert_eq!(made.body["working_directory"], json!(project.canonicalize().unwrap()));
    for (folder, words) in [
        (stage.path().join("data"), "own data"),
        (stage.path().to_owned(), "own data"),
        (stage.path().join("nowhere"), "no folder that exists"),
        ("relative".into(), "from the root"),
    ] {
        let refused = stage.patch("/api/worlds/x", json!({"working_directory": folder})).await;
        let refused = refused.fails(422, "body_invalid").says(words);
        assert_eq!(refused.body["field"], "working_directory");
    }
    let without = Stage::with(|options| options.workspace = None).await;
    let made = without.post("/api/worlds", json!({"name": "W"})).await.is(201);
    assert_eq!(made.body["working_directory"], Value::Null);
}

#[tokio::test]
async fn what_does_not_fit_is_refused_and_named() {
    let stage = Stage::open().await;
    stage.world().await;
    for (body, field) in [
        (json!({}), json!("name")),
        (json!({"name": "  "}), json!("name")),
        (json!({"name": "x", "version": 3}), json!("version")),
        (json!({"name": "x", "turn_limit": "many"}), json!("turn_limit")),
        (json!({"name": "x", "turn_limit": -1}), json!("turn_limit")),
        (json!({"name": "x", "sandbox": {"mode": "loose"}}), json!("sandbox.mode")),
        (
            json!({"name": "x", "agents": [{"id": "a", "temperature": "hot"}]}),
            json!("agents[0].temperature"),
        ),
        (json!({"name": "x", "agents": [{}]}), json!("id")),
        (
            json!({"name": "x", "variables": {"k": "[secret masked: x, 3 characters]"}}),
            json!("variables.k"),
        ),
    ] {
        let refused = stage.post("/api/worlds", body).await.fails(422, "body_invalid");
        assert_eq!(refused.body["field"], field, "{}", refused.text);
    }
    for unknown in ["created_at", "updated_at", "chats"] {
        let refused = stage.patch("/api/worlds/w", json!({unknown: "x"})).await;
        refused.fails(422, "body_invalid").says(&format!("unknown field `{unknown}`"));
    }
    for (body, code, words) in [
        (json!({"turn_limit": 0}), "settings_invalid", "at least 1"),
        (json!({"main_agent": "nobody"}), "settings_invalid", "not an agent"),
        (json!({"agents": [{"id": "a"}, {"id": "A"}]}), "settings_invalid", "`A` cannot be the id"),
        (
            json!({"main_agent": null, "agents": [{"id": "a"}, {"id": "a"}]}),
            "settings_invalid",
            "two agents",
        ),
        (json!({"id": "other"}), "body_invalid", "cannot be changed"),
        (json!({"policy": {"rulez": []}}), "policy_invalid", "no field `rulez`"),
        (json!({"policy": {"preset": "lax"}}), "policy_invalid", "unknown variant `lax`"),
        (json!({"mcp_servers": null}), "body_invalid", "each with null"),
        (json!({"mcp_servers": {"s": {}}}), "mcp_server_invalid", "needs a `command`"),
        (
            json!({"mcp_servers": {"s": {"command": "x", "url": "y"}}}),
            "mcp_server_invalid",
            "either",
        ),
    ] {
        stage.patch("/api/worlds/w", body).await.fails(422, code).says(words);
    }
    let patch = |body: &str| stage.ask(Method::PATCH, "/api/worlds/w", Some(body.to_owned()), None);
    patch("{").await.fails(400, "json_invalid");
    patch("{} {}").await.fails(400, "json_invalid");
    patch("[]").await.fails(422, "body_invalid");
    patch(r#"{"name": "a", "name": "b"}"#).await.fails(422, "body_invalid").says("duplicate field");
    patch(r#"{"policy": {"rules": [], "rules": []}}"#)
        .await
        .fails(422, "body_invalid")
        .says("twice");
    let without_type = stage.ask(Method::PATCH, "/api/worlds/w", None, None).await;
    without_type.fails(415, "not_json");
    let read = stage.get("/api/worlds/w").await.is(200);
    assert_eq!(read.body["version"], 1, "none of it was stored");
}

#[tokio::test]
async fn a_stale_change_is_refused_with_the_present_version() {
    let stage = Stage::open().await;
    stage.world().await;
    let patch = |body: Value, tag: Option<&'static str>| {
        let stage = &stage;
        async move { stage.ask(Method::PATCH, "/api/worlds/w", Some(body.to_string()), tag).await }
    };
    patch(json!({"name": "A"}), Some("\"1\"")).await.is(200);
    let stale = patch(json!({"name": "B"}), Some("\"1\"")).await.fails(409, "version_conflict");
    assert_eq!(stale.body["version"], 2);
    patch(json!({"name": "B", "version": 1}), None).await.fails(409, "version_conflict");
    patch(json!({"name": "B"}), Some("never given")).await.fails(409, "version_conflict");
    patch(json!({"name": "B", "version": 1}), Some("\"2\"")).await.fails(409, "version_conflict");
    patch(json!({"name": "C", "version": 2}), None).await.is(200);
    patch(json!({"name": "D"}), Some("\"1\", \"3\"")).await.is(200);
    patch(json!({"name": "E"}), Some("*")).await.is(200);
    let delete = |tag| stage.ask(Method::DELETE, "/api/worlds/w", None, Some(tag));
    delete("\"4\"").await.fails(409, "version_conflict");
    delete("\"5\"").await.is(204);
}

#[tokio::test]
async fn changes_of_different_settings_at_the_same_time_are_all_kept() {
    let stage = Stage::on_disk().await;
    stage.world().await;
    let changes = (0..24).map(|number| {
        let body = json!({"variables": {format!("v{number}"): number.to_string()}});
        stage.patch("/api/worlds/w", body)
    });
    for changed in futures::future::join_all(changes).await {
        changed.is(200);
    }
    let read = stage.get("/api/worlds/w").await.is(200);
    assert_eq!(read.body["variables"].as_object().unwrap().len(), 24, "{}", read.text);
    assert_eq!(read.body["version"], 25);
}

#[tokio::test]
async fn worlds_are_listed_page_by_page() {
    let stage = Stage::open().await;
    for id in ["c", "a", "b"] {
        stage.post("/api/worlds", json!({"id": id, "name": id})).await.is(201);
    }
    let ids = |body: &Value| -> Vec<String> {
        let id = |world: &Value| world["id"].as_str().unwrap().to_owned();
        body["data"].as_array().unwrap().iter().map(id).collect()
    };
    let first = stage.get("/api/worlds?limit=2").await.is(200).body;
    assert_eq!((ids(&first), &first["next"]), (vec!["a".into(), "b".into()], &json!("b")));
    let second = stage.get("/api/worlds?limit=2&after=b").await.is(200).body;
    assert_eq!((ids(&second), &second["next"]), (vec!["c".into()], &Value::Null));
    for query in ["limit=x", "limit=-1", "page=2", "limit=1&limit=2"] {
        stage.get(&format!("/api/worlds?{query}")).await.fails(422, "query_invalid");
    }
}

#[tokio::test]
async fn no_secret_of_a_world_is_shown() {
    let stage = Stage::open().await;
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let body = json!({
        "id": "w", "name": "W", "variables": {"api_key": "hunter2", "city": "Bonn"},
        "mcp_servers": {
            "hub": {"command": "/no/such/program", "env": {"GITHUB_TOKEN": key, "LEVEL": "velvet"}},
        },
        "policy": {"rules": [{"id": "r", "ruling": "deny", "tool": "act",
            "matches": [{"pointer": "/password", "equals": "s3cret"}]}]},
    });
    let made = stage.post("/api/worlds", body).await.is(201);
    let listed = stage.get("/api/worlds").await.is(200);
    let read = stage.get("/api/worlds/w").await.is(200);
    for reply in [made, listed, read] {
        let reply = reply.says("Bonn").says("(set)").says("${MCP_W_HUB_GITHUB_TOKEN_0}");
        reply
            .does_not_say(key)
            .does_not_say("hunter2")
            .does_not_say("velvet")
            .does_not_say("s3cret");
    }
    let stored = stage.store.worlds().await.unwrap();
    assert!(!serde_json::to_string(&stored).unwrap().contains(key));
    assert_eq!(stage.kept(), [format!("MCP_W_HUB_GITHUB_TOKEN_0={key}")]);
    stage.delete("/api/worlds/w").await.is(204);
    assert!(stage.secrets.keys.lock().unwrap().is_empty());
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn each_role_may_do_what_it_is_for() {
    let admin = Stage::open().await;
    admin.world().await;
    for role in [Role::Viewer, Role::Member, Role::Approver] {
        let stage = admin.seen_by(role).await;
        stage.get("/api/worlds").await.is(200);
        stage.get("/api/worlds/w").await.is(200);
        stage
            .post("/api/worlds", json!({"name": "x"}))
            .await
            .fails(403, "forbidden")
            .says(role.name());
        stage.patch("/api/worlds/w", json!({"name": "x"})).await.fails(403, "forbidden");
        stage.delete("/api/worlds/w").await.fails(403, "forbidden");
        stage.post("/api/worlds/w/agents", json!({"id": "x"})).await.fails(403, "forbidden");
        stage.patch("/api/worlds/w/agents/ada", json!({})).await.fails(403, "forbidden");
        stage.delete("/api/worlds/w/agents/ada").await.fails(403, "forbidden");
        stage.put("/api/worlds/w/policy", json!({})).await.fails(403, "forbidden");
        stage
            .post("/api/worlds/w/mcp-servers", json!({"name": "x", "command": "x"}))
            .await
            .fails(403, "forbidden");
        stage.delete("/api/worlds/w/mcp-servers?name=x").await.fails(403, "forbidden");
        stage.delete("/api/worlds/w/mcp-servers/x").await.fails(403, "forbidden");
        stage.post("/api/worlds/w/mcp-servers/x/restart", json!({})).await.fails(403, "forbidden");
        for path in ["agents", "agents/ada", "policy", "tools", "mcp-servers", "stats"] {
            stage.get(&format!("/api/worlds/w/{path}")).await.is(200);
        }
        stage.get("/api/audit").await.is(200);
        let rule = stage.delete("/api/worlds/w/policy/rules/none").await;
        match role {
            Role::Approver => rule.fails(404, "rule_not_found"),
            _ => rule.fails(403, "forbidden"),
        };
    }
}

#[tokio::test]
async fn names_that_nobody_has_are_not_found_whatever_they_are() {
    let stage = Stage::open().await;
    stage.world().await;
    let long = "x".repeat(10_000);
    for name in ["none", "%00", "%FF", "%2e%2e", "%2F", "a%20b", "%F0%9F%8C%8D", "W", &long] {
        for path in ["", "/agents", "/policy", "/tools", "/mcp-servers", "/stats"] {
            // Clients take this one for a step up, and there are statistics of all worlds.
            if (name, path) != ("%2e%2e", "/stats") {
                stage.get(&format!("/api/worlds/{name}{path}")).await.is(404);
            }
        }
        for path in ["agents", "mcp-servers"] {
            stage.get(&format!("/api/worlds/w/{path}/{name}")).await.is(404);
            stage.delete(&format!("/api/worlds/w/{path}/{name}")).await.is(404);
        }
        stage.delete(&format!("/api/worlds/w/policy/rules/{name}")).await.is(404);
        stage.post(&format!("/api/worlds/w/mcp-servers/{name}/restart"), json!({})).await.is(404);
        stage.delete(&format!("/api/worlds/{name}")).await.is(404);
        stage.patch(&format!("/api/worlds/{name}"), json!({"name": "x"})).await.is(404);
        stage.put(&format!("/api/worlds/{name}/policy"), json!({})).await.is(404);
        stage.patch(&format!("/api/worlds/w/agents/{name}"), json!({})).await.is(404);
    }
}
