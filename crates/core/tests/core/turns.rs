//! Checks how a turn goes: model calls, tool results, its ends and its limits.

use agent_world_core::item::Usage;
use expect_test::expect;

use crate::stage::{check, play};

#[test]
fn a_text_ends_the_turn() {
    check(
        r"
        human: hello
        ada says: hello
        ",
        expect![[r#"
            message 1 from human to ada: hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            message 2 from ada to nobody: hello
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn calls_are_answered_by_another_model_call() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        run 1: noon
        ada says: noon
        ",
        expect![[r#"
            message 1 from human to ada: time
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 1: reply with calls
            call 1: ada wants clock({}), allowed
            call 1 started
            call 1 completed: noon
            turn 1: model call 2
            message 2 from ada to nobody: noon
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn the_model_is_called_again_only_when_all_results_are_there() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock(), clock()
        run 2: second
        ---
        run 1: first
        ",
        expect![[r#"
            call 1 started
            call 1 completed: first
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_turn_makes_at_most_max_iterations_model_calls_and_ends_with_a_visible_error() {
    check(
        r"
        settings: max_iterations 2
        tool clock(): allowed
        human: time
        ada calls clock()
        run 1: noon
        ada calls clock()
        ---
        run 2: noon
        ",
        expect![[r#"
            call 2 started
            call 2 completed: noon
            notice: ada: stopped after 2 model calls in one turn; say how to go on, or raise max_iterations
            turn 1 failed: stopped after 2 model calls in one turn
            owed: nothing
        "#]],
    );
}

#[test]
fn what_arrived_meanwhile_gets_a_turn_after_the_iteration_limit() {
    check(
        r"
        settings: max_iterations 1
        tool clock(): allowed
        human: time
        ada calls clock()
        human: hello?
        ---
        run 1: noon
        ",
        expect![[r#"
            call 1 started
            call 1 completed: noon
            notice: ada: stopped after 1 model calls in one turn; say how to go on, or raise max_iterations
            turn 1 failed: stopped after 1 model calls in one turn
            turn 2: ada answers human
            turn 2: model call 1 with message 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn the_default_is_ten_model_calls() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        run 1: noon
        ada calls clock()
        run 2: noon
        ada calls clock()
        run 3: noon
        ada calls clock()
        run 4: noon
        ada calls clock()
        run 5: noon
        ada calls clock()
        run 6: noon
        ada calls clock()
        run 7: noon
        ada calls clock()
        run 8: noon
        ada calls clock()
        run 9: noon
        ada calls clock()
        ---
        run 10: noon
        ",
        expect![[r#"
            call 10 started
            call 10 completed: noon
            notice: ada: stopped after 10 model calls in one turn; say how to go on, or raise max_iterations
            turn 1 failed: stopped after 10 model calls in one turn
            owed: nothing
        "#]],
    );
}

#[test]
fn a_model_failure_ends_the_turn_with_a_notice() {
    check(
        r"
        human: hello
        ---
        ada's model fails: overloaded
        ",
        expect![[r#"
            notice: ada could not answer: overloaded
            turn 1 failed: overloaded
            owed: nothing
        "#]],
    );
}

#[test]
fn a_failure_of_one_agent_leaves_the_others_alone() {
    check(
        r"
        agents: ada, bob
        human: hello
        ---
        ada's model fails: overloaded
        ",
        expect![[r#"
            notice: ada could not answer: overloaded
            turn 1 failed: overloaded
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_failed_turn_can_be_retried_and_does_not_count_twice() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 2
        human: @ada hello
        ada's model fails: overloaded
        ---
        retry
        ada says: hello
        bob: @ada the second turn
        ",
        expect![[r#"
            turn 2: ada answers human, turn 1 again
            turn 2: model call 1
            message 2 from ada to nobody: hello
            turn 2 completed
            message 3 from bob to ada: @ada the second turn
            turn 3: ada answers bob
            turn 3: model call 1 with message 3
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn only_a_failed_turn_can_be_retried() {
    check(
        r"
        human: hello
        retry
        ada says: hello
        retry
        ",
        expect![[r#"
            message 1 from human to ada: hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            refused (nothing_to_retry): no turn of this chat has failed; there is nothing to retry
            message 2 from ada to nobody: hello
            turn 1 completed
            refused (nothing_to_retry): no turn of this chat has failed; there is nothing to retry
            owed: a name
        "#]],
    );
}

#[test]
fn a_failed_turn_is_taken_up_only_once() {
    check(
        r"
        human: hello
        ada's model fails: overloaded
        retry
        ---
        retry
        ",
        expect![[r#"
            refused (nothing_to_retry): no turn of this chat has failed; there is nothing to retry
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn one_agents_failed_turn_can_be_retried_alone() {
    check(
        r"
        agents: ada, bob
        human: hello
        ada's model fails: overloaded
        bob's model fails: overloaded
        ---
        retry bob
        ",
        expect![[r#"
            turn 3: bob answers human, turn 2 again
            turn 3: model call 1
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn a_message_after_a_failure_is_answered_with_what_came_before() {
    check(
        r"
        human: one
        ada's model fails: overloaded
        human: two
        ---
        ada sees
        retry
        ",
        expect![[r#"
            ada sees:
              user: one
              user: two
            refused (nothing_to_retry): no turn of this chat has failed; there is nothing to retry
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_message_that_waited_gets_its_turn_although_the_one_before_failed() {
    check(
        r"
        human: one
        human: two
        ---
        ada's model fails: overloaded
        ",
        expect![[r#"
            notice: ada could not answer: overloaded
            turn 1 failed: overloaded
            turn 2: ada answers human
            turn 2: model call 1 with message 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn only_the_first_answer_to_a_model_call_counts() {
    check(
        r"
        human: hello
        ada says: one
        ---
        ada says: two
        ada's model fails: late
        ",
        expect![[r#"
            refused (stale): model call message 2 of turn 1 is no longer under way
            refused (stale): model call message 2 of turn 1 is no longer under way
            owed: a name
        "#]],
    );
}

#[test]
fn a_reply_that_was_cut_off_is_posted_with_a_notice() {
    check(
        r"
        human: hello
        ---
        ada says (cut off): hel
        ",
        expect![[r#"
            notice: the reply of ada was cut off by its vendor: max_output_tokens
            message 2 from ada to nobody: hel
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn calls_of_a_reply_that_was_cut_off_never_run() {
    check(
        r#"
        tool clock(): allowed
        human: time
        ---
        ada calls (cut off) clock(), shell_cmd({"command":)
        "#,
        expect![[r#"
            turn 1: reply with calls
            notice: the reply of ada was cut off by its vendor: max_output_tokens
            call 1: ada wants clock(""), not a valid call
            call 1 failed: error: the reply was cut off before it was complete; the call was not executed
            call 2: ada wants shell_cmd("{\"command\":"), not a valid call
            call 2 failed: error: the reply was cut off before it was complete; the call was not executed
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_agent_deleted_while_it_answers_fails_visibly() {
    check(
        r"
        agents: ada, bob
        human: @bob hello
        agents: ada
        ---
        bob says: hello
        ",
        expect![[r#"
            notice: agent bob was deleted while it was answering
            turn 1 failed: agent bob was deleted while it was answering
            owed: nothing
        "#]],
    );
}

#[test]
fn usage_is_recorded_for_every_model_call() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        run 1: noon
        ada says: noon
        ---
        usage
        ",
        expect![[r#"
            tokens used: 20
            owed: a name
        "#]],
    );
}

#[test]
fn usage_is_summed_while_a_turn_is_open() {
    let stage = play("tool clock(): allowed\nhuman: time\nada calls clock()\nrun 1: noon");
    let turns = &stage.scene().chat.turns;
    let [turn] = turns.values().collect::<Vec<_>>()[..] else { panic!("one turn") };
    assert_eq!(turn.usage.total_tokens, 10);
    assert_eq!(stage.scene().tables.usage[0].turn.as_ref(), Some(&turn.id));
}

#[test]
fn an_absurd_number_of_tokens_does_not_spoil_the_sums() {
    let absurd = Usage { input_tokens: u64::MAX, output_tokens: 7, ..Usage::default() };
    assert_eq!(absurd.capped(), Usage { input_tokens: 1 << 40, ..absurd });
}

#[test]
fn an_empty_reply_ends_the_turn() {
    check(
        r"
        human: hello
        ---
        ada replies []
        ",
        expect![[r#"
            notice: ada answered with an empty reply
            turn 1 completed
            owed: nothing
        "#]],
    );
}
