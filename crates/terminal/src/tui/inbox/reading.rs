//! How somebody stands to the request that is looked at: whether it was read, and whether a key may be an answer to it.
//! Part of `inbox`; what counts is decided by `attention`, which is told here what is on the screen.

use std::time::Instant;

use crossterm::event::KeyEvent;

use super::Inbox;
use crate::attention::Untaken;
use crate::deciding::Deciding;

impl Inbox {
    /// Nobody has read what is there now: keys decide nothing before it was drawn, and for a moment then.
    pub fn arm(&mut self) {
        self.attention.unsee();
        self.swallowed = None;
    }

    /// Somebody comes back to it: keys decide nothing for a moment. A text that was begun goes on.
    pub fn pause(&mut self) {
        if !self.deciding.as_ref().is_some_and(Deciding::is_typing) {
            self.turns += 1;
            self.arm();
        }
    }

    /// Some key was pressed, wherever it goes.
    pub fn press(&mut self, key: KeyEvent, now: Instant) {
        self.attention.press(key, now);
    }

    /// Somebody is typing: what counts is what they press after a pause.
    pub fn stray(&mut self, now: Instant) {
        self.attention.stray(now);
    }

    /// Whether a key may be an answer to what is looked at.
    ///
    /// # Errors
    /// Why it is none.
    pub fn allow(&mut self, key: KeyEvent, now: Instant) -> Result<(), Untaken> {
        match &self.deciding {
            Some(deciding) => self.attention.allow(&deciding.sight(self.turns), key, now),
            None => Err(Untaken::TooSoon),
        }
    }

    /// Whether a key would be taken for an answer, so that what follows it closely is looked at first.
    pub fn would_answer(&self, key: KeyEvent, now: Instant) -> bool {
        let is_sent = self.selected().is_some_and(|id| self.sent.contains_key(id));
        let Some(deciding) = self.deciding.as_ref().filter(|_| !is_sent) else {
            return false;
        };
        let mut attention = self.attention.clone();
        attention.press(key, now);
        deciding.is_answer(key)
            && deciding.would_act(key)
            && attention.allow(&deciding.sight(self.turns), key, now).is_ok()
    }

    /// A key was an answer, or a step towards one.
    pub fn took(&mut self, key: KeyEvent, now: Instant) {
        self.attention.took(key, now);
        self.swallowed = None;
    }

    /// Whether no key is an answer yet.
    pub fn is_quiet(&self, now: Instant) -> bool {
        let is_typing = self.deciding.as_ref().is_some_and(Deciding::is_typing);
        !is_typing && !self.attention.is_ready(now)
    }

    /// Time has passed. Says whether keys count now that did not when the last frame was drawn.
    pub fn has_settled(&self, now: Instant) -> bool {
        self.deciding.is_some() && !self.was_ready && !self.is_quiet(now)
    }

    /// A key that could have been an answer was none.
    pub fn swallow(&mut self, why: Untaken) {
        self.swallowed = self.deciding.as_ref().map(|_| why);
    }

    /// Why the last key that could have been an answer was none.
    pub fn swallowed(&self) -> Option<Untaken> {
        self.swallowed
    }

    /// A frame is on the screen. `is_seen`: what is looked at is before somebody's eyes, and keys go there.
    pub fn was_drawn(&mut self, is_seen: bool, now: Instant) {
        let sight = self.deciding.as_ref().map(|deciding| deciding.sight(self.turns));
        self.attention.look(sight.as_ref().filter(|_| is_seen), now);
        if !is_seen || self.view.is_cramped {
            self.attention.unsee();
            self.was_ready = false;
            return;
        }
        self.attention.drawn(now);
        self.was_ready = !self.is_quiet(now);
        // Lines that were jumped over were not read.
        if self.view.first <= self.read_to {
            self.read_to = self.read_to.max(self.view.first + self.view.rows);
        }
        let is_read = self.read_to >= self.card.lines.len();
        if let Some(deciding) = &mut self.deciding {
            deciding.read(is_read);
        }
    }
}
