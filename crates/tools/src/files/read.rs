//! The tool `read_file`: some lines of a file, with their numbers.
//! Called by the runtime. Reads a file in pieces, whatever its size, and keeps only what it gives back.

use std::io::{BufRead, BufReader};
use std::path::Path;

use agent_world_core::binding::Prepared;
use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::place::{self, Root};
use super::{CANCELLED, OUTPUT_LIMIT, arguments, counted, look, outcome, refuse_escape, remark};
use crate::{Failure, Intent, Invocation, Tool};

/// Lines in one result unless the call says otherwise.
const LINES: u64 = 2_000;
/// Bytes shown of one line.
const LINE_LIMIT: usize = 2_000;
/// Bytes at the beginning in which a NUL makes a file binary.
const HEAD: usize = 8 * 1024;
const BUFFER: usize = 64 * 1024;
/// The lines of a file up to this size are counted to its end.
const COUNTED: u64 = 64 * 1024 * 1024;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

const DESCRIPTION: &str = "Reads lines of a text file in the working directory. Each line comes as its number, a tab \
    and the text; number and tab are not part of the file. A long file is read in parts: the end of a result says \
    with which `offset` to go on. Very long lines are cut, and say so.";

/// Reads files for agents.
#[derive(Clone, Copy, Debug)]
pub struct ReadFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "The file, relative to the working directory",
            },
            "offset": {
                "type": "integer",
                "minimum": 1,
                "description": "The number of the first line to read; 1 unless given",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "description": format!("How many lines to read at most; {LINES} unless given"),
            },
        },
        "required": ["path"],
        "additionalProperties": false,
    })
}

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval::not_required(),
            read_only: true,
            idempotent: true,
            ..ToolSpec::new("read_file", DESCRIPTION, schema())
        }
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        let read: Arguments = arguments(intent.arguments.clone())?;
        refuse_escape(read.path, intent.working_directory).await
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        let Invocation { arguments: given, working_directory, cancelled, .. } = invocation;
        let work = move |cancelled: &CancellationToken| {
            read(&arguments(given)?, working_directory.as_deref(), cancelled)
        };
        outcome(look(&cancelled, work).await)
    }
}

fn read(
    arguments: &Arguments,
    working_directory: Option<&Path>,
    cancelled: &CancellationToken,
) -> Result<Output, String> {
    let found = Root::open(working_directory)?.find(&arguments.path)?;
    let name = found.file()?;
    let path = place::shown(&found.path);
    let failed = |error: std::io::Error| format!("cannot read `{path}`: {error}");
    let file = place::open(&found.folder, name).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let mut reader = BufReader::with_capacity(BUFFER, file);
    let head = reader.fill_buf().map_err(failed)?;
    let head = head.get(..HEAD).unwrap_or(head);
    if memchr::memchr(0, head).is_some() {
        return Ok(binary(&path, size, head));
    }
    let has_mark = head.starts_with(BYTE_ORDER_MARK);
    let mut page = Page::new(arguments, size <= COUNTED);
    if has_mark {
        reader.consume(BYTE_ORDER_MARK.len());
    }
    page.read(&mut reader, cancelled).map_err(failed)?;
    if cancelled.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    page.into_output(&path, size, has_mark)
}

fn binary(path: &str, size: u64, head: &[u8]) -> Output {
    let like = if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        ", perhaps text in UTF-16"
    } else {
        ""
    };
    Output {
        text: format!("`{path}` is binary{like}: {size} bytes, not shown"),
        details: json!({ "path": path, "bytes": size, "binary": true }),
        ..Output::default()
    }
}

/// The lines a call asked for, as far as they were read.
#[derive(Debug)]
struct Page {
    first: u64,
    limit: u64,
    /// Whether the lines after the page are counted.
    to_the_end: bool,
    text: String,
    characters: usize,
    shown: u64,
    /// There was no room for a line.
    is_full: bool,
    /// Complete lines read, shown or not.
    lines: u64,
    reached_end: bool,
    line: Line,
    endings: Endings,
    damaged: bool,
}

/// The line that is being read.
#[derive(Debug, Default)]
struct Line {
    kept: Vec<u8>,
    length: u64,
}

#[derive(Debug, Default)]
struct Endings {
    carriage_returns: u64,
    /// The last line shown has no break.
    open: bool,
}

impl Page {
    fn new(arguments: &Arguments, to_the_end: bool) -> Self {
        Self {
            first: arguments.offset.unwrap_or(1).max(1),
            limit: arguments.limit.unwrap_or(LINES),
            to_the_end,
            text: String::new(),
            characters: 0,
            shown: 0,
            is_full: false,
            lines: 0,
            reached_end: false,
            line: Line::default(),
            endings: Endings::default(),
            damaged: false,
        }
    }

    fn read(
        &mut self,
        reader: &mut impl BufRead,
        cancelled: &CancellationToken,
    ) -> std::io::Result<()> {
        while !cancelled.is_cancelled() && (self.to_the_end || !self.is_over()) {
            let piece = reader.fill_buf()?;
            if piece.is_empty() {
                self.reached_end = true;
                if self.line.length > 0 {
                    self.end_line(Break::None);
                }
                return Ok(());
            }
            let length = piece.len();
            self.take(piece);
            reader.consume(length);
        }
        Ok(())
    }

    fn take(&mut self, mut piece: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', piece) {
            let (line, rest) = piece.split_at_checked(end).unwrap_or((piece, &[]));
            self.keep(line);
            self.end_line(Break::Feed);
            piece = rest.get(1..).unwrap_or_default();
        }
        self.keep(piece);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.line.length += bytes.len() as u64;
        if self.is_wanted() {
            // One more than is shown tells a carriage return at the limit from a line that goes on.
            let room = (LINE_LIMIT + 1).saturating_sub(self.line.kept.len());
            self.line.kept.extend(bytes.iter().take(room));
        }
    }

    /// Whether the line that is being read is one of the page.
    fn is_wanted(&self) -> bool {
        self.lines + 1 >= self.first && !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.is_full || self.shown >= self.limit
    }

    fn end_line(&mut self, ending: Break) {
        let wanted = self.is_wanted();
        self.lines += 1;
        let mut line = std::mem::take(&mut self.line);
        if !wanted {
            return;
        }
        let returned = ending == Break::Feed
            && line.kept.len() as u64 == line.length
            && line.kept.last() == Some(&b'\r');
        if returned {
            line.kept.pop();
            line.length -= 1;
        }
        let text = self.shown_line(&line);
        let characters = text.chars().count();
        if self.characters + characters > OUTPUT_LIMIT && self.shown > 0 {
            self.is_full = true;
            return;
        }
        self.characters += characters;
        self.text.push_str(&text);
        self.shown += 1;
        self.endings.carriage_returns += u64::from(returned);
        self.endings.open = ending == Break::None;
    }

    fn shown_line(&mut self, line: &Line) -> String {
        let kept = line.kept.get(..LINE_LIMIT).unwrap_or(&line.kept);
        let is_cut = (kept.len() as u64) < line.length;
        // A character that the cut went through is left out, not shown as damaged.
        let kept = if is_cut { whole_characters(kept) } else { kept };
        let text = String::from_utf8_lossy(kept);
        self.damaged |= text.len() != kept.len() || text.contains('\0');
        let text = text.replace('\0', "\u{FFFD}");
        let rest = match line.length - kept.len() as u64 {
            0 => String::new(),
            left => format!(" [… {left} more bytes in this line]"),
        };
        format!("{}\t{text}{rest}\n", self.lines)
    }

    fn into_output(self, path: &str, size: u64, has_mark: bool) -> Result<Output, String> {
        if self.shown == 0 && self.lines > 0 {
            return Err(format!(
                "`{path}` has only {}; choose a smaller offset",
                counted(self.lines, "line", "lines")
            ));
        }
        let last = (self.first + self.shown).saturating_sub(1);
        let ends_here = self.reached_end && last >= self.lines;
        let mut text = self.text;
        if self.lines == 0 {
            text.push_str("(empty file)");
        } else if !ends_here {
            let of = if self.reached_end {
                format!(" of {}", self.lines)
            } else {
                format!(" of a file of {size} bytes")
            };
            let next = last + 1;
            remark(
                &mut text,
                &format!("lines {} to {last}{of}; go on with offset {next}", self.first),
            );
        }
        if ends_here && self.endings.open {
            remark(&mut text, "the last line has no line break");
        }
        match self.endings.carriage_returns {
            0 => {}
            all if all + u64::from(self.endings.open) >= self.shown => {
                remark(&mut text, "the lines end with CRLF");
            }
            some => remark(&mut text, &format!("{some} of these lines end with CRLF")),
        }
        if has_mark {
            remark(&mut text, "the file begins with a byte order mark");
        }
        if self.damaged {
            remark(&mut text, "some bytes are no text in UTF-8 and are shown as \u{FFFD}");
        }
        text.truncate(text.trim_end_matches('\n').len());
        let lines = self.reached_end.then_some(self.lines);
        let details = json!({
            "path": path, "bytes": size, "lines": lines, "first_line": self.first,
            "last_line": last, "truncated": !ends_here,
        });
        Ok(Output { details, ..Output::text(text) })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Break {
    Feed,
    None,
}

/// Without a character at the end of which only the beginning is there.
pub fn whole_characters(bytes: &[u8]) -> &[u8] {
    let last_start = bytes.iter().rposition(|byte| byte & 0xC0 != 0x80).unwrap_or(0);
    match bytes.split_at_checked(last_start) {
        Some((before, last)) => match std::str::from_utf8(last) {
            Err(error) if error.error_len().is_none() => before,
            _ => bytes,
        },
        None => bytes,
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
