//! Checks how far an approval reaches within its chat: once, or for the rest of it.

use expect_test::expect;

use crate::stage::check;

#[test]
fn once_does_not_cover_the_next_call() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        run 1: files
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 2 for call 2: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn a_session_grant_covers_later_calls_of_the_agent_in_the_chat() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: files
        ---
        ada calls shell_cmd({"command":"rm x"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"rm x"}), allowed by grant 1
            owed: run call 2
        "#]],
    );
}

#[test]
fn a_session_grant_settles_the_pending_requests_it_covers() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        ---
        approve 2 for session
        "#,
        expect![[r#"
            approval 2 approved by human for session, grant 1
            approval 1 approved by grant 1 of human once
            approval 3 approved by grant 1 of human once
            owed: run call 1, run call 2, run call 3
        "#]],
    );
}

#[test]
fn a_session_grant_does_not_cover_other_agents() {
    check(
        r#"
        agents: ada, bob
        human: go
        ada calls shell_cmd({"command":"ls"})
        bob calls shell_cmd({"command":"ls"})
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
fn a_session_grant_does_not_cover_other_tools() {
    check(
        r#"
        tool write(text):
        human: go
        ada calls shell_cmd({"command":"ls"}), write({"text":"x"})
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
fn a_session_grant_does_not_cover_other_chats() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        new chat
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 2 for call 2: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn a_session_grant_can_be_narrowed() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        ---
        approve 1 for session when /command like "t*"
        approve 2 for session when /command like "t*"
        "#,
        expect![[r#"
            refused (match_does_not_cover): the narrower match does not cover the call it was given for
            approval 2 approved by human for session, grant 1
            approval 3 approved by grant 1 of human once
            owed: run call 2, run call 3
        "#]],
    );
}

#[test]
fn a_narrowed_grant_covers_exactly_what_it_says() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session when /command = "ls"
        run 1: files
        ---
        ada calls shell_cmd({"command":"ls"}), shell_cmd({"command":"ls; rm -rf x"}), shell_cmd({"command":"LS"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), allowed by grant 1
            call 3: ada wants shell_cmd({"command":"ls; rm -rf x"}), needs approval
            approval 2 for call 3: ada wants to run shell_cmd
            call 4: ada wants shell_cmd({"command":"LS"}), needs approval
            approval 3 for call 4: ada wants to run shell_cmd
            owed: run call 2
        "#]],
    );
}

#[test]
fn a_narrowed_grant_must_cover_the_edited_arguments() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 for session when /command = "ls" with {"command":"pwd"}
        approve 1 for session when /command = "pwd" with {"command":"pwd"}
        "#,
        expect![[r#"
            refused (match_does_not_cover): the narrower match does not cover the call it was given for
            approval 1 approved by human for session, grant 1 with {"command":"pwd"}
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_session_grant_can_be_revoked() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: files
        ---
        revoke 1
        revoke 1
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            grant 1 revoked by human
            refused (grant_not_found): grant grant 1 does not exist in this chat or was revoked already
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 2 for call 2: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn an_unknown_grant_cannot_be_revoked() {
    check(
        r"
        human: go
        ---
        revoke 7
        ",
        expect![[r#"
            refused (grant_not_found): grant grant_7 does not exist in this chat or was revoked already
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn revoking_a_grant_does_not_stop_what_it_allowed() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        ---
        revoke 1
        run 1: files
        "#,
        expect![[r#"
            grant 1 revoked by human
            call 1 started
            call 1 completed: files
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_denial_by_rule_beats_a_session_grant() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: files
        policy: deny shell_cmd when /command like "rm *"
        ---
        ada calls shell_cmd({"command":"rm x"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"rm x"}), denied by policy-1
            call 2 denied: denied by rule policy-1 of this world
            turn 1: model call 3
            owed: model call of turn 1
        "#]],
    );
}
