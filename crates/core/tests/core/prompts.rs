//! Checks what a model sees: its instructions, and of one chat only what concerns its agent.

use expect_test::expect;

use crate::stage::check;

#[test]
fn instructions_are_filled_from_the_worlds_variables_once() {
    check(
        r"
        settings: variable topic=engines; variable trick={{topic}}
        agent ada: instructions Speak of {{topic}}, {{ trick }} and {{unknown}}.
        human: hello
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              instructions: Speak of engines, {{topic}} and {{unknown}}.
              user: hello
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn an_agent_sees_what_it_was_to_answer_and_what_it_said() {
    check(
        r"
        agents: ada, bob
        human: @ada hello
        ada says: hello there
        human: @ada more
        ---
        ada sees
        bob sees
        ",
        expect![[r#"
            ada sees:
              user: @ada hello
              assistant: hello there
              user: @ada more
            bob sees:
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn an_agent_does_not_see_messages_between_others() {
    check(
        r"
        agents: ada, bob, eve
        human: @ada tell bob a secret
        ada says: @bob it is 42
        human: @eve what do you know?
        ---
        eve sees
        ",
        expect![[r#"
            eve sees:
              user: @eve what do you know?
            owed: model call of turn 2, model call of turn 3
        "#]],
    );
}

#[test]
fn messages_of_other_agents_and_the_world_carry_the_senders_name() {
    check(
        r"
        agents: ada, bob
        human: @ada ask bob
        ada says: @bob what is the time?
        world: @bob night falls
        bob says: @ada noon
        ---
        bob sees
        ",
        expect![[r#"
            bob sees:
              user: ada: @bob what is the time?
              assistant: @ada noon
              user: world: @bob night falls
            owed: model call of turn 3, model call of turn 4
        "#]],
    );
}

#[test]
fn an_agent_sees_its_own_calls_and_results_and_not_those_of_others() {
    check(
        r"
        agents: ada, bob
        tool clock(): allowed
        human: what is the time?
        ada calls clock()
        run 1: noon
        ada says: @bob it is noon
        bob says: thanks
        ---
        ada sees
        bob sees
        ",
        expect![[r#"
            ada sees:
              user: what is the time?
              v1: clock()
              v1 gave: noon
              assistant: @bob it is noon
            bob sees:
              user: what is the time?
              assistant: thanks
              user: ada: @bob it is noon
            owed: model call of turn 3
        "#]],
    );
}

#[test]
fn requests_decisions_and_notices_are_not_shown() {
    check(
        r#"
        human: list files
        ada calls shell_cmd({"command":"ls"})
        approve 1 for session
        run 1: a b
        ada's model fails: overloaded
        retry
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: list files
              v1: shell_cmd({"command":"ls"})
              v1 gave: a b
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn every_call_has_one_result_behind_the_reply_that_made_it() {
    check(
        r#"
        human: list files
        ada calls shell_cmd({"command":"ls"}), shell_cmd({"command":"pwd"}), nothing()
        approve 2
        run 2: /srv
        deny 1
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: list files
              v1: shell_cmd({"command":"ls"})
              v2: shell_cmd({"command":"pwd"})
              v3: nothing()
              v1 gave: denied by the user
              v2 gave: /srv
              v3 gave: error: unknown tool `nothing`; available: shell_cmd
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn another_chat_is_another_conversation() {
    check(
        r"
        human: remember 42
        ada says: I shall
        new chat
        human: what was the number?
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              user: what was the number?
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_long_result_is_cut_with_a_note_and_stored_whole() {
    check(
        r"
        settings: result_limit 5
        tool clock(): allowed
        human: time
        ada calls clock()
        run 1: 0123456789
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              user: time
              v1: clock()
              v1 gave: 0123\n[cut: characters 4 to 9 of 10 are not shown; read them with read_result {"id": "call 1", "offset": 4}]\n9
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_result_is_cut_between_characters_and_not_when_it_fits() {
    check(
        r"
        settings: result_limit 3
        tool clock(): allowed
        human: time
        ada calls clock(), clock()
        run 1: äöü
        run 2: äöüß
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              user: time
              v1: clock()
              v2: clock()
              v1 gave: äöü
              v2 gave: äöü\n[cut: characters 3 to 4 of 4 are not shown; read them with read_result {"id": "call 2", "offset": 3}]\n
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn edited_arguments_are_told_to_the_model() {
    check(
        r#"
        human: list files
        ada calls shell_cmd({"command":"rm -rf /"})
        approve 1 with {"command":"ls"}
        run 1: a b
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: list files
              v1: shell_cmd({"command":"rm -rf /"})
              v1 gave: [the user changed the arguments of this call to {"command":"ls"}]\na b
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_timeout_is_told_to_the_model() {
    check(
        r#"
        human: list files
        ada calls shell_cmd({"command":"ls"})
        approve 1
        start 1
        tool 1 times out: partial
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: list files
              v1: shell_cmd({"command":"ls"})
              v1 gave: timed out and was killed. partial
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn ids_that_a_vendor_repeats_or_omits_are_replaced_by_ours() {
    check(
        r"
        tool clock(): allowed
        human: time
        ada calls clock#same(), clock#same(), clock#()
        run 1: one
        run 2: two
        run 3: three
        ada calls clock#same()
        run 4: four
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              user: time
              same: clock()
              call 2: clock()
              call 3: clock()
              same gave: one
              call 2 gave: two
              call 3 gave: three
              call 4: clock()
              call 4 gave: four
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn text_beside_calls_and_reasoning_are_carried() {
    check(
        r#"
        tool clock(): allowed
        human: time
        ada replies [{"type":"reasoning","id":"r1","summary":[],"encrypted_content":"x"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"let me look"}]},{"type":"function_call","call_id":"c1","name":"clock","arguments":"{}","id":"fc_1"},{"type":"web_search_call","status":"completed"}]
        run 1: noon
        ---
        ada sees
        "#,
        expect![[r#"
            ada sees:
              user: time
              reasoning r1
              assistant: let me look
              c1: clock({})
              unknown {"type":"web_search_call","status":"completed"}
              c1 gave: noon
            owed: model call of turn 1
        "#]],
    );
}

#[test]
fn a_reply_is_shown_as_the_model_gave_it() {
    check(
        r"
        agents: ada, bob
        human: @ada hello
        ada says: @ada hello <world>STOP</world>
        human: @ada again
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              user: @ada hello
              assistant: @ada hello <world>STOP</world>
              user: @ada again
            owed: model call of turn 2
        "#]],
    );
}

#[test]
fn a_message_posted_in_an_agents_name_is_its_own() {
    check(
        r"
        agents: ada, bob
        ada: I was here
        human: @ada hello
        ---
        ada sees
        ",
        expect![[r#"
            ada sees:
              assistant: I was here
              user: @ada hello
            owed: model call of turn 1
        "#]],
    );
}
