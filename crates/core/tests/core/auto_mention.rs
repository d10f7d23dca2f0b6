//! Checks how the final text of a turn addresses others.

use expect_test::expect;

use crate::stage::check;

#[test]
fn the_agents_own_mention_leaves_every_line_start() {
    check(
        r"
        human: hello
        ada says: @ada, @ADA hello\n@ada second line about @ada
        ",
        expect![[r#"
            message 1 from human to ada: hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            message 2 from ada to nobody: hello\nsecond line about @ada
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn an_answer_to_another_agent_gets_its_mention() {
    check(
        r"
        agents: ada, bob
        human: @ada ask bob
        ada says: @bob what is the time?
        ---
        bob says: noon
        ",
        expect![[r#"
            message 3 from bob to ada: @ada noon
            turn 3: ada answers bob
            turn 3: model call 1 with message 3
            turn 2 completed
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn an_answer_to_another_agent_that_addresses_somebody_stays_as_it_is() {
    check(
        r"
        agents: ada, bob, eve
        human: @ada ask bob
        ada says: @bob what is the time?
        ---
        bob says: @eve knows
        ",
        expect![[r#"
            message 3 from bob to eve: @eve knows
            turn 3: eve answers bob
            turn 3: model call 1 with message 3
            turn 2 completed
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn an_answer_to_a_human_gets_no_mention() {
    check(
        r"
        human: hello
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
fn an_agent_without_auto_reply_adds_no_mention() {
    check(
        r"
        agents: ada, bob
        agent bob: no auto_reply
        human: @ada ask bob
        ada says: @bob what is the time?
        ---
        bob says: noon
        ",
        expect![[r#"
            message 3 from bob to nobody: noon
            turn 2 completed
            owed: a name
        "#]],
    );
}

#[test]
fn an_agent_without_auto_reply_still_loses_its_own_mention() {
    check(
        r"
        agents: ada, bob
        agent bob: no auto_reply
        human: @bob hello
        ---
        bob says: @bob hello
        ",
        expect![[r#"
            message 2 from bob to nobody: hello
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn stop_done_and_pass_remove_line_start_mentions_in_any_case() {
    check(
        r"
        agents: ada, bob
        human: @ada one
        ada says: @bob over to you <world>STOP</world>
        human: @ada two
        ada says: <world>done</world>@bob finished
        human: @ada three
        ada says: @bob\n@bob enough <World>Pass</World>
        ",
        expect![[r#"
            message 1 from human to ada: @ada one
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            message 2 from ada to nobody: over to you
            turn 1 completed
            message 3 from human to ada: @ada two
            turn 2: ada answers human
            turn 2: model call 1 with message 3
            message 4 from ada to nobody: finished
            turn 2 completed
            message 5 from human to ada: @ada three
            turn 3: ada answers human
            turn 3: model call 1 with message 5
            message 6 from ada to nobody: enough
            turn 3 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_stop_tag_also_keeps_the_mention_of_the_other_agent_away() {
    check(
        r"
        agents: ada, bob
        human: @ada ask bob
        ada says: @bob what is the time?
        ---
        bob says: noon <world>STOP</world>
        ",
        expect![[r#"
            message 3 from bob to nobody: noon
            turn 2 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_to_tag_replaces_the_mentions_by_a_line_for_each() {
    check(
        r"
        agents: ada, bob, eve
        human: @ada hello
        ---
        ada says: @bob please look <world>TO: eve, bob</world>
        ",
        expect![[r#"
            message 2 from ada to eve, bob: @eve\n@bob\nplease look
            turn 2: eve answers ada
            turn 2: model call 1 with message 2
            turn 3: bob answers ada
            turn 3: model call 1 with message 2
            turn 1 completed
            owed: model call of turn 2, model call of turn 3
        "#]],
    );
}

#[test]
fn an_empty_to_tag_is_ignored_and_removed() {
    check(
        r"
        agents: ada, bob
        human: @ada ask bob
        ada says: @bob what is the time?
        ---
        bob says: noon <world>TO: </world>
        ",
        expect![[r#"
            message 3 from bob to ada: @ada noon
            turn 3: ada answers bob
            turn 3: model call 1 with message 3
            turn 2 completed
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn the_same_holds_for_a_reply_after_tool_calls() {
    check(
        r"
        agents: ada, bob
        tool clock(): allowed
        human: @ada ask bob
        ada says: @bob what is the time?
        bob calls clock()
        run 1: noon
        ---
        bob says: @bob noon
        ",
        expect![[r#"
            message 3 from bob to ada: @ada noon
            turn 3: ada answers bob
            turn 3: model call 1 with message 3
            turn 2 completed
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn a_text_with_nothing_to_say_posts_nothing_and_ends_the_turn() {
    check(
        r"
        agents: ada, bob
        human: @ada ask bob
        ---
        ada says: @bob <world>PASS</world>
        ",
        expect![[r#"
            turn 1 completed
            owed: nothing
        "#]],
    );
}

#[test]
fn two_agents_that_keep_answering_each_other_stop_at_the_turn_limit() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 2
        human: @ada talk to bob
        ada says: @bob ping
        bob says: pong
        ada says: ping
        bob says: pong
        ",
        expect![[r#"
            message 1 from human to ada: @ada talk to bob
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            message 2 from ada to bob: @bob ping
            turn 2: bob answers ada
            turn 2: model call 1 with message 2
            turn 1 completed
            message 3 from bob to ada: @ada pong
            turn 3: ada answers bob
            turn 3: model call 1 with message 3
            turn 2 completed
            message 4 from ada to bob: @bob ping
            turn 4: bob answers ada
            turn 4: model call 1 with message 4
            turn 3 completed
            message 5 from bob to ada: @ada pong
            ada has had 2 turns; set aside: message 5
            message 6 from ada to nobody: @human Turn limit reached (2 turns). Please take control of the conversation.
            turn 4 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_human_who_joins_the_turn_is_answered_without_a_mention() {
    check(
        r#"
        agents: ada, bob
        human: @ada ask bob
        ada says: @bob list files
        bob calls shell_cmd({"command":"ls"})
        human: @bob well?
        deny 1
        ---
        bob says: I may not
        "#,
        expect![[r#"
            message 4 from bob to nobody: I may not
            turn 2 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_background_result_is_reported_to_whom_the_turn_answered_last() {
    check(
        r#"
        agents: ada, bob
        tool build(target): allowed; background
        human: @ada ask bob
        ada says: @bob build
        bob calls build({"target":"x"}), shell_cmd({"command":"ls"})
        start 1
        human: @bob report to me
        deny 1
        bob says: building
        tool 1 completes: built
        ---
        bob says: it is built
        "#,
        expect![[r#"
            message 5 from bob to nobody: it is built
            turn 3 completed
            owed: a name
        "#]],
    );
}
