//! Cuts a text that is still being written into blocks, and gives out what cannot change any more.
//! Used by everything that shows messages. Where a block ends depends on the text alone, never on the pieces it came in, and
//! every character is looked at a bounded number of times.

use agent_world_core::display::reveal;
use ratatui::text::Line;

use super::blocks::{CODE_INDENT, code_indent, draw, label};
use super::code::Highlighter;
use super::line::{Fence, Kind, is_blank, kind_of, opens_fence, starts_item};
use super::long::Long;
use super::wrap::{Break, Spans, wrap};
use crate::theme::Theme;

/// Bytes of a line that is waited for; a longer one is given out as it comes.
const LINE: usize = 16 * 1024;

/// A text that is still being written: what will not change any more is given out once.
#[derive(Clone, Debug)]
pub struct Lines {
    theme: Theme,
    /// The end of what came, without a line break.
    partial: String,
    /// Whole lines that were not looked at yet.
    arrived: String,
    block: Block,
    /// Something was given out, from which the next block is set apart.
    is_begun: bool,
}

/// What the next line may belong to.
#[derive(Clone, Debug)]
enum Block {
    None,
    /// Lines of Markdown that are drawn together.
    Open {
        kind: Kind,
        text: String,
        after_blank: bool,
        inner: Option<Fence>,
    },
    /// Too long to be drawn together: lines are given out as they are.
    Plain,
    Code {
        fence: Fence,
        highlighter: Box<Highlighter>,
    },
    /// In the middle of a line that is too long, in a text or in code.
    Long {
        long: Long,
        code: Option<(Fence, Box<Highlighter>)>,
    },
}

impl Lines {
    pub fn new(theme: Theme) -> Self {
        Self {
            theme,
            partial: String::new(),
            arrived: String::new(),
            block: Block::None,
            is_begun: false,
        }
    }

    pub fn push(&mut self, piece: &str) {
        match piece.rfind('\n') {
            None => self.partial.push_str(piece),
            Some(end) => {
                let (whole, rest) = piece.split_at_checked(end + 1).unwrap_or((piece, ""));
                self.arrived.push_str(&std::mem::take(&mut self.partial));
                self.arrived.push_str(whole);
                self.partial.push_str(rest);
            }
        }
    }

    /// Lines that no further piece can change, each given once.
    pub fn finished(&mut self, width: u16) -> Vec<Line<'static>> {
        let mut out = Vec::new();
        let arrived = std::mem::take(&mut self.arrived);
        for line in arrived.split_terminator('\n') {
            self.line(line, width, &mut out);
        }
        if matches!(self.block, Block::Long { .. }) || self.partial.len() > LINE {
            let partial = std::mem::take(&mut self.partial);
            self.partial = self.long(&partial, width, &mut out);
        }
        out
    }

    /// What comes next is code, whose parts are looked at: that takes longer than text.
    pub fn is_in_code(&self) -> bool {
        match &self.block {
            Block::Code { highlighter, .. } => highlighter.is_at_work(),
            _ => false,
        }
    }

    /// What is there after them, as far as it is known.
    pub fn tail(&self, width: u16) -> Vec<Line<'static>> {
        self.clone().end(width)
    }

    /// Everything that is left of a text that ended.
    pub fn end(mut self, width: u16) -> Vec<Line<'static>> {
        let mut out = self.finished(width);
        let partial = std::mem::take(&mut self.partial);
        if !partial.is_empty() || matches!(self.block, Block::Long { .. }) {
            self.line(&partial, width, &mut out);
        }
        self.close(width, &mut out);
        out
    }

    /// A whole line, or the rest of one of which the beginning was given out.
    fn line(&mut self, line: &str, width: u16, out: &mut Vec<Line<'static>>) {
        if matches!(self.block, Block::Long { .. }) || line.len() > LINE {
            let rest = self.long(line, width, out);
            self.end_long(&rest, width, out);
            return;
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = reveal(line);
        if let Block::Code { fence, highlighter } = &mut self.block {
            if fence.is_closed_by(&line) {
                self.block = Block::None;
            } else {
                let spans = highlighter.line(fence.content(&line));
                let indent = vec![code_indent(self.theme)];
                out.extend(wrap(&spans, width, &indent, &indent, Break::Anywhere));
            }
            return;
        }
        self.close_before(&line, width, out);
        self.add(&line, width, out);
    }

    /// Ends the block if a line cannot belong to it.
    fn close_before(&mut self, line: &str, width: u16, out: &mut Vec<Line<'static>>) {
        let ends = match &self.block {
            Block::Open { inner: Some(_), .. } | Block::None => false,
            Block::Open { kind: Kind::List, after_blank, .. } => {
                let is_indented = line.starts_with([' ', '\t']);
                let goes_on = is_indented || is_blank(line) || starts_item(line);
                match after_blank {
                    true => !goes_on,
                    // A line may go on with the last one's paragraph; code may not.
                    false => !is_indented && opens_fence(line).is_some(),
                }
            }
            _ => is_blank(line) || opens_fence(line).is_some(),
        };
        if ends {
            self.close(width, out);
        }
    }

    fn add(&mut self, line: &str, width: u16, out: &mut Vec<Line<'static>>) {
        match &mut self.block {
            Block::None if is_blank(line) => {}
            Block::None => match opens_fence(line) {
                Some(fence) => self.begin_code(fence, width, out),
                None => {
                    let kind = kind_of(line);
                    let inner = Fence::within(line).filter(|_| kind == Kind::List);
                    let text = format!("{line}\n");
                    self.block = Block::Open { kind, text, after_blank: false, inner };
                }
            },
            Block::Open { kind, text, after_blank, inner } => {
                text.push_str(line);
                text.push('\n');
                *after_blank = is_blank(line);
                // A list may follow a paragraph at once.
                if starts_item(line) {
                    *kind = Kind::List;
                }
                *inner = match inner.take() {
                    Some(fence) if fence.is_closed_by(line.trim_start()) => None,
                    Some(fence) => Some(fence),
                    None => Fence::within(line).filter(|_| *kind == Kind::List),
                };
                if text.len() > kind.limit() {
                    self.give_up(width, out);
                }
            }
            Block::Plain => out.extend(self.plain(line, width)),
            Block::Code { .. } | Block::Long { .. } => {}
        }
    }

    /// What is there of the block is given out as it is.
    fn give_up(&mut self, width: u16, out: &mut Vec<Line<'static>>) {
        if let Block::Open { text, .. } = std::mem::replace(&mut self.block, Block::Plain) {
            self.gap(out);
            for line in text.lines() {
                out.extend(self.plain(line, width));
            }
        }
    }

    fn plain(&self, line: &str, width: u16) -> Vec<Line<'static>> {
        let text = vec![(line.to_owned(), self.theme.plain())];
        wrap(&text, width, &Spans::new(), &Spans::new(), Break::Words)
    }

    fn begin_code(&mut self, fence: Fence, width: u16, out: &mut Vec<Line<'static>>) {
        self.gap(out);
        if let Some(label) = label(&fence.language, self.theme) {
            let indent = vec![code_indent(self.theme)];
            out.extend(wrap(&label, width, &indent, &indent, Break::Anywhere));
        }
        let highlighter = Box::new(Highlighter::new(&fence.language, self.theme));
        self.block = Block::Code { fence, highlighter };
    }

    /// Ends the block there is.
    fn close(&mut self, width: u16, out: &mut Vec<Line<'static>>) {
        if let Block::Open { text, .. } = std::mem::replace(&mut self.block, Block::None) {
            let drawn = draw(&text, width, self.theme);
            if !drawn.is_empty() {
                self.gap(out);
                out.extend(drawn);
            }
        }
    }

    fn gap(&mut self, out: &mut Vec<Line<'static>>) {
        if std::mem::replace(&mut self.is_begun, true) {
            out.push(Line::default());
        }
    }

    /// Gives out of a line that is too long what it can. Returns what must wait for more.
    fn long(&mut self, piece: &str, width: u16, out: &mut Vec<Line<'static>>) -> String {
        if !matches!(self.block, Block::Long { .. }) {
            self.begin_long(piece, width, out);
        }
        match &mut self.block {
            Block::Long { long, .. } => long.push(piece, width, out),
            _ => String::new(),
        }
    }

    fn begin_long(&mut self, line: &str, width: u16, out: &mut Vec<Line<'static>>) {
        let plain = self.theme.plain();
        match std::mem::replace(&mut self.block, Block::None) {
            Block::Code { fence, highlighter } => {
                let long = Long::new(CODE_INDENT, plain);
                self.block = Block::Long { long, code: Some((fence, highlighter)) };
                return;
            }
            block => self.block = block,
        }
        // Its beginning says whether it belongs to the block.
        let start: String = line.chars().take(100).chain(['x']).collect();
        self.close_before(&start, width, out);
        match self.block {
            Block::Open { .. } => self.give_up(width, out),
            Block::None => self.gap(out),
            _ => {}
        }
        self.block = Block::Long { long: Long::new("", plain), code: None };
    }

    fn end_long(&mut self, rest: &str, width: u16, out: &mut Vec<Line<'static>>) {
        if let Block::Long { long, code } = std::mem::replace(&mut self.block, Block::Plain) {
            out.extend(long.end(rest, width));
            if let Some((fence, highlighter)) = code {
                self.block = Block::Code { fence, highlighter };
            }
        }
    }
}
