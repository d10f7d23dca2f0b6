//! Shows what is in the log: the newest events, or all after a position, and those to come.
//! Called by `main`. Only looks.

use std::collections::VecDeque;
use std::time::Duration;

use agent_world_core::ids::{ChatId, WorldId};
use agent_world_store::{Scope, Store, StoredEvent};
use anyhow::Result;

use crate::args::Tail;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::setup::open_to_look;
use crate::signals::Signals;
use crate::{place, wire, words};

const PAGE: usize = 500;
/// How soon new events are shown.
const LOOK: Duration = Duration::from_millis(200);

pub async fn tail(data: DataFolder, wanted: Tail) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let store = open_to_look(&data).await?;
    let scope = scope(&store, &wanted).await?;
    let mut screen = Screen::stdout();
    let mut cursor = match wanted.after {
        Some(position) => position,
        None => show_newest(&store, &scope, &wanted, &mut screen).await?,
    };
    loop {
        let page = store.events(&scope, cursor, PAGE).await?;
        for event in &page {
            show(&mut screen, event, wanted.json)?;
            cursor = event.position;
        }
        if !page.is_empty() {
            continue;
        }
        if !wanted.follow {
            return Ok(Exit::Done);
        }
        tokio::select! {
            _ = signals.next() => return Ok(Exit::Done),
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

async fn scope(store: &dyn Store, wanted: &Tail) -> Result<Scope> {
    let world = wanted.world.as_deref().map(WorldId::new);
    if let Some(id) = &world
        && store.world(id).await?.is_none()
    {
        return Err(place::no_world(id));
    }
    let Some(chat) = wanted.chat.as_deref().map(ChatId::new) else {
        return Ok(world.map_or(Scope::All, Scope::World));
    };
    match store.chat(&chat).await? {
        Some(view) if world.as_ref().is_none_or(|world| *world == view.world) => {
            Ok(Scope::Chat(chat))
        }
        _ => Err(place::no_chat(&chat)),
    }
}

/// Shows the last events there are and returns the position of the last.
async fn show_newest(
    store: &dyn Store,
    scope: &Scope,
    wanted: &Tail,
    screen: &mut Screen,
) -> Result<u64> {
    let mut newest: VecDeque<StoredEvent> = VecDeque::new();
    let mut cursor = 0;
    loop {
        let page = store.events(scope, cursor, PAGE).await?;
        let Some(last) = page.last() else { break };
        cursor = last.position;
        newest.extend(page);
        let surplus = newest.len().saturating_sub(wanted.lines);
        newest.drain(..surplus);
    }
    for event in &newest {
        show(screen, event, wanted.json)?;
    }
    Ok(cursor)
}

fn show(screen: &mut Screen, stored: &StoredEvent, json: bool) -> Result<()> {
    if json {
        return Ok(screen.json(&wire::event(stored))?);
    }
    let StoredEvent { position, world, chat, sealed, .. } = stored;
    let place = match chat {
        Some(chat) => format!("{world} {chat} {}", sealed.seq),
        None => format!("{world} {}", sealed.seq),
    };
    // Changes of a world's settings are not events of a chat, and a broken one is still shown.
    let text = match (chat, sealed.open()) {
        (Some(_), Ok(recorded)) => words::event(&recorded.event),
        _ => words::excerpt(&sealed.payload),
    };
    let line = format!("{position} {} {place} {} {text}", sealed.at, sealed.kind);
    Ok(screen.line(Tone::Plain, &line)?)
}
