//! Shows a world: its settings, agents and chats, and what people have permitted in it.
//! Called by `world show`. Changes nothing.

use agent_world_client::wire;
use agent_world_core::policy::{Match, Policy};
use anyhow::Result;
use serde::Deserialize;
use serde_json::Value;

use super::{chats, part, show_bounds};
use crate::connect::Connection;
use crate::screen::{Screen, Tone};
use crate::{place, words};

/// A permission for the rest of a chat.
#[derive(Debug, Deserialize)]
struct Grant {
    id: String,
    agent_id: String,
    tool: String,
    #[serde(default)]
    matches: Vec<Match>,
    granted_by: String,
}

pub async fn run(connection: &Connection, id: &str, json: bool) -> Result<()> {
    place::known_world(&connection.client, Some(id)).await?;
    let value: Value = connection.client.get(place::path(id)).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&value)?);
    }
    let world: wire::World = serde_json::from_value(value.clone())?;
    screen.line(Tone::Name, &format!("{id}  {}", world.name))?;
    if !world.description.is_empty() {
        screen.line(Tone::Plain, &world.description)?;
    }
    show_bounds(&mut screen, &value)?;
    screen.line(Tone::Plain, &format!("settings at version {}", world.version))?;
    for agent in &world.agents {
        let model = agent.model.as_deref().or(world.default_model.as_deref());
        let model = model.unwrap_or("no model");
        let main = if world.main_agent.as_ref() == Some(&agent.id) { ", main agent" } else { "" };
        screen.line(Tone::Plain, &format!("agent {}  {} ({model}{main})", agent.id, agent.name))?;
    }
    show_granted(&mut screen, &part(&value, "policy")?)?;
    for chat in chats(connection, id).await? {
        show_chat(connection, &mut screen, &chat).await?;
    }
    Ok(())
}

fn show_granted(screen: &mut Screen, policy: &Policy) -> Result<()> {
    for rule in &policy.granted {
        let by = rule.origin.as_ref().map_or("somebody", |origin| origin.by.as_str());
        let agent = rule.agent.as_ref().map_or("every agent", |agent| agent.as_str());
        let which = words::permitted(&rule.tool, &rule.matches);
        screen.line(Tone::Plain, &format!("{}  {agent} may always use {which} ({by})", rule.id))?;
    }
    Ok(())
}

async fn show_chat(connection: &Connection, screen: &mut Screen, chat: &wire::Chat) -> Result<()> {
    let waiting = match chat.activity.waiting_approvals {
        0 => String::new(),
        number => format!(", {} waiting", words::count(number, "approval")),
    };
    screen.line(Tone::Plain, &format!("chat {}  {}{waiting}", chat.id, chat.title))?;
    show_grants(connection, screen, chat).await
}

/// What people have permitted for the rest of a chat.
pub async fn show_grants(
    connection: &Connection,
    screen: &mut Screen,
    chat: &wire::Chat,
) -> Result<()> {
    let path = place::path(&chat.world_id).then("chats").then(&chat.id).then("grants");
    for grant in connection.client.all::<Grant>(path).await? {
        let which = words::permitted(&grant.tool, &grant.matches);
        let Grant { id, agent_id, granted_by, .. } = &grant;
        let text = format!("  {id}  {agent_id} may use {which} here ({granted_by})");
        screen.line(Tone::Plain, &text)?;
    }
    Ok(())
}
