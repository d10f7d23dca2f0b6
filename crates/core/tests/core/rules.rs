//! Checks the rules of a world: which decides about a call, and how an answer makes one.

use expect_test::expect;

use crate::stage::check;

#[test]
fn always_makes_a_rule_for_the_agent_and_the_tool() {
    check(
        r#"
        agents: ada, bob
        tool write(text):
        human: go
        ada calls shell_cmd({"command":"ls"})
        bob calls shell_cmd({"command":"ls"})
        approve 1 always
        run 1: files
        ---
        ada calls shell_cmd({"command":"rm x"}), write({"text":"x"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 3: ada wants shell_cmd({"command":"rm x"}), allowed by rule 1
            call 4: ada wants write({"text":"x"}), needs approval
            approval 3 for call 4: ada wants to run write
            owed: run call 3
        "#]],
    );
}

#[test]
fn always_settles_the_pending_requests_it_covers() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        ---
        approve 1 always
        "#,
        expect![[r#"
            approval 1 approved by human always, rule 1
            approval 2 approved by rule 1 of human once
            approval 3 approved by rule 1 of human once
            owed: run call 1, run call 2, run call 3
        "#]],
    );
}

#[test]
fn always_covers_other_chats_of_the_world() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 always
        new chat
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), allowed by rule 1
            owed: run call 2
        "#]],
    );
}

#[test]
fn a_rule_granted_in_another_chat_settles_what_waits_here() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        new chat
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 2 always
        go to chat 1
        ---
        review
        "#,
        expect![[r#"
            approval 1 approved by rule 1 of human once
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_review_without_a_rule_changes_nothing() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        review
        "#,
        expect![[r#"
            nothing happened
            owed: nothing
        "#]],
    );
}

#[test]
fn always_can_be_narrowed() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        ---
        approve 2 always when /command = "two"
        "#,
        expect![[r#"
            approval 2 approved by human always, rule 1
            owed: run call 2
        "#]],
    );
}

#[test]
fn always_is_not_offered_for_what_cannot_be_shown_in_full() {
    let long = "x".repeat(30_000);
    check(
        &format!(
            r#"
            human: go
            ada calls shell_cmd({{"command":"{long}"}})
            ---
            approve 1 always
            approve 1 for session
            "#
        ),
        expect![[r#"
            refused (choice_not_offered): approval approval 1 does not offer `always`; choose one of its options
            approval 1 approved by human for session, grant 1
            owed: run call 1
        "#]],
    );
}

#[test]
fn the_verdict_names_the_rule_that_decided() {
    check(
        r#"
        policy: allow shell_cmd when /command like "ls*"; ask shell_cmd
        human: go
        ---
        ada calls shell_cmd({"command":"ls -l"}), shell_cmd({"command":"id"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls -l"}), allowed by policy-1
            call 2: ada wants shell_cmd({"command":"id"}), needs approval by policy-2
            approval 1 for call 2: ada wants to run shell_cmd
            owed: run call 1
        "#]],
    );
}

#[test]
fn the_first_matching_rule_decides() {
    check(
        r#"
        policy: ask shell_cmd for bob; allow shell_cmd; ask *
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), allowed by policy-2
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_rule_can_ask_where_the_tool_does_not() {
    check(
        r"
        tool clock(): allowed
        policy: ask clock
        human: go
        ---
        ada calls clock()
        ",
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants clock({}), needs approval by policy-1
            approval 1 for call 1: ada wants to run clock
            owed: nothing
        "#]],
    );
}

#[test]
fn a_denial_by_rule_is_final_wherever_it_stands() {
    check(
        r#"
        policy: allow shell_cmd; deny shell_cmd when /command like "rm *"
        human: go
        ---
        ada calls shell_cmd({"command":"rm x"})
        ada sees
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"rm x"}), denied by policy-2
            call 1 denied: denied by rule policy-2 of this world
            turn 1: model call 2
            ada sees:
              user: go
              v1: shell_cmd({"command":"rm x"})
              v1 gave: denied by rule policy-2 of this world
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_denial_by_rule_beats_a_rule_granted_by_an_answer() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 always
        run 1: files
        policy: deny shell_cmd
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), denied by policy-1
            call 2 denied: denied by rule policy-1 of this world
            turn 1: model call 3
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_grant_does_not_settle_what_a_rule_has_come_to_deny() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        policy: deny shell_cmd when /command like "t*"
        ---
        approve 1 for session
        "#,
        expect![[r#"
            approval 1 approved by human for session, grant 1
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_person_cannot_approve_what_a_rule_has_come_to_deny() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        policy: deny shell_cmd
        ---
        approve 1
        "#,
        expect![[r#"
            refused (denied_by_rule): rule policy-1 denies this call, whoever approves it; change the rule or deny the request
            owed: nothing
        "#]],
    );
}

#[test]
fn a_rule_granted_by_an_answer_beats_a_rule_that_asks() {
    check(
        r#"
        policy: ask shell_cmd
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 always
        run 1: files
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), allowed by rule 1
            owed: run call 2
        "#]],
    );
}

#[test]
fn settings_that_change_later_do_not_decide_what_was_asked() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        policy: allow shell_cmd
        ---
        review
        deny 1
        "#,
        expect![[r#"
            nothing happened
            approval 1 denied by human
            call 1 denied: denied by the user
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}
