//! Decides what a message asks of the demo model. One small rule for each trick, tried line by line.
//! Called by `demo`. Never answers by itself, and calls only tools that were offered.

use serde_json::{Map, Value, json};

use crate::Tool;

use super::Call;
use super::conversation::mention;
use super::phrases;

pub const SHELL: &str = "shell_cmd";
const LONGEST_COUNT: u32 = 100;
const GREETINGS: [&str; 5] = ["hi", "hello", "hey", "greetings", "welcome"];
const QUESTION_WORDS: [&str; 9] =
    ["what", "who", "when", "where", "why", "how", "which", "can", "do"];

/// Words that mean something only to a shell, which is not there.
const SHELL_WORDS: [&str; 9] = ["|", "||", "&", "&&", ">", ">>", "<", "2>", "2>&1"];

/// What people say, and the command that answers it.
const SAYINGS: [(&str, &[&str]); 9] = [
    ("list files", &["ls", "-l"]),
    ("list the files", &["ls", "-l"]),
    ("show files", &["ls", "-l"]),
    ("what time is it", &["date"]),
    ("what is the time", &["date"]),
    ("what's the time", &["date"]),
    ("show disk space", &["df", "-h"]),
    ("show the disk space", &["df", "-h"]),
    ("how much disk space is left", &["df", "-h"]),
];

/// One thing a message asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Wish {
    Call(Call),
    Say(String),
    /// A line that speaks to other agents.
    Address(String),
    Count(String),
    Greet,
    Thank,
    Help,
    Unknown,
}

/// What a message asks for, line by line; lines without a trick in them count only if no line has one.
pub fn read(text: &str, tools: &[Tool]) -> Vec<Wish> {
    // A bare `@ada!` is a way to say hello.
    if text.chars().all(|c| c.is_whitespace() || c.is_ascii_punctuation()) {
        return vec![Wish::Greet];
    }
    let wishes: Vec<Wish> = text.lines().flat_map(|line| read_line(line, tools)).collect();
    if wishes.is_empty() { vec![Wish::Unknown] } else { wishes }
}

pub fn is_question(text: &str) -> bool {
    let plain = plain(text);
    let first = plain.split_whitespace().next().unwrap_or_default();
    text.trim_end().ends_with('?') || QUESTION_WORDS.contains(&first)
}

fn read_line(line: &str, tools: &[Tool]) -> Vec<Wish> {
    let line = line.trim();
    let line = after_word(line, "please").unwrap_or(line);
    if let Some(commands) = command_lines(line) {
        return commands.into_iter().map(|command| run(command, tools)).collect();
    }
    if let Some(rest) = after_word(line, "call") {
        return call(rest, tools).into_iter().collect();
    }
    if let Some(rest) = after_word(line, "ask").or_else(|| after_word(line, "tell")) {
        return address(rest).into_iter().collect();
    }
    plain_wish(&plain(line), tools).into_iter().collect()
}

fn plain_wish(plain: &str, tools: &[Tool]) -> Option<Wish> {
    if let Some((_, words)) = SAYINGS.iter().find(|(saying, _)| *saying == plain) {
        return Some(shell(words.iter().map(|word| (*word).to_owned()).collect(), tools));
    }
    if let Some(number) = plain.strip_prefix("count to ") {
        return Some(count_to(number));
    }
    let first = plain.split_whitespace().next()?;
    match plain {
        "help" | "what can you do" => Some(Wish::Help),
        "thanks" | "thank you" | "thank you very much" => Some(Wish::Thank),
        "good morning" | "good afternoon" | "good evening" => Some(Wish::Greet),
        _ if GREETINGS.contains(&first.trim_end_matches(',')) => {
            (plain.split_whitespace().count() <= 3).then_some(Wish::Greet)
        }
        _ => None,
    }
}

/// In lower case, without closing punctuation and politeness.
fn plain(line: &str) -> String {
    let lower = line.trim().to_lowercase();
    let plain = lower.trim_end_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace());
    plain.strip_suffix(" please").unwrap_or(plain).trim_end_matches(',').to_owned()
}

fn after_word<'t>(line: &'t str, word: &str) -> Option<&'t str> {
    let (start, rest) = line.split_at_checked(word.len())?;
    let ends = rest.starts_with(|c: char| c.is_whitespace() || c == ',');
    (start.eq_ignore_ascii_case(word) && ends)
        .then(|| rest.trim_start_matches(|c: char| c.is_whitespace() || c == ','))
}

/// The command lines in `run a; run b` or `$ a`.
fn command_lines(line: &str) -> Option<Vec<&str>> {
    let first = after_run(line)?;
    let commands = split_at_semicolons(first);
    Some(commands.into_iter().map(|one| after_run(one).unwrap_or(one)).map(unticked).collect())
}

fn after_run(text: &str) -> Option<&str> {
    let text = text.trim();
    after_word(text, "run").or_else(|| after_word(text, "$")).filter(|rest| !rest.is_empty())
}

fn unticked(text: &str) -> &str {
    let inner = text.strip_prefix('`').and_then(|text| text.strip_suffix('`'));
    inner.unwrap_or(text).trim()
}

/// Splits where a shell would: not inside quotes, not behind a backslash.
fn split_at_semicolons(text: &str) -> Vec<&str> {
    let mut quote = None;
    let mut escaped = false;
    let pieces = text.split(|character| {
        let plain = !escaped && quote.is_none();
        match (quote, character) {
            _ if escaped => escaped = false,
            (Some('\''), '\\') => {}
            (_, '\\') => escaped = true,
            (Some(open), close) if open == close => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            _ => {}
        }
        plain && character == ';'
    });
    pieces.map(str::trim).filter(|piece| !piece.is_empty()).collect()
}

fn run(command: &str, tools: &[Tool]) -> Wish {
    let Some(words) = shlex::split(command) else {
        return Wish::Say(phrases::unclosed_quote(command));
    };
    match words.iter().find(|word| SHELL_WORDS.contains(&word.as_str())) {
        Some(word) if offered(SHELL, tools) => Wish::Say(phrases::no_shell(command, word)),
        _ => shell(words, tools),
    }
}

fn shell(words: Vec<String>, tools: &[Tool]) -> Wish {
    let line = words.join(" ");
    let mut words = words.into_iter();
    match words.next() {
        Some(command) if offered(SHELL, tools) => {
            let parameters: Vec<String> = words.collect();
            let arguments = json!({ "command": command, "parameters": parameters });
            Wish::Call(Call { tool: SHELL.to_owned(), arguments })
        }
        _ => Wish::Say(phrases::not_offered(&line, SHELL)),
    }
}

/// `call TOOL {"name": "value"}`. Anything else that begins with `call` is ordinary talk.
fn call(rest: &str, tools: &[Tool]) -> Option<Wish> {
    let (tool, text) = match rest.split_once(char::is_whitespace) {
        Some((tool, text)) => (tool, text.trim()),
        None => (rest, ""),
    };
    if !offered(tool, tools) {
        return text.starts_with('{').then(|| Wish::Say(phrases::not_offered(rest, tool)));
    }
    let arguments = match text {
        "" => Ok(Value::Object(Map::new())),
        text => serde_json::from_str(text),
    };
    Some(match arguments {
        Ok(arguments) => Wish::Call(Call { tool: tool.to_owned(), arguments }),
        Err(_) => Wish::Say(phrases::not_json(tool)),
    })
}

fn offered(tool: &str, tools: &[Tool]) -> bool {
    tools.iter().any(|spec| spec.function_name() == Some(tool))
}

/// `@bob and @carol, what time is it?` becomes a line that addresses both.
fn address(rest: &str) -> Option<Wish> {
    let mut names = Vec::new();
    let mut rest = rest;
    while let Some((name, after)) = mention(rest) {
        names.push(format!("@{name}"));
        rest = match after_word(after, "and") {
            Some(next) if next.starts_with('@') => next,
            _ => after,
        };
    }
    if names.is_empty() {
        return None;
    }
    let message = after_word(rest, "to").or_else(|| after_word(rest, "that")).unwrap_or(rest);
    let message = if message.is_empty() { "hello" } else { message };
    Some(Wish::Address(format!("{} {}", names.join(" "), phrases::defused(message))))
}

fn count_to(number: &str) -> Wish {
    match number.parse::<u32>() {
        Ok(number @ 1..=LONGEST_COUNT) => {
            let numbers: Vec<String> = (1..=number).map(|one| one.to_string()).collect();
            Wish::Count(numbers.join(" "))
        }
        _ => Wish::Say(format!("I can count to any whole number from 1 to {LONGEST_COUNT}.")),
    }
}
