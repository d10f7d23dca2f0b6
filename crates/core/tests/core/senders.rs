//! Checks who a message is from: the words that stand for people, the world and the system.

use expect_test::expect;

use crate::stage::check;

#[test]
fn human_user_and_you_in_any_case_are_the_human() {
    check(
        r"
        Human: one
        ada says: 1
        USER: two
        ada says: 2
        You : three
        ",
        expect![[r#"
            message 1 from human to ada: one
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            message 2 from ada to nobody: 1
            turn 1 completed
            message 3 from human to ada: two
            turn 2: ada answers human
            turn 2: model call 1 with message 3
            message 4 from ada to nobody: 2
            turn 2 completed
            message 5 from human to ada: three
            turn 3: ada answers human
            turn 3: model call 1 with message 5
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn world_is_the_world() {
    check(
        r"
        World: the sun rises
        ",
        expect![[r#"
            message 1 from world to ada: the sun rises
            turn 1: ada answers world
            turn 1: model call 1 with message 1
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn system_or_an_empty_name_is_the_system_and_gets_no_answer() {
    check(
        r"
        system: maintenance tonight
        SYSTEM: @ada maintenance
        : nameless
        ",
        expect![[r#"
            message 1 from system to nobody: maintenance tonight
            message 2 from system to nobody: @ada maintenance
            message 3 from system to nobody: nameless
            owed: nothing
        "#]],
    );
}

#[test]
fn any_other_name_is_an_agent_in_any_case() {
    check(
        r"
        agents: ada, bob
        ada: hello
        Bob: hello
        carol: hello
        ",
        expect![[r#"
            message 1 from ada to nobody: hello
            message 2 from bob to nobody: hello
            message 3 from carol to nobody: hello
            owed: a name
        "#]],
    );
}

#[test]
fn a_message_carries_the_name_of_the_authenticated_user() {
    check(
        r"
        human (carol): hello
        ",
        expect![[r#"
            message 1 from human (carol) to ada: hello
            turn 1: ada answers human
            turn 1: model call 1 with message 1
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_empty_message_is_refused() {
    check(
        r"
        human:
        ",
        expect![[r#"
            refused (message_empty): the message is empty; write something
            owed: nothing
        "#]],
    );
}
