//! Turns one entry of a conversation into lines.
//! Used by `transcript`, which keeps what comes out until the entry or the width is another. Texts are laid out by `laid`, as
//! much at a time as a frame can bear; everything else about an entry is short.

use std::collections::HashSet;

use agent_world_client::wire::CallState;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr as _;

use super::super::words;
use super::laid::{Budget, Laid};
use crate::conversation::{Block, Entry, Said, SaidState};
use crate::theme::Theme;

/// Lines of output that a running call shows, and a call that is over.
const LIVE_LINES: usize = 6;
const RESULT_LINES: usize = 3;
/// Lines of a notice.
const NOTICE_LINES: usize = 200;
/// Bytes of reasoning whose words are counted; of more it says how much there is.
const COUNTED: usize = 128 * 1024;

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
    reasoning: Laid,
    text: Laid,
    foot: Vec<Line<'static>>,
    is_complete: bool,
}

impl Rendered {
    pub fn new(how: How) -> Self {
        Self {
            how,
            version: None,
            head: Vec::new(),
            reasoning: Laid::new(how.theme),
            text: Laid::new(how.theme),
            foot: Vec::new(),
            is_complete: false,
        }
    }

    fn parts(&self) -> [&[Line<'static>]; 6] {
        let ([thought, more], [said, rest]) = (self.reasoning.parts(), self.text.parts());
        [&self.head, thought, more, said, rest, &self.foot]
    }

    pub fn height(&self) -> usize {
        self.parts().iter().map(|part| part.len()).sum()
    }

    /// All of the entry, as it is now, is in the lines.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    pub fn lines(&self, from: usize) -> impl Iterator<Item = &Line<'static>> {
        let mut left = from;
        let mut parts = self.parts();
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
        if self.version == Some(entry.version()) && self.is_complete {
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
        self.is_complete = true;
    }

    fn said(&mut self, said: &Said, budget: &mut Budget) {
        let how = self.how;
        self.head = heading(said, how);
        self.foot = remarks(said, how.theme);
        if how.unfolded {
            let width = how.width.saturating_sub(2);
            self.reasoning.update(&said.reasoning, width, budget, |line| aside(line, how.theme));
        }
        self.text.update(&said.text, how.width, budget, |line| line);
        self.is_complete = self.text.is_complete && (!how.unfolded || self.reasoning.is_complete);
    }
}

/// Reasoning is set apart from what was said.
fn aside(line: Line<'static>, theme: Theme) -> Line<'static> {
    let spans = line.spans.into_iter().map(|span| span.style(theme.quiet()));
    Line::from(std::iter::once(Span::raw("  ")).chain(spans).collect::<Vec<Span<'static>>>())
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
        let mark = if how.unfolded { "▾" } else { "▸" };
        let long = match said.reasoning.len() {
            ..=COUNTED => words::count(said.reasoning.split_whitespace().count(), "word"),
            bytes => words::size(bytes),
        };
        lines.push(Line::styled(format!("{mark} reasoning, {long}"), theme.quiet()));
    }
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
    let wrapped = words::wrap(text, how.width.saturating_sub(2), NOTICE_LINES);
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
    let agent = words::fit(&words::shown(&block.agent), width / 4);
    let name = words::fit(&words::shown(&block.name), width / 3);
    let fixed = 2 + agent.width() + 2 + name.width() + 2;
    let room = width.saturating_sub(fixed + 2 + stands.width());
    let about = words::fit(&words::call(&block.arguments), room);
    let gap = width.saturating_sub(fixed + about.width() + stands.width());
    let tone = tone(block.state, theme);
    let mut lines = vec![Line::from(vec![
        Span::styled(format!("{mark} "), tone),
        Span::styled(format!("{agent}  "), theme.agent(&block.agent)),
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

/// Which entries have their reasoning shown.
pub type Unfolded = HashSet<String>;
