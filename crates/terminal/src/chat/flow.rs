//! Decides what goes into the scrollback, and in which order: one speaks at a time, the others wait for their turn.
//! Called by `state` before each drawing. What was given out is never taken back; what can still change is not given out.

use std::collections::HashSet;

use agent_world_client::wire::CallState;
use agent_world_core::display::{reveal, reveal_line};
use ratatui::text::{Line, Span};

use super::shorten::{Shortened, WHERE, shortened};
use super::words;
use crate::conversation::{Block, Conversation, Entry, Said, SaidState};
use crate::markdown::{self, Lines};
use crate::theme::Theme;

/// Before every line of a text, so that none can pass for a line of somebody else.
const INDENT: &str = "  ";
const INDENT_WIDTH: u16 = 2;
/// Lines of a tool's result that are shown, and of a message of earlier.
const RESULT: usize = 5;
const EARLIER_LINES: usize = 12;
/// Lines of the result of a call of earlier.
const EARLIER_RESULT: usize = 2;

#[derive(Debug, Default)]
pub struct Flow {
    done: HashSet<String>,
    /// Calls whose denial was told with the decision.
    told: HashSet<String>,
    floor: Option<Floor>,
    /// The last lines were what a person said: an answer follows them closely.
    after_person: bool,
}

/// Whoever speaks into the scrollback.
#[derive(Debug)]
struct Floor {
    id: String,
    /// What was said so far, and how much of that was handed on.
    heard: String,
    handed: String,
    lines: Lines,
    /// Something else was written since.
    interrupted: bool,
}

impl Flow {
    /// What was there when the chat was opened: the last messages, and the calls among them, quietly. The rest of it is not
    /// told again.
    pub fn enter(
        &mut self,
        conversation: &Conversation,
        earlier: usize,
        width: u16,
        theme: Theme,
    ) -> Vec<Line<'static>> {
        let mut told = Vec::new();
        for entry in conversation.entries() {
            match entry {
                Entry::Said(one) if one.state == SaidState::Streaming => continue,
                Entry::Call(block) if !block.state.is_over() => continue,
                Entry::Said(one) if one.text.trim().is_empty() => {}
                Entry::Said(_) | Entry::Call(_) => told.push(entry),
                Entry::Notice { .. } => {}
            }
            self.done.insert(entry.id().to_owned());
        }
        let is_said = |entry: &&Entry| matches!(entry, Entry::Said(_));
        let said = told.iter().filter(|entry| is_said(entry)).count();
        let mut skipped = said.saturating_sub(earlier);
        told.into_iter()
            .skip_while(|entry| {
                let skips = skipped > 0;
                skipped -= usize::from(skips && is_said(entry));
                skips
            })
            .flat_map(|entry| match entry {
                Entry::Said(one) => {
                    let is_close = !is_person(one) && self.after_person;
                    self.after_person = is_person(one);
                    let apart = (!is_close).then(Line::default);
                    apart.into_iter().chain(before(one, width, theme)).collect()
                }
                Entry::Call(block) => {
                    self.after_person = false;
                    ended(block, EARLIER_RESULT, theme)
                }
                Entry::Notice { .. } => Vec::new(),
            })
            .collect()
    }

    /// A call whose end was told with the decision about it.
    pub fn tell_no_more(&mut self, call: &str) {
        self.told.insert(call.to_owned());
    }

    /// Another line is about to be written.
    pub fn interrupt(&mut self) {
        self.after_person = false;
        if let Some(floor) = &mut self.floor {
            floor.interrupted = true;
        }
    }

    pub fn is_done(&self, entry: &Entry) -> bool {
        self.done.contains(entry.id())
    }

    pub fn has_floor(&self, id: &str) -> bool {
        self.floor.as_ref().is_some_and(|floor| floor.id == id)
    }

    /// What the speaker has said that may still change.
    pub fn tail(&self, width: u16) -> Vec<Line<'static>> {
        let tail = self.floor.as_ref().map(|floor| floor.lines.tail(room(width)));
        tail.unwrap_or_default().into_iter().map(indented).collect()
    }

    /// What can be given out now.
    pub fn advance(
        &mut self,
        conversation: &Conversation,
        width: u16,
        theme: Theme,
    ) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        while self.go_on(conversation, width, theme, &mut out) {
            let next = conversation.entries().iter().find(|entry| self.can_begin(entry));
            match next {
                Some(Entry::Said(said)) => self.begin(said, theme, &mut out),
                Some(Entry::Call(block)) => {
                    self.after_person = false;
                    if block.state != CallState::Denied || !self.told.contains(&block.id) {
                        out.extend(ended(block, RESULT, theme));
                    }
                    self.done.insert(block.id.clone());
                }
                Some(Entry::Notice { id, text, .. }) => {
                    out.push(Line::styled(format!("! {}", reveal_line(text)), theme.warning()));
                    self.done.insert(id.clone());
                }
                None => break,
            }
        }
        out
    }

    fn can_begin(&self, entry: &Entry) -> bool {
        !self.is_done(entry)
            && match entry {
                Entry::Said(said) => {
                    said.state != SaidState::Streaming || !said.text.trim().is_empty()
                }
                Entry::Call(block) => block.state.is_over(),
                Entry::Notice { .. } => true,
            }
    }

    fn begin(&mut self, said: &Said, theme: Theme, out: &mut Vec<Line<'static>>) {
        if said.text.trim().is_empty() {
            self.done.insert(said.id.clone());
            return;
        }
        if is_person(said) {
            out.push(Line::default());
            out.extend(by_person(said, theme));
            self.done.insert(said.id.clone());
            self.after_person = true;
            return;
        }
        if !std::mem::take(&mut self.after_person) {
            out.push(Line::default());
        }
        out.push(header(said, theme));
        self.floor = Some(Floor {
            id: said.id.clone(),
            heard: String::new(),
            handed: String::new(),
            lines: Lines::new(theme),
            interrupted: false,
        });
    }

    /// Lets whoever has the floor go on. Says whether it is free then.
    fn go_on(
        &mut self,
        conversation: &Conversation,
        width: u16,
        theme: Theme,
        out: &mut Vec<Line<'static>>,
    ) -> bool {
        let Some(floor) = &mut self.floor else {
            return true;
        };
        // A message that was taken back has nothing more to say.
        let Some(Entry::Said(said)) = conversation.entry(&floor.id) else {
            out.extend(floor.rest(width, theme));
            out.push(aside("taken back", theme));
            self.floor = None;
            return true;
        };
        let is_over = said.state != SaidState::Streaming;
        let Shortened { text, left_out } = shortened(&said.text, is_over);
        match text.strip_prefix(&floor.handed).filter(|_| said.text.starts_with(&floor.heard)) {
            Some(rest) => floor.lines.push(rest),
            None => floor.begin_anew(said, &text, width, theme, out),
        }
        floor.handed = text.into_owned();
        floor.heard.clone_from(&said.text);
        let mut lines: Vec<Line<'static>> =
            floor.lines.finished(room(width)).into_iter().map(indented).collect();
        if is_over {
            lines.extend(floor.rest(width, theme));
            lines.extend(left(left_out, theme));
        }
        if floor.interrupted && !lines.is_empty() {
            floor.interrupted = false;
            let name = reveal_line(&said.sender);
            let how = match said.state {
                SaidState::BrokenOff(_) => "before that",
                _ => "goes on",
            };
            out.push(Line::styled(format!("{name} ({how})"), theme.agent(&said.sender)));
        }
        out.extend(lines);
        if !is_over {
            return false;
        }
        if let SaidState::BrokenOff(why) = &said.state {
            out.push(aside(&format!("broken off: {}", reveal_line(why)), theme));
        }
        self.done.insert(floor.id.clone());
        self.floor = None;
        true
    }
}

impl Floor {
    /// What is left of what was handed on, now that nothing follows it.
    fn rest(&mut self, width: u16, theme: Theme) -> impl Iterator<Item = Line<'static>> + use<> {
        let lines = std::mem::replace(&mut self.lines, Lines::new(theme));
        lines.end(room(width)).into_iter().map(indented)
    }

    /// What was stored is not what was streamed.
    fn begin_anew(
        &mut self,
        said: &Said,
        shown: &str,
        width: u16,
        theme: Theme,
        out: &mut Vec<Line<'static>>,
    ) {
        out.extend(self.rest(width, theme));
        let streamed = self.heard.trim();
        let added = said.text.trim().strip_suffix(streamed).filter(|_| !streamed.is_empty());
        match added {
            // Only whom it is for was added.
            Some(added) => out.push(aside(&format!("to {}", reveal_line(added.trim())), theme)),
            None => {
                let why =
                    if said.state == SaidState::Streaming { "begins anew" } else { "as posted" };
                out.push(aside(why, theme));
                self.lines.push(shown);
            }
        }
    }
}

pub fn is_person(said: &Said) -> bool {
    matches!(said.sender.as_str(), "human" | "user")
}

fn room(width: u16) -> u16 {
    width.saturating_sub(INDENT_WIDTH).max(1)
}

fn indented(mut line: Line<'static>) -> Line<'static> {
    if line.width() > 0 {
        line.spans.insert(0, Span::raw(INDENT));
    }
    line
}

/// What is said of characters that are not shown.
fn left(characters: usize, theme: Theme) -> Option<Line<'static>> {
    let text = format!("{} left out; {WHERE}", words::count(characters, "character"));
    (characters > 0).then(|| aside(&text, theme))
}

fn aside(text: &str, theme: Theme) -> Line<'static> {
    Line::styled(format!("{INDENT}({text})"), theme.quiet())
}

fn header(said: &Said, theme: Theme) -> Line<'static> {
    let style = match said.sender.as_str() {
        "system" | "world" => theme.warning(),
        agent => theme.agent(agent),
    };
    let mut spans = vec![Span::styled(reveal_line(&said.sender).into_owned(), style)];
    match said.reasoning.split_whitespace().count() {
        0 => {}
        count => spans.push(Span::styled(
            format!("  thought {}", words::count(count, "word")),
            theme.quiet(),
        )),
    }
    if said.attachments > 0 {
        let text = format!("  with {}", words::count(said.attachments, "attachment"));
        spans.push(Span::styled(text, theme.quiet()));
    }
    Line::from(spans)
}

fn by_person(said: &Said, theme: Theme) -> Vec<Line<'static>> {
    let short = shortened(said.text.trim_end(), true);
    let left = left(short.left_out, theme);
    person_says(said, &short.text, theme).into_iter().chain(left).collect()
}

fn person_says(said: &Said, text: &str, theme: Theme) -> Vec<Line<'static>> {
    let name = said.user.as_deref().map(reveal_line).unwrap_or_default();
    let prompt = format!("{name}> ");
    let text = reveal(text);
    let mut lines = text.lines().map(str::to_owned);
    let first =
        vec![Span::styled(prompt, theme.person()), Span::raw(lines.next().unwrap_or_default())];
    let rest = lines.map(|line| Line::from(format!("{INDENT}{line}")));
    std::iter::once(Line::from(first)).chain(rest).collect()
}

/// A message of earlier, all of it quiet.
fn before(said: &Said, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let short = shortened(said.text.trim_end(), true);
    let mut lines: Vec<Line<'static>> = match is_person(said) {
        true => person_says(said, &short.text, theme),
        false => {
            let text = markdown::render(&short.text, room(width), theme);
            std::iter::once(header(said, theme))
                .chain(text.lines.into_iter().map(indented))
                .collect()
        }
    };
    let left = lines.len().saturating_sub(EARLIER_LINES);
    lines.truncate(EARLIER_LINES);
    match words::amount(left, short.left_out) {
        Some(left) if short.left_out > 0 => {
            lines.push(aside(&format!("{left} more; {WHERE}"), theme));
        }
        Some(left) => lines.push(aside(&format!("{left} more"), theme)),
        None => {}
    }
    lines.into_iter().map(|line| line.patch_style(theme.quiet())).collect()
}

fn ended(block: &Block, most: usize, theme: Theme) -> Vec<Line<'static>> {
    let call = words::call(&block.name, &block.arguments);
    let style = match block.state {
        CallState::Completed => theme.quiet(),
        _ => theme.warning(),
    };
    let heading = Line::from(vec![
        Span::styled("⚙ ", theme.quiet()),
        Span::styled(reveal_line(&block.agent).into_owned(), theme.agent(&block.agent)),
        Span::raw(format!(" {call} · ")),
        Span::styled(words::ended(block), style),
    ]);
    let result = block.result.as_deref().unwrap_or_default().trim_end();
    let left = result.lines().count().saturating_sub(most);
    let left = words::left_of_result(block, left, result.lines().take(most));
    let result = reveal(result);
    let shown =
        result.lines().take(most).map(|line| format!("{INDENT}{INDENT}{}", words::cut(line, 300)));
    let more = left.map(|left| format!("{INDENT}{INDENT}… {left} more (Ctrl-O shows)"));
    let result = shown.chain(more).map(|line| Line::styled(line, theme.quiet()));
    std::iter::once(heading).chain(result).collect()
}
