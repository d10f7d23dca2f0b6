//! Text that a person types as part of an answer: one line, or JSON.
//! Used by `deciding`. Never decides anything; shows hidden characters of what it holds.

use agent_world_core::display::without_hidden;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;
use ratatui_textarea::{CursorMove, TextArea};
use serde_json::Value;

use super::Outcome;
use super::window::Window;
use crate::markdown::Spans;
use crate::theme::Theme;

/// Rows of a long text that are shown around the cursor.
const WINDOW: usize = 15;

/// Columns by which JSON is indented.
const INDENT: u16 = 2;

#[derive(Clone, Debug)]
pub struct Input {
    area: TextArea<'static>,
    lines: Lines,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    One,
    Many,
}

/// Whether a key ends a text of several lines.
pub fn sends(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('s') => key.modifiers == KeyModifiers::CONTROL,
        KeyCode::Enter => key.modifiers == KeyModifiers::ALT,
        _ => false,
    }
}

impl Input {
    pub fn line() -> Self {
        Self { area: TextArea::default(), lines: Lines::One }
    }

    /// Begins with a line, at its end.
    pub fn line_of(text: &str) -> Self {
        let mut area = TextArea::new(vec![text.to_owned()]);
        area.move_cursor(CursorMove::End);
        Self { area, lines: Lines::One }
    }

    /// Begins with several lines, at the first.
    pub fn lines_of(text: &str) -> Self {
        let mut area = TextArea::new(text.lines().map(str::to_owned).collect());
        area.set_tab_length(2);
        area.move_cursor(CursorMove::Top);
        Self { area, lines: Lines::Many }
    }

    /// Whether a key ends this text.
    pub fn is_sent_by(&self, key: KeyEvent) -> bool {
        sends(key) || (self.is_line() && key.code == KeyCode::Enter)
    }

    pub fn is_line(&self) -> bool {
        self.lines == Lines::One
    }

    /// Begins with a value.
    pub fn json(value: &Value) -> Self {
        let text = escape_hidden(&format!("{value:#}"));
        let mut input = Self::lines_of(&text);
        // The first line of an object is its brace alone; what can be changed is below.
        if input.area.lines().len() > 2 {
            input.area.move_cursor(CursorMove::Jump(1, INDENT));
        }
        input
    }

    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub fn key(&mut self, key: KeyEvent) -> Outcome {
        let makes_line = key.code == KeyCode::Enter
            || (key.code == KeyCode::Char('m') && key.modifiers == KeyModifiers::CONTROL);
        if self.lines == Lines::One && makes_line {
            return Outcome::Nothing;
        }
        // What shells do, where the area would undo.
        let clears = key.code == KeyCode::Char('u') && key.modifiers == KeyModifiers::CONTROL;
        if self.lines == Lines::One && clears {
            self.area.delete_line_by_head();
            return Outcome::Redraw;
        }
        let before = self.area.cursor();
        let changed = self.area.input(key);
        if changed || self.area.cursor() != before { Outcome::Redraw } else { Outcome::Nothing }
    }

    pub fn insert(&mut self, text: &str) -> Outcome {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = match self.lines {
            Lines::One => text.trim_end().replace('\n', " "),
            Lines::Many => text,
        };
        self.area.insert_str(text);
        Outcome::Redraw
    }

    /// What is there, with the cursor in it.
    pub fn draw(&self, before: &str, width: u16, theme: Theme) -> Vec<Line<'static>> {
        self.draw_within(WINDOW, before, width, theme)
    }

    /// As `draw`, in so many rows around the cursor at most, however long a line is. What is left out is counted.
    pub fn draw_within(
        &self,
        most: usize,
        before: &str,
        width: u16,
        theme: Theme,
    ) -> Vec<Line<'static>> {
        let prompt: Spans = vec![(before.to_owned(), theme.question())];
        let indent: Spans = vec![(" ".repeat(before.chars().count().min(4)), theme.plain())];
        let window = Window { rows: most.clamp(1, WINDOW), width, prompt, indent, theme };
        window.draw(self.area.lines(), (self.area.cursor().0, self.area.cursor().1))
    }
}

// As JSON writes them, so that they can be seen and stay what they are.
pub fn escape_hidden(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        let mut bytes = [0; 4];
        let is_hidden = without_hidden(character.encode_utf8(&mut bytes)).is_empty();
        if is_hidden && character != '\n' {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(character);
        }
    }
    escaped
}
