//! Lists, creates, shows, changes and deletes worlds.
//! Called by `main`. Leaves what follows for running chats to the process that works.

mod create;
mod show;
mod update;

use agent_world_client::wire;
use agent_world_core::config::{Sandbox, SandboxMode};
use agent_world_core::policy::Policy;
use agent_world_tools::sandbox::Support;
use anyhow::{Context as _, Result};
use clap::{Args, Subcommand, ValueEnum};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::bounds::{Bounds, Switch};
use crate::changes::add;
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::table::Table;
use crate::{place, templates, words};

pub use create::{Create, created, introduction};
pub use show::show_grants;
pub use update::Update;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world world list
  agent-world world create lab --agent ada --agent bob:openai/gpt-5
  agent-world world create repo --template coder --directory .
  agent-world world update lab --network off
  agent-world world delete lab --yes")]
pub enum World {
    /// All worlds
    #[command(after_help = "\
Examples:
  agent-world world list
  agent-world world list --json")]
    List {
        #[arg(long)]
        json: bool,
    },
    /// A new world with its first chat
    Create(Create),
    /// The templates that `world create --template` knows
    #[command(after_help = "\
Examples:
  agent-world world templates
  agent-world world create office --template pair")]
    Templates {
        #[arg(long)]
        json: bool,
    },
    /// A world's settings, agents and chats
    #[command(after_help = "\
Examples:
  agent-world world show demo
  agent-world world show demo --json")]
    Show {
        id: String,
        #[arg(long)]
        json: bool,
    },
    /// Changes a world's settings
    Update(Update),
    /// Removes a world with all its chats
    #[command(after_help = "\
The audit stays, and so does the folder its tools worked in.

Examples:
  agent-world world delete lab --yes")]
    Delete {
        id: String,
        /// Nothing is deleted without it
        #[arg(long)]
        yes: bool,
        #[arg(long)]
        json: bool,
    },
}

/// What can be said about a world, new or not.
#[derive(Debug, Default, Args)]
pub struct Fields {
    /// What people call it
    #[arg(long)]
    pub name: Option<String>,
    /// What it is for
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// Where tools work
    #[arg(long, value_name = "DIR")]
    pub directory: Option<std::path::PathBuf>,
    /// The model of agents that name none
    #[arg(long, value_name = "VENDOR/MODEL", value_parser = model)]
    pub model: Option<String>,
    /// The model that names chats; otherwise the same
    #[arg(long, value_name = "VENDOR/MODEL", value_parser = model)]
    pub title_model: Option<String>,
    /// Who alone gets messages that address nobody; otherwise all agents do
    #[arg(long, value_name = "AGENT")]
    pub main_agent: Option<String>,
    /// Turns that agents take among themselves before a person is waited for
    #[arg(long, value_name = "N")]
    pub turn_limit: Option<u32>,
    /// Model calls of one turn
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<u32>,
    /// What an agent does when a person denies a call
    #[arg(long, value_enum, value_name = "WHAT")]
    pub after_denial: Option<AfterDenial>,
    /// How long a request waits before it expires
    #[arg(long, value_name = "SECONDS")]
    pub approval_timeout: Option<u64>,
    /// A variable that instructions may name as {{ NAME }}; may be given several times
    #[arg(long = "variable", value_name = "NAME=VALUE", value_parser = variable)]
    pub variables: Vec<(String, String)>,
    /// Whether replies come piece by piece
    #[arg(long, value_enum, value_name = "STATE")]
    pub streaming: Option<Switch>,
    #[command(flatten)]
    pub bounds: Bounds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AfterDenial {
    /// It is told, and goes on
    Reply,
    /// It waits for the next message
    Wait,
}

impl Fields {
    /// As the interface takes them.
    fn change(self) -> Result<Map<String, Value>> {
        let mut change = Map::new();
        add(&mut change, "name", self.name);
        add(&mut change, "description", self.description);
        if let Some(directory) = self.directory {
            let path = std::path::absolute(&directory)
                .with_context(|| format!("{} is no folder", directory.display()))?;
            add(&mut change, "working_directory", Some(path.display().to_string()));
        }
        add(&mut change, "default_model", self.model);
        add(&mut change, "title_model", self.title_model);
        add(&mut change, "main_agent", self.main_agent);
        add(&mut change, "turn_limit", self.turn_limit);
        add(&mut change, "max_iterations", self.max_iterations);
        let after_denial = self.after_denial.map(|what| match what {
            AfterDenial::Reply => "reply",
            AfterDenial::Wait => "wait",
        });
        add(&mut change, "after_denial", after_denial);
        add(&mut change, "approval_timeout_seconds", self.approval_timeout);
        add(&mut change, "streaming", self.streaming.map(Switch::is_on));
        if !self.variables.is_empty() {
            let variables = self.variables.into_iter();
            let variables: Map<String, Value> =
                variables.map(|(name, value)| (name, Value::from(value))).collect();
            add(&mut change, "variables", Some(variables));
        }
        self.bounds.add_to(&mut change);
        Ok(change)
    }
}

/// A model as everything here names one.
pub fn model(written: &str) -> Result<String, String> {
    let (vendor, name) = written.split_once('/').unwrap_or_default();
    if vendor.is_empty() || name.is_empty() || written.contains(char::is_whitespace) {
        return Err(format!("`{written}` is not a model; write vendor/model, as in openai/gpt-5"));
    }
    Ok(written.to_owned())
}

fn variable(written: &str) -> Result<(String, String), String> {
    let (name, value) = written.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

pub async fn run(to: Whereabouts, wanted: World) -> Result<Exit> {
    if let World::Templates { json } = wanted {
        return templates::list(json).map(|()| Exit::Done);
    }
    let connection = Connection::open(to.clone(), Purpose::Visit).await?;
    let done = match wanted {
        World::List { json } => list(&connection, json).await,
        World::Create(wanted) => create::run(&connection, &to, wanted).await,
        World::Show { id, json } => show::run(&connection, &id, json).await,
        World::Update(wanted) => update::run(&connection, &to, wanted).await,
        World::Delete { id, yes, json } => delete(&connection, &id, yes, json).await,
        World::Templates { .. } => Ok(()),
    };
    connection.close().await;
    done.map(|()| Exit::Done)
}

async fn list(connection: &Connection, json: bool) -> Result<()> {
    let mut screen = Screen::stdout();
    let mut worlds = connection.client.pages::<Value>("/api/worlds");
    let mut table = Table::new(["WORLD", "NAME", "CHATS", "AGENTS"], 3);
    while let Some(value) = worlds.next().await? {
        if json {
            screen.json(&value)?;
            continue;
        }
        let world: wire::World = serde_json::from_value(value)?;
        let chats = chats(connection, &world.id).await?.len().to_string();
        let agents: Vec<&str> = world.agents.iter().map(|agent| agent.id.as_str()).collect();
        // A name that says what the id says is not said again.
        let name = Some(world.name).filter(|name| !name.eq_ignore_ascii_case(&world.id));
        table.row([world.id, name.unwrap_or_default(), chats, agents.join(", ")]);
    }
    if json {
        return Ok(());
    }
    if table.is_empty() {
        let text = "there is no world yet; `agent-world chat` makes a demo world, \
                    `agent-world world create ID --agent ada` one of your own";
        return Ok(screen.hint(Tone::Plain, text)?);
    }
    Ok(table.show(&mut screen)?)
}

async fn chats(connection: &Connection, world: &str) -> Result<Vec<wire::Chat>> {
    let path = place::path(world).then("chats").with("limit", "1000");
    Ok(connection.client.all(path).await?)
}

async fn delete(connection: &Connection, id: &str, yes: bool, json: bool) -> Result<()> {
    place::known_world(&connection.client, Some(id)).await?;
    if !yes {
        let chats = words::count(chats(connection, id).await?.len(), "chat");
        let text =
            format!("this would delete world {id} with {chats} for ever; add --yes to do it");
        return Err(Usage(text).into());
    }
    connection.client.delete(place::path(id)).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&json!({ "type": "world", "id": id, "state": "deleted" }))?);
    }
    let text = format!("deleted world {id}; its folder was left as it is");
    Ok(screen.line(Tone::Plain, &text)?)
}

/// A part of a world's settings, as `core` knows it.
pub fn part<T: DeserializeOwned>(world: &Value, name: &str) -> Result<T> {
    let part = world.get(name).cloned().unwrap_or_default();
    serde_json::from_value(part).with_context(|| {
        format!("`{name}` of the world cannot be read; is the server of this version?")
    })
}

fn show_bounds(screen: &mut Screen, world: &Value) -> Result<()> {
    if let Some(directory) = world.get("working_directory").and_then(Value::as_str) {
        screen.line(Tone::Plain, &format!("tools work in {directory}"))?;
    }
    let sandbox: Sandbox = part(world, "sandbox")?;
    screen.line(Tone::Plain, &words::sandbox(&sandbox))?;
    let policy: Policy = part(world, "policy")?;
    let rules = match policy.rules.len() {
        0 => "no rules".to_owned(),
        number => words::count(number, "rule"),
    };
    Ok(screen.line(Tone::Plain, &format!("policy: preset {}, {rules}", policy.preset))?)
}

/// Says when programs of this world will not run on this system, where that is where they run.
fn warn_of_weak_sandbox(to: &Whereabouts, world: &Value, screen: &mut Screen) -> Result<()> {
    let sandbox: Sandbox = part(world, "sandbox")?;
    let weak = || sandbox.mode == SandboxMode::Required && !Support::detect().is_whole();
    if to.server.is_none() && weak() {
        let text = "this system cannot confine programs as required, so none will run; `agent-world doctor` says why";
        screen.hint(Tone::Warning, text)?;
    }
    Ok(())
}
