//! Makes changes of settings of what is written on the command line, and tells what became of them.
//! Used by `world` and `agent`. Knows no field: whether there is one is for the interface to say.

use std::collections::BTreeSet;

use agent_world_client::wire::Page;
use agent_world_client::{Client, Error, Path};
use agent_world_core::display::compact;
use anyhow::{Result, anyhow};
use clap::Args;
use serde_json::{Map, Value};

use crate::screen::{Screen, Tone};
use crate::words;

/// A position that no event has: what comes before it is the newest.
const BEYOND_ALL: &str = "9007199254740991";

/// Any field, by its name.
#[derive(Debug, Default, Args)]
pub struct Any {
    /// Sets any field, such as turn_limit=9, description='"A lab"' or sandbox.writable='["/srv"]'; may be given several times
    #[arg(long = "set", value_name = "FIELD=JSON", value_parser = assignment)]
    pub set: Vec<(String, Value)>,
    /// Puts a field back to its default; may be given several times
    #[arg(long = "unset", value_name = "FIELD")]
    pub unset: Vec<String>,
}

/// The state of the settings that a change is meant for.
#[derive(Debug, Default, Args)]
pub struct Meant {
    /// Changes nothing unless the world's settings are still at this version, which `world show` tells
    #[arg(long, value_name = "N")]
    pub if_version: Option<u64>,
}

impl Any {
    pub fn add_to(self, change: &mut Map<String, Value>) {
        let unset = self.unset.into_iter().map(|field| (field, Value::Null));
        for (field, value) in self.set.into_iter().chain(unset) {
            match field.split_once('.') {
                Some((group, field)) => add_within(change, group, field, value),
                None => drop(change.insert(field, value)),
            }
        }
    }
}

fn add_within(change: &mut Map<String, Value>, group: &str, field: &str, value: Value) {
    let fields = change.entry(group).or_insert_with(|| Value::Object(Map::new()));
    if !fields.is_object() {
        *fields = Value::Object(Map::new());
    }
    if let Some(fields) = fields.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
}

fn assignment(written: &str) -> Result<(String, Value), String> {
    let (field, value) = written.split_once('=').ok_or("write FIELD=JSON")?;
    let value = serde_json::from_str(value)
        .map_err(|error| format!("the value is not JSON: {error}; a text is written '\"so\"'"))?;
    Ok((field.trim().to_owned(), value))
}

/// A setting that is on or off, or a number, where something is said about it.
pub fn add(change: &mut Map<String, Value>, field: &str, value: Option<impl Into<Value>>) {
    if let Some(value) = value {
        change.insert(field.to_owned(), value.into());
    }
}

/// What is different now, a line for each setting.
pub fn tell(screen: &mut Screen, before: &Value, after: &Value) -> Result<()> {
    for (field, was, now) in differences(before, after) {
        let line = format!("  {field}: {} -> {}", shown(was), shown(now));
        screen.line(Tone::Plain, &words::unbroken(&line))?;
    }
    Ok(())
}

/// The settings that differ by their names, those of a group one by one.
fn differences<'v>(before: &'v Value, after: &'v Value) -> Vec<(String, &'v Value, &'v Value)> {
    const NONE: &Value = &Value::Null;
    let mut found = Vec::new();
    for (field, now) in after.as_object().into_iter().flatten() {
        let was = before.get(field).unwrap_or(NONE);
        if was == now || field == "version" || field == "updated_at" {
            continue;
        }
        let (Some(group), Some(there)) = (was.as_object(), now.as_object()) else {
            found.push((field.clone(), was, now));
            continue;
        };
        let names: BTreeSet<&String> = group.keys().chain(there.keys()).collect();
        let pairs = names.into_iter().map(|name| {
            let of = |group: &'v Map<String, Value>| group.get(name).unwrap_or(NONE);
            (format!("{field}.{name}"), of(group), of(there))
        });
        found.extend(pairs.filter(|(_, was, now)| was != now));
    }
    found
}

fn shown(value: &Value) -> String {
    words::shortened(&compact(value))
}

/// Why a change was not made. Where somebody was faster, who that was.
pub async fn refused(client: &Client, world: &str, error: Error) -> anyhow::Error {
    if error.code() != Some("version_conflict") {
        return error.into();
    }
    let newest = Path::new("/api/audit").with("world", world).with("kind", "changed");
    let newest = newest.with("before", BEYOND_ALL).with("limit", "1");
    let newest = client.get::<Page<Value>>(newest).await;
    let entry = newest.ok().and_then(|page| page.data.into_iter().next_back());
    let who = entry.as_ref().and_then(|entry| {
        let name = entry.pointer("/actor/name")?.as_str()?;
        Some(format!("; {name} changed it last, at {}", entry.get("at")?.as_str()?))
    });
    anyhow!(
        "{error}{}; `agent-world world show {world}` shows it as it is now",
        who.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn any_field_can_be_set_and_put_back() {
        let set = ["turn_limit=9", "sandbox.writable=[\"/srv\"]", "sandbox.network=true"];
        let set = set.into_iter().map(|one| assignment(one).unwrap()).collect();
        let unset = vec!["description".to_owned(), "variables.CITY".to_owned()];
        let mut change = Map::new();
        change.insert("sandbox".to_owned(), json!({ "mode": "on" }));
        Any { set, unset }.add_to(&mut change);
        assert_eq!(
            Value::Object(change),
            json!({
                "sandbox": { "mode": "on", "writable": ["/srv"], "network": true },
                "turn_limit": 9, "description": null, "variables": { "CITY": null },
            })
        );
        assert!(assignment("turn_limit").unwrap_err().contains("FIELD=JSON"));
        assert!(assignment("name=Lab").unwrap_err().contains("'\"so\"'"));
    }
}
