//! Checks what a chat shows of its activity, and how it ends.

use agent_world_core::command::{Command, CreateChat, Rejection};
use expect_test::expect;

use crate::stage::{check, play};

#[test]
fn activity_says_who_is_at_work_and_what_waits() {
    check(
        r#"
        agents: ada, bob, eve
        tool clock(): allowed
        ---
        activity
        human: go
        ada calls shell_cmd({"command":"ls"})
        bob calls clock()
        start 2
        activity
        eve says: nothing
        approve 1
        run 1: files
        ada says: done
        tool 2 completes: noon
        bob says: noon
        activity
        "#,
        expect![[r#"
            idle; at work: nobody; running: nothing; waiting: nothing
            message 1 from human to ada, bob, eve: go
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 2: bob answers human
            turn 2: model call 1 with message 1
            turn 3: eve answers human
            turn 3: model call 1 with message 1
            turn 1: reply with calls
            call 1: ada wants shell_cmd({"command":"ls"}), needs approval
            approval 1 for call 1: ada wants to run shell_cmd
            turn 2: reply with calls
            call 2: bob wants clock({}), allowed
            call 2 started
            busy; at work: ada AwaitingApproval, bob RunningTools, eve Thinking; running: call 2; waiting: approval 1
            message 2 from eve to nobody: nothing
            turn 3 completed
            approval 1 approved by human once
            call 1 started
            call 1 completed: files
            turn 1: model call 2
            message 3 from ada to nobody: done
            turn 1 completed
            call 2 completed: noon
            turn 2: model call 2
            message 4 from bob to nobody: noon
            turn 2 completed
            idle; at work: nobody; running: nothing; waiting: nothing
            owed: a name
        "#]],
    );
}

#[test]
fn a_deleted_chat_owes_nothing_and_takes_nothing() {
    check(
        r#"
        human: go
        ada calls shell_cmd({"command":"ls"})
        ---
        delete chat
        human: hello
        approve 1
        requests
        "#,
        expect![[r#"
            work of all stopped by human
            approval 1 withdrawn: the work was stopped by human
            call 1 cancelled: cancelled by human before it started
            turn 1 stopped
            chat deleted by human
            refused (chat_deleted): the chat was deleted
            refused (chat_deleted): the chat was deleted
            approval 1 withdrawn: call 1 of ada, shell_cmd { "command": "ls" }
            owed: nothing
        "#]],
    );
}

#[test]
fn a_chat_is_created_once() {
    let create =
        CreateChat { world: "test".into(), title: None, by: "human".to_owned(), fork: None };
    let refusal = |script: &str| play(script).refusal(Command::CreateChat(create.clone()));
    assert_eq!(refusal("human: hello"), Rejection::ChatExists);
    assert_eq!(refusal("human: hello\ndelete chat"), Rejection::ChatDeleted);
}
