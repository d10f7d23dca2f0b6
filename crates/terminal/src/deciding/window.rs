//! Shows the part of a text that is around the cursor, in few rows, and counts what is left out above and below.
//! Used by `input` for each frame. Lays out no more of the text than can be seen, so that a line of any length costs the same.

use agent_world_core::display::reveal;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::markdown::{Spans, columns};
use crate::theme::Theme;

/// Columns between the places where tabs lead.
const TAB: usize = 4;
/// What stands for a character that is wider than a row.
const TOO_WIDE: &str = "…";

#[derive(Debug)]
pub struct Window {
    /// Rows of the text at most.
    pub rows: usize,
    pub width: u16,
    /// What stands before the first line, and before all other rows.
    pub prompt: Spans,
    pub indent: Spans,
    pub theme: Theme,
}

/// A row of a line, with the characters it holds.
struct Row {
    at: usize,
    from: usize,
    until: usize,
    cells: Vec<Cell>,
}

struct Cell {
    text: String,
    has_cursor: bool,
}

impl Window {
    pub fn draw(&self, lines: &[String], cursor: (usize, usize)) -> Vec<Line<'static>> {
        let (row, column) = cursor;
        let around = lines.iter().enumerate().take(row + self.rows + 1);
        let rows: Vec<Row> = around
            .skip(row.saturating_sub(self.rows))
            .flat_map(|(at, line)| self.rows_of(at, line, (at == row).then_some(column), at < row))
            .collect();
        let has_cursor = |row: &Row| row.cells.iter().any(|cell| cell.has_cursor);
        let place = rows.iter().position(has_cursor).unwrap_or(0);
        let above = place.saturating_sub(self.rows / 2).min(rows.len().saturating_sub(self.rows));
        let shown: Vec<&Row> = rows.iter().skip(above).take(self.rows).collect();
        let before = shown.first().and_then(|row| self.left_out(row.at, row.from, "above"));
        let after = shown.last().and_then(|row| {
            let length = lines.get(row.at).map_or(0, |line| line.chars().count());
            let below = lines.len().saturating_sub(row.at + 1);
            self.left_out(below, length.saturating_sub(row.until), "below")
        });
        let shown = shown.into_iter().map(|row| self.line(row));
        before.into_iter().chain(shown).chain(after).collect()
    }

    /// The rows of a line that can be near the cursor: of a long one those around the cursor, or its end or beginning where
    /// the cursor is below or above.
    fn rows_of(&self, at: usize, line: &str, cursor: Option<usize>, is_above: bool) -> Vec<Row> {
        let block = self.rows * self.room(self.start(usize::MAX, 0));
        let length = line.chars().count();
        let nearest = cursor.unwrap_or(if is_above { length } else { 0 });
        // Begins at a place that stays while the cursor moves about: what is read must not jump.
        let from = (nearest / block).saturating_sub(1) * block;
        let characters: Vec<char> = line.chars().skip(from).take(3 * block).collect();
        let mut rows = Rows { window: self, at, all: Vec::new(), used: 0 };
        rows.begin(from);
        for (place, character) in characters.iter().enumerate() {
            let follows = characters.get(place + 1..place + 3) == Some(&['u', '{']);
            let cell = shown(*character, follows, rows.used);
            rows.put(from + place, cell, cursor == Some(from + place));
        }
        if cursor.is_some_and(|cursor| cursor >= length) {
            rows.put(length, " ".to_owned(), true);
        }
        rows.all
    }

    /// Columns for the text behind what a row begins with.
    fn room(&self, start: &[(String, Style)]) -> usize {
        let taken: usize = start.iter().map(|(text, _)| columns(text)).sum();
        usize::from(self.width).saturating_sub(taken).max(1)
    }

    /// What a row begins with; nothing where that would leave no room.
    fn start(&self, at: usize, from: usize) -> &[(String, Style)] {
        let start = if (at, from) == (0, 0) { &self.prompt } else { &self.indent };
        let taken: usize = start.iter().map(|(text, _)| columns(text)).sum();
        if taken < usize::from(self.width) { start } else { &[] }
    }

    fn line(&self, row: &Row) -> Line<'static> {
        let start = self.start(row.at, row.from).iter().filter(|(text, _)| !text.is_empty());
        let mut spans: Vec<Span<'static>> =
            start.map(|(text, style)| Span::styled(text.clone(), *style)).collect();
        for cells in row.cells.chunk_by(|one, next| one.has_cursor == next.has_cursor) {
            let has_cursor = cells.iter().any(|cell| cell.has_cursor);
            let style = if has_cursor { self.theme.selected() } else { self.theme.plain() };
            let text: String = cells.iter().map(|cell| cell.text.as_str()).collect();
            spans.push(Span::styled(text, style));
        }
        Line::from(spans)
    }

    fn left_out(&self, lines: usize, characters: usize, place: &str) -> Option<Line<'static>> {
        let of_line = match characters {
            0 => None,
            1 => Some("1 character".to_owned()),
            count => Some(format!("{count} characters")),
        };
        let what = match (lines, of_line) {
            (0, None) => return None,
            (0, Some(of_line)) => of_line,
            (lines, None) => lines.to_string(),
            (1, Some(of_line)) => format!("1 line, {of_line}"),
            (lines, Some(of_line)) => format!("{lines} lines, {of_line}"),
        };
        // One row, however narrow: keys have to fit below.
        let texts = [format!("  … {what} more {place}"), format!("… more {place}"), "…".to_owned()];
        let text = texts.into_iter().find(|text| columns(text) <= usize::from(self.width));
        text.map(|text| Line::styled(text, self.theme.quiet()))
    }
}

/// Rows as they fill.
struct Rows<'w> {
    window: &'w Window,
    at: usize,
    all: Vec<Row>,
    used: usize,
}

impl Rows<'_> {
    fn begin(&mut self, from: usize) {
        self.all.push(Row { at: self.at, from, until: from, cells: Vec::new() });
        self.used = 0;
    }

    fn put(&mut self, place: usize, text: String, has_cursor: bool) {
        let from = self.all.last().map_or(0, |row| row.from);
        let room = self.window.room(self.window.start(self.at, from));
        let fits = columns(&text) <= room;
        let text = if fits { text } else { TOO_WIDE.to_owned() };
        if self.used + columns(&text) > room {
            self.begin(place);
        }
        self.used += columns(&text);
        if let Some(row) = self.all.last_mut() {
            row.until = place + 1;
            row.cells.push(Cell { text, has_cursor });
        }
    }
}

/// How a character looks at a column. `follows`: what is behind it makes it look like one that was made visible.
fn shown(character: char, follows: bool, column: usize) -> String {
    let mut bytes = [0; 4];
    match character {
        '\t' => " ".repeat(TAB - column % TAB),
        '\\' if follows => reveal("\\u{").trim_end_matches("u{").to_owned(),
        character => reveal(character.encode_utf8(&mut bytes)).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &[String], cursor: (usize, usize), rows: usize, width: u16) -> Vec<String> {
        let theme = Theme::new(false);
        let plain = |text: &str| vec![(text.to_owned(), theme.plain())];
        let window = Window { rows, width, prompt: plain("$ "), indent: plain("  "), theme };
        window.draw(lines, cursor).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_short_is_shown_whole() {
        let lines = ["one".to_owned(), "a\tb\u{202e}c\\u{41}".to_owned()];
        let seen = drawn(&lines, (0, 3), 15, 40);
        assert_eq!(seen, ["$ one ", r"  a   b\u{202E}c\u{5C}u{41}"]);
    }

    #[test]
    fn of_a_long_line_the_part_around_the_cursor_is_shown_and_the_rest_is_counted() {
        let line: String =
            (0..100_000).map(|number| char::from(b'a' + (number % 26) as u8)).collect();
        let lines = ["{".to_owned(), line.clone(), "}".to_owned()];
        for column in [0, 1, 77, 50_000, 99_999, 100_000] {
            let seen = drawn(&lines, (1, column), 5, 42);
            assert!(seen.len() <= 7, "{seen:?}");
            assert!(seen.iter().all(|row| columns(row) <= 42), "{seen:?}");
            let counted = |place: &str| {
                let row = seen.iter().find(|row| row.ends_with(place));
                let words = row.map(|row| row.split(' ').collect::<Vec<_>>());
                let at = words
                    .as_ref()
                    .and_then(|words| words.iter().position(|word| *word == "characters"));
                at.and_then(|at| words?.get(at - 1)?.parse::<usize>().ok()).unwrap_or(0)
            };
            let is_text = |row: &&String| !row.contains('…') && !row.contains(['{', '}', '$']);
            let text: String = seen.iter().filter(is_text).map(|row| row.trim()).collect();
            let above = counted("above");
            assert_eq!(text, line[above..above + text.len()], "at {column}: {seen:?}");
            assert_eq!(above + text.len() + counted("below"), line.len(), "at {column}: {seen:?}");
            assert!((above..=above + text.len()).contains(&column), "at {column}: {seen:?}");
        }
    }

    #[test]
    fn a_character_wider_than_a_row_is_not_lost_silently() {
        assert_eq!(drawn(&["\u{202e}".to_owned()], (0, 1), 3, 6), ["$ … "]);
    }
}
