//! The tool `edit_file`: replaces one piece of text in a file by another.
//! Called by the runtime with the arguments that were stored and approved. Replaces exactly what it was given, byte for
//! byte; never guesses which of several places is meant, and touches nothing else in the file.

use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use agent_world_core::binding::{Facts, Prepared};
use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use cap_std::fs::Dir;
use memchr::memmem;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::place::{self, Found, Root, What};
use super::save::{self, Over, Stamp};
use super::{FILE_LIMIT, arguments, change, counted, finished, look, outcome, preview, unchanged};
use crate::{Failure, Intent, Invocation, Tool};

/// Lines around a change that belong to it.
const AROUND: usize = 3;
/// Places that are named when there are too many.
const NAMED: usize = 10;

const DESCRIPTION: &str = "Replaces text in a file in the working directory. `old` must be in the file exactly as \
    given, with every space and line break and without the line numbers of read_file, and only once unless `all` is \
    true. In a file whose lines all end with CRLF, a line break in `old` and `new` stands for CRLF.";

/// Edits files for agents.
#[derive(Clone, Copy, Debug)]
pub struct EditFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
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
            "old": {
                "type": "string",
                "minLength": 1,
                "description": "The text to replace, with enough around it to be the only one",
            },
            "new": { "type": "string", "description": "What to put in its place" },
            "all": {
                "type": "boolean",
                "description": "Whether to replace it everywhere in the file",
            },
        },
        "required": ["path", "old", "new"],
        "additionalProperties": false,
    })
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval {
                message: Some("Edit file: {path}".to_owned()),
                ..Approval::default()
            },
            destructive: true,
            ..ToolSpec::new("edit_file", DESCRIPTION, schema())
        }
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        let given: Arguments = arguments(intent.arguments.clone())?;
        let working_directory = intent.working_directory.map(Path::to_owned);
        let work = move |_: &CancellationToken| prepare(&given, working_directory.as_deref());
        look(&CancellationToken::new(), work).await
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        unchanged(self, &invocation).await?;
        let Invocation { arguments: given, working_directory, cancelled, .. } = invocation;
        let work = move || edit(&arguments(given)?, working_directory.as_deref());
        outcome(change(&cancelled, work).await)
    }
}

/// A file's content, and how to know it again.
struct Content {
    bytes: Vec<u8>,
    stamp: Stamp,
}

/// What an edit does to a content.
#[derive(Debug)]
struct Edited {
    content: Vec<u8>,
    /// Where the old text was.
    places: Vec<Range<usize>>,
    replacement: Vec<u8>,
}

impl Arguments {
    fn place(&self, root: &Root) -> Result<Found, String> {
        if self.old.is_empty() {
            return Err("`old` is empty; give the text to replace, or use write_file".to_owned());
        }
        if self.old == self.new {
            return Err("`old` and `new` are the same; nothing would change".to_owned());
        }
        let found = root.find(&self.path)?;
        match &found.what {
            What::Missing(_) => Ok(found),
            _ => found.file().map(|_| ()).map(|()| found),
        }
    }

    /// The content with the replacement, or why it cannot be made.
    fn apply(&self, content: &[u8]) -> Result<Edited, String> {
        let [old, new] = if preview::ends_in_crlf(content) {
            [&self.old, &self.new].map(|text| with_crlf(text))
        } else {
            [&self.old, &self.new].map(|text| text.clone().into_bytes())
        };
        let places: Vec<Range<usize>> =
            memmem::find_iter(content, &old).map(|at| at..at + old.len()).collect();
        match places.len() {
            0 => {
                return Err("the text to replace is not in it; read it again and give the text \
                            exactly"
                    .to_owned());
            }
            1 => {}
            _ if self.all => {}
            count => {
                return Err(format!(
                    "the text to replace is in it {count} times ({}); give more of what is around \
                     it, or set `all`",
                    lines_of(content, &places)
                ));
            }
        }
        let size = content.len() + places.len() * new.len() - places.len() * old.len();
        if size as u64 > FILE_LIMIT {
            return Err(format!("it would have {size} bytes, more than {FILE_LIMIT}"));
        }
        Ok(Edited { content: replaced(content, &places, &new), places, replacement: new })
    }
}

fn with_crlf(text: &str) -> Vec<u8> {
    text.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes()
}

fn replaced(content: &[u8], places: &[Range<usize>], new: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(content.len());
    let mut from = 0;
    for place in places {
        result.extend_from_slice(content.get(from..place.start).unwrap_or_default());
        result.extend_from_slice(new);
        from = place.end;
    }
    result.extend_from_slice(content.get(from..).unwrap_or_default());
    result
}

fn lines_of(content: &[u8], places: &[Range<usize>]) -> String {
    let mut named = Vec::new();
    let (mut line, mut from) = (1, 0);
    for place in places.iter().take(NAMED) {
        let between = content.get(from..place.start).unwrap_or_default();
        line += memchr::memchr_iter(b'\n', between).count();
        from = place.start;
        named.push(line.to_string());
    }
    let word = if places.len() == 1 { "line" } else { "lines" };
    let more = if places.len() > NAMED { " and more" } else { "" };
    format!("{word} {}{more}", named.join(", "))
}

impl Edited {
    /// Of what changes and the lines around it, wherever in the file they are.
    fn digest(&self, before: &[u8]) -> String {
        let mut hash = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        for (window, places) in windows(before, &self.places) {
            part(before.get(window.clone()).unwrap_or_default());
            for place in places {
                part(&((place.start - window.start) as u64).to_be_bytes());
                part(&((place.end - window.start) as u64).to_be_bytes());
                part(&self.replacement);
            }
        }
        finished(hash)
    }
}

/// The lines that change with those around them; places whose lines meet are in one window.
fn windows<'a>(
    content: &[u8],
    places: &'a [Range<usize>],
) -> Vec<(Range<usize>, Vec<&'a Range<usize>>)> {
    let mut windows: Vec<(Range<usize>, Vec<&Range<usize>>)> = Vec::new();
    for place in places {
        let start = lines_before(content, place.start);
        let end = lines_after(content, place.end);
        match windows.last_mut() {
            Some((window, places)) if start <= window.end => {
                window.end = window.end.max(end);
                places.push(place);
            }
            _ => windows.push((start..end, vec![place])),
        }
    }
    windows
}

fn lines_before(content: &[u8], at: usize) -> usize {
    let before = content.get(..at).unwrap_or_default();
    memchr::memrchr_iter(b'\n', before).nth(AROUND).map_or(0, |found| found + 1)
}

fn lines_after(content: &[u8], at: usize) -> usize {
    let after = content.get(at..).unwrap_or_default();
    memchr::memchr_iter(b'\n', after).nth(AROUND).map_or(content.len(), |found| at + found + 1)
}

fn prepare(arguments: &Arguments, working_directory: Option<&Path>) -> Result<Prepared, String> {
    let root = Root::open(working_directory)?;
    let found = arguments.place(&root)?;
    let path = place::shown(&found.path);
    let edited = match &found.what {
        What::File(name) => read(&found.folder, name).and_then(|before| {
            let edited = arguments.apply(&before.bytes)?;
            Ok((before.bytes, edited))
        }),
        _ => Err("there is no such file".to_owned()),
    };
    let (change, preview) = match edited {
        Ok((before, edited)) => {
            (edited.digest(&before), preview::diff(&path, Some(&before), &edited.content))
        }
        Err(problem) => {
            let words = format!("cannot be applied: {problem}");
            (words.clone(), words)
        }
    };
    let facts = Facts::from([
        ("path".to_owned(), root.absolute(&found.path)),
        ("change".to_owned(), change),
    ]);
    Ok(Prepared { facts, preview: Some(preview) })
}

fn edit(arguments: &Arguments, working_directory: Option<&Path>) -> Result<Output, String> {
    let root = Root::open(working_directory)?;
    let found = arguments.place(&root)?;
    let name = found.file()?;
    let path = place::shown(&found.path);
    let failed = |problem: String| format!("cannot edit `{path}`: {problem}");
    let _alone =
        save::alone(&found.folder, name).map_err(|error: io::Error| failed(error.to_string()))?;
    let before = read(&found.folder, name).map_err(failed)?;
    let edited = arguments.apply(&before.bytes).map_err(failed)?;
    save::save(&found.folder, name, &edited.content, Over::Exactly(&before.stamp))
        .map_err(|problem| problem.explain(&path))?;
    let count = edited.places.len() as u64;
    let replacements = counted(count, "replacement", "replacements");
    let lines = lines_of(&before.bytes, &edited.places);
    Ok(Output {
        text: format!("edited `{path}`: {replacements}, {lines}"),
        details: json!({ "path": path, "replacements": count, "bytes": edited.content.len() }),
        ..Output::default()
    })
}

fn read(folder: &Dir, name: &std::ffi::OsStr) -> Result<Content, String> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    let file = place::open(folder, name).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(FILE_LIMIT + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(format!("it has more than {FILE_LIMIT} bytes; change it with a program"));
    }
    if preview::is_binary(&bytes) {
        return Err("it is binary; change it with a program".to_owned());
    }
    Ok(Content { bytes, stamp: Stamp::of(&metadata) })
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
