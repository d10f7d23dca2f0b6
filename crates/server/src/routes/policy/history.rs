//! Says what another policy would have decided otherwise about the calls of a world.
//! Called by `routes::policy`. Only looks: neither policy is changed, and no call is made again.

use std::collections::{BTreeMap, HashSet};

use agent_world_core::Timestamp;
use agent_world_core::config::{Tools, World};
use agent_world_core::ids::{CallId, ChatId};
use agent_world_core::policy::{self, Change, Past, Policy};
use agent_world_core::view::CallView;
use agent_world_runtime::store::Store;

use crate::app::App;
use crate::problem::Problem;
use crate::wire::{Comparison, Difference};

const PAGE: usize = 500;
/// Calls that are looked at unless somebody says otherwise, and at most: all of them are held in memory.
const USUAL: usize = 10_000;
const MOST: usize = 100_000;

/// The newest calls of a world, and what cannot be compared.
#[derive(Debug, Default)]
struct History {
    /// Newest first.
    calls: Vec<(Timestamp, Past)>,
    without_tool: usize,
    /// A fork takes calls along: each was made once, and is looked at once.
    seen: HashSet<CallId>,
    /// There were older ones than were asked for.
    older: bool,
}

pub(super) async fn compare(
    app: &App,
    world: &World,
    new: &Policy,
    tools: &Tools,
    limit: Option<usize>,
) -> Result<Comparison, Problem> {
    let limit = limit.unwrap_or(USUAL).min(MOST);
    let history = History::read(app.engine.store().as_ref(), world, tools, limit).await?;
    let History { calls, without_tool, older, .. } = history;
    let looked_at = calls.len();
    let changes = policy::diff(&world.policy, new, calls.into_iter().map(|(_, past)| past));
    Ok(Comparison {
        world_id: world.id.to_string(),
        calls: looked_at,
        changes: counts(&changes),
        without_tool,
        older_calls_left_out: older,
        differences: changes.iter().map(Difference::new).collect(),
    })
}

impl History {
    async fn read(
        store: &dyn Store,
        world: &World,
        tools: &Tools,
        limit: usize,
    ) -> Result<Self, Problem> {
        let mut history = Self::default();
        let mut after = None;
        loop {
            let chats = store.chats(&world.id, after.as_ref(), PAGE).await?;
            let Some(last) = chats.last() else {
                return Ok(history);
            };
            after = Some(last.id.clone());
            for chat in chats {
                history.add_chat(store, world, tools, &chat.id, limit).await?;
            }
        }
    }

    /// Keeps the newest after each page, so that however many there are, few are held.
    async fn add_chat(
        &mut self,
        store: &dyn Store,
        world: &World,
        tools: &Tools,
        chat: &ChatId,
        limit: usize,
    ) -> Result<(), Problem> {
        let mut after = None;
        loop {
            let page = store.calls(chat, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after = Some(last.id.clone());
            for call in page {
                self.add(call, world, tools);
            }
            self.calls.sort_by(|(one, _), (other, _)| other.cmp(one));
            self.older |= self.calls.len() > limit;
            self.calls.truncate(limit);
        }
    }

    /// One without a verdict was refused before any policy was asked.
    fn add(&mut self, call: CallView, world: &World, tools: &Tools) {
        if call.verdict.is_none() || !self.seen.insert(call.id.clone()) {
            return;
        }
        let Some(spec) = tools.get(&call.name) else {
            self.without_tool += 1;
            return;
        };
        let past = Past {
            id: call.id.to_string(),
            agent: call.agent,
            spec: spec.clone(),
            // What a person put in its place was never judged.
            arguments: call.proposed.unwrap_or(call.arguments),
            directory: world.working_directory.clone(),
        };
        self.calls.push((call.requested_at, past));
    }
}

/// How many calls changed from which ruling to which.
fn counts(changes: &[Change]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for change in changes {
        let kind = format!("{} -> {}", change.before.ruling, change.after.ruling);
        *counts.entry(kind).or_insert(0) += 1;
    }
    counts
}
