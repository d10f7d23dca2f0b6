//! How a conversation looks.

use std::time::Duration;

use crossterm::event::KeyCode;
use expect_test::expect;
use serde_json::json;

use super::{approval, stage};

#[test]
fn a_reply_grows_in_place_and_stays_above() {
    let mut stage = stage(80, 24);
    stage.message("msg_1", "human", "hello");
    stage.activity(json!({"state": "busy", "agents": [{"id": "ada", "doing": "thinking"}]}));
    stage.piece("msg_2", "ada", 0, "", "one two three");
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)

        > hello
        ada thinking… 3 words (Ctrl-R shows)
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat · ada thinks · Ctrl-C stops
    "#]]
    .assert_eq(&stage.seen());
    stage.piece("msg_2", "ada", 0, "A first paragraph.\n\nA sec", "");
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)

        > hello
        ada  thought 3 words
          A first paragraph.

          A sec
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat · ada thinks · Ctrl-C stops
    "#]]
    .assert_eq(&stage.seen());
    stage.message("msg_2", "ada", "A first paragraph.\n\nA second one.");
    stage.activity(json!({"state": "idle"}));
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)

        > hello
        ada  thought 3 words
          A first paragraph.

          A second one.
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
}

#[test]
fn two_speak_at_once_and_one_waits_for_its_turn() {
    let mut stage = stage(80, 24);
    stage.piece("msg_a", "ada", 0, "one ", "");
    stage.piece("msg_b", "bob", 0, "eins ", "");
    stage.piece("msg_a", "ada", 4, "two", "");
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)

        ada
          one two
        bob … eins
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
    stage.message("msg_b", "bob", "eins zwei");
    stage.message("msg_a", "ada", "one two");
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)

        ada
          one two

        bob
          eins zwei
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
}

#[test]
fn a_tool_shows_the_end_of_what_it_writes_and_then_what_came_of_it() {
    let mut stage = stage(80, 24);
    stage.call("call_1", "executing", &json!({}));
    for line in 1..=5 {
        stage.output("call_1", &format!("line {line}\n"));
    }
    stage.wait(Duration::from_secs(3));
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)
        ⚙ ada shell_cmd ls -la · 3 s
            … 2 lines before (Ctrl-O shows more)
            line 3
            line 4
            line 5
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
    stage.control('o');
    let seen = stage.seen();
    assert!(seen.contains("line 1"), "{seen}");
    stage.call("call_1", "completed", &json!({"result": "line 1\nline 2\n", "duration_ms": 3100}));
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)
        ⚙ ada shell_cmd ls -la · completed · 3.1 s
            line 1
            line 2
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
}

#[test]
fn a_question_takes_the_place_of_an_empty_composer_and_gives_it_back() {
    let mut stage = stage(80, 24);
    stage.ask(approval("apr_1", "touch", &json!({})));
    stage.ask(approval("apr_2", "mkdir", &json!({})));
    stage.wait(Duration::from_secs(1));
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)
        ────────────────────────────────────────────────────────────────────────────────
        ? 1 of 2 waiting · ada · shell_cmd · apr_1
          ada asks: Run touch?
          $ touch
        o once · s session · a always · e edit · d deny · l later · ? help
        Tab looks at the next one that waits
        demo · New Chat · 2 waiting
    "#]]
    .assert_eq(&stage.seen());
    stage.key(KeyCode::Tab);
    let seen = stage.seen();
    assert!(seen.contains("2 of 2"), "{seen}");
    stage.ask(approval(
        "apr_2",
        "mkdir",
        &json!({"state": "denied", "decided_by": "maria", "reason": "no"}),
    ));
    stage.ask(approval(
        "apr_1",
        "touch",
        &json!({"state": "approved", "scope": "once", "decided_by": "maria"}),
    ));
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob (demo/demo)
        ✗ ada shell_cmd mkdir: denied by maria (no)
        ✓ ada shell_cmd touch: approved once by maria
        ────────────────────────────────────────────────────────────────────────────────
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
}

#[test]
fn what_scrolls_off_is_the_terminals() {
    let mut stage = stage(40, 10);
    for number in 1..=8 {
        stage.message(&format!("msg_{number}"), "human", &format!("message {number}"));
    }
    expect![[r#"
        Demo, chat “New Chat”, with @ada
          (demo/demo), @bob (demo/demo)

        > message 1

        > message 2

        > message 3

        > message 4
        ----

        > message 5

        > message 6

        > message 7

        > message 8
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
}

#[test]
fn another_size_writes_what_was_said_again() {
    let mut stage = stage(40, 10);
    stage.message("msg_1", "human", "hello");
    stage.draw();
    stage.screen.backend_mut().resize(60, 12);
    stage.screen.resize().unwrap();
    stage.state.resize(60);
    expect![[r#"
        Demo, chat “New Chat”, with @ada (demo/demo), @bob
          (demo/demo)

        > hello
        >  message for @ada · /help
        demo · New Chat
    "#]]
    .assert_eq(&stage.seen());
}

#[test]
fn nothing_hidden_reaches_the_screen() {
    let mut stage = stage(80, 24);
    let evil = "\u{1b}[2J\u{202e}gone";
    stage.message("msg_1", "ada", evil);
    stage.message("msg_2", "human", evil);
    stage.call("call_1", "executing", &json!({"arguments": {"command": evil}}));
    stage.output("call_1", evil);
    let seen = stage.seen();
    assert!(!seen.contains('\u{1b}') && !seen.contains('\u{202e}'), "{seen}");
    assert!(seen.contains("\\u{1B}"), "{seen}");
}
