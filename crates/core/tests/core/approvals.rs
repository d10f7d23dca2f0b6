//! Checks how a call that needs approval is asked for, decided and told to the model.

use agent_world_core::event::Choice;
use agent_world_core::view::MessageRole;
use expect_test::expect;
use serde_json::json;

use crate::stage::{check, play};

#[test]
fn a_call_that_needs_approval_waits_and_owes_nothing() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            message 1 from human to ada: go
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            owed: nothing
        "#]],
    );
}

#[test]
fn the_request_is_also_a_stored_message_whose_call_asks_the_client() {
    let stage = play(
        r#"
        settings: directory /srv
        human: go
        ada calls shell_cmd({"command":"ls"})
        "#,
    );
    let tables = &stage.scene().tables;
    let asking = tables.messages.last().unwrap();
    let original = &tables.messages[1];
    assert_eq!(asking.reply_to, Some(original.id.clone()));
    assert_eq!(asking.role, MessageRole::Assistant);
    let [call] = asking.tool_calls.as_slice() else { panic!("one call: {asking:?}") };
    assert_eq!(call.name, "client.requestApproval");
    assert_eq!(call.id, stage.names.id("approval", "1"));
    assert_eq!(
        call.arguments,
        json!({
            "originalToolCall": {
                "id": stage.names.id("call", "1"),
                "name": "shell_cmd",
                "args": { "command": "ls" },
                "workingDirectory": "/srv",
            },
            "message": "ada wants to run shell_cmd",
            "options": ["deny", "approve_once", "approve_session", "approve_always"],
        })
    );
}

#[test]
fn all_requests_of_one_reply_appear_at_once() {
    check(
        r#"
        human: go
        ---
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        requests
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"one"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            call 2: ada wants shell_cmd({"command":"two"}), needs approval
            approval 2 for call 2: ada wants to run shell_cmd
            call 3: ada wants shell_cmd({"command":"three"}), needs approval
            approval 3 for call 3: ada wants to run shell_cmd
            approval 1 pending: call 1 of ada, shell_cmd { "command": "one" }
            approval 2 pending: call 2 of ada, shell_cmd { "command": "two" }
            approval 3 pending: call 3 of ada, shell_cmd { "command": "three" }
            owed: nothing
        "#]],
    );
}

#[test]
fn requests_are_decided_in_any_order_and_an_approved_tool_starts_at_once() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"one"}), shell_cmd({"command":"two"}), shell_cmd({"command":"three"})
        ---
        approve 2
        start 2
        deny 1
        tool 2 completes: done
        approve 3
        run 3: done
        "#,
        expect![[r#"
            approval 2 approved by human once
            call 2 started
            approval 1 denied by human
            call 1 denied: denied by the user
            call 2 completed: done
            approval 3 approved by human once
            call 3 started
            call 3 completed: done
            turn 1: model call 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn edited_arguments_are_stored_run_and_shown_beside_the_models() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 with {"command":"ls -l"}
        run 1: files
        ada sees
        "#,
        expect![[r#"
            approval 1 approved by human once with {"command":"ls -l"}
            call 1 started
            call 1 completed: files
            turn 1: model call 2
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: [the user changed the arguments of this call to {"command":"ls -l"}]\nfiles
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn edited_arguments_are_held_to_the_schema() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 with {"order":"ls"}
        approve 1 with "ls"
        approve 1
        "#,
        expect![[r#"
            refused (arguments_invalid): the edited arguments are refused: the arguments do not fit the tool: Additional properties are not allowed ('order' was unexpected); "command" is a required property
            refused (arguments_invalid): the edited arguments are refused: the arguments are not an object
            approval 1 approved by human once
            owed: run call 1
        "#]],
    );
}

#[test]
fn edited_arguments_are_held_to_the_deny_rules() {
    check(
        r#"
        policy: deny shell_cmd when /command like "rm *"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 with {"command":"rm -rf x"}
        "#,
        expect![[r#"
            refused (denied_by_rule): rule policy-1 denies this call, whoever approves it; change the rule or deny the request
            owed: nothing
        "#]],
    );
}

#[test]
fn edited_arguments_that_change_nothing_are_no_edit() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        approve 1 with {"command":"ls"}
        "#,
        expect![[r#"
            approval 1 approved by human once
            owed: run call 1
        "#]],
    );
}

#[test]
fn the_question_is_the_tools_own_filled_from_the_arguments() {
    check(
        r#"
        tool shell_cmd(command): asks Run {command}?
        human: go
        ---
        ada calls shell_cmd({"command":"ls"})
        "#,
        expect![[r#"
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: Run ls?
            owed: nothing
        "#]],
    );
}

#[test]
fn stopping_withdraws_pending_requests() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        stop
        requests
        approve 1
        "#,
        expect![[r#"
            work of all stopped by human
            approval 1 withdrawn: the work was stopped by human
            call 1 cancelled: cancelled by human before it started
            turn 1 stopped
            approval 1 withdrawn: call 1 of ada, shell_cmd { "command": "ls" }
            refused (approval_not_pending): approval approval 1 is not waiting for a decision
            owed: nothing
        "#]],
    );
}

#[test]
fn an_agent_waiting_for_approval_still_receives_messages() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        human: never mind
        ---
        deny 1
        ada sees
        "#,
        expect![[r#"
            approval 1 denied by human
            call 1 denied: denied by the user
            turn 1: model call 2 with message 2
            ada sees:
              user: go
              v1: shell_cmd({"command":"ls"})
              v1 gave: denied by the user
              user: never mind
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_secret_is_masked_wherever_it_is_shown_and_whole_where_it_runs() {
    let stage = play(
        r#"
        tool shell_cmd(command, password?): asks Run {command}?
        human: go
        ada calls shell_cmd({"command":"login --token=hunter2hunter2","password":"hunter2hunter2"})
        "#,
    );
    let tables = &stage.scene().tables;
    let [request] = tables.approvals.values().collect::<Vec<_>>()[..] else { panic!("one") };
    let asking = &tables.messages.last().unwrap().tool_calls[0];
    let labels = request.suggestions.iter().map(|one| one.label.clone()).collect::<String>();
    for shown in [&request.question, &request.shown, &asking.arguments.to_string(), &labels] {
        assert!(shown.contains("masked") && !shown.contains("hunter2"), "{shown}");
    }
    assert_eq!(request.arguments["password"], "hunter2hunter2");
    assert!(!request.options.contains(&Choice::ApproveAlways), "it cannot be shown in full");
}

#[test]
fn hidden_characters_are_made_visible_and_run_as_they_are() {
    let stage =
        play("human: go\nada calls shell_cmd({\"command\":\"ls\\u202e \\u200bx\\u001b[2K\"})");
    let tables = &stage.scene().tables;
    let [request] = tables.approvals.values().collect::<Vec<_>>()[..] else { panic!("one") };
    assert_eq!(request.arguments["command"], "ls\u{202e} \u{200b}x\u{1b}[2K");
    let labels = request.suggestions.iter().map(|one| one.label.clone()).collect::<String>();
    for shown in [&request.shown, &labels] {
        assert!(!shown.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{shown:?}");
    }
    assert!(request.shown.to_lowercase().contains("202e"), "{:?}", request.shown);
}

#[test]
fn what_runs_is_what_the_person_wrote_and_the_models_proposal_is_kept() {
    let stage = play(
        r#"
        human: go
        ada calls shell_cmd({"command":"rm -rf x"})
        approve 1 with {"command":"ls"}
        start 1
        "#,
    );
    let id = stage.names.id("call", "1").into();
    let scene = stage.scene();
    assert_eq!(scene.chat.calls[&id].arguments(), &json!({ "command": "ls" }));
    assert_eq!(scene.tables.calls[&id].arguments, json!({ "command": "ls" }));
    assert_eq!(scene.tables.calls[&id].proposed, Some(json!({ "command": "rm -rf x" })));
}
