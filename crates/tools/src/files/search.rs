//! The tool `search_files`: which lines match a regular expression.
//! Called by the runtime. Searches with the engine of ripgrep, whose time grows with the text and not with the
//! cleverness of the expression. Never follows links, and leaves out binary files.

use std::fmt::Write as _;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use agent_world_core::binding::Prepared;
use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use cap_std::fs::Dir;
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::place::{self, Kind, Root, What};
use super::walk::{Pattern, Seen, Tally, Walk};
use super::{CANCELLED, OUTPUT_LIMIT, arguments, counted, look, outcome, refuse_escape, remark};
use crate::{Failure, Intent, Invocation, Tool};

/// Matching lines in one result unless the call says otherwise, and at most.
const MATCHES: u64 = 100;
const MOST_MATCHES: u64 = 1_000;
const MOST_CONTEXT: usize = 10;
/// Bytes shown of one line, and how many of them come before the match in a longer one.
const LINE_LIMIT: usize = 500;
const BEFORE_MATCH: usize = 100;
/// Bytes a compiled expression may take.
const EXPRESSION_LIMIT: usize = 2 * 1024 * 1024;
const NESTING: u32 = 100;
/// Bytes of one line that are searched; a file with a longer one is left out.
const LONGEST_LINE: usize = 32 * 1024 * 1024;
const TIMEOUT_SECONDS: u64 = 60;

const DESCRIPTION: &str = "Searches files in the working directory for a regular expression, line by line (Rust \
    syntax: no look-around, no back-references). Gives each file's path and below it the lines with their numbers, \
    `12:` for a match and `11-` for a line around it. Leaves out binary and hidden files and what `.gitignore` names.";

/// Searches files for agents.
#[derive(Clone, Copy, Debug)]
pub struct SearchFiles;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    pattern: String,
    #[serde(default = "here")]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    case: Case,
    #[serde(default)]
    context: usize,
    limit: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Case {
    #[default]
    Sensitive,
    Insensitive,
    Smart,
}

fn here() -> String {
    ".".to_owned()
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "minLength": 1,
                "maxLength": 10_000,
                "description": "The regular expression",
            },
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "A folder or a file, relative to the working directory; that itself unless given",
            },
            "glob": {
                "type": "string",
                "minLength": 1,
                "description": "Search only files that match, such as `*.rs` or `src/**/*.{js,ts}`",
            },
            "case": {
                "type": "string",
                "enum": ["sensitive", "insensitive", "smart"],
                "description": "`smart` is insensitive unless the pattern has capital letters; `sensitive` unless given",
            },
            "context": {
                "type": "integer",
                "minimum": 0,
                "maximum": MOST_CONTEXT,
                "description": "Lines to show before and after each match",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_MATCHES,
                "description": format!("Matching lines to show at most; {MATCHES} unless given"),
            },
        },
        "required": ["pattern"],
        "additionalProperties": false,
    })
}

#[async_trait]
impl Tool for SearchFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval::not_required(),
            timeout_seconds: TIMEOUT_SECONDS,
            read_only: true,
            idempotent: true,
            ..ToolSpec::new("search_files", DESCRIPTION, schema())
        }
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        let read: Arguments = arguments(intent.arguments.clone())?;
        if let Some(glob) = &read.glob {
            Pattern::new(glob)?;
        }
        read.matcher()?;
        refuse_escape(read.path, intent.working_directory).await
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        let Invocation { arguments: given, working_directory, cancelled, .. } = invocation;
        let work = move |cancelled: &CancellationToken| {
            search(&arguments(given)?, working_directory.as_deref(), cancelled)
        };
        outcome(look(&cancelled, work).await)
    }
}

impl Arguments {
    fn matcher(&self) -> Result<RegexMatcher, String> {
        RegexMatcherBuilder::new()
            // Several lines are searched at once; `^` and `$` are about each of them.
            .multi_line(true)
            .crlf(true)
            .case_insensitive(self.case == Case::Insensitive)
            .case_smart(self.case == Case::Smart)
            .size_limit(EXPRESSION_LIMIT)
            .dfa_size_limit(EXPRESSION_LIMIT)
            .nest_limit(NESTING)
            .build(&self.pattern)
            .map_err(|error| format!("the pattern cannot be used: {error}"))
    }

    fn searcher(&self) -> Searcher {
        let context = self.context.min(MOST_CONTEXT);
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(LONGEST_LINE))
            .binary_detection(BinaryDetection::quit(0))
            .build()
    }
}

fn search(
    arguments: &Arguments,
    working_directory: Option<&Path>,
    cancelled: &CancellationToken,
) -> Result<Output, String> {
    let root = Root::open(working_directory)?;
    let found = root.find(&arguments.path)?;
    let glob = arguments.glob.as_deref().map(Pattern::new).transpose()?;
    let mut search = Search {
        matcher: arguments.matcher()?,
        searcher: arguments.searcher(),
        cancelled,
        report: Report::new(arguments.limit.unwrap_or(MATCHES).min(MOST_MATCHES)),
    };
    let shown = place::shown(&found.path);
    let tally = match &found.what {
        What::File(name) => {
            // Nothing comes after it that could be stopped.
            let (ControlFlow::Continue(()) | ControlFlow::Break(())) =
                search.file(&found.folder, name, &found.path);
            Tally::default()
        }
        What::Folder => {
            Walk::new(Seen::Usual, usize::MAX, cancelled).go(&root, &found.path, &mut |entry| {
                let fits = glob.as_ref().is_none_or(|glob| glob.fits(entry.path, &found.path));
                if entry.kind == Kind::File && fits {
                    search.file(entry.folder, entry.name, entry.path)
                } else {
                    ControlFlow::Continue(())
                }
            })?
        }
        What::Special(kind) => return Err(format!("`{shown}` is a {kind} and cannot be searched")),
        What::Missing(_) => return Err(format!("there is no `{shown}` to search")),
    };
    if cancelled.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    Ok(search.report.into_output(&tally))
}

struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    cancelled: &'a CancellationToken,
    report: Report,
}

impl Search<'_> {
    fn file(&mut self, folder: &Dir, name: &std::ffi::OsStr, path: &Path) -> ControlFlow<()> {
        let Ok(file) = place::open(folder, name) else {
            self.report.unreadable += 1;
            return ControlFlow::Continue(());
        };
        self.report.searched += 1;
        let reader = Cancellable { file, cancelled: self.cancelled };
        let mut lines = Lines::new(&self.matcher, &self.report);
        let ended = self.searcher.search_reader(&self.matcher, reader, &mut lines);
        let Lines { text, characters, matches, is_full, is_binary, .. } = lines;
        if is_binary {
            self.report.binary += 1;
        } else {
            if ended.is_err() {
                self.report.unreadable += 1;
            }
            if matches > 0 {
                self.report.add(path, &text, characters, matches);
            }
            self.report.is_full |= is_full;
        }
        if self.report.is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A file whose reading ends when nobody wants it any longer.
struct Cancellable<'a, R> {
    file: R,
    cancelled: &'a CancellationToken,
}

impl<R: Read> Read for Cancellable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancelled.is_cancelled() {
            return Err(io::Error::other(CANCELLED));
        }
        self.file.read(buffer)
    }
}

/// What is found in one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    text: String,
    characters: usize,
    matches: u64,
    /// How much there is room for.
    most_characters: usize,
    most_matches: u64,
    is_full: bool,
    is_binary: bool,
}

impl<'a> Lines<'a> {
    fn new(matcher: &'a RegexMatcher, report: &Report) -> Self {
        Self {
            matcher,
            text: String::new(),
            characters: 0,
            matches: 0,
            most_characters: OUTPUT_LIMIT.saturating_sub(report.characters),
            most_matches: report.limit - report.matches,
            is_full: false,
            is_binary: false,
        }
    }

    /// Whether there was room.
    fn add(&mut self, number: Option<u64>, sign: char, line: &[u8]) -> bool {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = self.excerpt(line);
        let line = format!("{}{sign}{line}\n", number.unwrap_or_default());
        self.characters += line.chars().count();
        if self.characters > self.most_characters {
            self.is_full = true;
            return false;
        }
        self.text.push_str(&line);
        true
    }

    /// The line, or the part of a long one where the match is.
    fn excerpt(&self, line: &[u8]) -> String {
        let clean = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\0', "\u{FFFD}");
        if line.len() <= LINE_LIMIT {
            return clean(line);
        }
        let found = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
        let from = found.saturating_sub(BEFORE_MATCH).min(line.len() - LINE_LIMIT);
        // Where a character begins, so that none is shown in pieces.
        let is_start = |at: &usize| line.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
        let from = (from..=found).find(is_start).unwrap_or(from);
        let rest = line.get(from..).unwrap_or_default();
        let part = super::read::whole_characters(rest.get(..LINE_LIMIT).unwrap_or(rest));
        let before = if from > 0 { "…" } else { "" };
        let after = if part.len() < rest.len() { "…" } else { "" };
        format!("{before}{}{after} [line of {} bytes]", clean(part), line.len())
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.matches >= self.most_matches {
            self.is_full = true;
            return Ok(false);
        }
        if !self.add(found.line_number(), ':', found.bytes()) {
            return Ok(false);
        }
        self.matches += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.add(found.line_number(), '-', found.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.text.push_str("--\n");
        self.characters += 3;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.is_binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

#[derive(Debug)]
struct Report {
    limit: u64,
    text: String,
    characters: usize,
    matches: u64,
    files: u64,
    searched: u64,
    binary: u64,
    unreadable: u64,
    is_full: bool,
}

impl Report {
    fn new(limit: u64) -> Self {
        Self {
            limit,
            text: String::new(),
            characters: 0,
            matches: 0,
            files: 0,
            searched: 0,
            binary: 0,
            unreadable: 0,
            is_full: false,
        }
    }

    fn add(&mut self, path: &Path, lines: &str, characters: usize, matches: u64) {
        let path = place::shown(path);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        // Writing to a string cannot fail.
        write!(self.text, "{path}\n{lines}").ok();
        self.characters += path.chars().count() + characters + 2;
        self.matches += matches;
        self.files += 1;
    }

    fn into_output(self, tally: &Tally) -> Output {
        let mut text = self.text;
        if self.matches == 0 {
            let files = counted(self.searched, "file", "files");
            text.push_str(&format!("(no match in {files})"));
        }
        if self.is_full {
            let matches = counted(self.matches, "match", "matches");
            remark(
                &mut text,
                &format!("cut after {matches}, there are more; narrow the pattern, path or glob"),
            );
        }
        if self.binary > 0 {
            let files = counted(self.binary, "binary file", "binary files");
            remark(&mut text, &format!("{files} left out"));
        }
        let unreadable = self.unreadable + tally.unreadable;
        if unreadable > 0 {
            let things = counted(unreadable, "file or folder", "files or folders");
            remark(&mut text, &format!("{things} could not be searched to the end"));
        }
        text.truncate(text.trim_end_matches('\n').len());
        let details = json!({
            "matches": self.matches, "files": self.files, "searched": self.searched,
            "binary": self.binary, "unreadable": unreadable, "truncated": self.is_full,
        });
        Output { details, ..Output::text(text) }
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
