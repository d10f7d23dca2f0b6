//! Checks that nobody changed what is stored: hash chains, and everything looked up against the log.
//! Called by `main`. Only reads; says what is broken and repairs nothing.

use std::collections::BTreeSet;

use agent_world_core::ids::{ChatId, WorldId};
use agent_world_store::verify::{compare_read_models, verify, verify_world};
use agent_world_store::{Scope, Store};
use anyhow::Result;
use serde_json::json;

use crate::args::Verify;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::setup::open_to_look;
use crate::{place, words};

const PAGE: usize = 1_000;

pub async fn run(data: DataFolder, wanted: Verify) -> Result<Exit> {
    let store = open_to_look(&data).await?;
    let world = wanted.world.map(WorldId::new);
    if let Some(id) = &world
        && store.world(id).await?.is_none()
    {
        return Err(place::no_world(id));
    }
    let everything = Everything::find(&store, world).await?;
    let mut broken = Vec::new();
    let mut events = 0;
    for world in &everything.worlds {
        match verify_world(&store, world).await {
            Ok(verified) => events += verified.events,
            Err(error) => broken.push(error.to_string()),
        }
    }
    for chat in &everything.chats {
        match verify(&store, chat).await {
            Ok(verified) => events += verified.events,
            Err(error) => {
                broken.push(error.to_string());
                continue;
            }
        }
        if let Err(error) = compare_read_models(&store, chat).await {
            broken.push(error.to_string());
        }
    }
    report(wanted.json, &everything, events, &broken)
}

/// What there is to check. Found in the log and beside it: either may lack what the other has.
#[derive(Debug, Default)]
struct Everything {
    worlds: BTreeSet<WorldId>,
    chats: BTreeSet<ChatId>,
}

impl Everything {
    async fn find(store: &dyn Store, only: Option<WorldId>) -> Result<Self> {
        let mut found = Self::default();
        let scope = only.clone().map_or(Scope::All, Scope::World);
        let mut cursor = 0;
        loop {
            let page = store.events(&scope, cursor, PAGE).await?;
            let Some(last) = page.last() else { break };
            cursor = last.position;
            for event in page {
                found.worlds.insert(event.world);
                found.chats.extend(event.chat);
            }
        }
        match only {
            Some(world) => found.worlds.extend([world]),
            None => found.worlds.extend(store.worlds().await?.into_iter().map(|world| world.id)),
        }
        for world in &found.worlds {
            let chats = place::all_chats(store, world).await?;
            found.chats.extend(chats.into_iter().map(|chat| chat.id));
        }
        Ok(found)
    }
}

fn report(json: bool, checked: &Everything, events: u64, broken: &[String]) -> Result<Exit> {
    let mut screen = Screen::stdout();
    if json {
        screen.json(&json!({
            "ok": broken.is_empty(),
            "worlds": checked.worlds.len(),
            "chats": checked.chats.len(),
            "events": events,
            "broken": broken,
        }))?;
    } else {
        let mut errors = Screen::stderr();
        for problem in broken {
            errors.line(Tone::Warning, &format!("broken: {problem}"))?;
        }
        let worlds = words::count(checked.worlds.len(), "world");
        let chats = words::count(checked.chats.len(), "chat");
        let text = match broken.len() {
            0 => format!("ok: {events} events of {worlds} and {chats} are as they were written"),
            number => format!(
                "{} in {worlds} and {chats}; restore the store from a copy made before",
                words::count(number, "problem")
            ),
        };
        screen.line(Tone::Plain, &text)?;
    }
    Ok(if broken.is_empty() { Exit::Done } else { Exit::Failed })
}
