//! Draws the open chat and the place to write. Called by `draw`; the state asks how much room there is.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::super::state::{Connection, Focus, State};
use super::super::transcript::Transcript;
use super::super::words;
use super::{absence, centred, put, rule, rule_style};

/// Columns before a line, where what is selected is marked.
const MARGIN: u16 = 2;
/// Messages on their way that are shown.
const SENDING: usize = 3;
/// Rows in which it says that a chat could not be loaded.
const PROBLEM: u16 = 4;

/// Where the lines of the conversation go.
pub fn room(state: &State) -> Rect {
    let middle = state.layout.middle;
    let sending = state.transcript().map_or(0, |chat| chat.sending().len().min(SENDING));
    let below = u16::try_from(sending).unwrap_or(0);
    let has_problem = state.transcript().is_some_and(|chat| chat.problem().is_some());
    let above = if has_problem { PROBLEM.min(middle.height) } else { 0 };
    Rect {
        x: middle.x + MARGIN,
        y: middle.y + above,
        width: middle.width.saturating_sub(MARGIN + 1),
        height: middle.height.saturating_sub(above + below),
    }
}

pub fn draw(buffer: &mut Buffer, state: &State) {
    let room = room(state);
    let Some(transcript) = state.transcript() else {
        return centred(buffer, room, &nothing_open(state));
    };
    let is_empty = transcript.conversation.entries().is_empty();
    if let Some(why) = transcript.problem() {
        draw_problem(buffer, state, why);
    }
    if is_empty && transcript.problem().is_some() {
        return;
    }
    if is_empty && transcript.is_loading() {
        return centred(buffer, room, &why_absent(state, room));
    }
    if is_empty && transcript.sending().is_empty() {
        return centred(buffer, room, &nothing_said(state, transcript));
    }
    for (row, number) in transcript.rows().zip(0..room.height) {
        put(buffer, room, number, row.line);
        if row.is_selected {
            buffer.set_string(room.x - MARGIN, room.y + number, "▌", state.theme.focus());
        }
    }
    draw_sending(buffer, state, transcript, room);
    draw_position(buffer, state, transcript, room);
}

/// Says above the rest that the chat is not all there.
fn draw_problem(buffer: &mut Buffer, state: &State, why: &str) {
    let room = room(state);
    let above = Rect { y: state.layout.middle.y, height: PROBLEM, ..room };
    let text = format!("This chat could not be loaded: {why}");
    let lines = words::wrap_words(&text, above.width);
    for (line, row) in lines.into_iter().take(usize::from(PROBLEM) - 1).zip(0..) {
        put(buffer, above, row, &Line::styled(line, state.theme.warning()));
    }
    put(buffer, above, PROBLEM - 1, &hint(state, "r", "tries again"));
}

fn draw_sending(buffer: &mut Buffer, state: &State, transcript: &Transcript, room: Rect) {
    let waits = state.connection != Connection::Connected;
    let how = if waits { "waits for the connection" } else { "is sent" };
    let below =
        Rect { y: room.bottom(), height: state.layout.middle.bottom() - room.bottom(), ..room };
    for (sending, row) in transcript.sending().iter().zip(0..below.height) {
        let text = words::shown(&sending.text).replace('\n', " ");
        let room = usize::from(below.width).saturating_sub(how.len() + 4);
        let line = Line::from(vec![
            Span::styled(words::fit(&text, room), state.theme.plain()),
            Span::styled(format!("  {how}"), state.theme.quiet()),
        ]);
        put(buffer, below, row, &line);
    }
}

/// Says where in a long chat this is.
fn draw_position(buffer: &mut Buffer, state: &State, transcript: &Transcript, room: Rect) {
    let text = if transcript.is_loading_older() {
        " loading what was before … "
    } else if !transcript.is_at_end() {
        " ↓ G goes to the end "
    } else {
        return;
    };
    let width = u16::try_from(text.chars().count()).unwrap_or(0);
    let x = room.right().saturating_sub(width);
    buffer.set_string(x, room.bottom().saturating_sub(1), text, state.theme.selected());
}

fn nothing_open(state: &State) -> Vec<Line<'static>> {
    let quiet = state.theme.quiet();
    if !state.tree.is_loaded() || (state.tree.rows().is_empty() && !state.tree.filter().is_empty())
    {
        return why_absent(state, room(state));
    }
    if state.world().is_none() {
        return vec![
            Line::styled("There is no world yet.", state.theme.strong()),
            Line::default(),
            Line::styled("`agent-world world create NAME` makes one;", quiet),
            Line::styled("it shows here at once.", quiet),
        ];
    }
    vec![
        Line::styled("No chat is open.", state.theme.strong()),
        Line::default(),
        hint(state, "c", "chooses one"),
        hint(state, "n", "begins a new one"),
    ]
}

/// What is missing, and the reason where there is one.
fn why_absent(state: &State, room: Rect) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(absence(state), state.theme.quiet())];
    if let Connection::Lost(why) = &state.connection {
        lines.push(Line::default());
        let why = words::wrap(why, room.width, 8);
        lines.extend(why.into_iter().map(|line| Line::styled(line, state.theme.warning())));
    }
    lines
}

fn nothing_said(state: &State, transcript: &Transcript) -> Vec<Line<'static>> {
    let quiet = state.theme.quiet();
    let agents = &transcript.conversation.world.agents;
    let names: Vec<String> = agents.iter().map(|agent| words::shown(&agent.id)).collect();
    let mut lines = vec![
        Line::styled("Nothing was said here yet.", state.theme.strong()),
        Line::default(),
        Line::styled("Write below and press Enter.", quiet),
    ];
    match names.as_slice() {
        [] => lines.push(Line::styled("This world has no agents: nobody will answer.", quiet)),
        [one] => lines.push(Line::styled(format!("{one} answers."), quiet)),
        [.., last] => {
            let text =
                format!("Here are {}. Begin with @{last} to speak to one.", names.join(", "));
            lines.push(Line::styled(text, quiet));
        }
    }
    lines.push(Line::styled("What needs your permission waits in the inbox.", quiet));
    lines
}

fn hint(state: &State, key: &'static str, does: &str) -> Line<'static> {
    Line::from(vec![
        Span::styled(key, state.theme.key()),
        Span::styled(format!(" {does}"), state.theme.quiet()),
    ])
}

pub fn draw_composer(buffer: &mut Buffer, state: &State) {
    let part = state.layout.composer;
    rule(buffer, part, rule_style(state, Focus::Composer));
    let inside = Rect {
        x: part.x + 1,
        y: part.y + 1,
        width: part.width.saturating_sub(2),
        height: part.height.saturating_sub(1),
    };
    state.composer.draw(inside, buffer);
}
