//! All there is about one thing, over everything else: a tool call, or an event of the log.
//! Owned by the state. Lays out only so much for each frame, and for a width once; what is very long is cut, and says how to
//! have all of it.

use ratatui::text::{Line, Span};

use super::log::Logged;
use super::transcript::laid::{Budget, MOST_LINES, piece};
use super::words;
use crate::conversation::Block;
use crate::theme::Theme;

#[derive(Debug)]
pub struct Details {
    pub title: String,
    /// The call it is about, so that it can follow it.
    pub call: Option<(String, u64)>,
    sections: Vec<(&'static str, String)>,
    lines: Vec<Line<'static>>,
    /// How far it is laid out: the section, and bytes of it.
    done: (usize, usize),
    width: u16,
    height: usize,
    /// Lines above the screen; more than there are while the end is wanted and not laid out yet.
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

    pub fn of_text(title: String, text: String) -> Self {
        let mut details = Self::new(title);
        details.sections = vec![("", text)];
        details
    }

    fn new(title: String) -> Self {
        Self {
            title,
            call: None,
            sections: Vec::new(),
            lines: Vec::new(),
            done: (0, 0),
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

    /// Lays out what a frame can bear.
    pub fn arrange(&mut self, width: u16, height: usize, theme: Theme, budget: &mut Budget) {
        self.height = height;
        if self.width != width {
            self.width = width;
            self.lines.clear();
            self.done = (0, 0);
        }
        while self.is_unfinished() && !budget.is_spent() {
            self.go_on(theme, budget);
        }
        if !self.is_unfinished() {
            self.scroll(0);
        }
    }

    /// More could be laid out in another frame.
    pub fn is_unfinished(&self) -> bool {
        self.done.0 < self.sections.len()
    }

    fn go_on(&mut self, theme: Theme, budget: &mut Budget) {
        let (section, done) = self.done;
        let Some((name, text)) = self.sections.get(section) else {
            return;
        };
        let before = self.lines.len();
        let is_short = text.len() < 60 && !text.contains('\n') && !name.is_empty();
        let mut used = text.len();
        if is_short {
            let name = Span::styled(format!("{name:<10}"), theme.quiet());
            self.lines.push(Line::from(vec![name, Span::raw(words::shown(text))]));
        } else {
            if done == 0 && !name.is_empty() {
                self.lines.push(Line::default());
                self.lines.push(Line::styled(*name, theme.strong()));
            }
            let part = whole_lines(text.get(done..).unwrap_or_default());
            let wrapped = words::wrap(part, self.width.saturating_sub(2), MOST_LINES);
            self.lines.extend(wrapped.into_iter().map(|line| Line::from(format!("  {line}"))));
            used = part.len();
        }
        self.done = match done + used < text.len() {
            true => (section, done + used),
            false => (section + 1, 0),
        };
        if self.lines.len() > MOST_LINES {
            self.lines.truncate(MOST_LINES);
            let more = "  … more; w writes all of it to a file";
            self.lines.push(Line::styled(more, theme.quiet()));
            self.done = (self.sections.len(), 0);
        }
        budget.spend(used, self.lines.len() - before.min(self.lines.len()));
    }

    pub fn page(&self) -> isize {
        isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(1)
    }

    pub fn scroll(&mut self, by: isize) {
        let to = self.top().saturating_add_signed(by);
        // The end is where it will be.
        let wants_end = by == isize::MAX && self.is_unfinished();
        self.scrolled = if wants_end { usize::MAX } else { to.min(self.last()) };
    }

    /// The last line that can be at the top.
    fn last(&self) -> usize {
        self.lines.len().saturating_sub(self.height)
    }

    fn top(&self) -> usize {
        self.scrolled.min(self.last())
    }

    pub fn visible(&self) -> &[Line<'static>] {
        let end = (self.top() + self.height).min(self.lines.len());
        self.lines.get(self.top()..end).unwrap_or_default()
    }

    /// How far down it is: the last line that is seen, of how many.
    pub fn progress(&self) -> (usize, usize) {
        ((self.top() + self.height).min(self.lines.len()), self.lines.len())
    }
}

/// As many whole lines as are laid out at once; a part of one that is longer.
fn whole_lines(text: &str) -> &str {
    let piece = piece(text);
    match piece.rfind('\n') {
        Some(end) if piece.len() < text.len() => piece.get(..=end).unwrap_or(piece),
        _ => piece,
    }
}
