//! A text that is being written, as blocks: takes its pieces and says which blocks are new or have changed.
//! The blocks are the same however a text was cut into pieces. Used by whoever shows replies while they are made.

use crate::clean::clean;
use crate::names::Names;
use crate::open::{LONGEST, Open};

/// Of a long open block, the part by which it has grown before it is written again.
const STEP: usize = 128;

/// A block and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub index: usize,
    /// Empty where there is no such block any more: what looked like one became part of another.
    pub html: String,
}

/// A text on its way to being complete.
#[derive(Debug)]
pub struct Rendering {
    names: Names,
    open: Open,
    /// The line that is not complete.
    line: String,
    /// Part of that line was put out already: it is too long to mean anything.
    is_long: bool,
    /// Blocks that do not change any more.
    done: Vec<String>,
    /// What follows them as it was last written.
    last: Vec<String>,
    /// Bytes that `last` was written from.
    written: usize,
}

impl Rendering {
    pub fn new(names: Names) -> Self {
        let (open, line) = (Open::Nothing, String::new());
        Self { names, open, line, is_long: false, done: Vec::new(), last: Vec::new(), written: 0 }
    }

    /// Goes on with a piece. Gives the blocks that are new or have changed, in order.
    ///
    /// The end of a long block may be some characters late; [`Rendering::finish`] has it.
    pub fn push(&mut self, piece: &str) -> Vec<Block> {
        let before = self.done.len();
        self.push_quietly(piece);
        let length = self.open.length() + self.line.len();
        let grown = length.saturating_sub(self.written);
        if self.done.len() == before && length >= self.written && grown < length / STEP {
            return Vec::new();
        }
        self.changes(before)
    }

    /// The blocks that have changed since, with the very end of the text.
    pub fn finish(&mut self) -> Vec<Block> {
        self.changes(self.done.len())
    }

    /// All blocks so far.
    pub fn blocks(&self) -> Vec<String> {
        self.done.iter().cloned().chain(self.view()).collect()
    }

    pub(crate) fn into_blocks(self) -> Vec<String> {
        let last = self.view();
        let mut blocks = self.done;
        blocks.extend(last);
        blocks
    }

    pub(crate) fn push_quietly(&mut self, mut piece: &str) {
        while let Some((line, rest)) = piece.split_once('\n') {
            self.line.push_str(line);
            self.cut_long();
            self.end_line();
            piece = rest;
        }
        self.line.push_str(piece);
        self.cut_long();
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        let mut out = Vec::new();
        take(&mut self.open, line, self.is_long, &self.names, &mut out);
        self.is_long = false;
        self.put(&out);
    }

    /// Puts out the beginning of a line that is longer than any that means something.
    fn cut_long(&mut self) {
        let mut from = 0;
        let mut out = Vec::new();
        while self.line.len() - from > LONGEST {
            let rest = self.line.get(from..).unwrap_or_default();
            let (part, length) = beginning(rest);
            self.open.take_long(part, &self.names, &mut out);
            self.is_long = true;
            from += length;
        }
        self.line.drain(..from);
        self.put(&out);
    }

    fn put(&mut self, out: &[String]) {
        self.done.extend(out.iter().map(|html| clean(html)));
    }

    /// What follows the blocks that are done, as if the text ended here.
    fn view(&self) -> Vec<String> {
        let mut open = self.open.clone();
        let mut out = Vec::new();
        if !self.line.is_empty() {
            take(&mut open, &self.line, self.is_long, &self.names, &mut out);
        }
        open.close(&self.names, &mut out);
        out.iter().map(|html| clean(html)).collect()
    }

    /// Writes the end anew and compares it with what was told before; `before` blocks were done then.
    fn changes(&mut self, before: usize) -> Vec<Block> {
        let last = self.view();
        self.written = self.open.length() + self.line.len();
        let now = || self.done.iter().skip(before).chain(&last);
        let count = now().count();
        let gone = self.last.len().saturating_sub(count);
        let nothing = String::new();
        let now = now().chain(std::iter::repeat_n(&nothing, gone));
        let told = |place: usize, html: &String| self.last.get(place) == Some(html);
        let changed = now.enumerate().filter(|(place, html)| !told(*place, html));
        let changed: Vec<Block> = changed
            .map(|(place, html)| Block { index: before + place, html: html.clone() })
            .collect();
        self.last = last;
        changed
    }
}

fn take(open: &mut Open, line: &str, is_long: bool, names: &Names, out: &mut Vec<String>) {
    match is_long {
        // The line was cut just before its end.
        true if line.is_empty() => {}
        true => open.take_long(line, names, out),
        false => open.take(line, names, out),
    }
}

/// The first part of something long, cut at a space if there is one near, and how long it is.
fn beginning(text: &str) -> (&str, usize) {
    const NEAR: usize = 256;
    let end = (LONGEST - 3..=LONGEST).rev().find(|end| text.is_char_boundary(*end));
    let part = text.get(..end.unwrap_or(LONGEST)).unwrap_or(text);
    let space = part.rfind(' ').filter(|at| at + NEAR >= part.len());
    match space {
        Some(at) => (part.get(..at).unwrap_or(part), at + 1),
        None => (part, part.len()),
    }
}
