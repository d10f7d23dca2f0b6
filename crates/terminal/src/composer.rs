//! The box a person types into: several lines, what was typed before, and completion.
//! Used by `chat` and `tui`, which hand it keys and draw it where they want. Sends nothing: what was entered is given back.

mod history;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_width::UnicodeWidthStr as _;

pub use history::{History, Kept};

use crate::completion::{Completion, Words, complete, is_name};
use crate::theme::Theme;

/// Rows of candidates that are shown at once.
const POPUP: usize = 6;
/// Bytes of a line in which nothing is offered without anybody asking: looking for it at every key would take too long.
const LONG: usize = 4_096;
/// What stands before the first line.
const PROMPT: &str = "> ";
const PROMPT_WIDTH: u16 = 2;

/// What a key led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// The person wants this to be sent. The box is empty.
    Entered(String),
    /// Something is to be drawn again.
    Redraw,
    /// The key means nothing here.
    Nothing,
}

#[derive(Debug)]
pub struct Composer {
    area: TextArea<'static>,
    history: History,
    popup: Option<Popup>,
    /// Nothing is offered for this word any more: somebody did not want it.
    is_refused: bool,
    theme: Theme,
}

#[derive(Debug)]
struct Popup {
    completion: Completion,
    /// None as long as nobody has chosen among what was offered: keys mean what they mean without it.
    chosen: Option<usize>,
}

impl Composer {
    pub fn new(theme: Theme, history: History) -> Self {
        Self { area: area(theme, Vec::new()), history, popup: None, is_refused: false, theme }
    }

    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub fn is_empty(&self) -> bool {
        self.area.lines().iter().all(String::is_empty)
    }

    /// Puts a text in place of what was typed, with the cursor at its end.
    pub fn set(&mut self, text: &str) {
        self.area = area(self.theme, text.split('\n').map(str::to_owned).collect());
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        self.popup = None;
        self.is_refused = false;
    }

    /// Takes what was typed, which is remembered.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.history.add(&text);
        self.set("");
        text
    }

    /// Text that was pasted: its line ends are line ends, and nothing in it is a key.
    pub fn paste(&mut self, text: &str) {
        self.popup = None;
        self.area.insert_str(text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    pub fn key(&mut self, key: KeyEvent, words: &Words) -> Typed {
        if self.popup.is_some()
            && let Some(typed) = self.popup_key(key)
        {
            return typed;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        match key.code {
            KeyCode::Enter if alt || key.modifiers.contains(KeyModifiers::SHIFT) => self.newline(),
            KeyCode::Char('j') if control => self.newline(),
            KeyCode::Enter | KeyCode::Char('m') if key.code == KeyCode::Enter || control => {
                match self.text().trim().is_empty() {
                    true => Typed::Nothing,
                    false => Typed::Entered(self.take()),
                }
            }
            KeyCode::Tab => self.complete(words),
            KeyCode::Up if !alt && self.is_on_first_row() => self.recall(History::older),
            KeyCode::Down if !alt && self.is_on_last_row() => self.recall(History::newer),
            KeyCode::Char('u') if control => {
                let typed = changed(self.area.delete_line_by_head());
                self.offer(words);
                typed
            }
            KeyCode::Char('_' | 'z') if control => changed(self.area.undo()),
            KeyCode::Esc | KeyCode::BackTab | KeyCode::PageUp | KeyCode::PageDown => Typed::Nothing,
            _ => {
                let before = self.area.cursor();
                let is_changed = self.area.input(key);
                self.offer(words);
                changed(is_changed || before != self.area.cursor())
            }
        }
    }

    fn newline(&mut self) -> Typed {
        self.area.insert_newline();
        Typed::Redraw
    }

    fn is_on_first_row(&self) -> bool {
        self.area.cursor().0 == 0
    }

    fn is_on_last_row(&self) -> bool {
        self.area.cursor().0 + 1 >= self.area.lines().len()
    }

    fn recall(&mut self, step: fn(&mut History, &str) -> Option<String>) -> Typed {
        let present = self.text();
        match step(&mut self.history, &present) {
            Some(text) => {
                self.set(&text);
                Typed::Redraw
            }
            None => Typed::Nothing,
        }
    }

    // For whoever draws other things beside it.

    /// Whether candidates are offered, so that keys choose among them.
    pub fn is_completing(&self) -> bool {
        self.popup.is_some()
    }

    /// Whether somebody has chosen one of them, so that Enter takes it.
    pub fn has_chosen(&self) -> bool {
        self.popup.as_ref().is_some_and(|popup| popup.chosen.is_some())
    }

    /// Shows or hides the cursor.
    pub fn focus(&mut self, has_focus: bool) {
        let cursor = if has_focus { self.theme.selected() } else { self.theme.plain() };
        self.area.set_cursor_style(cursor);
    }

    /// What to say where nothing is written.
    pub fn invite(&mut self, words: &str) {
        if self.area.placeholder_text() != words {
            self.area.set_placeholder_text(words);
            self.area.set_placeholder_style(self.theme.quiet());
        }
    }

    // Completion.

    fn complete(&mut self, words: &Words) -> Typed {
        let (before, is_first_line) = self.before_cursor();
        let Some(completion) = complete(&before, is_first_line, words) else {
            return Typed::Nothing;
        };
        let is_only_one = completion.candidates.len() == 1;
        self.popup = Some(Popup { completion, chosen: Some(0) });
        if is_only_one { self.choose(0) } else { Typed::Redraw }
    }

    /// Offers what the name at the cursor could become, without anybody asking.
    fn offer(&mut self, words: &Words) {
        let line = self.area.lines().get(self.area.cursor().0);
        if line.is_some_and(|line| line.len() > LONG) {
            self.popup = None;
            return;
        }
        let (before, is_first_line) = self.before_cursor();
        let is_name = is_name(&before, is_first_line);
        self.is_refused &= is_name;
        self.popup = match is_name && !self.is_refused {
            true => complete(&before, is_first_line, words)
                .map(|completion| Popup { completion, chosen: None }),
            false => None,
        };
    }

    /// The line up to the cursor, and whether it is the first.
    fn before_cursor(&self) -> (String, bool) {
        let cursor = self.area.cursor();
        let line = self.area.lines().get(cursor.0).map_or("", String::as_str);
        (line.chars().take(cursor.1).collect(), cursor.0 == 0)
    }

    fn popup_key(&mut self, key: KeyEvent) -> Option<Typed> {
        let popup = self.popup.as_mut()?;
        let last = popup.completion.candidates.len().saturating_sub(1);
        match (key.code, popup.chosen) {
            (KeyCode::Tab, None) if last == 0 => return Some(self.choose(0)),
            (KeyCode::Tab | KeyCode::Down, chosen) => {
                popup.chosen = Some(chosen.map_or(0, |at| if at >= last { 0 } else { at + 1 }));
            }
            (KeyCode::BackTab | KeyCode::Up, chosen) => {
                popup.chosen = Some(chosen.and_then(|at| at.checked_sub(1)).unwrap_or(last));
            }
            (KeyCode::Enter | KeyCode::Right, Some(chosen)) => return Some(self.choose(chosen)),
            (KeyCode::Esc, _) => {
                self.popup = None;
                self.is_refused = true;
            }
            _ => {
                self.popup = None;
                return None;
            }
        }
        Some(Typed::Redraw)
    }

    fn choose(&mut self, chosen: usize) -> Typed {
        if let Some(Popup { completion, .. }) = self.popup.take()
            && let Some(candidate) = completion.candidates.get(chosen)
        {
            for _ in 0..completion.typed {
                self.area.delete_char();
            }
            self.area.insert_str(&candidate.text);
        }
        Typed::Redraw
    }

    // Drawing.

    /// Rows it wants at a width, the candidates among them.
    pub fn height(&self, width: u16) -> u16 {
        let room = usize::from(width.saturating_sub(PROMPT_WIDTH)).max(1);
        // One more than the text needs: the cursor stands behind it.
        let rows: usize =
            self.area.lines().iter().map(|line| (line.width() + 1).div_ceil(room).max(1)).sum();
        let popup = self.popup.as_ref().map_or(0, |popup| popup.shown().count());
        u16::try_from(rows + popup).unwrap_or(u16::MAX)
    }

    /// Draws it, the cursor included.
    pub fn draw(&self, area: Rect, buffer: &mut Buffer) {
        let popup: Vec<Line<'static>> = match &self.popup {
            Some(popup) => popup.shown().map(|row| popup.line(row, self.theme)).collect(),
            None => Vec::new(),
        };
        let above =
            u16::try_from(popup.len()).unwrap_or(u16::MAX).min(area.height.saturating_sub(1));
        for (row, line) in (area.y..area.y + above).zip(popup) {
            line.render(Rect { y: row, height: 1, ..area }, buffer);
        }
        let below = Rect { y: area.y + above, height: area.height - above, ..area };
        Span::styled(PROMPT, self.theme.person()).render(Rect { height: 1, ..below }, buffer);
        let indent = PROMPT_WIDTH.min(below.width);
        let text = Rect { x: below.x + indent, width: below.width - indent, ..below };
        if text.width > 0 && text.height > 0 {
            self.area.render(text, buffer);
        }
    }
}

impl Popup {
    /// Which candidates are shown: a few around the chosen one.
    fn shown(&self) -> std::ops::Range<usize> {
        let count = self.completion.candidates.len();
        let start = (self.chosen.unwrap_or(0) + 1).saturating_sub(POPUP);
        start..count.min(start + POPUP)
    }

    fn line(&self, row: usize, theme: Theme) -> Line<'static> {
        let Some(candidate) = self.completion.candidates.get(row) else {
            return Line::default();
        };
        let style = if Some(row) == self.chosen { theme.selected() } else { theme.plain() };
        // What each is about stands in one column, whichever are shown.
        let widest = self.completion.candidates.iter().map(|one| one.text.width()).max();
        let gap = " ".repeat(widest.unwrap_or(0).saturating_sub(candidate.text.width()) + 1);
        let more = self.completion.candidates.len().saturating_sub(row + 1);
        let is_last = row + 1 == self.shown().end && more > 0;
        let more = if is_last { format!("  … {more} more") } else { String::new() };
        Line::from(vec![
            Span::raw("  "),
            Span::styled(candidate.text.clone(), style),
            Span::styled(format!("{gap}{}{more}", candidate.about), theme.quiet()),
        ])
    }
}

fn area(theme: Theme, lines: Vec<String>) -> TextArea<'static> {
    let mut area = TextArea::new(lines);
    area.set_wrap_mode(WrapMode::Glyph);
    area.set_cursor_line_style(theme.plain());
    area.set_cursor_style(theme.selected());
    area
}

fn changed(changed: bool) -> Typed {
    if changed { Typed::Redraw } else { Typed::Nothing }
}

#[cfg(test)]
#[path = "composer/tests.rs"]
mod tests;
