//! Breaks styled text into lines of a width.
//! Used by everything that draws text. No line it gives is wider than was asked for, whatever the text; nothing but a space at
//! the end of a line is left out.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Columns between the places where tabs lead.
const TAB: usize = 4;

/// Where a line may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// Between words, and inside one only where it is wider than a line.
    Words,
    /// Anywhere: every character counts.
    Anywhere,
}

/// A text with its styles, before it is broken. A line break in it always breaks.
pub type Spans = Vec<(String, Style)>;

/// Lines of a text, the first of which begins with `first` and the others with `rest`.
pub fn wrap(
    text: &Spans,
    width: u16,
    first: &Spans,
    rest: &Spans,
    at: Break,
) -> Vec<Line<'static>> {
    let mut wrapping = Wrapping::new(usize::from(width.max(1)), first, rest, at);
    for (text, style) in text {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                wrapping.end_line();
            }
            wrapping.text(line, *style);
        }
    }
    wrapping.end_line();
    wrapping.lines
}

/// How many columns a text takes.
pub fn columns(text: &str) -> usize {
    // Characters on their own are never narrower than together.
    text.chars().map(width_of).sum::<usize>().max(text.width())
}

pub(super) fn width_of(character: char) -> usize {
    character.width().unwrap_or(1)
}

struct Wrapping<'a> {
    width: usize,
    rest: &'a Spans,
    at: Break,
    lines: Vec<Line<'static>>,
    line: Spans,
    used: usize,
    /// Columns that the beginning of the line took.
    indent: usize,
    /// A word that may have to go to the next line.
    word: Spans,
    word_width: usize,
    /// Spaces between the line and the word.
    gap: Spans,
    gap_width: usize,
}

impl<'a> Wrapping<'a> {
    fn new(width: usize, first: &Spans, rest: &'a Spans, at: Break) -> Self {
        let mut wrapping = Self {
            width,
            rest,
            at,
            lines: Vec::new(),
            line: Vec::new(),
            used: 0,
            indent: 0,
            word: Vec::new(),
            word_width: 0,
            gap: Vec::new(),
            gap_width: 0,
        };
        wrapping.begin_line(first);
        wrapping
    }

    // What is written before a line leaves at least half of it.
    fn begin_line(&mut self, with: &Spans) {
        let most = self.width / 2;
        self.used = 0;
        for (text, style) in with {
            for character in text.chars() {
                if self.used + width_of(character) <= most {
                    push(&mut self.line, character, *style);
                    self.used += width_of(character);
                }
            }
        }
        self.indent = self.used;
    }

    fn text(&mut self, text: &str, style: Style) {
        for character in text.chars() {
            if character == '\t' {
                self.tab(style);
                continue;
            }
            // A character that is wider than any line can be is not shown as itself.
            let fits = width_of(character) <= self.width.saturating_sub(self.indent).max(1);
            let character = if fits { character } else { '…' };
            match (self.at, character) {
                (Break::Words, ' ') => self.space(style),
                (Break::Words, _) => self.in_word(character, style),
                (Break::Anywhere, _) => self.put(character, style),
            }
        }
    }

    fn tab(&mut self, style: Style) {
        let column = self.used + self.gap_width + self.word_width - self.indent;
        for _ in 0..TAB - column % TAB {
            match self.at {
                Break::Words => self.space(style),
                Break::Anywhere => self.put(' ', style),
            }
        }
    }

    fn space(&mut self, style: Style) {
        self.end_word();
        push(&mut self.gap, ' ', style);
        self.gap_width += 1;
    }

    fn in_word(&mut self, character: char, style: Style) {
        push(&mut self.word, character, style);
        self.word_width += width_of(character);
        // Longer than any line: no use in keeping it together.
        if self.word_width > self.width.saturating_sub(self.indent) {
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let gap = std::mem::take(&mut self.gap);
        let (word_width, gap_width) = (self.word_width, self.gap_width);
        (self.word_width, self.gap_width) = (0, 0);
        let fits_here = self.used + gap_width + word_width <= self.width;
        let fits_a_line = self.indent + word_width <= self.width;
        if fits_here || !fits_a_line || self.used == self.indent {
            self.put_all(&gap);
        } else {
            self.next_line();
        }
        self.put_all(&word);
    }

    fn put_all(&mut self, spans: &Spans) {
        for (text, style) in spans {
            for character in text.chars() {
                self.put(character, *style);
            }
        }
    }

    fn put(&mut self, character: char, style: Style) {
        let width = width_of(character);
        if self.used + width > self.width {
            self.next_line();
        }
        push(&mut self.line, character, style);
        self.used += width;
    }

    fn end_line(&mut self) {
        self.end_word();
        (self.gap, self.gap_width) = (Vec::new(), 0);
        self.next_line();
    }

    fn next_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let spans: Vec<Span<'static>> =
            line.into_iter().map(|(text, style)| Span::styled(text, style)).collect();
        self.lines.push(Line::from(spans));
        let rest = self.rest;
        self.begin_line(rest);
    }
}

fn push(spans: &mut Spans, character: char, style: Style) {
    match spans.last_mut() {
        Some((text, last)) if *last == style => text.push(character),
        _ => spans.push((character.to_string(), style)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, width: u16, at: Break) -> Vec<String> {
        let spans = |text: &str| vec![(text.to_owned(), Style::new())];
        let lines = wrap(&spans(text), width, &spans("> "), &spans("  "), at);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        assert_eq!(lines("one two three", 9, Break::Words), ["> one two", "  three"]);
        assert_eq!(lines("a bbbbbbbbbb c", 6, Break::Words), ["> a bb", "  bbbb", "  bbbb", "  c"]);
        assert_eq!(lines("  a  b\n\nc", 9, Break::Words), [">   a  b", "  ", "  c"]);
        assert_eq!(lines("", 9, Break::Words), ["> "]);
    }

    #[test]
    fn every_character_counts_where_that_is_wanted() {
        assert_eq!(lines("a b  c d", 6, Break::Anywhere), ["> a b ", "   c d"]);
        assert_eq!(lines("a\tb", 9, Break::Anywhere), ["> a   b"]);
    }

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(lines("東京都", 6, Break::Words), ["> 東京", "  都"]);
        assert_eq!(lines("e\u{301}e\u{301}e", 4, Break::Anywhere), ["> e\u{301}e\u{301}", "  e"]);
        // Where there is no room for one, it is said that something is there.
        assert_eq!(lines("東", 1, Break::Words), ["…"]);
    }
}
