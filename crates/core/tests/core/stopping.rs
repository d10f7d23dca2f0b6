//! Checks what stopping ends, for a chat or for one agent, and that nothing starts by itself afterwards.

use expect_test::expect;

use crate::stage::check;

#[test]
fn stopping_a_chat_ends_all_its_work_and_starts_nothing() {
    check(
        r#"
        agents: ada, bob
        human: hello
        human: @ada more
        ada calls shell_cmd({"command":"ls"}), shell_cmd({"command":"pwd"}), shell_cmd({"command":"id"})
        approve 1
        approve 2
        start 1
        ---
        stop
        ada sees
        requests
        "#,
        expect![[r#"
            work of all stopped by human; set aside for ada: message 2
            call 1 cancelled: cancelled by human while it ran; it may have taken effect in part
            call 2 cancelled: cancelled by human before it started
            approval 3 withdrawn: the work was stopped by human
            call 3 cancelled: cancelled by human before it started
            turn 1 stopped
            turn 2 stopped
            ada sees:
              user: hello
              v1: shell_cmd({"command":"ls"})
              v2: shell_cmd({"command":"pwd"})
              v3: shell_cmd({"command":"id"})
              v1 gave: cancelled by human while it ran; it may have taken effect in part
              v2 gave: cancelled by human before it started
              v3 gave: cancelled by human before it started
              user: @ada more
            approval 1 approved: call 1 of ada, shell_cmd { "command": "ls" }
            approval 2 approved: call 2 of ada, shell_cmd { "command": "pwd" }
            approval 3 withdrawn: call 3 of ada, shell_cmd { "command": "id" }
            owed: nothing
        "#]],
    );
}

#[test]
fn stopping_an_agent_leaves_the_others_alone() {
    check(
        r"
        agents: ada, bob
        human: hello
        human: more
        ---
        stop ada
        ",
        expect![[r#"
            work of ada stopped by human; set aside for ada: message 2
            turn 1 stopped
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn stopping_cancels_work_in_the_background_without_a_new_turn() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        start 1
        ada says: building
        ---
        stop
        ada sees
        "#,
        expect![[r#"
            work of all stopped by human
            call 1 cancelled: cancelled by human while it ran; it may have taken effect in part
            ada sees:
              user: build
              v1: build({"target":"x"})
              v1 gave: started in the background, id call 1; its result will follow
              assistant: building
              user: Background call call 1 (build): cancelled by human while it ran; it may have taken effect in part
            owed: a name
        "#]],
    );
}

#[test]
fn a_late_reply_or_result_after_a_stop_is_refused() {
    check(
        r#"
        human: hello
        ada calls shell_cmd({"command":"ls"})
        approve 1
        start 1
        stop
        ---
        tool 1 completes: late
        ada says: late
        approve 1
        "#,
        expect![[r#"
            refused (stale): tool call call 1 is no longer under way
            refused (stale): model call reply 1 of turn 1 is no longer under way
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: nothing
        "#]],
    );
}

#[test]
fn a_message_after_a_stop_is_answered() {
    check(
        r"
        human: one
        stop
        ---
        human: two
        ada sees
        ",
        expect![[r#"
            message 2 from human to ada: two
            turn 2: ada answers human
            turn 2: model call 1 with message 2
            ada sees:
              user: one
              user: two
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn stopping_nothing_does_nothing() {
    check(
        r"
        human: hello
        ada says: hello
        ---
        stop
        stop ada
        stop nobody
        ",
        expect![[r#"
            nothing happened
            nothing happened
            refused (agent_not_found): `nobody` is not an agent of this world
            owed: a name
        "#]],
    );
}
