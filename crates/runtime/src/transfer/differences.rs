//! Says in words what would change if one world's settings took the place of another's.
//! Used before settings are replaced by files. Tells no value of an MCP server and no instructions: only that they change.

use std::collections::BTreeMap;

use agent_world_core::config::{Agent, World};
use agent_world_core::policy::Rule;
use serde::Serialize;
use serde_json::{Map, Value};

use super::document::fields_of;

/// Characters of a value that are told.
const WIDTH: usize = 60;

/// One line for each difference; none where the two are the same but for versions and times.
///
/// # Errors
/// When a setting cannot be written at all.
pub fn differences(old: &World, new: &World) -> Result<Vec<String>, String> {
    let apart = ["version", "created_at", "updated_at", "agents", "policy", "mcp_servers"];
    let mut lines = fields("", &without(old, &apart)?, &without(new, &apart)?);
    let servers = |world: &World| world.mcp_servers.clone();
    lines.extend(things("mcp_servers.", servers(old), servers(new)));
    agents(&mut lines, old, new)?;
    if old.policy.preset != new.policy.preset {
        lines.push(format!("policy: preset {} -> {}", old.policy.preset, new.policy.preset));
    }
    let rules = |world: &World| -> BTreeMap<String, Rule> {
        world.policy.rules.iter().map(|rule| (rule.id.to_string(), rule.clone())).collect()
    };
    lines.extend(things("policy: rule ", rules(old), rules(new)));
    let order =
        |world: &World| world.policy.rules.iter().map(|rule| rule.id.clone()).collect::<Vec<_>>();
    if rules(old) == rules(new) && order(old) != order(new) {
        lines.push("policy: the rules are in another order".to_owned());
    }
    Ok(lines)
}

fn agents(lines: &mut Vec<String>, old: &World, new: &World) -> Result<(), String> {
    for agent in &old.agents {
        if new.agent(&agent.id).is_none() {
            lines.push(format!("agent {}: removed", agent.id));
        }
    }
    for agent in &new.agents {
        match old.agent(&agent.id) {
            None => lines.push(format!("agent {}: added", agent.id)),
            Some(before) => lines.extend(agent_changes(before, agent)?),
        }
    }
    let order = |one: &World, other: &World| -> Vec<_> {
        let shared = one.agents.iter().filter(|agent| other.agent(&agent.id).is_some());
        shared.map(|agent| agent.id.clone()).collect()
    };
    if order(old, new) != order(new, old) {
        lines.push("agents: they are in another order".to_owned());
    }
    Ok(())
}

fn agent_changes(old: &Agent, new: &Agent) -> Result<Vec<String>, String> {
    let place = format!("agent {}: ", new.id);
    let apart = ["instructions"];
    let mut lines = fields(&place, &without(old, &apart)?, &without(new, &apart)?);
    if old.instructions != new.instructions {
        let (before, after) = (old.instructions.lines().count(), new.instructions.lines().count());
        lines.push(format!("{place}instructions changed ({before} -> {after} lines)"));
    }
    Ok(lines)
}

fn without(thing: impl Serialize, apart: &[&str]) -> Result<Map<String, Value>, String> {
    let mut all = fields_of(thing)?;
    all.retain(|name, _| !apart.contains(&name.as_str()));
    Ok(all)
}

fn fields(place: &str, old: &Map<String, Value>, new: &Map<String, Value>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, after) in new {
        match (old.get(name), after) {
            (Some(before), after) if before == after => {}
            (Some(Value::Object(before)), Value::Object(after)) => {
                let place = format!("{place}{name}.");
                lines.extend(fields(&place, before, after));
                let gone = before.keys().filter(|key| !after.contains_key(*key));
                lines.extend(gone.map(|key| format!("{place}{key}: removed")));
            }
            (before, after) => {
                let before = before.map_or_else(|| "nothing".to_owned(), told);
                lines.push(format!("{place}{name}: {before} -> {}", told(after)));
            }
        }
    }
    lines
}

fn things<T: PartialEq>(
    place: &str,
    old: BTreeMap<String, T>,
    new: BTreeMap<String, T>,
) -> Vec<String> {
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let mut lines: Vec<String> = gone.map(|name| format!("{place}{name}: removed")).collect();
    for (name, after) in &new {
        match old.get(name) {
            None => lines.push(format!("{place}{name}: added")),
            Some(before) if before != after => lines.push(format!("{place}{name}: changed")),
            Some(_) => {}
        }
    }
    lines
}

fn told(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(WIDTH) {
        None => text,
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
