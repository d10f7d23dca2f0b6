//! What a person sees on entering a chat without a terminal: where they are, what was said, what waits.
//! Used by `lines`. Begins to follow the chat first, so that nothing falls in between; changes nothing.

use std::collections::HashSet;

use agent_world_client::wire::{Activity, Approval, Chat, Message, Page, Role};
use agent_world_client::{Following, Path, Scope};
use anyhow::Result;
use serde_json::Value;

use super::lines::REQUEST;
use super::question::Questions;
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
/// Lines of what a tool gave back.
const EARLIER_RESULT: usize = 2;

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
    recall(&page.data, screen)?;
    let pending = Path::new("/api/approvals").with("state", "pending");
    let all: Vec<Approval> = client.all(pending).await?;
    let (here, elsewhere): (Vec<Approval>, Vec<Approval>) =
        all.into_iter().partition(|one| one.chat_id == chat);
    if !here.is_empty() {
        let waiting = words::count(here.len(), "approval");
        screen.line(Tone::Question, &format!("{waiting} still waiting here"))?;
    }
    let mut questions = Questions::default();
    here.into_iter().for_each(|approval| questions.add(approval));
    // Requests elsewhere are not this conversation's, but somebody should know of them.
    if !elsewhere.is_empty() {
        let waiting = words::count(elsewhere.len(), "approval");
        let text = format!("{waiting} waiting in other chats: /approvals asks about them");
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

/// The last messages, with what tools did between them.
fn recall(messages: &[Message], screen: &mut Screen) -> Result<()> {
    let said = messages.iter().filter(|message| is_said(message)).count();
    let mut skipped = said.saturating_sub(EARLIER);
    let shown = messages.iter().skip_while(|message| {
        let skips = skipped > 0;
        skipped -= usize::from(skips && is_said(message));
        skips
    });
    // Requests for approval stand for themselves, and so do the answers to them.
    let mut calls = HashSet::new();
    for message in shown {
        for call in message.tool_calls.iter().filter(|call| call.function.name != REQUEST) {
            calls.insert(call.id.as_str());
            let arguments = serde_json::from_str(&call.function.arguments).unwrap_or_default();
            let text = words::call(&call.function.name, &arguments);
            screen.line(Tone::Quiet, &format!("* {}: {text}", message.sender))?;
        }
        match message.tool_call_id.as_deref() {
            Some(id) if calls.contains(id) => {
                let result = words::first_lines(&message.content, EARLIER_RESULT);
                for line in result.lines() {
                    screen.line(Tone::Quiet, &format!("  | {line}"))?;
                }
            }
            Some(_) => {}
            None if message.content.trim().is_empty() => {}
            None if is_said(message) => {
                let text = words::first_lines(&message.content, EARLIER_LINES);
                screen.said(&message.sender, &text)?;
            }
            None => {}
        }
    }
    Ok(())
}

/// Said by somebody, or a notice; not a call, a request or a result.
fn is_said(message: &Message) -> bool {
    message.role != Role::Tool && message.tool_calls.is_empty()
}
