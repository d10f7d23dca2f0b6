//! Says what another policy would have decided otherwise about the calls of a world.
//! Called by `policy diff`. Only looks: neither policy is changed, and no call is made again.

use std::collections::BTreeMap;

use agent_world_core::Timestamp;
use agent_world_core::config::{Tools, World};
use agent_world_core::display::{mask_secrets, reveal_line};
use agent_world_core::ids::ChatId;
use agent_world_core::policy::{self, Change, Past};
use agent_world_core::view::CallView;
use agent_world_store::Store;
use anyhow::Result;
use serde_json::{Value, json};

use super::document;
use crate::args::DiffPolicy;
use crate::screen::{Screen, Tone};
use crate::setup::Session;
use crate::{place, tool, words};

const PAGE: usize = 500;

/// The newest calls of a world, and what cannot be compared.
#[derive(Debug, Default)]
struct History {
    /// Newest first.
    calls: Vec<(Timestamp, Past)>,
    /// Of tools that are not there now: how they would be judged is not known.
    without_tool: usize,
    /// There were older ones than were asked for.
    older: bool,
}

pub async fn run(session: &Session, wanted: &DiffPolicy) -> Result<()> {
    let world = place::world(session, wanted.world.as_deref()).await?;
    let new = document::read(&wanted.file, &world.policy)?;
    let tools = tool::all_of(session, &world).await;
    let history = History::read(session.store(), &world, &tools, wanted.limit).await?;
    let History { calls, without_tool, older } = history;
    let looked_at = calls.len();
    let changes = policy::diff(&world.policy, &new, calls.into_iter().map(|(_, past)| past));
    let counts = counts(&changes);
    let mut screen = Screen::stdout();
    if wanted.json {
        for change in &changes {
            screen.json(&difference(change))?;
        }
        return Ok(screen.json(&json!({
            "type": "summary", "world_id": world.id, "calls": looked_at, "differences": changes.len(),
            "changes": counts, "without_tool": without_tool, "older_calls_left_out": older,
        }))?);
    }
    for change in &changes {
        screen.line(Tone::Plain, &change.to_string())?;
    }
    screen.line(Tone::Quiet, &summary(looked_at, &counts))?;
    if without_tool > 0 {
        let calls = words::count(without_tool, "call");
        let text = format!("{calls} of tools that are not there now could not be compared");
        screen.line(Tone::Warning, &text)?;
    }
    if older {
        screen.line(Tone::Quiet, "there are older calls; --limit looks at more")?;
    }
    Ok(())
}

impl History {
    async fn read(store: &dyn Store, world: &World, tools: &Tools, limit: usize) -> Result<Self> {
        let mut history = Self::default();
        for chat in place::all_chats(store, &world.id).await? {
            history.add_chat(store, world, tools, &chat.id, limit).await?;
        }
        Ok(history)
    }

    /// Keeps the newest after each page, so that however many there are, few are held.
    async fn add_chat(
        &mut self,
        store: &dyn Store,
        world: &World,
        tools: &Tools,
        chat: &ChatId,
        limit: usize,
    ) -> Result<()> {
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
        if call.verdict.is_none() {
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

fn summary(looked_at: usize, counts: &BTreeMap<String, usize>) -> String {
    let of = words::count(looked_at, "call");
    if counts.is_empty() {
        return format!("about {of} both decide the same");
    }
    let kinds: Vec<String> =
        counts.iter().map(|(kind, number)| format!("{number} {kind}")).collect();
    let number: usize = counts.values().sum();
    format!("of {of} {number} would be decided otherwise: {}", kinds.join(", "))
}

fn difference(change: &Change) -> Value {
    let side =
        |verdict: &policy::Verdict| json!({ "verdict": verdict.ruling, "ground": verdict.ground });
    json!({
        "type": "difference",
        "tool_call_id": change.call.id,
        "agent_id": change.call.agent,
        "tool": reveal_line(&change.call.spec.name),
        "arguments": mask_secrets(&change.call.arguments),
        "before": side(&change.before),
        "after": side(&change.after),
    })
}
