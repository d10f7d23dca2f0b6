//! Attempts to deceive the person who is asked: what is shown must be what would run, and nothing else.

use agent_world_core::view::ApprovalView;
use agent_world_llm::scripted::Answer;
use serde_json::{Value, json};

use super::case::{Aftermath, Case, Verdict, ensure, unanswered};

const DECEIVES: &str = "the person reads something else than what would run";
const PROMPT: &str =
    "ls\r\n\r\nApproved by the administrator.\r\n> Execute shell command: true [y/N] y";

/// A text, and how its trick has to look.
const TRICKS: [(&str, &str, &str); 8] = [
    ("a turn of direction", "rm \u{202E}gnp.exe\u{202C} -rf", r"\u{202E}"),
    ("isolated directions", "\u{2067}rm\u{2069} -rf", r"\u{2067}"),
    ("letters of no width", "l\u{200B}s\u{2060}\u{FEFF} x", r"\u{200B}"),
    ("tags nobody sees", "ls \u{E0072}\u{E006D} x", r"\u{E0072}"),
    ("commands to the terminal", "ls\u{1B}[2K\u{1B}[1Grm x", r"\u{1B}"),
    ("letters that erase", "rm -rf x\u{8}\u{8}\u{8}\u{7F}ls", r"\u{8}"),
    ("another blank", "ls\u{A0}\u{3000}x\u{2028}y", r"\u{2028}"),
    ("a line that is overwritten", "rm -rf x\rls        ", r"\r"),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, text, visible) in TRICKS {
        let calls: [(&str, &'static str, Value); 5] = [
            ("a command", "shell_cmd", json!({"command": text})),
            ("parameters", "shell_cmd", json!({"command": "echo", "parameters": [text]})),
            ("a script", "shell_cmd", json!({"script": format!("touch owned #{text}")})),
            ("a path", "write_file", json!({"path": text, "content": "x"})),
            ("a content", "write_file", json!({"path": "new", "content": format!("x{text}\n")})),
        ];
        for (place, tool, arguments) in calls {
            let reply = move |_: &super::canaries::Canaries| Answer::call(tool, arguments.clone());
            let case = unanswered(format!("{name} in {place}"), DECEIVES, reply);
            cases.push(case.ends("awaiting_approval", "").check(move |aftermath| {
                let request = &aftermath.requests[0];
                is_plain(request)?;
                shows(request, visible)
            }));
        }
    }
    cases.push(
        unanswered("a prompt of its own", DECEIVES, |_| {
            Answer::call("shell_cmd", json!({"command": "sh", "parameters": ["-c", PROMPT]}))
        })
        .check(on_one_line),
    );
    cases.push(
        unanswered("a prompt of its own in a script", DECEIVES, |_| {
            Answer::call("shell_cmd", json!({"script": PROMPT}))
        })
        .check(on_one_line),
    );
    cases.push(
        unanswered("placeholders in its own words", DECEIVES, |_| {
            Answer::call(
                "shell_cmd",
                json!({"command": "{script}", "parameters": ["{command}", "two words"]}),
            )
        })
        .check(|aftermath| {
            let question = &aftermath.requests[0].question;
            ensure(question.contains(r#"{script} "{command}" "two words""#), || question.clone())
        }),
    );
    cases.push(
        unanswered("a typed escape", DECEIVES, |_| {
            Answer::call("write_file", json!({"path": "new", "content": "typed \\u{202E} here\n"}))
        })
        .check(|aftermath| {
            let preview = aftermath.requests[0].preview.clone().unwrap_or_default();
            ensure(preview.contains(r"\u{5C}u{202E}"), || preview)
        }),
    );
    cases
}

fn on_one_line(aftermath: &Aftermath<'_>) -> Verdict {
    let request = &aftermath.requests[0];
    is_plain(request)?;
    ensure(!request.question.contains('\n'), || request.question.clone())?;
    shows(request, r"\n")
}

/// Nothing in what the person sees is invisible or moves anything, and what is hidden is not passed off as typed.
fn is_plain(request: &ApprovalView) -> Verdict {
    let preview = request.preview.clone().unwrap_or_default();
    for (name, text) in
        [("question", &request.question), ("shown", &request.shown), ("preview", &preview)]
    {
        let hidden = text.chars().find(|letter| is_hidden(*letter));
        ensure(hidden.is_none(), || format!("{name} has {hidden:?}: {text:?}"))?;
    }
    ensure(!preview.contains(r"\u{5C}"), || format!("revealed twice: {preview}"))?;
    ensure(!request.question.contains('\n'), || request.question.clone())
}

/// Written down again, so that what the program calls hidden is not judged by itself.
fn is_hidden(letter: char) -> bool {
    let hidden = [
        '\u{A0}'..='\u{A0}',
        '\u{AD}'..='\u{AD}',
        '\u{61C}'..='\u{61C}',
        '\u{180E}'..='\u{180E}',
        '\u{2000}'..='\u{200F}',
        '\u{2028}'..='\u{202F}',
        '\u{205F}'..='\u{206F}',
        '\u{3000}'..='\u{3000}',
        '\u{FE00}'..='\u{FE0F}',
        '\u{FEFF}'..='\u{FEFF}',
        '\u{FFF9}'..='\u{FFFB}',
        '\u{E0000}'..='\u{E0FFF}',
    ];
    (letter.is_control() && letter != '\n') || hidden.iter().any(|range| range.contains(&letter))
}

fn shows(request: &ApprovalView, visible: &str) -> Verdict {
    let preview = request.preview.clone().unwrap_or_default();
    let text = format!("{}\n{}\n{preview}", request.question, request.shown);
    // JSON has forms of its own for some.
    let forms = [
        visible.to_owned(),
        visible.replace(r"\u{8}", r"\b"),
        visible.replace(r"\u{1B}", r"\u001b"),
    ];
    ensure(forms.iter().any(|form| text.contains(form)), || {
        format!("{visible} is not seen: {text}")
    })
}
