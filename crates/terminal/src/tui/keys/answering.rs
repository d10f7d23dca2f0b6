//! Decides what a key means in the inbox: an answer to the request that is looked at, or a way to another.
//! Called by `keys`. A key that could have been meant for something else decides nothing, and says so.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::super::message::Effect;
use super::super::state::{Focus, State};
use super::{NOTHING, PAGE, is_chord};
use crate::deciding::Outcome;

impl State {
    pub(super) fn inbox_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        // What was looked at is settled: what is typed was meant for that.
        let is_text = matches!(key.code, KeyCode::Char(_) | KeyCode::Backspace);
        if self.inbox.became().is_some() && is_text {
            return NOTHING;
        }
        if self.inbox.deciding().is_none() && letter(key).is_some() {
            // Whoever types away at an empty inbox means nothing that comes up meanwhile.
            self.inbox.wait_longer();
        }
        if self.inbox.is_quiet() && self.inbox.deciding().is_some() {
            // A key that is held comes as many presses: it takes a pause before one counts.
            if letter(key).is_some() {
                self.inbox.wait_longer();
            }
            match letter(key) {
                Some('l') => self.inbox.later(),
                Some(letter) if is_answer(letter) => self.inbox.swallow(),
                _ if is_chord(key) => {}
                _ => return self.inbox_move(key.code),
            }
            return NOTHING;
        }
        match self.answer(key) {
            Some(effects) => effects,
            None if is_chord(key) => NOTHING,
            None => self.inbox_move(key.code),
        }
    }

    /// None where the key is no answer.
    fn answer(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let deciding = self.inbox.open()?;
        // Letters that move are not part of a text.
        let is_move = matches!(letter(key), Some('j' | 'k' | 'g'));
        if is_move && !deciding.is_typing() {
            return None;
        }
        let id = deciding.approval.id.clone();
        let writes = deciding.is_typing();
        match deciding.key_of_answer(key, Instant::now()) {
            Outcome::Decided(decision) => {
                self.inbox.sent(&id, (*decision).clone());
                Some(vec![Effect::Decide { id, decision }])
            }
            Outcome::Later if key.code != KeyCode::Esc => {
                self.inbox.later();
                Some(NOTHING)
            }
            Outcome::Redraw => Some(NOTHING),
            Outcome::Nothing if letter(key).is_some_and(is_answer) => {
                self.inbox.swallow();
                Some(NOTHING)
            }
            // Whoever writes about one request does not go to another by the way.
            Outcome::Nothing if writes && moves(key.code) => Some(NOTHING),
            Outcome::Later | Outcome::Nothing => None,
        }
    }

    fn inbox_move(&mut self, code: KeyCode) -> Vec<Effect> {
        match code {
            KeyCode::Down | KeyCode::Char('j') => self.inbox.step(1),
            KeyCode::Up | KeyCode::Char('k') => self.inbox.step(-1),
            KeyCode::Char('g') | KeyCode::Home => self.inbox.step(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.inbox.step(isize::MAX),
            KeyCode::PageDown => self.scroll_card(PAGE),
            KeyCode::PageUp => self.scroll_card(-PAGE),
            KeyCode::Esc => self.focus = Focus::Conversation,
            KeyCode::Enter if self.inbox.became().is_some() => self.inbox.step(0),
            KeyCode::Enter => return self.open_asking(),
            // A letter that might have been meant as an answer does nothing else.
            KeyCode::Char('?' | 'q' | 'c' | 'i' | '/') | KeyCode::Tab | KeyCode::BackTab => {
                return self.common_key(code);
            }
            _ if self.inbox.len() == 0 => return self.common_key(code),
            _ => {}
        }
        NOTHING
    }

    pub(in super::super) fn scroll_card(&mut self, by: isize) {
        let last = self.inbox.card().len().saturating_sub(1);
        self.inbox.scrolled = self.inbox.scrolled.saturating_add_signed(by).min(last);
    }

    /// Opens the chat that the request comes from.
    fn open_asking(&mut self) -> Vec<Effect> {
        let chat = self.inbox.deciding().map(|deciding| deciding.approval.chat_id.clone());
        let Some(chat) = chat else {
            return NOTHING;
        };
        if !self.layout.is_wide {
            self.focus = Focus::Conversation;
        }
        self.open(&chat)
    }
}

fn moves(code: KeyCode) -> bool {
    matches!(code, KeyCode::Up | KeyCode::Down | KeyCode::Home | KeyCode::End)
}

/// A letter that was typed as such.
fn letter(key: KeyEvent) -> Option<char> {
    let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char(letter) if is_plain => Some(letter.to_ascii_lowercase()),
        _ => None,
    }
}

/// Whether a letter can be an answer to some request.
fn is_answer(letter: char) -> bool {
    matches!(letter, 'o' | 'y' | 's' | 'a' | 'e' | 'd' | 'n' | '0'..='9')
}
