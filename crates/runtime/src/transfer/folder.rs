//! Decides how a world's settings are written as files that people edit and keep in git: `world.toml`, `policy.toml`
//! where there is a policy, and for each agent `agents/ID.md` with its instructions, byte for byte.
//! Used by exports and imports of folders. Works on names and texts only, never on a disk; chats, granted rules, versions
//! and times are no settings and not in it. What is misspelt is refused, with the file and the field.

mod value;

use std::collections::BTreeMap;

use agent_world_core::Timestamp;
use agent_world_core::config::{Agent, World};
use agent_world_core::ids::{AgentId, WorldId, is_slug};
use agent_world_core::policy::Policy;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::document::{fields_of, known_fields, settings_to};
use value::{from_toml, to_toml};

/// Texts by the names of their files, relative to the folder, with `/`.
pub type Files = BTreeMap<String, String>;

const WORLD: &str = "world.toml";
const POLICY: &str = "policy.toml";
const AGENTS: &str = "agents/";
const FENCE: &str = "+++";
/// Fields that the store keeps for itself.
const NOT_SETTINGS: [&str; 3] = ["version", "created_at", "updated_at"];

/// The files of a world. Only what differs from its default is in them, always in the same order.
///
/// # Errors
/// When a setting cannot be written at all.
pub fn write(world: &World) -> Result<Files, String> {
    let mut files = Files::new();
    let mut fields = match settings_to(world).map_err(|error| error.to_string())? {
        Value::Object(fields) => fields,
        _ => return Err("settings that are no object".to_owned()),
    };
    let policy = fields.shift_remove("policy");
    let own = World::new(world.id.clone(), world.id.as_str(), Timestamp::UNIX_EPOCH);
    let defaults = fields_of(own)?;
    let mut written = Map::new();
    written.insert("id".to_owned(), Value::from(world.id.as_str()));
    for (name, value) in fields {
        if name == "agents" && !world.agents.is_empty() {
            let ids = world.agents.iter().map(|agent| Value::from(agent.id.as_str()));
            written.insert(name, ids.collect());
        } else if !NOT_SETTINGS.contains(&name.as_str()) {
            keep_if_set(&mut written, name, value, &defaults);
        }
    }
    files.insert(WORLD.to_owned(), to_text(&written)?);
    if let Some(text) = policy_text(policy)? {
        files.insert(POLICY.to_owned(), text);
    }
    for agent in &world.agents {
        files.insert(file_of(&agent.id), agent_text(agent)?);
    }
    Ok(files)
}

/// The world that files say, made at a moment.
///
/// # Errors
/// Names the file and the field.
pub fn read(files: &Files, at: Timestamp) -> Result<World, String> {
    for name in files.keys() {
        if name != WORLD && name != POLICY && agent_of(name).is_none() {
            return Err(format!(
                "{name}: there is no such file in a world; it has {WORLD}, {POLICY} and {AGENTS}ID.md"
            ));
        }
    }
    let text = files.get(WORLD).ok_or_else(|| format!("{WORLD}: the file is missing"))?;
    let mut fields = from_text(WORLD, text)?;
    let listed = listed_agents(&mut fields)?;
    let mut world = read_world(fields, at)?;
    if let Some(text) = files.get(POLICY) {
        world.policy = read_policy(text)?;
    }
    for id in &listed {
        let name = file_of(id);
        let text = files.get(&name).ok_or_else(|| {
            format!("{WORLD}: `agents` names {id}, and the file {name} is missing")
        })?;
        world.agents.push(read_agent(&name, id, text)?);
    }
    let unlisted = files.keys().filter_map(|name| Some((name, agent_of(name)?)));
    if let Some((name, _)) = unlisted.into_iter().find(|(_, id)| !listed.contains(id)) {
        return Err(format!("{name}: `agents` in {WORLD} does not name it; add it there"));
    }
    world.check().map_err(|error| format!("{WORLD}: {error}"))?;
    Ok(world)
}

fn file_of(id: &AgentId) -> String {
    format!("{AGENTS}{id}.md")
}

/// The agent whose file has this name. A name that leads elsewhere is nobody's.
fn agent_of(name: &str) -> Option<AgentId> {
    let id = name.strip_prefix(AGENTS)?.strip_suffix(".md")?;
    is_slug(id).then(|| AgentId::new(id))
}

fn listed_agents(fields: &mut Map<String, Value>) -> Result<Vec<AgentId>, String> {
    let wrong = || format!("{WORLD}: agents: it must be a list of ids, each once");
    let Some(listed) = fields.shift_remove("agents") else { return Ok(Vec::new()) };
    let mut ids: Vec<AgentId> = Vec::new();
    for id in listed.as_array().ok_or_else(wrong)? {
        let id = AgentId::new(id.as_str().ok_or_else(wrong)?);
        if ids.contains(&id) || !is_slug(id.as_str()) {
            return Err(wrong());
        }
        ids.push(id);
    }
    Ok(ids)
}

fn read_world(mut fields: Map<String, Value>, at: Timestamp) -> Result<World, String> {
    let id = match fields.get("id").and_then(Value::as_str) {
        Some(id) if is_slug(id) => id.to_owned(),
        _ => return Err(format!("{WORLD}: id: it must be there, and be a world's id")),
    };
    let mut known = fields_of(World::new(WorldId::new(id.as_str()), id.as_str(), at))?;
    // Times are the store's to say, and the policy has a file of its own.
    let times: Vec<(String, Value)> = NOT_SETTINGS
        .iter()
        .chain(&["policy"])
        .filter_map(|name| known.shift_remove_entry(*name))
        .collect();
    known_fields(WORLD, &fields, &known)?;
    fields.entry("name").or_insert(Value::from(id));
    fields.extend(times);
    deserialize(WORLD, Value::Object(fields))
}

fn policy_text(policy: Option<Value>) -> Result<Option<String>, String> {
    let Some(Value::Object(mut fields)) = policy else { return Ok(None) };
    let defaults = fields_of(Policy::default())?;
    fields.retain(|name, value| defaults.get(name) != Some(value));
    if fields.is_empty() {
        return Ok(None);
    }
    for rule in fields.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
        shorten_rule(rule);
    }
    to_text(&fields).map(Some)
}

/// Leaves out what a rule says by saying nothing.
fn shorten_rule(rule: &mut Value) {
    for condition in rule.get_mut("matches").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(fields) = condition.as_object_mut()
            && fields.get("pointer").and_then(Value::as_str) == Some("")
        {
            fields.shift_remove("pointer");
        }
    }
    for list in ["must_match", "must_not_match"] {
        let examples = rule.get_mut("examples").and_then(|examples| examples.get_mut(list));
        for example in examples.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(fields) = example.as_object_mut()
                && fields.get("arguments") == Some(&Value::Null)
            {
                fields.shift_remove("arguments");
            }
        }
    }
}

fn read_policy(text: &str) -> Result<Policy, String> {
    let fields = from_text(POLICY, text)?;
    let mut known = fields_of(Policy::default())?;
    // What people granted with `always` is not for files to say.
    known.shift_remove("granted");
    known_fields(POLICY, &fields, &known)?;
    Policy::read(&Value::Object(fields))
        .map_err(|problems| format!("{POLICY}: {}", problems.join("; ")))
}

fn agent_text(agent: &Agent) -> Result<String, String> {
    let defaults = fields_of(Agent::new(agent.id.clone()))?;
    let mut written = Map::new();
    for (name, value) in fields_of(agent)? {
        if name != "id" && name != "instructions" {
            keep_if_set(&mut written, name, value, &defaults);
        }
    }
    let front = to_text(&written)?;
    Ok(format!("{FENCE}\n{front}{FENCE}\n{}", agent.instructions))
}

fn read_agent(file: &str, id: &AgentId, text: &str) -> Result<Agent, String> {
    let (front, instructions) = split(text).ok_or_else(|| {
        format!("{file}: it must begin with a line `{FENCE}`, the agent's settings, and another such line")
    })?;
    let fields = from_text(file, front)?;
    let mut all = fields_of(Agent::new(id.clone()))?;
    let mut known = all.clone();
    known.shift_remove("id");
    known.shift_remove("instructions");
    known_fields(file, &fields, &known)?;
    all.extend(fields);
    all.insert("instructions".to_owned(), Value::from(instructions));
    deserialize(file, Value::Object(all))
}

/// What stands between the first two fences, and everything behind them.
fn split(text: &str) -> Option<(&str, &str)> {
    let is_fence = |line: &str| line.trim_end_matches(['\r', '\n']) == FENCE;
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line))?;
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            return Some((text.get(first.len()..end)?, text.get(end + line.len()..)?));
        }
        end += line.len();
    }
    None
}

/// Takes a setting over unless it is at its default; of a group of settings, those that are not.
fn keep_if_set(
    written: &mut Map<String, Value>,
    name: String,
    value: Value,
    defaults: &Map<String, Value>,
) {
    match (defaults.get(&name), value) {
        (Some(default), value) if *default == value => {}
        (Some(Value::Object(defaults)), Value::Object(mut fields)) if !defaults.is_empty() => {
            fields.retain(|name, value| defaults.get(name) != Some(value));
            written.insert(name, Value::Object(fields));
        }
        (_, value) => {
            written.insert(name, value);
        }
    }
}

fn to_text(fields: &Map<String, Value>) -> Result<String, String> {
    let table = fields.iter().map(|(name, value)| Ok((name.clone(), to_toml(value)?)));
    let table: toml::Table = table.collect::<Result<_, String>>()?;
    toml::to_string(&table).map_err(|error| error.to_string())
}

fn from_text(file: &str, text: &str) -> Result<Map<String, Value>, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| {
        let error = error.to_string();
        format!("{file}: {}", error.trim_end())
    })?;
    let fields = table.into_iter().map(|(name, value)| {
        let value = from_toml(value).map_err(|error| format!("{file}: {name}: {error}"))?;
        Ok((name, value))
    });
    fields.collect()
}

fn deserialize<T: DeserializeOwned>(file: &str, value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| format!("{file}: {}: {}", error.path(), error.inner()))
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
