//! Where a message is written.
//! Owned by the state. Gives a text out only when a person sends it; a paste, however many lines, sends nothing.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_width::UnicodeWidthStr as _;

use crate::theme::Theme;

/// Rows it grows to.
const ROWS: usize = 6;
/// Texts that can be had back with the up key.
const REMEMBERED: usize = 50;

#[derive(Debug)]
pub struct Composer {
    area: TextArea<'static>,
    sent: Vec<String>,
    /// Which of the sent ones is shown, from the end.
    back: usize,
}

impl Composer {
    pub fn new() -> Self {
        Self { area: empty(), sent: Vec::new(), back: 0 }
    }

    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    pub fn is_empty(&self) -> bool {
        self.area.lines().iter().all(|line| line.trim().is_empty())
    }

    /// Takes a key. Returns what is to be sent.
    pub fn key(&mut self, key: KeyEvent) -> Option<String> {
        let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
        match key.code {
            KeyCode::Enter if plain && !key.modifiers.contains(KeyModifiers::SHIFT) => {
                return self.send();
            }
            KeyCode::Enter => self.area.insert_newline(),
            KeyCode::Char('j') if key.modifiers == KeyModifiers::CONTROL => {
                self.area.insert_newline();
            }
            KeyCode::Up if plain && (self.is_empty() || self.back > 0) => self.recall(1),
            KeyCode::Down if plain && self.back > 0 && self.is_on_last_line() => self.recall(-1),
            _ => {
                self.area.input(key);
            }
        }
        None
    }

    pub fn paste(&mut self, text: &str) {
        self.area.insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    /// Puts a text back that could not be sent, unless something else was begun.
    pub fn give_back(&mut self, text: &str) {
        if self.is_empty() {
            self.fill(text);
        }
    }

    /// Shows which keys act on it.
    pub fn focus(&mut self, has_focus: bool, theme: Theme) {
        let cursor = if has_focus { theme.selected() } else { theme.plain() };
        self.area.set_cursor_style(cursor);
        self.area.set_placeholder_style(theme.quiet());
    }

    /// What to say where nothing is written.
    pub fn invite(&mut self, words: &str) {
        if self.area.placeholder_text() != words {
            self.area.set_placeholder_text(words);
        }
    }

    /// Rows it wants at a width.
    pub fn rows(&self, width: u16) -> u16 {
        let width = usize::from(width.max(2)) - 1;
        let rows: usize = self.area.lines().iter().map(|line| line.width() / width + 1).sum();
        u16::try_from(rows.clamp(1, ROWS)).unwrap_or(1)
    }

    fn send(&mut self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let text = self.area.lines().join("\n").trim().to_owned();
        if self.sent.last() != Some(&text) {
            self.sent.push(text.clone());
        }
        if self.sent.len() > REMEMBERED {
            self.sent.remove(0);
        }
        self.back = 0;
        self.area = empty();
        Some(text)
    }

    fn is_on_last_line(&self) -> bool {
        self.area.cursor().0 + 1 >= self.area.lines().len()
    }

    fn recall(&mut self, step: isize) {
        let back = self.back.saturating_add_signed(step).min(self.sent.len());
        if back == self.back {
            return;
        }
        self.back = back;
        let place = self.sent.len().checked_sub(back);
        let text = place.and_then(|place| self.sent.get(place)).cloned().unwrap_or_default();
        self.fill(&text);
    }

    fn fill(&mut self, text: &str) {
        self.area = empty();
        self.area.insert_str(text);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }
}

fn empty() -> TextArea<'static> {
    let mut area = TextArea::default();
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(ratatui::style::Style::new());
    area
}
