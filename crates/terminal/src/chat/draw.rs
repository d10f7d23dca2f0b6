//! Says how the live part of a conversation looks: who speaks, what runs, what waits, and where the person types.
//! Called by `run` for each frame. Pure; everything that was written by models and tools is made visible first.

use std::time::Instant;

use agent_world_client::wire::{CallState, Doing};
use agent_world_core::display::{reveal, reveal_line};
use crossterm::event::KeyCode;
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget as _, Wrap};

use super::flow::is_person;
use super::state::{Card, Focus, Silence, State};
use super::words;
use crate::conversation::{Block, Entry, Said};
use crate::theme::Theme;

/// Lines of a running tool's output: usually, and when more is wanted.
const OUTPUT: usize = 3;
const MORE_OUTPUT: usize = 12;
/// Rows of a terminal in which there is room for a line between what is said and the composer.
const ROOMY: u16 = 16;
/// Lines of what an agent thinks, when that is wanted.
const REASONING: usize = 6;

/// What the live part holds at a moment.
#[derive(Debug)]
pub struct Picture {
    live: Vec<Line<'static>>,
    card: Option<Vec<Line<'static>>>,
    /// Whether a line sets what was said apart from where the person types.
    is_ruled: bool,
    /// Rows of the composer; none where the question has its place.
    composer: u16,
    status: Line<'static>,
}

impl State {
    /// Lays out the question that is asked. One too long for the screen is put into the scrollback, where all of it can be
    /// read.
    pub fn lay_out(&mut self, size: Size, now: Instant) {
        self.look(now);
        let Some((question, number)) = self.question() else {
            self.card = None;
            return;
        };
        let (id, total, width) = (question.approval.id.clone(), self.waits(), size.width);
        let is_same = |card: &Card| {
            (&card.id, card.number, card.total, card.width) == (&id, number, total, width)
        };
        if !self.card.as_ref().is_some_and(is_same) {
            let lines = question.lines(number, total, width, self.theme);
            let rows = rows(&lines, width);
            self.card = Some(Card { id: id.clone(), number, total, width, lines, rows });
        }
        let fits = self.card.as_ref().is_none_or(|card| fits(card, self, size));
        if !fits && self.laid_out.as_ref() != Some(&id) {
            self.laid_out = Some(id);
            let lines = self.card.as_ref().map(|card| card.lines.clone());
            self.put(lines.unwrap_or_default());
        }
        self.cramp(is_cramped(self, size));
    }
}

fn fits(card: &Card, state: &State, size: Size) -> bool {
    let keys = state.question().map(|(question, _)| question.prompt(size.width, state.theme));
    let draft = usize::from(composer_rows(state, size)) * usize::from(state.has_draft());
    let below = rows(&keys.unwrap_or_default(), size.width) + 2 + draft;
    card.rows + below <= usize::from(most(size))
}

/// Whether the keys of the question have no room on the screen.
fn is_cramped(state: &State, size: Size) -> bool {
    let Some((asked, keys)) = asked(state, size) else {
        return false;
    };
    let status = 1;
    rows(&asked, size.width) + rows(&keys, size.width) + status > usize::from(size.height)
}

/// What is asked, as far as there is room for it, and the keys that answer it.
fn asked(state: &State, size: Size) -> Option<(Vec<Line<'static>>, Vec<Line<'static>>)> {
    let (question, _) = state.question()?;
    let card = state.card.as_ref()?;
    let lines = match fits(card, state, size) {
        true => card.lines.clone(),
        false => {
            let note = "  all of it is above; scroll back to read it";
            let note = Line::styled(note, state.theme.quiet());
            let first = card.lines.first().cloned().into_iter();
            first.chain(question.risks(size.width, state.theme)).chain([note]).collect()
        }
    };
    let beside = rows(&lines, size.width) + 2 + usize::from(state.waits() > 1);
    let room = usize::from(most(size)).saturating_sub(beside);
    Some((lines, question.prompt_within(room, size.width, state.theme)))
}

/// What is to be seen now.
pub fn picture(state: &State, size: Size, now: Instant) -> Picture {
    let card = card(state, size, now);
    let composer = match (&card, state.has_draft()) {
        (Some(_), false) => 0,
        (Some(_), true) if state.focus(now) == Focus::Question => 0,
        _ => composer_rows(state, size),
    };
    let above = card.as_ref().map_or(0, |card| rows(card, size.width));
    let below = u16::try_from(above).unwrap_or(u16::MAX).saturating_add(composer);
    let is_ruled = size.height >= ROOMY && below.saturating_add(2) < most(size);
    let rule = u16::from(is_ruled);
    let room = usize::from(most(size).saturating_sub(below.saturating_add(1 + rule)));
    let live = live(state, size.width, now, card.is_some());
    let hidden = live.len().saturating_sub(room);
    let live = live.into_iter().skip(hidden).collect();
    Picture { live, card, is_ruled, composer, status: status(state) }
}

fn composer_rows(state: &State, size: Size) -> u16 {
    state.composer.height(size.width).min(most(size).saturating_sub(1)).max(1)
}

impl Picture {
    pub fn height(&self, width: u16) -> u16 {
        let card = self.card.as_ref().map_or(0, |card| rows(card, width));
        let rule = usize::from(self.is_ruled);
        let rows = self.live.len() + rule + card + 1;
        u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(self.composer)
    }

    pub fn render(&self, state: &State, area: Rect, buffer: &mut Buffer) {
        let last = area.y + area.height.saturating_sub(1);
        let mut y = area.y;
        for line in self.live.iter().take(usize::from(area.height.saturating_sub(1))) {
            line.render(Rect { y, height: 1, ..area }, buffer);
            y += 1;
        }
        if self.is_ruled && y < last {
            let rule = "─".repeat(usize::from(area.width));
            Line::styled(rule, state.theme.quiet()).render(Rect { y, height: 1, ..area }, buffer);
            y += 1;
        }
        let middle = Rect { y, height: last.saturating_sub(y), ..area };
        let typed = self.composer.min(middle.height);
        let asked = Rect { height: middle.height - typed, ..middle };
        if let Some(card) = &self.card {
            Paragraph::new(card.clone()).wrap(Wrap { trim: false }).render(asked, buffer);
        }
        if typed > 0 {
            let place = Rect { y: middle.y + asked.height, height: typed, ..middle };
            state.composer.draw(place, buffer);
            if !state.has_draft() {
                invite(state, place, buffer);
            }
        }
        (&self.status).render(Rect { y: last, height: 1, ..area }, buffer);
    }
}

/// What stands in an empty composer, behind its cursor.
fn invite(state: &State, place: Rect, buffer: &mut Buffer) {
    const CURSOR_END: u16 = 3;
    let text = match state.listener() {
        Some(agent) => format!("message for @{} · /help", reveal_line(agent)),
        None => "message for everybody here · /help".to_owned(),
    };
    let width = place.width.saturating_sub(CURSOR_END);
    let place = Rect { x: place.x + CURSOR_END.min(place.width), width, height: 1, ..place };
    Line::styled(text, state.theme.quiet()).render(place, buffer);
}

/// One row is left to what was said before.
fn most(size: Size) -> u16 {
    size.height.saturating_sub(1).max(2)
}

fn rows(lines: &[Line<'static>], width: u16) -> usize {
    Paragraph::new(lines.to_vec()).wrap(Wrap { trim: false }).line_count(width.max(1))
}

fn card(state: &State, size: Size, now: Instant) -> Option<Vec<Line<'static>>> {
    let (question, _) = state.question()?;
    let theme = state.theme;
    let (mut lines, keys) = asked(state, size)?;
    let has_keys = state.focus(now) == Focus::Question;
    let is_decided = question.delivery().is_some();
    if state.is_cramped() && !is_decided {
        let goes_back = !question.is_choosing() || question.closes(KeyCode::Esc.into());
        let instead = match (has_keys, goes_back) {
            (false, _) => "",
            (true, false) => " · l later",
            (true, true) => " · Esc goes back",
        };
        let text = format!("enlarge the window to answer{instead}");
        lines.truncate(1);
        lines.push(Line::styled(text, theme.warning()));
        return Some(lines);
    }
    if state.has_draft() && !has_keys && !is_decided {
        lines.push(Line::from(vec![
            Span::styled("Tab", theme.key()),
            Span::raw(" to answer"),
            Span::styled(" · what you type goes into your message", theme.quiet()),
        ]));
        return Some(lines);
    }
    // Keys are offered when they count.
    match is_decided || (has_keys && state.takes_answers(now)) {
        true => lines.extend(keys),
        false => lines.extend(keys.iter().map(|_| Line::default())),
    }
    lines.extend(below(state));
    Some(lines)
}

/// What else there is to know below the keys of a question, which has them.
fn below(state: &State) -> Vec<Line<'static>> {
    let theme = state.theme;
    let is_typed_into = state.question().is_some_and(|(question, _)| question.is_typing());
    let others = state.waits() > 1 && !is_typed_into;
    let mut lines = match (state.untaken(), state.has_draft(), others) {
        (Some(Silence::Untaken(why)), ..) => vec![Line::styled(why.words(), theme.question())],
        (Some(Silence::NoAnswer), false, _) => {
            let text = "that key is no answer; l leaves the question waiting, and you can write";
            vec![Line::styled(text, theme.question())]
        }
        (Some(Silence::NoAnswer), true, _) => {
            let text = "that key is no answer; Tab goes back to your message";
            vec![Line::styled(text, theme.question())]
        }
        (None, true, _) if is_typed_into => Vec::new(),
        (None, true, false) => {
            vec![Line::styled("Tab or Esc goes back to your message", theme.quiet())]
        }
        (None, true, true) => {
            let text = "Tab or Esc goes back to your message · ← → look at the others";
            vec![Line::styled(text, theme.quiet())]
        }
        (None, false, true) => {
            vec![Line::styled("Tab looks at the next one that waits", theme.quiet())]
        }
        (None, false, false) => Vec::new(),
    };
    if state.has_draft() {
        let text = state.composer.text();
        let first = reveal_line(text.lines().next().unwrap_or_default()).into_owned();
        lines.push(Line::styled(words::cut(&format!("> {first}"), 60), theme.quiet()));
    }
    lines
}

fn live(state: &State, width: u16, now: Instant, has_card: bool) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for entry in state.conversation.entries() {
        match entry {
            entry if state.flow.is_done(entry) => {}
            Entry::Said(said) if state.flow.has_floor(&said.id) => {
                lines.extend(state.flow.tail(width))
            }
            Entry::Said(said) if said.text.trim().is_empty() => lines.extend(thinking(said, state)),
            Entry::Said(said) => lines.push(preview(said, width, state.theme)),
            Entry::Call(block) if block.state == CallState::AwaitingApproval && has_card => {}
            Entry::Call(block) => lines.extend(running(block, state, width, now)),
            Entry::Notice { .. } => {}
        }
    }
    for sent in &state.sending {
        let text = reveal_line(&sent.text);
        lines.push(Line::styled(
            words::cut(&format!("> {text} (sending)"), usize::from(width)),
            state.theme.quiet(),
        ));
    }
    lines
}

/// Somebody whose turn to be written comes later.
fn preview(said: &Said, width: u16, theme: Theme) -> Line<'static> {
    let name =
        if is_person(said) { "you".to_owned() } else { reveal_line(&said.sender).into_owned() };
    let style = if is_person(said) { theme.person() } else { theme.agent(&said.sender) };
    let last = said.text.trim_end().lines().next_back().unwrap_or_default();
    let room = usize::from(width).saturating_sub(name.chars().count() + 3);
    let shown: Vec<char> = reveal_line(last).chars().collect();
    let skipped = shown.len().saturating_sub(room);
    let text: String = shown.into_iter().skip(skipped).collect();
    Line::from(vec![
        Span::styled(name, style),
        Span::styled(" … ", theme.quiet()),
        Span::styled(text, theme.quiet()),
    ])
}

fn thinking(said: &Said, state: &State) -> Vec<Line<'static>> {
    let theme = state.theme;
    let count = said.reasoning.split_whitespace().count();
    if count == 0 {
        return Vec::new();
    }
    let hint = if state.shows_reasoning { "" } else { " (Ctrl-R shows)" };
    let mut lines = vec![Line::from(vec![
        Span::styled(reveal_line(&said.sender).into_owned(), theme.agent(&said.sender)),
        Span::styled(format!(" thinking… {}{hint}", words::count(count, "word")), theme.quiet()),
    ])];
    if state.shows_reasoning {
        let text = reveal(&said.reasoning);
        let all: Vec<&str> = text.lines().collect();
        let skipped = all.len().saturating_sub(REASONING);
        lines.extend(
            all.iter().skip(skipped).map(|line| Line::styled(format!("  {line}"), theme.quiet())),
        );
    }
    lines
}

fn running(block: &Block, state: &State, width: u16, now: Instant) -> Vec<Line<'static>> {
    let theme = state.theme;
    let what = match (block.state, state.running.get(&block.id)) {
        (CallState::AwaitingApproval, _) => "waits for you; /approvals".to_owned(),
        (CallState::Executing, Some(since)) => {
            format!("{} s", now.saturating_duration_since(*since).as_secs())
        }
        (CallState::Executing, None) => "runs".to_owned(),
        _ => "comes next".to_owned(),
    };
    let call = words::call(&block.name, &block.arguments);
    let room =
        usize::from(width).saturating_sub(block.agent.chars().count() + what.chars().count() + 7);
    let mut lines = vec![Line::from(vec![
        Span::styled("⚙ ", theme.quiet()),
        Span::styled(reveal_line(&block.agent).into_owned(), theme.agent(&block.agent)),
        Span::raw(format!(" {} · {what}", words::cut(&call, room))),
    ])];
    let most = if state.shows_output { MORE_OUTPUT } else { OUTPUT };
    let hidden = block.output.count().saturating_sub(most);
    let kept = block.output.lines();
    let skipped = kept.len().saturating_sub(most);
    if hidden > 0 && !state.shows_output {
        let text = format!("    … {} before (Ctrl-O shows more)", words::count(hidden, "line"));
        lines.push(Line::styled(text, theme.quiet()));
    }
    lines.extend(
        kept.skip(skipped)
            .map(|line| Line::styled(format!("    {}", reveal_line(line)), theme.quiet())),
    );
    lines
}

fn status(state: &State) -> Line<'static> {
    let theme = state.theme;
    let conversation = &state.conversation;
    if state.is_leaving() {
        return Line::styled("nothing runs: Ctrl-C once more leaves", theme.question());
    }
    let place = format!("{} · {}", conversation.world.id, reveal_line(&conversation.chat.title));
    // What matters most comes first: the end of the line may be cut off.
    let mut spans = Vec::new();
    if state.is_lost {
        spans.push(Span::styled("connection lost: trying again", theme.warning()));
        spans.push(Span::styled(" · ", theme.quiet()));
    }
    spans.push(Span::styled(words::cut(&place, 40), theme.quiet()));
    let mut add = |text: String, style| {
        spans.push(Span::styled(" · ", theme.quiet()));
        spans.push(Span::styled(text, style));
    };
    if state.waits() > 0 {
        add(format!("{} waiting", state.waits()), theme.question());
    }
    for agent in &conversation.activity.agents {
        add(format!("{} {}", reveal_line(&agent.id), doing(agent.doing)), theme.agent(&agent.id));
    }
    if !state.is_lost && conversation.activity.works() {
        let stops = if state.stopping { "stopping" } else { "Ctrl-C stops" };
        add(stops.to_owned(), theme.quiet());
    }
    if state.editing.is_some() {
        add("changes your last message; Esc does not".to_owned(), theme.question());
    }
    Line::from(spans)
}

/// What an agent does, in words.
pub fn doing(doing: Doing) -> &'static str {
    match doing {
        Doing::Thinking => "thinks",
        Doing::RunningTools => "uses tools",
        Doing::AwaitingApproval => "waits for approval",
        Doing::AwaitingHuman => "waits for you to speak",
        Doing::Other => "works",
    }
}
