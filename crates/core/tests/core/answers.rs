//! Checks which answers to a request are accepted: what it is about comes from the log, not from the answer.

use expect_test::expect;

use crate::stage::check;

#[test]
fn an_answer_that_names_another_agent_is_refused() {
    check(
        r#"
        agents: ada, bob
        human: @ada go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 claiming agent bob
        requests
        "#,
        expect![[r#"
            refused (approval_mismatch): approval approval 1 is about agent ada, not bob; nothing was decided
            approval 1 pending: call 1 of ada, shell_cmd { "command": "ls" }
            owed: nothing
        "#]],
    );
}

#[test]
fn an_answer_that_names_another_tool_is_refused() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 claiming tool read_file
        "#,
        expect![[r#"
            refused (approval_mismatch): approval approval 1 is about tool shell_cmd, not read_file; nothing was decided
            owed: nothing
        "#]],
    );
}

#[test]
fn an_answer_that_states_other_arguments_is_refused() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 claiming arguments {"command":"rm"}
        "#,
        expect![[r#"
            refused (approval_mismatch): approval approval 1 is about arguments {
              "command": "ls"
            }, not {
              "command": "rm"
            }; nothing was decided
            owed: nothing
        "#]],
    );
}

#[test]
fn an_answer_that_names_another_world_is_refused() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 claiming world other
        "#,
        expect![[r#"
            refused (approval_mismatch): approval approval 1 is about world test, not other; nothing was decided
            owed: nothing
        "#]],
    );
}

#[test]
fn a_denial_with_a_wrong_claim_is_refused_too() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        deny 1 claiming agent bob: no
        "#,
        expect![[r#"
            refused (approval_mismatch): approval approval 1 is about agent ada, not bob; nothing was decided
            owed: nothing
        "#]],
    );
}

#[test]
fn an_answer_with_true_claims_is_accepted() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 claiming agent ada claiming tool shell_cmd claiming world test claiming arguments {"command":"ls"}
        "#,
        expect![[r#"
            approval 1 approved by human once
            owed: run call 1
        "#]],
    );
}

#[test]
fn an_answer_to_an_unknown_request_is_refused() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 9
        deny nonsense
        "#,
        expect![[r#"
            refused (approval_not_pending): approval approval_9 is not waiting for a decision
            refused (approval_not_pending): approval approval_nonsense is not waiting for a decision
            owed: nothing
        "#]],
    );
}

#[test]
fn an_answer_to_a_request_of_another_chat_is_refused() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        new chat
        human: go
        ---
        approve 1
        "#,
        expect![[r#"
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn of_many_answers_exactly_one_takes_effect() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 as carol
        deny 1 as dave
        approve 1 always as eve
        approve 1 with {"command":"rm"}
        "#,
        expect![[r#"
            approval 1 approved by carol once
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: run call 1
        "#]],
    );
}

#[test]
fn an_answer_after_a_denial_is_refused() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        deny 1
        ---
        approve 1
        "#,
        expect![[r#"
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_answer_to_a_request_settled_by_a_grant_is_refused() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        approve 1 for session
        ---
        deny 2
        "#,
        expect![[r#"
            refused (approval_not_pending): approval approval 2 is not waiting for a decision
            owed: run call 1, run call 2, run call 3
        "#]],
    );
}

#[test]
fn the_audit_names_who_decided() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        ---
        approve 1 as carol
        deny 2 as dave: no
        approve 3 for session as eve
        "#,
        expect![[r#"
            approval 1 approved by carol once
            approval 2 denied by dave: no
            call 2 denied: denied by the user: no
            approval 3 approved by eve for session, grant 1
            owed: run call 1, run call 3
        "#]],
    );
}

#[test]
fn an_answer_after_the_expiry_is_refused_though_nobody_kept_the_time() {
    check(
        r#"
        settings: approval_timeout 60
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        wait 60s
        approve 1
        expire
        "#,
        expect![[r#"
            refused (approval_expired): approval approval 1 expired at 2026-01-01T00:01:03Z; ask the agent again
            approval 1 expired
            call 1 expired: not executed: nobody answered the request for approval in time
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}
