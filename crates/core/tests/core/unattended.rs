//! Checks what happens when nobody can be asked: denied at once, never approved by default.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_request_for_an_unattended_message_is_denied_at_once() {
    check(
        r#"
        human (unattended): go
        ---
        ada calls shell_cmd({"command":"ls"})
        ada sees
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            call 1 denied: denied: this needs approval and nobody can be asked in this run
            turn 1: model call 2
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: denied: this needs approval and nobody can be asked in this run
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn it_is_no_denial_by_a_person() {
    check(
        r#"
        settings: after_denial wait
        human (unattended): go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            call 1 denied: denied: this needs approval and nobody can be asked in this run
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn what_is_allowed_still_runs() {
    check(
        r"
        tool clock(): allowed
        human (unattended): go
        ---
        ada calls clock()
        ",
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants clock({}), allowed
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_grant_still_counts() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: files
        ada says: done
        human (unattended): go
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

#[test]
fn it_holds_for_the_agents_the_message_cascades_to() {
    check(
        r#"
        agents: ada, bob
        human (unattended): @ada go
        ada says: @bob list files
        ---
        bob calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 1: bob wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: bob wants to run shell_cmd
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            call 1 denied: denied: this needs approval and nobody can be asked in this run
            turn 2: model call 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn it_holds_for_what_follows_in_the_background() {
    check(
        r#"
        tool build(target): allowed; background
        human (unattended): build
        ada calls build({"target":"x"})
        start 1
        ada says: building
        tool 1 completes: built
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 2: ada wants to run shell_cmd
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            call 2 denied: denied: this needs approval and nobody can be asked in this run
            turn 2: model call 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn it_holds_for_a_turn_that_is_retried() {
    check(
        r#"
        human (unattended): go
        ada's model fails: overloaded
        retry
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            call 1 denied: denied: this needs approval and nobody can be asked in this run
            turn 2: model call 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn it_does_not_hold_for_a_turn_of_somebody_who_can_be_asked_nor_for_what_follows_from_that() {
    check(
        r#"
        tool clock(): allowed
        tool build(target): allowed; background
        human: go
        ada calls clock(), build({"target":"x"})
        start 2
        human (unattended): and list files
        run 1: noon
        ada says: building
        tool 2 completes: built
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 3: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 3: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn an_attended_message_afterwards_asks_again() {
    check(
        r#"
        human (unattended): go
        ada says: done
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn an_attended_message_that_waits_together_with_an_unattended_one_asks() {
    check(
        r#"
        human: one
        human (unattended): two
        human: three
        ada says: 1
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn an_attended_message_that_joins_the_turn_of_an_unattended_one_asks() {
    check(
        r#"
        tool clock(): allowed
        human (unattended): go
        ada calls clock()
        human: and list files
        run 1: noon
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 2: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn a_result_in_the_background_that_joins_an_unattended_turn_does_not_make_it_ask() {
    check(
        r#"
        tool build(target): allowed; background
        tool clock(): allowed
        human (unattended): build
        ada calls build({"target":"x"}), clock()
        start 1
        tool 1 completes: built
        run 2: noon
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 3: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 3: ada wants to run shell_cmd
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            call 3 denied: denied: this needs approval and nobody can be asked in this run
            turn 1: model call 3
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn messages_of_which_none_can_be_asked_are_denied_together() {
    check(
        r#"
        human (unattended): one
        human (unattended): two
        human (unattended): three
        ada says: 1
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            approval 1 denied by nobody: denied: this needs approval and nobody can be asked in this run
            call 1 denied: denied: this needs approval and nobody can be asked in this run
            turn 2: model call 2
            owed: model call of turn 2
        "#]],
    );
}
