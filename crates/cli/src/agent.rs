//! Lists, creates, shows, changes and deletes the agents of a world.
//! Called by `main`. They are part of the world's settings and have its version.

use std::path::PathBuf;

use agent_world_client::{Error, wire};
use anyhow::{Context as _, Result, anyhow};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::bounds::Switch;
use crate::changes::{self, Any, Meant, add};
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::world::{introduction, model};
use crate::{doubts, place, words};

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world agent list -w lab
  agent-world agent create critic -w lab --tools read_file,list_files
  agent-world agent update ada -w lab --model openai/gpt-5
  agent-world agent delete critic -w lab --yes")]
pub enum Agent {
    /// The agents of a world, in its order
    #[command(after_help = "\
Examples:
  agent-world agent list -w lab")]
    List {
        #[command(flatten)]
        of: Of,
        #[arg(long)]
        json: bool,
    },
    /// Everything about one agent
    #[command(after_help = "\
Examples:
  agent-world agent show ada -w lab")]
    Show {
        id: String,
        #[command(flatten)]
        of: Of,
        #[arg(long)]
        json: bool,
    },
    /// Adds an agent to a world
    Create(Create),
    /// Changes an agent
    Update(Update),
    /// Takes an agent out of a world. What it said stays
    #[command(after_help = "\
The main agent cannot go before another one is named.

Examples:
  agent-world world update lab --main-agent bob
  agent-world agent delete ada -w lab --yes")]
    Delete {
        id: String,
        #[command(flatten)]
        of: Of,
        /// Nothing is deleted without it
        #[arg(long)]
        yes: bool,
        #[arg(long)]
        json: bool,
    },
}

/// Where it lives.
#[derive(Debug, Default, Args)]
pub struct Of {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world agent create eve -w lab --model openai/gpt-5
  agent-world agent create critic --tools read_file --instructions-file c.md")]
pub struct Create {
    /// Lower-case letters, digits, - and _
    pub id: String,
    #[command(flatten)]
    pub of: Of,
    #[command(flatten)]
    pub fields: Fields,
    #[command(flatten)]
    pub any: Any,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world agent update ada -w lab --model openai/gpt-5 --temperature 0.2
  agent-world agent update ada -w lab --tools '*' --instructions 'Be brief.'
  agent-world agent update ada --unset temperature --auto-reply off
  agent-world agent update ada --name Ada --if-version 4")]
pub struct Update {
    pub id: String,
    #[command(flatten)]
    pub of: Of,
    #[command(flatten)]
    pub fields: Fields,
    #[command(flatten)]
    pub any: Any,
    #[command(flatten)]
    pub meant: Meant,
    #[arg(long)]
    pub json: bool,
}

/// What can be said about an agent, new or not.
#[derive(Debug, Default, Args)]
pub struct Fields {
    /// What people call it
    #[arg(long)]
    pub name: Option<String>,
    /// Its model; otherwise the world's
    #[arg(long, value_name = "VENDOR/MODEL", value_parser = model)]
    pub model: Option<String>,
    /// What it is told first
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "instructions")]
    pub instructions_file: Option<PathBuf>,
    /// The tools it is given, by name; `*` for all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tools: Option<Vec<String>>,
    #[arg(long, value_name = "NUMBER")]
    pub temperature: Option<f64>,
    #[arg(long, value_name = "N")]
    pub max_output_tokens: Option<u64>,
    /// How long it thinks, in the vendor's words, such as low or high
    #[arg(long, value_name = "EFFORT")]
    pub reasoning_effort: Option<String>,
    /// Whether an answer of its that mentions nobody goes back to the agent it answers
    #[arg(long, value_enum, value_name = "STATE")]
    pub auto_reply: Option<Switch>,
    /// Whether it may call several tools at once
    #[arg(long, value_enum, value_name = "STATE")]
    pub parallel_tool_calls: Option<Switch>,
    /// Whether its replies come piece by piece; otherwise as the world says
    #[arg(long, value_enum, value_name = "STATE")]
    pub streaming: Option<Switch>,
}

impl Fields {
    fn change(self) -> Result<Map<String, Value>> {
        let mut change = Map::new();
        let instructions = match self.instructions_file {
            None => self.instructions,
            Some(file) => {
                let text = std::fs::read_to_string(&file);
                Some(text.with_context(|| format!("{} cannot be read", file.display()))?)
            }
        };
        add(&mut change, "name", self.name);
        add(&mut change, "model", self.model);
        add(&mut change, "instructions", instructions);
        add(&mut change, "tools", self.tools);
        add(&mut change, "temperature", self.temperature);
        add(&mut change, "max_output_tokens", self.max_output_tokens);
        add(&mut change, "reasoning_effort", self.reasoning_effort);
        add(&mut change, "auto_reply", self.auto_reply.map(Switch::is_on));
        add(&mut change, "parallel_tool_calls", self.parallel_tool_calls.map(Switch::is_on));
        add(&mut change, "streaming", self.streaming.map(Switch::is_on));
        Ok(change)
    }
}

pub async fn run(to: Whereabouts, wanted: Agent) -> Result<Exit> {
    let connection = Connection::open(to.clone(), Purpose::Visit).await?;
    let done = match wanted {
        Agent::List { of, json } => list(&connection, &of, json).await,
        Agent::Show { id, of, json } => show(&connection, &of, &id, json).await,
        Agent::Create(wanted) => create(&connection, &to, wanted).await,
        Agent::Update(wanted) => update(&connection, &to, wanted).await,
        Agent::Delete { id, of, yes, json } => delete(&connection, &of, &id, yes, json).await,
    };
    connection.close().await;
    done.map(|()| Exit::Done)
}

async fn world_of(connection: &Connection, of: &Of) -> Result<wire::World> {
    place::world(connection, of.world.as_deref()).await
}

async fn list(connection: &Connection, of: &Of, json: bool) -> Result<()> {
    let world = world_of(connection, of).await?;
    let agents: Vec<Value> =
        connection.client.all(place::path(&world.id).then("agents").with("limit", "1000")).await?;
    let mut screen = Screen::stdout();
    for value in &agents {
        if json {
            screen.json(value)?;
            continue;
        }
        let agent: wire::Agent = serde_json::from_value(value.clone())?;
        let tools = tools_of(&agent);
        let model = model_of(&world, &agent);
        let main = if world.main_agent.as_ref() == Some(&agent.id) { ", main agent" } else { "" };
        let text = format!("{}  {} ({model}{main}); tools: {tools}", agent.id, agent.name);
        screen.line(Tone::Plain, &words::unbroken(&text))?;
    }
    if agents.is_empty() && !json {
        let id = &world.id;
        let text = format!(
            "world {id} has no agents, so nobody answers; `agent-world agent create ada -w {id}` gives it one"
        );
        screen.hint(Tone::Plain, &text)?;
    }
    Ok(())
}

fn model_of<'w>(world: &'w wire::World, agent: &'w wire::Agent) -> &'w str {
    agent.model.as_deref().or(world.default_model.as_deref()).unwrap_or("no model")
}

fn tools_of(agent: &wire::Agent) -> String {
    match agent.tools.as_slice() {
        [] => "none".to_owned(),
        [all] if all == "*" => "all".to_owned(),
        names => names.join(", "),
    }
}

async fn show(connection: &Connection, of: &Of, id: &str, json: bool) -> Result<()> {
    let world = world_of(connection, of).await?;
    let value = known(connection, &world, id).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&value)?);
    }
    let agent: wire::Agent = serde_json::from_value(value)?;
    screen.line(Tone::Name, &format!("{id}  {}", agent.name))?;
    let main = if world.main_agent.as_deref() == Some(id) { "yes" } else { "no" };
    screen.line(Tone::Plain, &format!("world       {}", world.id))?;
    screen.line(Tone::Plain, &format!("model       {}", model_of(&world, &agent)))?;
    screen.line(Tone::Plain, &format!("main agent  {main}"))?;
    screen.line(Tone::Plain, &format!("tools       {}", tools_of(&agent)))?;
    for (field, value) in agent.more.iter().filter(|(_, value)| !value.is_null()) {
        screen.line(Tone::Plain, &words::unbroken(&format!("{field}: {value}")))?;
    }
    screen.line(Tone::Quiet, "instructions:")?;
    for line in agent.instructions.lines() {
        screen.line(Tone::Plain, &format!("  {line}"))?;
    }
    Ok(())
}

/// An agent as the interface gives it.
async fn known(connection: &Connection, world: &wire::World, id: &str) -> Result<Value> {
    let path = place::path(&world.id).then("agents").then(id);
    connection.client.get(path).await.map_err(|error| unknown(world, id, error))
}

fn unknown(world: &wire::World, id: &str, error: Error) -> anyhow::Error {
    if error.status() != Some(404) {
        return error.into();
    }
    let known: Vec<&str> = world.agents.iter().map(|agent| agent.id.as_str()).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    anyhow!("world {} has no agent `{id}`; it has: {known}", world.id)
}

async fn create(connection: &Connection, to: &Whereabouts, wanted: Create) -> Result<()> {
    let Create { id, of, fields, any, json } = wanted;
    let world = world_of(connection, &of).await?;
    let mut agent = fields.change()?;
    any.add_to(&mut agent);
    let others = world.agents.iter().map(|agent| agent.id.as_str());
    let all: Vec<&str> = others.chain([id.as_str()]).collect();
    agent.entry("instructions").or_insert_with(|| introduction(&id, &all).into());
    agent.insert("id".to_owned(), Value::from(id.as_str()));
    let path = place::path(&world.id).then("agents");
    let made: Value = connection.client.post(path, &agent).await?;
    doubts::of_agent(to, &connection.client, &world.id, &agent).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&made)?);
    }
    let world = &world.id;
    let text =
        format!("world {world} has the agent {id} now; `agent-world chat -w {world}` opens it");
    screen.hint(Tone::Plain, &text)?;
    if all.len() > 1 {
        let text = format!(
            "the others know of it once their instructions name it; `agent-world agent update ID -w {world}` \
             changes them"
        );
        screen.hint(Tone::Quiet, &text)?;
    }
    Ok(())
}

async fn update(connection: &Connection, to: &Whereabouts, wanted: Update) -> Result<()> {
    let Update { id, of, fields, any, meant, json } = wanted;
    let mut change = fields.change()?;
    any.add_to(&mut change);
    if change.is_empty() {
        let text = "say what shall change: --model, --instructions, --tools and others, or --set FIELD=JSON; \
                    `agent-world agent update --help` shows them";
        return Err(Usage(text.to_owned()).into());
    }
    add(&mut change, "version", meant.if_version);
    let world = world_of(connection, &of).await?;
    let before = known(connection, &world, &id).await?;
    let path = place::path(&world.id).then("agents").then(&id);
    let after: Value = match connection.client.patch(path, &change).await {
        Ok(after) => after,
        Err(error) => return Err(changes::refused(&connection.client, &world.id, error).await),
    };
    doubts::of_agent(to, &connection.client, &world.id, &change).await?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&after)?);
    }
    let told = match before == after {
        true => format!("agent {id} is so already; nothing was changed"),
        false => format!("changed agent {id} of world {}", world.id),
    };
    screen.line(Tone::Plain, &told)?;
    changes::tell(&mut screen, &before, &after)
}

async fn delete(connection: &Connection, of: &Of, id: &str, yes: bool, json: bool) -> Result<()> {
    let world = world_of(connection, of).await?;
    known(connection, &world, id).await?;
    if !yes {
        let world = &world.id;
        let text = format!("this would take {id} out of world {world}; add --yes to do it");
        return Err(Usage(text).into());
    }
    let path = place::path(&world.id).then("agents").then(id);
    match connection.client.delete(path).await {
        Err(error) if error.code() == Some("agent_is_main") => {
            let world = &world.id;
            return Err(anyhow!(
                "{id} is the main agent of world {world}; name another first, with \
                 `agent-world world update {world} --main-agent ID` or `--unset main_agent`"
            ));
        }
        deleted => deleted?,
    }
    let mut screen = Screen::stdout();
    if json {
        let told = json!({ "type": "agent", "id": id, "world_id": world.id, "state": "deleted" });
        return Ok(screen.json(&told)?);
    }
    let text = format!("world {} no longer has the agent {id}", world.id);
    Ok(screen.line(Tone::Plain, &text)?)
}
