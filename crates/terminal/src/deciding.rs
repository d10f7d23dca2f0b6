//! Asks a person about one waiting call: what is shown, and what keys mean.
//! Used by `chat` and `tui`. Only what is plainly an answer is one, and nothing of what is pasted is. Whether a key was meant
//! for what is asked at all, `attention` says before.

mod calls;
mod card;
mod command;
mod edit;
mod form;
mod input;
mod prompt;
pub mod risks;
pub mod rules;
mod window;

use agent_world_client::wire::{Approval, Decision, Reach};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::text::Line;
use serde_json::Value;

use crate::attention::{Sight, letter};
use crate::theme::Theme;
pub use edit::beside_diff;
use form::{Entered, Fields};
use input::Input;

/// Characters of a reason.
const REASON: usize = 10_000;

/// One request that a person looks at.
#[derive(Clone, Debug)]
pub struct Deciding {
    pub approval: Approval,
    step: Step,
    /// Counts the steps: keys mean something else after each.
    steps: u64,
    /// All of what must be seen before deciding was on the screen.
    is_read: bool,
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
    Sure(Reach, usize),
    Reason(Input),
    /// The command line of a call of the shell, or its script.
    Command(Input),
    Arguments(Input),
    /// Whether the command that was changed is really meant, as it would run.
    Changed(Input, Value),
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
        Self {
            approval,
            step: Step::Choice,
            steps: 0,
            is_read: true,
            problem: None,
            helps: false,
            elsewhere: None,
            delivery: None,
        }
    }

    /// What keys would answer now. `turn` counts how often the person turned to it.
    pub fn sight(&self, turn: u64) -> Sight {
        Sight { id: self.approval.id.clone(), step: self.steps, turn }
    }

    /// Whether all of it was on the screen; what was not is not approved.
    pub fn read(&mut self, is_read: bool) {
        self.is_read = is_read;
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

    /// Whether a key is asked about before it is taken: it answers, or leads to an answer, and is no part of a text.
    pub fn is_answer(&self, key: KeyEvent) -> bool {
        let leads = letter(key).is_some() || !self.is_choosing();
        leads && !self.is_typing() && key.code != KeyCode::Esc
    }

    /// Whether a key would do anything.
    pub fn would_act(&self, key: KeyEvent) -> bool {
        self.clone().key(key) != Outcome::Nothing
    }

    /// How far the decision has come, where one was made.
    pub fn delivery(&self) -> Option<Delivery> {
        self.delivery
    }

    /// A decision was made, or is not delivered yet. Until more is heard of it no key decides again.
    pub fn deliver(&mut self, delivery: Delivery) {
        self.delivery = Some(delivery);
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
            Step::Sure(reach, place) => {
                let (reach, place) = (*reach, *place);
                self.make_sure(key, reach, place)
            }
            Step::Changed(..) => self.make_sure_of_change(key),
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
            Step::Choice | Step::Calls(..) | Step::Sure(..) | Step::Changed(..) => Outcome::Nothing,
            Step::Reason(input) | Step::Command(input) | Step::Arguments(input) => {
                input.insert(text)
            }
            Step::Fields(fields) => fields.input.insert(text),
        }
    }

    /// Says why what was sent decided nothing. What was typed is still there.
    pub fn refused(&mut self, problem: impl Into<String>) {
        self.delivery = None;
        self.steps += 1;
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

    /// What warns of it, where there is no room for the rest.
    pub fn risks(&self, width: u16, theme: Theme) -> Vec<Line<'static>> {
        card::risks(&self.approval, width, theme)
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
            Some('o' | 'y' | 's' | 'a' | 'e') if !self.is_read => self.refuse(rules::READ_ON),
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
                let input = input.clone();
                self.change(input)
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
            Step::Choice | Step::Calls(..) | Step::Sure(..) | Step::Changed(..) => Outcome::Nothing,
        }
    }

    fn go_to(&mut self, step: Step) -> Outcome {
        self.step = step;
        self.steps += 1;
        Outcome::Redraw
    }

    fn refuse(&mut self, problem: impl Into<String>) -> Outcome {
        self.problem = Some(problem.into());
        Outcome::Redraw
    }
}

fn decided(decision: Decision) -> Outcome {
    Outcome::Decided(Box::new(decision))
}

#[cfg(test)]
#[path = "deciding_tests.rs"]
mod tests;
