//! Turns what somebody wrote into lines of a terminal.
//! Used by everything that shows a message. Hidden characters are made visible, so that no text can move the cursor, hide
//! itself or pass for another's line.

mod blocks;
mod code;
mod line;
mod long;
mod stream;
mod table;
mod wrap;

use agent_world_core::display::reveal_once;
use ratatui::text::{Line, Span, Text};

use crate::theme::Theme;

pub use code::{Highlighter, changes, highlighted, prepare};
pub use stream::Lines;
pub use wrap::{Break, Spans, columns, wrap};

/// A whole text, wrapped to a width.
pub fn render(text: &str, width: u16, theme: Theme) -> Text<'static> {
    let mut lines = Lines::new(theme);
    lines.push(text);
    let mut text = lines.finished(width);
    text.extend(lines.end(width));
    Text::from(text)
}

/// Code, styled where there are colours; not wrapped. The language is its name or that of a file. What was made visible
/// before stays as it is.
pub fn code(text: &str, language: &str, theme: Theme) -> Vec<Line<'static>> {
    highlighted(&reveal_once(text), language, theme).into_iter().map(unwrapped).collect()
}

/// A unified diff, styled; not wrapped.
pub fn diff(text: &str, theme: Theme) -> Vec<Line<'static>> {
    changes(&reveal_once(text), theme).into_iter().map(unwrapped).collect()
}

fn unwrapped(spans: Spans) -> Line<'static> {
    let spans: Vec<Span<'static>> = spans
        .into_iter()
        .map(|(text, style)| Span::styled(text.replace('\t', "    "), style))
        .collect();
    Line::from(spans)
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
