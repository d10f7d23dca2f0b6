//! Asks a person about one waiting call, and understands the answer.
//! Used by `chat`. Only what is plainly an answer is one; anything else decides nothing.

use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

use agent_world_core::command::{Answer, Scope};
use agent_world_core::event::Choice;
use agent_world_core::ids::ApprovalId;
use agent_world_core::view::ApprovalView;
use serde_json::Value;

use crate::approvals::{present, suggested};
use crate::screen::{Screen, Tone};
use crate::words;

/// Requests of one chat, and the one a person is asked about.
#[derive(Debug, Default)]
pub struct Questions {
    waiting: VecDeque<ApprovalView>,
    /// Put off by the person until they ask for them.
    later: BTreeSet<ApprovalId>,
    pub asked: Option<Asked>,
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub view: ApprovalView,
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
    Answer(Answer),
    AskReason,
    AskArguments,
    Later,
    /// Not an answer, and why.
    Unclear(String),
}

impl Questions {
    pub fn add(&mut self, view: ApprovalView) {
        if !self.waiting.iter().any(|known| known.id == view.id) {
            self.waiting.push_back(view);
        }
    }

    /// It is decided, expired or withdrawn.
    pub fn settle(&mut self, id: &ApprovalId) {
        self.waiting.retain(|view| view.id != *id);
        self.later.remove(id);
        self.asked.take_if(|asked| asked.view.id == *id);
    }

    pub fn put_off(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.later.insert(asked.view.id);
        }
    }

    /// Those put off are asked again.
    pub fn ask_all_again(&mut self) {
        self.later.clear();
    }

    /// Asks about the next one nobody put off. Says whether there is one.
    pub fn ask(&mut self, screen: &mut Screen) -> std::io::Result<bool> {
        if self.asked.is_none() {
            let next =
                self.waiting.iter().zip(1..).find(|(view, _)| !self.later.contains(&view.id));
            let Some((view, number)) = next else {
                return Ok(false);
            };
            let total = self.waiting.len();
            let heading = format!("? {number} of {total} waiting: {}", view.id);
            screen.line(Tone::Question, &heading)?;
            present(screen, view)?;
            screen.line(Tone::Plain, &format!("  {}", choices(view)))?;
            self.asked =
                Some(Asked { view: view.clone(), step: Step::Decision, since: Instant::now() });
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

fn choices(view: &ApprovalView) -> String {
    if view.form.is_some() {
        return "e answer | o answer with nothing | d decline | l later".to_owned();
    }
    let session = words::offers(view, Choice::ApproveSession);
    let always = words::offers(view, Choice::ApproveAlways);
    let narrower = match (view.suggestions.is_empty(), session, always) {
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
        Step::Reason => Reading::Answer(Answer::Deny {
            reason: Some(line.to_owned()).filter(|reason| !reason.is_empty()),
        }),
        Step::Arguments => match serde_json::from_str::<Value>(line) {
            Ok(arguments) => Reading::Answer(Answer::Approve {
                scope: Scope::Once,
                matches: Vec::new(),
                arguments: Some(arguments),
            }),
            Err(error) => {
                Reading::Unclear(format!("that is not JSON: {error}; nothing was decided"))
            }
        },
        Step::Decision => read_decision(&asked.view, line),
    }
}

fn read_decision(view: &ApprovalView, line: &str) -> Reading {
    let (word, rest) = match line.split_once(char::is_whitespace) {
        Some((word, rest)) => (word.to_lowercase(), rest.trim()),
        None => (line.to_lowercase(), ""),
    };
    match (word.as_str(), rest) {
        ("o" | "once", "") => approve(Scope::Once, Ok(Vec::new())),
        ("s" | "session", rest) => approve(Scope::Session, narrowed(view, rest)),
        ("a" | "always", rest) => approve(Scope::Always, narrowed(view, rest)),
        ("d" | "deny", "") => Reading::AskReason,
        ("d" | "deny", reason) => Reading::Answer(Answer::Deny { reason: Some(reason.to_owned()) }),
        ("e" | "edit", "") => Reading::AskArguments,
        ("l" | "later", "") => Reading::Later,
        (number, "") if number.parse::<usize>().is_ok() => {
            approve(Scope::Session, narrowed(view, number))
        }
        _ => Reading::Unclear(format!(
            "not an answer, and nothing was decided: {}; l puts the question off if you want to say something",
            choices(view)
        )),
    }
}

fn approve(scope: Scope, matches: Result<Vec<agent_world_core::policy::Match>, String>) -> Reading {
    match matches {
        Ok(matches) => Reading::Answer(Answer::Approve { scope, matches, arguments: None }),
        Err(problem) => Reading::Unclear(problem),
    }
}

fn narrowed(
    view: &ApprovalView,
    number: &str,
) -> Result<Vec<agent_world_core::policy::Match>, String> {
    // Without a number it is for any call of the tool, and only if the person was shown that.
    if number.is_empty() {
        return match view.suggestions.iter().any(|one| one.matches.is_empty()) {
            true => Ok(Vec::new()),
            false => Err("say for which calls, by a number of the list (as in `s 1`), or answer `o` for this one; \
                          nothing was decided".to_owned()),
        };
    }
    let number: usize = number.parse().map_err(|_| {
        format!("`{number}` is not the number of a permission; nothing was decided")
    })?;
    suggested(view, number).map_err(|error| error.to_string())
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
