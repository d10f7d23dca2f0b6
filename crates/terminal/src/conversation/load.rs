//! Loads the end of a chat, and what was before it as far as somebody looks back.
//! Called when a chat is opened, after following it has begun: what happens meanwhile is heard as well.

use agent_world_client::wire::{Call, Chat, Message, Page, World};
use agent_world_client::{Client, Path, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{Conversation, Entry};

/// Requests for single calls at a time.
const AT_ONCE: usize = 8;

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
    let calls: Vec<Call> = stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
    for call in &calls {
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
