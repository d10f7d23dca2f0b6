//! Draws what waits for a person, and the card of the one that is looked at.
//! Called by `draw`; the mouse asks what is where. Whose call it is comes first.

use agent_world_client::wire::Approval;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::super::inbox::View;
use super::super::layout::first_shown;
use super::super::sent::Delivery;
use super::super::state::{Focus, State};
use super::super::words;
use super::{apart, put, rule, select, upright};
use crate::deciding::Deciding;
use crate::theme::Theme;

/// Rows of one request in the list.
const ROWS: u16 = 2;
/// Rows of a card that are left of it, however much is asked below.
const LEAST_CARD: u16 = 4;
/// Rows in which a text can be typed: one of it, and one of keys.
const LEAST_TYPED: usize = 2;

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
    let width = usize::from(part.width);
    let age = words::age(&approval.created_at, state.now);
    let agent = words::fit(&words::shown(&approval.agent_id), width / 4);
    let tool = words::fit(&words::shown(&approval.tool), width / 3);
    let room = width.saturating_sub(agent.width() + tool.width() + age.len() + 6);
    let about = words::fit(&words::call(&approval.arguments), room);
    let left = vec![
        Span::styled(agent, theme.agent(&approval.agent_id)),
        Span::raw("  "),
        Span::styled(tool, theme.strong()),
        Span::raw("  "),
        Span::styled(about, theme.code()),
    ];
    let right = vec![Span::styled(age, theme.quiet())];
    put(buffer, part, 0, &apart(left, right, part.width));
    let chat = state.tree.find(&approval.chat_id).map_or("", |(_, chat)| chat.title.as_str());
    let place = format!("{} › {}", state.world_name(&approval.world_id), words::shown(chat));
    let number = state.tree.number(&approval.chat_id);
    let fares = match state.inbox.delivery(&approval.id) {
        Some(Delivery::OnItsWay) => vec![Span::styled("  deciding", theme.question())],
        Some(Delivery::Retrying) => vec![Span::styled("  not yet delivered", theme.warning())],
        None => Vec::new(),
    };
    let taken: usize = fares.iter().map(Span::width).sum();
    let place = words::fit(&place, width.saturating_sub(taken + number.len() + 2));
    let mut second = vec![Span::styled(format!("  {place}{number}"), theme.quiet())];
    second.extend(fares);
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

fn draw_card(buffer: &mut Buffer, state: &State, part: Rect) {
    let theme = state.theme;
    if let Some(became) = state.inbox.became() {
        let mut lines: Vec<Line<'_>> =
            words::wrap_words(became, part.width).into_iter().map(Line::from).collect();
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
    let prompt = fitting(state, deciding, part);
    let lines = state.inbox.card();
    let seen: Vec<Line<'_>> =
        lines.iter().skip(state.inbox.view.first).take(state.inbox.view.rows).cloned().collect();
    put_all(buffer, part, &seen);
    let left = lines.len().saturating_sub(state.inbox.view.first + seen.len());
    let used = u16::try_from(seen.len()).unwrap_or(part.height) + 1;
    if left > 0 {
        let more = format!("PgDn: {} more", words::count(left, "line"));
        put(buffer, part, used - 1, &Line::styled(more, theme.key()));
    }
    let bottom = Rect { y: part.y + used, height: part.height.saturating_sub(used), ..part };
    put_all(buffer, bottom, &prompt);
}

/// What of the card there is room for.
pub fn view(state: &State) -> View {
    let part = state.layout.card;
    let Some(deciding) = state.inbox.deciding() else {
        return View::default();
    };
    let is_cramped = is_cramped(state, deciding, part);
    let below = fitting(state, deciding, part).len();
    let rows = usize::from(part.height).saturating_sub(below + 1);
    let first = state.inbox.scrolled.min(state.inbox.card().len().saturating_sub(rows));
    View { first, rows, is_cramped }
}

/// Rows for what is asked: all but what is left to the card in any case.
fn most(part: Rect) -> usize {
    usize::from(part.height.saturating_sub(LEAST_CARD))
}

/// Whether the keys of the request have no room. Of a text that is typed less is shown, down to its keys and one line.
fn is_cramped(state: &State, deciding: &Deciding, part: Rect) -> bool {
    let needed = match deciding.is_typing() {
        true => LEAST_TYPED,
        false => deciding.prompt(part.width, state.theme).len(),
    };
    state.focus == Focus::Inbox && needed > most(part)
}

/// What is asked, in the rows that there are for it.
fn fitting(state: &State, deciding: &Deciding, part: Rect) -> Vec<Line<'static>> {
    let most = most(part);
    if is_cramped(state, deciding, part) && state.inbox.delivery(&deciding.approval.id).is_none() {
        let style = state.theme.warning();
        let text = words::wrap_words("enlarge the window to answer", part.width);
        return text.into_iter().take(most.max(1)).map(|line| Line::styled(line, style)).collect();
    }
    within(prompt(state, deciding, part.width), most, state.theme)
}

/// What can be done about the request, or how the decision about it fares.
fn prompt(state: &State, deciding: &Deciding, width: u16) -> Vec<Line<'static>> {
    let theme = state.theme;
    let say = |text: &str, style: Style| -> Vec<Line<'static>> {
        let wrapped = words::wrap_words(text, width);
        wrapped.into_iter().map(|line| Line::styled(line, style)).collect()
    };
    match state.inbox.delivery(&deciding.approval.id) {
        Some(Delivery::OnItsWay) => return say("The decision is on its way.", theme.quiet()),
        Some(Delivery::Retrying) => return say("not yet delivered: retrying", theme.warning()),
        None if state.focus != Focus::Inbox => return say(way_here(state), theme.question()),
        None => {}
    }
    let mut lines = deciding.prompt(width, theme);
    if state.inbox.is_quiet(state.clock) {
        for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
            span.style = theme.quiet();
        }
    }
    if let Some(why) = state.inbox.swallowed() {
        lines.extend(say(why.words(), theme.question()));
    }
    lines
}

/// As much of what is asked as there is room for: always the keys at its end and what is wrong at its start, and of the text
/// between them the part around the cursor.
fn within(mut prompt: Vec<Line<'static>>, rows: usize, theme: Theme) -> Vec<Line<'static>> {
    if prompt.len() <= rows {
        return prompt;
    }
    let has =
        |line: &Line<'static>, style: Style| line.spans.iter().any(|span| span.style == style);
    // A number in a list stands after a space.
    let is_keys = |line: &&Line<'static>| {
        line.spans.iter().any(|span| span.style == theme.key() && !span.content.starts_with(' '))
    };
    let keys = prompt.iter().rev().take(rows / 2).take_while(is_keys).count().max(1);
    let keys = prompt.split_off(prompt.len().saturating_sub(keys));
    let wrong = prompt.iter().take(rows / 4).take_while(|line| has(line, theme.warning())).count();
    let text = prompt.split_off(wrong);
    let room = rows.saturating_sub(keys.len() + wrong);
    let cursor = text.iter().position(|line| has(line, theme.selected())).unwrap_or(0);
    let above = first_shown(text.len(), cursor, room);
    let text = text.into_iter().skip(above).take(room);
    prompt.into_iter().chain(text).chain(keys).collect()
}

/// The key that leads here from where the keys are.
pub fn way_here(state: &State) -> &'static str {
    match state.focus {
        Focus::Composer if state.composer.is_empty() => "Tab to decide",
        Focus::Composer => "Esc, then p to decide",
        Focus::Inbox | Focus::Tree | Focus::Conversation => "p to decide",
    }
}

fn put_all(buffer: &mut Buffer, part: Rect, lines: &[Line<'_>]) {
    for (line, row) in lines.iter().zip(0..) {
        put(buffer, part, row, line);
    }
}
