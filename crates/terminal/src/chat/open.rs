//! Opens a chat: begins to follow it, then reads what is there, so that nothing falls in between.
//! Called by `run` at the start and by `perform` when the person goes to another chat.

use agent_world_client::wire::{Approval, Chat, Me, World};
use agent_world_client::{Client, Following, Path, Result, Scope};

use crate::conversation::{Conversation, load};

/// Messages that are read; most may be calls and results, which are not shown.
const READ: usize = 60;

#[derive(Debug)]
pub struct Opened {
    pub conversation: Conversation,
    /// Who the person is here, where the server says it.
    pub me: Option<Me>,
    pub approvals: Vec<Approval>,
    /// What waits in other chats.
    pub elsewhere: usize,
    pub following: Option<Following>,
}

pub async fn open(client: &Client, world: World, chat: Chat) -> Result<Opened> {
    let scope = Scope::Chat { world: world.id.clone(), chat: chat.id.clone() };
    let following = client.follow(&scope, None).await?;
    let path = Path::new("/api/worlds").then(&world.id).then("chats").then(&chat.id);
    let (world_id, chat_id) = (world.id.clone(), chat.id.clone());
    let chat: Chat = client.get(path).await?;
    let loaded = load(client, world, chat, READ).await?;
    let pending = Path::new("/api/approvals").with("state", "pending");
    let waiting: Vec<Approval> = client.all(pending).await?;
    let is_here = |one: &Approval| one.world_id == world_id && one.chat_id == chat_id;
    let (approvals, others): (Vec<_>, Vec<_>) = waiting.into_iter().partition(is_here);
    Ok(Opened {
        conversation: loaded.conversation,
        me: client.get("/api/me").await.ok(),
        approvals,
        elsewhere: others.len(),
        following: Some(following),
    })
}
