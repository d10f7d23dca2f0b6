//! Checks calls the model does not wait for: answered at once, and their results delivered when they come.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_background_call_is_answered_at_once_and_the_turn_goes_on() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        ---
        start 1
        ada sees
        "#,
        expect![[r#"
            call 1 started
            turn 1: model call 2
            ada sees:
              user: build
              v1: build({"target":"x"})
              v1 gave: started in the background, id call 1; its result will follow
            owed: model call of turn 1, end of call 1
        "#]],
    );
}

#[test]
fn a_background_result_starts_a_new_turn() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        start 1
        ada says: building
        ---
        tool 1 completes: built
        ada sees
        "#,
        expect![[r#"
            call 1 completed: built
            turn 2: ada answers human
            turn 2: model call 1 with the result of call 1
            ada sees:
              user: build
              v1: build({"target":"x"})
              v1 gave: started in the background, id call 1; its result will follow
              assistant: building
              user: Background call call 1 (build): built
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_background_result_joins_the_open_turn() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"}), shell_cmd({"command":"ls"})
        start 1
        tool 1 completes: built
        ---
        deny 1
        ada sees
        "#,
        expect![[r#"
            approval 1 denied by human
            call 2 denied: denied by the user
            turn 1: model call 2 with the result of call 1
            ada sees:
              user: build
              v1: build({"target":"x"})
              v2: shell_cmd({"command":"ls"})
              v1 gave: started in the background, id call 1; its result will follow
              v2 gave: denied by the user
              user: Background call call 1 (build): built
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_background_result_that_comes_while_the_model_answers_starts_the_next_turn() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        start 1
        tool 1 completes: built
        ---
        ada says: building
        "#,
        expect![[r#"
            message 2 from ada to nobody: building
            turn 1 completed
            turn 2: ada answers human
            turn 2: model call 1 with the result of call 1
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn background_results_that_come_together_go_together() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"}), build({"target":"y"})
        start 1
        start 2
        tool 1 completes: x is built
        tool 2 completes: y is built
        ---
        ada says: building
        ada sees
        "#,
        expect![[r#"
            message 2 from ada to nobody: building
            turn 1 completed
            turn 2: ada answers human
            turn 2: model call 1 with the result of call 1, the result of call 2
            ada sees:
              user: build
              v1: build({"target":"x"})
              v2: build({"target":"y"})
              v1 gave: started in the background, id call 1; its result will follow
              v2 gave: started in the background, id call 2; its result will follow
              assistant: building
              user: Background call call 1 (build): x is built
              user: Background call call 2 (build): y is built
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_failure_a_timeout_or_a_loss_in_the_background_is_delivered_alike() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"}), build({"target":"y"}), build({"target":"z"})
        start 1
        start 2
        start 3
        tool 1 fails: no compiler
        tool 2 times out: too slow
        lost 3
        ---
        ada says: building
        ada sees
        "#,
        expect![[r#"
            message 2 from ada to nobody: building
            turn 1 completed
            turn 2: ada answers human
            turn 2: model call 1 with the result of call 1, the result of call 2, the result of call 3
            ada sees:
              user: build
              v1: build({"target":"x"})
              v2: build({"target":"y"})
              v3: build({"target":"z"})
              v1 gave: started in the background, id call 1; its result will follow
              v2 gave: started in the background, id call 2; its result will follow
              v3 gave: started in the background, id call 3; its result will follow
              assistant: building
              user: Background call call 1 (build): no compiler
              user: Background call call 2 (build): timed out and was killed. too slow
              user: Background call call 3 (build): interrupted: the program stopped while this ran; it may or may not have taken effect. It was not run again.
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_background_call_that_was_denied_is_answered_like_any_other() {
    check(
        r#"
        tool build(target): background
        human: build
        ada calls build({"target":"x"})
        ---
        deny 1: not now
        ada sees
        "#,
        expect![[r#"
            approval 1 denied by human: not now
            call 1 denied: denied by the user: not now
            turn 1: model call 2
            ada sees:
              user: build
              v1: build({"target":"x"})
              v1 gave: denied by the user: not now
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn settings_that_change_later_do_not_change_a_call_that_was_made() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        tool build(target): gone
        ---
        start 1
        tool 1 completes: built
        "#,
        expect![[r#"
            call 1 started
            turn 1: model call 2
            call 1 completed: built
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_call_that_is_to_start_again_does_not_wait_for_a_later_batch() {
    check(
        r#"
        agent ada: sequential
        tool build(target): allowed; background; idempotent
        human: build
        ada calls build({"target":"x"})
        start 1
        ada calls shell_cmd({"command":"ls"})
        ---
        lost 1
        start 1
        "#,
        expect![[r#"
            call 1 is to start again
            call 1 started, attempt 2
            owed: end of call 1
        "#]],
    );
}
