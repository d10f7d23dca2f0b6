//! Checks what becomes of a call: whether it is one, how it starts, and how it ends.

use expect_test::expect;

use crate::stage::check;

#[test]
fn an_unknown_tool_is_an_error_the_model_sees() {
    check(
        r"
        human: go
        ---
        ada calls fly({})
        ada sees
        ",
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants fly("{}"), not a valid call
            call 1 failed: error: unknown tool `fly`; available: shell_cmd
            turn 1: model call 2
            ada sees:
              user: go
              v1: fly({})
              v1 gave: error: unknown tool `fly`; available: shell_cmd
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_tool_the_agent_may_not_use_is_unknown_to_it() {
    check(
        r#"
        tool clock(): allowed
        agent ada: tools clock
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd("{\"command\":\"ls\"}"), not a valid call
            call 1 failed: error: unknown tool `shell_cmd`; available: clock
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn arguments_that_are_not_json_are_an_error() {
    check(
        r"
        human: go
        ---
        ada calls shell_cmd(ls -l)
        ",
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd("ls -l"), not a valid call
            call 1 failed: error: the arguments are not JSON: expected value at line 1 column 1
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn arguments_that_fail_the_schema_are_an_error() {
    check(
        r#"
        human: go
        ---
        ada calls shell_cmd({}), shell_cmd({"command":["a","b"],"x":1}), shell_cmd(null), shell_cmd([]), shell_cmd()
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd("{}"), not a valid call
            call 1 failed: error: the arguments do not fit the tool: "command" is a required property
            call 2: ada wants shell_cmd("{\"command\":[\"a\",\"b\"],\"x\":1}"), not a valid call
            call 2 failed: error: the arguments do not fit the tool: /command: ["a","b"] is not of type "string"; Additional properties are not allowed ('x' was unexpected)
            call 3: ada wants shell_cmd("null"), not a valid call
            call 3 failed: error: the arguments do not fit the tool: "command" is a required property
            call 4: ada wants shell_cmd("[]"), not a valid call
            call 4 failed: error: the arguments are not an object
            call 5: ada wants shell_cmd(""), not a valid call
            call 5 failed: error: the arguments do not fit the tool: "command" is a required property
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_blank_name_is_an_error() {
    check(
        r"
        human: go
        ---
        ada calls ({}),   ({})
        ",
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants ("{}"), not a valid call
            call 1 failed: error: the call names no tool
            call 2: ada wants ("{}"), not a valid call
            call 2 failed: error: the call names no tool
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_number_in_quotes_a_single_value_and_a_null_are_understood() {
    check(
        r#"
        tool search(words: strings, limit?: integer, exact?: boolean): allowed
        human: go
        ---
        ada calls search({"words":"engine","limit":"3","exact":null})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants search({"words":["engine"],"limit":3}), allowed
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_tools_error_goes_to_the_model_and_the_loop_goes_on() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        start 1
        ---
        tool 1 fails: no battery
        ada sees
        ",
        expect![[r#"
            call 1 failed: no battery
            turn 1: model call 2
            ada sees:
              user: time
              v1: clock()
              v1 gave: no battery
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_timeout_is_a_state_of_its_own() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        start 1
        ---
        tool 1 times out: killed after 30 s
        ",
        expect![[r#"
            call 1 timeout: killed after 30 s
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_cancelled_tool_is_told_to_the_model() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        start 1
        ---
        tool 1 was cancelled: the server shut down
        ",
        expect![[r#"
            call 1 cancelled: the server shut down
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_tool_starts_once() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        start 1
        ---
        start 1
        tool 1 completes: noon
        start 1
        ",
        expect![[r#"
            refused (stale): tool call call 1 is no longer under way
            call 1 completed: noon
            turn 1: model call 2
            refused (stale): tool call call 1 is no longer under way
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_tool_ends_once() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        run 1: noon
        ---
        tool 1 completes: again
        tool 1 fails: again
        lost 1
        ",
        expect![[r#"
            refused (stale): tool call call 1 is no longer under way
            refused (stale): tool call call 1 is no longer under way
            refused (stale): tool call call 1 is no longer under way
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_result_without_a_start_is_refused() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        ---
        tool 1 completes: noon
        lost 1
        ",
        expect![[r#"
            refused (stale): tool call call 1 is no longer under way
            refused (stale): tool call call 1 is no longer under way
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_result_of_an_earlier_attempt_is_refused() {
    check(
        r"
        tool clock(): allowed; idempotent
        human: time
        ada calls clock()
        start 1
        lost 1
        start 1
        ---
        tool 1 (attempt 1) completes: old
        tool 1 (attempt 2) completes: new
        ",
        expect![[r#"
            refused (stale): tool call call 1 is no longer under way
            call 1 completed: new
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn calls_of_one_reply_run_side_by_side() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock(), clock()
        start 2
        start 1
        ",
        expect![[r#"
            message 1 from human to ada: time
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 1: reply with calls
            call 1: ada wants clock({}), allowed
            call 2: ada wants clock({}), allowed
            call 2 started
            call 1 started
            owed: end of call 1, end of call 2
        "#]],
    );
}

#[test]
fn without_parallel_calls_they_run_one_after_another_in_order() {
    check(
        r"
        agent ada: sequential
        tool clock(): allowed
        human: time
        ada calls clock(), clock()
        ---
        start 2
        start 1
        start 2
        tool 1 completes: one
        start 2
        tool 2 completes: two
        ",
        expect![[r#"
            refused (stale): tool call call 2 is no longer under way
            call 1 started
            refused (stale): tool call call 2 is no longer under way
            call 1 completed: one
            call 2 started
            call 2 completed: two
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn without_parallel_calls_an_approved_call_waits_for_the_one_before_it() {
    check(
        r#"
        agent ada: sequential
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"})
        ---
        approve 2
        start 2
        deny 1
        start 2
        "#,
        expect![[r#"
            approval 2 approved by human once
            refused (stale): tool call call 2 is no longer under way
            approval 1 denied by human
            call 1 denied: denied by the user
            call 2 started
            owed: end of call 2
        "#]],
    );
}
