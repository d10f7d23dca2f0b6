//! Where keys go while something waits for a decision.

use std::time::Duration;

use agent_world_client::wire::Decision;
use crossterm::event::KeyCode;
use expect_test::expect;
use serde_json::json;

use super::{Stage, approval, stage};
use crate::chat::effect::{Effect, Told};

const SECOND: Duration = Duration::from_secs(1);

/// A message is half written when something is asked.
fn interrupted() -> Stage {
    let mut stage = stage(80, 24);
    stage.draw();
    stage.write("tell me a st");
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.draw();
    stage
}

fn decided(effects: &[Effect]) -> Option<&Decision> {
    effects.iter().find_map(|effect| match effect {
        Effect::Decide { decision, .. } => Some(decision.as_ref()),
        _ => None,
    })
}

#[test]
fn a_half_written_message_keeps_its_keys_however_long_its_writer_thinks() {
    let mut stage = interrupted();
    stage.wait(60 * SECOND);
    stage.wait(60 * SECOND);
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)
        ────────────────────────────────────────────────────────────────────────────────
        ? 1 of 1 waiting · ada · shell_cmd · apr_1
          ada asks: Run touch?
          $ touch
        Tab to answer · what you type goes into your message
        > tell me a st
        demo · New Chat · 1 waiting
    "#]]
    .assert_eq(&stage.seen());
    for letter in "ory on a".chars() {
        assert_eq!(stage.key(KeyCode::Char(letter)), []);
        stage.wait(SECOND);
    }
    assert_eq!(stage.state.composer.text(), "tell me a story on a");
    let effects = stage.key(KeyCode::Enter);
    assert!(matches!(effects.as_slice(), [_, Effect::Post { .. }]), "{effects:?}");
}

#[test]
fn tab_goes_to_the_question_and_back() {
    let mut stage = interrupted();
    stage.wait(SECOND);
    stage.key(KeyCode::Tab);
    stage.wait(SECOND);
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)
        ────────────────────────────────────────────────────────────────────────────────
        ? 1 of 1 waiting · ada · shell_cmd · apr_1
          ada asks: Run touch?
          $ touch
        o once · s session · a always · e edit · d deny · l later · ? help
        Tab or Esc goes back to your message
        > tell me a st
        demo · New Chat · 1 waiting
    "#]]
    .assert_eq(&stage.seen());
    for back in [KeyCode::Tab, KeyCode::Esc] {
        stage.key(back);
        stage.key(KeyCode::Char('o'));
        assert!(stage.seen().contains("Tab to answer"));
        stage.key(KeyCode::Backspace);
        stage.key(KeyCode::Tab);
    }
    stage.wait(SECOND);
    let effects = stage.key(KeyCode::Char('o'));
    assert!(decided(&effects).is_some(), "{effects:?}");
    assert_eq!(stage.state.composer.text(), "tell me a st", "the message is as it was left");
    stage.draw();
    stage.key(KeyCode::Char('o'));
    assert_eq!(stage.state.composer.text(), "tell me a sto", "the keys are its own again");
}

#[test]
fn a_reason_is_typed_to_its_end_and_then_esc_leads_back_step_by_step() {
    let mut stage = interrupted();
    stage.wait(SECOND);
    stage.key(KeyCode::Tab);
    stage.wait(SECOND);
    stage.key(KeyCode::Char('d'));
    stage.write("no");
    assert!(stage.seen().contains("why (empty for no reason)> no"));
    stage.key(KeyCode::Esc);
    stage.wait(SECOND);
    assert!(stage.seen().contains("l later"), "to the choice first");
    stage.key(KeyCode::Esc);
    assert!(stage.seen().contains("Tab to answer"), "then to the message");
    assert_eq!(stage.state.waits(), 1, "it was not put off");
}

#[test]
fn tab_completes_where_there_is_something_to_complete() {
    let mut stage = stage(80, 24);
    stage.draw();
    stage.write("@ad");
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(SECOND);
    stage.key(KeyCode::Tab);
    assert_eq!(stage.state.composer.text(), "@ada ");
    stage.key(KeyCode::Tab);
    assert!(stage.seen().contains("goes back to your message"));
}

#[test]
fn several_are_looked_at_beside_a_message() {
    let mut stage = interrupted();
    stage.ask(approval("apr_2", "mkdir", &json!({})));
    stage.wait(SECOND);
    stage.key(KeyCode::Tab);
    stage.key(KeyCode::Right);
    let seen = stage.seen();
    assert!(seen.contains("2 of 2") && seen.contains("← → look at the others"), "{seen}");
}

#[test]
fn whoever_just_typed_goes_on_typing_even_with_nothing_left() {
    let mut stage = stage(80, 24);
    stage.draw();
    stage.write("x");
    stage.key(KeyCode::Backspace);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.draw();
    stage.key(KeyCode::Char('o'));
    assert_eq!(stage.state.composer.text(), "o");
}

#[test]
fn a_key_that_is_read_before_the_question_is_drawn_belongs_to_the_message() {
    let mut stage = stage(80, 24);
    stage.draw();
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.now += SECOND;
    assert!(stage.state.comes_up(), "keys that are there are read first");
    assert_eq!(stage.key(KeyCode::Char('o')), []);
    assert_eq!(stage.state.composer.text(), "o");
}

#[test]
fn a_question_that_takes_the_place_of_another_is_not_answered_before_it_is_drawn() {
    let mut stage = stage(80, 24);
    for id in ["apr_1", "apr_2"] {
        stage.ask(approval(id, "touch", &json!({})));
    }
    stage.wait(SECOND);
    let decided_elsewhere = json!({"state": "approved", "scope": "once", "decided_by": "maria"});
    stage.ask(approval("apr_1", "touch", &decided_elsewhere));
    stage.now += SECOND;
    assert_eq!(stage.key(KeyCode::Char('o')), []);
    assert!(stage.state.composer.is_empty(), "it was meant for the one that is gone");
}

#[test]
fn a_key_that_does_nothing_says_so() {
    let mut stage = stage(80, 24);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.draw();
    assert_eq!(stage.key(KeyCode::Char('o')), []);
    let seen = stage.seen();
    assert!(seen.contains("just shown, so that key did nothing: press again"), "{seen}");
    stage.wait(SECOND);
    let seen = stage.seen();
    assert!(seen.contains("l later") && seen.contains("press again"), "{seen}");
    stage.key(KeyCode::Char('x'));
    let seen = stage.seen();
    assert!(seen.contains("that key is no answer; l leaves the question waiting"), "{seen}");
    stage.wait(SECOND);
    assert!(decided(&stage.key(KeyCode::Char('o'))).is_some());
    assert!(!stage.seen().contains("that key"));
}

#[test]
fn what_is_pasted_is_a_message_and_never_an_answer() {
    let mut stage = stage(80, 24);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(SECOND);
    stage.state.paste("o", stage.now);
    assert_eq!(stage.state.composer.text(), "o");
    assert!(stage.seen().contains("Tab to answer"));
}

#[test]
fn a_message_that_comes_back_does_not_take_the_keys_of_a_reason() {
    let mut stage = stage(80, 24);
    stage.enter("hello");
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(SECOND);
    stage.key(KeyCode::Char('d'));
    stage.write("because ");
    let why = "nobody answers".to_owned();
    stage.state.told(Told::NotPosted { number: 1, why, is_unsure: true });
    stage.draw();
    stage.write("no");
    assert_eq!(stage.state.composer.text(), "hello");
    let effects = stage.key(KeyCode::Enter);
    assert_eq!(decided(&effects).and_then(|one| one.reason.as_deref()), Some("because no"));
}

#[test]
fn a_small_screen_shows_where_the_question_and_the_message_are() {
    let mut stage = stage(40, 10);
    stage.draw();
    stage.write("a draft");
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(SECOND);
    let seen = stage.seen();
    for part in ["? 1 of 1 waiting", "Tab to answer", "> a draft", "demo · New Chat"] {
        assert!(seen.contains(part), "{part} in\n{seen}");
    }
}

#[test]
fn a_command_can_be_given_although_something_is_asked() {
    let mut stage = stage(80, 24);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(SECOND);
    let effects = stage.enter("/policy");
    assert!(effects.contains(&Effect::ShowPolicy), "{effects:?}");
    assert_eq!(stage.state.waits(), 1);
}

#[test]
fn keys_are_offered_only_when_they_count_however_late_the_question_is_drawn() {
    let mut stage = stage(80, 24);
    stage.draw();
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.now += 10 * SECOND;
    assert!(!stage.seen().contains("l later"));
    stage.wait(SECOND);
    assert!(stage.seen().contains("l later"));
    assert!(decided(&stage.key(KeyCode::Char('o'))).is_some());
}

#[test]
fn esc_closes_the_help_before_it_leads_back_to_the_message() {
    let mut stage = interrupted();
    stage.wait(SECOND);
    stage.key(KeyCode::Tab);
    stage.wait(SECOND);
    stage.key(KeyCode::Char('?'));
    stage.key(KeyCode::Esc);
    let seen = stage.seen();
    assert!(seen.contains("l later") && !seen.contains("approves this call"), "{seen}");
    stage.key(KeyCode::Esc);
    assert!(stage.seen().contains("Tab to answer"));
}
