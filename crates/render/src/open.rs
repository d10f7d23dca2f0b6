//! What is being written at the end of a text, line by line, and where one block ends and the next begins.
//!
//! A block ends where a line that stands for itself begins something new after a blank one, around headings, code and
//! tables, and wherever it gets too long. That is decided by whole lines, in order, so it never depends on the pieces in
//! which a text arrives. Called by `rendering`. Everything it keeps is bounded.

use crate::code::{self, Highlighter};
use crate::line::{self, Fence};
use crate::markdown;
use crate::names::Names;
use crate::table::{self, Head};
use crate::writer::Writer;

/// Bytes of one block of prose, of a table's piece and of a line.
pub const LONGEST: usize = 16 * 1024;
/// Bytes of a piece of code.
const CODE: usize = 4 * 1024;

#[derive(Clone, Debug, Default)]
pub enum Open {
    #[default]
    Nothing,
    Prose(Prose),
    Table(Table),
    Code(Box<Code>),
}

#[derive(Clone, Debug)]
pub struct Prose {
    text: String,
    is_list: bool,
    after_blank: bool,
}

#[derive(Clone, Debug)]
pub struct Table {
    head: Head,
    rows: String,
    continued: bool,
}

#[derive(Clone, Debug)]
pub struct Code {
    fence: Fence,
    language: String,
    highlighter: Highlighter,
    /// What is written of this piece.
    html: String,
    /// Bytes of code in it.
    length: usize,
    lines: usize,
    continued: bool,
}

impl Open {
    /// Bytes that are looked at again when more is written.
    pub fn length(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Prose(prose) => prose.text.len(),
            Self::Table(table) => table.rows.len() + table.head.names.len(),
            Self::Code(code) => code.length,
        }
    }

    /// Takes a whole line; blocks that are complete by it are put out.
    pub fn take(&mut self, line: &str, names: &Names, out: &mut Vec<String>) {
        match self {
            Self::Code(code) => {
                if code.fence.is_closed_by(line) {
                    self.close(names, out);
                } else {
                    code.take(code.fence.content(line), out);
                }
            }
            Self::Table(table) if table::is_row(line) => table.take(line, names, out),
            Self::Nothing | Self::Prose(_) | Self::Table(_) => self.take_prose(line, names, out),
        }
    }

    /// Takes part of a line that is too long for anything but being shown.
    pub fn take_long(&mut self, part: &str, names: &Names, out: &mut Vec<String>) {
        if let Self::Code(code) = self {
            code.take_long(part, out);
            return;
        }
        self.close(names, out);
        let mut writer = Writer::default();
        writer.open("<p class=\"long\" dir=\"auto\">", "</p>");
        writer.plain(part);
        out.push(writer.into_html());
    }

    /// Ends what is open.
    pub fn close(&mut self, names: &Names, out: &mut Vec<String>) {
        match std::mem::take(self) {
            Self::Nothing => {}
            Self::Prose(prose) if prose.text.trim().is_empty() => {}
            Self::Prose(prose) => out.push(markdown::prose(&prose.text, names)),
            Self::Table(table) => out.push(table.piece("", names)),
            Self::Code(code) => out.push(code.piece("")),
        }
    }

    fn take_prose(&mut self, line: &str, names: &Names, out: &mut Vec<String>) {
        let is_list = matches!(self, Self::Prose(prose) if prose.is_list);
        if let Some((fence, info)) = line::fence(line)
            && (fence.indent == 0 || !is_list)
        {
            self.close(names, out);
            *self = Self::Code(Box::new(Code::new(fence, info)));
            return;
        }
        match self {
            Self::Prose(prose) if line::is_blank(line) => {
                prose.after_blank = true;
                prose.text.push('\n');
            }
            _ if line::is_blank(line) => self.close(names, out),
            Self::Prose(prose) if !prose.ends_before(line) => match prose.head(line) {
                Some((before, head)) => {
                    prose.text.truncate(before);
                    self.close(names, out);
                    *self = Self::Table(Table { head, rows: String::new(), continued: false });
                }
                None => prose.take(line),
            },
            _ => {
                self.close(names, out);
                *self = Self::Prose(Prose::new(line));
            }
        }
    }
}

impl Prose {
    fn new(line: &str) -> Self {
        // What was cut out of something long is no code for being indented there.
        let text = format!("{}\n", line.trim_start());
        Self { text, is_list: line::is_item(line), after_blank: false }
    }

    fn take(&mut self, line: &str) {
        self.after_blank = false;
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn ends_before(&self, line: &str) -> bool {
        let begins_anew =
            self.after_blank && !line::is_indented(line) && !(self.is_list && line::is_item(line));
        begins_anew || line::is_heading(line) || self.text.len() + line.len() > LONGEST
    }

    /// The head of a table that a line completes, and where it begins.
    fn head(&self, line: &str) -> Option<(usize, Head)> {
        let text = self.text.strip_suffix('\n').filter(|_| !self.is_list && !self.after_blank)?;
        let begin = text.rfind('\n').map_or(0, |at| at + 1);
        Some((begin, table::head(text.get(begin..)?, line)?))
    }
}

impl Table {
    fn take(&mut self, line: &str, names: &Names, out: &mut Vec<String>) {
        if !self.rows.is_empty() && self.rows.len() + line.len() > LONGEST {
            out.push(self.piece(" cut", names));
            self.rows.clear();
            self.continued = true;
        }
        self.rows.push_str(line);
        self.rows.push('\n');
    }

    fn piece(&self, cut: &str, names: &Names) -> String {
        let Head { names: head, marks } = &self.head;
        let text = format!("{head}\n{marks}\n{}", self.rows);
        markdown::table(&text, self.continued, !cut.is_empty(), names)
    }
}

impl Code {
    fn new(fence: Fence, info: &str) -> Self {
        let language = code::language(info).to_owned();
        let highlighter = Highlighter::new(&language);
        let html = String::new();
        Self { fence, language, highlighter, html, length: 0, lines: 0, continued: false }
    }

    fn take(&mut self, line: &str, out: &mut Vec<String>) {
        self.cut(line.len(), out);
        let mut writer = Writer::default();
        // Ends stand between lines, and so a piece has none at its end.
        if self.lines > 0 {
            writer.tag("\n");
        }
        self.highlighter.line(line, &mut writer);
        self.add(&writer.into_html(), line.len());
    }

    fn take_long(&mut self, part: &str, out: &mut Vec<String>) {
        self.cut(part.len(), out);
        let mut writer = Writer::default();
        if self.lines > 0 {
            writer.tag("\n");
        }
        writer.code(part);
        self.add(&writer.into_html(), part.len());
    }

    fn add(&mut self, html: &str, length: usize) {
        self.html.push_str(html);
        self.length += length + 1;
        self.lines += 1;
    }

    fn cut(&mut self, more: usize, out: &mut Vec<String>) {
        if self.lines > 0 && self.length + more > CODE {
            out.push(self.piece(" cut"));
            self.html.clear();
            (self.length, self.lines, self.continued) = (0, 0, true);
        }
    }

    fn piece(&self, cut: &str) -> String {
        let continued = if self.continued { " continued" } else { "" };
        markdown::code(&self.html, &self.language, &format!("{continued}{cut}"))
    }
}
