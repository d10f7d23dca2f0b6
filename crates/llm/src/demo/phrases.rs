//! The demo model's sentences, and how it repeats what others wrote without acting on it.
//! Called by `demo`'s other parts. No sentence here opens a line with a mention, except those for the human.

use crate::Tool;

use super::tricks::SHELL;

/// Words by which the model finds that it has introduced itself.
pub const INTRODUCTION_MARK: &str = "built-in demo model";
pub const INTRODUCTION: &str = "(I am the built-in demo model: a handful of fixed rules that need no key \
    and no network. I am not a language model and know only a few tricks; `help` lists them.)";
pub const GREETING: &str = "Hello! Say `help` to see what I can do.";
pub const WELCOME: &str = "You are welcome.";
pub const NOTHING_NEW: &str = "There is nothing new for me to answer.";
pub const GREETING_TO_AGENT: &str = "Nice to hear from you.";
pub const HELP_TO_AGENT: &str =
    "As a demo model I know a few fixed tricks, such as running a command.";
pub const NO_ANSWER_TO_AGENT: &str =
    "As a demo model I only know a few tricks, so I cannot answer that.";

/// Longest piece of somebody's words that is repeated.
const LONGEST_ECHO: usize = 200;

pub fn help(tools: &[Tool]) -> String {
    let mut lines = vec!["These are my tricks:"];
    if tools.iter().any(|spec| spec.function_name() == Some(SHELL)) {
        lines.extend([
            "- `run ls -l` or `$ ls -l` runs a command, once it is approved",
            "- `run date; run uptime`, or one on each line, runs several at the same time",
            "- `list files`, `what time is it`, `show disk space` run the fitting command",
        ]);
    }
    if !tools.is_empty() {
        lines.push("- `call TOOL {\"name\": \"value\"}` calls a tool with JSON arguments");
    }
    lines.extend([
        "- `ask @bob what time is it` or `tell @bob that lunch is ready` speaks to another agent",
        "- `count to 20` shows how an answer is streamed",
        "- `hello` and `help`, of course",
    ]);
    let names: Vec<String> =
        tools.iter().filter_map(Tool::function_name).map(|name| format!("`{name}`")).collect();
    let offer = match names.as_slice() {
        [] => "No tool is offered to me, so I cannot run anything.".to_owned(),
        names => format!("Tools offered to me: {}.", names.join(", ")),
    };
    format!("{}\n\n{offer}", lines.join("\n"))
}

pub fn not_understood(text: &str) -> String {
    format!(
        "I read {}, but that is none of the few tricks I know, and I cannot reason about it. Try \
         `run ls`, `what time is it`, `ask @bob hello` or `help`.",
        quoted(text),
    )
}

pub fn not_offered(wanted: &str, tool: &str) -> String {
    format!("I would do {}, but the tool `{}` is not offered to me.", quoted(wanted), defused(tool))
}

pub fn unclosed_quote(command: &str) -> String {
    format!("I did not run {}: a quote in it is not closed.", quoted(command))
}

pub fn no_shell(command: &str, word: &str) -> String {
    format!(
        "I did not run {}: commands run without a shell, so `{word}` would only be an ordinary \
         parameter. To use a shell, say `run sh -c '...'`.",
        quoted(command),
    )
}

pub fn not_json(tool: &str) -> String {
    format!(
        "I did not call `{tool}`: what follows its name is not JSON, such as {{\"name\": \"value\"}}."
    )
}

/// For the human, so that the other agent is not asked for yet another answer.
pub fn passed_on(agent: &str, text: &str) -> String {
    format!("@human {agent} answered:\n{}", block(text, usize::MAX))
}

pub fn told_by(agent: &str, text: &str) -> String {
    format!("@human {agent} told me {}.", quoted(text))
}

/// Somebody's words on one line, in quotes.
pub fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("“{}”", defused(&shortened(&line)))
}

/// Somebody's lines as a block quote, which no mention can open.
pub fn block(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut shown: Vec<String> =
        lines.iter().take(most).map(|line| format!("> {}", defused(&shortened(line)))).collect();
    match lines.len().saturating_sub(most) {
        0 => {}
        1 => shown.push("> ... and 1 more line".to_owned()),
        more => shown.push(format!("> ... and {more} more lines")),
    }
    shown.join("\n")
}

/// Control tags would be obeyed as if they were the model's own.
pub fn defused(text: &str) -> String {
    if text.to_ascii_lowercase().contains("<world>") {
        text.replace('<', "‹")
    } else {
        text.to_owned()
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LONGEST_ECHO) {
        Some((end, _)) => format!("{}...", line.get(..end).unwrap_or(line)),
        None => line.to_owned(),
    }
}
