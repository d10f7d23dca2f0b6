//! Draws the worlds and their chats. Called by `draw`; the mouse asks which row is where.

use agent_world_client::wire::{Chat, World};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::super::layout::first_shown;
use super::super::state::{Focus, State, Typing};
use super::super::transcript::Transcript;
use super::super::tree::Row;
use super::super::words;
use super::{absence, apart, put, select, spinner, upright};

pub fn draw(buffer: &mut Buffer, state: &State, part: Rect) {
    if state.layout.tree_beside().is_some() {
        upright(buffer, part.right().saturating_sub(1), part, state.theme.quiet());
    }
    let inside = inside(part);
    draw_filter(buffer, state, inside);
    let list = list(state, inside);
    let rows = state.tree.rows();
    if rows.is_empty() {
        let text = match (state.tree.is_loaded(), state.tree.filter()) {
            (false, _) => absence(state),
            (true, "") => "No world yet.".to_owned(),
            (true, _) => "Nothing fits.".to_owned(),
        };
        let text = words::fit(&text, usize::from(list.width));
        put(buffer, list, 0, &Line::styled(text, state.theme.quiet()));
        return;
    }
    let place = state.tree.place();
    let first = first_shown(rows.len(), place, usize::from(list.height));
    for (row, number) in rows.iter().skip(first).zip(0..list.height) {
        let is_selected = first + usize::from(number) == place;
        let line = match row {
            Row::World { world, is_folded } => world_line(state, world, *is_folded, list.width),
            Row::Chat(chat) => chat_line(state, chat, list.width),
        };
        put(buffer, list, number, &line);
        if is_selected && state.focus == Focus::Tree {
            let row = Rect { y: list.y + number, height: 1, ..list };
            select(buffer, row, state.theme);
        }
    }
}

/// Which row of the list is at a place of the screen.
pub fn row_at(state: &State, part: Rect, at: Position) -> Option<usize> {
    let list = list(state, inside(part));
    let rows = state.tree.rows();
    let first = first_shown(rows.len(), state.tree.place(), usize::from(list.height));
    let row = first + usize::from(at.y.checked_sub(list.y)?);
    (row < rows.len()).then_some(row)
}

fn inside(part: Rect) -> Rect {
    Rect { x: part.x + 1, width: part.width.saturating_sub(3), ..part }
}

fn has_filter(state: &State) -> bool {
    state.typing == Some(Typing::Tree) || !state.tree.filter().is_empty()
}

fn list(state: &State, inside: Rect) -> Rect {
    let above = u16::from(has_filter(state)) * 2;
    Rect { y: inside.y + above, height: inside.height.saturating_sub(above), ..inside }
}

fn draw_filter(buffer: &mut Buffer, state: &State, inside: Rect) {
    if !has_filter(state) {
        return;
    }
    let cursor = if state.typing == Some(Typing::Tree) { "▏" } else { "" };
    let text = words::shown(state.tree.filter());
    let line = Line::from(vec![
        Span::styled("/", state.theme.key()),
        Span::raw(format!("{text}{cursor}")),
    ]);
    put(buffer, inside, 0, &line);
}

fn waiting(state: &State, many: usize) -> Vec<Span<'static>> {
    match many {
        0 => Vec::new(),
        many => vec![Span::styled(format!(" {many}?"), state.theme.question())],
    }
}

fn world_line(state: &State, world: &World, is_folded: bool, width: u16) -> Line<'static> {
    let mark = if is_folded { "▸ " } else { "▾ " };
    let name = words::fit(&words::shown(&world.name), usize::from(width).saturating_sub(6));
    let left =
        vec![Span::styled(mark, state.theme.quiet()), Span::styled(name, state.theme.strong())];
    // What waits in it is told at its chats, unless they are not to be seen.
    let many = if is_folded { state.inbox.waiting_in(&world.id) } else { 0 };
    apart(left, waiting(state, many), width)
}

fn chat_line(state: &State, chat: &Chat, width: u16) -> Line<'static> {
    let is_open = state.transcript().map(Transcript::chat) == Some(chat.id.as_str());
    let (mark, style) = match (chat.activity.is_busy(), is_open) {
        (true, _) => (spinner(state), state.theme.key()),
        (false, true) => ("›", state.theme.focus()),
        (false, false) => (" ", state.theme.plain()),
    };
    let title = if chat.title.is_empty() { "(no title)" } else { chat.title.as_str() };
    let waiting = waiting(state, state.inbox.waiting_in_chat(&chat.id));
    let number = state.tree.number(&chat.id);
    let taken = 4 + number.len() + waiting.iter().map(Span::width).sum::<usize>();
    let title = words::fit(&words::shown(title), usize::from(width).saturating_sub(taken));
    let title = format!("{title}{number}");
    let title_style = if is_open { state.theme.strong() } else { state.theme.plain() };
    let left = vec![
        Span::raw("  "),
        Span::styled(mark, style),
        Span::raw(" "),
        Span::styled(title, title_style),
    ];
    apart(left, waiting, width)
}
