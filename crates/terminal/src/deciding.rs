//! Asks a person about one waiting call: what is shown, and what keys mean.
//! Used by `chat` and `tui`. Only what is plainly an answer is one; no key that was pressed for something else decides, and
//! none of what is pasted does.

mod calls;
mod card;
mod command;
mod edit;
mod form;
mod input;
mod prompt;
pub mod rules;
mod window;

use std::time::{Duration, Instant};

use agent_world_client::wire::{Approval, Decision, Reach};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::text::Line;
use serde_json::Value;

use crate::theme::Theme;
pub use edit::beside_diff;
use form::{Entered, Fields};
use input::Input;

/// A key that is pressed so soon after a question appeared was meant for something else.
pub const UNREAD: Duration = Duration::from_millis(300);
/// Who types a text does not decide: after a letter that is no answer, letters are part of that text until there is a pause.
pub const PAUSE: Duration = Duration::from_millis(700);
/// Characters of a reason.
const REASON: usize = 10_000;

/// One request that a person looks at.
#[derive(Clone, Debug)]
pub struct Deciding {
    pub approval: Approval,
    since: Instant,
    /// When a letter was last typed that was no answer.
    stray: Option<Instant>,
    step: Step,
    /// Why the last key decided nothing.
    problem: Option<String>,
    helps: bool,
    /// The chat it is of, where that is not the one the person is in.
    pub elsewhere: Option<String>,
    delivery: Option<Delivery>,
}

/// How far a decision that was made has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    OnItsWay,
    /// Nobody answered; it is tried again.
    Retrying,
}

/// What the next keys are taken for.
#[derive(Clone, Debug)]
enum Step {
    Choice,
    /// For which calls a permission is to last, and the one that is marked.
    Calls(Reach, Option<usize>),
    /// Whether every call of the tool is really meant, from now on.
    Sure(usize),
    Reason(Input),
    /// The command line of a call of the shell, or its script.
    Command(Input),
    Arguments(Input),
    Fields(Box<Fields>),
}

/// What a key led to.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// To be sent.
    Decided(Box<Decision>),
    /// Asked again when the person wants.
    Later,
    /// Something about the question changed: it is to be drawn again.
    Redraw,
    /// The key means nothing here.
    Nothing,
}

impl Deciding {
    pub fn new(approval: Approval) -> Self {
        Self::shown_at(approval, Instant::now())
    }

    /// Shown at a moment.
    pub fn shown_at(approval: Approval, since: Instant) -> Self {
        Self {
            approval,
            since,
            stray: None,
            step: Step::Choice,
            problem: None,
            helps: false,
            elsewhere: None,
            delivery: None,
        }
    }

    /// It was drawn only now, after something else was in its place: keys from before do not answer it.
    pub fn shown_again(&mut self, since: Instant) {
        self.since = since;
    }

    /// Whether it appeared too short a time ago for a key to be an answer.
    pub fn is_fresh(&self, now: Instant) -> bool {
        self.is_unread(now) || self.is_in_text(now)
    }

    /// Whether it appeared too short a time ago for anybody to have read it.
    pub fn is_unread(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) < UNREAD
    }

    /// Whether somebody is typing something that is no answer.
    fn is_in_text(&self, now: Instant) -> bool {
        self.stray.is_some_and(|at| now.saturating_duration_since(at) < PAUSE)
    }

    /// Whether text is being typed, so that every key belongs to it.
    pub fn is_typing(&self) -> bool {
        let is_text = matches!(
            self.step,
            Step::Reason(_) | Step::Command(_) | Step::Arguments(_) | Step::Fields(_)
        );
        is_text && self.delivery.is_none()
    }

    /// Whether the first choice is still to be made, so that leaving loses nothing.
    pub fn is_choosing(&self) -> bool {
        matches!(self.step, Step::Choice)
    }

    /// Whether a key closes something before it leaves.
    pub fn closes(&self, key: KeyEvent) -> bool {
        self.helps && key.code == KeyCode::Esc
    }

    /// Whether a key would decide at once. Who asks goes on to see whether it was the first of a text.
    pub fn would_decide(&self, key: KeyEvent, now: Instant) -> bool {
        !self.is_typing() && matches!(self.clone().key_at(key, now), Outcome::Decided(_))
    }

    /// How far the decision has come, where one was made.
    pub fn delivery(&self) -> Option<Delivery> {
        self.delivery
    }

    /// A decision was made, or is not delivered yet. Until more is heard of it no key decides again.
    pub fn deliver(&mut self, delivery: Delivery) {
        self.delivery = Some(delivery);
    }

    /// A key that was pressed at a moment: one that could not have been an answer yet means nothing, and neither does one in
    /// the middle of a text.
    pub fn key_at(&mut self, key: KeyEvent, now: Instant) -> Outcome {
        if !self.is_typing() && self.is_fresh(now) {
            // Whoever goes on typing has not looked up yet.
            self.stray = letter(key).map(|_| now).or(self.stray);
            return Outcome::Nothing;
        }
        self.key_of_answer(key, now)
    }

    /// As `key_at`, for a question that the person has chosen to look at.
    pub fn key_of_answer(&mut self, key: KeyEvent, now: Instant) -> Outcome {
        if self.is_typing() {
            return self.key(key);
        }
        let outcome = match letter(key) {
            Some(_) if self.is_in_text(now) => Outcome::Nothing,
            _ => self.key(key),
        };
        if letter(key).is_some() && outcome == Outcome::Nothing {
            self.stray = Some(now);
        }
        outcome
    }

    pub fn key(&mut self, key: KeyEvent) -> Outcome {
        let is_interrupt =
            key.modifiers.contains(KeyModifiers::CONTROL) && key.code == KeyCode::Char('c');
        // A key that is held down decides nothing, as far as the terminal tells: most send it as pressed again, which is why
        // no key does more when it is pressed twice.
        let is_pressed = match key.kind {
            KeyEventKind::Press => true,
            KeyEventKind::Repeat => self.is_typing(),
            KeyEventKind::Release => false,
        };
        if is_interrupt || !is_pressed || self.delivery.is_some() {
            return Outcome::Nothing;
        }
        let before = self.problem.take();
        let outcome = match &mut self.step {
            Step::Choice => self.choose(key),
            Step::Calls(reach, marked) => {
                let (reach, marked) = (*reach, *marked);
                self.choose_calls(key, reach, marked)
            }
            Step::Sure(place) => {
                let place = *place;
                self.make_sure(key, place)
            }
            Step::Reason(_) | Step::Command(_) | Step::Arguments(_) | Step::Fields(_) => {
                self.type_key(key)
            }
        };
        match outcome {
            Outcome::Nothing if before.is_some() => Outcome::Redraw,
            outcome => outcome,
        }
    }

    /// Text that was pasted.
    pub fn paste(&mut self, text: &str) -> Outcome {
        match &mut self.step {
            Step::Choice | Step::Calls(..) | Step::Sure(_) => Outcome::Nothing,
            Step::Reason(input) | Step::Command(input) | Step::Arguments(input) => {
                input.insert(text)
            }
            Step::Fields(fields) => fields.input.insert(text),
        }
    }

    /// Says why what was sent decided nothing. What was typed is still there.
    pub fn refused(&mut self, problem: impl Into<String>) {
        self.delivery = None;
        self.problem = Some(problem.into());
    }

    /// What must be seen before deciding, all of it: `number` of `total` that wait.
    pub fn lines(
        &self,
        number: usize,
        total: usize,
        width: u16,
        theme: Theme,
    ) -> Vec<Line<'static>> {
        let place = self.elsewhere.as_deref();
        card::lines(&self.approval, place, number, total, width, theme)
    }

    /// The keys there are now, and what was typed so far.
    pub fn prompt(&self, width: u16, theme: Theme) -> Vec<Line<'static>> {
        self.prompt_within(usize::MAX, width, theme)
    }

    /// As `prompt`, in so many rows, as far as that goes: of a long text less is shown, of the keys nothing is left out.
    pub fn prompt_within(&self, rows: usize, width: u16, theme: Theme) -> Vec<Line<'static>> {
        prompt::lines(self, rows, width, theme)
    }

    fn choose(&mut self, key: KeyEvent) -> Outcome {
        let is_form = self.approval.form.is_some();
        match letter(key) {
            Some('o' | 'y') => self.once(None),
            Some('s') if !is_form => self.ask_calls(Reach::Session),
            Some('a') if !is_form => self.ask_calls(Reach::Always),
            Some('e') => self.ask_arguments(),
            Some('d' | 'n') => self.go_to(Step::Reason(Input::line())),
            Some('l') => Outcome::Later,
            Some('?') => {
                self.helps = !self.helps;
                Outcome::Redraw
            }
            None if key.code == KeyCode::Esc && self.helps => {
                self.helps = false;
                Outcome::Redraw
            }
            None if key.code == KeyCode::Esc => Outcome::Later,
            _ => Outcome::Nothing,
        }
    }

    fn once(&mut self, arguments: Option<Value>) -> Outcome {
        if !rules::offers(&self.approval, Reach::Once) {
            return self.refuse(rules::ONCE_NOT_OFFERED);
        }
        decided(Decision { arguments, ..Decision::approve(Reach::Once) })
    }

    fn ask_calls(&mut self, reach: Reach) -> Outcome {
        match rules::offers(&self.approval, reach) {
            true => self.go_to(Step::Calls(reach, None)),
            false => self.refuse(rules::not_offered(&self.approval, reach)),
        }
    }

    fn type_key(&mut self, key: KeyEvent) -> Outcome {
        if key.code == KeyCode::Esc {
            return self.go_to(Step::Choice);
        }
        match &mut self.step {
            Step::Reason(input) if key.code == KeyCode::Enter => {
                let reason = input.text().trim().to_owned();
                if reason.chars().count() > REASON {
                    return self.refuse(format!(
                        "a reason has {REASON} characters at most; nothing was decided"
                    ));
                }
                decided(Decision::deny(Some(reason).filter(|reason| !reason.is_empty())))
            }
            Step::Command(input) if input.is_sent_by(key) => {
                let text = input.text();
                match edit::arguments(&self.approval, &text) {
                    Ok(arguments) => self.once(Some(arguments)),
                    Err(problem) => self.refuse(problem),
                }
            }
            Step::Arguments(input) if input::sends(key) => {
                let text = input.text();
                match rules::arguments(&self.approval, &text) {
                    Ok(arguments) => self.once(Some(arguments)),
                    Err(problem) => self.refuse(problem),
                }
            }
            Step::Fields(fields) if key.code == KeyCode::Enter || input::sends(key) => {
                match fields.enter() {
                    Entered::Next => Outcome::Redraw,
                    Entered::Problem(problem) => self.refuse(problem),
                    // All of it is looked at once more before it is sent.
                    Entered::Whole(answer) => self.go_to(Step::Arguments(Input::json(&answer))),
                }
            }
            Step::Reason(input) | Step::Command(input) | Step::Arguments(input) => input.key(key),
            Step::Fields(fields) => fields.input.key(key),
            Step::Choice | Step::Calls(..) | Step::Sure(_) => Outcome::Nothing,
        }
    }

    fn go_to(&mut self, step: Step) -> Outcome {
        self.step = step;
        Outcome::Redraw
    }

    fn refuse(&mut self, problem: impl Into<String>) -> Outcome {
        self.refused(problem);
        Outcome::Redraw
    }
}

fn decided(decision: Decision) -> Outcome {
    Outcome::Decided(Box::new(decision))
}

/// A letter that was typed as such.
fn letter(key: KeyEvent) -> Option<char> {
    let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char(letter) if is_plain => Some(letter.to_ascii_lowercase()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "deciding_tests.rs"]
mod tests;
