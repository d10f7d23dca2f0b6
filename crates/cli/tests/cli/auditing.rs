//! Tests of asking afterwards who did what, and how tools are used.

use serde_json::Value;

use crate::home::Home;

fn texts<'a>(entries: &'a [Value], field: &str) -> Vec<&'a str> {
    entries.iter().map(|entry| entry[field].as_str().unwrap()).collect()
}

#[test]
fn everything_about_a_call_is_told_and_can_be_asked_for() {
    let home = Home::new();
    home.run(&["audit"]).succeeded().says("nothing of the kind has happened");
    home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    let id = home.leave_waiting("run rm x").remove(0);
    home.run(&["approvals", "deny", &id, "--reason", "not that"]).succeeded();
    let all = home.run(&["audit", "--json"]).succeeded().json();
    let kinds = texts(&all, "kind");
    let expected = [
        "changed",
        "called",
        "requested",
        "decided",
        "started",
        "finished", // echo
        "called",
        "requested",
        "decided",
        "finished", // rm
    ];
    assert_eq!(kinds, expected);
    assert_eq!(all[1]["data"]["arguments"]["command"], "echo");
    assert_eq!(all[5]["data"]["outcome"], "completed");
    assert_eq!(all[5]["data"]["details"]["exit_code"], 0);
    assert_eq!(all[8]["actor"], serde_json::json!({"kind": "person", "name": "tester"}));
    assert_eq!(all[8]["approval_id"], id.as_str());
    assert_eq!(all[8]["data"]["reason"], "not that");
    let call = all[6]["tool_call_id"].as_str().unwrap();
    for (arguments, expected) in [
        (vec!["--call", call], &all[6..]),
        (vec!["-c", all[1]["chat_id"].as_str().unwrap()], &all[1..]),
        (vec!["-w", "demo"], &all[..]),
        (vec!["--since", "1h"], &all[..]),
        (vec!["--until", "1h"], &[][..]),
        (vec!["--kind", "changed"], &all[..1]),
        (vec!["--limit", "3"], &all[7..]),
        (vec!["--agent", "nobody"], &[][..]),
    ] {
        let asked = [&["audit", "--json"], &arguments[..]].concat();
        assert_eq!(home.run(&asked).succeeded().json(), expected, "{arguments:?}");
    }
    let shown = home.run(&["audit"]).succeeded();
    let shown = shown.says("denied (not that)").says("completed in ").says(call).says("10 entries");
    assert!(shown.out.lines().all(|line| line.chars().count() <= 100), "{}", shown.out);
    let last = home.run(&["audit", "--limit", "1"]).succeeded();
    last.says("1 entry; there are earlier ones");
    home.run(&["audit", "-w", "none"]).with_code(1).warns("world none does not exist");
    home.run(&["audit", "--since", "yesterday"]).with_code(2).warns("is no time");
    home.run(&["audit", "--kind", "gossip"]).with_code(2).warns("grant_revoked");
    home.run(&["verify"]).succeeded();
}

#[test]
fn the_audit_of_a_deleted_world_can_still_be_read() {
    let home = Home::new();
    home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    let before = home.run(&["audit", "-w", "demo", "--json"]).succeeded().json();
    let used = home.run(&["stats", "-w", "demo", "--json"]).succeeded().json();
    home.run(&["world", "delete", "demo", "--yes"]).succeeded();
    let after = home.run(&["audit", "-w", "demo", "--json"]).succeeded().json();
    assert_eq!(after[..before.len()], before);
    assert_eq!(after.last().unwrap()["data"]["action"], "deleted");
    // What models took is forgotten with the chats; what tools did is not.
    let left = home.run(&["stats", "-w", "demo", "--json"]).succeeded().json();
    assert_eq!(left[0]["tools"], used[0]["tools"]);
    home.run(&["verify"]).succeeded();
}

#[test]
fn no_secret_is_in_the_audit() {
    let home = Home::new();
    let message = "run curl --token sk-abcdefghijklmnop1234567890 --password hunter2 http://x";
    home.run(&["send", message]).with_code(3);
    for arguments in [vec!["audit"], vec!["audit", "--json"]] {
        let ended = home.run(&arguments).succeeded();
        for hidden in ["sk-abcdef", "hunter2"] {
            assert!(!ended.out.contains(hidden), "{arguments:?}: {}", ended.out);
        }
    }
    let by_nobody = home.run(&["audit", "--actor", "nobody", "--json"]).succeeded().json();
    assert_eq!(texts(&by_nobody, "kind"), ["decided"]);
}

#[test]
fn an_audit_that_somebody_changed_is_found() {
    let home = Home::new();
    home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    connection.execute_batch("DROP TRIGGER audit_is_never_removed").unwrap();
    assert_eq!(connection.execute("DELETE FROM audit WHERE kind = 'decided'", []).unwrap(), 1);
    home.run(&["verify"]).with_code(1).warns("audit of chat");
}

#[test]
fn the_use_of_tools_is_counted() {
    let home = Home::new();
    home.run(&["stats"]).succeeded().says("no tool was called yet");
    home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    home.run(&["send", "run rm x"]).with_code(3);
    let json = home.run(&["stats", "--json"]).succeeded().json();
    assert_eq!((json.len(), &json[0]["world_id"]), (1, &"demo".into()));
    let json = json[0]["tools"].as_array().unwrap();
    assert_eq!(json.len(), 1);
    assert_eq!((&json[0]["tool"], &json[0]["agent_id"]), (&"shell_cmd".into(), &"ada".into()));
    assert_eq!(json[0]["calls"], 2);
    assert_eq!(json[0]["outcomes"], serde_json::json!({"completed": 1, "denied": 1}));
    let answers = serde_json::json!({"asked": 2, "approved": 1, "denied": 1, "expired": 0});
    assert_eq!(json[0]["approvals"], answers);
    assert_eq!((&json[0]["runs"], &json[0]["mean_ms"]), (&1.into(), &json[0]["max_ms"]));
    let shown = home.run(&["stats", "-w", "demo"]).succeeded();
    shown.says("world demo").says("shell_cmd").says("last used");
    home.run(&["stats", "-w", "none"]).with_code(1).warns("world none does not exist");
}
