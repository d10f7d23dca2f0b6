//! Draws the state: a pure function from it to a frame.
//! Called by the loop and by tests, after `State::arrange`. Never changes anything and never renders what is not seen.

pub mod conversation;
pub mod inbox;
mod log;
pub mod overlay;
mod status;
pub mod tree;

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget as _};

use super::state::{Connection, Focus, State};
use super::words;
use crate::theme::Theme;

/// What shows that somebody is at work.
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"];

pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let buffer = frame.buffer_mut();
    if state.layout.is_too_small() {
        let text = Line::from("Too small a window");
        put(buffer, state.layout.area, 0, &text);
        return;
    }
    let layout = &state.layout;
    if state.shows_log {
        log::draw(buffer, state);
    } else {
        conversation::draw(buffer, state);
    }
    conversation::draw_composer(buffer, state);
    status::titles(buffer, state);
    for part in [layout.tree, layout.inbox].into_iter().flatten() {
        Clear.render(part, buffer);
    }
    if let Some(part) = layout.tree {
        tree::draw(buffer, state, part);
    }
    if let Some(part) = layout.inbox {
        inbox::draw(buffer, state, part);
    }
    if layout.is_wide {
        let (x, y) = (layout.composer.x, layout.composer.y);
        if layout.tree_beside().is_some() {
            buffer.set_string(x.saturating_sub(1), y, "├", state.theme.quiet());
        }
        buffer.set_string(layout.composer.right(), y, "┤", state.theme.quiet());
    }
    status::draw(buffer, state);
    overlay::draw(buffer, state);
}

/// Puts a line into a row of a part of the screen, as much of it as fits.
fn put(buffer: &mut Buffer, part: Rect, row: u16, line: &Line<'_>) {
    if row < part.height {
        buffer.set_line(part.x, part.y + row, line, part.width);
    }
}

/// Shows that keys act on a row: in one style, whatever it consists of.
fn select(buffer: &mut Buffer, row: Rect, theme: Theme) {
    buffer.set_style(row, Style::reset().patch(theme.selected()));
}

/// A line from one side to the other.
fn rule(buffer: &mut Buffer, part: Rect, style: Style) {
    let line = "─".repeat(usize::from(part.width));
    put(buffer, part, 0, &Line::styled(line, style));
}

fn upright(buffer: &mut Buffer, x: u16, part: Rect, style: Style) {
    for y in part.top()..part.bottom() {
        buffer.set_string(x, y, "│", style);
    }
}

/// Something at the left and something at the right, with what is between left empty.
fn apart<'t>(left: Vec<Span<'t>>, right: Vec<Span<'t>>, width: u16) -> Line<'t> {
    let used: usize = left.iter().chain(&right).map(Span::width).sum();
    let gap = usize::from(width).saturating_sub(used);
    let mut spans = left;
    spans.push(Span::raw(" ".repeat(gap)));
    spans.extend(right);
    Line::from(spans)
}

fn spinner(state: &State) -> &'static str {
    SPINNER.get(state.beat % SPINNER.len()).copied().unwrap_or(" ")
}

/// Words in the middle of a part of the screen, each line wrapped where it is too long.
fn centred(buffer: &mut Buffer, part: Rect, lines: &[Line<'static>]) {
    let wrapped: Vec<Line<'static>> =
        lines.iter().flat_map(|line| folded(line, part.width)).collect();
    let many = u16::try_from(wrapped.len()).unwrap_or(u16::MAX);
    let above = part.height.saturating_sub(many) / 3;
    for (line, row) in wrapped.iter().zip(above..) {
        let width = u16::try_from(line.width()).unwrap_or(part.width).min(part.width);
        let middle = Rect { x: part.x + (part.width - width) / 2, width, ..part };
        put(buffer, middle, row, line);
    }
}

/// One line, or as many as it needs at a width.
fn folded(line: &Line<'static>, width: u16) -> Vec<Line<'static>> {
    if line.width() <= usize::from(width) {
        return vec![line.clone()];
    }
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    let style = line.spans.first().map_or(line.style, |span| line.style.patch(span.style));
    words::wrap_words(&text, width).into_iter().map(|text| Line::styled(text, style)).collect()
}

/// How the title of a pane looks.
fn title_style(state: &State, focus: Focus) -> Style {
    let is_focused = state.focus == focus && state.overlay.is_none();
    if is_focused { state.theme.focus() } else { state.theme.strong() }
}

/// How the line under a title looks.
fn rule_style(state: &State, focus: Focus) -> Style {
    let is_focused = state.focus == focus && state.overlay.is_none();
    if is_focused { state.theme.focus() } else { state.theme.quiet() }
}

/// Why nothing is there, as far as the connection is the reason.
fn absence(state: &State) -> String {
    match &state.connection {
        Connection::Connecting => format!("Connecting to {} …", words::shown(&state.place)),
        Connection::Lost(_) => "Not connected.".to_owned(),
        Connection::Connected => "Loading …".to_owned(),
    }
}
