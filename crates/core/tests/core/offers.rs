//! Checks which tools a client may offer for a chat, and that calls of them wait for its result.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_client_offers_tools_and_executes_them() {
    check(
        r#"
        offers web: colour(name), size()
        human: what colour is the sky
        ---
        ada calls colour({"name":"sky"}), colour({})
        crash
        client 1 answers: blue
        offers web: size()
        ada calls colour({"name":"sea"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants colour({"name":"sky"}), allowed
            call 2: ada wants colour("{}"), not a valid call
            call 2 failed: error: the arguments do not fit the tool: "name" is a required property
            call 1 started
            call 1 completed: blue
            turn 1: model call 2
            web offers size
            turn 1: reply with calls
            call 3: ada wants colour("{\"name\":\"sea\"}"), not a valid call
            call 3 failed: error: unknown tool `colour`; available: shell_cmd, size
            turn 1: model call 3
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_offer_that_says_nothing_new_is_not_recorded() {
    check(
        r#"
        offers web: colour(name)
        ---
        offers web: colour(name)
        offers app: size()
        offers web: colour()
        "#,
        expect![[r#"
            nothing happened
            app offers size
            web offers colour
            owed: nothing
        "#]],
    );
}

#[test]
fn a_client_takes_the_place_of_no_tool_of_ours_and_of_no_other_client() {
    check(
        r#"
        offers web: colour()
        ---
        offers web: shell_cmd(command)
        offers app: colour()
        offers app: client.requestApproval()
        offers app: b@d()
        offers app: size(), size()
        "#,
        expect![[r#"
            refused (tools_invalid): the tools are refused: `shell_cmd` is a tool of this world; choose another name
            refused (tools_invalid): the tools are refused: another client offers `colour` already; choose another name
            refused (tools_invalid): the tools are refused: a client's tool cannot be called `client.requestApproval`; use letters, digits, _ and -, at most 64
            refused (tools_invalid): the tools are refused: a client's tool cannot be called `b@d`; use letters, digits, _ and -, at most 64
            refused (tools_invalid): the tools are refused: `size` is offered twice
            owed: nothing
        "#]],
    );
}

#[test]
fn a_tool_of_the_world_wins_over_one_that_a_client_offered_before() {
    check(
        r#"
        offers web: colour()
        tool colour(): asks
        human: what colour is the sky
        ---
        ada calls colour()
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants colour({}), needs approval
            approval 1 for call 1: ada wants to run colour
            owed: nothing
        "#]],
    );
}

#[test]
fn a_fork_has_nobody_to_execute_what_was_offered() {
    check(
        r#"
        offers web: colour()
        human: hello
        ada says: hello
        fork at 1
        human: what colour is the sky
        ---
        ada calls colour()
        "#,
        expect![[r#"
            turn 2: reply with calls
            call 1: ada wants colour(""), not a valid call
            call 1 failed: error: unknown tool `colour`; available: shell_cmd
            turn 2: model call 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_permission_for_one_clients_tool_is_none_for_anothers() {
    check(
        r#"
        policy: ask deploy
        offers web: deploy()
        human: go
        ada calls deploy()
        approve 1 for session
        client 1 answers: ok
        ---
        offers web: size()
        offers evil: deploy()
        ada calls deploy()
        "#,
        expect![[r#"
            grant 1 revoked by human
            web offers size
            evil offers deploy
            turn 1: reply with calls
            call 2: ada wants deploy({}), needs approval by policy-1
            approval 2 for call 2: ada wants to run deploy, without ApproveAlways
            owed: nothing
        "#]],
    );
}

#[test]
fn a_client_cannot_pose_as_a_server() {
    check(
        r#"
        ---
        offers web: files.read()
        "#,
        expect![[r#"
            refused (tools_invalid): the tools are refused: a client's tool cannot be called `files.read`; use letters, digits, _ and -, at most 64
            owed: nothing
        "#]],
    );
}
