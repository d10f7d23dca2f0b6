//! Says what another policy would have decided otherwise about the calls of a world.
//! Called by `policy diff`. Only looks: neither policy is changed, and no call is made again.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{document, in_force};
use crate::connect::Connection;
use crate::policy::DiffPolicy;
use crate::screen::{Screen, Tone};
use crate::{place, words};

/// What a comparison found, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Comparison {
    calls: usize,
    changes: BTreeMap<String, usize>,
    without_tool: usize,
    older_calls_left_out: bool,
    differences: Vec<Difference>,
}

#[derive(Debug, Deserialize)]
struct Difference {
    explanation: String,
}

pub async fn run(connection: &Connection, wanted: &DiffPolicy) -> Result<()> {
    let world = place::world(connection, wanted.world.as_deref()).await?;
    let (_, policy) = in_force(&world)?;
    let new = document::read(&wanted.file, &policy)?;
    let body = json!({ "policy": new.value, "limit": wanted.limit });
    let path = place::path(&world.id).then("policy").then("diff");
    let mut found: Value = connection.client.post(path, &body).await?;
    let mut screen = Screen::stdout();
    if wanted.json {
        let differences = found.as_object_mut().and_then(|all| all.remove("differences"));
        for difference in differences.as_ref().and_then(Value::as_array).into_iter().flatten() {
            screen.json(difference)?;
        }
        return Ok(screen.json(&found)?);
    }
    let found = serde_json::from_value(found).context("the comparison cannot be read")?;
    tell(&mut screen, &found)
}

fn tell(screen: &mut Screen, found: &Comparison) -> Result<()> {
    for difference in &found.differences {
        screen.line(Tone::Plain, &difference.explanation)?;
    }
    screen.line(Tone::Quiet, &summary(found.calls, &found.changes))?;
    if found.without_tool > 0 {
        let calls = words::count(found.without_tool, "call");
        let text = format!("{calls} of tools that are not there now could not be compared");
        screen.line(Tone::Warning, &text)?;
    }
    if found.older_calls_left_out {
        screen.line(Tone::Quiet, "there are older calls; --limit looks at more")?;
    }
    Ok(())
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
