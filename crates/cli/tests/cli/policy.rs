//! Tests of showing, changing and trying what agents may do.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::home::Home;

fn rules() -> Value {
    json!({ "preset": "ask", "rules": [
        {
            "id": "no-rm", "ruling": "deny", "tool": "shell_cmd", "command": { "program": "rm" },
            "description": "nothing is removed here",
            "examples": { "must_match": [
                { "tool": "shell_cmd", "arguments": { "command": "rm", "parameters": ["-r", "x"] } },
            ] },
        },
        {
            "id": "reads", "ruling": "allow", "tool": "*", "agent": "ada",
            "annotations": { "read_only": true },
        },
        { "id": "touch", "ruling": "allow", "tool": "shell_cmd", "command": { "program": "touch" } },
    ] })
}

#[test]
fn a_policy_is_set_shown_and_obeyed() {
    let home = Home::new();
    home.run(&["policy", "show"]).succeeded().says("preset ask").says("no rules").warns("created");
    let file = home.write("rules.json", &rules().to_string());
    let dry = home.run(&["policy", "set", &file, "--dry-run"]).succeeded();
    dry.says("+ deny   shell_cmd with command `rm`  (no-rm)").says("nothing was changed");
    home.run(&["policy", "show"]).succeeded().says("no rules");
    let set = home.run(&["policy", "set", &file]).succeeded();
    set.says("+ allow  * with a tool that is read-only by ada  (reads)").says("from now on");
    let shown = home.run(&["policy", "show", "-w", "demo"]).succeeded();
    shown.says("1  deny   shell_cmd").says("nothing is removed here").says("3  allow  shell_cmd");
    home.run(&["send", "run touch made"]).succeeded();
    assert!(home.file("made").exists(), "the rule allows it");
    home.run(&["send", "--approve", "all", "run rm made"]).succeeded().says("denied");
    assert!(home.file("made").exists(), "no approval brings back what a rule denies");
    let changes = home.run(&["audit", "--kind", "changed", "--json"]).succeeded().json();
    assert_eq!(changes.last().unwrap()["data"]["action"], "updated");
    assert_eq!(changes.last().unwrap()["actor"]["name"], "tester");
    home.run(&["verify"]).succeeded();
}

#[test]
fn what_changes_is_said_rule_by_rule() {
    let home = Home::new();
    home.run_with(&["policy", "set", "-"], &rules().to_string()).succeeded();
    let mut next = rules();
    next["preset"] = json!("read-only");
    next["rules"][2]["ruling"] = json!("ask");
    next["rules"].as_array_mut().unwrap().swap(0, 2);
    next["rules"][1] = json!({ "id": "new", "ruling": "ask", "tool": "fetch_url" });
    let file = home.write("next.json", &next.to_string());
    let change = home.run(&["policy", "set", &file, "--dry-run", "--json"]).succeeded().json();
    assert_eq!(change[0]["stored"], false);
    assert_eq!(change[0]["preset"], json!({ "before": "ask", "after": "read_only" }));
    assert_eq!((&change[0]["added"], &change[0]["removed"]), (&json!(["new"]), &json!(["reads"])));
    assert_eq!((&change[0]["changed"], &change[0]["moved"]), (&json!(["touch"]), &json!(true)));
    let told = home.run(&["policy", "set", &file]).succeeded();
    let told =
        told.says("preset ask -> read-only").says("- allow  *").says("+ ask    any fetch_url");
    told.says("~ allow  shell_cmd").says("now ask    shell_cmd").says("come in another order");
    home.run(&["policy", "set", &file]).succeeded().says("says that already; nothing was changed");
}

#[test]
fn the_preset_can_be_changed_alone() {
    let home = Home::new();
    home.run_with(&["policy", "set", "-"], &rules().to_string()).succeeded();
    let set = home.run(&["policy", "set", "--preset", "read-only"]).succeeded();
    set.says("preset ask -> read-only").does_not_say("- deny");
    let policy = home.run(&["policy", "show", "--json"]).succeeded().json().remove(0);
    assert_eq!(
        (&policy["preset"], policy["rules"].as_array().unwrap().len()),
        (&json!("read_only"), 3)
    );
    home.run(&["send", "--approve", "all", "run mkdir x"]).succeeded().says("denied");
    assert!(!home.file("x").exists());
    home.run(&["policy", "set"]).with_code(2);
    home.run(&["policy", "set", "--preset", "yes"]).with_code(2).warns("read-only");
    home.run(&["policy", "set", "x.json", "--preset", "ask"]).with_code(2);
}

#[test]
fn what_is_shown_can_be_set_again_and_what_people_granted_stays() {
    let home = Home::new();
    let waiting = home.leave_waiting("run mkdir one");
    home.run(&["approvals", "approve", &waiting[0], "--scope", "always"]).succeeded();
    home.run(&["resume"]).succeeded();
    let shown = home.run(&["policy", "show"]).succeeded().says("granted with `always`");
    let shown = shown.says("any shell_cmd by ada").says("by tester on 20").says(&waiting[0]);
    let rule = shown.out.split(['(', ')']).find(|part| part.starts_with("rule_")).unwrap();
    let set = home.run_with(&["policy", "set", "-"], &rules().to_string()).succeeded();
    set.says("1 rule granted with `always` stay");
    let other = home.write("other.json", &rules().to_string());
    let tried = home.run(&["policy", "test", "--policy", &other, "--", "mkdir", "two"]);
    tried.succeeded().says(&format!("allow by rule {rule}"));
    let document = home.run(&["policy", "show", "--json"]).succeeded();
    let granted = document.json()[0]["granted"].as_array().unwrap().len();
    assert_eq!((granted, document.json()[0]["rules"].as_array().unwrap().len()), (1, 3));
    let again = home.run_with(&["policy", "set", "-"], &document.out).succeeded();
    again.says("nothing was changed");
    let invented = document.out.replace(rule, "rule_invented");
    let refused = home.run_with(&["policy", "set", "-"], &invented).with_code(1);
    refused.warns("rule_invented was not granted by anybody; write it among `rules`");
    home.run(&["approvals", "revoke", rule]).succeeded();
    home.run(&["policy", "show"]).succeeded().does_not_say("granted with");
    home.run(&["verify"]).succeeded();
}

#[test]
fn a_document_that_cannot_be_meant_is_refused_with_all_that_is_wrong() {
    let home = Home::new();
    home.run_with(&["policy", "set", "-"], &rules().to_string()).succeeded();
    let before = home.run(&["policy", "show", "--json"]).succeeded().out;
    let misspelt = json!({ "presets": "ask", "rules": [{ "id": "r", "ruling": "allow", "tool": "x", "comand": {} }] });
    let unusable = json!({ "rules": [
        { "id": "r", "ruling": "allow", "tool": "" },
        { "id": "r", "ruling": "deny", "tool": "x", "matches": [{ "pointer": "/a", "regex": "(" }] },
        { "id": "s", "ruling": "deny", "tool": "shell_cmd", "command": { "program": "rm" },
          "examples": { "must_match": [{ "tool": "shell_cmd", "arguments": { "command": "ls" } }] } },
    ] });
    for (text, problems) in [
        (
            misspelt.to_string(),
            vec!["has no field `presets`", "policy.rules[0] has no field `comand`"],
        ),
        (
            unusable.to_string(),
            vec![
                "`tool` is empty",
                "the regular expression cannot be read",
                "another rule has the same id",
                "rule s: its example must_match[0] does not match",
            ],
        ),
        ("[]".to_owned(), vec!["policy must be an object"]),
        (
            r#"{"rules": [["r", "allow", "*"]]}"#.to_owned(),
            vec!["policy.rules[0] must be an object"],
        ),
        (r#"{"rules": {}}"#.to_owned(), vec!["refused"]),
        (r#"{"preset": "anything-goes"}"#.to_owned(), vec!["anything-goes", "trusted"]),
        ("preset = 'ask'".to_owned(), vec!["refused", "policy show --json"]),
        (String::new(), vec!["refused"]),
        ("[".repeat(200_000), vec!["recursion limit"]),
        (
            r#"{"rules": [{"id": "r", "ruling": "deny", "tool": "*", "ruling": "allow"}]}"#
                .to_owned(),
            vec!["`ruling` is there twice at line 1"],
        ),
    ] {
        let mut ended = home.run_with(&["policy", "set", "-"], &text).with_code(1).says_nothing();
        for problem in problems {
            ended = ended.warns(problem);
        }
    }
    assert_eq!(home.run(&["policy", "show", "--json"]).succeeded().out, before);
}

#[test]
fn a_file_of_any_length_or_kind_does_no_harm() {
    let home = Home::new();
    let many: Vec<Value> =
        (0..3_000).map(|_| json!({ "id": "r", "nonsense": "\u{1b}[2J\nerror: none" })).collect();
    let ended =
        home.run_with(&["policy", "set", "-"], &json!({ "rules": many }).to_string()).with_code(1);
    assert!(ended.err.lines().count() < 60 && ended.err.len() < 60_000, "{}", ended.err.len());
    let ended = ended.warns("2950 problems more");
    assert!(!ended.err.contains('\u{1b}'), "{}", ended.err);
    let hidden = json!({ "rules": [{ "id": "\u{1b}[2J\nerror: none", "ruling": "deny", "tool": "x\u{202e}" }] });
    home.run_with(&["policy", "set", "-"], &hidden.to_string())
        .succeeded()
        .says(r"\u{1B}[2J\nerror");
    let shown = home.run(&["policy", "show"]).succeeded();
    assert!(
        !shown.out.contains(['\u{1b}', '\u{202e}']) && !shown.out.contains("\nerror"),
        "{shown:?}"
    );
    let large = home.write("large.json", &format!("{{\"rules\": []{}}}", " ".repeat(5 << 20)));
    home.run(&["policy", "set", &large]).with_code(1).warns("too large");
    home.run(&["policy", "diff", "/dev/zero"]).with_code(1).warns("too large");
    home.run(&["policy", "set", "/no/such/file"])
        .with_code(1)
        .warns("/no/such/file cannot be read");
    home.run(&["policy", "set", home.path().to_str().unwrap()])
        .with_code(1)
        .warns("cannot be read");
}

#[test]
fn an_unknown_world_is_an_error_that_says_what_to_do() {
    let home = Home::new();
    let file = home.write("rules.json", &rules().to_string());
    for arguments in [
        vec!["policy", "show", "-w", "none"],
        vec!["policy", "set", "-w", "none", &file],
        vec!["policy", "test", "-w", "none", "--", "ls"],
        vec!["policy", "diff", "-w", "none", &file],
        vec!["tool", "list", "-w", "none"],
        vec!["world", "update", "none", "--sandbox", "off"],
    ] {
        let ended = home.run(&arguments).with_code(1);
        ended.warns("world none does not exist; `agent-world world list`").says_nothing();
    }
}

#[test]
fn a_call_can_be_tried_without_being_made() {
    let home = Home::new();
    home.run_with(&["policy", "set", "-"], &rules().to_string()).succeeded();
    let tried = home.run(&["policy", "test", "--", "touch", "a b"]).succeeded();
    tried.says(r#"shell_cmd {"command":"touch","parameters":["a b"]}"#).says("allow by rule touch");
    assert!(!home.file("a b").exists());
    let script = home.run(&["policy", "test", "--", "touch x && sudo rm -r y"]).succeeded();
    let script = script.says("deny by rule no-rm").says("touch x: allow by rule touch");
    script
        .says("rm -r y: deny by rule no-rm")
        .says("matched rule no-rm (deny): nothing is removed");
    home.run(&["policy", "test", "--", "echo $HOME"]).succeeded().says("not certain: ");
    let test = ["policy", "test", "--tool", "read_file", "--arguments", r#"{"path": "x"}"#];
    home.run(&test).succeeded().says("allow by rule reads");
    let by_bob = home.run(&[&test[..], &["--agent", "bob", "--json"]].concat()).succeeded().json();
    assert_eq!((&by_bob[0]["agent_id"], &by_bob[0]["verdict"]), (&json!("bob"), &json!("allow")));
    assert_eq!(by_bob[0]["ground"], json!("tool"), "the rule is for ada");
    let other = home.write("other.json", r#"{"preset": "read-only"}"#);
    let by_other = home.run(&["policy", "test", "--policy", &other, "--json", "--", "touch", "x"]);
    let by_other = by_other.succeeded().json();
    assert_eq!(by_other[0]["verdict"], "deny");
    assert_eq!(by_other[0]["ground"], json!({ "preset": "read_only" }));
    home.run(&["policy", "test", "--", "touch", "x"]).succeeded().says("allow by rule touch");
    assert!(!home.file("x").exists());
    assert_eq!(home.run(&["stats", "--json"]).succeeded().out, "", "nothing was called");
}

#[test]
fn a_trial_that_means_nothing_is_an_error() {
    let home = Home::new();
    let unknown = home.run(&["policy", "test", "--tool", "fly", "--arguments", "{}"]).with_code(1);
    unknown.warns("world demo has no tool `fly`; `agent-world tool list -w demo`");
    let invalid =
        home.run(&["policy", "test", "--tool", "read_file", "--arguments", "{}"]).with_code(1);
    invalid.warns("would refuse these arguments before any rule is asked").warns("path");
    home.run(&["policy", "test", "--agent", "eve", "--", "ls"])
        .with_code(1)
        .warns("no agent `eve`");
    home.run(&["policy", "test"]).with_code(2);
    home.run(&["policy", "test", "--tool", "read_file"]).with_code(2);
    home.run(&["policy", "test", "--tool", "read_file", "--arguments", "{"])
        .with_code(2)
        .warns("not JSON");
    home.run(&["policy", "test", "--tool", "x", "--arguments", "{}", "--", "ls"]).with_code(2);
}

#[test]
fn another_policy_is_compared_on_the_calls_that_were_made() {
    let home = Home::new();
    let file = home.write("rules.json", &rules().to_string());
    home.run(&["policy", "diff", &file]).succeeded().says("about 0 calls both decide the same");
    for command in ["touch one", "mkdir two", "rm -r two", "touch three"] {
        home.run(&["send", "--approve", "all", "--new", &format!("run {command}")]).succeeded();
    }
    let told = home.run(&["policy", "diff", &file]).succeeded();
    let told = told.says("of 4 calls 3 would be decided otherwise: 2 ask -> allow, 1 ask -> deny");
    let told = told
        .says(r#"ask -> deny for shell_cmd by ada: {"command":"rm","parameters":["-r","two"]}"#);
    let (first, second) = (told.out.find("three").unwrap(), told.out.find("one").unwrap());
    assert!(first < second, "the newest come first: {}", told.out);
    let json = home.run(&["policy", "diff", &file, "--limit", "2", "--json"]).succeeded().json();
    assert_eq!(json.len(), 3);
    assert_eq!(json[0]["arguments"]["parameters"], json!(["three"]));
    assert_eq!(json[0]["after"], json!({ "verdict": "allow", "ground": { "rule": "touch" } }));
    assert_eq!(json[1]["before"]["verdict"], "ask");
    let counted = json!({ "ask -> allow": 1, "ask -> deny": 1 });
    assert_eq!((&json[2]["calls"], &json[2]["changes"]), (&json!(2), &counted));
    assert_eq!(json[2]["older_calls_left_out"], true);
    home.run(&["policy", "show"]).succeeded().says("no rules");
}

#[test]
fn no_secret_of_a_rule_or_a_call_is_printed_and_none_is_lost_unseen() {
    let home = Home::new();
    let document = json!({ "rules": [
        { "id": "a", "ruling": "allow", "tool": "fetch_url",
          "matches": [{ "pointer": "/headers/api_key", "equals": "hunter2-in-a-rule" }] },
        { "id": "b", "ruling": "allow", "tool": "shell_cmd",
          "command": { "program": "curl", "parameters": ["--password", "hunter2-in-a-command"] } },
        { "id": "c", "ruling": "deny", "tool": "shell_cmd", "description": "sk-abcdefghijklmnop1234567890" },
    ] });
    let file = home.write("rules.json", &document.to_string());
    home.run(&["send", "run curl --password hunter2-in-a-call"]).with_code(3);
    let curl = ["policy", "test", "--", "curl", "--password", "hunter2-in-a-test"];
    let json = ["policy", "test", "--json", "--", "curl", "--password", "hunter2-in-a-test"];
    for arguments in [
        &["policy", "diff", &file][..],
        &["policy", "diff", &file, "--json"],
        &["policy", "set", &file],
        &["policy", "show"],
        &["policy", "show", "--json"],
        &curl,
        &json,
    ] {
        let ended = home.run(arguments).succeeded();
        for hidden in ["hunter2", "sk-abcdef"] {
            assert!(!ended.out.contains(hidden), "{arguments:?}: {}", ended.out);
        }
    }
    // A chat's title is something that was said.
    let world = home.run(&["world", "show", "demo", "--json"]).succeeded().json().remove(0);
    assert!(!world["policy"].to_string().contains("hunter2"), "{}", world["policy"]);
    let shown = home.run(&["policy", "show", "--json"]).succeeded().out;
    let refused = home.run_with(&["policy", "set", "-"], &shown).with_code(1);
    refused.warns("policy.rules[0].matches[0].equals holds the mark of a masked secret");
    let wrong =
        json!({ "rules": [{ "id": "r", "ruling": "sk-abcdefghijklmnop1234567890", "tool": "x" }] });
    let ended = home.run_with(&["policy", "set", "-"], &wrong.to_string()).with_code(1);
    assert!(!ended.err.contains("sk-abcdef"), "{}", ended.err);
}

/// Posts JSON to a server and gives its answer.
fn post(address: &str, path: &str, body: &Value) -> Value {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = body.to_string();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    let length = body.len();
    let rest = format!("content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(format!("{head}{rest}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[test]
fn a_call_that_a_fork_took_along_is_compared_once() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = crate::serve::address(&server);
    home.run(&["send", "--approve", "all", "run rm one; run ls"]).succeeded();
    let chats = home.run(&["chat", "list", "--json"]).succeeded().json();
    let chat = chats[0]["id"].as_str().unwrap();
    let events = home.run(&["events", "tail", "--after", "0", "--json"]).succeeded().json();
    let is_said = |event: &&Value| event["type"] == "message" && event["data"]["sender"] == "ada";
    let last = events.iter().rfind(is_said).unwrap();
    let fork = format!("/api/worlds/demo/chats/{chat}/fork");
    let forked = post(&address, &fork, &json!({ "message_id": last["data"]["id"] }));
    assert!(forked["id"].is_string(), "{forked}");
    let file = home.write("rules.json", &rules().to_string());
    let diff = home.run(&["policy", "diff", &file]).succeeded();
    diff.says("of 2 calls 1 would be decided otherwise: 1 ask -> deny");
}
