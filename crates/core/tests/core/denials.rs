//! Checks what a denial or an expiry means for the turn: the model goes on, or a person is waited for.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_denial_is_the_tools_result() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        deny 1
        ada sees
        "#,
        expect![[r#"
            approval 1 denied by human
            call 1 denied: denied by the user
            turn 1: model call 2
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: denied by the user
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_denial_may_carry_a_reason() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        deny 1: too dangerous
        ada sees
        "#,
        expect![[r#"
            approval 1 denied by human: too dangerous
            call 1 denied: denied by the user: too dangerous
            turn 1: model call 2
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: denied by the user: too dangerous
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_blank_reason_is_none() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        deny 1:
        "#,
        expect![[r#"
            approval 1 denied by human
            call 1 denied: denied by the user
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn after_a_denial_the_model_goes_on_once_the_batch_is_settled() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        deny 1
        approve 2
        ---
        deny 3
        run 2: done
        "#,
        expect![[r#"
            approval 3 denied by human
            call 3 denied: denied by the user
            call 2 started
            call 2 completed: done
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn after_a_denial_the_turn_can_wait_for_a_person() {
    check(
        r#"
        settings: after_denial wait
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        approve 2
        run 2: done
        deny 1: no
        ---
        deny 3
        activity
        human: use less force
        ada sees
        "#,
        expect![[r#"
            approval 3 denied by human
            call 3 denied: denied by the user
            turn 1 waits for a person
            busy; at work: ada AwaitingHuman; running: nothing; waiting: nothing
            message 2 from human to ada: use less force
            turn 1: model call 2 with message 2
            ada sees:
              user: go
              v1: shell_cmd({"command":"one"})
              v2: shell_cmd({"command":"two"})
              v3: shell_cmd({"command":"three"})
              v1 gave: denied by the user: no
              v2 gave: done
              v3 gave: denied by the user
              user: use less force
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_waiting_turn_is_not_woken_by_others() {
    check(
        r#"
        agents: ada, bob
        settings: after_denial wait
        human: @ada go
        ada calls shell_cmd({"command":"ls"})
        deny 1
        ---
        bob: @ada hello
        world: @ada night falls
        human: @bob hello
        activity
        "#,
        expect![[r#"
            message 2 from bob to ada: @ada hello
            message 3 from world to ada: @ada night falls
            message 4 from human to bob: @bob hello
            turn 2: bob answers human
            turn 2: model call 1 with message 4
            busy; at work: ada AwaitingHuman, bob Thinking; running: nothing; waiting: nothing
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_person_who_spoke_before_the_denial_is_not_waited_for() {
    check(
        r#"
        settings: after_denial wait
        human: go
        ada calls shell_cmd({"command":"ls"})
        human: careful
        ---
        deny 1
        "#,
        expect![[r#"
            approval 1 denied by human
            call 1 denied: denied by the user
            turn 1: model call 2 with message 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_waiting_turn_can_be_stopped() {
    check(
        r#"
        settings: after_denial wait
        human: go
        ada calls shell_cmd({"command":"ls"})
        deny 1
        ---
        stop
        human: again
        "#,
        expect![[r#"
            work of all stopped by human
            turn 1 stopped
            message 2 from human to ada: again
            turn 2: ada answers human
            turn 2: model call 1 with message 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_waiting_turn_keeps_background_results_until_the_person_speaks() {
    check(
        r#"
        settings: after_denial wait
        tool build(target): allowed; background
        human: go
        ada calls build({"target":"x"}), shell_cmd({"command":"ls"})
        start 1
        deny 1
        ---
        tool 1 completes: built
        human: go on
        ada sees
        "#,
        expect![[r#"
            call 1 completed: built
            message 2 from human to ada: go on
            turn 1: model call 2 with the result of call 1, message 2
            ada sees:
              user: go
              v1: build({"target":"x"})
              v2: shell_cmd({"command":"ls"})
              v1 gave: started in the background, id call 1; its result will follow
              v2 gave: denied by the user
              user: Background call call 1 (build): built
              user: go on
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_denial_by_rule_does_not_make_the_turn_wait() {
    check(
        r#"
        settings: after_denial wait
        policy: deny shell_cmd when /command like "rm *"
        human: go
        ---
        ada calls shell_cmd({"command":"rm x"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"rm x"}), denied by policy-1
            call 1 denied: denied by rule policy-1 of this world
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_expiry_is_not_a_denial() {
    check(
        r#"
        settings: approval_timeout 60; after_denial wait
        human: go
        ada calls shell_cmd({"command":"ls"})
        wait 59s
        ---
        expire
        requests
        ada sees
        "#,
        expect![[r#"
            approval 1 expired
            call 1 expired: not executed: nobody answered the request for approval in time
            turn 1: model call 2
            approval 1 expired: call 1 of ada, shell_cmd { "command": "ls" }
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: not executed: nobody answered the request for approval in time
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn nothing_expires_before_its_time() {
    check(
        r#"
        settings: approval_timeout 60
        human: go
        ada calls shell_cmd({"command":"ls"})
        wait 50s
        ---
        expire
        "#,
        expect![[r#"
            nothing happened
            owed: expiry in 9 s
        "#]],
    );
}

#[test]
fn each_request_expires_at_its_own_time() {
    check(
        r#"
        agents: ada, bob
        settings: approval_timeout 60
        human: go
        ada calls shell_cmd({"command":"ls"})
        wait 30s
        bob calls shell_cmd({"command":"ls"})
        wait 30s
        ---
        expire
        wait 60s
        expire
        "#,
        expect![[r#"
            approval 1 expired
            call 1 expired: not executed: nobody answered the request for approval in time
            turn 1: model call 2
            approval 2 expired
            call 2 expired: not executed: nobody answered the request for approval in time
            turn 2: model call 2
            owed: model call of turn 1, model call of turn 2
        "#]],
    );
}

#[test]
fn without_a_timeout_a_request_waits_for_ever() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        wait 864000s
        ---
        expire
        approve 1
        "#,
        expect![[r#"
            nothing happened
            approval 1 approved by human once
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_request_that_expired_can_no_longer_be_decided() {
    check(
        r#"
        settings: approval_timeout 60
        human: go
        ada calls shell_cmd({"command":"ls"})
        wait 60s
        expire
        ---
        approve 1
        "#,
        expect![[r#"
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: model call of turn 1
        "#]],
    );
}
