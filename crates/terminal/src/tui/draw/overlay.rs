//! Draws what is over everything else: help, the details of one thing, the question before leaving.
//! Called by `draw`; the state asks how much room details have.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Padding, Widget as _};

use super::super::details::Details;
use super::super::keys::Hint;
use super::super::state::{Overlay, State};
use super::super::words;
use super::put;

const HELP: [(&str, &[Hint]); 7] = [
    (
        "Everywhere",
        &[
            ("Tab Shift-Tab", "next, previous pane"),
            ("c  p  i", "chats, inbox, write"),
            ("n", "new chat"),
            ("/", "filter the list"),
            ("e", "event log"),
            ("t", "tool call in detail"),
            ("Ctrl-C", "stop the agents"),
            ("Esc", "back"),
            ("?  F1", "this help"),
            ("q", "quit"),
        ],
    ),
    ("Moving", &[("↑↓ j k", "up, down"), ("PgUp PgDn", "by pages"), ("g G", "start, end")]),
    ("Mouse", &[("click, wheel", "choose, scroll"), ("Shift-drag", "select text")]),
    (
        "Conversation",
        &[("Enter", "details, or write"), ("r", "fold the reasoning"), ("w", "write to a file")],
    ),
    ("Inbox", &[("on the card", "keys that decide"), ("Enter", "open its chat")]),
    ("Events", &[("f", "next type"), ("Enter", "details")]),
    (
        "Writing",
        &[
            ("Enter", "send"),
            ("Alt-Enter", "new line; also Ctrl-J"),
            ("Tab", "complete @name, /word"),
            ("↑", "what was sent before"),
            ("/", "lists the commands"),
        ],
    ),
];

pub fn draw(buffer: &mut Buffer, state: &State) {
    match &state.overlay {
        None => {}
        Some(Overlay::Help) => help(buffer, state),
        Some(Overlay::Quit) => quit(buffer, state),
        Some(Overlay::Details(details)) => draw_details(buffer, state, details),
    }
}

/// A box in the middle; returns what is inside it.
fn boxed(buffer: &mut Buffer, state: &State, size: (u16, u16), title: &str, border: Style) -> Rect {
    let area = state.layout.area;
    let (width, height) = (size.0.min(area.width), size.1.min(area.height));
    let part = Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    };
    frame(buffer, state, part, title, border)
}

fn frame(buffer: &mut Buffer, state: &State, part: Rect, title: &str, border: Style) -> Rect {
    Clear.render(part, buffer);
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(border)
        .title(Span::styled(format!(" {} ", fitting(title, part)), state.theme.focus()))
        .padding(Padding::horizontal(1));
    let inside = block.inner(part);
    block.render(part, buffer);
    inside
}

/// A title as far as there is room for it.
fn fitting(title: &str, part: Rect) -> String {
    words::fit(title, usize::from(part.width).saturating_sub(4))
}

fn help(buffer: &mut Buffer, state: &State) {
    let (left, right) = HELP.split_at(3);
    let columns = [column(state, left), column(state, right)];
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let height = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
    let inside = boxed(buffer, state, (76, height), "Keys", state.theme.quiet());
    let half = inside.width / 2;
    for (column, number) in columns.iter().zip(0..) {
        let part = Rect { x: inside.x + number * (half + 1), width: half, ..inside };
        for (line, row) in column.iter().zip(0..) {
            put(buffer, part, row, line);
        }
    }
}

fn column(state: &State, groups: &[(&'static str, &[Hint])]) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (name, keys) in groups {
        if !lines.is_empty() {
            lines.push(Line::default());
        }
        lines.push(Line::styled(*name, state.theme.strong()));
        for (key, does) in *keys {
            lines.push(Line::from(vec![
                Span::styled(format!("{key:<14}"), state.theme.key()),
                Span::raw(*does),
            ]));
        }
    }
    lines
}

fn quit(buffer: &mut Buffer, state: &State) {
    let theme = state.theme;
    let mut lines = Vec::new();
    let undelivered = state.undelivered().len();
    if undelivered > 0 {
        let text = format!("{} not delivered yet.", words::count(undelivered, "decision"));
        lines.push(Line::styled(text, theme.warning()));
    }
    if state.unsent() > 0 {
        let unsent = words::count(state.unsent(), "message");
        let text = format!("{unsent} not sent yet: gone when you leave.");
        lines.push(Line::styled(text, theme.warning()));
    }
    if state.inbox.len() > 0 {
        let waiting = words::count(state.inbox.len(), "approval");
        let still = if state.inbox.len() == 1 { "waits" } else { "wait" };
        let text = format!("{waiting} {still}; q again quits, Esc stays.");
        lines.push(Line::styled(text, theme.question()));
        lines.push(Line::from("What waits goes on waiting when you leave."));
    }
    lines.push(Line::default());
    lines.push(Line::from(vec![
        Span::styled("q", theme.key()),
        Span::raw(" again quits   "),
        Span::styled("p", theme.key()),
        Span::raw(" inbox   "),
        Span::styled("Esc", theme.key()),
        Span::raw(" stays"),
    ]));
    let height = u16::try_from(lines.len()).unwrap_or(4) + 2;
    let inside = boxed(buffer, state, (52, height), "Quit?", theme.question());
    for (line, row) in lines.iter().zip(0..) {
        put(buffer, inside, row, line);
    }
}

fn outside(area: Rect) -> Rect {
    let (x, y) = if area.width >= 100 { (6, 2) } else { (1, 0) };
    Rect {
        x: area.x + x,
        y: area.y + y,
        width: area.width.saturating_sub(2 * x),
        height: area.height.saturating_sub(2 * y + 1),
    }
}

/// Where the lines of details go.
pub fn inside(area: Rect) -> Rect {
    let part = outside(area);
    Rect {
        x: part.x + 2,
        y: part.y + 1,
        width: part.width.saturating_sub(4),
        height: part.height.saturating_sub(2),
    }
}

fn draw_details(buffer: &mut Buffer, state: &State, details: &Details) {
    let (seen, all) = details.progress();
    let most = outside(state.layout.area);
    // No larger than what is in it, once all of that is known.
    let wanted = u16::try_from(all + 2).unwrap_or(u16::MAX);
    let height = if details.is_unfinished() { most.height } else { wanted.min(most.height) };
    let part = Rect { height, ..most };
    let inside = frame(buffer, state, part, &details.title, state.theme.quiet());
    for (line, row) in details.visible().iter().zip(0..) {
        put(buffer, inside, row, line);
    }
    if seen < all {
        let text = format!(" {seen} of {all} lines ");
        let width = u16::try_from(text.len()).unwrap_or(0);
        let x = part.right().saturating_sub(width + 2);
        buffer.set_string(x, part.bottom().saturating_sub(1), text, state.theme.quiet());
    }
}
