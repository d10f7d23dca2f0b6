//! Asks a person about one waiting call, and understands the answer.
//! Used by `lines`. Only what is plainly an answer is one; anything else decides nothing.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use agent_world_client::wire::{Approval, Decision, Reach};
use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::screen::{Screen, Tone};
use crate::words;

/// A request with what only a person who decides wants to know.
#[derive(Clone, Debug)]
pub struct Question {
    pub approval: Approval,
    /// What an approval holds for besides the arguments: the program, the directory.
    facts: Vec<(String, String)>,
}

impl Question {
    /// Reads a request as it was sent.
    pub fn read(sent: &Value) -> Result<Self> {
        let approval: Approval = serde_json::from_value(sent.clone())
            .context("a request for approval cannot be read")?;
        let facts = sent.pointer("/binding/facts").and_then(Value::as_object).into_iter().flatten();
        let told = |name: &str, value: &str| {
            name == "directory" && approval.working_directory.as_deref() == Some(value)
        };
        let facts = facts
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .filter(|(name, value)| !told(name, value))
            .collect();
        Ok(Self { approval, facts })
    }
}

/// Requests of one chat, and the one a person is asked about.
#[derive(Debug, Default)]
pub struct Questions {
    waiting: VecDeque<Question>,
    /// Put off by the person until they ask for them.
    later: BTreeSet<String>,
    pub asked: Option<Asked>,
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub question: Question,
    pub step: Step,
    /// A line read earlier cannot be an answer.
    pub since: Instant,
}

/// What the next line is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Decision,
    Reason,
    Arguments,
}

/// What a line means as an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    Answer(Box<Decision>),
    AskReason,
    AskArguments,
    Later,
    /// Not an answer, and why.
    Unclear(String),
}

impl Questions {
    pub fn add(&mut self, question: Question) {
        if !self.waiting.iter().any(|known| known.approval.id == question.approval.id) {
            self.waiting.push_back(question);
        }
    }

    /// It is decided, expired or withdrawn.
    pub fn settle(&mut self, id: &str) {
        self.waiting.retain(|known| known.approval.id != id);
        self.later.remove(id);
        self.asked.take_if(|asked| asked.question.approval.id == id);
    }

    pub fn put_off(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.later.insert(asked.question.approval.id);
        }
    }

    /// Those put off are asked again.
    pub fn ask_all_again(&mut self) {
        self.later.clear();
    }

    /// Asks about the next one nobody put off. Says whether there is one.
    pub fn ask(&mut self, screen: &mut Screen) -> std::io::Result<bool> {
        if self.asked.is_none() {
            let is_open = |known: &Question| !self.later.contains(&known.approval.id);
            let next = self.waiting.iter().zip(1..).find(|(known, _)| is_open(known));
            let Some((question, number)) = next else {
                return Ok(false);
            };
            let total = self.waiting.len();
            let heading = format!("? {number} of {total} waiting: {}", question.approval.id);
            screen.line(Tone::Question, &heading)?;
            present(screen, question)?;
            screen.line(Tone::Plain, &format!("  {}", choices(&question.approval)))?;
            let (question, step) = (question.clone(), Step::Decision);
            self.asked = Some(Asked { question, step, since: Instant::now() });
        }
        if let Some(asked) = &self.asked {
            let prompt = match asked.step {
                Step::Decision => "decide> ",
                Step::Reason => "why (empty for no reason)> ",
                Step::Arguments => "arguments as JSON (empty to go back)> ",
            };
            screen.prompt(Tone::Question, prompt)?;
        }
        Ok(true)
    }
}

/// What a person must see before deciding: who, what exactly, where, and which permissions can be given.
fn present(screen: &mut Screen, question: &Question) -> std::io::Result<()> {
    let Question { approval, facts } = question;
    if let Some(form) = &approval.form {
        return present_form(screen, approval, form);
    }
    screen.shown(Tone::Plain, &format!("  {} asks: {}", approval.agent_id, approval.message))?;
    if let Some(voided) = &approval.voided {
        let earlier = voided["approval"].as_str().unwrap_or("an earlier request");
        screen.line(Tone::Warning, &format!("  {earlier} was approved, but since then:"))?;
        let changes = voided["changes"].as_array().into_iter().flatten();
        for change in changes.filter_map(Value::as_str) {
            screen.line(Tone::Warning, &format!("    {}", words::unbroken(change)))?;
        }
    }
    screen.shown(Tone::Plain, &format!("  {} {}", approval.tool, approval.shown))?;
    for line in approval.preview.iter().flat_map(|preview| preview.lines()) {
        screen.shown(Tone::Plain, &format!("  {line}"))?;
    }
    for (name, value) in facts {
        screen.line(Tone::Quiet, &format!("  {name}: {}", words::unbroken(value)))?;
    }
    if let Some(directory) = &approval.working_directory {
        screen.line(Tone::Plain, &format!("  in {directory}"))?;
    }
    if let Some(at) = &approval.expires_at {
        screen.line(Tone::Plain, &format!("  until {at}"))?;
    }
    for (number, suggestion) in (1..).zip(&approval.suggested_matches) {
        screen.line(Tone::Quiet, &format!("    {number} {}", suggestion.label))?;
    }
    if !approval.offers(Reach::Always) {
        let text = "  not shown in full: `always` is not offered";
        screen.line(Tone::Warning, text)?;
    }
    Ok(())
}

/// What a running tool wants to know.
fn present_form(screen: &mut Screen, asked: &Approval, form: &Value) -> std::io::Result<()> {
    let text = format!("  {} of {} asks: {}", asked.tool, asked.agent_id, asked.message);
    screen.line(Tone::Plain, &text)?;
    if let Some(url) = form["url"].as_str() {
        screen.line(Tone::Plain, &format!("  go to {}", words::unbroken(url)))?;
    }
    screen.line(Tone::Plain, &format!("  the answer is JSON that fits {}", asked.shown))?;
    let text = "  do not tell a password or a key: the answer goes to the tool and into the log";
    screen.line(Tone::Warning, text)
}

/// Who wants what, on one line.
pub fn wish(approval: &Approval) -> String {
    if approval.form.is_some() {
        let question = words::shortened(&approval.message);
        return format!("{} of {} asks: {question}", approval.tool, approval.agent_id);
    }
    let call = words::call(&approval.tool, &approval.arguments);
    format!("{} wants to use {call}", approval.agent_id)
}

fn choices(view: &Approval) -> String {
    if view.form.is_some() {
        return "e answer | o answer with nothing | d decline | l later".to_owned();
    }
    let session = view.offers(Reach::Session);
    let always = view.offers(Reach::Always);
    let narrower = match (view.suggested_matches.is_empty(), session, always) {
        (true, _, _) | (_, false, false) => None,
        (false, true, true) => Some("s 1, a 1 .. only such calls"),
        (false, true, false) => Some("s 1 .. only such calls"),
        (false, false, true) => Some("a 1 .. only such calls"),
    };
    let choices = [
        Some("o once"),
        session.then_some("s session"),
        always.then_some("a always"),
        narrower,
        Some("e edit"),
        Some("d deny"),
        Some("l later"),
    ];
    choices.into_iter().flatten().collect::<Vec<_>>().join(" | ")
}

/// Understands a line as an answer to what was asked.
pub fn read(asked: &Asked, line: &str) -> Reading {
    let line = line.trim();
    match asked.step {
        Step::Reason => {
            answer(Decision::deny(Some(line.to_owned()).filter(|reason| !reason.is_empty())))
        }
        Step::Arguments => match serde_json::from_str::<Value>(line) {
            Ok(arguments) => {
                answer(Decision { arguments: Some(arguments), ..Decision::approve(Reach::Once) })
            }
            Err(error) => {
                Reading::Unclear(format!("that is not JSON: {error}; nothing was decided"))
            }
        },
        Step::Decision => read_decision(&asked.question.approval, line),
    }
}

fn answer(decision: Decision) -> Reading {
    Reading::Answer(Box::new(decision))
}

fn read_decision(view: &Approval, line: &str) -> Reading {
    let (word, rest) = match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word.to_lowercase(), rest.trim()),
        None => (line.to_lowercase(), ""),
    };
    match (word.as_str(), rest) {
        ("o" | "once", "") => approve(Reach::Once, Ok(None)),
        ("s" | "session", rest) => approve(Reach::Session, narrowed(view, rest)),
        ("a" | "always", rest) => approve(Reach::Always, narrowed(view, rest)),
        ("d" | "deny", "") => Reading::AskReason,
        ("d" | "deny", reason) => answer(Decision::deny(Some(reason.to_owned()))),
        ("e" | "edit", "") => Reading::AskArguments,
        ("l" | "later", "") => Reading::Later,
        (number, "") if number.parse::<usize>().is_ok() => {
            approve(Reach::Session, narrowed(view, number))
        }
        _ => Reading::Unclear(format!(
            "not an answer, and nothing was decided: {}; l puts the question off if you want to say something",
            choices(view)
        )),
    }
}

fn approve(reach: Reach, suggestion: Result<Option<usize>, String>) -> Reading {
    match suggestion {
        Ok(suggestion) => answer(Decision { suggestion, ..Decision::approve(reach) }),
        Err(problem) => Reading::Unclear(problem),
    }
}

/// The place of the suggestion with a number; none for any call of the tool.
fn narrowed(view: &Approval, number: &str) -> Result<Option<usize>, String> {
    // Without a number it is for any call of the tool, and only if the person was shown that.
    if number.is_empty() {
        return match view.suggested_matches.iter().any(|one| one.matches.is_empty()) {
            true => Ok(None),
            false => Err("say for which calls, by a number of the list (as in `s 1`), or answer `o` for this one; \
                          nothing was decided".to_owned()),
        };
    }
    let number: usize = number.parse().map_err(|_| {
        format!("`{number}` is not the number of a permission; nothing was decided")
    })?;
    let last = view.suggested_matches.len();
    let place = number.checked_sub(1).filter(|place| *place < last);
    place.map(Some).ok_or_else(|| {
        format!("{} has no suggestion {number}; choose one from 1 to {last}", view.id)
    })
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
