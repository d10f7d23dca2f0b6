//! Checks how a call is changed before it is approved.

use expect_test::expect;
use serde_json::json;

use super::super::tests::{approval, check, press, shown};
use super::*;
use crate::deciding::Outcome;

fn edited(deciding: &mut Deciding, keys: &str) -> Value {
    let Outcome::Decided(decision) = press(deciding, keys) else { panic!("{}", shown(deciding)) };
    decision.arguments.unwrap()
}

#[test]
fn a_command_is_changed_as_the_line_it_is() {
    let mut deciding = Deciding::new(approval(json!({})));
    press(&mut deciding, "e");
    expect![[r#"
        another command:
        $ rm -rf build 
        Enter goes on · Esc goes back
    "#]]
    .assert_eq(&shown(&deciding));
    let expected = json!({"command": "rm", "parameters": ["-rf", "build", "a b", "c d"]});
    assert_eq!(press(&mut deciding, " 'a b' \"c d\"⏎"), Outcome::Redraw, "it is shown first");
    expect![[r#"
        run this in its place?
          ! rm can destroy what is there
          $ rm -rf build "a b" "c d"
        y approves it once · n goes back
    "#]]
    .assert_eq(&shown(&deciding));
    for other in ["⏎", "o", "e", "^s"] {
        assert_eq!(press(&mut deciding, other), Outcome::Nothing, "{other}");
    }
    press(&mut deciding, "n");
    assert!(shown(&deciding).contains("\"c d\""), "what was typed is there: {}", shown(&deciding));
    assert_eq!(edited(&mut deciding, "⏎y"), expected);
}

#[test]
fn a_command_that_was_not_changed_is_not_approved_by_editing_it() {
    check(
        &approval(json!({})),
        &["e⏎", "e⏎y", "e^s", "e⎇", "e  ⏎"],
        expect![[r#"
            e⏎: redraw
                it is as it was: change it, or go back with Esc to decide; nothing was decided
            e⏎y: redraw
            e^s: redraw
                it is as it was: change it, or go back with Esc to decide; nothing was decided
            e⎇: redraw
                it is as it was: change it, or go back with Esc to decide; nothing was decided
            e  ⏎: redraw
                it is as it was: change it, or go back with Esc to decide; nothing was decided
        "#]],
    );
}

#[test]
fn every_word_is_read_back_as_it_was() {
    for words in [
        json!(["a b", "", "it's", "\"", "\\", "$HOME", "*", "\n", "\u{202e}x", "ä"]),
        json!(["-c", "echo hi | wc -l"]),
    ] {
        let mut arguments = json!({"command": "my program", "parameters": words});
        let asked = approval(json!({"arguments": arguments}));
        arguments["parameters"].as_array_mut().unwrap().push(json!("x"));
        assert_eq!(edited(&mut Deciding::new(asked), "e x⏎y"), arguments);
    }
}

#[test]
fn a_script_is_changed_as_text_and_anything_else_as_json() {
    let script = approval(json!({"arguments": {"script": "ls\nrm x"}}));
    let mut deciding = Deciding::new(script);
    press(&mut deciding, "e");
    expect![[r#"
        another script:
        $ ls
          rm x
        Ctrl-S approves it once · Esc goes back
    "#]]
    .assert_eq(&shown(&deciding));
    assert_eq!(edited(&mut deciding, "# ^s"), json!({"script": "# ls\nrm x"}));
    for arguments in [
        json!({"command": "ls", "timeout": 5}),
        json!({"command": "ls", "parameters": "-la"}),
        json!({"script": "ls \u{202e}"}),
    ] {
        let mut deciding = Deciding::new(approval(json!({ "arguments": arguments })));
        press(&mut deciding, "e");
        assert!(shown(&deciding).starts_with("other arguments, as JSON"), "{}", shown(&deciding));
    }
}

#[test]
fn a_line_that_is_no_command_is_refused() {
    check(
        &approval(json!({})),
        &["e^u⏎", "e | wc⏎", "e 'x⏎", "e \"x⏎"],
        expect![[r#"
            e^u⏎: redraw
                there is no command; nothing was decided
            e | wc⏎: redraw
                no shell reads this line: put what has | in it in quotes; nothing was decided
            e 'x⏎: redraw
                what begins with ' does not end; nothing was decided
            e "x⏎: redraw
                what begins with " is no string; nothing was decided
        "#]],
    );
}

#[test]
fn json_begins_where_something_can_be_changed_and_its_keys_stay_in_a_small_place() {
    let arguments = json!({"command": "ls", "timeout": 5});
    let asked = approval(json!({"arguments": arguments}));
    let mut deciding = Deciding::new(asked);
    assert_eq!(
        edited(&mut deciding, "e  ^s"),
        arguments,
        "spaces before the first name change nothing"
    );
    let many: Vec<usize> = (0..100).collect();
    let mut deciding = Deciding::new(approval(json!({"arguments": many})));
    press(&mut deciding, "e↓↓↓↓↓↓↓↓↓↓");
    let lines = deciding.prompt_within(8, 80, crate::theme::Theme::new(false));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert!(lines.len() <= 8 && text.contains("Ctrl-S approves them once"), "{text}");
}

#[test]
fn what_a_diff_shows_is_not_shown_twice() {
    let shown = format!("{:#}", json!({"path": "a.txt", "content": "new\n", "create_only": true}));
    let diff = "--- a.txt\n+++ a.txt\n@@ -1 +1 @@\n-old\n+new";
    let asked = approval(json!({"tool": "write_file", "shown": shown, "preview": diff}));
    let others = beside_diff(&asked).unwrap();
    assert!(others.contains("create_only") && !others.contains("content"), "{others}");
    let shown_edit =
        format!("{:#}", json!({"path": "a.txt", "old": "old", "new": "new", "all": true}));
    let asked = approval(json!({"tool": "edit_file", "shown": shown_edit, "preview": diff}));
    let others = beside_diff(&asked).unwrap();
    assert_eq!(others, format!("{:#}", json!({"path": "a.txt", "all": true})));
    let cut = format!("{diff}\n(cut: 9 more lines of the diff are not shown)");
    for other in [
        json!({"tool": "write_file", "shown": shown, "preview": cut}),
        json!({"tool": "write_file", "shown": shown, "preview": "replaces a file of 9 bytes"}),
        json!({"tool": "elsewhere__write_file", "shown": shown, "preview": diff}),
        json!({"tool": "write_file", "shown": shown}),
        json!({"tool": "edit_file", "shown": shown_edit, "preview": cut}),
        json!({"tool": "edit_file", "shown": shown_edit, "preview": "there is no such text"}),
    ] {
        assert_eq!(beside_diff(&approval(other)), None, "all of it must be seen somewhere");
    }
}
