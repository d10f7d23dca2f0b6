//! Gives out a line that is too long to wait for its end, as plain text.
//! Used by `stream`. What it gives does not depend on the pieces that the line came in.

use agent_world_core::display::reveal;
use ratatui::style::Style;
use ratatui::text::Line;

use super::wrap::width_of;

#[derive(Clone, Debug)]
pub struct Long {
    indent: &'static str,
    style: Style,
    line: String,
    used: usize,
}

impl Long {
    pub fn new(indent: &'static str, style: Style) -> Self {
        Self { indent, style, line: String::new(), used: 0 }
    }

    /// Returns what cannot be told yet: the beginning of an escape, or of a line break.
    pub fn push(&mut self, piece: &str, width: u16, out: &mut Vec<Line<'static>>) -> String {
        let held = ["\\u", "\\", "\r"].into_iter().find(|end| piece.ends_with(end)).unwrap_or("");
        let ready = piece.strip_suffix(held).unwrap_or(piece);
        for character in reveal(ready).chars() {
            self.put(character, usize::from(width), out);
        }
        held.to_owned()
    }

    pub fn end(mut self, held: &str, width: u16) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        // A line break may have been CRLF.
        for character in reveal(held.strip_suffix('\r').unwrap_or(held)).chars() {
            self.put(character, usize::from(width), &mut out);
        }
        out.push(self.take(usize::from(width)));
        out
    }

    fn put(&mut self, character: char, width: usize, out: &mut Vec<Line<'static>>) {
        let character = if character == '\t' { ' ' } else { character };
        let room = width.saturating_sub(self.indent(width).len()).max(1);
        let character = if width_of(character) > room { '…' } else { character };
        if self.used + width_of(character) > room {
            out.push(self.take(width));
        }
        self.line.push(character);
        self.used += width_of(character);
    }

    // As elsewhere, it leaves at least half of the line.
    fn indent(&self, width: usize) -> &'static str {
        if self.indent.len() <= width / 2 { self.indent } else { "" }
    }

    fn take(&mut self, width: usize) -> Line<'static> {
        self.used = 0;
        let line = std::mem::take(&mut self.line);
        Line::styled(format!("{}{line}", self.indent(width)), self.style)
    }
}
