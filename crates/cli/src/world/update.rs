//! Changes a world's settings, any of them.
//! Called by `world update`. Says what is different; what cannot be so is refused by the interface.

use anyhow::Result;
use clap::Args;
use serde_json::Value;

use super::{Fields, show_bounds, warn_of_weak_sandbox};
use crate::changes::{self, Any, Meant, add};
use crate::connect::{Connection, Whereabouts};
use crate::exit::Usage;
use crate::place;
use crate::screen::{Screen, Tone};

#[derive(Debug, Args)]
#[command(after_help = "\
Fields that have no flag are set with --set; `agent-world world show ID --json` shows them all. Rules are changed with
`agent-world policy set`, agents with `agent-world agent`, MCP servers with `agent-world mcp`.

Examples:
  agent-world world update lab --sandbox required --network off
  agent-world world update lab --preset read-only --turn-limit 9
  agent-world world update lab --directory .
  agent-world world update lab --set 'sandbox.writable=[\"/srv/lab\"]'
  agent-world world update lab --unset approval_timeout_seconds --if-version 3")]
pub struct Update {
    pub id: String,
    #[command(flatten)]
    pub fields: Fields,
    #[command(flatten)]
    pub any: Any,
    #[command(flatten)]
    pub meant: Meant,
    #[arg(long)]
    pub json: bool,
}

pub async fn run(connection: &Connection, to: &Whereabouts, wanted: Update) -> Result<()> {
    let Update { id, fields, any, meant, json } = wanted;
    let mut change = fields.change()?;
    any.add_to(&mut change);
    if change.is_empty() {
        let text = "say what shall change: --sandbox, --network, --preset, --directory and others, or --set FIELD=JSON; \
                    `agent-world world update --help` shows them";
        return Err(Usage(text.to_owned()).into());
    }
    add(&mut change, "version", meant.if_version);
    let client = &connection.client;
    place::known_world(client, Some(&id)).await?;
    let before: Value = client.get(place::path(&id)).await?;
    let after: Value = match client.patch(place::path(&id), &change).await {
        Ok(after) => after,
        Err(error) => return Err(changes::refused(client, &id, error).await),
    };
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&after)?);
    }
    let told = match before.get("version") == after.get("version") {
        true => format!("world {id} is so already; nothing was changed"),
        false => format!("changed world {id}"),
    };
    screen.line(Tone::Plain, &told)?;
    changes::tell(&mut screen, &before, &after)?;
    show_bounds(&mut screen, &after)?;
    warn_of_weak_sandbox(to, &after, &mut screen)
}
