//! Tests of single messages: what is printed, what runs, and what the exit code says.

use crate::home::Home;

#[test]
fn without_anybody_to_ask_a_call_is_denied() {
    let home = Home::new();
    let ended = home.run(&["send", "--approve", "none", "run touch made"]).with_code(3);
    let ended =
        ended.says("was denied and did not run").warns("apr_").warns("nobody could be asked");
    assert!(!home.file("made").exists(), "{ended:?}");
    assert!(home.waiting().is_empty());
    // It is the default, too.
    home.run(&["send", "run touch made"]).with_code(3);
}

#[test]
fn with_everything_approved_a_call_runs() {
    let home = Home::new();
    let ended = home.run(&["send", "--approve", "all", "run touch made"]).succeeded();
    ended.warns("approved once by tester").warns("completed, exit code 0").says("`touch made`");
    assert!(home.file("made").exists());
}

#[test]
fn a_tool_that_does_not_only_read_is_denied_where_only_reading_is_approved() {
    let home = Home::new();
    let ended = home.run(&["send", "--approve", "read-only", "run touch made"]).with_code(3);
    let ended = ended.says("approves only tools that declare themselves read-only");
    let ended = ended.warns("not declared").says("nobody was there to decide");
    ended.does_not_say("denied by the user");
    assert!(!home.file("made").exists());
}

#[test]
fn what_is_left_waiting_is_listed_with_what_to_do() {
    let home = Home::new();
    let ended = home.run(&["send", "--approve", "wait", "run touch made"]).with_code(3);
    let waiting = home.waiting();
    assert_eq!(waiting.len(), 1);
    ended.warns(&waiting[0]).warns("agent-world approvals approve ID").warns("agent-world resume");
    assert!(!home.file("made").exists());
}

#[test]
fn the_message_may_come_from_a_pipe() {
    let home = Home::new();
    home.run_with(&["send", "-"], "hello\n").succeeded().says("ada: ");
    home.run_with(&["send"], "@bob hello\n").succeeded().says("bob: ");
    home.run_with(&["send", "-"], "  \n").with_code(2).warns("there is no message");
}

#[test]
fn replies_of_several_agents_carry_their_names() {
    let home = Home::new();
    home.run(&["send", "@ada @bob hello"]).succeeded().says("ada: ").says("bob: ");
}

#[test]
fn a_failing_command_is_told_as_it_is() {
    let home = Home::new();
    let ended = home.run(&["send", "--approve", "all", "run sh -c 'exit 7'"]).succeeded();
    ended.warns("failed, exit code 7").says("exit code 7");
}

#[test]
fn a_model_that_cannot_be_asked_is_a_failure() {
    let home = Home::new();
    home.run(&["world", "create", "broken", "--agent", "eve:nobody/knows"]).succeeded();
    let ended = home.run(&["send", "-w", "broken", "hello"]).with_code(1);
    ended
        .warns("eve could not answer")
        .warns("no such vendor is set up, only anthropic, azure, deepseek, demo, ");
    home.run(&["world", "create", "empty"]).succeeded().says("it has no agents");
    home.run(&["send", "-w", "empty", "hello"]).with_code(1).warns("nobody answers");
}

#[test]
fn a_new_chat_does_not_know_the_old_one() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    // The demo model introduces itself once in each chat.
    home.run(&["send", "hello"]).succeeded().does_not_say("built-in demo model");
    home.run(&["send", "--new", "hello"]).succeeded().says("built-in demo model");
}

#[test]
fn json_is_one_object_for_each_message_call_and_approval() {
    let home = Home::new();
    let ended = home.run(&["send", "--json", "--approve", "all", "run echo hi"]).succeeded();
    let objects = ended.json();
    let kinds: Vec<&str> = objects.iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["message", "approval", "approval", "tool", "message"], "{objects:#?}");
    assert_eq!(objects[0]["role"], "user");
    assert_eq!(objects[1]["state"], "pending");
    assert_eq!(objects[2]["state"], "approved");
    assert_eq!(objects[2]["decided_by"], "tester");
    assert_eq!(objects[3]["state"], "completed");
    assert_eq!(objects[3]["result"], "hi");
    assert_eq!(objects[4]["sender"], "ada");
    assert_eq!(objects[4]["reply_to"], objects[0]["id"]);
}

#[test]
fn escape_sequences_never_reach_the_terminal() {
    let home = Home::new();
    let evil = "run printf \u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\r";
    for arguments in [
        vec!["send", "--approve", "all", evil],
        vec!["send", "--approve", "all", "--json", evil],
        vec!["events", "tail"],
        vec!["events", "tail", "--json"],
        vec!["send", "--approve", "wait", evil],
        vec!["approvals", "list"],
        vec!["approvals", "list", "--json"],
    ] {
        let ended = home.run(&arguments);
        let text = ended.out.clone() + &ended.err;
        assert!(text.contains("1B") || text.contains("001b"), "{arguments:?}: {text}");
        let hidden = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(hidden), "{arguments:?}: {text:?}");
    }
    let id = home.waiting().remove(0);
    home.run(&["approvals", "show", &id]).succeeded().says("\\u{202E}").does_not_say("\u{1b}");
}

#[test]
fn a_command_whose_own_time_is_up_has_timed_out_and_not_failed() {
    let home = Home::new();
    let message = r#"call shell_cmd {"command": "sleep", "parameters": ["60"], "timeout": 0.2}"#;
    let ended = home.run(&["send", "--json", "--approve", "all", message]).succeeded();
    let objects = ended.json();
    let call = objects.iter().find(|one| one["type"] == "tool").unwrap();
    assert_eq!(call["state"], "timeout", "{call:#}");
    let ended = home.run(&["send", "--approve", "all", message]).succeeded();
    ended.warns("shell_cmd timed out").says("took too long and was killed");
}

#[test]
fn a_message_without_an_end_is_refused() {
    let home = Home::new();
    let endless = "x".repeat((8 << 20) + 1);
    home.run_with(&["send", "-"], &endless)
        .with_code(2)
        .warns("longer than a server takes (8 MiB)");
    assert_eq!(std::fs::metadata(home.database()).map_or(0, |found| found.len()), 0);
}

#[test]
fn in_a_pipe_what_needs_approval_is_denied_runs_or_waits_as_it_was_told() {
    let home = Home::new();
    let send = |flags: &[&str], file: &str| {
        let arguments = [&["send"], flags, &["-"]].concat();
        home.run_with(&arguments, &format!("run touch {file}\n"))
    };
    let denied = send(&[], "denied").with_code(3);
    denied.says("was denied and did not run").warns("was denied because nobody could be asked");
    assert!(home.waiting().is_empty());
    send(&["--approve", "all"], "ran").succeeded().warns("approved once by tester");
    let left = send(&["--approve", "wait"], "left").with_code(3);
    let waiting = home.waiting();
    assert_eq!(waiting.len(), 1);
    left.warns(&format!("{} is waiting", waiting[0]));
    let exist = ["denied", "ran", "left"].map(|name| home.file(name).exists());
    assert_eq!(exist, [false, true, false]);
}

#[test]
fn a_message_behind_a_waiting_request_says_what_becomes_of_it() {
    let home = Home::new();
    let id = home.leave_waiting("run touch made").remove(0);
    let ended = home.run(&["send", "hello"]).with_code(3);
    ended.warns(&format!("your message was accepted; ada answers when {id} is decided"));
    let objects = home.run(&["send", "--json", "hello again"]).with_code(3).json();
    let [posted, outcome] = objects.as_slice() else { panic!("{objects:#?}") };
    assert_eq!(outcome["type"], "outcome");
    assert_eq!(outcome["state"], "waiting");
    assert_eq!(outcome["message_id"], posted["id"]);
    assert_eq!(outcome["taken_up"], false);
    assert_eq!(outcome["approvals"], serde_json::json!([id]));
    // A message that was taken in waits for nobody else.
    let own = home.run(&["send", "--new", "--json", "--approve", "wait", "run touch made"]);
    let own = own.with_code(3).json();
    assert_eq!(own.last().unwrap()["taken_up"], true);
    let ended = home.run(&["send", "--approve", "wait", "--new", "run touch made"]).with_code(3);
    assert!(!ended.err.contains("your message was accepted"), "{ended:?}");
}

#[test]
fn programs_are_told_what_was_denied_for_want_of_a_person() {
    let home = Home::new();
    let objects = home.run(&["send", "--json", "run touch made"]).with_code(3).json();
    let asked = objects.iter().find(|one| one["type"] == "approval").unwrap();
    let outcome = objects.last().unwrap();
    assert_eq!((&outcome["type"], &outcome["state"]), (&"outcome".into(), &"denied".into()));
    assert_eq!(outcome["denied"], serde_json::json!([asked["id"]]));
    assert_eq!(outcome["approvals"], serde_json::json!([]));
}

#[test]
fn what_is_denied_to_others_is_not_told_as_ones_own() {
    let home = Home::new();
    let agents = ["--agent", "ada:demo/demo", "--agent", "bob:demo/demo"];
    let brief = ["world", "create", "brief", "--approval-timeout", "2"];
    home.run(&[&brief[..], &agents].concat()).succeeded();
    let theirs = ["send", "-w", "brief", "--approve", "wait", "@ada run touch made"];
    home.run(&theirs).with_code(3);
    // Long enough for the other's request to run out meanwhile.
    let own = ["send", "-w", "brief", "--approve", "all", "@bob run sleep 3"];
    home.run(&own).succeeded();
    assert!(!home.file("made").exists());
}

#[test]
fn what_a_run_approved_in_advance_is_told_apart_from_what_a_person_approved() {
    let home = Home::new();
    let ended = home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    ended.warns("approved once by tester (send --approve all)");
    let id = home.leave_waiting("run echo ho").remove(0);
    home.run(&["approvals", "approve", &id]).succeeded();
    let decided = home.run(&["audit", "--kind", "decided", "--json"]).succeeded().json();
    assert_eq!(decided[0]["data"]["reason"], "send --approve all");
    assert_eq!(decided[0]["actor"]["name"], "tester");
    assert!(decided[1]["data"]["reason"].is_null(), "{:#?}", decided[1]);
    let shown = home.run(&["audit", "--kind", "decided"]).succeeded();
    shown.says("approved once (send --approve all): $ echo hi").says("approved once: $ echo ho");
    home.run(&["verify"]).succeeded();
}
