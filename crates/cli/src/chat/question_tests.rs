//! Tests of which lines are answers, and of what a person sees before giving one.

use agent_world_client::wire::Verdict;
use serde_json::{Value, json};

use super::*;
use crate::screen::tests::Paper;

fn question_with(id: &str, more: &Value) -> Approval {
    let mut sent = json!({"id": id, "state": "pending", "world_id": "w", "chat_id": "chat_1", "agent_id": "ada",
        "tool_call_id": "call_1", "tool": "shell_cmd", "arguments": {"command": "touch", "parameters": ["x"]},
        "working_directory": "/tmp/w", "message": "Run touch?", "shown": "{\n  \"command\": \"touch\"\n}",
        "options": ["deny", "approve_once", "approve_session", "approve_always"], "created_at": "",
        "suggested_matches": [
            {"label": "exactly this call", "matches": [{"pointer": ""}]},
            {"label": "`touch` with any parameters", "matches": [{"pointer": "/command"}]},
            {"label": "any shell_cmd call", "matches": []}]});
    for (name, field) in more.as_object().into_iter().flatten() {
        sent[name] = field.clone();
    }
    serde_json::from_value(sent).unwrap()
}

fn question(id: &str) -> Approval {
    question_with(id, &json!({}))
}

fn asked(step: Step) -> Asked {
    Asked { approval: question("apr_1"), step, since: Instant::now() }
}

fn approval(reach: Reach, number: Option<usize>) -> Reading {
    let suggestion = number.map(|number| number - 1);
    answer(Decision { suggestion, ..Decision::approve(reach) })
}

fn seen(question: &Approval) -> String {
    let paper = Paper::default();
    request::present(&mut paper.screen(false), question, Listing::Keys).unwrap();
    paper.text()
}

#[test]
fn plain_answers_are_understood() {
    for (line, expected) in [
        ("o", approval(Reach::Once, None)),
        (" ONCE ", approval(Reach::Once, None)),
        ("s 2", approval(Reach::Session, Some(2))),
        ("session t", approval(Reach::Session, Some(3))),
        ("S T", approval(Reach::Session, Some(3))),
        ("a t", Reading::AskWhetherSure),
        ("always 1", approval(Reach::Always, Some(1))),
        ("d", Reading::AskReason),
        ("d too risky", answer(Decision::deny(Some("too risky".to_owned())))),
        ("e", Reading::AskArguments),
        ("l", Reading::Later),
    ] {
        assert_eq!(read(&asked(Step::Decision), line), expected, "{line:?}");
    }
}

#[test]
fn anything_else_decides_nothing() {
    for line in [
        "",
        "yes",
        "y",
        "ok",
        "once more",
        "o1",
        "1",
        "2",
        "9",
        "0",
        "s",
        "a",
        "s nine",
        "a 9",
        "s 3",
        "later on",
        "hello",
    ] {
        let reading = read(&asked(Step::Decision), line);
        assert!(matches!(reading, Reading::Unclear(_)), "{line:?}: {reading:?}");
    }
}

#[test]
fn a_reason_may_be_empty_and_arguments_must_be_json() {
    let deny = |reason: Option<&str>| answer(Decision::deny(reason.map(str::to_owned)));
    assert_eq!(read(&asked(Step::Reason), " no "), deny(Some("no")));
    assert_eq!(read(&asked(Step::Reason), ""), deny(None));
    assert!(matches!(read(&asked(Step::Arguments), "{"), Reading::Unclear(_)));
    let edited = read(&asked(Step::Arguments), r#"{"command":"ls"}"#);
    let Reading::Answer(decision) = edited else {
        panic!("{edited:?}");
    };
    assert_eq!(decision.arguments, Some(json!({"command": "ls"})));
    assert_eq!(decision.decision, Verdict::Approve);
}

#[test]
fn a_person_sees_everything_before_deciding() {
    let paper = Paper::default();
    let mut screen = paper.screen(false);
    let mut questions = Questions::default();
    questions.add(question("apr_1"));
    questions.add(question("apr_2"));
    assert!(questions.ask(&mut screen).unwrap());
    let text = paper.text();
    for expected in [
        "1 of 2 waiting: apr_1",
        "ada asks: Run touch?",
        "\"command\": \"touch\"",
        "in /tmp/w",
        "1 exactly this call",
        "a N always",
        "decide> ",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

#[test]
fn always_is_mentioned_only_where_it_is_offered() {
    let paper = Paper::default();
    let mut questions = Questions::default();
    questions.add(question_with("apr_1", &json!({"options": ["deny", "approve_once"]})));
    questions.ask(&mut paper.screen(false)).unwrap();
    let text = paper.text();
    assert!(!text.contains("a N always") && !text.contains("s N session"), "{text}");
    assert!(text.contains("`always` is not offered"), "{text}");
}

#[test]
fn what_is_put_off_or_settled_is_not_asked() {
    let mut screen = Paper::default().screen(false);
    let mut questions = Questions::default();
    questions.add(question("apr_1"));
    questions.add(question("apr_2"));
    questions.ask(&mut screen).unwrap();
    questions.put_off();
    questions.ask(&mut screen).unwrap();
    assert_eq!(questions.asked.as_ref().unwrap().approval.id, "apr_2");
    questions.settle("apr_2");
    assert!(!questions.ask(&mut screen).unwrap());
    questions.ask_all_again();
    assert!(questions.ask(&mut screen).unwrap());
}

#[test]
fn what_changed_since_an_approval_and_what_a_call_would_do_is_shown() {
    let changes = ["script was sha256:1 and is \u{202e}sha256:2\nx"];
    let text = seen(&question_with(
        "apr_1",
        &json!({
            "preview": "-old\n+new",
            "binding": {"facts": {"program": "/usr/bin/touch", "directory": "/tmp/w"}},
            "voided": {"approval": "apr_0", "changes": changes},
        }),
    ));
    for part in
        ["apr_0 was approved", "is \\u{202E}sha256:2\\nx", "  +new", "program: /usr/bin/touch"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("directory:"), "it is told already: {text}");
}

#[test]
fn a_question_of_a_running_tool_is_asked_as_one() {
    let form = json!({"schema": {"type": "object"}, "url": "https://example.com/\u{200b}x"});
    let question =
        question_with("apr_1", &json!({"form": form, "options": ["deny", "approve_once"]}));
    let text = seen(&question);
    assert!(text.contains("shell_cmd of ada asks: Run touch?"), "{text}");
    assert!(text.contains("go to https://example.com/\\u{200B}x"), "{text}");
    assert!(!text.contains("always"), "{text}");
    assert!(choices(&question).starts_with("e answer"));
}

#[test]
fn a_bare_number_asks_for_how_long() {
    let Reading::Unclear(problem) = read(&asked(Step::Decision), "1") else {
        panic!("it was taken for an answer");
    };
    assert!(problem.contains("`s 1`") && problem.contains("`a 1`"), "{problem}");
}

#[test]
fn what_was_masked_is_neither_permitted_for_good_nor_put_in_place_of_a_secret() {
    let shown = r#"{"command": "login", "key": "[secret masked: 20 characters]"}"#;
    let approval = question_with("apr_1", &json!({"shown": shown}));
    assert!(!choices(&approval).contains("always"), "{}", choices(&approval));
    assert!(seen(&approval).contains("not shown in full: `always` is not offered"));
    let mut asked = Asked { approval, step: Step::Decision, since: Instant::now() };
    for line in ["a", "a 1", "always 1"] {
        let Reading::Unclear(problem) = read(&asked, line) else {
            panic!("{line} was taken for an answer");
        };
        assert!(problem.contains("not shown in full"), "{problem}");
    }
    assert!(matches!(read(&asked, "s 1"), Reading::Answer(_)));
    asked.step = Step::Arguments;
    let Reading::Unclear(problem) = read(&asked, shown) else {
        panic!("the mask would have run");
    };
    assert!(problem.contains("the mask of a secret would run in its place"), "{problem}");
}

#[test]
fn what_was_made_visible_is_not_escaped_again() {
    let text = seen(&question_with("apr_1", &json!({"preview": "+\\u{1B}[31mred"})));
    assert!(text.contains("  +\\u{1B}[31mred"), "{text}");
}
