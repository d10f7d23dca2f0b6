//! Checks tools that a client executes: they start when they may and take the client's result.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_clients_tool_starts_at_once_and_takes_a_clients_result() {
    check(
        r"
        tool colour(): allowed; client; timeout 60
        human: pick
        ada calls colour()
        ---
        client 1 answers: blue
        ",
        expect![[r#"
            call 1 completed: blue
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_clients_tool_that_needs_approval_starts_when_it_is_approved() {
    check(
        r"
        tool colour(): client
        human: pick
        ada calls colour()
        ---
        client 1 answers: blue
        wait 100s
        approve 1
        ",
        expect![[r#"
            refused (call_not_waiting): tool call call 1 is not waiting for a client's result
            approval 1 approved by human once
            call 1 started
            owed: client's result of call 1 within 30 s
        "#]],
    );
}

#[test]
fn a_clients_tool_may_fail() {
    check(
        r"
        tool colour(): allowed; client
        human: pick
        ada calls colour()
        ---
        client 1 fails: no screen
        ",
        expect![[r#"
            call 1 failed: no screen
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_client_cannot_answer_for_our_own_tools() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock()
        start 1
        ---
        client 1 answers: midnight
        ",
        expect![[r#"
            refused (call_not_waiting): tool call call 1 is not waiting for a client's result
            owed: end of call 1
        "#]],
    );
}

#[test]
fn a_clients_result_counts_once() {
    check(
        r"
        tool colour(): allowed; client
        human: pick
        ada calls colour()
        client 1 answers: blue
        ---
        client 1 answers: red
        ",
        expect![[r#"
            refused (call_not_waiting): tool call call 1 is not waiting for a client's result
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_clients_tool_times_out() {
    check(
        r"
        tool colour(): allowed; client; timeout 60
        human: pick
        ada calls colour()
        wait 60s
        ---
        tool 1 times out: nobody answered
        ",
        expect![[r#"
            call 1 timeout: nobody answered
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_clients_tool_is_not_lost_when_our_program_stops() {
    check(
        r"
        tool colour(): allowed; client
        human: pick
        ada calls colour()
        ---
        lost 1
        ",
        expect![[r#"
            refused (stale): tool call call 1 is no longer under way
            owed: client's result of call 1 within 29 s
        "#]],
    );
}

#[test]
fn clients_tools_run_in_order_without_parallel_calls() {
    check(
        r"
        agent ada: sequential
        tool colour(): allowed; client
        human: pick
        ada calls colour(), colour()
        ---
        client 2 answers: red
        client 1 answers: blue
        client 2 answers: red
        ",
        expect![[r#"
            refused (call_not_waiting): tool call call 2 is not waiting for a client's result
            call 1 completed: blue
            call 2 started
            call 2 completed: red
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}
