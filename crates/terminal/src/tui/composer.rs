//! Where a message is written, with a text of its own for every chat.
//! Owned by the state. The box is that of `crate::composer`; here is only which text is in it. Gives a text out only when a
//! person sends it; a paste, however many lines, sends nothing.

use std::collections::HashMap;

use crossterm::event::KeyEvent;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::completion::Words;
use crate::composer::{self, History, Typed};
use crate::theme::Theme;

/// Rows it grows to, the candidates of a completion among them.
const ROWS: u16 = 8;

#[derive(Debug)]
pub struct Composer {
    inside: composer::Composer,
    /// The chat that is written to; none where a new one would be made.
    chat: Option<String>,
    drafts: HashMap<Option<String>, String>,
}

impl Composer {
    pub fn new(theme: Theme) -> Self {
        let inside = composer::Composer::new(theme, History::default());
        Self { inside, chat: None, drafts: HashMap::new() }
    }

    /// What was begun for another chat is put away, and what was begun for this one is there again. What was begun before any
    /// chat was open goes along.
    pub fn turn_to(&mut self, chat: Option<&str>) {
        if self.chat.as_deref() == chat {
            return;
        }
        let left = std::mem::replace(&mut self.chat, chat.map(ToOwned::to_owned));
        let text = self.inside.text();
        if left.is_none() && !self.drafts.contains_key(&self.chat) {
            return;
        }
        if !text.trim().is_empty() {
            self.drafts.insert(left, text);
        }
        let text = self.drafts.remove(&self.chat).unwrap_or_default();
        self.inside.set(&text);
    }

    pub fn is_empty(&self) -> bool {
        self.inside.text().trim().is_empty()
    }

    pub fn is_completing(&self) -> bool {
        self.inside.is_completing()
    }

    pub fn has_chosen(&self) -> bool {
        self.inside.has_chosen()
    }

    pub fn key(&mut self, key: KeyEvent, words: &Words) -> Typed {
        self.inside.key(key, words)
    }

    pub fn paste(&mut self, text: &str) {
        self.inside.paste(text);
    }

    /// Puts a text in place of what was written.
    pub fn set(&mut self, text: &str) {
        self.inside.set(text);
    }

    /// Puts a text back that could not be sent, in the chat it was for, unless something else was begun there. Says whether
    /// it is there.
    pub fn give_back(&mut self, chat: Option<&str>, text: &str) -> bool {
        let chat = chat.map(ToOwned::to_owned);
        if self.chat != chat {
            let is_free = !self.drafts.contains_key(&chat);
            self.drafts.entry(chat).or_insert_with(|| text.to_owned());
            return is_free;
        }
        let is_free = self.is_empty();
        if is_free {
            self.inside.set(text);
        }
        is_free
    }

    /// Shows whether keys act on it, and what to do where nothing is written.
    pub fn arrange(&mut self, has_focus: bool, invitation: &str) {
        self.inside.focus(has_focus);
        self.inside.invite(invitation);
    }

    /// Rows it wants at a width.
    pub fn rows(&self, width: u16) -> u16 {
        self.inside.height(width).clamp(1, ROWS)
    }

    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        self.inside.draw(area, buffer);
    }
}
