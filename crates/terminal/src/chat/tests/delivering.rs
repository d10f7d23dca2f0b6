//! What becomes of decisions that nobody takes, of requests of other chats, and of texts that begin like an answer.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::{Stage, approval, stage};
use crate::chat::effect::{Effect, Told};

const SECOND: Duration = Duration::from_secs(1);

/// Two wait, and the second is looked at.
fn second_of_two() -> Stage {
    let mut stage = stage(80, 24);
    for id in ["apr_1", "apr_2"] {
        stage.ask(approval(id, "touch", &json!({})));
    }
    stage.wait(SECOND);
    stage.key(KeyCode::Tab);
    stage.wait(SECOND);
    stage
}

fn delayed(stage: &mut Stage) {
    let effects = stage.key(KeyCode::Char('o'));
    assert!(matches!(effects.as_slice(), [Effect::Decide { .. }]), "{effects:?}");
    stage.state.told(Told::DecisionDelayed { approval: "apr_2".to_owned() });
    stage.wait(SECOND);
}

#[test]
fn a_decision_that_nobody_takes_keeps_its_place_and_says_so() {
    let mut stage = second_of_two();
    delayed(&mut stage);
    let seen = stage.seen();
    assert!(seen.contains("? 2 of 2 waiting"), "{seen}");
    assert!(seen.contains("not yet delivered: retrying"), "{seen}");
    for key in ['o', 'y', 'd', 'x'] {
        assert_eq!(stage.key(KeyCode::Char(key)), [], "no key decides another one");
        stage.wait(SECOND);
    }
    assert!(stage.state.composer.is_empty());
    let decided = approval("apr_2", "touch", &json!({"state": "approved", "scope": "once"}));
    stage.state.told(Told::Decided(Box::new(decided)));
    let seen = stage.seen();
    assert!(seen.contains("touch: approved once") && seen.contains("? 1 of 1 waiting"), "{seen}");
}

#[test]
fn a_decision_that_is_given_up_is_told_and_asked_again() {
    let mut stage = second_of_two();
    delayed(&mut stage);
    let why = "the decision was not delivered: nobody answers at http://a; decide again".to_owned();
    stage.state.told(Told::NotDecided { approval: "apr_2".to_owned(), why });
    stage.wait(SECOND);
    let seen = stage.seen();
    assert!(seen.contains("! apr_2: the decision was not delivered: nobody answers"), "{seen}");
    assert!(seen.contains("? 2 of 2 waiting") && seen.contains("o once · "), "{seen}");
    assert!(matches!(stage.key(KeyCode::Char('o')).as_slice(), [Effect::Decide { .. }]));
}

#[test]
fn one_can_look_at_others_or_write_while_a_decision_is_delivered() {
    let mut stage = second_of_two();
    delayed(&mut stage);
    stage.key(KeyCode::Tab);
    assert!(stage.seen().contains("? 1 of 2 waiting"));
    let why = "the decision was not delivered".to_owned();
    stage.state.told(Told::NotDecided { approval: "apr_2".to_owned(), why });
    let seen = stage.seen();
    assert!(seen.contains("? 1 of 2 waiting"), "it does not come under the fingers: {seen}");
    stage.key(KeyCode::Tab);
    stage.wait(SECOND);
    delayed(&mut stage);
    stage.key(KeyCode::Char('l'));
    let seen = stage.seen();
    assert!(seen.contains("your decision goes on being delivered"), "{seen}");
    stage.wait(SECOND);
    stage.write("/policy");
    assert_eq!(stage.state.composer.text(), "/policy");
}

#[test]
fn whoever_leaves_is_told_what_was_not_delivered() {
    let mut stage = second_of_two();
    delayed(&mut stage);
    stage.state.tell_undelivered();
    assert!(stage.seen().contains("! your decision on apr_2 was not delivered; it waits"));
}

#[test]
fn requests_of_other_chats_are_asked_with_where_they_are() {
    let mut stage = stage(80, 24);
    stage.state.enter(Vec::new(), 1);
    assert!(stage.seen().contains("1 approval waiting in other chats: /approvals asks about them"));
    let effects = stage.enter("/approvals");
    assert!(effects.contains(&Effect::ListApprovals), "{effects:?}");
    let other = approval("apr_9", "touch", &json!({"chat_id": "chat_2"}));
    let lines = vec!["apr_9 in demo chat_2: ada wants to use shell_cmd touch".to_owned()];
    let elsewhere = vec![(other, "“Plans” (chat_2) of demo".to_owned())];
    stage.state.told(Told::Waiting { lines, elsewhere });
    stage.wait(SECOND);
    stage.wait(SECOND);
    let seen = stage.seen();
    assert!(seen.contains("  of another chat: “Plans” (chat_2) of demo\n"), "{seen}");
    stage.key(KeyCode::Char('s'));
    stage.wait(SECOND);
    assert!(stage.seen().contains("approve for the rest of that chat"), "{}", stage.seen());
    let effects = stage.key(KeyCode::Char('1'));
    assert!(
        matches!(effects.first(), Some(Effect::Decide { approval, .. }) if approval == "apr_9")
    );
    let decided = json!({"chat_id": "chat_2", "state": "approved", "scope": "session"});
    stage.state.told(Told::Decided(Box::new(approval("apr_9", "touch", &decided))));
    let seen = stage.seen();
    assert!(seen.contains("in chat_2 you are not asked again for ada"), "{seen}");
    assert_eq!(stage.state.waits(), 0);
}

#[test]
fn a_text_that_begins_like_an_answer_is_a_message() {
    let mut stage = second_of_two();
    let keys: Vec<KeyEvent> = "ok then"
        .chars()
        .map(|letter| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE))
        .collect();
    assert!(stage.state.would_answer(keys[0], stage.now), "one key alone decides");
    assert!(!stage.state.would_answer(keys[1], stage.now));
    stage.state.paste("ok then", stage.now);
    assert_eq!(stage.state.composer.text(), "ok then");
    assert_eq!(stage.state.waits(), 2);
    assert!(stage.seen().contains("Tab to answer"));
    stage.key(KeyCode::Tab);
    stage.wait(SECOND);
    stage.key(KeyCode::Char('d'));
    let letter = KeyEvent::new(KeyCode::Char('o'), KeyModifiers::NONE);
    assert!(!stage.state.would_answer(letter, stage.now), "it belongs to the reason");
}

#[test]
fn esc_closes_the_help_of_a_card_and_no_more() {
    let mut stage = second_of_two();
    stage.key(KeyCode::Char('?'));
    assert!(stage.seen().contains("o, y: approves this call"));
    stage.key(KeyCode::Esc);
    let seen = stage.seen();
    assert!(!seen.contains("approves this call") && seen.contains("? 2 of 2"), "{seen}");
    assert!(!seen.contains("it waits"), "{seen}");
}

#[test]
fn the_keys_of_a_long_text_are_seen_on_a_small_screen() {
    let mut stage = stage(80, 14);
    let many: Vec<usize> = (0..100).collect();
    let arguments = json!({"command": "ls", "numbers": many});
    stage.ask(approval("apr_1", "ls", &json!({"arguments": arguments})));
    stage.wait(SECOND);
    stage.key(KeyCode::Char('e'));
    for _ in 0..30 {
        stage.key(KeyCode::Down);
    }
    let seen = stage.seen();
    assert!(seen.contains("Ctrl-S approves them once") && seen.contains("more above"), "{seen}");
}

#[test]
fn a_call_that_was_written_as_text_is_shown_as_any_other() {
    let mut stage = stage(80, 24);
    let written = "{\"command\": \"ls\", \"parameters\": [\"-la\"]}";
    stage.call("call_1", "failed", &json!({"arguments": written, "result": "no such tool"}));
    let seen = stage.seen();
    assert!(seen.contains("⚙ ada shell_cmd ls -la · failed"), "{seen}");
    stage.control('o');
    assert!(stage.seen().contains("  │   \"command\": \"ls\",\n"), "{}", stage.seen());
}
