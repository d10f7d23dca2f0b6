//! Checks who answers a message: whom it addresses, whom it only names, and who is busy.
//! How a mention is found in a text is checked beside `mention.rs`; here it is what a chat makes of it.

use expect_test::expect;

use crate::stage::check;

#[test]
fn a_human_message_without_a_mention_goes_to_every_agent() {
    check(
        r"
        agents: ada, bob
        human: hello
        ",
        expect![[r#"
            message 1 from human to ada, bob: hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 2: bob answers human
            turn 2: model call 1 with message 1
            owed: model call of turn 1, model call of turn 2
        "#]],
    );
}

#[test]
fn a_human_message_goes_to_exactly_those_addressed() {
    check(
        r"
        agents: ada, bob, eve
        human: @ada and you too\n@eve look
        ",
        expect![[r#"
            message 1 from human to ada, eve: @ada and you too\n@eve look
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 2: eve answers human
            turn 2: model call 1 with message 1
            owed: model call of turn 1, model call of turn 2
        "#]],
    );
}

#[test]
fn a_human_message_that_only_names_an_agent_goes_to_nobody_and_a_notice_says_why() {
    check(
        r"
        agents: ada, bob
        human: what did @ada say?
        ",
        expect![[r#"
            message 1 from human to nobody: what did @ada say?
            notice: Nobody answers: @ada is only mentioned inside a line, which does not address an agent. To get an answer, put the mention at the start of a line: @ada ...
            owed: nothing
        "#]],
    );
}

#[test]
fn a_world_message_without_a_mention_goes_to_every_agent() {
    check(
        r"
        agents: ada, bob
        world: night falls
        ",
        expect![[r#"
            message 1 from world to ada, bob: night falls
            turn 1: ada answers world
            turn 1: model call 1 with message 1
            turn 2: bob answers world
            turn 2: model call 1 with message 1
            owed: model call of turn 1, model call of turn 2
        "#]],
    );
}

#[test]
fn a_world_message_goes_to_exactly_those_addressed() {
    check(
        r"
        agents: ada, bob
        world: @bob night falls
        ",
        expect![[r#"
            message 1 from world to bob: @bob night falls
            turn 1: bob answers world
            turn 1: model call 1 with message 1
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_world_message_that_only_names_an_agent_goes_to_nobody_and_a_notice_says_why() {
    check(
        r"
        agents: ada, bob
        world: night falls on @bob and @ada
        ",
        expect![[r#"
            message 1 from world to nobody: night falls on @bob and @ada
            notice: Nobody answers: @bob, @ada are only mentioned inside a line, which does not address an agent. To get an answer, put the mention at the start of a line: @bob ...
            owed: nothing
        "#]],
    );
}

#[test]
fn an_agents_message_without_a_mention_goes_to_nobody() {
    check(
        r"
        agents: ada, bob
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
fn an_agents_message_goes_to_those_it_addresses() {
    check(
        r"
        agents: ada, bob, eve
        human: @ada hello
        ---
        ada says: @bob @eve help me
        ",
        expect![[r#"
            message 2 from ada to bob, eve: @bob @eve help me
            turn 2: bob answers ada
            turn 2: model call 1 with message 2
            turn 3: eve answers ada
            turn 3: model call 1 with message 2
            turn 1 completed
            owed: model call of turn 2, model call of turn 3
        "#]],
    );
}

#[test]
fn an_agents_message_that_only_names_another_goes_to_nobody_without_a_notice() {
    check(
        r"
        agents: ada, bob
        human: @ada hello
        ---
        ada says: I shall ask @bob
        ",
        expect![[r#"
            message 2 from ada to nobody: I shall ask @bob
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_system_message_goes_to_nobody_whatever_it_mentions() {
    check(
        r"
        agents: ada, bob
        system: hello
        system: @ada hello
        system: hello @ada
        ",
        expect![[r#"
            message 1 from system to nobody: hello
            message 2 from system to nobody: @ada hello
            message 3 from system to nobody: hello @ada
            owed: nothing
        "#]],
    );
}

#[test]
fn a_mention_is_an_id_or_a_name_in_any_case() {
    check(
        r"
        agents: ada, bob
        agent ada: name Countess
        human: @COUNTESS hello
        ",
        expect![[r#"
            message 1 from human to ada: @COUNTESS hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_address_or_an_unknown_name_is_no_mention() {
    check(
        r"
        agents: ada, bob
        human: write to ada@example.com
        ---
        human: @nobody hello
        ",
        expect![[r#"
            message 2 from human to ada, bob: @nobody hello
            owed: model call of turn 1, model call of turn 2
        "#]],
    );
}

#[test]
fn greetings_commas_and_white_space_may_stand_before_a_mention() {
    check(
        r"
        agents: ada, bob
        human:   Hello, @ada, look
        ",
        expect![[r#"
            message 1 from human to ada:   Hello, @ada, look
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_agent_never_answers_its_own_message_in_any_case() {
    check(
        r"
        agents: ada, bob
        Ada: @ADA @Ada hello
        ",
        expect![[r#"
            message 1 from ada to nobody: @ADA @Ada hello
            owed: a name
        "#]],
    );
}

#[test]
fn nobody_answers_a_turn_limit_notice() {
    check(
        r"
        agents: ada, bob
        settings: turn_limit 1
        human: @ada talk to bob
        ada says: @bob hello
        bob says: hello
        ---
        ada sees
        bob sees
        ",
        expect![[r#"
            ada sees:
              user: @ada talk to bob
              assistant: @bob hello
              user: bob: @ada hello
              assistant: @human Turn limit reached (1 turns). Please take control of the conversation.
            bob sees:
              user: ada: @bob hello
              assistant: hello
            owed: a name
        "#]],
    );
}

#[test]
fn a_main_agent_gets_what_addresses_nobody() {
    check(
        r"
        agents: ada, bob
        settings: main_agent bob
        human: hello
        ---
        world: what did @ada say?
        ",
        expect![[r#"
            message 2 from world to bob: what did @ada say?
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_main_agent_does_not_get_what_addresses_another() {
    check(
        r"
        agents: ada, bob
        settings: main_agent bob
        human: @ada hello
        ",
        expect![[r#"
            message 1 from human to ada: @ada hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_main_agent_does_not_get_what_an_agent_says_to_nobody() {
    check(
        r"
        agents: ada, bob
        settings: main_agent bob
        human: @ada hello
        ---
        ada says: done
        ",
        expect![[r#"
            message 2 from ada to nobody: done
            turn 1 completed
            owed: a name
        "#]],
    );
}

#[test]
fn a_world_without_agents_says_that_nobody_answers() {
    check(
        r"
        agents:
        human: hello
        ",
        expect![[r#"
            message 1 from human to nobody: hello
            notice: this world has no agents, so nobody answers; add one first
            owed: nothing
        "#]],
    );
}

#[test]
fn agents_answer_at_the_same_time_and_a_slow_one_delays_no_other() {
    check(
        r"
        agents: ada, bob
        human: hello
        ---
        bob says: here
        ",
        expect![[r#"
            message 2 from bob to nobody: here
            turn 2 completed
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn messages_to_a_busy_agent_wait_in_order_and_are_answered_together() {
    check(
        r"
        agents: ada, bob
        human: @ada one
        human: @ada two
        bob: @ada three
        human: @ada four
        ---
        ada says: 1
        ada sees
        ",
        expect![[r#"
            message 5 from ada to nobody: 1
            turn 1 completed
            turn 2: ada answers human
            turn 2: model call 1 with message 2, message 3, message 4
            ada sees:
              user: @ada one
              assistant: 1
              user: @ada two
              user: bob: @ada three
              user: @ada four
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn messages_that_arrive_while_tools_run_join_the_turn_after_their_results() {
    check(
        r#"
        human: list files
        ada calls shell_cmd({"command":"ls"})
        approve 1
        start 1
        human: hurry
        ---
        tool 1 completes: a b
        ada sees
        "#,
        expect![[r#"
            call 1 completed: a b
            turn 1: model call 2 with message 2
            ada sees:
              user: list files
              v1: shell_cmd({"command":"ls"})
              v1 gave: a b
              user: hurry
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_message_that_arrives_after_the_results_waits_for_the_next_turn() {
    check(
        r#"
        human: list files
        ada calls shell_cmd({"command":"ls"})
        approve 1
        run 1: a b
        human: hurry
        ---
        ada says: a and b
        "#,
        expect![[r#"
            message 3 from ada to nobody: a and b
            turn 1 completed
            turn 2: ada answers human
            turn 2: model call 1 with message 2
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn messages_of_one_line_each_address_their_own_agents() {
    check(
        r"
        agents: ada, bob, eve
        human: to all\n@ada one\n@bob two
        ",
        expect![[r#"
            message 1 from human to ada, bob: to all\n@ada one\n@bob two
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            turn 2: bob answers human
            turn 2: model call 1 with message 1
            owed: model call of turn 1, model call of turn 2
        "#]],
    );
}

#[test]
fn an_agent_that_left_is_no_longer_addressed() {
    check(
        r"
        agents: ada, bob
        human: @bob hello
        bob says: hello
        agents: ada
        ---
        human: @bob still there?
        ",
        expect![[r#"
            message 3 from human to ada: @bob still there?
            turn 2: ada answers human
            turn 2: model call 1 with message 3
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_message_for_certain_agents_goes_to_exactly_those_whatever_it_mentions() {
    check(
        r"
        agents: ada, bob, cyd
        human (only bob): @ada what did @cyd say?
        ",
        expect![[r#"
            message 1 from human to bob: @ada what did @cyd say?
            turn 1: bob answers human
            turn 1: model call 1 with message 1
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_message_for_a_busy_agent_alone_joins_its_turn() {
    check(
        r#"
        agents: ada, bob
        human: @ada list files
        ada calls shell_cmd({"command":"ls"})
        ---
        human (only ada, ada): @bob and hurry
        approve 1
        run 1: a.txt
        "#,
        expect![[r#"
            message 2 from human to ada: @bob and hurry
            approval 1 approved by human once
            call 1 started
            call 1 completed: a.txt
            turn 1: model call 2 with message 2
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_message_for_nobody_of_this_world_is_refused() {
    check(
        r"
        agents: ada
        human (only ada, zoe): hello
        ",
        expect![[r#"
            refused (agent_not_found): `zoe` is not an agent of this world
            owed: nothing
        "#]],
    );
}

#[test]
fn a_message_for_its_own_sender_starts_nothing() {
    check(
        r"
        agents: ada, bob
        ada (only ada): @bob hello
        ",
        expect![[r#"
            message 1 from ada to nobody: @bob hello
            owed: a name
        "#]],
    );
}
