//! Draws the newest events of a world, one on a line, in the place of the conversation. Called by `draw`.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::log::Logged;
use super::super::state::{Focus, State, Typing};
use super::super::words;
use super::{absence, put, select};

pub fn title(state: &State, style: Style) -> Vec<Span<'static>> {
    let kind = state.log.kind().unwrap_or("all types");
    let world = words::fit(&state.world_name(state.world().unwrap_or_default()), 24);
    vec![
        Span::styled("Events", style),
        Span::styled(format!("  {world}  "), state.theme.plain()),
        Span::styled(kind, state.theme.quiet()),
        Span::styled("  UTC", state.theme.quiet()),
    ]
}

pub fn draw(buffer: &mut Buffer, state: &State) {
    let middle = state.layout.middle;
    let has_filter = state.typing == Some(Typing::Log) || !state.log.filter().is_empty();
    let above = u16::from(has_filter) * 2;
    let part = Rect {
        x: middle.x + 1,
        y: middle.y + above,
        width: middle.width.saturating_sub(2),
        height: middle.height.saturating_sub(above),
    };
    if has_filter {
        let cursor = if state.typing.is_some() { "▏" } else { "" };
        let text = format!("{}{cursor}", words::shown(state.log.filter()));
        let line = Line::from(vec![Span::styled("/", state.theme.key()), Span::raw(text)]);
        put(buffer, Rect { y: middle.y, height: 1, ..part }, 0, &line);
    }
    let world = state.world().unwrap_or_default();
    let events = state.log.window(world, usize::from(part.height));
    if events.is_empty() {
        let text = if has_filter || state.log.kind().is_some() {
            "No event of the last ones fits.".to_owned()
        } else {
            absence(state)
        };
        put(buffer, part, 0, &Line::styled(text, state.theme.quiet()));
    }
    let newest = events.len().saturating_sub(1);
    let chosen = events.iter().position(|event| state.log.is_selected(event)).unwrap_or(newest);
    for ((event, number), row) in events.iter().zip(0..).zip(0..part.height) {
        put(buffer, part, row, &line(state, event, part.width));
        if number == chosen && state.focus == Focus::Conversation {
            let row = Rect { y: part.y + row, height: 1, ..part };
            select(buffer, row, state.theme);
        }
    }
}

fn line(state: &State, event: &Logged, width: u16) -> Line<'static> {
    let theme = state.theme;
    let style = match event.kind.as_str() {
        "approval" => theme.question(),
        "message" => theme.strong(),
        "tool" => theme.code(),
        _ => theme.plain(),
    };
    let about = words::fit(&event.about, usize::from(width).saturating_sub(20));
    Line::from(vec![
        Span::styled(format!("{}  ", words::time_of_day(&event.at)), theme.quiet()),
        Span::styled(format!("{:<10}", event.kind), style),
        Span::raw(about),
    ])
}
