//! The tool `list_files`: what is in a folder.
//! Called by the runtime. Reads names, never contents, and does not follow links.

use std::ops::ControlFlow;
use std::path::Path;

use agent_world_core::binding::Prepared;
use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::place::{self, Kind, Root, What};
use super::walk::{Entry, Pattern, Seen, Tally, Walk};
use super::{CANCELLED, OUTPUT_LIMIT, arguments, counted, look, outcome, refuse_escape, remark};
use crate::{Failure, Intent, Invocation, Tool};

const DESCRIPTION: &str = "Lists files and folders in the working directory, sorted, one path in each line. A folder's \
    path ends with `/`, a link shows where it leads. What `.gitignore` names and what begins with a dot is left out, \
    unless `hidden` is true.";

/// Lists files for agents.
#[derive(Clone, Copy, Debug)]
pub struct ListFiles;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    #[serde(default = "here")]
    path: String,
    depth: Option<usize>,
    pattern: Option<String>,
    #[serde(default)]
    hidden: bool,
}

fn here() -> String {
    ".".to_owned()
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {
                "type": "string",
                "minLength": 1,
                "description": "The folder, relative to the working directory; that itself unless given",
            },
            "depth": {
                "type": "integer",
                "minimum": 1,
                "description": "How many folders deep; 1 lists the folder alone. 1 unless given, or without \
                    limit when there is a pattern",
            },
            "pattern": {
                "type": "string",
                "minLength": 1,
                "description": "List only what matches, such as `*.rs`, `**/tests/*.{js,ts}`. Without a `/` it is \
                    about names, with one about paths from the folder on",
            },
            "hidden": {
                "type": "boolean",
                "description": "Whether to list also what is ignored or begins with a dot",
            },
        },
        "additionalProperties": false,
    })
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval::not_required(),
            read_only: true,
            idempotent: true,
            ..ToolSpec::new("list_files", DESCRIPTION, schema())
        }
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        let read: Arguments = arguments(intent.arguments.clone())?;
        if let Some(pattern) = &read.pattern {
            Pattern::new(pattern)?;
        }
        refuse_escape(read.path, intent.working_directory).await
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        let Invocation { arguments: given, working_directory, cancelled, .. } = invocation;
        let work = move |cancelled: &CancellationToken| {
            list(&arguments(given)?, working_directory.as_deref(), cancelled)
        };
        outcome(look(&cancelled, work).await)
    }
}

fn list(
    arguments: &Arguments,
    working_directory: Option<&Path>,
    cancelled: &CancellationToken,
) -> Result<Output, String> {
    let root = Root::open(working_directory)?;
    let found = root.find(&arguments.path)?;
    let shown = place::shown(&found.path);
    match found.what {
        What::Folder => {}
        What::File(_) => return Err(format!("`{shown}` is a file; read_file shows it")),
        What::Special(kind) => return Err(format!("`{shown}` is a {kind}, not a folder")),
        What::Missing(_) => return Err(format!("there is no folder `{shown}`")),
    }
    let pattern = arguments.pattern.as_deref().map(Pattern::new).transpose()?;
    let usual = if pattern.is_some() { usize::MAX } else { 1 };
    let seen = if arguments.hidden { Seen::Everything } else { Seen::Usual };
    let walk = Walk::new(seen, arguments.depth.unwrap_or(usual), cancelled);
    let mut listing = Listing::default();
    let tally = walk.go(&root, &found.path, &mut |entry| {
        if pattern.as_ref().is_none_or(|pattern| pattern.fits(entry.path, &found.path)) {
            listing.add(entry)
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if cancelled.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    Ok(listing.into_output(&shown, &tally))
}

#[derive(Debug, Default)]
struct Listing {
    text: String,
    characters: usize,
    entries: u64,
    is_cut: bool,
}

impl Listing {
    fn add(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        let path = place::shown(entry.path);
        let line = match entry.kind {
            Kind::Folder => format!("{path}/\n"),
            Kind::File => format!("{path}\n"),
            Kind::Special(kind) => format!("{path} ({kind})\n"),
            Kind::Link => match entry.folder.read_link_contents(entry.name) {
                Ok(target) => format!("{path} -> {}\n", place::shown(&target)),
                Err(_) => format!("{path} (link)\n"),
            },
        };
        self.characters += line.chars().count();
        if self.characters > OUTPUT_LIMIT {
            self.is_cut = true;
            return ControlFlow::Break(());
        }
        self.text.push_str(&line);
        self.entries += 1;
        ControlFlow::Continue(())
    }

    fn into_output(self, path: &str, tally: &Tally) -> Output {
        let mut text = self.text;
        if self.entries == 0 {
            text.push_str("(nothing found)");
        }
        if self.is_cut {
            let entries = counted(self.entries, "entry", "entries");
            remark(
                &mut text,
                &format!("cut after {entries}, there are more; name a folder or a pattern"),
            );
        }
        if tally.left_out > 0 {
            let entries =
                counted(tally.left_out, "hidden or ignored entry", "hidden or ignored entries");
            remark(&mut text, &format!("{entries} left out; `hidden` lists them too"));
        }
        if tally.unreadable > 0 {
            let folders = counted(tally.unreadable, "folder", "folders");
            remark(&mut text, &format!("{folders} could not be read to the end"));
        }
        text.truncate(text.trim_end_matches('\n').len());
        let details = json!({
            "path": path, "entries": self.entries, "left_out": tally.left_out,
            "unreadable": tally.unreadable, "truncated": self.is_cut,
        });
        Output { details, ..Output::text(text) }
    }
}

#[cfg(test)]
#[path = "list_tests.rs"]
mod tests;
