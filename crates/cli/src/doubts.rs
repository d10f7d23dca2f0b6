//! Says what in settings hardly can be meant: a model nobody can ask, a tool that is not there.
//! Used by `agent` and `policy` after a change. Only warns: what is missing now may come, and a client may bring tools.

use std::collections::BTreeSet;

use agent_world_client::{Client, Path};
use anyhow::Result;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::connect::Whereabouts;
use crate::doctor::vendors::Vendors;
use crate::place;
use crate::screen::{Screen, Tone};
use crate::words;

#[derive(Deserialize)]
struct Tool {
    name: String,
}

/// What of an agent's settings, as they were sent, is in doubt.
pub async fn of_agent(
    to: &Whereabouts,
    client: &Client,
    world: &str,
    change: &Map<String, Value>,
) -> Result<()> {
    if let Some(model) = change.get("model").and_then(Value::as_str) {
        of_model(to, model)?;
    }
    let tools = change.get("tools").and_then(Value::as_array).into_iter().flatten();
    of_tools(client, world, tools.filter_map(Value::as_str)).await
}

/// A model that cannot be asked from here. What a server elsewhere has set up is not known.
fn of_model(to: &Whereabouts, model: &str) -> Result<()> {
    if to.server.is_some() {
        return Ok(());
    }
    match Vendors::read(&to.data).trouble(model) {
        Some((why, fix)) => warn(&format!("{model} cannot be asked now: {why}; {fix}")),
        None => Ok(()),
    }
}

/// Names that no tool of the world has. Those of servers are known only when these run, and patterns may mean anything.
pub async fn of_tools<'n>(
    client: &Client,
    world: &str,
    names: impl Iterator<Item = &'n str>,
) -> Result<()> {
    let is_plain = |name: &&str| !name.contains(['*', '?', '[', '{', '.']);
    let mut missing: BTreeSet<&str> = names.filter(is_plain).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let path: Path = place::path(world).then("tools").with("limit", "1000");
    for tool in client.all::<Tool>(path).await? {
        missing.remove(tool.name.as_str());
    }
    for name in missing {
        warn(&format!(
            "world {world} has no tool `{}`; `agent-world tool list -w {world}` shows those it has",
            words::unbroken(name)
        ))?;
    }
    Ok(())
}

fn warn(text: &str) -> Result<()> {
    Ok(Screen::stderr().hint(Tone::Warning, &format!("warning: {text}"))?)
}
