//! Tests of what does not fit: windows that are too small, and texts that are too long to be seen at once.

use std::time::Duration;

use crossterm::event::KeyCode;
use expect_test::expect;
use ratatui::backend::TestBackend;
use serde_json::json;

use super::{Stage, approval, stage};
use crate::chat::effect::Effect;
use crate::chat::inline::Inline;

/// As when the window gets another size.
fn resize(stage: &mut Stage, columns: u16, rows: u16) {
    stage.screen = Inline::new(TestBackend::new(columns, rows), 0).unwrap();
    stage.state.resize(columns);
}

#[test]
fn a_window_without_room_for_the_keys_takes_no_answer() {
    let mut stage = stage(20, 5);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(Duration::from_secs(1));
    let seen = stage.seen();
    let screen = seen.rsplit("----\n").next().unwrap_or_default();
    expect![[r#"
          $ touch
        ? 1 of 1 waiting ·
        enlarge the window
        to answer · l later
        demo · New Chat · 1
    "#]]
    .assert_eq(screen);
    for key in ['o', 'y', 's', 'a', 'd', 'e', '1', 't'] {
        assert_eq!(stage.key(KeyCode::Char(key)), [], "{key}");
        stage.wait(Duration::from_secs(1));
    }
    assert!(!stage.state.would_answer(KeyCode::Char('o').into(), stage.now));
    resize(&mut stage, 80, 24);
    stage.draw();
    assert_eq!(stage.key(KeyCode::Char('o')), [], "it could not be read before");
    stage.wait(Duration::from_secs(1));
    assert!(stage.seen().contains("o once"), "{}", stage.seen());
    let effects = stage.key(KeyCode::Char('o'));
    assert!(matches!(effects.as_slice(), [Effect::Decide { .. }]), "{effects:?}");
}

#[test]
fn a_text_that_was_begun_is_sent_only_from_a_window_that_shows_how() {
    let mut stage = stage(80, 24);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(Duration::from_secs(1));
    stage.key(KeyCode::Char('d'));
    stage.write("no");
    resize(&mut stage, 20, 4);
    stage.wait(Duration::from_secs(1));
    assert_eq!(stage.key(KeyCode::Enter), []);
    resize(&mut stage, 80, 24);
    stage.wait(Duration::from_secs(1));
    assert!(stage.seen().contains("> no"), "{}", stage.seen());
    assert_eq!(stage.key(KeyCode::Enter).len(), 1);
}

#[test]
fn help_that_takes_the_place_of_the_keys_is_closed_again() {
    let mut stage = stage(40, 10);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(Duration::from_secs(1));
    assert!(stage.seen().contains("? help"), "{}", stage.seen());
    stage.key(KeyCode::Char('?'));
    stage.wait(Duration::from_secs(1));
    assert!(stage.seen().contains("Esc goes"), "{}", stage.seen());
    assert_eq!(stage.key(KeyCode::Char('o')), []);
    stage.key(KeyCode::Esc);
    stage.wait(Duration::from_secs(1));
    assert!(stage.seen().contains("? help"), "{}", stage.seen());
    assert_eq!(stage.key(KeyCode::Char('o')).len(), 1);
}

#[test]
fn what_cannot_be_answered_can_be_put_off() {
    let mut stage = stage(20, 5);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(Duration::from_secs(1));
    stage.key(KeyCode::Char('l'));
    assert!(stage.seen().contains("it waits"), "{}", stage.seen());
    stage.write("hi");
    assert!(stage.seen().contains("> hi"), "{}", stage.seen());
}

#[test]
fn long_arguments_are_edited_where_the_cursor_is_and_sent_whole() {
    let content = "0123456789".repeat(12_000);
    let arguments = json!({"content": content, "path": "a.txt"});
    let shown = serde_json::to_string_pretty(&arguments).unwrap();
    let more = json!({"tool": "write_file", "arguments": arguments, "shown": shown});
    let mut stage = stage(80, 24);
    stage.ask(approval("apr_1", "x", &more));
    stage.wait(Duration::from_secs(1));
    stage.key(KeyCode::Char('e'));
    stage.key(KeyCode::End);
    stage.key(KeyCode::Left);
    stage.key(KeyCode::Left);
    stage.write("END");
    let seen = stage.seen();
    let screen = seen.rsplit("----\n").next().unwrap_or_default();
    let row =
        screen.lines().find(|row| row.contains("789END\"")).unwrap_or_else(|| panic!("{screen}"));
    assert!(row.trim_end().ends_with(','), "{row}");
    assert!(screen.contains("characters more above"), "{screen}");
    assert!(screen.contains("Ctrl-S approves them once"), "{screen}");
    let effects = stage.control('s');
    let [Effect::Decide { decision, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    let sent = decision.arguments.as_ref().and_then(|sent| sent["content"].as_str()).unwrap();
    assert_eq!(sent.len(), content.len() + 3);
    assert!(sent.ends_with("789END"));
}

#[test]
fn a_message_of_more_rows_than_can_be_counted_is_drawn_beside_a_question() {
    let mut stage = stage(40, 10);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.wait(Duration::from_secs(1));
    stage.state.paste(&"line\n".repeat(70_000), stage.now);
    stage.wait(Duration::from_secs(1));
    assert!(stage.seen().contains("waiting"), "{}", stage.seen());
    stage.key(KeyCode::Tab);
    assert!(stage.seen().contains("waiting"), "{}", stage.seen());
}
