//! Shows what happened: the newest events, or all after one, and those to come.
//! Called by `main`. Only looks.

use std::collections::VecDeque;

use agent_world_client::wire::{Event, Page};
use agent_world_client::{Client, Heard, Path, Scope};
use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::Value;

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::signals::Signals;
use crate::{phrases, place};

/// Events asked for at once.
const PAGE: usize = 1000;
/// After everything: what comes before it are the newest.
const BEYOND: u64 = u64::MAX;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world events tail
  agent-world events tail -w lab --follow
  agent-world events tail --after 0 --json > events.jsonl")]
pub enum Events {
    /// The newest events, or all after one
    Tail(Tail),
}

#[derive(Debug, Args)]
#[command(after_help = "\
What is shown is what the event streams of the HTTP interface tell. The numbers grow; their gaps mean nothing.

Examples:
  agent-world events tail
  agent-world events tail -w demo --follow
  agent-world events tail --after 0 --json > events.jsonl")]
pub struct Tail {
    /// Only of this world
    #[arg(short, long)]
    world: Option<String>,
    /// Only of this chat
    #[arg(short, long)]
    chat: Option<String>,
    /// All events after this one, instead of the newest
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// How many of the newest
    #[arg(short = 'n', long, default_value_t = 20)]
    lines: usize,
    /// Goes on as things happen, until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// One JSON object per line
    #[arg(long)]
    json: bool,
}

pub async fn run(to: Whereabouts, wanted: Events) -> Result<Exit> {
    let Events::Tail(wanted) = wanted;
    let connection = Connection::open(to, Purpose::Visit).await?;
    let done = tail(&connection.client, &wanted).await;
    connection.close().await;
    done
}

async fn tail(client: &Client, wanted: &Tail) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let scope = scope(client, wanted).await?;
    let mut screen = Screen::stdout();
    let known = match wanted.after {
        Some(after) => show_after(client, &scope, after, wanted.json, &mut screen).await?,
        None => show_newest(client, &scope, wanted, &mut screen).await?,
    };
    if !wanted.follow {
        return Ok(Exit::Done);
    }
    let mut following = client.follow(&scope, Some(known)).await?;
    loop {
        tokio::select! {
            biased;
            _ = signals.next() => return Ok(Exit::Done),
            heard = following.next() => match heard? {
                Heard::Event(event) => show(&mut screen, &event, wanted.json)?,
                Heard::Lost(why) => note(&format!("the connection is lost, trying again: {why}"))?,
                Heard::Back => note("the connection is back")?,
                Heard::Piece(_) | Heard::Output(_) => {}
            },
        }
    }
}

fn note(text: &str) -> Result<()> {
    Ok(Screen::stderr().line(Tone::Warning, text)?)
}

async fn scope(client: &Client, wanted: &Tail) -> Result<Scope> {
    let world = wanted.world.as_deref();
    Ok(match &wanted.chat {
        Some(chat) => {
            let (world, chat) = place::named_chat(client, world, chat).await?;
            Scope::Chat { world: world.id, chat: chat.id }
        }
        None => match world {
            Some(_) => Scope::World(place::known_world(client, world).await?.id),
            None => Scope::All,
        },
    })
}

/// Shows all there are after one and returns the last.
async fn show_after(
    client: &Client,
    scope: &Scope,
    after: u64,
    json: bool,
    screen: &mut Screen,
) -> Result<u64> {
    let mut reading = Reading::new(scope, after);
    while let Some(page) = reading.page(client).await? {
        for event in &page {
            show_json(screen, event, json)?;
        }
    }
    Ok(reading.known)
}

/// Shows the last events there are and returns the last.
async fn show_newest(
    client: &Client,
    scope: &Scope,
    wanted: &Tail,
    screen: &mut Screen,
) -> Result<u64> {
    let mut newest: VecDeque<Value> = VecDeque::new();
    let mut before = Some(BEYOND.to_string());
    // Also whoever wants none is told of what comes after the last.
    let lines = wanted.lines.max(1);
    while let (Some(from), true) = (&before, newest.len() < lines) {
        let limit = (lines - newest.len()).min(PAGE).to_string();
        let path = scope.path().with("before", from).with("limit", limit);
        let page: Page<Value> = client.get(path).await?;
        page.data.into_iter().rev().for_each(|event| newest.push_front(event));
        before = page.next;
    }
    for event in newest.iter().take(wanted.lines) {
        show_json(screen, event, wanted.json)?;
    }
    Ok(newest.back().and_then(seq).unwrap_or_default())
}

fn seq(event: &Value) -> Option<u64> {
    event.get("seq").and_then(Value::as_u64)
}

/// Reads pages of events and remembers where it is.
struct Reading {
    path: Path,
    known: u64,
    over: bool,
}

impl Reading {
    fn new(scope: &Scope, after: u64) -> Self {
        Self { path: scope.path().with("limit", PAGE.to_string()), known: after, over: false }
    }

    /// The next page; none after the last.
    async fn page(&mut self, client: &Client) -> Result<Option<Vec<Value>>> {
        if self.over {
            return Ok(None);
        }
        let path = self.path.clone().with("after", self.known.to_string());
        let page: Page<Value> = client.get(path).await?;
        let next = page.next.as_ref().and_then(|next| next.parse().ok());
        self.over = next.is_none();
        self.known = next.or(page.data.last().and_then(seq)).unwrap_or(self.known);
        Ok(Some(page.data))
    }
}

fn show_json(screen: &mut Screen, event: &Value, json: bool) -> Result<()> {
    match json {
        true => Ok(screen.json(event)?),
        false => show(screen, &Event::read(event.clone())?, json),
    }
}

fn show(screen: &mut Screen, event: &Event, json: bool) -> Result<()> {
    if json {
        return Ok(screen.json(&event.json)?);
    }
    let Event { seq, at, world_id, .. } = event;
    let place = match &event.chat_id {
        Some(chat) => format!("{world_id} {chat}"),
        None => world_id.clone(),
    };
    let kind = event.json.get("type").and_then(Value::as_str).unwrap_or_default();
    let line = format!("{seq} {at} {place} {kind} {}", phrases::event(event));
    Ok(screen.line(Tone::Plain, &line)?)
}
