//! Tools of a world, and the MCP servers they come from, as clients add, look at, restart and remove them.

use std::sync::{Arc, Barrier};

use reqwest::Method;
use serde_json::{Value, json};

use crate::settings_stage::Stage;

const SERVERS: &str = "/api/worlds/w/mcp-servers";
const KEY: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

/// A server that speaks just enough of the protocol, in the shell. Its version is the length of its key.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"tiny","version":"%s"}}}\n' "$id" "$(printf '%s' "$API_KEY" | wc -c | tr -d ' ')" ;;
    *'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"now","description":"Tells the time.","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
    *'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
  esac
done
"#;

fn tiny(key: &str) -> Value {
    json!({"name": "tiny", "command": "sh", "args": ["-c", SERVER], "env": {"API_KEY": key}})
}

#[tokio::test]
async fn a_server_is_added_started_with_its_key_restarted_and_removed() {
    let stage = Stage::open().await;
    stage.world().await;
    let added = stage.post(SERVERS, tiny("sk-0123456789abcdef0123456789")).await.is(201);
    assert_eq!((&added.body["name"], added.tag.as_deref()), (&json!("tiny"), Some("\"2\"")));
    assert_eq!(added.body["env"]["API_KEY"], "${MCP_W_TINY_API_KEY_0}");

    // Asking for tools waits until the server is ready.
    let tools = stage.get("/api/worlds/w/tools").await.is(200).body;
    let tools = tools["data"].as_array().unwrap();
    let own = tools.iter().find(|tool| tool["name"] == "act").unwrap();
    assert_eq!((&own["source"], &own["location"]), (&json!("built_in"), &json!("server")));
    assert_eq!((&own["approval"]["required"], &own["offered_to"]), (&json!(true), &json!(["ada"])));
    assert_eq!(own["schema"]["required"], json!(["what"]));
    let its = tools.iter().find(|tool| tool["source"] == "mcp_server").unwrap();
    assert_eq!(
        (&its["source_name"], &its["description"]),
        (&json!("tiny"), &json!("Tells the time."))
    );

    let listed = stage.get(SERVERS).await.is(200).body;
    let health = &listed["data"][0]["health"];
    assert_eq!((&health["state"], &health["tools"]), (&json!("ready"), &json!(1)), "{listed}");
    assert_eq!(health["server_version"], "29", "it was given the key that was put away");

    // Another key is another setting, and reaches the server.
    let replaced = stage.post(SERVERS, tiny("sk-0123456789abcdef")).await.is(200);
    assert_eq!(replaced.tag.as_deref(), Some("\"3\""));
    assert_eq!(stage.kept(), ["MCP_W_TINY_API_KEY_1=sk-0123456789abcdef"]);
    let version = || async {
        loop {
            stage.get("/api/worlds/w/tools").await.is(200);
            let one = stage.get(&format!("{SERVERS}/tiny")).await.is(200).body;
            if one["health"]["state"] == "ready" && one["health"]["server_version"] != "29" {
                break one["health"]["server_version"].clone();
            }
            tokio::task::yield_now().await;
        }
    };
    assert_eq!(version().await, "19");

    let restarted = stage.post(&format!("{SERVERS}/tiny/restart"), json!({})).await.is(202);
    assert_eq!(restarted.body["name"], "tiny");
    stage.delete(&format!("{SERVERS}/tiny")).await.is(204);
    stage.delete(&format!("{SERVERS}/tiny")).await.fails(404, "mcp_server_not_found");
    stage.get(&format!("{SERVERS}/tiny")).await.fails(404, "mcp_server_not_found");
    let gone = stage.post(&format!("{SERVERS}/tiny/restart"), json!({})).await;
    gone.fails(404, "mcp_server_not_found");
    assert!(stage.secrets.keys.lock().unwrap().is_empty());
    assert_eq!(stage.get(SERVERS).await.body["data"], json!([]));
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn several_servers_are_added_as_other_programs_write_them() {
    let stage = Stage::open().await;
    stage.world().await;
    let body = json!({"mcpServers": {
        "hub": {"command": "/no/such/program", "env": {"GITHUB_TOKEN": KEY, "LEVEL": "private"}, "autoApprove": ["x"]},
        "wiki": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": format!("Bearer {KEY}")},
            "disabled": true},
    }});
    let added = stage.post(SERVERS, body).await.is(201).does_not_say(KEY).does_not_say("private");
    let names: Vec<&Value> =
        added.body["data"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["hub", "wiki"]);
    assert_eq!(added.body["data"][0]["autoApprove"], json!(["x"]));
    assert_eq!(added.body["data"][0]["env"]["LEVEL"], "(set)");
    let page = stage.get(&format!("{SERVERS}?limit=1")).await.is(200).does_not_say(KEY).body;
    assert_eq!((&page["data"][0]["name"], &page["next"]), (&json!("hub"), &json!("hub")));
    let page = stage.get(&format!("{SERVERS}?after=hub")).await.is(200).does_not_say(KEY).body;
    assert_eq!((&page["data"][0]["name"], &page["next"]), (&json!("wiki"), &Value::Null));
    assert_eq!(page["data"][0]["health"]["state"], "stopped");
    stage
        .post(&format!("{SERVERS}/wiki/restart"), json!({}))
        .await
        .fails(409, "mcp_server_disabled");

    // What was shown can be sent back: what was not shown is kept.
    let hub = stage.get(&format!("{SERVERS}/hub")).await.is(200).body;
    let again =
        json!({"name": "hub", "command": "/no/such/program", "env": hub["env"], "trusted": true});
    stage.post(SERVERS, again).await.is(200).does_not_say(KEY);
    let stored = stage.store.worlds().await.unwrap();
    let stored = serde_json::to_value(&stored[0].mcp_servers["hub"]).unwrap();
    assert_eq!((&stored["env"]["LEVEL"], &stored["trusted"]), (&json!("private"), &json!(true)));
    assert_eq!(stored["env"]["GITHUB_TOKEN"], "${MCP_W_HUB_GITHUB_TOKEN_0}");

    stage.patch("/api/worlds/w", json!({"mcp_servers": {"hub": null}})).await.is(200);
    let names: Vec<String> = stage.secrets.keys.lock().unwrap().keys().cloned().collect();
    assert_eq!(names, ["MCP_W_WIKI_AUTHORIZATION_1"]);
    stage.delete(&format!("{SERVERS}?name=wiki")).await.is(204);
    stage.delete(&format!("{SERVERS}?name=wiki")).await.fails(404, "mcp_server_not_found");
    stage.delete(SERVERS).await.fails(422, "query_invalid").says("name");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn what_is_no_server_is_refused() {
    let stage = Stage::open().await;
    stage.world().await;
    stage.post(SERVERS, tiny("sk-0123456789abcdef0123456789")).await.is(201);
    for (body, code, words) in [
        (json!({}), "body_invalid", "`name`"),
        (json!({"name": "x"}), "mcp_server_invalid", "needs a `command`"),
        (json!({"name": " ", "command": "x"}), "mcp_server_invalid", "has no name"),
        (json!({"name": "x", "command": "x", "url": "y"}), "mcp_server_invalid", "either"),
        (json!({"name": "x", "command": "x", "mcpServers": {}}), "body_invalid", "not both"),
        (json!({"name": "x", "type": "sse", "url": "http://x"}), "mcp_server_invalid", "sse"),
        (json!({"name": "x", "command": "x", "colour": 1}), "body_invalid", "colour"),
        (json!({"name": "x", "command": ["x"]}), "body_invalid", "command"),
        (json!({"mcpServers": {"x": {"command": 3}}}), "mcp_server_invalid", "server `x`"),
        (
            json!({"name": "x", "command": "x", "env": {"API_KEY": "(set)"}}),
            "mcp_server_invalid",
            "no value for `API_KEY`",
        ),
        (
            json!({"name": "x", "command": "x", "env": {"A": "${MCP_W_TINY_API_KEY_0}"}}),
            "mcp_server_invalid",
            "put away",
        ),
        (
            json!({"name": "x", "command": "x", "args": ["${MCP_W_TINY_API_KEY_0}"]}),
            "mcp_server_invalid",
            "put away",
        ),
        (
            json!({"name": "x", "command": "x", "args": ["[secret masked: a]"]}),
            "mcp_server_invalid",
            "masked secret",
        ),
    ] {
        stage.post(SERVERS, body).await.fails(422, code).says(words);
    }
    let body = Some(tiny("sk-other-0123456789abcdef").to_string());
    let stale = stage.ask(Method::POST, SERVERS, body, Some("\"1\"")).await;
    stale.fails(409, "version_conflict");
    let kept = ["MCP_W_TINY_API_KEY_0=sk-0123456789abcdef0123456789"];
    assert_eq!(stage.kept(), kept, "a refused change leaves keys alone");
    for path in [SERVERS.to_owned() + "?name=tiny", SERVERS.to_owned() + "/tiny"] {
        stage.ask(Method::DELETE, &path, None, Some("\"1\"")).await.fails(409, "version_conflict");
    }
    let elsewhere = "/api/worlds/none/mcp-servers";
    stage.post(elsewhere, tiny(KEY)).await.fails(404, "world_not_found");
    assert_eq!(stage.secrets.keys.lock().unwrap().len(), 1);
    stage.engine.shutdown().await;
}

/// Two keys that are put away before either's settings are stored.
fn two_keys() -> [String; 2] {
    ["a", "b"].map(|one| format!("sk-{}", one.repeat(29)))
}

/// The key that a server of world `w` would be started with.
async fn in_force(stage: &Stage, world: &str) -> String {
    let shown = stage.get(&format!("/api/worlds/{world}/mcp-servers/x")).await.is(200).body;
    let named = shown["env"]["API_KEY"].as_str().unwrap().to_owned();
    let keys = stage.secrets.keys.lock().unwrap();
    keys[named.trim_start_matches("${").trim_end_matches('}')].clone()
}

#[tokio::test]
async fn of_worlds_made_at_once_the_one_that_is_made_has_its_own_key() {
    let stage = Stage::on_disk().await;
    *stage.secrets.meeting.lock().unwrap() = Some(Arc::new(Barrier::new(2)));
    for number in 0..8 {
        let id = format!("w{number}");
        let make = |key: String| {
            let server = json!({"command": "/no/such/program", "env": {"API_KEY": key}});
            let body = json!({"id": id, "name": "W", "mcp_servers": {"x": server}});
            stage.post("/api/worlds", body)
        };
        let [first, second] = two_keys();
        let (one, other) = tokio::join!(make(first.clone()), make(second.clone()));
        let (winner, loser) = if one.status == 201 { (first, other) } else { (second, one) };
        loser.fails(409, "world_exists");
        assert_eq!(in_force(&stage, &id).await, winner);
        assert_eq!(stage.kept().len(), number + 1, "what was refused leaves nothing behind");
    }
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn of_servers_changed_at_once_for_one_version_the_one_that_is_stored_has_its_own_key() {
    let stage = Stage::on_disk().await;
    stage.world().await;
    let server =
        |key: &str| json!({"name": "x", "command": "/no/such/program", "env": {"API_KEY": key}});
    let mut tag = stage.post(SERVERS, server("${NONE}")).await.is(201).tag.unwrap();
    *stage.secrets.meeting.lock().unwrap() = Some(Arc::new(Barrier::new(2)));
    for _ in 0..8 {
        let keys = two_keys();
        let send =
            |key: &str| stage.ask(Method::POST, SERVERS, Some(server(key).to_string()), Some(&tag));
        let (one, other) = tokio::join!(send(&keys[0]), send(&keys[1]));
        let (winner, place, loser) =
            if one.status == 200 { (one, 0, other) } else { (other, 1, one) };
        loser.fails(409, "version_conflict");
        tag = winner.is(200).tag.unwrap();
        assert_eq!(in_force(&stage, "w").await, keys[place]);
        assert_eq!(stage.kept().len(), 1, "neither the old nor the refused one stays");
    }
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn a_key_that_is_kept_does_not_go_to_another_host_or_program() {
    let stage = Stage::open().await;
    stage.world().await;
    let http = |url: &str, key: &str| json!({"name": "h", "url": url, "disabled": true, "headers": {"Authorization": key, "Level": "(set)"}});
    let mut first = http("https://one.example/mcp", &format!("Bearer {KEY}"));
    first["headers"]["Level"] = json!("1");
    let added = stage.post(SERVERS, first).await.is(201);
    let named = added.body["headers"]["Authorization"].as_str().unwrap().to_owned();
    for url in [
        "https://two.example/mcp",
        "https://one.example:8443/mcp",
        "http://one.example/mcp",
        "https://one.example.two.example/mcp",
        "https://one.example@two.example/mcp",
    ] {
        for key in ["(set)", &named] {
            let refused = stage.post(SERVERS, http(url, key)).await;
            refused.fails(422, "mcp_server_invalid").says("Authorization").says("again");
            let patch =
                json!({"mcp_servers": {"h": {"url": url, "headers": {"Authorization": key}}}});
            let refused = stage.patch("/api/worlds/w", patch).await;
            refused.fails(422, "mcp_server_invalid").says("Authorization").says("again");
        }
    }
    let program = json!({"name": "h", "command": "curl", "env": {"Authorization": "(set)"}});
    stage.post(SERVERS, program).await.fails(422, "mcp_server_invalid").says("again");
    assert_eq!(stage.kept(), [format!("MCP_W_H_AUTHORIZATION_0=Bearer {KEY}")]);

    // Another path of the same host, and another host with a key of its own.
    stage.post(SERVERS, http("https://ONE.example:443/other", "(set)")).await.is(200);
    let mut moved =
        http("https://two.example/mcp", "Bearer ghp_9876543210abcdefghijABCDEFGHIJ012345");
    stage.post(SERVERS, moved.clone()).await.fails(422, "mcp_server_invalid").says("`Level`");
    moved["headers"]["Level"] = json!("2");
    stage.post(SERVERS, moved).await.is(200);
    assert_eq!(stage.kept().len(), 1);

    let written = |command: &str, key: &str| json!({"name": "c", "command": command, "args": ["x"], "env": {"API_KEY": key}});
    stage.post(SERVERS, written("/no/such/program", KEY)).await.is(201);
    stage
        .post(SERVERS, written("/no/other", "(set)"))
        .await
        .fails(422, "mcp_server_invalid")
        .says("`API_KEY`");
    // An interpreter with other arguments, or in another folder, runs another program.
    for (field, value) in [("args", json!(["y"])), ("cwd", json!("/tmp"))] {
        let mut other = written("/no/such/program", "(set)");
        other[field] = value;
        stage.post(SERVERS, other).await.fails(422, "mcp_server_invalid").says("`API_KEY`");
    }
    stage.post(SERVERS, written("/no/such/program", "(set)")).await.is(200);

    // Variables say where a program is looked for and whom it calls.
    let with = |variable: &str, value: &str| {
        let mut other = written("/no/such/program", "(set)");
        other["env"][variable] = json!(value);
        other
    };
    let path_like_a_key = format!("/tmp/{KEY}");
    for (variable, value) in
        [("PYTHONPATH", "/tmp"), ("BASE_URL", "https://two.example"), ("PATH", &path_like_a_key)]
    {
        let refused = stage.post(SERVERS, with(variable, value)).await;
        refused.fails(422, "mcp_server_invalid").says("`API_KEY`");
    }
    stage.post(SERVERS, with("GITHUB_TOKEN", KEY)).await.is(200);
    let mut anew = with("BASE_URL", "https://one.example");
    anew["env"]["API_KEY"] = json!(KEY);
    stage.post(SERVERS, anew).await.is(200);
    stage.post(SERVERS, with("BASE_URL", "(set)")).await.is(200);
    let without = stage.post(SERVERS, written("/no/such/program", "(set)")).await;
    without.fails(422, "mcp_server_invalid").says("`API_KEY`");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn what_was_shown_masked_stays_as_it_is_when_it_is_sent_as_it_was_shown() {
    let stage = Stage::open().await;
    stage.world().await;
    let written = json!({"name": "c", "command": "/no/such/program", "args": ["--token", KEY], "disabled": true});
    let shown = stage.post(SERVERS, written).await.is(201).body;
    let args = shown["args"].clone();
    assert!(!args.to_string().contains(KEY) && args.to_string().contains("masked"), "{args}");
    let mut again = json!({"name": "c", "command": "/no/such/program", "args": args, "timeout_seconds": 7, "disabled": true});
    assert_eq!(stage.post(SERVERS, again.clone()).await.is(200).body["args"], args);
    let world = stage.engine.store().world(&"w".into()).await.unwrap().unwrap();
    let kept = &world.mcp_servers["c"];
    assert_eq!(kept.timeout_seconds, Some(7));
    assert!(format!("{:?}", json!(kept)).contains(KEY));
    again["args"][0] = json!("--other");
    stage.post(SERVERS, again).await.fails(422, "mcp_server_invalid").says("masked secret");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn a_key_that_is_kept_does_not_follow_its_world_to_another_folder() {
    let stage = Stage::open().await;
    stage.world().await;
    let written = |name: &str, cwd: Option<&str>, key: &str| {
        let mut server = json!({"command": "/no/such/program", "env": {"API_KEY": key}});
        server["cwd"] = json!(cwd);
        (name.to_owned(), server)
    };
    let change = |servers: Vec<(String, Value)>| {
        let servers: serde_json::Map<_, _> = servers.into_iter().collect();
        json!({ "working_directory": "/usr", "mcp_servers": servers })
    };
    let add = |servers: Vec<(String, Value)>| {
        let mut body = change(servers);
        body.as_object_mut().unwrap().remove("working_directory");
        body
    };
    let both = vec![written("here", None, KEY), written("there", Some("/tmp"), KEY)];
    stage.patch("/api/worlds/w", add(both)).await.is(200);
    for servers in
        [vec![], vec![written("here", None, "(set)")], vec![written("here", Some("/usr"), "(set)")]]
    {
        let refused = stage.patch("/api/worlds/w", change(servers)).await;
        refused.fails(422, "mcp_server_invalid").says("`here`").says("`API_KEY`");
    }
    stage.patch("/api/worlds/w", change(vec![written("here", None, KEY)])).await.is(200);
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn a_server_that_is_switched_off_and_on_again_keeps_its_key() {
    let stage = Stage::open().await;
    stage.world().await;
    stage.post(SERVERS, tiny(KEY)).await.is(201);
    let (one, kept) = (format!("{SERVERS}/tiny"), stage.kept());
    let has_tool = || async {
        let tools = stage.get("/api/worlds/w/tools").await.is(200).body;
        tools["data"].as_array().unwrap().iter().any(|tool| tool["source"] == "mcp_server")
    };
    assert!(has_tool().await);

    let off = stage.patch(&one, json!({"disabled": true})).await.is(200);
    assert_eq!((&off.body["disabled"], off.tag.as_deref()), (&json!(true), Some("\"3\"")));
    assert!(!has_tool().await);
    stage.post(&format!("{one}/restart"), json!({})).await.fails(409, "mcp_server_disabled");
    stage.patch(&one, json!({"disabled": false})).await.is(200);
    assert!(has_tool().await);
    assert_eq!(stage.kept(), kept);

    for wrong in [json!({}), json!({"disabled": "no"}), json!({"disabled": true, "env": {}})] {
        stage.patch(&one, wrong).await.fails(422, "body_invalid");
    }
    let stale =
        stage.ask(Method::PATCH, &one, Some(r#"{"disabled": true}"#.to_owned()), Some("\"3\""));
    stale.await.fails(409, "version_conflict");
    let none = stage.patch(&format!("{SERVERS}/none"), json!({"disabled": true})).await;
    none.fails(404, "mcp_server_not_found");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn without_a_place_for_keys_none_is_taken_and_without_servers_none_is_restarted() {
    let stage = Stage::with(|options| {
        options.secrets = None;
        options.mcp = None;
    })
    .await;
    stage.world().await;
    stage.post(SERVERS, tiny(KEY)).await.fails(422, "keys_not_kept").does_not_say(KEY);
    let body = json!({"mcp_servers": {"x": {"command": "x", "env": {"API_KEY": KEY}}}});
    stage.patch("/api/worlds/w", body).await.fails(422, "keys_not_kept").does_not_say(KEY);
    let named = json!({"name": "x", "command": "/no/such/program", "env": {"API_KEY": "${KEY}"}});
    let added = stage.post(SERVERS, named).await.is(201);
    assert_eq!(
        (&added.body["health"], &added.body["env"]["API_KEY"]),
        (&Value::Null, &json!("${KEY}"))
    );
    stage.post(&format!("{SERVERS}/x/restart"), json!({})).await.fails(409, "mcp_unavailable");
    stage.engine.shutdown().await;
}

#[tokio::test]
async fn tools_are_listed_page_by_page() {
    let stage = Stage::open().await;
    stage.world().await;
    let first = stage.get("/api/worlds/w/tools?limit=1").await.is(200).body;
    assert_eq!((&first["data"][0]["name"], &first["next"]), (&json!("act"), &json!("act")));
    let second = stage.get("/api/worlds/w/tools?after=act").await.is(200).body;
    assert!(second["data"].as_array().unwrap().iter().all(|tool| tool["name"] != "act"));
    assert_eq!(second["next"], Value::Null);
    stage.get("/api/worlds/w/tools?limit=x").await.fails(422, "query_invalid");
}
