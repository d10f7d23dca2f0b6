//! Checks how a chat gets its name, and that a person's name for it stays.

use expect_test::expect;

use crate::stage::{check, play};

#[test]
fn a_new_chat_is_called_new_chat_and_named_by_nobody() {
    check(
        r"
        new chat
        ",
        expect![[r#"
            chat 1 created: New Chat (nobody)
            owed: nothing
        "#]],
    );
}

#[test]
fn a_chat_may_be_given_a_name_when_it_is_made() {
    check(
        r"
        new chat: Engines
        human: hello
        ada says: hello
        ",
        expect![[r#"
            chat 1 created: Engines (human)
            message 1 from human to ada: hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            message 2 from ada to nobody: hello
            turn 1 completed
            owed: nothing
        "#]],
    );
}

#[test]
fn an_empty_name_is_refused() {
    check(
        r"
        new chat:
        human: hello
        ",
        expect![[r#"
            refused (title_empty): the title is empty; write something
            refused (chat_not_found): the chat does not exist; create it first
            owed: nothing
        "#]],
    );
}

#[test]
fn a_model_names_the_chat_when_it_first_becomes_idle() {
    check(
        r"
        agents: ada, bob
        human: hello
        ada says: hello
        bob says: hello
        ---
        title: Engines of the Future
        human: more
        ada says: more
        bob says: more
        ",
        expect![[r#"
            chat named by a model: Engines of the Future
            message 4 from human to ada, bob: more
            turn 3: ada answers human
            turn 3: model call 1 with message 4
            turn 4: bob answers human
            turn 4: model call 1 with message 4
            message 5 from ada to nobody: more
            turn 3 completed
            message 6 from bob to nobody: more
            turn 4 completed
            owed: nothing
        "#]],
    );
}

#[test]
fn what_a_title_took_is_recorded_for_the_chat_and_for_no_agent() {
    let stage = play("human: hello\nada says: hello\ntitle: Engines of the Future");
    let [reply, title] = &stage.scene().tables.usage[..] else { panic!("two model calls") };
    assert_eq!(reply.agent, Some("ada".into()));
    assert_eq!((&title.turn, &title.agent, &title.reply), (&None, &None, &None));
    assert_eq!((title.model.as_str(), title.usage.total_tokens), ("test/model", 3));
}

#[test]
fn a_title_that_is_not_taken_was_used_all_the_same() {
    let stage = play("human: !\nada says: hello\ntitle:");
    let kinds: Vec<&str> = stage.scene().log.iter().map(|one| one.event.kind()).collect();
    assert!(kinds.ends_with(&["title_proposed", "naming_given_up"]), "{kinds:?}");
    assert_eq!(stage.scene().tables.usage.len(), 2);
}

#[test]
fn no_usage_is_recorded_for_a_title_that_failed_or_came_too_late() {
    for ending in ["title fails: no model", "rename: Mine\ntitle: Engines of the Future"] {
        let stage = play(&format!("human: hello\nada says: hello\n{ending}"));
        assert_eq!(stage.scene().tables.usage.len(), 1, "{ending}");
    }
}

#[test]
fn a_chat_is_not_named_while_anybody_is_busy() {
    check(
        r"
        agents: ada, bob
        human: hello
        ---
        ada says: hello
        ",
        expect![[r#"
            message 2 from ada to nobody: hello
            turn 1 completed
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_chat_is_not_named_while_work_runs_in_the_background() {
    check(
        r#"
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        start 1
        ---
        ada says: building
        "#,
        expect![[r#"
            message 2 from ada to nobody: building
            turn 1 completed
            owed: end of call 1
        "#]],
    );
}

#[test]
fn a_chat_is_not_named_before_an_agent_has_answered() {
    check(
        r"
        human: hello
        ---
        ada's model fails: overloaded
        ",
        expect![[r#"
            notice: ada could not answer: overloaded
            turn 1 failed: overloaded
            owed: nothing
        "#]],
    );
}

#[test]
fn a_name_given_by_a_person_is_never_overwritten() {
    check(
        r"
        human: hello
        ada says: hello
        ---
        rename: Mine
        title: Engines of the Future
        ",
        expect![[r#"
            chat named by human: Mine
            refused (stale): the naming of the chat is no longer under way
            owed: nothing
        "#]],
    );
}

#[test]
fn a_name_given_by_a_person_before_the_first_answer_is_kept() {
    check(
        r"
        human: hello
        rename: Mine
        ---
        ada says: hello
        ",
        expect![[r#"
            message 2 from ada to nobody: hello
            turn 1 completed
            owed: nothing
        "#]],
    );
}

#[test]
fn a_person_may_rename_what_a_model_named() {
    check(
        r"
        human: hello
        ada says: hello
        title: Engines of the Future
        ---
        rename: Mine
        rename:
        ",
        expect![[r#"
            chat named by human: Mine
            refused (title_empty): the title is empty; write something
            owed: nothing
        "#]],
    );
}

#[test]
fn a_title_that_is_no_title_is_made_from_the_first_message() {
    check(
        r"
        human: Tell me about the analytical engine
        ada says: it is big
        ---
        title:
        ",
        expect![[r#"
            chat named by a model: Tell me about the analytical engine
            owed: nothing
        "#]],
    );
}

#[test]
fn a_chat_no_model_can_name_stays_without_a_name_and_is_not_asked_again() {
    check(
        r"
        human: hello
        ada says: hello
        title fails: no model
        ---
        human: more
        ada says: more
        ",
        expect![[r#"
            message 3 from human to ada: more
            turn 2: ada answers human
            turn 2: model call 1 with message 3
            message 4 from ada to nobody: more
            turn 2 completed
            owed: nothing
        "#]],
    );
}

#[test]
fn a_late_title_after_naming_was_given_up_is_refused() {
    check(
        r"
        human: hello
        ada says: hello
        title fails: no model
        ---
        title: Engines of the Future
        ",
        expect![[r#"
            refused (stale): the naming of the chat is no longer under way
            owed: nothing
        "#]],
    );
}

#[test]
fn a_title_made_from_words_that_were_taken_back_is_refused() {
    check(
        r"
        human: my secret plan
        ada says: hello
        edit 1: something else
        ---
        title: Secret Plan of Mine
        ",
        expect![[r#"
            refused (stale): the naming of the chat is no longer under way
            owed: model call of turn 2
        "#]],
    );
}
