//! Checks what editing or deleting a message takes back, and what it leaves.

use expect_test::expect;

use crate::stage::check;

#[test]
fn editing_removes_the_message_and_everything_after_it_for_all_agents() {
    check(
        r"
        agents: ada, bob
        human: one
        ada says: 1
        bob says: 1
        human: two
        ada says: 2
        bob says: 2
        ---
        edit 4: three
        ada sees
        bob sees
        ",
        expect![[r#"
            history cut from message 4 by human
            message 7 from human to ada, bob: three
            turn 5: ada answers human
            turn 5: model call 1 with message 7
            turn 6: bob answers human
            turn 6: model call 1 with message 7
            ada sees:
              user: one
              assistant: 1
              user: three
            bob sees:
              user: one
              assistant: 1
              user: three
            owed: model call of turn 5, model call of turn 6
        "#]],
    );
}

#[test]
fn editing_stops_work_and_withdraws_pending_requests() {
    check(
        r#"
        agents: ada, bob
        human: go
        ada calls shell_cmd({"command":"ls"})
        bob calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"})
        approve 2
        start 2
        ---
        edit 1: never mind
        requests
        bob sees
        "#,
        expect![[r#"
            work of all stopped by human
            approval 1 withdrawn: the work was stopped by human
            call 1 cancelled: cancelled by human before it started
            call 2 cancelled: cancelled by human while it ran; it may have taken effect in part
            approval 3 withdrawn: the work was stopped by human
            call 3 cancelled: cancelled by human before it started
            turn 1 stopped
            turn 2 stopped
            history cut from message 1 by human
            message 2 from human to ada, bob: never mind
            turn 3: ada answers human
            turn 3: model call 1 with message 2
            turn 4: bob answers human
            turn 4: model call 1 with message 2
            approval 1 withdrawn: call 1 of ada, shell_cmd { "command": "ls" }
            approval 2 approved: call 2 of bob, shell_cmd { "command": "one" }
            approval 3 withdrawn: call 3 of bob, shell_cmd { "command": "two" }
            bob sees:
              user: never mind
            owed: model call of turn 3, model call of turn 4
        "#]],
    );
}

#[test]
fn editing_leaves_other_chats_untouched() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        new chat
        human: one
        edit 2: two
        go to chat 1
        ---
        requests
        ada sees
        "#,
        expect![[r#"
            approval 1 pending: call 1 of ada, shell_cmd { "command": "ls" }
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: the result of this call was removed from the conversation
            owed: nothing
        "#]],
    );
}

#[test]
fn editing_removes_the_result_of_an_earlier_call_that_ended_later() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        start 1
        human: faster
        ---
        edit 2: slower
        ada sees
        "#,
        expect![[r#"
            work of all stopped by human; set aside for ada: message 2
            call 1 cancelled: cancelled by human while it ran; it may have taken effect in part
            turn 1 stopped
            history cut from message 2 by human
            message 3 from human to ada: slower
            turn 2: ada answers human
            turn 2: model call 1 with message 3
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: the result of this call was removed from the conversation
              user: slower
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn an_earlier_message_that_was_shown_late_is_kept() {
    check(
        r"
        agents: ada, bob
        human: @ada one
        bob: @ada two
        human: @ada three
        ---
        edit 3: four
        ada sees
        ",
        expect![[r#"
            work of all stopped by human; set aside for ada: message 2, message 3
            turn 1 stopped
            history cut from message 3 by human
            message 4 from human to ada, bob: four
            turn 2: ada answers human
            turn 2: model call 1 with message 4
            turn 3: bob answers human
            turn 3: model call 1 with message 4
            ada sees:
              user: @ada one
              user: bob: @ada two
              user: four
            owed: model call of turn 2, model call of turn 3
        "#]],
    );
}

#[test]
fn a_late_reply_to_a_message_that_was_taken_back_is_refused() {
    check(
        r"
        human: one
        delete 1
        ---
        ada says: late
        ada sees
        ",
        expect![[r#"
            refused (stale): model call reply 1 of turn 1 is no longer under way
            ada sees:
            owed: nothing
        "#]],
    );
}

#[test]
fn deleting_removes_the_message_and_everything_after_it() {
    check(
        r"
        human: one
        ada says: 1
        human: two
        ada says: 2
        ---
        delete 3
        ada sees
        ",
        expect![[r#"
            history cut from message 3 by human
            ada sees:
              user: one
              assistant: 1
            owed: nothing
        "#]],
    );
}

#[test]
fn deleting_the_first_message_leaves_an_empty_chat() {
    check(
        r"
        human: one
        ada says: 1
        ---
        delete 1
        ada sees
        human: again
        ada sees
        ",
        expect![[r#"
            history cut from message 1 by human
            ada sees:
            message 3 from human to ada: again
            turn 2: ada answers human
            turn 2: model call 1 with message 3
            ada sees:
              user: again
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn only_a_human_message_can_be_edited_or_deleted() {
    check(
        r"
        human: one
        ada says: 1
        ---
        edit 2: x
        delete 2
        ",
        expect![[r#"
            refused (message_not_human): message message 2 was sent by ada; only a human message can be edited or removed
            refused (message_not_human): message message 2 was sent by ada; only a human message can be edited or removed
            owed: a name
        "#]],
    );
}

#[test]
fn an_edit_to_nothing_is_refused_and_removes_nothing() {
    check(
        r"
        human: one
        ada says: 1
        ---
        edit 1:
        ada sees
        ",
        expect![[r#"
            refused (message_empty): the message is empty; write something
            ada sees:
              user: one
              assistant: 1
            owed: a name
        "#]],
    );
}

#[test]
fn a_failed_turn_that_was_taken_back_cannot_be_retried() {
    check(
        r"
        human: one
        ada's model fails: overloaded
        delete 1
        ---
        retry
        ",
        expect![[r#"
            refused (nothing_to_retry): no turn of this chat has failed; there is nothing to retry
            owed: nothing
        "#]],
    );
}

#[test]
fn a_grant_outlives_an_edit() {
    check(
        r#"
        human: one
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: files
        edit 1: two
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), allowed by grant 1
            owed: run call 2
        "#]],
    );
}
