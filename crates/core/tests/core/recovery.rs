//! Checks what is owed after a crash: the same as before it, and nothing that was started runs again by itself.
//! The stage folds the log again after every step of every script; here the crash is the point.

use agent_world_core::outstanding::{Wake, outstanding, wake};
use expect_test::expect;

use crate::scene::Scene;
use crate::stage::{check, play};

#[test]
fn an_accepted_message_is_answered() {
    check(
        r"
        human: hello
        crash
        ---
        ada says: hello
        ",
        expect![[r#"
            message 2 from ada to nobody: hello
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_waiting_message_is_answered() {
    check(
        r"
        human: one
        human: two
        crash
        ---
        ada says: 1
        ",
        expect![[r#"
            message 3 from ada to nobody: 1
            turn 1 completed
            turn 2: ada answers human
            turn 2: model call 1 with message 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_model_call_in_flight_is_made_again_and_answered_once() {
    check(
        r"
        human: hello
        crash
        ada says: first
        ---
        ada says: second
        ",
        expect![[r#"
            refused (stale): model call message 2 of turn 1 is no longer under way
            owed: a name
        "#]],
    );
}

#[test]
fn a_pending_request_stays_pending_under_the_same_id() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        crash
        ---
        requests
        approve 1
        "#,
        expect![[r#"
            approval 1 pending: call 1 of ada, shell_cmd { "command": "ls" }
            approval 1 approved by human once
            owed: run call 1
        "#]],
    );
}

#[test]
fn a_decided_call_executes() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        crash
        ---
        run 1: files
        "#,
        expect![[r#"
            call 1 started
            call 1 completed: files
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_decision_recorded_while_no_program_ran_takes_effect() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        crash
        approve 1
        crash
        ---
        run 1: files
        "#,
        expect![[r#"
            call 1 started
            call 1 completed: files
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_started_tool_becomes_interrupted_and_is_never_run_again() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1
        start 1
        crash
        ---
        lost 1
        start 1
        ada sees
        "#,
        expect![[r#"
            call 1 interrupted: interrupted: the program stopped while this ran; it may or may not have taken effect. It was not run again.
            turn 1: model call 2
            refused (stale): tool call call 1 is no longer under way
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: interrupted: the program stopped while this ran; it may or may not have taken effect. It was not run again.
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_idempotent_tool_is_started_again() {
    check(
        r#"
        tool fetch(url): allowed; idempotent
        human: go
        ada calls fetch({"url":"x"})
        start 1
        crash
        ---
        lost 1
        run 1: page
        "#,
        expect![[r#"
            call 1 is to start again
            call 1 started, attempt 2
            call 1 completed: page
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_read_only_tool_is_started_again() {
    check(
        r#"
        tool read(path): allowed; read_only
        human: go
        ada calls read({"path":"x"})
        start 1
        crash
        ---
        lost 1
        run 1: text
        "#,
        expect![[r#"
            call 1 is to start again
            call 1 started, attempt 2
            call 1 completed: text
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_approved_idempotent_tool_is_started_again_without_asking_again() {
    check(
        r#"
        tool fetch(url): idempotent
        human: go
        ada calls fetch({"url":"x"})
        approve 1
        start 1
        crash
        ---
        lost 1
        run 1: page
        "#,
        expect![[r#"
            call 1 is to start again
            call 1 started, attempt 2
            call 1 completed: page
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_repeatable_tool_in_the_background_is_started_again_and_delivered_once() {
    check(
        r#"
        tool build(target): allowed; background; idempotent
        human: build
        ada calls build({"target":"x"})
        start 1
        ada says: building
        crash
        ---
        lost 1
        start 1
        tool 1 completes: built
        ada sees
        "#,
        expect![[r#"
            call 1 is to start again
            call 1 started, attempt 2
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
fn a_lost_background_tool_is_told_in_a_new_turn() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        start 1
        ada says: building
        crash
        ---
        lost 1
        "#,
        expect![[r#"
            call 1 interrupted: interrupted: the program stopped while this ran; it may or may not have taken effect. It was not run again.
            turn 2: ada answers human
            turn 2: model call 1 with the result of call 1
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_grant_is_still_there() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: files
        crash
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 2: ada wants shell_cmd({"command":"ls"}), allowed by grant 1
            owed: run call 2
        "#]],
    );
}

#[test]
fn edited_arguments_are_still_there() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        approve 1 with {"command":"pwd"}
        crash
        run 1: files
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: [the user changed the arguments of this call to {"command":"pwd"}]\nfiles
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_waiting_turn_still_waits() {
    check(
        r#"
        settings: after_denial wait
        human: go
        ada calls shell_cmd({"command":"ls"})
        deny 1
        crash
        ---
        activity
        human: go on
        "#,
        expect![[r#"
            busy; at work: ada AwaitingHuman; running: nothing; waiting: nothing
            message 2 from human to ada: go on
            turn 1: model call 2 with message 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_expiry_is_still_owed() {
    check(
        r#"
        settings: approval_timeout 60
        human: go
        ada calls shell_cmd({"command":"ls"})
        crash
        "#,
        expect![[r#"
            message 1 from human to ada: go
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd, expires in 60 s
            owed: expiry in 60 s
        "#]],
    );
}

#[test]
fn a_clients_result_is_still_awaited() {
    check(
        r"
        tool colour(): allowed; client
        human: pick
        ada calls colour()
        crash
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
fn a_failed_turn_can_still_be_retried() {
    check(
        r"
        human: hello
        ada's model fails: overloaded
        crash
        ---
        retry
        ",
        expect![[r#"
            turn 2: ada answers human, turn 1 again
            turn 2: model call 1
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn the_turn_limit_is_still_counted() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 1
        human: @ada hello
        ada says: hello
        crash
        ---
        bob: @ada hello
        ",
        expect![[r#"
            message 3 from bob to ada: @ada hello
            ada has had 1 turns; set aside: message 3
            message 4 from ada to nobody: @human Turn limit reached (1 turns). Please take control of the conversation.
            owed: a name
        "#]],
    );
}

#[test]
fn a_name_is_still_owed() {
    check(
        r"
        human: hello
        ada says: hello
        crash
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
fn a_chat_wakes_when_something_is_owed_and_not_while_it_waits_for_people() {
    let asked = r#"human: go
        ada calls shell_cmd({"command":"ls"})"#;
    for (script, seconds) in [
        ("human: go", Some(0)),
        (asked, None),
        (&format!("{asked}\napprove 1"), Some(0)),
        (&format!("settings: approval_timeout 60\n{asked}"), Some(60)),
        (&format!("tool colour(): allowed; client; timeout 7\n{asked}, colour()"), Some(7)),
        (
            &format!(
                "settings: approval_timeout 5\ntool colour(): allowed; client\n{asked}, colour()"
            ),
            Some(5),
        ),
        ("human: go\nada says: done\nrename: Mine", None),
    ] {
        let stage = play(script);
        let woken = match wake(&outstanding(&stage.scene().chat)) {
            Wake::Never => None,
            Wake::Now => Some(0),
            Wake::At(at) => Some(at.duration_since(stage.now).as_secs()),
        };
        assert_eq!(woken, seconds, "{script}");
    }
}

#[test]
fn a_log_can_be_folded_at_every_place() {
    let stage = play(
        r#"
        agents: ada, bob
        tool build(target): allowed; background
        human: go
        ada calls build({"target":"x"}), shell_cmd({"command":"ls"})
        start 1
        approve 1 for session
        bob says: @ada hello
        run 2: files
        tool 1 completes: built
        edit 1: again
        ada says: done
        "#,
    );
    let scene = stage.scene();
    for length in 0..=scene.stored.len() {
        let again = Scene::load(scene.chat.id.clone(), 20_000, &scene.stored[..length]);
        assert_eq!(again.chat.head, u64::try_from(length).unwrap());
        assert_eq!(again.log, scene.log[..length]);
    }
}
