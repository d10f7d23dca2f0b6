//! Keeps responses: what was asked, what was answered, and whose it is, so that a conversation can go on by its last
//! response's id. Used by every route that names a stored response. Whoever is not the owner is told that there is none.
//!
//! A response names the one before it and holds only what was new, as long as that chain is short and young; then it
//! holds all that came before it. So neither do conversations grow with the square of their length, nor do they end when
//! their beginning has become too old to be kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use agent_world_core::Timestamp;
use agent_world_core::ids::{ChatId, WorldId};
use agent_world_core::item::Item;
use agent_world_runtime::llm::input_from;
use agent_world_runtime::store::{DocumentWrite, Expected, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::{NEWEST, Point};
use super::failure::Failure;
use crate::access::{Principal, Role};
use crate::app::App;

const KIND: &str = "response";
const DAY: i64 = 24 * 60 * 60 * 1_000;
/// How long a response is kept.
const KEPT: i64 = 30 * DAY;
/// A chain that reaches further back is begun anew.
const YOUNG: i64 = 7 * DAY;
const LONGEST_CHAIN: usize = 32;
/// How often old responses are looked for.
const BETWEEN_PRUNINGS: i64 = 60 * 60 * 1_000;
/// Larger ones are given to the client and not kept.
const LARGEST: usize = 8 * 1024 * 1024;
/// No id of ours is longer.
const LONGEST_ID: usize = 64;

/// A response as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    pub owner: String,
    /// As the client named it.
    pub model: String,
    /// Where an agent answered: its world and the chat it was asked in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<(WorldId, ChatId)>,
    /// How far that chat's log had come at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// The response this one follows, whose conversation comes before `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Where no other response holds it: what came before `input`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Arc<Item>>,
    /// What was new.
    pub input: Vec<Arc<Item>>,
    /// The whole response object.
    pub response: Value,
    /// Milliseconds since 1970: when the oldest response of its chain was made.
    pub oldest: i64,
    /// How many responses its chain has.
    pub length: usize,
}

impl Kept {
    pub fn status(&self) -> &str {
        self.response.get("status").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether its work may still go on.
    pub fn is_open(&self) -> bool {
        matches!(self.status(), "queued" | "in_progress")
    }
}

/// The conversation that a response ends: what a request that follows it goes on from.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    pub items: Vec<Arc<Item>>,
    pub chat: Option<(WorldId, ChatId)>,
    /// The response itself, where it is continued in a chat.
    pub point: Option<Point>,
    /// Where it is stored: the last response, the age of the chain and its length.
    pub chain: Option<Chain>,
}

#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub last: String,
    pub oldest: i64,
    pub length: usize,
}

/// A new id: not to be guessed, and behind every earlier one.
pub(super) fn new_id(at: Timestamp) -> String {
    let random: u128 = rand::random();
    format!("resp_{:012x}{:020x}", at.as_millisecond().max(0), random >> 48)
}

/// A response that this person may read.
pub(super) async fn load(app: &App, who: &Principal, id: &str) -> Result<Kept, Failure> {
    find(app, who, id).await?.ok_or_else(|| Failure::no_response(id))
}

async fn find(app: &App, who: &Principal, id: &str) -> Result<Option<Kept>, Failure> {
    // What cannot be an id is not even looked for: anybody can type anything.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if id.len() > LONGEST_ID || !id.bytes().all(plain) {
        return Ok(None);
    }
    let Some(document) = app.engine.store().document(KIND, id).await? else { return Ok(None) };
    let kept: Kept = serde_json::from_str(&document.body).map_err(|error| {
        Failure::from(crate::problem::Problem::internal(format!("response {id}: {error}")))
    })?;
    let may = kept.owner == who.name || who.role >= Role::Admin;
    Ok(may.then_some(kept))
}

/// What a request that follows a stored response goes on from.
pub(super) async fn history(app: &App, who: &Principal, id: &str) -> Result<History, Failure> {
    let missing = || Failure::no_previous(id);
    let last = find(app, who, id).await?.ok_or_else(missing)?;
    if last.is_open() {
        let message = "that response is still being made; wait for it before it is continued";
        return Err(Failure::refused("response_not_finished", "previous_response_id", message));
    }
    let chain = Chain { last: id.to_owned(), oldest: last.oldest, length: last.length };
    let chat = last.chat.clone();
    let point = point(id, &last.response, last.reached);
    let items = conversation(app, who, last).await?.ok_or_else(missing)?;
    Ok(History { items, chat, point: Some(point), chain: Some(chain) })
}

/// A response as a place to go on from.
pub(super) fn point(id: &str, response: &Value, reached: Option<u64>) -> Point {
    let output = response.get("output").and_then(Value::as_array);
    let asks = |item: &Value| {
        let kind = item.get("type").and_then(Value::as_str);
        matches!(kind, Some("mcp_approval_request" | "function_call"))
    };
    let waits = output.is_some_and(|items| items.iter().any(asks));
    Point { response: id.to_owned(), reached, waits }
}

/// Everything that was asked and answered up to and with a response. None where a part of it was deleted.
async fn conversation(
    app: &App,
    who: &Principal,
    last: Kept,
) -> Result<Option<Vec<Arc<Item>>>, Failure> {
    let output = output(&last);
    Ok(asked(app, who, last).await?.map(|mut items| {
        items.extend(output);
        items
    }))
}

/// Everything a response answers: the conversation before it, and what was new.
pub(super) async fn asked(
    app: &App,
    who: &Principal,
    last: Kept,
) -> Result<Option<Vec<Arc<Item>>>, Failure> {
    let mut chain = vec![last];
    while let Some(follows) = chain.last().and_then(|kept| kept.follows.clone()) {
        // More than was ever written; what is stored could be anything.
        if chain.len() > LONGEST_CHAIN {
            return Ok(None);
        }
        let Some(before) = find(app, who, &follows).await? else { return Ok(None) };
        chain.push(before);
    }
    let mut items = Vec::new();
    for (place, kept) in chain.iter().enumerate().rev() {
        items.extend(kept.before.iter().cloned());
        items.extend(kept.input.iter().cloned());
        if place > 0 {
            items.extend(output(kept));
        }
    }
    Ok(Some(items))
}

fn output(kept: &Kept) -> Vec<Arc<Item>> {
    let output = kept.response.get("output").cloned().unwrap_or_default();
    input_from(output).unwrap_or_default()
}

/// Where a response stands that follows a conversation: what it must hold of it.
pub(super) fn place(
    history: &History,
    at: Timestamp,
) -> (Option<String>, Vec<Arc<Item>>, i64, usize) {
    let now = at.as_millisecond();
    match &history.chain {
        Some(chain) if chain.length < LONGEST_CHAIN && now.saturating_sub(chain.oldest) < YOUNG => {
            (Some(chain.last.clone()), Vec::new(), chain.oldest, chain.length.saturating_add(1))
        }
        _ => (None, history.items.clone(), now, 1),
    }
}

/// Whether a response could be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Saved {
    Yes,
    TooLarge,
}

pub(super) async fn save(app: &App, id: &str, kept: &Kept) -> Result<Saved, Failure> {
    let body = serde_json::to_string(kept).map_err(crate::problem::Problem::internal)?;
    if body.len() > LARGEST {
        return Ok(Saved::TooLarge);
    }
    let at = Timestamp::now();
    let write = DocumentWrite {
        kind: KIND.to_owned(),
        key: id.to_owned(),
        expected: Expected::Anything,
        body,
        at,
    };
    app.engine.store().write_document(write).await?;
    prune(app.engine.store().as_ref(), &app.responses.pruned, at).await;
    Ok(Saved::Yes)
}

/// Says whether there was one.
pub(super) async fn delete(app: &App, id: &str) -> Result<bool, Failure> {
    Ok(app.engine.store().delete_document(KIND, id).await?)
}

/// Removes what is too old, now and then.
async fn prune(store: &dyn Store, last: &AtomicI64, at: Timestamp) {
    let now = at.as_millisecond();
    let before = last.load(Ordering::Relaxed);
    if now.saturating_sub(before) < BETWEEN_PRUNINGS
        || last.compare_exchange(before, now, Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        return;
    }
    let Ok(limit) = Timestamp::from_millisecond(now.saturating_sub(KEPT)) else { return };
    // Older than every response that is left: nobody can go on from one that would be compared with it.
    if let Err(error) = store.delete_documents(NEWEST, limit).await {
        tracing::warn!(%error, "old notes on responses could not be removed");
    }
    match store.delete_documents(KIND, limit).await {
        Ok(0) => {}
        Ok(removed) => tracing::info!(removed, "responses that are too old were removed"),
        // The next response will be followed by another attempt.
        Err(error) => tracing::warn!(%error, "old responses could not be removed"),
    }
}
