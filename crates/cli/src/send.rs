//! Posts one message, waits until the agents are done and prints their replies.
//! Called by `main`. Replies go to stdout, everything else to stderr. Never approves anything it was not told to, and
//! decides only about calls that its own message led to: others may be talking in the same chat.

mod conclusion;
mod deciding;
mod descent;
mod errand;
mod leaving;

use std::io::{IsTerminal as _, Read as _};

use agent_world_server::Limits;
use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::place::{self, Which};
use crate::screen::{Screen, Tone};
use crate::signals::Signals;
use crate::work;
use errand::Errand;

#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is 3 when a request was denied because nobody was asked, or waits for somebody to decide; its id is told.
It is 1 when a model failed, or a call was interrupted. With --json a last line of type `outcome` says what waits.

A message goes to the latest chat of the world; --new begins another. What --approve lets run is recorded in the audit as
decided by it, not by a person who looked.

Examples:
  agent-world send \"@bob what time is it\"
  echo \"run ls\" | agent-world send --approve all -
  agent-world send --approve wait \"run rm old.txt\"; agent-world approvals list
  agent-world send --json --events \"hello\" > events.jsonl")]
pub struct Send {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    world: Option<String>,
    /// The chat to post to; otherwise the latest of the world
    #[arg(short, long)]
    chat: Option<String>,
    /// Posts to a new chat
    #[arg(long, conflicts_with = "chat")]
    new: bool,
    /// What happens to tool calls of this message that need approval
    #[arg(long, value_enum, default_value_t = Approve::None)]
    approve: Approve,
    /// One JSON object per line for each message, tool call and approval
    #[arg(long)]
    json: bool,
    /// With --json: every event of the chat, as the event streams tell it
    #[arg(long, requires = "json")]
    events: bool,
    /// The message; `-`, or nothing when input is piped, reads it from stdin
    message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Approve {
    /// Denied at once, because nobody can be asked
    None,
    /// Approved where the tool declares that it only reads, otherwise denied
    ReadOnly,
    /// Approved, each once
    All,
    /// Left waiting for somebody to decide later
    Wait,
}

/// How what happens is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Replies, for people.
    Text,
    /// Messages, calls and approvals, for programs.
    Objects,
    /// All events, for programs.
    Events,
}

pub async fn run(to: Whereabouts, wanted: Send) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let begun = tokio::select! {
        biased;
        _ = signals.next() => None,
        begun = begin(to, wanted) => Some(begun?),
    };
    let Some((mut errand, text)) = begun else {
        Screen::stderr().line(Tone::Plain, leaving::UNSENT)?;
        return Ok(Exit::Failed);
    };
    let exit = errand.run(text, &mut signals).await;
    tokio::select! {
        biased;
        () = errand.close() => {}
        // Whoever says it again does not want to wait for that, either.
        _ = signals.next() => {}
    }
    exit
}

/// All that comes before the message is posted.
async fn begin(to: Whereabouts, wanted: Send) -> Result<(Errand, String)> {
    let text = message(wanted.message).await?;
    let connection = Connection::open(to.clone(), Purpose::Work).await?;
    let which = Which::of(wanted.chat.as_ref(), wanted.new);
    let place = place::find(&connection, wanted.world.as_deref(), which).await?;
    if place.is_first_use {
        place::tell_of_first_use();
    }
    let form = match (wanted.json, wanted.events) {
        (false, _) => Form::Text,
        (true, false) => Form::Objects,
        (true, true) => Form::Events,
    };
    let errand = Errand::begin(to, connection, place, wanted.approve, form).await?;
    Ok((errand, text))
}

async fn message(given: Option<String>) -> Result<String> {
    let is_piped = || !std::io::stdin().is_terminal();
    let text = match given {
        Some(text) if text != "-" => text,
        // On a thread of its own: somebody may want to leave while nothing comes.
        Some(_) => tokio::task::spawn_blocking(read_input).await??,
        None if is_piped() => tokio::task::spawn_blocking(read_input).await??,
        None => String::new(),
    };
    if text.trim().is_empty() {
        let usage = "there is no message; write one, as in: agent-world send \"hello\"";
        return Err(Usage(usage.to_owned()).into());
    }
    Ok(text)
}

fn read_input() -> Result<String> {
    // Whatever comes without an end must not fill the memory.
    let longest = Limits::default().body_bytes as u64;
    let mut bytes = Vec::new();
    let mut input = std::io::stdin().lock().take(longest + 1);
    input.read_to_end(&mut bytes).context("the message cannot be read from stdin")?;
    if bytes.len() as u64 > longest {
        let text = format!(
            "the message on stdin is longer than a server takes ({} MiB); put it into a file in the \
             world's working directory and ask an agent to read that",
            longest >> 20
        );
        return Err(Usage(text).into());
    }
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// Waits for what this process does for others, if it is the one that works.
async fn finish(connection: &Connection, signals: &mut Signals) -> Result<()> {
    match connection.session() {
        Some(session) => work::finish(session, signals).await,
        None => Ok(()),
    }
}
