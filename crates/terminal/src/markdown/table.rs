//! Lays a table out in a width.
//! Used by `blocks`. Cells are wrapped, never cut; a table that has no room for its columns is written row by row.

use pulldown_cmark::Alignment;
use ratatui::text::Line;

use super::wrap::{Break, Spans, columns, wrap};
use crate::theme::Theme;

/// A column narrower than this is hardly read.
const NARROWEST: usize = 4;
const BETWEEN: &str = " │ ";

pub struct Table {
    alignments: Vec<Alignment>,
    /// The first is the heading.
    rows: Vec<Vec<Spans>>,
    row: Vec<Spans>,
}

impl Table {
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self { alignments, rows: Vec::new(), row: Vec::new() }
    }

    pub fn cell(&mut self, cell: Spans) {
        self.row.push(cell);
    }

    pub fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    pub fn draw(
        &self,
        width: u16,
        theme: Theme,
        first: &Spans,
        rest: &Spans,
    ) -> Vec<Line<'static>> {
        let before: usize = rest.iter().map(|(text, _)| columns(text)).sum();
        let room = usize::from(width).saturating_sub(before);
        let lines = match self.widths(room) {
            Some(widths) => self.in_columns(&widths, theme),
            None => self.one_by_one(theme),
        };
        let mut before = first;
        let mut drawn = Vec::new();
        for line in lines {
            drawn.extend(wrap(&line, width, before, rest, Break::Words));
            before = rest;
        }
        drawn
    }

    /// Columns for each, or none where there is no room. Those that need less leave it to the others.
    fn widths(&self, room: usize) -> Option<Vec<usize>> {
        let count = self.alignments.len();
        let borders = BETWEEN.chars().count() * count.saturating_sub(1);
        let mut left = room.checked_sub(borders)?;
        let wanted: Vec<usize> = (0..count).map(|place| self.wanted(place)).collect();
        let mut by_width: Vec<(usize, usize)> = wanted.iter().copied().enumerate().collect();
        by_width.sort_by_key(|(_, wanted)| *wanted);
        let mut widths = vec![0; count];
        for (done, (place, wanted)) in by_width.into_iter().enumerate() {
            let share = left / (count - done);
            let given = wanted.min(share);
            if given < wanted.min(NARROWEST) {
                return None;
            }
            left -= given;
            if let Some(width) = widths.get_mut(place) {
                *width = given;
            }
        }
        Some(widths)
    }

    fn wanted(&self, place: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(place));
        cells.map(width_of).max().unwrap_or(0).max(1)
    }

    fn in_columns(&self, widths: &[usize], theme: Theme) -> Vec<Spans> {
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            lines.extend(self.row(row, widths, number == 0, theme));
            if number == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(vec![(rules.join("─┼─"), theme.quiet())]);
            }
        }
        lines
    }

    fn row(&self, row: &[Spans], widths: &[usize], is_head: bool, theme: Theme) -> Vec<Spans> {
        let none = Spans::new();
        let cells: Vec<Vec<Line<'static>>> = widths
            .iter()
            .enumerate()
            .map(|(place, width)| {
                let cell = row.get(place).unwrap_or(&none);
                let width = u16::try_from(*width).unwrap_or(u16::MAX);
                wrap(cell, width, &none, &none, Break::Words)
            })
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |at: usize| {
            let mut line = Spans::new();
            for (place, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if place > 0 {
                    line.push((BETWEEN.to_owned(), theme.quiet()));
                }
                let text: Spans = match cell.get(at) {
                    Some(text) => {
                        let spans = text.spans.iter();
                        spans.map(|span| (span.content.to_string(), span.style)).collect()
                    }
                    None => Spans::new(),
                };
                let (left, right) = self.margins(place, width.saturating_sub(width_of(&text)));
                line.push((" ".repeat(left), theme.plain()));
                let style = if is_head { theme.strong() } else { theme.plain() };
                line.extend(text.into_iter().map(|(text, own)| (text, style.patch(own))));
                line.push((" ".repeat(right), theme.plain()));
            }
            line
        };
        (0..height).map(line).collect()
    }

    fn margins(&self, place: usize, space: usize) -> (usize, usize) {
        match self.alignments.get(place) {
            Some(Alignment::Right) => (space, 0),
            Some(Alignment::Center) => (space / 2, space - space / 2),
            _ => (0, space),
        }
    }

    fn one_by_one(&self, theme: Theme) -> Vec<Spans> {
        let Some((head, rows)) = self.rows.split_first() else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        if rows.is_empty() {
            lines.extend(head.iter().cloned());
        }
        for row in rows {
            for (name, cell) in head.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
                let name =
                    name.iter().map(|(text, style)| (text.clone(), theme.strong().patch(*style)));
                let mut line: Spans = name.collect();
                line.push((": ".to_owned(), theme.strong()));
                line.extend(cell.iter().cloned());
                lines.push(line);
            }
            lines.push(vec![("─".repeat(NARROWEST), theme.quiet())]);
        }
        lines
    }
}

fn width_of(text: &Spans) -> usize {
    text.iter().map(|(text, _)| columns(text)).sum()
}
