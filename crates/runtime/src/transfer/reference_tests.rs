//! Tests of keys that are not taken along.

use agent_world_core::Timestamp;
use agent_world_core::ids::WorldId;

use super::*;

fn world(servers: Value) -> World {
    let mut world = World::new(WorldId::new("lab"), "lab", Timestamp::UNIX_EPOCH);
    world.mcp_servers = serde_json::from_value(servers).unwrap();
    world
}

fn example() -> World {
    world(json!({
        "git-hub": {
            "command": "npx",
            "args": ["server", "--token", "ghp_0123456789abcdefghijABCDEFGHIJ012345", "--verbose"],
            "env": {"LANG": "C", "GITHUB_TOKEN": "hunter2", "OTHER": "${OTHER}"},
        },
        "docs": {
            "url": "https://me:hunter2@example.com/mcp",
            "headers": {"X-Thing": "hunter2", "Authorization": "Bearer ${DOCS}"},
            "oauth": {"clientId": "me", "clientSecret": "hunter2"},
        },
        "plain": {"url": "https://example.com/mcp"},
    }))
}

#[test]
fn a_variable_is_named_where_a_key_stood() {
    let mut shown = example();
    let missing = replace_literals(&mut shown);
    let text = serde_json::to_string(&shown).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("ghp_"), "{text}");
    assert!(text.contains("Bearer ${DOCS}") && text.contains("${OTHER}"), "{text}");
    assert!(text.contains("--verbose") && text.contains("\"clientId\":\"me\""), "{text}");
    let names: Vec<&str> = missing.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "MCP_DOCS_HEADERS_X_THING",
            "MCP_DOCS_URL",
            "MCP_DOCS_OAUTH_CLIENTSECRET",
            "MCP_GIT_HUB_ENV_GITHUB_TOKEN",
            "MCP_GIT_HUB_ENV_LANG",
            "MCP_GIT_HUB_ARGS_2",
        ]
    );
    for one in &missing {
        assert!(text.contains(&format!("${{{}}}", one.name)), "{one:?}");
    }
    assert_eq!(replace_literals(&mut shown), [], "what is a variable stays one");
}

#[test]
fn settings_that_come_back_without_keys_do_not_lose_them() {
    let present = example();
    let mut back = example();
    replace_literals(&mut back);
    keep_literals(&mut back, &present);
    assert_eq!(back, present);
}

#[test]
fn a_key_that_was_changed_in_between_is_taken_over() {
    let present = example();
    let mut back = example();
    replace_literals(&mut back);
    let Some(McpServer { transport: McpTransport::Stdio { env, .. }, .. }) =
        back.mcp_servers.get_mut("git-hub")
    else {
        panic!("the server is of another kind");
    };
    env.insert("GITHUB_TOKEN".to_owned(), "${MINE}".to_owned());
    keep_literals(&mut back, &present);
    let text = serde_json::to_string(&back.mcp_servers["git-hub"]).unwrap();
    assert!(text.contains("${MINE}") && text.contains("ghp_"), "{text}");
}

#[test]
fn two_keys_never_share_a_name() {
    let mut shown = world(json!({
        "a-b": {"command": "x", "env": {"C": "one"}},
        "a_b": {"command": "x", "env": {"C": "two"}},
    }));
    let missing = replace_literals(&mut shown);
    assert_eq!(missing.len(), 2);
    assert_ne!(missing[0].name, missing[1].name);
}
