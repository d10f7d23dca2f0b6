//! Reads off a conversation what the demo model has not answered yet, and who said it.
//! Called by `demo`. Knows how the prompt marks speakers and background results; understands no wishes.

use std::sync::Arc;

use agent_world_core::ids::is_slug;
use agent_world_core::item::{FunctionCall, Item, Role};
use serde_json::Value;

const GREETINGS: [&str; 4] = ["hey", "hi", "hello", "to"];
const WORLD: &str = "world";

/// Something behind the model's last words.
#[derive(Debug, PartialEq)]
pub enum Entry {
    Heard(Heard),
    Ended(Ended),
}

/// A message to the model.
#[derive(Debug, PartialEq)]
pub struct Heard {
    pub speaker: Speaker,
    /// Without the speaker's name and the mentions its lines open with.
    pub text: String,
    /// The model has made calls since: those this message asked for are among them.
    pub acted_on: bool,
    /// From an agent that the model spoke to since that agent's last message.
    pub answers_us: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// The human, or the world on somebody's behalf.
    Person,
    Agent(String),
}

/// A call that has a result.
#[derive(Debug, PartialEq)]
pub struct Ended {
    /// What was called, as a person would write it.
    pub call: String,
    pub is_command: bool,
    pub text: String,
}

/// Everything after the model's last words, in order.
pub fn unanswered(input: &[Arc<Item>]) -> Vec<Entry> {
    let spoken = input.iter().rposition(|item| own_words(item).is_some());
    let start = spoken.map_or(0, |position| position.saturating_add(1));
    let last_call = input.iter().rposition(|item| matches!(**item, Item::FunctionCall(_)));
    let mut entries = Vec::new();
    for (position, item) in input.iter().enumerate().skip(start) {
        match &**item {
            Item::Message(message) if message.role == Role::User => {
                let text = message.text();
                entries.push(match background(&text) {
                    Some(ended) => Entry::Ended(ended),
                    None => {
                        let before = input.get(..position).unwrap_or_default();
                        let acted_on = last_call.is_some_and(|call| call > position);
                        Entry::Heard(heard(&text, acted_on, before))
                    }
                });
            }
            Item::FunctionCallOutput(output) => {
                let call = called(input, &output.call_id);
                entries.push(Entry::Ended(Ended {
                    is_command: call.is_some_and(|call| command(call).is_some()),
                    call: call.map_or_else(|| "a call".to_owned(), written),
                    text: text_of(&output.output),
                }));
            }
            _ => {}
        }
    }
    entries
}

/// Whether the model has said something with these words in it.
pub fn said(input: &[Arc<Item>], words: &str) -> bool {
    input.iter().any(|item| own_words(item).is_some_and(|text| text.contains(words)))
}

/// A line without the greeting and the mentions it opens with.
pub fn without_mentions(line: &str) -> &str {
    let start = line.trim_matches(is_separator);
    let mut rest = start;
    if let Some((word, after)) = start.split_once(is_separator)
        && GREETINGS.iter().any(|greeting| word.eq_ignore_ascii_case(greeting))
        && after.trim_start_matches(is_separator).starts_with('@')
    {
        rest = after.trim_start_matches(is_separator);
    }
    while let Some((_, after)) = mention(rest) {
        rest = after;
    }
    rest
}

/// The name in a mention that opens a text, and what follows it.
pub fn mention(text: &str) -> Option<(&str, &str)> {
    let token = text.strip_prefix('@')?;
    let end = token.find(|c: char| !(c.is_alphanumeric() || c == '-' || c == '_'));
    let (name, after) = token.split_at(end.unwrap_or(token.len()));
    let after = after.trim_start_matches(|c| is_separator(c) || c == ':');
    (!name.is_empty()).then_some((name, after))
}

fn heard(text: &str, acted_on: bool, before: &[Arc<Item>]) -> Heard {
    let (speaker, body) = speaker(text);
    let answers_us = match &speaker {
        Speaker::Person => false,
        Speaker::Agent(name) => spoken_to(name, before),
    };
    let lines: Vec<&str> =
        body.lines().map(without_mentions).filter(|line| !line.is_empty()).collect();
    Heard { speaker, text: lines.join("\n"), acted_on, answers_us }
}

/// Only a message that addresses somebody can have come from an agent; `note: buy milk` is a person's.
fn speaker(text: &str) -> (Speaker, &str) {
    match text.split_once(": ") {
        Some((WORLD, body)) => (Speaker::Person, body),
        Some((name, body)) if is_slug(name) && body.lines().any(addresses) => {
            (Speaker::Agent(name.to_owned()), body)
        }
        _ => (Speaker::Person, text),
    }
}

fn addresses(line: &str) -> bool {
    without_mentions(line) != line.trim_matches(is_separator)
}

/// Whether the model addressed this agent since the agent last spoke to it.
fn spoken_to(agent: &str, before: &[Arc<Item>]) -> bool {
    for item in before.iter().rev() {
        if let Some(text) = own_words(item)
            && text.lines().any(|line| addresses_agent(line, agent))
        {
            return true;
        }
        if let Item::Message(message) = &**item
            && message.role == Role::User
            && speaker(&message.text()).0 == Speaker::Agent(agent.to_owned())
        {
            return false;
        }
    }
    false
}

fn addresses_agent(line: &str, agent: &str) -> bool {
    let mut rest = line;
    while let Some((name, after)) = mention(rest) {
        if name.eq_ignore_ascii_case(agent) {
            return true;
        }
        rest = after;
    }
    false
}

/// `Background call call_7 (build): text`.
fn background(text: &str) -> Option<Ended> {
    let (call, text) = text.strip_prefix("Background call ")?.split_once("): ")?;
    let (_, name) = call.split_once(" (")?;
    Some(Ended {
        call: format!("{name} in the background"),
        is_command: false,
        text: text.to_owned(),
    })
}

fn own_words(item: &Item) -> Option<String> {
    match item {
        Item::Message(message) if message.role == Role::Assistant => Some(message.text()),
        _ => None,
    }
}

fn called<'a>(input: &'a [Arc<Item>], call_id: &str) -> Option<&'a FunctionCall> {
    input.iter().rev().find_map(|item| match &**item {
        Item::FunctionCall(call) if call.call_id == call_id => Some(call),
        _ => None,
    })
}

fn written(call: &FunctionCall) -> String {
    command(call).unwrap_or_else(|| call.name.clone())
}

/// The command line in a call, when it is one.
fn command(call: &FunctionCall) -> Option<String> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    let command = arguments.get("command")?.as_str()?;
    let parameters = arguments.get("parameters").and_then(Value::as_array);
    let words =
        std::iter::once(command).chain(parameters.into_iter().flatten().filter_map(Value::as_str));
    // A word that cannot be quoted, because of a NUL in it, cannot be run either.
    Some(shlex::try_join(words).unwrap_or_else(|_| command.to_owned()))
}

fn text_of(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        // Content parts, as the Responses format also allows.
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

fn is_separator(character: char) -> bool {
    character.is_whitespace() || character == ','
}
