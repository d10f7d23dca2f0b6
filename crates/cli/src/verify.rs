//! Checks that nobody changed what is stored: hash chains, and everything looked up against the log.
//! Called by `main`. Only reads; says what is broken and repairs nothing.

use agent_world_client::Client;
use anyhow::Result;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::Exit;
use crate::progress::Progress;
use crate::screen::{Screen, Tone};
use crate::{place, words};

#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is 1 when something is not as it was written. With a server it is the server that looks; that needs the role
admin.

Examples:
  agent-world verify
  agent-world verify -w demo --json")]
pub struct Verify {
    /// Only this world
    #[arg(short, long)]
    world: Option<String>,
    #[arg(long)]
    json: bool,
}

/// What was found, as a server tells it.
#[derive(Debug, Deserialize)]
struct Report {
    ok: bool,
    worlds: usize,
    chats: usize,
    events: u64,
    broken: Vec<String>,
}

pub async fn run(to: Whereabouts, wanted: Verify) -> Result<Exit> {
    let connection = Connection::open(to, Purpose::Visit).await?;
    let done = verify(&connection.client, &wanted).await;
    connection.close().await;
    done
}

async fn verify(client: &Client, wanted: &Verify) -> Result<Exit> {
    if let Some(world) = &wanted.world {
        place::known_world(client, Some(world)).await?;
    }
    let progress = Progress::start("looking through the log");
    let report: Value = client.post("/api/verify", &json!({ "world": wanted.world })).await?;
    progress.end();
    let mut screen = Screen::stdout();
    let found = Report::deserialize(&report)?;
    match wanted.json {
        true => screen.json(&report)?,
        false => tell(&mut screen, &found)?,
    }
    Ok(if found.ok { Exit::Done } else { Exit::Failed })
}

fn tell(screen: &mut Screen, found: &Report) -> Result<()> {
    let mut errors = Screen::stderr();
    for problem in &found.broken {
        errors.line(Tone::Warning, &format!("broken: {problem}"))?;
    }
    let worlds = words::count(found.worlds, "world");
    let chats = words::count(found.chats, "chat");
    let events = found.events;
    let text = match found.broken.len() {
        0 => format!("ok: {events} events of {worlds} and {chats} are as they were written"),
        number => format!(
            "{} in {worlds} and {chats}; restore the store from a copy made before",
            words::count(number, "problem")
        ),
    };
    Ok(screen.line(Tone::Plain, &text)?)
}
