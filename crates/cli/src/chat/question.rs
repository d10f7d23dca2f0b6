//! Asks a person about one waiting call, and understands the answer.
//! Used by `lines`. Only what is plainly an answer is one; anything else decides nothing. What may be chosen is the same as on
//! a terminal: `deciding::rules` says it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use agent_world_client::wire::{Approval, Decision, Reach};
use agent_world_terminal::deciding::rules;

use crate::approvals::request::{self, Listing};
use crate::screen::{Screen, Tone};

/// Requests of one chat, and the one a person is asked about.
#[derive(Debug, Default)]
pub struct Questions {
    waiting: VecDeque<Approval>,
    /// Put off by the person until they ask for them.
    later: BTreeSet<String>,
    /// Of other chats, by their ids: where they are.
    elsewhere: BTreeMap<String, String>,
    pub asked: Option<Asked>,
}

#[derive(Clone, Debug)]
pub struct Asked {
    pub approval: Approval,
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
    /// Whether every call of the tool is really meant, from now on.
    Sure,
}

/// What a line means as an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    Answer(Box<Decision>),
    AskReason,
    AskArguments,
    AskWhetherSure,
    /// It was not meant.
    Back,
    Later,
    /// Not an answer, and why.
    Unclear(String),
}

impl Questions {
    pub fn add(&mut self, approval: Approval) {
        if !self.waiting.iter().any(|known| known.id == approval.id) {
            self.waiting.push_back(approval);
        }
    }

    /// One of another chat, which is said with it.
    pub fn add_of(&mut self, approval: Approval, place: String) {
        self.elsewhere.insert(approval.id.clone(), place);
        self.add(approval);
    }

    /// Whether what becomes of it is heard elsewhere.
    pub fn is_elsewhere(&self, id: &str) -> bool {
        self.elsewhere.contains_key(id)
    }

    /// It is decided, expired or withdrawn.
    pub fn settle(&mut self, id: &str) {
        self.waiting.retain(|known| known.id != id);
        self.later.remove(id);
        self.asked.take_if(|asked| asked.approval.id == id);
    }

    pub fn put_off(&mut self) {
        if let Some(asked) = self.asked.take() {
            self.later.insert(asked.approval.id);
        }
    }

    /// Those put off are asked again.
    pub fn ask_all_again(&mut self) {
        self.later.clear();
    }

    /// Asks about the next one nobody put off. Says whether there is one.
    pub fn ask(&mut self, screen: &mut Screen) -> std::io::Result<bool> {
        if self.asked.is_none() {
            let is_open = |known: &Approval| !self.later.contains(&known.id);
            let next = self.waiting.iter().zip(1..).find(|(known, _)| is_open(known));
            let Some((approval, number)) = next else {
                return Ok(false);
            };
            let total = self.waiting.len();
            let heading = format!("? {number} of {total} waiting: {}", approval.id);
            screen.line(Tone::Question, &heading)?;
            if let Some(place) = self.elsewhere.get(&approval.id) {
                screen.line(Tone::Question, &format!("  of another chat: {place}"))?;
            }
            request::present(screen, approval, Listing::Keys)?;
            screen.line(Tone::Plain, &format!("  {}", choices(approval)))?;
            let (approval, step) = (approval.clone(), Step::Decision);
            self.asked = Some(Asked { approval, step, since: Instant::now() });
        }
        if let Some(asked) = &self.asked {
            let prompt = match asked.step {
                Step::Decision => "decide> ".to_owned(),
                Step::Reason => "why (empty for no reason)> ".to_owned(),
                Step::Arguments => "arguments as JSON (empty to go back)> ".to_owned(),
                Step::Sure => format!("{} y/n> ", rules::really(&asked.approval, Reach::Always)),
            };
            screen.prompt(Tone::Question, &prompt)?;
        }
        Ok(true)
    }
}

fn choices(view: &Approval) -> String {
    let once = rules::offers(view, Reach::Once);
    let choices = match view.form {
        Some(_) => [
            once.then_some("e answer"),
            once.then_some("o answer with nothing"),
            None,
            None,
            Some("d decline"),
            Some("l later"),
        ],
        None => [
            once.then_some("o once"),
            rules::offers(view, Reach::Session).then_some("s N session, such calls"),
            rules::offers(view, Reach::Always).then_some("a N always, such calls"),
            once.then_some("e edit"),
            Some("d deny"),
            Some("l later"),
        ],
    };
    choices.into_iter().flatten().collect::<Vec<_>>().join(" | ")
}

/// Understands a line as an answer to what was asked.
pub fn read(asked: &Asked, line: &str) -> Reading {
    let line = line.trim();
    match asked.step {
        Step::Reason => {
            answer(Decision::deny(Some(line.to_owned()).filter(|reason| !reason.is_empty())))
        }
        Step::Arguments => match rules::arguments(&asked.approval, line) {
            Ok(arguments) => {
                answer(Decision { arguments: Some(arguments), ..Decision::approve(Reach::Once) })
            }
            Err(problem) => Reading::Unclear(problem),
        },
        Step::Sure => match (line.to_lowercase().as_str(), rules::whole_tool(&asked.approval)) {
            ("y" | "yes", Some(place)) => permit(Reach::Always, place),
            ("n" | "no" | "", _) => Reading::Back,
            _ => Reading::Unclear("say y or n; nothing was decided".to_owned()),
        },
        Step::Decision => read_decision(&asked.approval, line),
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
    let offers_once = rules::offers(view, Reach::Once);
    match (word.as_str(), rest) {
        ("o" | "once" | "e" | "edit", "") if !offers_once => {
            Reading::Unclear(rules::ONCE_NOT_OFFERED.to_owned())
        }
        ("o" | "once", "") => answer(Decision::approve(Reach::Once)),
        ("s" | "session", number) => lasting(view, Reach::Session, number),
        ("a" | "always", number) => lasting(view, Reach::Always, number),
        ("d" | "deny", "") => Reading::AskReason,
        ("d" | "deny", reason) => answer(Decision::deny(Some(reason.to_owned()))),
        ("e" | "edit", "") => Reading::AskArguments,
        ("l" | "later", "") => Reading::Later,
        // How long it is to hold is never guessed.
        (number, "") if number.parse::<usize>().is_ok() && view.form.is_none() => {
            Reading::Unclear(format!(
                "say for how long: `s {number}` for the rest of this chat, `a {number}` always; \
                 nothing was decided"
            ))
        }
        _ => Reading::Unclear(format!(
            "not an answer, and nothing was decided: {}; l puts the question off if you want to say something",
            choices(view)
        )),
    }
}

fn permit(reach: Reach, place: usize) -> Reading {
    answer(Decision { suggestion: Some(place), ..Decision::approve(reach) })
}

/// A permission that lasts is for the calls with a number, or for the whole tool, which has a letter.
fn lasting(view: &Approval, reach: Reach, number: &str) -> Reading {
    if !rules::offers(view, reach) {
        return Reading::Unclear(rules::not_offered(view, reach));
    }
    let letter = if reach == Reach::Always { "a" } else { "s" };
    if number.is_empty() {
        return Reading::Unclear(format!(
            "say for which calls, by a key of the list (as in `{letter} 1`), or answer `o` for this one; \
             nothing was decided"
        ));
    }
    if number.eq_ignore_ascii_case(&rules::WHOLE_TOOL.to_string())
        && let Some(place) = rules::whole_tool(view)
    {
        return match reach {
            Reach::Always => Reading::AskWhetherSure,
            Reach::Session | Reach::Once => permit(reach, place),
        };
    }
    let place = number.parse::<usize>().ok().and_then(|number| rules::numbered(view, number));
    match place {
        Some(place) => permit(reach, place),
        None => Reading::Unclear(rules::no_number(view, number)),
    }
}

#[cfg(test)]
#[path = "question_tests.rs"]
mod tests;
