//! Shows what is hidden otherwise: what agents think, and what tools gave back.
//! Part of `state`, for two keys. While something runs it is shown or hidden where it is; afterwards the last of it is written
//! once more, with more of it, and each further key goes one call back.

use agent_world_client::wire::CallState;
use agent_world_core::display::{mask_secrets, reveal, reveal_line};
use ratatui::text::{Line, Span};

use super::State;
use crate::chat::shorten::{WHERE, shortened};
use crate::chat::words;
use crate::conversation::{Block, Entry, Said, SaidState};
use crate::theme::Theme;

/// Lines of a result, of arguments and of thoughts, and characters of one.
const LINES: usize = 200;
const LINE: usize = 1_000;

impl State {
    pub(super) fn show_output(&mut self) {
        let runs = |entry: &Entry| matches!(entry, Entry::Call(block) if block.state == CallState::Executing);
        if self.conversation.entries().iter().any(runs) {
            self.shows_output = !self.shows_output;
            return;
        }
        let ended = self.conversation.entries().iter().rev().filter_map(|entry| match entry {
            Entry::Call(block) if block.state.is_over() => Some(block.as_ref()),
            _ => None,
        });
        let next = match &self.recalled {
            None => ended.clone().next(),
            Some(last) => ended.clone().skip_while(|block| block.id != *last).nth(1),
        };
        match next.map(|block| (block.id.clone(), whole(block, self.theme))) {
            Some((id, lines)) => {
                self.recalled = Some(id);
                self.put(vec![Line::default()]);
                self.put(lines);
            }
            None if self.recalled.take().is_some() => {
                self.note("there is no earlier tool call here; Ctrl-O begins with the last again");
            }
            None => self.note("no tool has been used here yet"),
        }
    }

    pub(super) fn show_reasoning(&mut self) {
        let said = self.conversation.entries().iter().rev().filter_map(|entry| match entry {
            Entry::Said(said) => Some(said),
            _ => None,
        });
        if said.clone().any(|said| said.state == SaidState::Streaming) {
            self.shows_reasoning = !self.shows_reasoning;
            return;
        }
        let last = said.clone().find(|said| !said.reasoning.trim().is_empty());
        match last.map(|said| thoughts(said, self.theme)) {
            Some(lines) => {
                self.put(vec![Line::default()]);
                self.put(lines);
            }
            None => self.note("nobody has told here what they thought"),
        }
    }
}

/// A call with what it was given and what it gave back.
fn whole(block: &Block, theme: Theme) -> Vec<Line<'static>> {
    let mut lines = vec![Line::from(vec![
        Span::styled("⚙ ", theme.quiet()),
        Span::styled(reveal_line(&block.agent).into_owned(), theme.agent(&block.agent)),
        Span::raw(format!(" {} · {}", reveal_line(&block.name), words::ended(block))),
    ])];
    let arguments = format!("{:#}", mask_secrets(&words::as_written(&block.arguments)));
    lines.push(Line::styled("  called with", theme.quiet()));
    lines.extend(quoted(&arguments, None, theme));
    match block.result.as_deref().map(str::trim_end).unwrap_or_default() {
        "" => lines.push(Line::styled("  it gave nothing back", theme.quiet())),
        result => {
            lines.push(Line::styled("  it gave back", theme.quiet()));
            lines.extend(quoted(result, Some(block), theme));
        }
    }
    lines
}

fn thoughts(said: &Said, theme: Theme) -> Vec<Line<'static>> {
    let name = Span::styled(reveal_line(&said.sender).into_owned(), theme.agent(&said.sender));
    let mut lines = vec![Line::from(vec![name, Span::styled(" thought", theme.quiet())])];
    lines.extend(quoted(said.reasoning.trim(), None, theme));
    lines
}

/// What somebody else wrote, every line of it marked. `of`: the call whose result it is.
fn quoted(text: &str, of: Option<&Block>, theme: Theme) -> Vec<Line<'static>> {
    let short = shortened(text, true);
    let lines = short.text.lines().count().saturating_sub(LINES);
    let left = match of.filter(|block| block.whole.is_some()) {
        Some(block) => words::left_of_result(block, lines, short.text.lines().take(LINES)),
        None => words::amount(lines, short.left_out),
    };
    let text = reveal(&short.text);
    let shown = text.lines().take(LINES).map(|line| format!("  │ {}", words::cut(line, LINE)));
    let more = left.map(|left| format!("  … {left} more; {WHERE}"));
    shown.chain(more).map(|line| Line::styled(line, theme.quiet())).collect()
}
