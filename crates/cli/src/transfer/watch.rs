//! Keeps a world in step with a folder that people edit, until somebody ends it.
//! Called by `import --watch`. A folder that cannot be taken over is told of and changes nothing: the world stays as the
//! last good state made it.

use std::path::Path;
use std::time::Duration;

use agent_world_runtime::transfer::Files;
use anyhow::{Result, anyhow};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};

use super::disk;
use super::import::{Changed, Import, changed, id_of, imported};
use crate::connect::Connection;
use crate::exit::Exit;
use crate::place;
use crate::screen::{Screen, Tone};
use crate::signals::Signals;
use crate::words;

/// How often the folder is looked at. It has a few small files.
const PAUSE: Duration = Duration::from_secs(1);

struct Watch<'a> {
    connection: &'a Connection,
    wanted: &'a Import,
    screen: Screen,
    /// What was read last, and whatever was wrong with it: neither is told twice.
    seen: Option<Files>,
    told: String,
}

pub async fn run(connection: &Connection, wanted: &Import) -> Result<Exit> {
    let mut signals = Signals::listen()?;
    let screen = Screen::stdout();
    let mut watch = Watch { connection, wanted, screen, seen: None, told: String::new() };
    let from = wanted.from.display();
    watch.say(Tone::Quiet, &format!("follows {from}; Ctrl-C ends it"))?;
    let mut ticks = interval(PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = signals.next() => return Ok(Exit::Done),
            _ = ticks.tick() => watch.look().await?,
        }
    }
}

impl Watch<'_> {
    /// Takes over what is different since the last time.
    async fn look(&mut self) -> Result<()> {
        let files = match disk::read_folder(&self.wanted.from) {
            Ok(files) => files,
            Err(error) => return self.complain(&error),
        };
        if self.seen.as_ref() == Some(&files) {
            return Ok(());
        }
        match self.take_over(&files).await {
            Ok(()) => self.told.clear(),
            // Tried again at every look: what is wrong may be elsewhere, such as a server that is just starting.
            Err(error) => return self.complain(&error),
        }
        self.seen = Some(files);
        Ok(())
    }

    async fn take_over(&mut self, files: &Files) -> Result<()> {
        let id = id_of(self.wanted, files)?;
        let there = self.connection.client.get::<Value>(place::path(&id)).await;
        if there.is_err_and(|error| error.status() == Some(404)) {
            let bytes = serde_json::to_vec(&json!({ "files": files }))?;
            let value = imported(self.connection, self.wanted, bytes).await?;
            return match self.wanted.json {
                true => Ok(self.screen.json(&value)?),
                false => self.say(Tone::Plain, &format!("imported world {id}")),
            };
        }
        if !self.wanted.trust {
            let value = changed(self.connection, self.wanted, files, true).await?;
            refuse_programs(&self.wanted.from, &serde_json::from_value(value)?)?;
        }
        let value = changed(self.connection, self.wanted, files, false).await?;
        let Changed { id, changes, .. } = serde_json::from_value(value.clone())?;
        if self.wanted.json {
            return if changes.is_empty() { Ok(()) } else { Ok(self.screen.json(&value)?) };
        }
        for change in &changes {
            self.say(Tone::Plain, &format!("{id}: {}", words::unbroken(change)))?;
        }
        match (changes.is_empty(), &self.seen) {
            (true, None) => self.say(Tone::Quiet, &format!("world {id} is so already")),
            _ => Ok(()),
        }
    }

    /// Once for each thing that is wrong.
    fn complain(&mut self, error: &anyhow::Error) -> Result<()> {
        let text = format!("{error:#}");
        if text != self.told {
            let line = format!("not taken over: {text}; the world stays as it is");
            Screen::stderr().line(Tone::Warning, &line)?;
            self.told = text;
        }
        Ok(())
    }

    fn say(&mut self, tone: Tone, text: &str) -> Result<()> {
        if self.wanted.json {
            return Ok(());
        }
        Ok(self.screen.line(tone, text)?)
    }
}

/// What may change without anybody looking at it: who is there and what they are told, not what they may do.
const HARMLESS: [&str; 9] = [
    "name",
    "description",
    "turn_limit",
    "max_iterations",
    "main_agent",
    "title_model",
    "variables",
    "agent",
    "agents",
];

/// Nobody looks at what comes with a pull: what lets agents do more, and programs that start, take somebody who said so.
fn refuse_programs(from: &Path, changed: &Changed) -> Result<()> {
    let is_harmless = |line: &str| {
        let field = line.split(['.', ':', ' ']).next().unwrap_or_default();
        HARMLESS.contains(&field) || line.starts_with("mcp_servers.") && line.ends_with(": removed")
    };
    match changed.changes.iter().find(|line| !is_harmless(line)) {
        None => Ok(()),
        Some(line) => Err(anyhow!(
            "the folder changes what agents may do or what is run for them ({line}); look at it, then take it over with \
             `agent-world import {} --update`, with --trust if its MCP servers shall start, or follow the folder with \
             --trust",
            from.display()
        )),
    }
}
