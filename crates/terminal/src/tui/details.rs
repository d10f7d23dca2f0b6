//! All there is about one thing, over everything else: a tool call, or an event of the log.
//! Owned by the state. Wraps once for a width; what is very long is cut, and says how to have all of it.

use ratatui::text::{Line, Span};

use super::log::Logged;
use super::words;
use crate::conversation::Block;
use crate::theme::Theme;

const MOST_LINES: usize = 20_000;

#[derive(Debug)]
pub struct Details {
    pub title: String,
    /// The call it is about, so that it can follow it.
    pub call: Option<(String, u64)>,
    sections: Vec<(&'static str, String)>,
    lines: Vec<Line<'static>>,
    width: u16,
    height: usize,
    scrolled: usize,
}

impl Details {
    pub fn of_call(block: &Block) -> Self {
        let mut details = Self::new(format!("{}  {}", words::shown(&block.name), block.id));
        details.follow(block);
        details
    }

    pub fn of_event(event: &Logged) -> Self {
        let mut details = Self::new(format!("event {}  {}", event.seq, event.kind));
        details.sections = vec![("At", event.at.clone()), ("Data", event.text.clone())];
        details
    }

    fn new(title: String) -> Self {
        Self {
            title,
            call: None,
            sections: Vec::new(),
            lines: Vec::new(),
            width: 0,
            height: 0,
            scrolled: 0,
        }
    }

    /// Takes in a call as it is now.
    pub fn follow(&mut self, block: &Block) {
        let known = Some((block.id.clone(), block.version));
        if self.call == known {
            return;
        }
        self.call = known;
        self.width = 0;
        let mut state = words::state(block.state).to_owned();
        if let Some(duration) = block.duration_ms {
            state = format!("{state} after {}", words::duration(duration));
        }
        let arguments = agent_world_core::display::mask_secrets(&block.arguments);
        self.sections = vec![("Agent", block.agent.clone()), ("State", state)];
        if let Some(approval) = &block.approval {
            self.sections.push(("Approval", approval.clone()));
        }
        self.sections.push(("Arguments", format!("{arguments:#}")));
        match &block.result {
            Some(result) => self.sections.push(("Result", result.clone())),
            None if block.output.count() > 0 => {
                let kept: Vec<&str> = block.output.lines().collect();
                let mut text = kept.join("\n");
                if kept.len() < block.output.count() {
                    let gone = words::count(block.output.count() - kept.len(), "line");
                    text = format!("… {gone} before\n{text}");
                }
                self.sections.push(("Output so far", text));
            }
            None => {}
        }
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        let parts = self.sections.iter().map(|(name, text)| format!("{name}\n{text}\n"));
        format!("{}\n\n{}", self.title, parts.collect::<Vec<String>>().join("\n"))
    }

    pub fn arrange(&mut self, width: u16, height: usize, theme: Theme) {
        self.height = height;
        if self.width != width {
            self.width = width;
            self.lines = self.wrapped(theme);
        }
        self.scroll(0);
    }

    fn wrapped(&self, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for (name, text) in &self.sections {
            let one_line = text.len() < 60 && !text.contains('\n');
            if one_line {
                let name = Span::styled(format!("{name:<10}"), theme.quiet());
                lines.push(Line::from(vec![name, Span::raw(words::shown(text))]));
                continue;
            }
            lines.push(Line::default());
            lines.push(Line::styled(*name, theme.strong()));
            let left = MOST_LINES.saturating_sub(lines.len());
            let wrapped = words::wrap(text, self.width.saturating_sub(2), left + 1);
            let is_cut = wrapped.len() > left;
            lines
                .extend(wrapped.into_iter().take(left).map(|line| Line::from(format!("  {line}"))));
            if is_cut {
                lines.push(Line::styled("  … more; w writes all of it to a file", theme.quiet()));
                break;
            }
        }
        lines
    }

    pub fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    pub fn scroll(&mut self, by: isize) {
        let last = self.lines.len().saturating_sub(self.height);
        self.scrolled = self.scrolled.saturating_add_signed(by).min(last);
    }

    pub fn visible(&self) -> &[Line<'static>] {
        let end = (self.scrolled + self.height).min(self.lines.len());
        self.lines.get(self.scrolled..end).unwrap_or_default()
    }

    /// How far down it is: the last line that is seen, of how many.
    pub fn progress(&self) -> (usize, usize) {
        ((self.scrolled + self.height).min(self.lines.len()), self.lines.len())
    }
}
