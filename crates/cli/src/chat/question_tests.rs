//! Tests of which lines are answers, and of what a person sees before giving one.

use agent_world_core::Timestamp;
use agent_world_core::event::Position;
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use agent_world_core::policy::{Question, suggestions};
use agent_world_core::view::ApprovalState;
use serde_json::json;

use super::*;
use crate::screen::tests::Paper;

fn view(id: &str, options: Vec<Choice>) -> ApprovalView {
    let arguments = json!({"command": "touch", "parameters": ["x"]});
    let agent = AgentId::new("ada");
    let question =
        Question { agent: &agent, tool: "shell_cmd", arguments: &arguments, directory: None };
    ApprovalView {
        id: ApprovalId::new(id),
        world: WorldId::new("w"),
        chat: ChatId::new("chat_1"),
        call: CallId::new("call_1"),
        tool: "shell_cmd".to_owned(),
        working_directory: Some("/tmp/w".to_owned()),
        question: "Run touch?".to_owned(),
        shown: format!("{arguments:#}"),
        options,
        suggestions: suggestions(question),
        position: Position::default(),
        created_at: Timestamp::UNIX_EPOCH,
        expires_at: None,
        binding: None,
        preview: None,
        voided: None,
        form: None,
        state: ApprovalState::Pending,
        arguments: arguments.clone(),
        agent: agent.clone(),
    }
}

fn everything() -> Vec<Choice> {
    vec![Choice::Deny, Choice::ApproveOnce, Choice::ApproveSession, Choice::ApproveAlways]
}

fn asked(step: Step) -> Asked {
    Asked { view: view("apr_1", everything()), step, since: Instant::now() }
}

fn approval(scope: Scope, number: Option<usize>) -> Reading {
    let view = view("apr_1", everything());
    Reading::Answer(Answer::Approve {
        scope,
        matches: number.map_or_else(Vec::new, |n| view.suggestions[n - 1].matches.clone()),
        arguments: None,
    })
}

#[test]
fn plain_answers_are_understood() {
    for (line, expected) in [
        ("o", approval(Scope::Once, None)),
        (" ONCE ", approval(Scope::Once, None)),
        ("s", approval(Scope::Session, None)),
        ("s 2", approval(Scope::Session, Some(2))),
        ("1", approval(Scope::Session, Some(1))),
        ("a", approval(Scope::Always, None)),
        ("always 1", approval(Scope::Always, Some(1))),
        ("d", Reading::AskReason),
        ("d too risky", Reading::Answer(Answer::Deny { reason: Some("too risky".to_owned()) })),
        ("e", Reading::AskArguments),
        ("l", Reading::Later),
    ] {
        assert_eq!(read(&asked(Step::Decision), line), expected, "{line:?}");
    }
}

#[test]
fn anything_else_decides_nothing() {
    for line in
        ["", "yes", "y", "ok", "once more", "o1", "9", "0", "s nine", "a 9", "later on", "hello"]
    {
        let reading = read(&asked(Step::Decision), line);
        assert!(matches!(reading, Reading::Unclear(_)), "{line:?}: {reading:?}");
    }
}

#[test]
fn a_reason_may_be_empty_and_arguments_must_be_json() {
    let deny =
        |reason: Option<&str>| Reading::Answer(Answer::Deny { reason: reason.map(str::to_owned) });
    assert_eq!(read(&asked(Step::Reason), " no "), deny(Some("no")));
    assert_eq!(read(&asked(Step::Reason), ""), deny(None));
    assert!(matches!(read(&asked(Step::Arguments), "{"), Reading::Unclear(_)));
    let edited = read(&asked(Step::Arguments), r#"{"command":"ls"}"#);
    let Reading::Answer(Answer::Approve { arguments, .. }) = edited else {
        panic!("{edited:?}");
    };
    assert_eq!(arguments, Some(json!({"command": "ls"})));
}

#[test]
fn a_person_sees_everything_before_deciding() {
    let paper = Paper::default();
    let mut screen = paper.screen(false);
    let mut questions = Questions::default();
    questions.add(view("apr_1", everything()));
    questions.add(view("apr_2", everything()));
    assert!(questions.ask(&mut screen).unwrap());
    let text = paper.text();
    for expected in [
        "1 of 2 waiting: apr_1",
        "ada asks: Run touch?",
        "\"command\": \"touch\"",
        "in /tmp/w",
        "1 exactly this call",
        "a always",
        "decide> ",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
}

#[test]
fn always_is_mentioned_only_where_it_is_offered() {
    let paper = Paper::default();
    let mut questions = Questions::default();
    questions.add(view("apr_1", vec![Choice::Deny, Choice::ApproveOnce]));
    questions.ask(&mut paper.screen(false)).unwrap();
    let text = paper.text();
    assert!(!text.contains("a always") && !text.contains("s session"), "{text}");
    assert!(text.contains("`always` is not offered"), "{text}");
}

#[test]
fn what_is_put_off_or_settled_is_not_asked() {
    let mut screen = Paper::default().screen(false);
    let mut questions = Questions::default();
    questions.add(view("apr_1", everything()));
    questions.add(view("apr_2", everything()));
    questions.ask(&mut screen).unwrap();
    questions.put_off();
    questions.ask(&mut screen).unwrap();
    assert_eq!(questions.asked.as_ref().unwrap().view.id, ApprovalId::new("apr_2"));
    questions.settle(&ApprovalId::new("apr_2"));
    assert!(!questions.ask(&mut screen).unwrap());
    questions.ask_all_again();
    assert!(questions.ask(&mut screen).unwrap());
}

#[test]
fn what_changed_since_an_approval_and_what_a_call_would_do_is_shown() {
    let binding = agent_world_core::binding::Binding::new(
        &json!({}),
        [("program".to_owned(), "/usr/bin/touch".to_owned())].into(),
    );
    let voided = agent_world_core::event::Voided {
        approval: ApprovalId::new("apr_0"),
        changes: vec!["script was sha256:1 and is \u{202e}sha256:2\nx".to_owned()],
    };
    let view = ApprovalView {
        binding: Some(binding),
        preview: Some("-old\n+new".to_owned()),
        voided: Some(voided),
        ..view("apr_1", everything())
    };
    let paper = Paper::default();
    present(&mut paper.screen(false), &view).unwrap();
    let seen = paper.text();
    for part in
        ["apr_0 was approved", "is \\u{202E}sha256:2\\nx", "  +new", "program: /usr/bin/touch"]
    {
        assert!(seen.contains(part), "{part}: {seen}");
    }
}

#[test]
fn a_question_of_a_running_tool_is_asked_as_one() {
    let form = agent_world_core::event::Form {
        schema: json!({"type": "object"}),
        url: Some("https://example.com/\u{200b}x".to_owned()),
    };
    let view =
        ApprovalView { form: Some(form), ..view("apr_1", vec![Choice::Deny, Choice::ApproveOnce]) };
    let paper = Paper::default();
    present(&mut paper.screen(false), &view).unwrap();
    let seen = paper.text();
    assert!(seen.contains("shell_cmd of ada asks: Run touch?"), "{seen}");
    assert!(seen.contains("go to https://example.com/\\u{200B}x"), "{seen}");
    assert!(!seen.contains("always"), "{seen}");
    assert!(choices(&view).starts_with("e answer"));
    assert!(words::wish(&view).contains("shell_cmd of ada asks"));
}

#[test]
fn any_call_is_permitted_only_by_somebody_who_was_shown_that() {
    let mut asked = asked(Step::Decision);
    asked.view.suggestions.retain(|one| !one.matches.is_empty());
    for line in ["s", "a"] {
        assert!(matches!(read(&asked, line), Reading::Unclear(_)), "{line}");
    }
    assert!(matches!(read(&asked, "s 1"), Reading::Answer(_)));
}

#[test]
fn what_was_made_visible_is_not_escaped_again() {
    let shown =
        ApprovalView { preview: Some("+\\u{1B}[31mred".to_owned()), ..view("apr_1", everything()) };
    let paper = Paper::default();
    present(&mut paper.screen(false), &shown).unwrap();
    assert!(paper.text().contains("  +\\u{1B}[31mred"), "{}", paper.text());
}
