//! The tool `write_file`: makes or replaces a whole file.
//! Called by the runtime with the arguments that were stored and approved. Never writes part of a content, and never
//! anywhere but inside the working directory.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _};
use std::path::Path;

use agent_world_core::binding::{Facts, Prepared, digest};
use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, File, MetadataExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use super::place::{self, Found, Root, What};
use super::save::{self, Over, Problem};
use super::{FILE_LIMIT, arguments, change, finished, look, outcome, preview, unchanged};
use crate::{Failure, Intent, Invocation, Tool};

/// Bytes of a present file that are read to know it again; a larger one is known by its size and time.
const DIGESTED: u64 = 256 * 1024 * 1024;

const DESCRIPTION: &str = "Writes a whole text file in the working directory: makes it, with the folders it needs, or \
    replaces all of its content. The content is written exactly as given. To change a part of a file, use edit_file.";

/// Writes files for agents.
#[derive(Clone, Copy, Debug)]
pub struct WriteFile;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    path: String,
    content: String,
    #[serde(default)]
    create_only: bool,
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
            "content": { "type": "string", "description": "All that will be in the file" },
            "create_only": {
                "type": "boolean",
                "description": "Whether to fail when there is a file with other content",
            },
        },
        "required": ["path", "content"],
        "additionalProperties": false,
    })
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval {
                message: Some("Write file: {path}".to_owned()),
                ..Approval::default()
            },
            // Also with `create_only`: a file that has the content already counts as made.
            idempotent: true,
            destructive: true,
            ..ToolSpec::new("write_file", DESCRIPTION, schema())
        }
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        let given: Arguments = arguments(intent.arguments.clone())?;
        let working_directory = intent.working_directory.map(Path::to_owned);
        let work = move |cancelled: &CancellationToken| {
            prepare(&given, working_directory.as_deref(), cancelled)
        };
        look(&CancellationToken::new(), work).await
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        unchanged(self, &invocation).await?;
        let Invocation { arguments: given, working_directory, cancelled, .. } = invocation;
        let work = move || write(&arguments(given)?, working_directory.as_deref());
        outcome(change(&cancelled, work).await)
    }
}

impl Arguments {
    fn place(&self, root: &Root) -> Result<Found, String> {
        let size = self.content.len() as u64;
        if size > FILE_LIMIT {
            return Err(format!(
                "the content has {size} bytes and a file can be written with {FILE_LIMIT} at most; \
                 write it in parts or with a program"
            ));
        }
        let found = root.find(&self.path)?;
        match &found.what {
            What::File(_) | What::Missing(_) => Ok(found),
            What::Folder => {
                Err(format!("`{}` is a folder; name a file in it", place::shown(&found.path)))
            }
            What::Special(kind) => {
                Err(format!("`{}` is a {kind}, not a file", place::shown(&found.path)))
            }
        }
    }
}

fn prepare(
    arguments: &Arguments,
    working_directory: Option<&Path>,
    cancelled: &CancellationToken,
) -> Result<Prepared, String> {
    let root = Root::open(working_directory)?;
    let found = arguments.place(&root)?;
    let path = place::shown(&found.path);
    let content = arguments.content.as_bytes();
    let (replaces, preview) = match &found.what {
        What::File(name) => {
            let present = Present::look(&found.folder, name, cancelled).map_err(|error| {
                format!("cannot look at `{path}` before it is replaced: {error}")
            })?;
            (present.fact.clone(), present.preview(&path, content, arguments.create_only))
        }
        _ => ("nothing".to_owned(), preview::diff(&path, None, content)),
    };
    let facts = Facts::from([
        ("path".to_owned(), root.absolute(&found.path)),
        ("replaces".to_owned(), replaces),
    ]);
    Ok(Prepared { facts, preview: Some(preview) })
}

/// The file that would be replaced.
struct Present {
    fact: String,
    size: u64,
    /// Unless it is too large to be compared.
    content: Option<Vec<u8>>,
}

impl Present {
    fn look(folder: &Dir, name: &OsStr, cancelled: &CancellationToken) -> io::Result<Self> {
        let file = place::open(folder, name)?;
        let metadata = file.metadata()?;
        let size = metadata.len();
        if size > DIGESTED {
            let fact = format!(
                "{size} bytes, last changed at {}.{:09}",
                metadata.mtime(),
                metadata.mtime_nsec()
            );
            return Ok(Self { fact, size, content: None });
        }
        if size > FILE_LIMIT {
            return Ok(Self { fact: digest_of(file, cancelled)?, size, content: None });
        }
        let mut content = Vec::new();
        file.take(DIGESTED).read_to_end(&mut content)?;
        Ok(Self { fact: digest(&content), size, content: Some(content) })
    }

    fn preview(&self, path: &str, after: &[u8], create_only: bool) -> String {
        if create_only && self.content.as_deref() != Some(after) {
            return format!("`{path}` exists already and will not be replaced");
        }
        match &self.content {
            Some(before) => preview::diff(path, Some(before), after),
            None => format!("replaces a file of {} bytes with {} bytes", self.size, after.len()),
        }
    }
}

fn digest_of(mut file: File, cancelled: &CancellationToken) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        if cancelled.is_cancelled() {
            return Err(io::Error::other(super::CANCELLED));
        }
        match file.read(&mut buffer)? {
            0 => break,
            length => hash.update(buffer.get(..length).unwrap_or_default()),
        }
    }
    Ok(finished(hash))
}

fn write(arguments: &Arguments, working_directory: Option<&Path>) -> Result<Output, String> {
    let root = Root::open(working_directory)?;
    let found = arguments.place(&root)?;
    let path = place::shown(&found.path);
    let failed = |error: io::Error| format!("cannot write `{path}`: {error}");
    let (folder, name, replaces) = match found.what {
        What::Missing(names) => {
            let (folder, name) = make_folders(found.folder, names).map_err(failed)?;
            (folder, name, false)
        }
        What::File(name) => (found.folder, name, true),
        What::Folder | What::Special(_) => return Err(format!("`{path}` is not a file")),
    };
    let content = arguments.content.as_bytes();
    let over = if arguments.create_only { Over::Nothing } else { Over::Anything };
    let _alone = save::alone(&folder, &name).map_err(failed)?;
    let done = match save::save(&folder, &name, content, over) {
        Ok(()) if replaces => "replaced",
        Ok(()) => "created",
        Err(Problem::Exists) if holds(&folder, &name, content) => {
            "found with this content already:"
        }
        Err(problem) => return Err(problem.explain(&path)),
    };
    let size = content.len();
    Ok(Output {
        text: format!("{done} `{path}` ({size} bytes)"),
        details: json!({ "path": path, "bytes": size, "created": done == "created" }),
        ..Output::default()
    })
}

/// Makes all folders but the last name, one from the other.
fn make_folders(mut folder: Dir, names: Vec<OsString>) -> io::Result<(Dir, OsString)> {
    let mut names = names.into_iter();
    let Some(mut name) = names.next() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path has no name"));
    };
    for next in names {
        match folder.create_dir(&name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        folder = folder.open_dir_nofollow(&name)?;
        name = next;
    }
    Ok((folder, name))
}

fn holds(folder: &Dir, name: &OsStr, content: &[u8]) -> bool {
    let mut present = Vec::new();
    place::open(folder, name)
        .and_then(|file| file.take(content.len() as u64 + 1).read_to_end(&mut present))
        .is_ok_and(|_| present == content)
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
