//! Finds the world and the chat a command is about.
//! Called by commands that are about one. Creates the demo world on first use and a chat where there is none; otherwise only
//! looks.

use agent_world_client::wire::{Agent, Chat, World};
use agent_world_client::{Client, Error, Path};
use anyhow::{Result, anyhow};
use serde_json::json;

use crate::connect::Connection;
use crate::demo_world;
use crate::exit::Usage;

#[derive(Clone, Debug)]
pub struct Place {
    pub world: World,
    pub chat: Chat,
    /// The demo world was made for this command.
    pub is_first_use: bool,
}

/// Which chat of a world is meant.
#[derive(Clone, Debug)]
pub enum Which {
    Latest,
    New,
    Named(String),
}

impl Which {
    pub fn of(named: Option<&String>, new: bool) -> Self {
        match (named, new) {
            (Some(id), _) => Which::Named(id.clone()),
            (None, true) => Which::New,
            (None, false) => Which::Latest,
        }
    }
}

pub async fn find(connection: &Connection, world: Option<&str>, which: Which) -> Result<Place> {
    let is_first_use = make_demo_world(connection, world).await?;
    let client = &connection.client;
    let (world, chat) = match (world, which) {
        (world, Which::Named(id)) => named_chat(client, world, &id).await?,
        (world, which) => {
            let world = known_world(client, world).await?;
            let latest = match which {
                Which::New | Which::Named(_) => None,
                Which::Latest => latest_chat(client, &world.id).await?,
            };
            let chat = match latest {
                Some(chat) => chat,
                None => new_chat(client, &world.id).await?,
            };
            (world, chat)
        }
    };
    Ok(Place { world, chat, is_first_use })
}

/// The world a command names, or the usual one.
pub async fn world(connection: &Connection, named: Option<&str>) -> Result<World> {
    if make_demo_world(connection, named).await? {
        tell_of_first_use();
    }
    known_world(&connection.client, named).await
}

pub fn tell_of_first_use() {
    eprintln!("created the world `demo` with the agents ada and bob on the built-in demo model");
}

/// Only where this process has the store open: a server has made its own.
async fn make_demo_world(connection: &Connection, world: Option<&str>) -> Result<bool> {
    match (connection.session(), world) {
        (Some(session), None | Some(demo_world::ID)) => demo_world::create_if_first(session).await,
        _ => Ok(false),
    }
}

/// A world by its id, or the usual one. Makes none.
pub async fn known_world(client: &Client, named: Option<&str>) -> Result<World> {
    let id = match named {
        Some(named) => named.to_owned(),
        None => usual_world(client).await?,
    };
    match client.get(path(&id)).await {
        Err(error) if error.status() == Some(404) => {
            Err(anyhow!("world {id} does not exist; `agent-world world list` shows those that do"))
        }
        world => Ok(world?),
    }
}

/// The demo world, or the only one there is.
async fn usual_world(client: &Client) -> Result<String> {
    let worlds: Vec<World> = client.all("/api/worlds").await?;
    let demo = worlds.iter().find(|world| world.id == demo_world::ID);
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

/// A chat by its id alone: in the world that is named, or in whichever has it.
pub async fn named_chat(client: &Client, world: Option<&str>, id: &str) -> Result<(World, Chat)> {
    let worlds: Vec<World> = match world {
        Some(world) => vec![known_world(client, Some(world)).await?],
        None => client.all("/api/worlds").await?,
    };
    for world in worlds {
        match client.get(path(&world.id).then("chats").then(id)).await {
            Ok(chat) => return Ok((world, chat)),
            Err(error) if error.status() == Some(404) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(match world {
        Some(world) => anyhow!(
            "world {world} has no chat {id}; `agent-world chat list -w {world}` shows those it has, \
             and without -w the chat is looked for in every world"
        ),
        None => {
            anyhow!("chat {id} does not exist; `agent-world chat list` shows the chats of a world")
        }
    })
}

async fn latest_chat(client: &Client, world: &str) -> Result<Option<Chat>, Error> {
    let chats: Vec<Chat> = client.all(path(world).then("chats").with("limit", "1000")).await?;
    // Moments are written so that they sort as text.
    Ok(chats.into_iter().max_by(|one, other| one.updated_at.cmp(&other.updated_at)))
}

pub async fn new_chat(client: &Client, world: &str) -> Result<Chat, Error> {
    client.post(path(world).then("chats"), &json!({})).await
}

/// An agent of a world, by its id.
pub fn known_agent<'a>(world: &'a World, name: &str) -> Result<&'a Agent> {
    let id = name.trim_start_matches('@').to_lowercase();
    world.agent(&id).ok_or_else(|| {
        let known: Vec<&str> = world.agents.iter().map(|agent| agent.id.as_str()).collect();
        let (world, known) = (&world.id, known.join(", "));
        anyhow!("world {world} has no agent `{name}`; its agents are: {known}")
    })
}

/// The address of a world.
pub fn path(world: &str) -> Path {
    Path::new("/api/worlds").then(world)
}
