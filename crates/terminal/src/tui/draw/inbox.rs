//! Draws what waits for a person, and the card of the one that is looked at. Called by `draw`; keys ask how long the card is.

use agent_world_client::wire::Approval;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::super::layout::first_shown;
use super::super::state::{Focus, State};
use super::super::words;
use super::{apart, put, rule, select, upright};

/// Rows of one request in the list.
const ROWS: u16 = 2;

pub fn draw(buffer: &mut Buffer, state: &State, part: Rect) {
    if state.layout.is_wide {
        upright(buffer, part.x, part, state.theme.quiet());
    }
    let (list, card) = (state.layout.waiting, state.layout.card);
    for (approval, row) in shown(state).into_iter().zip((0..).step_by(usize::from(ROWS))) {
        draw_request(buffer, state, approval, Rect { y: list.y + row, height: ROWS, ..list });
    }
    if list.height > 0 {
        let line = Rect { y: card.y.saturating_sub(1), height: 1, ..card };
        rule(buffer, line, state.theme.quiet());
    }
    draw_card(buffer, state, card);
}

/// The requests that are on the screen.
fn shown(state: &State) -> Vec<&Approval> {
    let rows = usize::from(state.layout.waiting.height / ROWS);
    let first = first_shown(state.inbox.len(), state.inbox.place(), rows);
    state.inbox.waiting().iter().skip(first).take(rows).collect()
}

/// Which request is at a place of the screen.
pub fn place_at(state: &State, at: Position) -> Option<usize> {
    let list = state.layout.waiting;
    if !list.contains(at) {
        return None;
    }
    let rows = usize::from(list.height / ROWS);
    let first = first_shown(state.inbox.len(), state.inbox.place(), rows);
    Some(first + usize::from((at.y - list.y) / ROWS))
}

fn draw_request(buffer: &mut Buffer, state: &State, approval: &Approval, part: Rect) {
    let theme = state.theme;
    let is_selected = state.inbox.selected() == Some(approval.id.as_str());
    let age = words::age(&approval.created_at, state.now);
    let tool = words::shown(&approval.tool);
    let room = usize::from(part.width).saturating_sub(tool.chars().count() + age.len() + 3);
    let about = words::fit(&words::call(&approval.arguments), room);
    let left = vec![
        Span::styled(tool, theme.strong()),
        Span::raw("  "),
        Span::styled(about, theme.code()),
    ];
    let right = vec![Span::styled(age, theme.quiet())];
    put(buffer, part, 0, &apart(left, right, part.width));
    let chat = state.tree.find(&approval.chat_id).map_or("", |(_, chat)| chat.title.as_str());
    let place = format!("{} › {chat}", approval.world_id);
    let agent = words::shown(&approval.agent_id);
    let room = usize::from(part.width).saturating_sub(agent.chars().count() + 12);
    let mut second = vec![
        Span::styled(agent, theme.agent(&approval.agent_id)),
        Span::styled(format!("  {}", words::fit(&words::shown(&place), room)), theme.quiet()),
    ];
    if state.inbox.is_sent(&approval.id) {
        second.push(Span::styled("  deciding", theme.question()));
    }
    put(buffer, part, 1, &Line::from(second));
    if is_selected {
        let row = Rect { height: 1, ..part };
        if state.focus == Focus::Inbox {
            select(buffer, row, theme);
        }
        for y in part.top()..part.bottom() {
            buffer.set_string(part.x - 1, y, "▌", theme.focus());
        }
    }
}

/// How many lines the card has.
pub fn card_lines(state: &State) -> usize {
    card(state).len()
}

fn card(state: &State) -> Vec<Line<'static>> {
    let width = state.layout.card.width;
    match state.inbox.deciding() {
        Some(deciding) => {
            let (number, total) = (state.inbox.place() + 1, state.inbox.len());
            deciding.lines(number, total, width, state.theme)
        }
        None => Vec::new(),
    }
}

fn draw_card(buffer: &mut Buffer, state: &State, part: Rect) {
    let theme = state.theme;
    if let Some(became) = state.inbox.became() {
        let mut lines: Vec<Line<'_>> =
            words::wrap(became, part.width, 20).into_iter().map(Line::from).collect();
        lines.push(Line::default());
        if state.inbox.len() > 0 {
            lines.push(Line::styled("Enter shows the next.", theme.quiet()));
        }
        return put_all(buffer, part, &lines);
    }
    let Some(deciding) = state.inbox.deciding() else {
        let line = Line::styled("Nothing waits for you.", theme.quiet());
        return put(buffer, part, 0, &line);
    };
    let prompt = match state.inbox.is_sent(&deciding.approval.id) {
        true => vec![Line::styled("The decision is on its way.", theme.quiet())],
        false if state.focus == Focus::Inbox => deciding.prompt(part.width, theme),
        false => vec![Line::styled("Tab or a to decide", theme.quiet())],
    };
    let below = u16::try_from(prompt.len()).unwrap_or(1).min(part.height / 2);
    let lines = card(state);
    let room = usize::from(part.height.saturating_sub(below + 1));
    let scrolled = state.inbox.scrolled.min(lines.len().saturating_sub(room));
    let seen: Vec<Line<'_>> = lines.iter().skip(scrolled).take(room).cloned().collect();
    put_all(buffer, part, &seen);
    let left = lines.len().saturating_sub(scrolled + seen.len());
    let used = u16::try_from(seen.len()).unwrap_or(part.height) + 1;
    if left > 0 {
        let more = format!("PgDn: {} more", words::count(left, "line"));
        put(buffer, part, used - 1, &Line::styled(more, theme.key()));
    }
    let bottom = Rect { y: part.y + used, height: part.height.saturating_sub(used), ..part };
    put_all(buffer, bottom, &prompt);
}

fn put_all(buffer: &mut Buffer, part: Rect, lines: &[Line<'_>]) {
    for (line, row) in lines.iter().zip(0..) {
        put(buffer, part, row, line);
    }
}
