//! What a person sees on entering a chat without a terminal: where they are, what was said, what waits.
//! Used by `lines`. Begins to follow the chat first, so that nothing falls in between; changes nothing.

use agent_world_client::wire::{Activity, Chat, Message, Page, Role};
use agent_world_client::{Following, Path, Scope};
use anyhow::Result;
use serde_json::Value;

use super::question::{Question, Questions};
use super::{EXPLAINED, FIRST_VISIT, VISITING};
use crate::connect::Connection;
use crate::place::{self, Place};
use crate::screen::{Screen, Tone};
use crate::words;

/// Messages shown on entering, and lines of each.
const EARLIER: usize = 10;
/// Messages read for that: most may be calls and results, which are not shown.
const READ: usize = 100;
const EARLIER_LINES: usize = 12;

pub struct Opening {
    pub following: Following,
    pub activity: Activity,
    pub questions: Questions,
}

/// Follows the chat from its present state on, and shows that state.
pub async fn enter(connection: &Connection, place: &Place, screen: &mut Screen) -> Result<Opening> {
    let client = &connection.client;
    let (world, chat) = (place.world.id.clone(), place.chat.id.clone());
    let path = place::path(&world).then("chats").then(&chat);
    introduce(connection, place, screen)?;
    let earlier = path.clone().then("messages").with("before", "").with("limit", READ.to_string());
    // What is said while this is read is in it or is heard; told twice it would be worse than late.
    let (following, page) = loop {
        let scope = Scope::Chat { world: world.clone(), chat: chat.clone() };
        let following = client.follow(&scope, None).await?;
        let page: Page<Message> = client.get(earlier.clone()).await?;
        let later = path.clone().then("events").with("after", following.known().to_string());
        let news: Page<Value> = client.get(later.with("limit", "1")).await?;
        if news.data.is_empty() {
            break (following, page);
        }
    };
    let said: Vec<&Message> = page.data.iter().filter(|message| is_said(message)).collect();
    let skipped = said.len().saturating_sub(EARLIER);
    for message in said.into_iter().skip(skipped) {
        screen.said(&message.sender, &words::first_lines(&message.content, EARLIER_LINES))?;
    }
    let all: Vec<Value> = client.all(Path::new("/api/approvals").with("state", "pending")).await?;
    let (here, elsewhere): (Vec<Value>, Vec<Value>) =
        all.into_iter().partition(|one| one["chat_id"] == chat.as_str());
    if !here.is_empty() {
        let waiting = words::count(here.len(), "approval");
        screen.line(Tone::Question, &format!("{waiting} still waiting here"))?;
    }
    let mut questions = Questions::default();
    for request in &here {
        questions.add(Question::read(request)?);
    }
    // Requests elsewhere are not this conversation's, but somebody should know of them.
    if !elsewhere.is_empty() {
        let waiting = words::count(elsewhere.len(), "approval");
        let text = format!("{waiting} waiting in other chats: `agent-world approvals list`");
        screen.line(Tone::Quiet, &text)?;
    }
    let chat: Chat = client.get(path).await?;
    Ok(Opening { following, activity: chat.activity, questions })
}

fn introduce(connection: &Connection, place: &Place, screen: &mut Screen) -> Result<()> {
    let world = &place.world;
    if place.is_first_use {
        screen.line(Tone::Plain, FIRST_VISIT)?;
    }
    let agents: Vec<String> = world
        .agents
        .iter()
        .map(|agent| {
            let model = agent.model.as_deref().or(world.default_model.as_deref());
            format!("@{} ({})", agent.id, model.unwrap_or("no model"))
        })
        .collect();
    let title = &place.chat.title;
    let text = format!("{}, chat “{title}”, with {}", world.name, agents.join(", "));
    screen.line(Tone::Quiet, &text)?;
    let text = match connection.session() {
        Some(session) if session.is_visitor() => format!("{VISITING} {EXPLAINED}"),
        _ => EXPLAINED.to_owned(),
    };
    Ok(screen.line(Tone::Quiet, &text)?)
}

/// Said by somebody, or a notice; not a call, a request or a result.
fn is_said(message: &Message) -> bool {
    message.role != Role::Tool && message.tool_calls.is_empty()
}
