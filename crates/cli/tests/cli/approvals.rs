//! Tests of decisions made by another process than the one that works, most while nothing runs at all.

use crate::home::Home;
use crate::pty::Pty;

const APPEND: &str = "run sh -c 'echo x >> ran'";

#[test]
fn a_decision_made_while_nothing_runs_takes_effect_once() {
    let home = Home::new();
    let waiting = home.leave_waiting(APPEND);
    let approved = home.run(&["approvals", "approve", &waiting[0]]).succeeded();
    approved.says("approved once by tester").warns("agent-world resume");
    assert_eq!(home.lines_of("ran"), 0, "recording a decision runs nothing");
    let resumed = home.run(&["resume"]).succeeded();
    resumed.says("completed, exit code 0").says("ada: ").warns("nothing is left to do");
    assert_eq!(home.lines_of("ran"), 1);
    home.run(&["resume"]).succeeded().warns("there was nothing to do").says_nothing();
    home.run(&["send", "hello"]).succeeded();
    assert_eq!(home.lines_of("ran"), 1);
}

#[test]
fn a_reason_reaches_the_agent() {
    let home = Home::new();
    let waiting = home.leave_waiting(APPEND);
    let denied = home.run(&["approvals", "deny", &waiting[0], "--reason", "it is too late today"]);
    denied.succeeded().says("denied (it is too late today) by tester");
    home.run(&["resume"]).succeeded().says("denied by the user: it is too late today");
    assert_eq!(home.lines_of("ran"), 0);
}

#[test]
fn the_first_decision_counts() {
    let home = Home::new();
    let id = home.leave_waiting(APPEND).remove(0);
    home.run(&["approvals", "deny", &id]).succeeded();
    let second = home.run(&["approvals", "approve", &id]).with_code(1);
    second.warns("was already denied by tester").warns("nothing was changed");
    let again = home.run(&["approvals", "approve", &id, "--json"]).with_code(1);
    assert_eq!(again.json()[0]["state"], "denied");
    home.run(&["resume"]).succeeded();
    assert_eq!(home.lines_of("ran"), 0);
}

#[test]
fn three_calls_of_one_reply_are_decided_in_any_order() {
    let home = Home::new();
    let waiting = home.leave_waiting("run touch one; run touch two; run touch three");
    assert_eq!(waiting.len(), 3);
    home.run(&["approvals", "approve", &waiting[2]]).succeeded();
    let resumed = home.run(&["resume"]).succeeded();
    resumed.warns("nothing is left to do but 2 approvals").does_not_say("ada: `touch");
    assert!(home.file("three").exists() && !home.file("one").exists());
    home.run(&["approvals", "deny", &waiting[0]]).succeeded();
    home.run(&["approvals", "approve", &waiting[1]]).succeeded();
    let resumed = home.run(&["resume"]).succeeded();
    resumed.says("`touch one` was denied").says("`touch two` ended").says("`touch three` ended");
    assert!(home.file("two").exists() && !home.file("one").exists());
}

#[test]
fn other_arguments_run_in_place_of_the_agents() {
    let home = Home::new();
    let id = home.leave_waiting("run touch wrong").remove(0);
    let bad = home.run(&["approvals", "approve", &id, "--arguments", r#"{"parameters": []}"#]);
    bad.with_code(1).warns("the edited arguments are refused");
    home.run(&["approvals", "approve", &id, "--arguments", "{"]).with_code(2).warns("not JSON");
    let good = r#"{"command": "touch", "parameters": ["right"]}"#;
    home.run(&["approvals", "approve", &id, "--arguments", good])
        .succeeded()
        .says("with other arguments");
    home.run(&["resume"]).succeeded().says("with arguments changed by the user");
    assert!(home.file("right").exists() && !home.file("wrong").exists());
}

#[test]
fn a_lasting_permission_can_be_narrowed() {
    let home = Home::new();
    let id = home.leave_waiting("run touch one").remove(0);
    let shown = home.run(&["approvals", "show", &id]).succeeded();
    shown
        .says("ada asks: ")
        .says("\"command\": \"touch\"")
        .says("workspace/demo")
        .says("1 exactly this call")
        .says("human: run touch one");
    let once = home.run(&["approvals", "approve", &id, "--match", "2"]);
    once.with_code(2).warns("--scope session");
    let beyond = home.run(&["approvals", "approve", &id, "--scope", "session", "--match", "9"]);
    beyond.with_code(2).warns("choose one from 1 to 3");
    home.run(&["approvals", "approve", &id, "--scope", "session", "--match", "2"]).succeeded();
    home.run(&["resume"]).succeeded();
    home.run(&["send", "--approve", "wait", "run touch two"]).succeeded();
    assert!(home.file("two").exists(), "the same command needs no new approval");
    home.run(&["send", "--approve", "wait", "run mkdir three"]).with_code(3);
    // Neither another agent nor another chat has it.
    home.run(&["send", "--approve", "wait", "@bob run touch four"]).with_code(3);
    home.run(&["send", "--new", "--approve", "wait", "run touch five"]).with_code(3);
    assert_eq!(home.waiting().len(), 3);
}

#[test]
fn always_holds_in_other_chats_too() {
    let home = Home::new();
    let id = home.leave_waiting("run touch one").remove(0);
    home.run(&["approvals", "approve", &id, "--scope", "always"]).succeeded();
    home.run(&["resume"]).succeeded();
    home.run(&["send", "--new", "run touch two"]).succeeded();
    assert!(home.file("two").exists());
}

#[test]
fn lists_and_requests_are_json_for_scripts() {
    let home = Home::new();
    home.run(&["approvals", "list"]).succeeded().says("nothing is waiting for approval");
    assert_eq!(home.run(&["approvals", "list", "--json"]).succeeded().out, "");
    let id = home.leave_waiting("run touch one").remove(0);
    let shown = home.run(&["approvals", "show", &id, "--json"]).succeeded().json();
    assert_eq!(shown[0]["tool"], "shell_cmd");
    assert_eq!(shown[0]["arguments"]["command"], "touch");
    assert_eq!(shown[0]["context"][0]["content"], "run touch one");
    let decided = home.run(&["approvals", "approve", &id, "--json"]).succeeded().json();
    assert_eq!(decided[0]["state"], "approved");
    let events = home.run(&["resume", "--json"]).succeeded().json();
    let ended = |event: &&serde_json::Value| event["data"]["state"] == "completed";
    assert!(events.iter().any(|event| event["type"] == "tool" && ended(&event)), "{events:#?}");
}

#[test]
fn an_unknown_request_is_an_error_that_says_what_to_do() {
    let home = Home::new();
    for arguments in [
        vec!["approvals", "show", "apr_none"],
        vec!["approvals", "approve", "apr_none"],
        vec!["approvals", "approve", "apr_none", "--scope", "session", "--match", "1"],
        vec!["approvals", "deny", "apr_none"],
    ] {
        let ended = home.run(&arguments).with_code(1);
        ended.warns("approval apr_none does not exist; `agent-world approvals list`");
    }
}

#[test]
fn a_permission_that_lasts_is_listed_and_can_be_revoked() {
    let home = Home::new();
    let waiting = home.leave_waiting("run touch one");
    home.run(&["approvals", "approve", &waiting[0], "--scope", "always"]).succeeded();
    home.run(&["resume"]).succeeded();
    let shown = home.run(&["world", "show", "demo"]).succeeded();
    let shown = shown.says("ada may always use any shell_cmd");
    let rule = shown.out.split_whitespace().find(|word| word.starts_with("rule_")).unwrap();
    home.run(&["send", "--approve", "wait", "run touch two"]).succeeded();
    home.run(&["approvals", "revoke", rule]).succeeded().says("is revoked");
    home.run(&["approvals", "revoke", rule]).with_code(1);
    assert_eq!(home.leave_waiting("run touch three").len(), 1);

    let waiting = home.leave_waiting("run touch four");
    let session = ["--scope", "session", "--match", "2"];
    let approve: Vec<&str> =
        ["approvals", "approve", waiting.last().unwrap()].into_iter().chain(session).collect();
    home.run(&approve).succeeded();
    let shown = home.run(&["world", "show", "demo"]).succeeded();
    let shown = shown.says("may use shell_cmd with command `touch` here");
    let grant = shown.out.split_whitespace().find(|word| word.starts_with("grant_")).unwrap();
    home.run(&["approvals", "revoke", grant]).succeeded();
}

#[test]
fn other_arguments_are_approved_once_unless_the_permission_is_narrowed() {
    let home = Home::new();
    let waiting = home.leave_waiting("run touch one");
    let arguments = r#"{"command":"date","parameters":[]}"#;
    let approve =
        ["approvals", "approve", &waiting[0], "--scope", "always", "--arguments", arguments];
    home.run(&approve).with_code(2);
}

#[test]
fn arguments_are_shown_as_they_are_on_one_line() {
    let home = Home::new();
    home.leave_waiting(r#"run echo "a\\b""#);
    home.run(&["approvals", "list"]).succeeded().says(r#"  ada    $ echo "a\\b""#);
}

#[test]
fn a_request_is_shown_with_the_ten_messages_before_it() {
    let home = Home::new();
    for number in 1..=7 {
        home.run(&["send", &format!("@ada hello {number}")]).succeeded();
    }
    let waiting = home.leave_waiting("run touch one");
    let shown = home.run(&["approvals", "show", &waiting[0], "--json"]).succeeded();
    let shown: serde_json::Value = serde_json::from_str(&shown.out).unwrap();
    assert_eq!(shown["context"].as_array().unwrap().len(), 10);
}

#[test]
fn watching_goes_on_over_a_restart_of_the_server() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    crate::serve::address(&server);
    let watch = home.start(&["approvals", "list", "--watch"]);
    watch.wait_for("nothing is waiting for approval");
    server.signal("TERM");
    server.wait().succeeded();
    watch.wait_for_warning("trying again");
    // Elsewhere, since the port is another.
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    crate::serve::address(&server);
    home.run(&["send", "--approve", "wait", "run touch made"]).with_code(3);
    watch.wait_for("ada: $ ");
    watch.signal("INT");
    watch.wait().succeeded();
}

#[test]
fn a_lasting_approval_says_how_far_it_reaches_and_what_it_released() {
    let home = Home::new();
    let waiting = home.leave_waiting("run touch one; run touch two; run touch three");
    assert_eq!(waiting.len(), 3);
    let deny = ["approvals", "deny", &waiting[2]];
    home.run(&deny).succeeded().does_not_say("holds for").does_not_say("also released");
    let approve = ["approvals", "approve", &waiting[0], "--scope", "session"];
    let approved = home.run(&approve).succeeded();
    let approved =
        approved.says("holds for every call of shell_cmd by ada for the rest of this chat");
    approved.says(&format!("also released: 1 waiting request ({})", waiting[1]));
    home.run(&["audit"])
        .succeeded()
        .says("from now on grant_")
        .says(": every call of shell_cmd by ada in chat_");
    home.run(&["resume"]).succeeded();
    assert!(home.file("one").exists() && home.file("two").exists());
    let waiting = home.leave_waiting("@bob run touch four");
    let always = ["approvals", "approve", &waiting[0], "--scope", "always", "--match", "1"];
    home.run(&always).succeeded().says("holds for ").says(" by bob in world demo");
    // How a permission is narrowed is told, not only for which tool it is.
    let audit = home.run(&["audit"]).succeeded();
    audit.says("shell_cmd with arguments = {").says("by bob in world demo\n");
}

#[test]
fn a_permission_that_lasts_says_how_it_is_taken_back() {
    let home = Home::new();
    for (scope, mark) in [("session", "grant_"), ("always", "rule_")] {
        let id = home.leave_waiting("run touch one").remove(0);
        let approved = home.run(&["approvals", "approve", &id, "--scope", scope]).succeeded();
        let approved = approved.says("every call of shell_cmd by ada").says("with any arguments");
        let revoke = format!("agent-world approvals revoke {mark}");
        let start = approved.out.find(&revoke).unwrap_or_else(|| panic!("{approved:?}"));
        let named = approved.out[start + revoke.len() - mark.len()..].split('`').next().unwrap();
        home.run(&["resume"]).succeeded();
        home.run(&["approvals", "revoke", named]).succeeded().says("is revoked");
    }
    let help = home.run(&["approvals", "approve", "--help"]).succeeded();
    help.says("holds for the whole tool").says("with any arguments").says("approvals revoke");
}

#[test]
fn whoever_permits_a_whole_tool_says_so_or_is_asked() {
    let home = Home::new();
    let id = home.leave_waiting("run touch one").remove(0);
    let wide = ["approvals", "approve", &id, "--scope", "always"];
    let mut asked = Pty::start(&home, &wide, 120, 24);
    asked.wait_for("this lets every later call of shell_cmd by ada run in all chats of world demo");
    asked.wait_for("--match 1 ");
    asked.wait_for("every call of the whole tool? [y/N]");
    asked.keys("\r");
    asked.wait_for("nothing was decided");
    asked.ends(0);
    assert_eq!(home.waiting(), [id.as_str()]);
    // A script cannot be asked, and is told.
    let told = home.run(&wide).succeeded().says("holds for every call of shell_cmd by ada");
    told.warns("with any arguments").warns("--match N").warns("--whole-tool");
    let id = home.leave_waiting("@bob run touch two").remove(0);
    let said = home.run(&[&wide[..2], &[&id, "--scope", "session", "--whole-tool"]].concat());
    let said = said.succeeded().says("holds for every call of shell_cmd by bob");
    assert!(!said.err.contains("--whole-tool"), "{}", said.err);
    let once = home.run(&[&wide[..2], &[&id, "--whole-tool"]].concat());
    once.with_code(2).warns("--scope session or --scope always");
}

#[test]
fn a_call_that_can_destroy_something_is_shown_with_that() {
    let home = Home::new();
    let id = home.leave_waiting("run rm old.txt").remove(0);
    let shown = home.run(&["approvals", "show", &id]).succeeded();
    shown.says("  ! rm can destroy what is there\n");
    home.run(&["approvals", "deny", &id]).succeeded();
    home.run(&["world", "update", "demo", "--sandbox", "off"]).succeeded();
    let id = home.leave_waiting("run touch made").remove(0);
    let shown = home.run(&["approvals", "show", &id]).succeeded().does_not_say("can destroy");
    shown.says("  ! nothing keeps it from other files or the network\n");
}

#[test]
fn a_beginning_that_only_one_id_has_is_enough() {
    let home = Home::new();
    let waiting = home.leave_waiting("run touch one; run touch two");
    let [one, two] = waiting.as_slice() else { panic!("{waiting:?}") };
    let unclear = home.run(&["approvals", "approve", "apr_"]).with_code(1);
    unclear.warns("2 begin with apr_").warns(one).warns(two).warns("wants to use shell_cmd");
    let alike = one.chars().zip(two.chars()).take_while(|(one, two)| one == two).count();
    let beginning = &one[..=alike];
    home.run(&["approvals", "show", beginning]).succeeded().says(one);
    home.run(&["approvals", "deny", beginning]).succeeded().says(&format!("{one}: denied"));
    // Now it is the only one that waits.
    home.run(&["approvals", "approve", "apr_"]).succeeded().says(&format!("{two}: approved"));
    home.run(&["approvals", "deny", "apr_x"]).with_code(1).warns("approval apr_x does not exist");
}

#[test]
fn several_requests_are_decided_at_once() {
    let home = Home::new();
    let waiting = home.leave_waiting("run touch one; run touch two; run touch three");
    let some = ["approvals", "approve", &waiting[0], "apr_none", &waiting[1]];
    let ended = home.run(&some).with_code(1).warns("approval apr_none does not exist");
    ended.says(&format!("{}: approved", waiting[0])).says(&format!("{}: approved", waiting[1]));
    let narrowed = ["approvals", "approve", "--all", "--scope", "session", "--match", "1", "--yes"];
    home.run(&narrowed).with_code(2).warns("are about one request");
    let wide = ["approvals", "approve", "--all", "--scope", "always", "--yes"];
    home.run(&wide).with_code(2).warns("--all approves each call once");
    home.run(&["approvals", "deny", "--all"]).with_code(2).warns("add --yes to do it");
    home.run(&["approvals", "deny", &waiting[2], "--all"]).with_code(2);
    assert_eq!(home.waiting(), [waiting[2].clone()]);
    home.run(&["approvals", "deny", "--all", "-w", "none", "--yes"]).with_code(1).warns("none");
    home.run(&["approvals", "deny", "--all", "-w", "demo", "--yes"]).succeeded().says(": denied");
    home.run(&["approvals", "deny", "--all", "--yes"]).succeeded().says("nothing is waiting");
    home.run(&["resume"]).succeeded();
    assert!(home.file("one").exists() && home.file("two").exists());
    assert!(!home.file("three").exists());
}

#[test]
fn on_a_terminal_it_is_asked_whether_all_are_meant() {
    let home = Home::new();
    let id = home.leave_waiting("run touch one").remove(0);
    let program = env!("CARGO_BIN_EXE_agent-world");
    for (answer, left) in [("n", 1), ("y", 0)] {
        let command = format!("{program} approvals approve --all");
        let mut asked = home.start_terminal(&[("TERM", "dumb")], &command);
        asked.wait_for("approve 1 request? [y/N]");
        assert!(asked.out().contains(&id), "{}", asked.out());
        asked.write(&format!("{answer}\n"));
        asked.wait().succeeded();
        assert_eq!(home.waiting().len(), left, "{answer}");
    }
}

#[test]
fn a_chat_is_shown_with_what_was_decided_about_each_call_and_what_came_of_it() {
    let home = Home::new();
    home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    let id = home.leave_waiting("run touch made").remove(0);
    let listed = home.run(&["approvals", "list"]).succeeded();
    listed.says(&format!("{id}  ada    $ touch made  demo "));
    let list = home.run(&["chat", "list", "--json"]).succeeded().json();
    let chat = list[0]["id"].as_str().unwrap();
    let shown = home.run(&["chat", "show", chat]).succeeded();
    let shown = shown.says("* ada: $ echo hi\n    approved once\n    | hi\n");
    let shown = shown.says(&format!("* ada: $ touch made\n    waits for a decision: {id}\n"));
    shown.does_not_say("requestApproval").does_not_say("approve_once");
    home.run(&["approvals", "deny", &id, "--reason", "not now"]).succeeded();
    home.run(&["resume"]).succeeded();
    let shown = home.run(&["chat", "show", chat]).succeeded();
    shown.says("* ada: $ touch made\n    denied: not now\n    | denied by the user: not now\n");
}
