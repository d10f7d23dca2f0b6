//! Turns one entry of a conversation into lines, as much of it at a time as a frame can bear.
//! Used by `transcript`, which keeps what comes out until the entry or the width is another. Text that is still written is
//! rendered on from where it was; never again from its beginning.

use std::collections::HashSet;

use agent_world_client::wire::CallState;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::super::words;
use crate::conversation::{Block, Entry, Said, SaidState};
use crate::markdown;
use crate::theme::Theme;

/// Lines that are made of one entry; all of it can be had as a file.
pub const MOST_LINES: usize = 20_000;
/// Bytes of text that one frame may render.
const BYTES: usize = 64 * 1024;
/// Bytes of text that are rendered at once.
const CHUNK: usize = 8 * 1024;
/// Lines of output that a running call shows, and a call that is over.
const LIVE_LINES: usize = 6;
const RESULT_LINES: usize = 3;
/// Bytes of the end of what was rendered that tell whether a text was continued or replaced.
const TRACE: usize = 64;

/// How an entry is to be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct How {
    pub width: u16,
    pub theme: Theme,
    /// Reasoning is shown.
    pub unfolded: bool,
    /// An empty line sets it apart from what is before.
    pub apart: bool,
}

/// The lines of one entry.
#[derive(Debug)]
pub struct Rendered {
    how: How,
    version: Option<u64>,
    head: Vec<Line<'static>>,
    body: Vec<Line<'static>>,
    tail: Vec<Line<'static>>,
    foot: Vec<Line<'static>>,
    progress: Progress,
}

/// How far a text is rendered.
#[derive(Debug)]
struct Progress {
    lines: markdown::Lines,
    done: usize,
    /// What the rendered part ended with.
    trace: String,
    complete: bool,
}

/// What a frame may still cost, and what it has cost.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// Bytes of text.
    pub bytes: usize,
    /// Lines that were made.
    pub made: usize,
}

impl Budget {
    pub fn of_frame() -> Self {
        Self { bytes: BYTES, made: 0 }
    }
}

impl Rendered {
    pub fn new(how: How) -> Self {
        Self {
            how,
            version: None,
            head: Vec::new(),
            body: Vec::new(),
            tail: Vec::new(),
            foot: Vec::new(),
            progress: Progress::new(how.theme),
        }
    }

    pub fn height(&self) -> usize {
        self.head.len() + self.body.len() + self.tail.len() + self.foot.len()
    }

    /// All of the entry, as it is now, is in the lines.
    pub fn is_complete(&self) -> bool {
        self.progress.complete
    }

    pub fn lines(&self, from: usize) -> impl Iterator<Item = &Line<'static>> {
        let mut left = from;
        let mut parts = [&self.head, &self.body, &self.tail, &self.foot].map(Vec::as_slice);
        for part in &mut parts {
            let skipped = left.min(part.len());
            left -= skipped;
            *part = part.get(skipped..).unwrap_or_default();
        }
        parts.into_iter().flatten()
    }

    /// Brings the lines up to date, within a budget.
    pub fn update(&mut self, entry: &Entry, how: How, budget: &mut Budget) {
        if self.how != how {
            *self = Self::new(how);
        }
        if self.version == Some(entry.version()) && self.progress.complete {
            return;
        }
        self.version = Some(entry.version());
        match entry {
            Entry::Said(said) => self.said(said, budget),
            Entry::Call(block) => self.whole(call(block, how), budget),
            Entry::Notice { text, .. } => self.whole(notice(text, how), budget),
        }
        if how.apart {
            self.head.insert(0, Line::default());
        }
    }

    fn whole(&mut self, lines: Vec<Line<'static>>, budget: &mut Budget) {
        budget.made += lines.len();
        self.head = lines;
        self.progress.complete = true;
    }

    fn said(&mut self, said: &Said, budget: &mut Budget) {
        let how = self.how;
        if !self.progress.continues(&said.text) {
            self.body.clear();
            self.progress = Progress::new(how.theme);
        }
        self.head = heading(said, how);
        self.foot = remarks(said, how.theme);
        let left = MOST_LINES.saturating_sub(self.body.len());
        let made = self.progress.go_on(&said.text, how.width, left, budget);
        budget.made += made.len();
        self.body.extend(made);
        self.tail = self.rest(said);
        budget.made += self.tail.len();
    }

    /// What follows the lines that are finished.
    fn rest(&mut self, said: &Said) -> Vec<Line<'static>> {
        let theme = self.how.theme;
        let left = said.text.len() - self.progress.done.min(said.text.len());
        if self.body.len() >= MOST_LINES {
            self.body.truncate(MOST_LINES);
            self.progress.complete = true;
            let more = format!("… {} more; w writes all of it to a file", size(left));
            return vec![Line::styled(more, theme.quiet())];
        }
        if left > 0 {
            let percent = self.progress.done * 100 / said.text.len().max(1);
            return vec![Line::styled(format!("… {percent} % laid out"), theme.quiet())];
        }
        self.progress.complete = true;
        let mut tail = self.progress.lines.tail(self.how.width);
        tail.truncate(MOST_LINES);
        tail
    }
}

impl Progress {
    fn new(theme: Theme) -> Self {
        Self { lines: markdown::Lines::new(theme), done: 0, trace: String::new(), complete: false }
    }

    fn continues(&self, text: &str) -> bool {
        text.get(..self.done).is_some_and(|rendered| rendered.ends_with(&self.trace))
    }

    fn go_on(
        &mut self,
        text: &str,
        width: u16,
        most: usize,
        budget: &mut Budget,
    ) -> Vec<Line<'static>> {
        let mut made = Vec::new();
        self.complete = false;
        while self.done < text.len() && budget.bytes > 0 && made.len() < most {
            let rest = text.get(self.done..).unwrap_or_default();
            let end = (0..=rest.len().min(CHUNK)).rev().find(|end| rest.is_char_boundary(*end));
            let piece = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            self.lines.push(piece);
            made.extend(self.lines.finished(width));
            self.done += piece.len();
            budget.bytes = budget.bytes.saturating_sub(piece.len());
        }
        let rendered = text.get(..self.done).unwrap_or_default();
        let start = rendered.len().saturating_sub(TRACE);
        let start = (start..=rendered.len()).find(|start| rendered.is_char_boundary(*start));
        self.trace = rendered.get(start.unwrap_or(0)..).unwrap_or_default().to_owned();
        made
    }
}

fn heading(said: &Said, how: How) -> Vec<Line<'static>> {
    let theme = how.theme;
    let (name, style) = match said.sender.as_str() {
        "human" => (said.user.as_deref().unwrap_or("you"), theme.person()),
        "world" | "system" => (said.sender.as_str(), theme.quiet()),
        agent => (agent, theme.agent(agent)),
    };
    let mut spans = vec![Span::styled(words::shown(name), style)];
    if said.state == SaidState::Streaming {
        let doing = if said.text.is_empty() { "  thinking" } else { "  writing" };
        spans.push(Span::styled(doing, theme.quiet()));
    }
    let mut lines = vec![Line::from(spans)];
    if !said.reasoning.is_empty() {
        lines.extend(reasoning(&said.reasoning, how));
    }
    lines
}

fn reasoning(text: &str, how: How) -> Vec<Line<'static>> {
    let style = how.theme.quiet();
    let long = words::count(text.split_whitespace().count(), "word");
    if !how.unfolded {
        return vec![Line::styled(format!("▸ reasoning, {long}"), style)];
    }
    let mut lines = vec![Line::styled(format!("▾ reasoning, {long}"), style)];
    let wrapped = words::wrap(text, how.width.saturating_sub(2), MOST_LINES);
    lines.extend(wrapped.into_iter().map(|line| Line::styled(format!("  {line}"), style)));
    lines
}

fn remarks(said: &Said, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if said.attachments > 0 {
        let text = format!("+ {}", words::count(said.attachments, "attachment"));
        lines.push(Line::styled(text, theme.quiet()));
    }
    if let SaidState::BrokenOff(why) = &said.state {
        let text = format!("broken off: {}", words::shown(why).replace('\n', " "));
        lines.push(Line::styled(text, theme.warning()));
    }
    lines
}

fn notice(text: &str, how: How) -> Vec<Line<'static>> {
    let wrapped = words::wrap(text, how.width.saturating_sub(2), MOST_LINES);
    let marks = std::iter::once("• ").chain(std::iter::repeat("  "));
    let lines = marks.zip(wrapped);
    lines.map(|(mark, line)| Line::styled(format!("{mark}{line}"), how.theme.quiet())).collect()
}

/// The colour of how a call stands.
pub fn tone(state: CallState, theme: Theme) -> Style {
    match state {
        CallState::Completed => theme.good(),
        CallState::AwaitingApproval => theme.question(),
        CallState::Executing => theme.strong(),
        CallState::Pending | CallState::Cancelled | CallState::Expired | CallState::Other => {
            theme.quiet()
        }
        CallState::Failed | CallState::Timeout | CallState::Denied | CallState::Interrupted => {
            theme.warning()
        }
    }
}

/// What a call is, how it stands, and the end of what it wrote.
fn call(block: &Block, how: How) -> Vec<Line<'static>> {
    let theme = how.theme;
    let width = usize::from(how.width);
    let mut stands = words::state(block.state).to_owned();
    if let Some(duration) = block.duration_ms {
        stands = format!("{stands}  {}", words::duration(duration));
    }
    let mark = match block.state {
        CallState::Completed => "✓",
        CallState::AwaitingApproval => "?",
        CallState::Executing => "▶",
        CallState::Pending | CallState::Other => "·",
        _ => "✗",
    };
    let name = words::fit(&words::shown(&block.name), width / 2);
    let used = 2 + name.width() + 2 + 2 + stands.width();
    let about = words::fit(&words::call(&block.arguments), width.saturating_sub(used));
    let gap = width.saturating_sub(2 + name.width() + 2 + about.width() + stands.width());
    let tone = tone(block.state, theme);
    let mut lines = vec![Line::from(vec![
        Span::styled(format!("{mark} "), tone),
        Span::styled(format!("{name}  "), theme.strong()),
        Span::styled(about, theme.code()),
        Span::raw(" ".repeat(gap)),
        Span::styled(stands, tone),
    ])];
    lines.extend(output(block, width.saturating_sub(4), theme));
    lines
}

fn output(block: &Block, width: usize, theme: Theme) -> Vec<Line<'static>> {
    let (total, last): (usize, Vec<&str>) = match &block.result {
        Some(result) => {
            let text = result.trim_end();
            let last: Vec<&str> = text.rsplit('\n').take(RESULT_LINES).collect();
            let total = if text.is_empty() { 0 } else { text.matches('\n').count() + 1 };
            (total, if total == 0 { Vec::new() } else { last })
        }
        None => {
            let last = block.output.lines().rev().take(LIVE_LINES).collect();
            (block.output.count(), last)
        }
    };
    let left = total.saturating_sub(last.len());
    let mut lines = Vec::new();
    let line = |text: String| Line::styled(format!("  │ {text}"), theme.quiet());
    if left > 0 {
        lines.push(line(format!("… {} before", words::count(left, "line"))));
    }
    lines.extend(last.into_iter().rev().map(|text| line(words::fit(&start(text), width))));
    lines
}

/// As much of a line as can matter, however long it is.
fn start(line: &str) -> String {
    let end = (0..=line.len().min(4_000)).rev().find(|end| line.is_char_boundary(*end));
    words::shown(line.get(..end.unwrap_or(0)).unwrap_or_default().trim_end_matches('\r'))
}

fn size(bytes: usize) -> String {
    const KILO: usize = 1_024;
    const MEGA: usize = KILO * KILO;
    if bytes < KILO {
        format!("{bytes} bytes")
    } else if bytes < MEGA {
        format!("{} KB", bytes / KILO)
    } else {
        format!("{}.{} MB", bytes / MEGA, bytes % MEGA * 10 / MEGA)
    }
}

/// Which entries have their reasoning shown.
pub type Unfolded = HashSet<String>;
