//! Decides what a key means in the inbox: an answer to the request that is looked at, or a way to another.
//! Called by `keys`. A key that could have been meant for something else decides nothing, and says so.

use crossterm::event::{KeyCode, KeyEvent};

use super::super::message::Effect;
use super::super::state::{Focus, State};
use super::{NOTHING, is_chord};
use crate::attention::{Untaken, letter};
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
            self.inbox.stray(self.clock);
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
        if deciding.is_answer(key)
            && let Err(done) = self.is_taken(key)
        {
            return done;
        }
        let (now, is_cramped) = (self.clock, self.inbox.view.is_cramped);
        let deciding = self.inbox.open()?;
        if is_cramped && matches!(deciding.clone().key(key), Outcome::Decided(_)) {
            return Some(NOTHING);
        }
        let id = deciding.approval.id.clone();
        let (writes, outcome) = (deciding.is_typing(), deciding.key(key));
        let is_step = matches!(outcome, Outcome::Decided(_) | Outcome::Redraw);
        if is_step && letter(key).is_some_and(|letter| letter != '?') && !writes {
            self.inbox.took(key, now);
        }
        match outcome {
            Outcome::Decided(decision) => {
                self.inbox.sent(&id, (*decision).clone());
                Some(vec![Effect::Decide { id, decision }])
            }
            Outcome::Later if key.code != KeyCode::Esc => {
                self.inbox.later();
                Some(NOTHING)
            }
            Outcome::Redraw => Some(NOTHING),
            // Whoever writes about one request does not go to another by the way.
            Outcome::Nothing if writes && moves(key.code) => Some(NOTHING),
            Outcome::Nothing if letter(key).is_some() && !writes => {
                self.inbox.stray(now);
                None
            }
            Outcome::Later | Outcome::Nothing => None,
        }
    }

    /// Whether a key may be an answer.
    ///
    /// # Errors
    /// What comes of one that may not have been meant as one, as `answer` gives it.
    fn is_taken(&mut self, key: KeyEvent) -> Result<(), Option<Vec<Effect>>> {
        let is_choosing = self.inbox.open().is_some_and(|deciding| deciding.is_choosing());
        let Err(why) = self.inbox.allow(key, self.clock) else {
            return Ok(());
        };
        match letter(key) {
            Some('l') if is_choosing => self.inbox.later(),
            Some(letter) if is_answer(letter) || !is_choosing => self.inbox.swallow(why),
            None => {}
            Some(_) => return Err(None),
        }
        Err(Some(NOTHING))
    }

    /// Keys that came at once are a text, which nobody asked for here.
    pub(in super::super) fn typed_at_once(&mut self) -> Vec<Effect> {
        self.inbox.stray(self.clock);
        self.inbox.swallow(Untaken::Text);
        NOTHING
    }

    /// Whether a key would be taken for an answer, so that what follows it closely is looked at first.
    pub(in super::super) fn would_answer(&self, key: KeyEvent) -> bool {
        let is_asked =
            self.focus == Focus::Inbox && self.overlay.is_none() && self.typing.is_none();
        is_asked && self.inbox.would_answer(key, self.clock)
    }

    fn inbox_move(&mut self, code: KeyCode) -> Vec<Effect> {
        match code {
            KeyCode::Down | KeyCode::Char('j') => self.inbox.step(1),
            KeyCode::Up | KeyCode::Char('k') => self.inbox.step(-1),
            KeyCode::Char('g') | KeyCode::Home => self.inbox.step(isize::MIN),
            KeyCode::Char('G') | KeyCode::End => self.inbox.step(isize::MAX),
            KeyCode::PageDown => self.scroll_card(self.card_page()),
            KeyCode::PageUp => self.scroll_card(-self.card_page()),
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

    /// Lines of a page of the card: one is seen on both, so that none is jumped over.
    fn card_page(&self) -> isize {
        isize::try_from(self.inbox.view.rows.saturating_sub(1)).unwrap_or(isize::MAX).max(1)
    }

    pub(in super::super) fn scroll_card(&mut self, by: isize) {
        let last = self.inbox.card().len().saturating_sub(self.inbox.view.rows.max(1));
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

/// Whether a letter can be an answer to some request.
fn is_answer(letter: char) -> bool {
    matches!(letter, 'o' | 'y' | 's' | 'a' | 'e' | 'd' | 'n' | 't' | '0'..='9')
}
