//! Checks how many turns an agent takes before a person has to step in.

use expect_test::expect;

use crate::stage::check;

#[test]
fn the_default_is_five_turns() {
    check(
        r"
        agents: ada, bob
        human: @ada talk to bob
        ada says: @bob 1
        bob says: 1
        ada says: 2
        bob says: 2
        ada says: 3
        bob says: 3
        ada says: 4
        bob says: 4
        ada says: 5
        ---
        bob says: 5
        ",
        expect![[r#"
            message 11 from bob to ada: @ada 5
            ada has had 5 turns; set aside: message 11
            message 12 from ada to nobody: @human Turn limit reached (5 turns). Please take control of the conversation.
            turn 10 completed
            owed: a name
        "#]],
    );
}

#[test]
fn the_limit_holds_for_each_agent_on_its_own() {
    check(
        r"
        agents: ada, bob, eve
        settings: turn_limit 1
        human: @ada talk
        ada says: @bob hello
        bob says: @eve hello
        ---
        eve says: @ada @bob @eve hello
        ",
        expect![[r#"
            message 4 from eve to ada, bob: @ada @bob hello
            ada has had 1 turns; set aside: message 4
            message 5 from ada to nobody: @human Turn limit reached (1 turns). Please take control of the conversation.
            bob has had 1 turns; set aside: message 4
            message 6 from bob to nobody: @human Turn limit reached (1 turns). Please take control of the conversation.
            turn 3 completed
            owed: a name
        "#]],
    );
}

#[test]
fn the_notice_is_posted_once() {
    check(
        r"
        agents: ada, bob, eve
        settings: turn_limit 1
        human: hello
        ada says: @bob hello
        bob says: @ada hello
        ---
        eve says: @ada @bob hello
        ",
        expect![[r#"
            message 6 from eve to ada, bob: @ada @bob hello
            ada has had 1 turns; set aside: message 6
            bob has had 1 turns; set aside: message 6
            turn 3 completed
            owed: a name
        "#]],
    );
}

#[test]
fn only_an_agent_that_would_have_answered_posts_the_notice() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 1
        human: @ada hello
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
fn a_human_message_resets_all_counters() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 1
        human: @ada talk
        ada says: @bob hello
        bob says: hello
        human: @bob go on
        ---
        bob says: @ada hello
        ada says: hello
        ",
        expect![[r#"
            message 6 from bob to ada: @ada hello
            turn 4: ada answers bob
            turn 4: model call 1 with message 6
            turn 3 completed
            message 7 from ada to bob: @bob hello
            bob has had 1 turns; set aside: message 7
            message 8 from bob to nobody: @human Turn limit reached (1 turns). Please take control of the conversation.
            turn 4 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_world_message_resets_all_counters() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 1
        human: @ada talk
        ada says: @bob hello
        bob says: hello
        world: @bob go on
        ---
        bob says: @ada hello
        ",
        expect![[r#"
            message 6 from bob to ada: @ada hello
            turn 4: ada answers bob
            turn 4: model call 1 with message 6
            turn 3 completed
            owed: model call of turn 4
        "#]],
    );
}

#[test]
fn an_agents_message_resets_nothing() {
    check(
        r"
        agents: ada, bob, eve
        settings: turn_limit 1
        human: @ada talk
        ada says: hello
        ---
        eve: @ada hello
        ",
        expect![[r#"
            message 3 from eve to ada: @ada hello
            ada has had 1 turns; set aside: message 3
            message 4 from ada to nobody: @human Turn limit reached (1 turns). Please take control of the conversation.
            owed: a name
        "#]],
    );
}

#[test]
fn chats_count_on_their_own() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 1
        human: @ada talk
        ada says: hello
        new chat
        ---
        bob: @ada hello
        ",
        expect![[r#"
            message 3 from bob to ada: @ada hello
            turn 2: ada answers bob
            turn 2: model call 1 with message 3
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn model_calls_of_one_turn_count_as_one() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 2
        tool clock(): allowed
        human: @ada what is the time?
        ada calls clock()
        run 1: noon
        ada calls clock()
        run 2: noon
        ada says: noon
        ---
        bob: @ada and now?
        ",
        expect![[r#"
            message 3 from bob to ada: @ada and now?
            turn 2: ada answers bob
            turn 2: model call 1 with message 3
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn what_was_not_answered_stays_in_the_agents_history() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 1
        human: @ada talk
        ada says: hello
        bob: @ada are you there?
        human: @ada go on
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              user: @ada talk
              assistant: hello
              user: bob: @ada are you there?
              assistant: @human Turn limit reached (1 turns). Please take control of the conversation.
              user: @ada go on
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_background_result_at_the_limit_is_kept_for_the_next_turn() {
    check(
        r#"
        settings: turn_limit 1
        tool build(target): allowed; background
        human: build
        ada calls build({"target":"x"})
        start 1
        ada says: building
        tool 1 completes: built
        human: done?
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: build
              v1: build({"target":"x"})
              v1 gave: started in the background, id call 1; its result will follow
              assistant: building
              user: Background call call 1 (build): built
              assistant: @human Turn limit reached (1 turns). Please take control of the conversation.
              user: done?
            owed: model call of turn 2
        "#]],
    );
}
