//! Checks that a command is shown as it is, or not as a command at all.

use serde_json::json;

use super::super::Deciding;
use super::super::tests::approval;
use super::*;
use crate::theme::Theme;

#[test]
fn what_is_hidden_is_told_from_what_was_typed() {
    let text = |shown: &str| {
        let lines =
            Deciding::new(approval(json!({"shown": shown}))).lines(1, 1, 200, Theme::new(true));
        lines.iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    // A real one: no JSON any more, so it is shown as it came.
    let real = text(r#"{"command": "echo", "parameters": ["a\u{202E}b"]}"#);
    assert!(real.contains(r#"│ {"command": "echo", "parameters": ["a\u{202E}b"]}"#), "{real}");
    let typed = text(r#"{"script": "echo a\\u{202E}b"}"#);
    assert!(typed.contains(r"$ echo a\u{5C}u{202E}b"), "{typed}");
    let words = text(r#"{"command": "a b", "parameters": ["", "x\ny", "\u001b[2J"]}"#);
    assert!(words.contains(r#"$ "a b" "" "x\ny" "\u001b[2J""#), "{words}");
}

#[test]
fn arguments_that_are_no_plain_command_are_shown_as_they_came() {
    for shown in [
        json!({"command": "ls", "script": "rm x"}),
        json!({"command": "ls", "parameters": "x"}),
        json!({"command": "ls", "parameters": [1]}),
        json!({"script": "ls", "parameters": ["x"]}),
        json!(["ls"]),
    ] {
        assert_eq!(Run::read(&shown.to_string()), None, "{shown}");
    }
}
