//! Waits until the MCP servers of a world work or have failed, and tells how they are.
//! Called by `mcp list --check`. Asking for a world's tools starts its servers.

use std::time::{Duration, Instant};

use agent_world_client::wire::Page;
use anyhow::Result;
use serde_json::Value;

use super::path;
use crate::connect::Connection;
use crate::place;
use crate::screen::{Screen, Tone};
use crate::words;

/// How long a server may take to start before it is left starting.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(200);

/// The servers, when none of them is starting any more.
pub async fn settled(connection: &Connection, world: &str) -> Result<Vec<Value>> {
    let tools = place::path(world).then("tools").with("limit", "1");
    connection.client.get::<Page<Value>>(tools).await?;
    let start = Instant::now();
    loop {
        let servers: Vec<Value> = connection.client.all(path(world).with("limit", "1000")).await?;
        let starting = |server: &Value| {
            server.pointer("/health/state").and_then(Value::as_str) == Some("starting")
        };
        if !servers.iter().any(starting) || start.elapsed() > PATIENCE {
            return Ok(servers);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

pub fn has_failed(health: &Value) -> bool {
    text(health, "state") == "failed"
}

fn text<'v>(health: &'v Value, field: &str) -> &'v str {
    health.get(field).and_then(Value::as_str).unwrap_or_default()
}

pub fn tell(screen: &mut Screen, health: &Value) -> Result<()> {
    match text(health, "state") {
        "ready" => {
            let tools = health.get("tools").and_then(Value::as_u64).unwrap_or_default();
            let tools = usize::try_from(tools).unwrap_or(usize::MAX);
            let [name, version, protocol] = ["server_name", "server_version", "protocol_version"]
                .map(|field| text(health, field));
            let tools = words::count(tools, "tool");
            let text = format!("    {name} {version}, protocol {protocol}, {tools}");
            screen.line(Tone::Quiet, &words::unbroken(&text))?;
        }
        "failed" => screen.line(Tone::Warning, &format!("    {}", text(health, "error")))?,
        "stopped" => screen.line(Tone::Quiet, "    switched off")?,
        _ => screen.line(Tone::Warning, "    is still starting")?,
    }
    match text(health, "authorize_at") {
        "" => {}
        address => {
            let text = format!("    waits for a login at {}", words::unbroken(address));
            screen.line(Tone::Warning, &text)?;
        }
    }
    let notes = health.get("notes").and_then(Value::as_array).into_iter().flatten();
    for note in notes.filter_map(Value::as_str) {
        screen.line(Tone::Quiet, &format!("    {}", words::unbroken(note)))?;
    }
    Ok(())
}
