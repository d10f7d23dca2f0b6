//! Finds the world and the chat a command is about.
//! Called by commands that are about one. Creates the demo world on first use and a chat where there is none; otherwise only
//! looks.

use std::sync::Arc;

use agent_world_core::config::World;
use agent_world_core::ids::{AgentId, ChatId, WorldId};
use agent_world_core::view::ChatView;
use agent_world_runtime::Error;
use agent_world_store::Store;
use anyhow::{Result, anyhow};

use crate::demo_world;
use crate::exit::Usage;
use crate::setup::{Session, who};

const PAGE: usize = 500;

#[derive(Clone, Debug)]
pub struct Place {
    pub world: Arc<World>,
    pub chat: ChatView,
    /// The demo world was made for this command.
    pub is_first_use: bool,
}

/// Which chat of a world is meant.
#[derive(Clone, Debug)]
pub enum Which {
    Latest,
    New,
    Named(ChatId),
}

impl Which {
    pub fn of(named: Option<&String>, new: bool) -> Self {
        match (named, new) {
            (Some(id), _) => Which::Named(ChatId::new(id.as_str())),
            (None, true) => Which::New,
            (None, false) => Which::Latest,
        }
    }
}

pub async fn find(session: &Session, world: Option<&str>, which: Which) -> Result<Place> {
    let is_first_use = match world {
        None | Some(demo_world::ID) => demo_world::create_if_first(session).await?,
        Some(_) => false,
    };
    let chat = match &which {
        Which::Named(id) => Some(named_chat(session, world, id).await?),
        Which::Latest | Which::New => None,
    };
    let id = match (&chat, world) {
        (Some(chat), _) => chat.world.clone(),
        (None, Some(world)) => WorldId::new(world),
        (None, None) => usual_world(session.store()).await?,
    };
    let world = known_world(session, &id).await?;
    let chat = match (chat, which) {
        (Some(chat), _) => chat,
        (None, Which::New) => session.engine.create_chat(&id, None, &who()).await?,
        (None, _) => match latest_chat(session.store(), &id).await? {
            Some(chat) => chat,
            None => session.engine.create_chat(&id, None, &who()).await?,
        },
    };
    Ok(Place { world, chat, is_first_use })
}

/// The world a command names, or the usual one.
pub async fn world(session: &Session, named: Option<&str>) -> Result<Arc<World>> {
    if matches!(named, None | Some(demo_world::ID)) && demo_world::create_if_first(session).await? {
        tell_of_first_use();
    }
    let id = match named {
        Some(named) => WorldId::new(named),
        None => usual_world(session.store()).await?,
    };
    known_world(session, &id).await
}

pub fn tell_of_first_use() {
    eprintln!("created the world `demo` with the agents ada and bob on the built-in demo model");
}

pub async fn known_world(session: &Session, id: &WorldId) -> Result<Arc<World>> {
    match session.engine.world(id).await {
        Err(Error::UnknownWorld(_)) => Err(no_world(id)),
        world => Ok(world?),
    }
}

pub fn no_world(id: &WorldId) -> anyhow::Error {
    anyhow!("world {id} does not exist; `agent-world world list` shows those that do")
}

pub fn no_chat(id: &ChatId) -> anyhow::Error {
    anyhow!("chat {id} does not exist; `agent-world world show WORLD` lists the chats of a world")
}

async fn named_chat(session: &Session, world: Option<&str>, id: &ChatId) -> Result<ChatView> {
    let chat = match session.engine.chat(id).await {
        Err(Error::UnknownChat(_)) => return Err(no_chat(id)),
        chat => chat?,
    };
    match world {
        Some(world) if world != chat.world.as_str() => Err(anyhow!(
            "chat {id} belongs to world {}, not to {world}; leave out -w or name that one",
            chat.world
        )),
        _ => Ok(chat),
    }
}

/// The demo world, or the only one there is.
async fn usual_world(store: &dyn Store) -> Result<WorldId> {
    let worlds = store.worlds().await?;
    let demo = worlds.iter().find(|world| world.id.as_str() == demo_world::ID);
    match (demo, worlds.as_slice()) {
        (Some(world), _) => Ok(world.id.clone()),
        (None, [only]) => Ok(only.id.clone()),
        (None, []) => Err(anyhow!(
            "there is no world; make one with `agent-world world create NAME --agent ada`"
        )),
        (None, several) => {
            let names: Vec<&str> = several.iter().map(|world| world.id.as_str()).collect();
            let names = names.join(", ");
            Err(Usage(format!("there are several worlds; name one with -w: {names}")).into())
        }
    }
}

async fn latest_chat(store: &dyn Store, world: &WorldId) -> Result<Option<ChatView>> {
    let chats = all_chats(store, world).await?;
    Ok(chats.into_iter().max_by_key(|chat| chat.updated_at))
}

/// A world's chats, oldest first.
pub async fn all_chats(store: &dyn Store, world: &WorldId) -> Result<Vec<ChatView>> {
    let mut chats: Vec<ChatView> = Vec::new();
    loop {
        let after = chats.last().map(|chat| chat.id.clone());
        let page = store.chats(world, after.as_ref(), PAGE).await?;
        if page.is_empty() {
            return Ok(chats);
        }
        chats.extend(page);
    }
}

/// An agent of a world, by its id.
pub fn known_agent(world: &World, name: &str) -> Result<AgentId> {
    let id = AgentId::new(name.trim_start_matches('@').to_lowercase());
    if world.agent(&id).is_some() {
        return Ok(id);
    }
    let known: Vec<&str> = world.agents.iter().map(|agent| agent.id.as_str()).collect();
    let (world, known) = (&world.id, known.join(", "));
    Err(anyhow!("world {world} has no agent `{name}`; its agents are: {known}"))
}
