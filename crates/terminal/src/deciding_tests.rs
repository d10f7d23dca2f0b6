//! Checks which keys decide what, and that no other does.

use agent_world_client::wire::Verdict;
use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

pub fn approval(more: Value) -> Approval {
    let mut value = json!({
        "id": "apr_1",
        "state": "pending",
        "world_id": "w",
        "chat_id": "chat_1",
        "agent_id": "ada",
        "tool_call_id": "call_1",
        "tool": "shell_cmd",
        "arguments": {"command": "rm", "parameters": ["-rf", "build"]},
        "working_directory": "/srv/demo",
        "message": "Execute shell command: rm -rf build",
        "shown": "{\n  \"command\": \"rm\",\n  \"parameters\": [\n    \"-rf\",\n    \"build\"\n  ]\n}",
        "options": ["deny", "approve_once", "approve_session", "approve_always"],
        "suggested_matches": [
            {"label": "exactly this call", "matches": [{"pointer": "", "equals": {}}]},
            {"label": "any shell_cmd call", "matches": []},
        ],
        "created_at": "2026-01-01T00:00:00Z",
    });
    let (Value::Object(fields), Value::Object(more)) = (&mut value, more) else { unreachable!() };
    fields.extend(more);
    serde_json::from_value(value).unwrap()
}

fn key(code: KeyCode) -> KeyEvent {
    KeyEvent::new(code, KeyModifiers::NONE)
}

fn ctrl(letter: char) -> KeyEvent {
    KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)
}

/// `⏎`, `␛`, `↑`, `↓` are keys, `^x` is one with Ctrl, `⎇` is Alt-Enter, everything else is itself.
pub fn press(deciding: &mut Deciding, keys: &str) -> Outcome {
    let mut outcome = Outcome::Nothing;
    let mut keys = keys.chars();
    while let Some(one) = keys.next() {
        let event = match one {
            '⏎' => key(KeyCode::Enter),
            '␛' => key(KeyCode::Esc),
            '↑' => key(KeyCode::Up),
            '↓' => key(KeyCode::Down),
            '⎇' => KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT),
            '^' => ctrl(keys.next().unwrap()),
            letter => key(KeyCode::Char(letter)),
        };
        outcome = deciding.key(event);
    }
    outcome
}

fn tell(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Decided(decision) => serde_json::to_string(decision).unwrap(),
        Outcome::Later => "later".to_owned(),
        Outcome::Redraw => "redraw".to_owned(),
        Outcome::Nothing => "nothing".to_owned(),
    }
}

pub fn shown(deciding: &Deciding) -> String {
    let lines = deciding.prompt(80, Theme::new(false));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// What every row of keys leads to.
pub fn check(approval: &Approval, rows: &[&str], expected: Expect) {
    let mut told = String::new();
    for keys in rows {
        let mut deciding = Deciding::new(approval.clone());
        let outcome = press(&mut deciding, keys);
        told += &format!("{keys}: {}\n", tell(&outcome));
        if let Some(problem) = &deciding.problem {
            told += &format!("    {problem}\n");
        }
    }
    expected.assert_eq(&told);
}

#[test]
fn keys_decide_what_they_say() {
    check(
        &approval(json!({})),
        &[
            "o",
            "y",
            "O",
            "l",
            "␛",
            "s1",
            "st",
            "sty",
            "stn",
            "sto",
            "ss",
            "a1",
            "at",
            "aty",
            "atn",
            "ato",
            "at⏎",
            "aa",
            "s↓⏎",
            "s↑⏎",
            "s↑⏎y",
            "s↓↓↓⏎",
            "d⏎",
            "nno, ⏎",
        ],
        expect![[r#"
            o: {"decision":"approve","scope":"once"}
            y: {"decision":"approve","scope":"once"}
            O: {"decision":"approve","scope":"once"}
            l: later
            ␛: later
            s1: {"decision":"approve","scope":"session","match":0}
            st: redraw
            sty: {"decision":"approve","scope":"session","match":1}
            stn: redraw
            sto: nothing
            ss: redraw
                say for which calls, by a key of the list, or go back with Esc; nothing was decided
            a1: {"decision":"approve","scope":"always","match":0}
            at: redraw
            aty: {"decision":"approve","scope":"always","match":1}
            atn: redraw
            ato: nothing
            at⏎: nothing
            aa: redraw
                say for which calls, by a key of the list, or go back with Esc; nothing was decided
            s↓⏎: {"decision":"approve","scope":"session","match":0}
            s↑⏎: redraw
            s↑⏎y: {"decision":"approve","scope":"session","match":1}
            s↓↓↓⏎: {"decision":"approve","scope":"session","match":0}
            d⏎: {"decision":"deny"}
            nno, ⏎: {"decision":"deny","reason":"no,"}
        "#]],
    );
}

#[test]
fn nothing_else_decides() {
    check(
        &approval(json!({})),
        &[
            "⏎", "1", " ", "x", "^o", "^y", "s", "s⏎", "s2", "s0", "t", "s␛", "sa", "d", "do␛",
            "?", "??", "e", "e␛",
        ],
        expect![[r#"
            ⏎: nothing
            1: nothing
             : nothing
            x: nothing
            ^o: nothing
            ^y: nothing
            s: redraw
            s⏎: redraw
                say for which calls, by a key of the list, or go back with Esc; nothing was decided
            s2: redraw
                there is no 2; there is 1, or t for the whole tool; nothing was decided
            s0: redraw
                there is no 0; there is 1, or t for the whole tool; nothing was decided
            t: nothing
            s␛: redraw
            sa: redraw
                say for which calls, by a key of the list, or go back with Esc; nothing was decided
            d: redraw
            do␛: redraw
            ?: redraw
            ??: redraw
            e: redraw
            e␛: redraw
        "#]],
    );
    let mut deciding = Deciding::new(approval(json!({})));
    assert_eq!(deciding.paste("o\no\n"), Outcome::Nothing);
    for kind in [KeyEventKind::Repeat, KeyEventKind::Release] {
        let held = KeyEvent::new_with_kind(KeyCode::Char('o'), KeyModifiers::NONE, kind);
        assert_eq!(deciding.key(held), Outcome::Nothing);
    }
}

#[test]
fn only_what_is_offered_can_be_chosen() {
    let once = approval(json!({"options": ["deny", "approve_once"]}));
    check(
        &once,
        &["o", "s", "a"],
        expect![[r#"
        o: {"decision":"approve","scope":"once"}
        s: redraw
            `session` is not offered; nothing was decided
        a: redraw
            `always` is not offered; nothing was decided
    "#]],
    );
    let denied = approval(json!({"options": ["deny"]}));
    check(
        &denied,
        &["o", "e", "s", "d⏎"],
        expect![[r#"
        o: redraw
            approving it is not offered; nothing was decided
        e: redraw
            approving it is not offered; nothing was decided
        s: redraw
            `session` is not offered; nothing was decided
        d⏎: {"decision":"deny"}
    "#]],
    );
    let narrow = json!([{"label": "exactly this call", "matches": [{}]}]);
    let narrow = approval(json!({"suggested_matches": narrow}));
    check(
        &narrow,
        &["ss", "aa", "s1", "s2", "st"],
        expect![[r#"
            ss: redraw
                say for which calls, by a key of the list, or go back with Esc; nothing was decided
            aa: redraw
                say for which calls, by a key of the list, or go back with Esc; nothing was decided
            s1: {"decision":"approve","scope":"session","match":0}
            s2: redraw
                there is no 2; there is only 1; nothing was decided
            st: redraw
                the whole tool is not offered; nothing was decided
        "#]],
    );
    let none = approval(json!({"suggested_matches": []}));
    check(
        &none,
        &["ss", "s1", "o"],
        expect![[r#"
        ss: redraw
            `session` is not offered; nothing was decided
        s1: redraw
        o: {"decision":"approve","scope":"once"}
    "#]],
    );
}

#[test]
fn what_cannot_be_seen_is_never_approved_always() {
    for cut in [
        json!({"shown": "{\n… 7 more characters not shown"}),
        json!({"shown": "{\"token\": \"[secret masked: value of a secret field, 7 characters]\"}"}),
        json!({"preview": "+x [… 9 more characters in this line]"}),
        json!({"preview": "(cut: 9 more lines of the diff are not shown)"}),
    ] {
        let mut deciding = Deciding::new(approval(cut));
        assert_eq!(tell(&press(&mut deciding, "a1")), "redraw");
        assert!(!shown(&deciding).contains("always\n"), "{}", shown(&deciding));
        assert!(matches!(press(&mut deciding, "s1"), Outcome::Decided(_)));
    }
}

#[test]
fn a_denial_carries_its_reason() {
    let mut deciding = Deciding::new(approval(json!({})));
    press(&mut deciding, "d");
    assert_eq!(deciding.paste("not now,\r\nit is late\n"), Outcome::Redraw);
    let Outcome::Decided(decision) = press(&mut deciding, "!⏎") else { panic!() };
    assert_eq!(decision.decision, Verdict::Deny);
    assert_eq!(decision.reason.as_deref(), Some("not now, it is late!"));
    press(&mut deciding, "␛d");
    deciding.paste(&"x".repeat(REASON + 1));
    assert_eq!(press(&mut deciding, "⏎"), Outcome::Redraw);
    assert!(shown(&deciding).contains("10000 characters at most"));
}

#[test]
fn edited_arguments_are_approved_once() {
    let arguments = json!({"command": "rm", "directory": "build"});
    let mut deciding = Deciding::new(approval(json!({"arguments": arguments})));
    press(&mut deciding, "e");
    expect![[r#"
        other arguments, as JSON:
        {
          "command": "rm",
          "directory": "build"
        }
        Ctrl-S approves them once · Alt-Enter the same · Esc goes back
    "#]]
    .assert_eq(&shown(&deciding));
    // Enter belongs to the text.
    assert_eq!(press(&mut deciding, "⏎"), Outcome::Redraw);
    assert_eq!(
        tell(&press(&mut deciding, "^s")),
        r#"{"decision":"approve","scope":"once","arguments":{"command":"rm","directory":"build"}}"#
    );
    press(&mut deciding, "{");
    assert_eq!(press(&mut deciding, "⎇"), Outcome::Redraw);
    let problem = deciding.problem.as_deref().unwrap();
    assert!(problem.starts_with("that is not JSON: "), "{problem}");
    assert_eq!(press(&mut deciding, "␛"), Outcome::Redraw);
    assert_eq!(tell(&press(&mut deciding, "o")), r#"{"decision":"approve","scope":"once"}"#);
}

#[test]
fn what_was_typed_outlives_a_refusal() {
    let mut deciding = Deciding::new(approval(json!({})));
    assert!(matches!(press(&mut deciding, "e x⏎y"), Outcome::Decided(_)));
    deciding.refused("`x` does not exist");
    let told = shown(&deciding);
    assert!(told.starts_with("`x` does not exist\n") && told.contains("-rf build x"), "{told}");
    press(&mut deciding, "n");
    assert!(deciding.is_typing() && shown(&deciding).contains("-rf build x"));
}

#[test]
fn arguments_with_a_masked_secret_are_not_sent() {
    let masked = "[secret masked: value of a secret field, 7 characters]";
    let mut deciding = Deciding::new(approval(json!({"arguments": {"token": masked}})));
    assert_eq!(press(&mut deciding, "e^s"), Outcome::Redraw);
    assert!(deciding.problem.unwrap().starts_with("the mask of a secret"));
}

#[test]
fn hidden_characters_are_seen_while_editing() {
    let mut deciding = Deciding::new(approval(json!({"arguments": {"a": "x\u{202E}y\u{1F}"}})));
    press(&mut deciding, "e");
    assert!(shown(&deciding).contains(r#""a": "x\u202ey\u001f""#), "{}", shown(&deciding));
    let Outcome::Decided(decision) = press(&mut deciding, "^s") else { panic!() };
    assert_eq!(decision.arguments, Some(json!({"a": "x\u{202E}y\u{1F}"})));
    press(&mut deciding, "␛d");
    deciding.paste("\u{1b}[2J");
    assert!(shown(&deciding).contains(r"\u{1B}[2J"));
}

#[test]
fn a_long_text_shows_what_is_around_the_cursor() {
    let many: Vec<usize> = (0..100).collect();
    let mut deciding = Deciding::new(approval(json!({"arguments": many})));
    press(&mut deciding, "e");
    assert!(shown(&deciding).contains("… 87 more below"), "{}", shown(&deciding));
    press(&mut deciding, &"↓".repeat(50));
    assert!(shown(&deciding).contains("… 44 more above\n"), "{}", shown(&deciding));
}

#[test]
fn the_keys_are_explained() {
    let mut deciding = Deciding::new(approval(json!({})));
    expect![[r#"
        o once · s session · a always · e edit · d deny · l later · ? help
    "#]]
    .assert_eq(&shown(&deciding));
    press(&mut deciding, "?");
    expect![[r#"
        o, y: approves this call, and no other
        s: approves it, and from now on in this chat; asks for which calls of this agent
        a: approves it, and from now on in this world; asks for which calls
        e: changes the arguments; what you send is approved once
        d, n: denies it; asks why, and the agent is told
        l, Esc: decides nothing; it goes on waiting
        o once · s session · a always · e edit · d deny · l later · ? help
    "#]]
    .assert_eq(&shown(&deciding));
    assert_eq!(press(&mut deciding, "␛"), Outcome::Redraw);
    assert!(
        !shown(&deciding).contains("approves this call"),
        "the help is closed, and nothing else"
    );
    press(&mut deciding, "s");
    expect![[r#"
        approve for the rest of this chat: which calls?
          1 exactly this call
          t any shell_cmd call
        1 such calls · t the whole tool · Esc goes back
    "#]]
    .assert_eq(&shown(&deciding));
}

#[test]
fn no_line_is_too_wide() {
    for width in [1, 2, 7, 20] {
        for keys in ["", "?", "s", "at", "d", "e", "e{⏎"] {
            let mut deciding = Deciding::new(approval(json!({"message": "東京 😀 ".repeat(9)})));
            press(&mut deciding, keys);
            let mut lines = deciding.prompt(width, Theme::new(true));
            lines.extend(deciding.lines(1, 1, width, Theme::new(true)));
            for line in lines {
                assert!(line.width() <= usize::from(width), "{width} {keys}: {line}");
            }
        }
    }
}
