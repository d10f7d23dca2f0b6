//! Tests of conversations over a pipe: each line is a message, or the answer to what is asked.

use crate::home::{Home, until};

#[test]
fn messages_are_answered_one_after_another() {
    let home = Home::new();
    let ended = home.chat(&["hello", "@bob hello", "/quit"]).succeeded();
    let ended = ended.says("first visit").says("> hello\nada: ").says("> @bob hello\nbob: ");
    assert!(!ended.out.contains('\u{1b}'), "no colours without a terminal: {ended:?}");
}

#[test]
fn an_approval_is_answered_inline() {
    let home = Home::new();
    let ended = home.chat(&["run touch made", "o", "thanks"]).succeeded();
    let ended = ended
        .says("? 1 of 1 waiting: apr_")
        .says("\"command\": \"touch\"")
        .says("workspace/demo")
        .says("decide> o\n")
        .says("shell_cmd completed, exit code 0")
        .says("> thanks\nada: You are welcome.");
    assert!(home.file("made").exists(), "{ended:?}");
}

#[test]
fn a_line_that_is_no_answer_decides_nothing() {
    let home = Home::new();
    let lines = ["run touch made", "yes please", "", "1", "s", "s 9", "d it is late"];
    let ended = home.chat(&lines).succeeded();
    ended
        .says("nothing was decided")
        .says("say for how long: `s 1` for the rest of this chat, `a 1` always")
        .says("say for which calls, by a key of the list (as in `s 1`)")
        .says("there is no 9; there is 1 to 2, or t for the whole tool")
        .says("denied by the user: it is late");
    assert!(!home.file("made").exists());
}

#[test]
fn a_denial_asks_for_the_reason() {
    let home = Home::new();
    let ended = home.chat(&["run touch made", "d", "not on my machine"]).succeeded();
    ended
        .says("why (empty for no reason)> not on my machine")
        .says("denied by the user: not on my");
}

#[test]
fn arguments_can_be_edited_before_the_call_runs() {
    let home = Home::new();
    let edited = r#"{"command": "touch", "parameters": ["right"]}"#;
    let ended = home.chat(&["run touch wrong", "e", "{", "e", "{}", "e", edited]).succeeded();
    ended.says("that is not JSON").says("the edited arguments are refused").says("ended");
    assert!(home.file("right").exists() && !home.file("wrong").exists());
}

#[test]
fn three_approvals_are_asked_one_after_another_with_how_many_wait() {
    let home = Home::new();
    let ended = home.chat(&["run touch one; run touch two; run touch three", "l", "o", "d no"]);
    let ended = ended.with_code(3);
    let ended = ended.says("1 of 3 waiting").says("2 of 3 waiting").says("2 of 2 waiting");
    ended
        .says("1 approval still waiting. Come back with\n  agent-world chat -w demo -c chat_")
        .says("or decide with `agent-world approvals list`, then `agent-world resume`.");
    assert!(
        home.file("two").exists() && !home.file("one").exists() && !home.file("three").exists()
    );
}

#[test]
fn a_session_permission_settles_the_others_it_covers() {
    let home = Home::new();
    home.chat(&["run touch one; run touch two", "s 2", "run touch three"]).succeeded();
    assert!(["one", "two", "three"].iter().all(|name| home.file(name).exists()));
}

#[test]
fn a_conversation_is_still_there_after_a_restart() {
    let home = Home::new();
    home.chat(&["hello", "what time is it", "o"]).succeeded();
    let ended = home.chat(&["thanks"]).succeeded();
    ended
        .says("human: hello\n")
        .says("human: what time is it\n* ada: shell_cmd {\"command\":\"date\"")
        .says("\nada: `date` ended well")
        .says("> thanks\nada: You are welcome.")
        .does_not_say("first visit");
}

#[test]
fn an_approval_of_an_earlier_run_is_asked_at_the_start() {
    let home = Home::new();
    let id = home.leave_waiting("run touch made").remove(0);
    let ended = home.chat(&["o"]).succeeded();
    ended.says("1 approval still waiting here").says(&format!("1 of 1 waiting: {id}"));
    assert!(home.file("made").exists());
}

#[test]
fn approvals_of_other_chats_are_mentioned() {
    let home = Home::new();
    let id = home.leave_waiting("run touch made").remove(0);
    let ended = home.run_with(&["chat", "--new"], "/approvals\nl\nhello\n").succeeded();
    ended.says("1 approval waiting in other chats: /approvals asks about them").says("ada: ");
    assert_eq!(home.waiting(), [id]);
}

#[test]
fn approvals_of_other_chats_are_decided_without_going_there() {
    let home = Home::new();
    let id = home.leave_waiting("run touch made").remove(0);
    let ended = home.run_with(&["chat", "--new"], "/approvals\no\nhello\n").succeeded();
    ended.says(&format!("1 of 1 waiting: {id}\n  of another chat: chat_")).says("> hello\nada: ");
    assert!(home.file("made").exists());
}

#[test]
fn the_whole_tool_has_a_key_that_never_moves_and_is_asked_about_twice() {
    let home = Home::new();
    for command in ["touch one", "rm two"] {
        let ended = home.chat(&[&format!("run {command}"), "a t", "n", "a t", "maybe", "", "d no"]);
        ended
            .succeeded()
            .says("    t any shell_cmd call\n")
            .says("any shell_cmd call by ada, in every chat of demo, from now on? y/n> n\n")
            .says("say y or n; nothing was decided")
            .says("denied by the user: no");
    }
    let ended = home.chat(&["run touch one", "a t", "y", "run touch two"]).succeeded();
    ended
        .says("in every chat of demo you are not asked again for ada: any shell_cmd call")
        .says("`agent-world approvals revoke ID` takes it back");
    assert!(home.file("one").exists() && home.file("two").exists());
}

#[test]
fn messages_can_be_for_one_agent() {
    let home = Home::new();
    let ended = home.run_with(&["chat", "--agent", "bob"], "hello\n@ada hello\n").succeeded();
    ended.says("> hello\nbob: ").says("> @ada hello\nada: ");
    let unknown = home.run(&["chat", "--agent", "eve"]).with_code(1);
    unknown.warns("world demo has no agent `eve`; its agents are: ada, bob");
}

#[test]
fn the_program_itself_can_be_spoken_to() {
    let home = Home::new();
    let lines = ["/help", "/chats", "/new", "/chats", "/retry", "/stop", "/approvals", "/nonsense"];
    let ended = home.chat(&[&lines[..], &["//hello", "/quit", "not read"]].concat()).succeeded();
    ended
        .says("/approvals  what waits")
        .says("* chat_")
        .says("there is nothing to retry")
        .says("nothing is waiting for approval")
        .says("there is no command /nonsense")
        .says("I read “/hello”")
        .does_not_say("not read");
}

#[test]
fn whoever_goes_to_a_new_chat_before_an_answer_came_can_go_on_there() {
    let home = Home::new();
    home.run(&["world", "list"]).succeeded();
    // Typed, with the output elsewhere: no line waits for the answer to the one before.
    let command = format!("{} chat | cat", env!("CARGO_BIN_EXE_agent-world"));
    let mut chat = home.start_terminal(&[], &command);
    chat.wait_for("> ");
    chat.write("@ada hello\n/new\n@bob hello\n");
    chat.wait_for("bob: ");
    chat.write("/quit\n");
    chat.wait().succeeded();
}

#[test]
fn ctrl_c_stops_the_agents_and_not_the_program() {
    let home = Home::new();
    let mut chat = home.start(&["chat"]);
    chat.write("run sleep 60\no\n");
    chat.wait_for("started");
    chat.signal("INT");
    chat.wait_for("the agents were stopped by tester");
    chat.write("hello\n");
    chat.wait_for("> hello\nada: ");
    chat.signal("INT");
    let ended = chat.wait().succeeded();
    ended.says("shell_cmd cancelled").says("Say `help`");
}

#[test]
fn a_decision_made_elsewhere_is_seen() {
    let home = Home::new();
    let mut chat = home.start(&["chat"]);
    chat.write("run touch made\n");
    chat.wait_for("decide> ");
    let id = home.waiting().remove(0);
    home.run(&["approvals", "approve", &id]).succeeded();
    until("the file", || home.file("made").exists());
    chat.wait_for("shell_cmd approved once by tester");
    chat.wait_for("ada: ");
    chat.close();
    chat.wait().succeeded();
}

#[test]
fn a_chat_that_is_deleted_elsewhere_says_so_and_ends() {
    let home = Home::new();
    for work in ["run sleep 60\no\n", "run touch made\n", "hello\n"] {
        let mut chat = home.start(&["chat"]);
        chat.write(work);
        chat.wait_for(match work {
            "hello\n" => "> hello\nada: ",
            "run touch made\n" => "decide> ",
            _ => "started",
        });
        home.run(&["world", "delete", "demo", "--yes"]).succeeded();
        let ended = chat.wait().succeeded().says(" deleted this chat");
        assert_eq!(ended.err, "");
        home.run(&["world", "create", "demo", "--agent", "ada"]).succeeded();
    }
}

#[test]
fn a_lasting_answer_says_for_which_calls_it_holds_and_what_else_it_released() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let mut chat = home.start(&["chat", "--new"]);
    chat.write("run touch made\n");
    chat.wait_for("decide> ");
    chat.write("a 1\n");
    chat.wait_for("in every chat of demo you are not asked again for ada: exactly this call");
    chat.wait_for("also released: 1 waiting request in other chats");
    chat.write("/policy\n");
    chat.wait_for(
        "permitted with `always`, in all chats of this world:\n      allow  shell_cmd with",
    );
    chat.write("/quit\n");
    chat.wait().succeeded();
    assert!(home.waiting().is_empty());
}

#[test]
fn a_name_that_nobody_has_is_told_before_the_main_agent_answers() {
    let home = Home::new();
    let ended = home.chat(&["@carl hello"]).succeeded();
    ended.says("no agent named carl here; your message goes to @ada, the main agent\nada: ");
}

#[test]
fn what_tools_did_is_told_again_on_coming_back() {
    let home = Home::new();
    home.chat(&["run touch made", "o"]).succeeded();
    home.chat(&["/quit"]).succeeded().says("human: run touch made\n* ada: shell_cmd ").says("  | ");
}
