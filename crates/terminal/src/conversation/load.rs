//! Loads the end of a chat, and what was before it as far as somebody looks back.
//! Called when a chat is opened, after following it has begun: what happens meanwhile is heard as well.

use agent_world_client::wire::{Call, Chat, Event, Message, Page, World};
use agent_world_client::{Client, Path, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;

use super::{Conversation, Entry};

/// Requests for single calls at a time.
const AT_ONCE: usize = 8;
/// Pages of events that are looked through for what is no message.
const PAGES: usize = 8;

/// A part of a chat.
#[derive(Debug)]
pub struct Loaded {
    pub conversation: Conversation,
    /// The oldest message of it; none where the chat has none before.
    pub before: Option<String>,
}

/// The last messages of a chat with the calls among them.
///
/// # Errors
/// When nobody answers, or there is no such chat.
pub async fn load(client: &Client, world: World, chat: Chat, most: usize) -> Result<Loaded> {
    window(client, world, chat, "", most).await
}

/// As `load`, and with what is no message but belongs to the conversation: what the runtime said, and replies that broke off,
/// as far as they are told after an event.
///
/// # Errors
/// As `load`.
pub async fn load_with_notices(
    client: &Client,
    world: World,
    chat: Chat,
    most: usize,
    after: u64,
) -> Result<Loaded> {
    let path = Path::new("/api/worlds").then(&world.id).then("chats").then(&chat.id).then("events");
    let mut loaded = load(client, world, chat, most).await?;
    let mut after = Some(after);
    for _ in 0..PAGES {
        let Some(from) = after else {
            break;
        };
        let page = path.clone().with("types", "stream,system").with("after", from.to_string());
        let page: Page<Value> = match client.get(page.with("limit", "1000")).await {
            Ok(page) => page,
            Err(error) if error.may_pass() => return Err(error),
            // The conversation can be read without.
            Err(_) => break,
        };
        let next = page.next.as_deref().and_then(|next| next.parse().ok());
        after = next.filter(|next| *next > from);
        for event in page.data.into_iter().filter_map(|event| Event::read(event).ok()) {
            loaded.conversation.recall(&event);
        }
    }
    Ok(loaded)
}

/// What was before a message.
///
/// # Errors
/// As `load`.
pub async fn load_before(
    client: &Client,
    of: &Conversation,
    message: &str,
    most: usize,
) -> Result<Loaded> {
    window(client, of.world.clone(), of.chat.clone(), message, most).await
}

async fn window(
    client: &Client,
    world: World,
    chat: Chat,
    before: &str,
    most: usize,
) -> Result<Loaded> {
    let path = Path::new("/api/worlds").then(&world.id).then("chats").then(&chat.id);
    let messages = path.clone().then("messages").with("before", before);
    let page: Page<Message> = client.get(messages.with("limit", most.to_string())).await?;
    let more = page.data.len() >= most;
    let oldest = page.data.first().map(|message| message.id.clone()).filter(|_| more);
    let mut conversation = Conversation::new(world, chat);
    for message in &page.data {
        conversation.message(message);
    }
    let calls: Vec<String> = conversation.entries.iter().filter_map(call_of).collect();
    // Collected, so that the whole can be sent to another thread: the compiler cannot see that through the closure.
    let asked: Vec<_> = calls
        .iter()
        .map(|id| client.get::<Call>(path.clone().then("tool-calls").then(id)))
        .collect();
    // One that is not there any more is shown as its message tells of it.
    let found = stream::iter(asked).buffered(AT_ONCE).map(|call| match call {
        Err(error) if error.status() == Some(404) => Ok(None),
        call => call.map(Some),
    });
    let calls: Vec<Option<Call>> = found.try_collect().await?;
    for call in calls.iter().flatten() {
        conversation.call(call, "");
    }
    Ok(Loaded { conversation, before: oldest })
}

fn call_of(entry: &Entry) -> Option<String> {
    match entry {
        Entry::Call(block) => Some(block.id.clone()),
        _ => None,
    }
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;
