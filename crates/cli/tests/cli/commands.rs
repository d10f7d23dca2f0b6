//! Tests that commands about settings say the same whoever answers them: the bare store, a server beside them, a server
//! elsewhere with a token.

use std::fs;
use std::path::Path;

use expect_test::expect_file;
use serde_json::{Value, json};

use crate::both::{Place, all_of, everywhere, places, without_numbers_of_keys};
use crate::home::Home;
use crate::mcp::SERVER;
use crate::serve::address;

#[test]
fn worlds() {
    let told = all_of(&[
        &["world", "create", "lab", "--agent", "eve", "--name", "The lab", "--turn-limit", "7"],
        &["world", "create", "lab"],
        &["world", "list"],
        &["world", "show", "lab"],
        &["world", "update", "lab", "--description", "For tests", "--set", "result_limit=9000"],
        &["world", "update", "lab", "--description", "For tests"],
        &[
            "world",
            "update",
            "lab",
            "--unset",
            "turn_limit",
            "--preset",
            "read-only",
            "--sandbox",
            "off",
        ],
        &["world", "update", "lab", "--variable", "CITY=Oslo", "--set", "sandbox.hidden=[\"/x\"]"],
        &["world", "update", "lab", "--turn-limit", "3", "--if-version", "1"],
        &["world", "update", "lab", "--set", "turnlimit=3"],
        &["world", "update", "lab", "--set", "turn_limit=three"],
        &["world", "update", "lab"],
        &["world", "update", "lab", "--directory", "/does/not/exist"],
        &["world", "update", "none", "--sandbox", "off"],
        &["world", "show", "lab", "--json"],
        &["world", "delete", "lab"],
        &["world", "delete", "lab", "--yes"],
        &["world", "show", "lab"],
        &["world", "create", "spare", "--agent", "ada"],
        &["world", "delete", "spare", "--json"],
        &["world", "delete", "spare", "--yes", "--json"],
    ]);
    expect_file!["told/worlds.txt"].assert_eq(&told);
}

#[test]
fn agents() {
    let told = all_of(&[
        &["agent", "list"],
        &["agent", "create", "eve", "--model", "demo/demo", "--tools", "read_file,list_files"],
        &["agent", "create", "eve"],
        &["agent", "show", "eve"],
        &["agent", "update", "eve", "--temperature", "0.5", "--auto-reply", "off", "--tools", "*"],
        &[
            "agent",
            "update",
            "eve",
            "--unset",
            "temperature",
            "--instructions",
            "Be brief.",
            "--json",
        ],
        &["agent", "update", "eve", "--instructions", "Be brief."],
        &["agent", "update", "eve", "--name", "Eve", "--if-version", "1"],
        &["agent", "update", "eve"],
        &["agent", "update", "none", "--name", "x"],
        &["agent", "show", "none", "-w", "demo"],
        &["agent", "list", "-w", "none"],
        &["agent", "delete", "eve"],
        &["agent", "delete", "ada", "--yes"],
        &["agent", "delete", "eve", "--yes"],
        &["agent", "delete", "bob", "--yes", "--json"],
        &["agent", "list", "--json"],
    ]);
    expect_file!["told/agents.txt"].assert_eq(&told);
}

/// The id in the first object a command printed.
fn id_of(place: &Place, command: &[&str]) -> String {
    place.run(command).succeeded().json()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn chats() {
    let told = everywhere(&|place| {
        let chat = id_of(place, &["chat", "create", "--title", "Monday", "--json"]);
        let other = id_of(place, &["chat", "create", "--title", "Friday", "--json"]);
        place.run(&["world", "create", "lab", "--agent", "eve"]).succeeded();
        [
            &["chat", "list"][..],
            &["chat", "create", "-w", "lab", "--title", "Tuesday"],
            &["chat", "show", &chat],
            &["chat", "update", &chat, "--title", "Sunday"],
            &["chat", "show", &chat, "--json"],
            &["chat", "update", &chat, "-w", "lab", "--title", "Sunday"],
            &["chat", "delete", &chat],
            &["chat", "delete", &chat, "--yes"],
            &["chat", "delete", &other, "--yes", "--json"],
            &["chat", "show", &chat],
            &["chat", "list", "-w", "lab", "--json"],
            &["chat", "list", "--new"],
        ]
        .iter()
        .map(|command| place.told(command))
        .collect()
    });
    expect_file!["told/chats.txt"].assert_eq(&told);
}

#[test]
fn what_was_said_in_a_chat_is_shown() {
    let home = Home::new();
    home.run(&["send", "--approve", "all", "run echo out"]).succeeded();
    let chat = home.run(&["chat", "list", "--json"]).succeeded().json()[0]["id"].clone();
    let chat = chat.as_str().unwrap();
    let shown = home.run(&["chat", "show", chat]).succeeded();
    let shown = shown.says("human: run echo out").says("* ada: $ echo out");
    shown.says("  | out").says("ada: (I am the built-in demo model").does_not_say("ada: \n");
    let last = home.run(&["chat", "show", chat, "--messages", "1"]).succeeded();
    last.says("messages before; --messages shows more").does_not_say("human: run");
}

#[test]
fn tools() {
    let told = all_of(&[
        &["tool", "list"],
        &["tool", "show", "read_file"],
        &["tool", "show", "read_file", "--json"],
        &["tool", "show", "none"],
        &["tool", "list", "-w", "none"],
    ]);
    expect_file!["told/tools.txt"].assert_eq(&told);
}

fn rules() -> Value {
    json!({ "preset": "trusted", "rules": [
        { "id": "no-rm", "ruling": "deny", "tool": "shell_cmd", "command": { "program": "rm" },
          "description": "nothing is removed here" },
        { "id": "key", "ruling": "allow", "tool": "fetch_url",
          "matches": [{ "pointer": "/headers/api_key", "equals": "hunter2-in-a-rule" }] },
    ] })
}

#[test]
fn policies() {
    let told = everywhere(&|place| {
        let file = place.write("rules.json", &rules().to_string());
        let wrong = place.write("wrong.json", r#"{"rules": [{"id": "x", "rulling": "deny"}]}"#);
        let other = rules().to_string().replace("hunter2-in", "other-in");
        let other = place.write("other.json", &other);
        [
            &["policy", "show"][..],
            &["policy", "test", "--policy", &file, "--", "rm", "x"],
            &["policy", "set", &file, "--dry-run"],
            &["policy", "set", &wrong],
            &["policy", "set", &file],
            &["policy", "set", &file],
            // What is masked is changed all the same.
            &["policy", "set", &other],
            &["policy", "set", "--preset", "read-only", "--json"],
            &["policy", "show", "--json"],
            &["policy", "show"],
            &["policy", "test", "--", "rm", "x"],
            &["policy", "test", "--json", "--agent", "bob", "--", "ls"],
            &["policy", "test", "--agent", "none", "--", "ls"],
            &["policy", "test", "--tool", "none", "--arguments", "{}"],
            &["policy", "diff", &file],
            &["policy", "diff", &file, "--json"],
            &["policy", "diff", &file, "-w", "none"],
            &["policy", "list"],
            &["policy", "list", "--json"],
            &["policy", "delete"],
            &["policy", "delete", "--yes"],
            &["policy", "delete", "--yes", "--json"],
            &["policy", "create", &file],
            &["policy", "update", "--preset", "ask"],
            &["policy", "delete", "-w", "none", "--yes"],
            &["tool", "create", "x", "--json"],
            &["tool", "update", "shell_cmd", "--off"],
            &["tool", "delete", "shell_cmd", "--yes"],
        ]
        .iter()
        .map(|command| place.told(command))
        .collect()
    });
    assert!(!told.contains("hunter2"), "{told}");
    expect_file!["told/policies.txt"].assert_eq(&told);
}

/// As `mcp list` tells it, without how the servers are: a server has started them, the bare store has not.
fn without_health(place: &Place) -> String {
    let listed = place.run(&["mcp", "list", "--json"]).succeeded();
    let without = |mut server: Value| {
        server.as_object_mut().unwrap().remove("health");
        format!("{server}\n")
    };
    listed.json().into_iter().map(without).collect()
}

#[test]
fn servers() {
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let told = everywhere(&|place| {
        let text = json!({ "theme": "dark", "mcpServers": {
            "hub": { "command": "/no/such/program", "env": { "GITHUB_TOKEN": key, "LEVEL": "1" }, "disabled": true },
        } });
        let file = place.write("servers.json", &text.to_string());
        let before = [
            &["mcp", "list"][..],
            &["mcp", "add", "tiny", "--", "sh", "-c", SERVER, "--", "x"],
            &["mcp", "import", &file],
            &["import", &file],
            &["import", &file, "-w", "none"],
        ];
        let after = [
            &["mcp", "list", "--check"][..],
            &["mcp", "disable", "tiny"],
            &["mcp", "disable", "tiny"],
            &["mcp", "enable", "tiny"],
            &["mcp", "enable", "none"],
            &["mcp", "remove", "hub"],
            &["mcp", "remove", "hub"],
            &["mcp", "add", "gone", "--", "/no/such/program"],
            &["mcp", "list", "-w", "none"],
        ];
        let mut told: String = before.iter().map(|command| place.told(command)).collect();
        told.push_str(&without_numbers_of_keys(&without_health(place)));
        told.extend(after.iter().map(|command| place.told(command)));
        place.run(&["mcp", "list", "--check"]).with_code(1).says("/no/such/program");
        let quoted = json!(SERVER).to_string();
        let broken = SERVER.replace('\n', "\\n");
        told.replace(SERVER, "SERVER").replace(&broken, "SERVER").replace(&quoted, "\"SERVER\"")
    });
    assert!(!told.contains(key), "{told}");
    expect_file!["told/servers.txt"].assert_eq(&told);
}

#[test]
fn settings_in_folders() {
    let told = everywhere(&|place| {
        let folder = place.write("x", "");
        let folder = Path::new(&folder).with_file_name("lab");
        let path = folder.to_str().unwrap();
        place.run(&[
            "world",
            "create",
            "lab",
            "--agent",
            "ada",
            "--variable",
            "api_key=sk-1234567890abcdefgh",
        ]);
        let add =
            ["mcp", "add", "hub", "-w", "lab", "--env", "PLAIN=as-it-is", "--", "/no/such/program"];
        place.run(&add).succeeded();
        let mut told = place.told(&["export", "lab", "--folder", "--out", path]);
        told += &place.told(&["export", "lab", "--folder", "--out", path, "--json"]);
        told += &place.told(&["import", path, "--update"]);
        let file = folder.join("world.toml");
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("turn_limit = 9\n{text}")).unwrap();
        for command in [
            &["import", path, "--update", "--dry-run"][..],
            &["import", path, "--update"],
            &["import", path, "--update", "--json"],
            &["import", path],
            &["import", path, "--as", "second"],
            &["import", path, "--update", "--as", "none"],
            &["import", file.to_str().unwrap(), "--update"],
            &["export", "none", "--folder"],
        ] {
            told += &place.told(command);
        }
        fs::write(&file, format!("turnlimit = 9\n{text}")).unwrap();
        told + &place.told(&["import", path, "--update"])
    });
    expect_file!["told/settings_in_folders.txt"].assert_eq(&told);
}

#[test]
fn whole_worlds() {
    for place in places() {
        place.run(&["world", "create", "lab", "--agent", "ada"]).succeeded();
        let file = place.write("lab.json", "");
        place.run(&["export", "lab", "--out", &file]).succeeded().warns("only you can read it");
        let export = ["export", "lab", "--out", &file, "--force", "--json"];
        let told = place.run(&export).succeeded();
        assert_eq!(told.err, "");
        let expected = json!({"type": "export", "world_id": "lab", "form": "document", "path": file,
            "missing_secrets": []});
        assert_eq!(told.json(), [expected]);
        let printed = place.run(&["export", "lab", "--json"]).succeeded();
        let printed: Value = serde_json::from_str(&printed.out).unwrap();
        assert_eq!(printed["format"], "agent-world/world");
        place.run(&["import", &file]).with_code(1).warns("world lab exists already");
        place.run(&["world", "delete", "lab", "--yes"]).succeeded();
        place.run(&["import", &file]).succeeded().says("imported world lab with 1 chat");
        let wrong = place.write("wrong.json", r#"{"format": "agent-world/world"}"#);
        place.run(&["import", &wrong]).with_code(1).warns("wrong.json cannot be imported");
    }
}

#[test]
fn templates() {
    let told = all_of(&[
        &["world", "templates"],
        &["world", "templates", "--json"],
        &["world", "create", "p", "--template", "pair", "--model", "openai/gpt-5"],
        &["world", "create", "d", "--template", "debate"],
        &["world", "create", "c", "--template", "coder", "--network", "on"],
        &["world", "create", "o", "--template", "ops"],
        &["world", "create", "x", "--template", "none"],
        &["agent", "list", "-w", "p"],
        &["world", "show", "c"],
        &["policy", "test", "-w", "c", "--", "git push origin main && ls"],
        &["policy", "test", "-w", "c", "--", "git", "diff"],
        &[
            "policy",
            "test",
            "-w",
            "c",
            "--tool",
            "read_file",
            "--arguments",
            r#"{"path": "src/x.rs"}"#,
        ],
        &["policy", "test", "-w", "d", "--", "ls"],
        &["policy", "test", "-w", "o", "--", "df", "-h"],
        &["policy", "test", "-w", "o", "--", "systemctl", "restart", "x"],
        &[
            "policy",
            "test",
            "-w",
            "p",
            "--tool",
            "write_file",
            "--arguments",
            r#"{"path": "drafts/a.md", "content": ""}"#,
        ],
    ]);
    expect_file!["told/templates.txt"].assert_eq(&told);
}

#[test]
fn a_server_that_does_not_answer_or_wants_a_token_is_told_of_with_what_to_do() {
    let home = Home::new();
    let nobody = ["--server", "http://127.0.0.1:9", "world", "list"];
    let ended = home.run(&nobody).with_code(1).warns("nobody answers at http://127.0.0.1:9");
    ended.warns("`agent-world serve` starts a server");
    home.run(&["token", "create", "maria", "--role", "viewer"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    let named = [("AGENT_WORLD_URL", url.as_str()), ("AGENT_WORLD_TOKEN", "")];
    let ended = home.run_where(&named, &["world", "list"]).with_code(1);
    ended.warns("this needs a token").warns("commands take it from AGENT_WORLD_TOKEN");
    // Without the server being named, the owner of the store has the store.
    let unnamed = [("AGENT_WORLD_URL", ""), ("AGENT_WORLD_TOKEN", "")];
    home.run_where(&unnamed, &["world", "list"]).succeeded().says("demo");
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn a_token_of_a_lesser_role_changes_nothing() {
    let home = Home::new();
    let made = home.run(&["token", "create", "maria", "--role", "viewer", "--json"]).succeeded();
    let token = made.json()[0]["token"].as_str().unwrap().to_owned();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    let viewer = [("AGENT_WORLD_URL", url.as_str()), ("AGENT_WORLD_TOKEN", token.as_str())];
    home.run_where(&viewer, &["agent", "list", "-w", "demo"]).succeeded().says("ada");
    for command in [
        &["world", "create", "lab"][..],
        &["world", "update", "demo", "--turn-limit", "9"],
        &["world", "delete", "demo", "--yes"],
        &["agent", "create", "eve"],
        &["policy", "set", "--preset", "trusted"],
        &["mcp", "add", "x", "--", "y"],
        &["export", "demo"],
    ] {
        home.run_where(&viewer, command).with_code(1).warns("admin").says_nothing();
    }
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn a_template_uses_a_vendor_that_has_a_key() {
    let home = Home::new();
    let key = [("ANTHROPIC_API_KEY", ""), ("OPENAI_API_KEY", "sk-of-a-test")];
    let made = home.run_where(&key, &["world", "create", "lab", "--template", "pair"]).succeeded();
    made.says("they use openai/gpt-5, as openai has a key");
    let world = home.run(&["world", "show", "lab", "--json"]).succeeded().json().remove(0);
    assert_eq!(world["default_model"], "openai/gpt-5");
}
