//! Decides how webhooks are kept: what an admin set, and beside it how far each has got.
//! Used by the routes and by `delivery`. The secret is in the store, which only its owner reads, and in no answer.

use std::fmt;

use agent_world_core::Timestamp;
use agent_world_runtime::store::{self, Document, DocumentWrite, Expected, Store};
use serde::{Deserialize, Serialize};

use super::EventType;

const HOOK: &str = "webhook";
const PROGRESS: &str = "webhook_progress";

#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Hook {
    pub id: String,
    pub url: String,
    pub events: Vec<EventType>,
    pub world: Option<String>,
    pub allow_private: bool,
    pub secret: String,
    pub created_by: String,
    pub created_at: Timestamp,
}

// An address may be a key, and the secret is one.
impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How far a webhook has got, and how it goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Everything up to here was delivered or was not to be.
    pub position: u64,
    /// Since the last success.
    pub failures: u64,
    pub failing_since: Option<Timestamp>,
    /// A day has passed without success.
    #[serde(default)]
    pub given_up: bool,
    pub last_error: Option<String>,
    pub last_success_at: Option<Timestamp>,
}

impl Progress {
    pub fn state(&self) -> &'static str {
        match (self.failures, self.given_up) {
            (0, _) => "ok",
            (_, false) => "retrying",
            (_, true) => "failing",
        }
    }
}

/// Sorts by the time at which it was made.
pub(super) fn new_id(now: Timestamp) -> String {
    format!("hook_{:012x}{:016x}", now.as_millisecond(), rand::random::<u64>())
}

pub(super) async fn hooks(store: &dyn Store, most: usize) -> Result<Vec<Hook>, store::Error> {
    let documents = store.documents(HOOK, None, most).await?;
    documents.iter().map(read).collect()
}

pub(super) async fn progress(
    store: &dyn Store,
    id: &str,
) -> Result<Option<(Progress, u64)>, store::Error> {
    match store.document(PROGRESS, id).await? {
        None => Ok(None),
        Some(document) => Ok(Some((read(&document)?, document.version))),
    }
}

/// Where it begins is there before anybody can begin.
pub(super) async fn create(
    store: &dyn Store,
    hook: &Hook,
    progress: &Progress,
) -> Result<(), store::Error> {
    write(store, PROGRESS, &hook.id, Expected::Nothing, progress).await?;
    write(store, HOOK, &hook.id, Expected::Nothing, hook).await?;
    Ok(())
}

/// Returns the version that is stored now. Refused when the webhook was removed meanwhile.
pub(super) async fn save(
    store: &dyn Store,
    id: &str,
    version: u64,
    progress: &Progress,
) -> Result<u64, store::Error> {
    write(store, PROGRESS, id, Expected::Version(version), progress).await
}

/// Says whether there was one.
pub(super) async fn remove(store: &dyn Store, id: &str) -> Result<bool, store::Error> {
    let removed = store.delete_document(HOOK, id).await?;
    store.delete_document(PROGRESS, id).await?;
    Ok(removed)
}

async fn write(
    store: &dyn Store,
    kind: &str,
    key: &str,
    expected: Expected,
    body: &impl Serialize,
) -> Result<u64, store::Error> {
    let write = DocumentWrite {
        kind: kind.to_owned(),
        key: key.to_owned(),
        expected,
        body: serde_json::to_string(body)?,
        at: Timestamp::now(),
    };
    store.write_document(write).await
}

fn read<T: for<'a> Deserialize<'a>>(document: &Document) -> Result<T, store::Error> {
    Ok(serde_json::from_str(&document.body)?)
}
