//! Checks that a running tool can ask the person: in the same inbox, while it goes on running, until it ends.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_running_call_asks_and_goes_on_with_the_answer() {
    check(
        r#"
        tool paint(): allowed
        human: paint
        ada calls paint()
        start 1
        ---
        asks 1: Which colour?
        activity
        approve 1 with {"colour":"red"}
        tool 1 completes: painted
        "#,
        expect![[r#"
            approval 1 for call 1: Which colour?, without ApproveSession, without ApproveAlways
            busy; at work: ada RunningTools; running: call 1; waiting: approval 1
            approval 1 answered by human: {"colour":"red"}
            call 1 completed: painted
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_answer_has_to_fit_and_may_be_a_no() {
    check(
        r#"
        tool paint(): allowed
        human: paint
        ada calls paint()
        start 1
        asks 1: Which colour?
        ---
        approve 1
        approve 1 with {"colour":3}
        approve 1 for session with {"colour":"red"}
        deny 1: none
        approve 1 with {"colour":"red"}
        "#,
        expect![[r#"
            refused (answer_invalid): the answer is refused: the arguments do not fit the tool: "colour" is a required property
            refused (answer_invalid): the answer is refused: the arguments do not fit the tool: /colour: 3 is not of type "string"
            refused (choice_not_offered): approval approval 1 does not offer `session`; choose one of its options
            approval 1 denied by human: none
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: end of call 1
        "#]],
    );
}

#[test]
fn the_end_of_a_call_takes_its_questions_back() {
    check(
        r#"
        tool paint(): allowed
        tool look(): allowed; read_only
        human: paint
        ada calls paint(), look(), paint()
        start 1
        start 2
        start 3
        asks 1: Which colour?
        asks 2: Where?
        asks 3: Why?
        ---
        tool 1 times out: too late
        lost 2
        stop
        "#,
        expect![[r#"
            approval 1 withdrawn: the call that asked has ended
            call 1 timeout: too late
            approval 2 withdrawn: the call that asked has ended
            call 2 is to start again
            work of all stopped by human
            call 2 cancelled: cancelled by human before it started
            approval 3 withdrawn: the call that asked has ended
            call 3 cancelled: cancelled by human while it ran; it may have taken effect in part
            turn 1 stopped
            owed: nothing
        "#]],
    );
}

#[test]
fn only_a_running_call_can_ask() {
    check(
        r#"
        human: paint
        ada calls shell_cmd({"command":"ls"})
        ---
        asks 1: Which colour?
        "#,
        expect![[r#"
            refused (stale): tool call call 1 is no longer under way
            owed: nothing
        "#]],
    );
}

#[test]
fn a_question_is_settled_by_no_permission_and_expires_without_ending_the_call() {
    check(
        r#"
        settings: approval_timeout 60
        tool paint(): allowed
        human: paint
        ada calls paint(), shell_cmd({"command":"ls"}), shell_cmd({"command":"ls"})
        start 1
        asks 1: Which colour?
        ---
        approve 1 always
        review
        wait 60s
        expire
        "#,
        expect![[r#"
            approval 1 approved by human always, rule 1
            approval 2 approved by rule 1 of human once
            nothing happened
            approval 3 expired
            owed: run call 2, run call 3, end of call 1
        "#]],
    );
}

#[test]
fn where_nobody_can_be_asked_a_question_is_declined_at_once() {
    check(
        r#"
        tool paint(): allowed
        human (unattended): paint
        ada calls paint()
        start 1
        ---
        asks 1: Which colour?
        ada sees
        "#,
        expect![[r#"
            approval 1 for call 1: Which colour?, without ApproveSession, without ApproveAlways
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            ada sees:
              user: paint
              v1: paint()
              v1 gave: the result of this call was removed from the conversation
            owed: end of call 1
        "#]],
    );
}

#[test]
fn an_answer_is_no_change_of_the_arguments() {
    check(
        r#"
        tool paint(): allowed
        human: paint
        ada calls paint()
        start 1
        asks 1: Which colour?
        approve 1 with {"colour":"red"}
        ---
        tool 1 completes: painted
        ada sees
        "#,
        expect![[r#"
            call 1 completed: painted
            turn 1: model call 2
            ada sees:
              user: paint
              v1: paint()
              v1 gave: painted
            owed: model call of turn 1
        "#]],
    );
}
