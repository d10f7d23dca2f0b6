//! Checks how a chat is copied up to a message: its history goes along, its work and its permissions do not.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_fork_has_the_history_up_to_a_message() {
    check(
        r"
        human: one
        ada says: 1
        human: two
        ada says: 2
        ---
        fork at 2
        ada sees
        human: three
        ada sees
        ",
        expect![[r#"
            chat 2 forked from chat 1
            copied: message_posted, model_call_requested, reply_recorded, message_posted
            ada sees:
              user: one
              assistant: 1
            message 5 from human to ada: three
            turn 3: ada answers human
            turn 3: model call 1 with message 5
            ada sees:
              user: one
              assistant: 1
              user: three
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn a_fork_runs_nothing_again() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        start 1
        human: more
        ---
        fork at 2
        activity
        ada sees
        "#,
        expect![[r#"
            chat 2 forked from chat 1
            copied: message_posted, model_call_requested, reply_recorded, tool_called, tool_started, message_posted, tool_finished, work_stopped
            idle; at work: nobody; running: nothing; waiting: nothing
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: the chat was forked before this call had ended
              user: more
            owed: nothing
        "#]],
    );
}

#[test]
fn a_fork_takes_no_grants_along() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: files
        ada says: done
        fork at 2
        human: again
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 2 for call 2: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn a_fork_takes_no_pending_requests_along() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        human: more
        fork at 2
        ---
        requests
        approve 1
        "#,
        expect![[r#"
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: nothing
        "#]],
    );
}

#[test]
fn a_fork_shows_a_background_result_that_nobody_had_seen() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        start 1
        tool 1 completes: built
        human: done?
        ---
        fork at 2
        ada sees
        "#,
        expect![[r#"
            chat 2 forked from chat 1
            copied: message_posted, model_call_requested, reply_recorded, tool_called, tool_started, model_call_requested, tool_finished, message_posted, work_stopped
            ada sees:
              user: build
              v1: build({"target":"x"})
              v1 gave: started in the background, id call 1; its result will follow
              user: Background call call 1 (build): built
              user: done?
            owed: nothing
        "#]],
    );
}

#[test]
fn a_fork_leaves_out_what_was_taken_back() {
    check(
        r"
        human: one
        ada says: 1
        edit 1: two
        ada says: 2
        ---
        fork at 4
        ada sees
        ",
        expect![[r#"
            chat 2 forked from chat 1
            copied: message_posted, model_call_requested, reply_recorded, message_posted
            ada sees:
              user: two
              assistant: 2
            owed: nothing
        "#]],
    );
}

#[test]
fn a_fork_of_a_fork_has_the_whole_history() {
    check(
        r"
        human: one
        ada says: 1
        fork at 2
        human: two
        ada says: 2
        ---
        fork at 4
        ada sees
        ",
        expect![[r#"
            chat 3 forked from chat 2
            copied: message_posted, model_call_requested, reply_recorded, message_posted, message_posted, model_call_requested, reply_recorded, message_posted
            ada sees:
              user: one
              assistant: 1
              user: two
              assistant: 2
            owed: nothing
        "#]],
    );
}

#[test]
fn history_that_was_copied_can_be_taken_back() {
    check(
        r"
        human: one
        ada says: 1
        human: two
        ada says: 2
        fork at 4
        ---
        edit 3: three
        ada sees
        ",
        expect![[r#"
            history cut from message 3 by human
            message 5 from human to ada: three
            turn 3: ada answers human
            turn 3: model call 1 with message 5
            ada sees:
              user: one
              assistant: 1
              user: three
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn a_fork_leaves_its_origin_untouched() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        human: more
        fork at 2
        human: again
        go to chat 1
        ---
        activity
        ada sees
        "#,
        expect![[r#"
            busy; at work: ada AwaitingApproval; running: nothing; waiting: approval 1
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: the result of this call was removed from the conversation
            owed: nothing
        "#]],
    );
}

#[test]
fn a_fork_gets_a_name_of_its_own() {
    check(
        r"
        human: one
        ada says: 1
        title: Engines of the Future
        fork at 2
        human: two
        ---
        ada says: 2
        ",
        expect![[r#"
            message 4 from ada to nobody: 2
            turn 2 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_fork_remembers_that_a_person_changed_the_arguments() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"rm"})
        approve 1 with {"command":"ls"}
        run 1: files
        ada says: done
        fork at 2
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: go
              v1: shell_cmd({"command":"rm"})
              v1 gave: [the user changed the arguments of this call to {"command":"ls"}]\nfiles
              assistant: done
            owed: nothing
        "#]],
    );
}

#[test]
fn a_conversation_that_a_client_kept_is_history_and_nothing_of_it_runs() {
    check(
        r#"
        agents: ada, bob
        brings ada [{"type":"message","role":"user","content":[{"type":"input_text","text":"@bob hello"}]}, {"type":"message","role":"assistant","content":[{"type":"output_text","text":"@bob hi"}]}, {"type":"message","role":"user","content":[{"type":"input_text","text":"which colour?"}]}, {"type":"function_call","call_id":"x1","name":"colour","arguments":"{\"of\":\"sky\"}"}, {"type":"function_call","call_id":"x2","name":"size","arguments":"no JSON"}, {"type":"function_call_output","call_id":"x1","output":"blue"}, {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Blue."}]}]
        activity
        ada sees
        bob sees
        human (only ada): and at night?
        ada sees
        "#,
        expect![[r#"
            chat 2 created: New Chat (nobody)
            copied: message_posted, model_call_requested, reply_recorded, message_posted, message_posted, model_call_requested, reply_recorded, tool_called, tool_finished, tool_called, tool_finished, model_call_requested, reply_recorded, message_posted
            idle; at work: nobody; running: nothing; waiting: nothing
            ada sees:
              user: @bob hello
              assistant: @bob hi
              user: which colour?
              x1: colour({"of":"sky"})
              x2: size(no JSON)
              x1 gave: blue
              x2 gave: the client gave no result of this call
              assistant: Blue.
            bob sees:
            message 5 from human to ada: and at night?
            turn 1: ada answers human
            turn 1: model call 1 with message 5
            ada sees:
              user: @bob hello
              assistant: @bob hi
              user: which colour?
              x1: colour({"of":"sky"})
              x2: size(no JSON)
              x1 gave: blue
              x2 gave: the client gave no result of this call
              assistant: Blue.
              user: and at night?
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn what_a_client_said_last_without_an_answer_is_shown_with_the_next_message() {
    check(
        r#"
        agents: ada
        brings ada [{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}, {"type":"message","role":"user","content":[]}, {"type":"reasoning","summary":[]}]
        human: two
        ada sees
        "#,
        expect![[r#"
            chat 2 created: New Chat (nobody)
            copied: message_posted, work_stopped
            message 2 from human to ada: two
            turn 1: ada answers human
            turn 1: model call 1 with message 2
            ada sees:
              user: one
              user: two
            owed: model call of turn 1
        "#]],
    );
}
