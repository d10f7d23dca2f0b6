//! Decides whether keys go to the message that is being written or to the question that is asked, and what they do there.
//! Part of `state`. A key that was pressed for a message never decides anything, nor does one pressed before the question
//! could be read; whoever pressed one that did nothing is told why.

use std::time::{Duration, Instant};

use agent_world_client::wire::{Decision, Reach};
use crossterm::event::{KeyCode, KeyEvent};

use super::State;
use crate::attention::{Untaken, letter};
use crate::chat::effect::Effect;
use crate::deciding::{Deciding, Delivery, Outcome};

/// Whoever types goes on typing for this long after each key, whatever comes up meanwhile.
const TYPING: Duration = Duration::from_millis(700);

/// Where keys go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Focus {
    Composer,
    Question,
}

/// Why a key at a question did nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It may not have been meant for the question.
    Untaken(Untaken),
    /// The key is no answer.
    NoAnswer,
}

impl State {
    /// The question that is shown, with its number among all that wait.
    pub fn question(&self) -> Option<(&Deciding, usize)> {
        self.waiting.shown()
    }

    /// Where the next key goes.
    pub fn focus(&self, now: Instant) -> Focus {
        let question = self.question().map(|(question, _)| question);
        let is_typed_into = question.is_some_and(Deciding::is_typing);
        // What was on the screen when the key was pressed is what counts: there was a question, or there was none.
        let has_question = self.on_screen.is_some();
        let rests = self.composer.is_empty() && self.rests(now);
        match has_question && (self.answering || is_typed_into || rests) {
            true => Focus::Question,
            false => Focus::Composer,
        }
    }

    /// Whether a message is half written beside the question.
    pub fn has_draft(&self) -> bool {
        !self.composer.is_empty()
    }

    pub fn untaken(&self) -> Option<Silence> {
        self.untaken
    }

    /// Whether a key would be taken for an answer now, as far as the question was there to be read.
    pub fn takes_answers(&self, now: Instant) -> bool {
        let is_typed_into = self.question().is_some_and(|(question, _)| question.is_typing());
        is_typed_into || self.attention.is_ready(now)
    }

    fn rests(&self, now: Instant) -> bool {
        self.typed_at.is_none_or(|at| now.saturating_duration_since(at) >= TYPING)
    }

    /// Whether a question is about to be drawn for the first time. Keys that are there already are read before.
    pub fn comes_up(&self) -> bool {
        let next = self.question().map(|(question, _)| &question.approval.id);
        next.is_some() && next != self.on_screen.as_ref()
    }

    /// Notes which question the next picture holds.
    pub fn look(&mut self, now: Instant) {
        if self.composer.is_empty() && self.rests(now) {
            self.waiting.look_somewhere();
        }
        let sight = self.question().map(|(question, _)| question.sight(self.turns));
        self.attention.look(sight.as_ref(), now);
        let shown = sight.map(|sight| sight.id);
        if shown == self.on_screen {
            return;
        }
        self.on_screen = shown;
        self.laid_out = None;
        self.answering = false;
        self.untaken = None;
    }

    /// The picture is on the screen: from now on its question can be read, and a little later answered.
    pub fn was_drawn(&mut self, now: Instant) {
        match self.is_cramped {
            true => self.attention.unsee(),
            false => self.attention.drawn(now),
        }
    }

    pub fn is_cramped(&self) -> bool {
        self.is_cramped
    }

    /// Whether the next picture has no room for the keys of its question.
    pub fn cramp(&mut self, is_cramped: bool) {
        self.is_cramped = is_cramped;
    }

    /// Something changes with time alone: the screen is to be drawn again soon.
    pub fn is_restless(&self, now: Instant) -> bool {
        let question = self.question().map(|(question, _)| question);
        let is_fresh = question.is_some() && !self.is_cramped && !self.takes_answers(now);
        let waits = question.is_some() && self.composer.is_empty() && !self.rests(now);
        !self.running.is_empty() || is_fresh || waits
    }

    /// Hands the keys to the question that is on the screen, if there is one. It is read anew: the next key may have been
    /// meant for the message.
    pub(super) fn go_to_question(&mut self) {
        self.answering = self.on_screen.is_some();
        self.turns += 1;
    }

    pub fn paste(&mut self, text: &str, now: Instant) {
        let asks = self.focus(now) == Focus::Question;
        match self.waiting.shown_mut().filter(|question| asks && question.is_typing()) {
            Some(question) => {
                question.paste(text);
            }
            // What is pasted is never an answer, so that it can only be meant for a message.
            None => {
                self.answering = false;
                self.typed_at = Some(now);
                self.composer.paste(text);
            }
        }
    }

    pub(super) fn decide(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        let has_draft = self.has_draft();
        let Some(question) = self.waiting.shown_mut() else {
            return Vec::new();
        };
        if let Some(delivery) = question.delivery() {
            return self.key_while_sent(key, delivery, now);
        }
        let leaves = matches!(key.code, KeyCode::Esc | KeyCode::Tab | KeyCode::BackTab);
        if has_draft && leaves && question.is_choosing() && !question.closes(key) {
            self.answering = false;
            self.untaken = None;
            return Vec::new();
        }
        // Both begin a message or a command, and are no answer to anything.
        let begins = matches!(key.code, KeyCode::Char('/' | '@')) && question.is_choosing();
        if begins && !has_draft {
            self.untaken = None;
            return self.write(key, now);
        }
        let leaves = match key.code {
            KeyCode::Char('l' | '?') => question.is_choosing(),
            code => code == KeyCode::Esc,
        };
        if self.is_cramped && !leaves {
            let is_choosing = question.is_choosing();
            self.untaken = None;
            return if is_choosing && self.steps(key) { self.went() } else { Vec::new() };
        }
        let leaves = key.code == KeyCode::Esc && question.is_choosing() && !question.closes(key);
        if (leaves || question.is_answer(key))
            && !self.is_cramped
            && let Err(why) = self.attention.allow(&question.sight(self.turns), key, now)
        {
            let is_meant = matches!(key.code, KeyCode::Char(_) | KeyCode::Enter);
            self.untaken = is_meant.then_some(Silence::Untaken(why));
            return Vec::new();
        }
        let outcome = question.key(key);
        if outcome == Outcome::Nothing {
            return self.no_answer(key, now);
        }
        self.untaken = None;
        if outcome != Outcome::Later && letter(key).is_some_and(|letter| letter != '?') {
            self.attention.took(key, now);
        }
        match outcome {
            Outcome::Decided(decision) => return self.decided(*decision),
            Outcome::Later => {
                self.attention.leave();
                self.waiting.put_off();
                self.answering = false;
                self.note("it waits; /approvals asks again");
            }
            Outcome::Redraw | Outcome::Nothing => {}
        }
        Vec::new()
    }

    /// A key that the question has no meaning for: it looks at another one, or does nothing and says so.
    fn no_answer(&mut self, key: KeyEvent, now: Instant) -> Vec<Effect> {
        if self.steps(key) {
            return self.went();
        }
        if letter(key).is_some() {
            self.attention.stray(now);
        }
        let is_meant = matches!(key.code, KeyCode::Char(_) | KeyCode::Enter | KeyCode::Esc);
        self.untaken = is_meant.then_some(Silence::NoAnswer);
        Vec::new()
    }

    /// Looks at another one that waits, where the key does that.
    fn steps(&mut self, key: KeyEvent) -> bool {
        match key.code {
            KeyCode::Tab | KeyCode::Right | KeyCode::Down => self.waiting.step(true),
            KeyCode::BackTab | KeyCode::Left | KeyCode::Up => self.waiting.step(false),
            _ => false,
        }
    }

    /// A key at a question that was decided, of which nobody knows yet whether that arrived: it decides nothing more.
    fn key_while_sent(&mut self, key: KeyEvent, delivery: Delivery, now: Instant) -> Vec<Effect> {
        self.untaken = None;
        match key.code {
            KeyCode::Char('/' | '@') if !self.has_draft() => return self.write(key, now),
            KeyCode::Esc | KeyCode::Char('l') if delivery == Delivery::Retrying => {
                self.attention.leave();
                self.waiting.put_off();
                self.note("your decision goes on being delivered");
            }
            _ if self.steps(key) => return self.went(),
            _ => {}
        }
        Vec::new()
    }

    /// Whether a key would be taken for an answer, so that what follows it closely is looked at first.
    pub fn would_answer(&self, key: KeyEvent, now: Instant) -> bool {
        let Some((question, _)) = self.question().filter(|_| !self.is_cramped) else {
            return false;
        };
        let mut attention = self.attention.clone();
        attention.press(key, now);
        self.focus(now) == Focus::Question
            && letter(key).is_some()
            && question.is_answer(key)
            && question.would_act(key)
            && attention.allow(&question.sight(self.turns), key, now).is_ok()
    }

    fn decided(&mut self, decision: Decision) -> Vec<Effect> {
        let Some((question, _)) = self.waiting.shown() else {
            return Vec::new();
        };
        let approval = question.approval.id.clone();
        let suggestion =
            decision.suggestion.and_then(|place| question.approval.suggested_matches.get(place));
        let mut count = None;
        if let (Some(Reach::Session | Reach::Always), Some(suggestion)) =
            (decision.scope, suggestion)
        {
            self.permitted.insert(approval.clone(), suggestion.label.clone());
            count = Some(Effect::CountReleased { approval: approval.clone(), after: self.known });
        }
        self.attention.leave();
        self.waiting.send(&approval);
        self.answering = false;
        self.untaken = None;
        let decide = Effect::Decide { approval, decision: Box::new(decision) };
        std::iter::once(decide).chain(count).collect()
    }

    // Whoever goes to a question knows that it comes; what it says is still to be read.
    fn went(&mut self) -> Vec<Effect> {
        if let Some((next, _)) = self.waiting.shown() {
            self.attention.leave();
            self.on_screen = Some(next.approval.id.clone());
            self.laid_out = None;
            self.untaken = None;
        }
        Vec::new()
    }
}
