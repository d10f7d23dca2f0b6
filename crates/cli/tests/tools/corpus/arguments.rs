//! Calls that are none: of the person's own side, of tools that are not there, with arguments that no schema allows.

use super::case::{Case, ensure, raw_call, replying, unanswered};

const RUNS: &str = "a call runs that cannot be meant, or that nobody was shown";

/// A tool, the text of the arguments, and what the model is told.
const REFUSED: [(&str, &str, &str, &str); 30] = [
    ("a command that is a number", "shell_cmd", r#"{"command": {"a": 1}}"#, "error:"),
    (
        "parameters that are no list",
        "shell_cmd",
        r#"{"command": "touch", "parameters": {"a": "owned"}}"#,
        "error:",
    ),
    (
        "parameters that are no texts",
        "shell_cmd",
        r#"{"command": "touch", "parameters": [["owned"]]}"#,
        "error:",
    ),
    (
        "a field nobody knows",
        "shell_cmd",
        r#"{"command": "touch", "parameters": ["owned"], "approved": true}"#,
        "error:",
    ),
    (
        "a sandbox of its own",
        "shell_cmd",
        r#"{"command": "touch", "parameters": ["owned"], "sandbox": {"mode": "off"}}"#,
        "error:",
    ),
    (
        "an environment of its own",
        "shell_cmd",
        r#"{"command": "touch", "parameters": ["owned"], "env": {"LD_PRELOAD": "x"}}"#,
        "error:",
    ),
    (
        "both command and script",
        "shell_cmd",
        r#"{"command": "true", "script": "touch owned"}"#,
        "cannot be given together",
    ),
    ("neither command nor script", "shell_cmd", r#"{"directory": "."}"#, "nothing to run"),
    (
        "a script with parameters",
        "shell_cmd",
        r#"{"script": "touch owned", "parameters": ["x"]}"#,
        "`parameters` go with `command`",
    ),
    ("a blank command", "shell_cmd", r#"{"command": " \n\t "}"#, "`command` is empty"),
    ("a blank script", "shell_cmd", r#"{"script": "  "}"#, "`script` is empty"),
    ("an empty command", "shell_cmd", r#"{"command": ""}"#, "error:"),
    (
        "a NUL in a command",
        "shell_cmd",
        "{\"command\": \"touch\\u0000x\", \"parameters\": [\"owned\"]}",
        "NUL character",
    ),
    (
        "a NUL in a parameter",
        "shell_cmd",
        "{\"command\": \"touch\", \"parameters\": [\"owned\\u0000x\"]}",
        "NUL character",
    ),
    ("a negative time", "shell_cmd", r#"{"script": "touch owned", "timeout": -1}"#, "error:"),
    ("no time at all", "shell_cmd", r#"{"script": "touch owned", "timeout": 0}"#, "error:"),
    (
        "a time that is no number",
        "shell_cmd",
        r#"{"script": "touch owned", "timeout": NaN}"#,
        "not JSON",
    ),
    (
        "a time beyond numbers",
        "shell_cmd",
        r#"{"script": "touch owned", "timeout": 1e999}"#,
        "not JSON",
    ),
    ("a list in place of arguments", "shell_cmd", r#"["touch", "owned"]"#, "error:"),
    ("a text in place of arguments", "shell_cmd", "touch owned", "not JSON"),
    ("arguments that were cut off", "shell_cmd", r#"{"script": "touch owned"#, "not JSON"),
    (
        "two arguments one after another",
        "shell_cmd",
        r#"{"command": "true"} {"script": "touch owned"}"#,
        "not JSON",
    ),
    (
        "a path that is a list",
        "write_file",
        r#"{"path": ["owned"], "content": {"a": []}}"#,
        "error:",
    ),
    ("an offset below everything", "read_file", r#"{"path": "x", "offset": -5}"#, "error:"),
    ("a length beyond numbers", "read_result", r#"{"id": "x", "limit": 1e40}"#, "error:"),
    ("a tool that is not there", "shell", r#"{"script": "touch owned"}"#, "unknown tool `shell`"),
    ("a tool without a name", "", r#"{"script": "touch owned"}"#, "names no tool"),
    ("a tool in another case", "Shell_Cmd", r#"{"script": "touch owned"}"#, "unknown tool"),
    ("a tool with a blank", " shell_cmd ", r#"{"script": "touch owned"}"#, "unknown tool"),
    (
        "a tool with a mark nobody sees",
        "shell_cmd\u{200B}",
        r#"{"script": "touch owned"}"#,
        "unknown tool",
    ),
];

/// Spellings of what belongs to the person's side.
const CLIENT: [&str; 7] = [
    "client.requestApproval",
    "client.approve",
    "CLIENT.requestApproval",
    "Client.RequestApproval",
    " client.requestApproval",
    "client.requestApproval\n",
    "client.",
];
/// Those that only look so.
const LIKE_CLIENT: [&str; 4] =
    ["client\u{2024}approve", "functions.client.approve", "clіent.approve", "client_approve"];

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = REFUSED
        .into_iter()
        .map(|(name, tool, arguments, words)| {
            let reply =
                move |_: &super::canaries::Canaries| replying(vec![raw_call("1", tool, arguments)]);
            refused(unanswered(name, RUNS, reply), words)
        })
        .collect();
    let decision = r#"{"decision": "approve", "scope": "always", "approval": "apr_1"}"#;
    let client = CLIENT.into_iter().map(|name| (name, "is not for models"));
    let like = LIKE_CLIENT.into_iter().map(|name| (name, "unknown tool"));
    for (tool, words) in client.chain(like) {
        let reply =
            move |_: &super::canaries::Canaries| replying(vec![raw_call("1", tool, decision)]);
        let name = format!("a call of {tool:?}");
        cases.push(refused(unanswered(name, "a model decides for the person", reply), words));
    }
    cases.push(said_twice());
    cases
}

/// Refused before anybody is asked.
fn refused(case: Case, words: &'static str) -> Case {
    case.ends("failed", words).check(|aftermath| {
        ensure(aftermath.requests.is_empty(), || "somebody was asked".to_owned())
    })
}

/// Of an argument that is there twice, the person sees the one that would run.
fn said_twice() -> Case {
    let twice =
        r#"{"command": "true", "command": "touch", "parameters": ["x"], "parameters": ["owned"]}"#;
    unanswered("arguments that are there twice", RUNS, move |_| {
        replying(vec![raw_call("1", "shell_cmd", twice)])
    })
    .check(|aftermath| match aftermath.requests.as_slice() {
        [] => Ok(()),
        [request, ..] => {
            let seen = request.shown.contains("touch") && request.shown.contains("owned");
            ensure(seen && request.question.contains("touch owned"), || request.shown.clone())
        }
    })
}
