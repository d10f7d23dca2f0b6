//! The tools for files: `read_file`, `list_files`, `search_files`, `write_file`, `edit_file`.
//! Called by the runtime. Each sees the world's working directory and nothing else: every path is followed name by
//! name from an open folder (`place`), so neither `..`, an absolute path nor a link leads out, not even one that
//! is put there during the call. Never opens a pipe, a socket or a device, and never holds a file of any size whole.

mod edit;
mod list;
mod place;
mod preview;
mod read;
mod save;
mod search;
mod walk;
mod write;

use std::path::Path;
use std::sync::Arc;

use agent_world_core::binding::{Facts, Prepared};
use agent_world_core::config::DEFAULT_RESULT_LIMIT;
use agent_world_core::event::Output;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::{Failure, Invocation, Tool};
use place::Root;

pub use edit::EditFile;
pub use list::ListFiles;
pub use read::ReadFile;
pub use search::SearchFiles;
pub use write::WriteFile;

/// Characters of what a tool found; its remarks come on top. Together they are what a model is given of a result by
/// default, so that pages end where the tool says and not where something was cut out.
const OUTPUT_LIMIT: usize = DEFAULT_RESULT_LIMIT - REMARKS;
const REMARKS: usize = 1_000;
/// Bytes of a file that can be written or edited.
const FILE_LIMIT: u64 = 10 * 1024 * 1024;

/// Every tool for files.
pub fn all() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(ReadFile),
        Arc::new(ListFiles),
        Arc::new(SearchFiles),
        Arc::new(WriteFile),
        Arc::new(EditFile),
    ]
}

/// What is changed is what was looked at: the start was recorded in between, and files can change meanwhile.
async fn unchanged(tool: &impl Tool, invocation: &Invocation) -> Result<(), Failure> {
    if invocation.facts.is_empty() {
        return Ok(());
    }
    let now = tool.prepare(invocation.intent()).await.map_err(Failure::text)?.facts;
    match invocation.facts.iter().find(|(name, before)| now.get(*name) != Some(*before)) {
        None => Ok(()),
        Some(_) => Err(Failure::text(
            "nothing was written: the file changed while the call was about to start; look at it and call again",
        )),
    }
}

/// Where a call that only looks would look. A way out of the working directory is refused before anybody is asked.
async fn refuse_escape(path: String, working_directory: Option<&Path>) -> Result<Prepared, String> {
    let working_directory = working_directory.map(Path::to_owned);
    let work = move |_: &CancellationToken| {
        let root = Root::open(working_directory.as_deref())?;
        let found = root.find(&path)?;
        let facts = Facts::from([("path".to_owned(), root.absolute(&found.path))]);
        Ok(Prepared { facts, preview: None })
    };
    look(&CancellationToken::new(), work).await
}

fn arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, String> {
    serde_json::from_value(arguments)
        .map_err(|error| format!("the arguments cannot be used: {error}"))
}

/// Does work that only looks, on a thread that may wait for a disk. Gives up on it at once when cancelled; the work
/// is told, also when nobody waits for it any longer.
async fn look<T: Send + 'static>(
    cancelled: &CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let token = cancelled.child_token();
    let _told_when_dropped = token.clone().drop_guard();
    let for_work = token.clone();
    let working = tokio::task::spawn_blocking(move || work(&for_work));
    tokio::select! {
        // What is done has a result, even if somebody gave up at that moment.
        biased;
        done = working => done.map_err(broken)?,
        () = token.cancelled() => Err(CANCELLED.to_owned()),
    }
}

/// Does work that changes something. Once begun it is waited for: its outcome must be known.
async fn change<T: Send + 'static>(
    cancelled: &CancellationToken,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    if cancelled.is_cancelled() {
        return Err(CANCELLED.to_owned());
    }
    tokio::task::spawn_blocking(work).await.map_err(broken)?
}

const CANCELLED: &str = "cancelled before it ended";

fn broken(error: tokio::task::JoinError) -> String {
    format!("the tool broke off: {error}")
}

fn outcome(result: Result<Output, String>) -> Result<Output, Failure> {
    result.map_err(Failure::text)
}

/// A remark of ours, on a line of its own.
fn remark(text: &mut String, words: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push('[');
    text.push_str(words);
    text.push_str("]\n");
}

/// As the digest of a content that is there whole.
fn finished(hash: Sha256) -> String {
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// What a tool says when there is something to count.
fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
