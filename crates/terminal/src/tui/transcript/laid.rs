//! Lays out a long text piece by piece: only so much for each frame, and never the same twice.
//! Used by `rendered` for replies and reasoning, and by `details` for its budget. Text that is still written is laid out on
//! from where it was. What is longer than anybody reads on a screen is cut, and says so.

use ratatui::text::Line;

use super::super::words;
use crate::markdown;
use crate::theme::Theme;

/// Lines that are made of one text; all of it can be had as a file.
pub const MOST_LINES: usize = 20_000;
/// Bytes of text that one frame may lay out, and lines that it may make.
pub const BYTES: usize = 16 * 1024;
pub const LINES: usize = 1_000;
/// Bytes that are laid out at once.
pub const CHUNK: usize = 2 * 1024;
/// What a byte of code costs, in bytes of text.
const CODE: usize = 16;
/// Bytes of the end of what was laid out that tell whether a text was continued or replaced.
const TRACE: usize = 64;

/// What a frame may still cost, and what it has cost.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes of text that may still be laid out.
    pub bytes: usize,
    /// Lines that were made.
    pub made: usize,
}

impl Budget {
    pub fn of_frame() -> Self {
        Self { bytes: BYTES, made: 0 }
    }

    pub fn is_spent(&self) -> bool {
        self.bytes == 0 || self.made >= LINES
    }

    pub fn spend(&mut self, bytes: usize, lines: usize) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.made += lines;
    }
}

/// As much of the beginning of a text as is laid out at once.
pub fn piece(text: &str) -> &str {
    start(text, CHUNK)
}

fn start(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// A text as lines, as far as it is laid out.
#[derive(Debug)]
pub struct Laid {
    theme: Theme,
    lines: markdown::Lines,
    /// Bytes that are laid out, and what they ended with.
    done: usize,
    trace: String,
    body: Vec<Line<'static>>,
    tail: Vec<Line<'static>>,
    pub is_complete: bool,
}

impl Laid {
    pub fn new(theme: Theme) -> Self {
        Self {
            theme,
            lines: markdown::Lines::new(theme),
            done: 0,
            trace: String::new(),
            body: Vec::new(),
            tail: Vec::new(),
            is_complete: false,
        }
    }

    /// What will not change any more, and what follows it.
    pub fn parts(&self) -> [&[Line<'static>]; 2] {
        [&self.body, &self.tail]
    }

    /// Goes on with a text, within a budget. `dress` is done to every line.
    pub fn update(
        &mut self,
        text: &str,
        width: u16,
        budget: &mut Budget,
        dress: impl Fn(Line<'static>) -> Line<'static>,
    ) {
        if !self.continues(text) {
            *self = Self::new(self.theme);
        }
        self.is_complete = false;
        while self.done < text.len() && !budget.is_spent() && self.body.len() < MOST_LINES {
            let rest = text.get(self.done..).unwrap_or_default();
            let cost = if self.lines.is_in_code() { CODE } else { 1 };
            let piece = start(rest, CHUNK / cost);
            self.lines.push(piece);
            let made = self.lines.finished(width);
            budget.spend(piece.len() * cost, made.len());
            self.body.extend(made.into_iter().map(&dress));
            self.done += piece.len();
        }
        let laid = text.get(..self.done).unwrap_or_default();
        let start = laid.floor_char_boundary(laid.len().saturating_sub(TRACE));
        laid.get(start..).unwrap_or_default().clone_into(&mut self.trace);
        self.tail = self.rest(text, width);
        if self.is_complete && self.body.len() < MOST_LINES {
            self.tail = std::mem::take(&mut self.tail).into_iter().map(dress).collect();
        }
        budget.made += self.tail.len();
    }

    fn continues(&self, text: &str) -> bool {
        text.get(..self.done).is_some_and(|laid| laid.ends_with(&self.trace))
    }

    /// What follows the lines that are finished.
    fn rest(&mut self, text: &str, width: u16) -> Vec<Line<'static>> {
        let left = text.len() - self.done.min(text.len());
        if self.body.len() >= MOST_LINES {
            self.body.truncate(MOST_LINES);
            self.is_complete = true;
            let more = format!("… {} more; w writes all of it to a file", words::size(left));
            return vec![Line::styled(more, self.theme.quiet())];
        }
        if left > 0 {
            let percent = self.done * 100 / text.len().max(1);
            return vec![Line::styled(format!("… {percent} % laid out"), self.theme.quiet())];
        }
        self.is_complete = true;
        let mut tail = self.lines.tail(width);
        tail.truncate(MOST_LINES);
        tail
    }
}
