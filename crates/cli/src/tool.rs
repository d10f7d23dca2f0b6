//! Shows the tools a world's agents have, as the tools describe themselves.
//! Called by `main`. Runs none of them, but the world's MCP servers are started to hear what they offer. What a server
//! says about its tools is shown, not believed.

use agent_world_core::display::mask_text;
use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::table::Table;
use crate::{place, words};

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world tool list
  agent-world tool list -w lab --json
  agent-world tool show shell_cmd")]
pub enum Tool {
    /// All tools of a world. Its MCP servers are started to hear what they offer
    #[command(after_help = "\
Examples:
  agent-world tool list -w lab
  agent-world tool list --json")]
    List {
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Everything about one tool, with the schema of its arguments
    #[command(after_help = "\
Examples:
  agent-world tool show read_file
  agent-world tool show shell_cmd -w lab --json")]
    Show {
        name: String,
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
    // What cannot be done is known by its name all the same: whoever tries it is told what they want.
    #[command(hide = true)]
    Create(Tried),
    #[command(hide = true)]
    Update(Tried),
    #[command(hide = true)]
    Delete(Tried),
}

/// Whatever was written behind a word that nothing can be done with.
#[derive(Debug, Args)]
pub struct Tried {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _all: Vec<String>,
}

const NOT_CREATED: &str = "tools are not created here, they come with MCP servers: `agent-world mcp add NAME -- PROGRAM` \
                           adds one; clients bring tools of their own over HTTP";
const NOT_UPDATED: &str = "a tool is what its maker says; who gets it is changed with `agent-world agent update ID --tools \
                           NAMES`, and what it may do with `agent-world policy update`";
const NOT_DELETED: &str = "a tool cannot be deleted; `agent-world agent update ID --tools NAMES` leaves it out, \
                           `agent-world mcp remove NAME` takes out those of a server, and a `deny` rule in \
                           `agent-world policy update` forbids it";

/// A tool as the interface describes it, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Described {
    name: String,
    description: String,
    approval: Approval,
    schema: Value,
    source: String,
    source_name: Option<String>,
    mode: String,
    timeout_seconds: u64,
    read_only: bool,
    idempotent: bool,
    destructive: bool,
    offered_to: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Approval {
    required: bool,
    message: Option<String>,
}

pub async fn run(to: Whereabouts, wanted: Tool) -> Result<Exit> {
    if let Some(instead) = wanted.instead() {
        return Err(Usage(instead.to_owned()).into());
    }
    let connection = Connection::open(to, Purpose::VisitWithServers).await?;
    let done = match wanted {
        Tool::Create(_) | Tool::Update(_) | Tool::Delete(_) => Ok(()),
        Tool::List { world, json } => list(&connection, world.as_deref(), json).await,
        Tool::Show { name, world, json } => show(&connection, world.as_deref(), &name, json).await,
    };
    connection.close().await;
    done.map(|()| Exit::Done)
}

impl Tool {
    /// What to do where this cannot be done.
    fn instead(&self) -> Option<&'static str> {
        match self {
            Self::List { .. } | Self::Show { .. } => None,
            Self::Create(_) => Some(NOT_CREATED),
            Self::Update(_) => Some(NOT_UPDATED),
            Self::Delete(_) => Some(NOT_DELETED),
        }
    }
}

/// The tools of a world and its id. Says which MCP server gave none: a list must not pass for whole.
async fn tools_of(connection: &Connection, world: Option<&str>) -> Result<(String, Vec<Value>)> {
    let world = place::world(connection, world).await?;
    let path = place::path(&world.id).then("tools").with("limit", "1000");
    let tools: Vec<Value> = connection.client.all(path).await?;
    let servers = world.more.get("mcp_servers").and_then(Value::as_object);
    let on = |server: &Value| server.get("disabled") != Some(&Value::Bool(true));
    for (name, _) in servers.unwrap_or(&Map::new()).iter().filter(|(_, server)| on(server)) {
        let gives = |tool: &Value| tool.get("source_name").and_then(Value::as_str) == Some(name);
        if !tools.iter().any(gives) {
            let (id, name) = (&world.id, words::shortened(name));
            let text = format!(
                "the MCP server {name} gives no tools; `agent-world mcp list -w {id} --check` says why"
            );
            Screen::stderr().hint(Tone::Plain, &text)?;
        }
    }
    Ok((world.id, tools))
}

async fn list(connection: &Connection, world: Option<&str>, json: bool) -> Result<()> {
    let (world, tools) = tools_of(connection, world).await?;
    let mut screen = Screen::stdout();
    let number = words::count(tools.len(), "tool");
    let mut table = Table::new(["TOOL", "FROM", "ASKS", "EFFECT", "WHAT IT DOES"], 4);
    for value in tools {
        if json {
            screen.json(&value)?;
            continue;
        }
        let tool: Described = serde_json::from_value(value)?;
        let asks = if tool.approval.required { "ask" } else { "allow" };
        let (source, effect, does) = (tool.source(), tool.effect(), tool.first_line());
        table.row([tool.name, source, asks.to_owned(), effect.to_owned(), does]);
    }
    if !table.is_empty() {
        table.show(&mut screen)?;
    }
    if !json {
        let text = format!(
            "{number} in world {world}; ask is what a tool declares, `agent-world policy show -w {world}` what \
             is decided"
        );
        screen.hint(Tone::Quiet, &text)?;
    }
    Ok(())
}

async fn show(connection: &Connection, world: Option<&str>, name: &str, json: bool) -> Result<()> {
    let (world, tools) = tools_of(connection, world).await?;
    let is_it = |tool: &Value| tool.get("name").and_then(Value::as_str) == Some(name);
    let found = tools.into_iter().find(is_it);
    let value = found.ok_or_else(|| unknown(&world, name))?;
    let mut screen = Screen::stdout();
    if json {
        return Ok(screen.json(&value)?);
    }
    let tool: Described = serde_json::from_value(value)?;
    screen.line(Tone::Name, &format!("{name}  {}", tool.source()))?;
    for line in tool.description.lines() {
        screen.line(Tone::Plain, &format!("  {line}"))?;
    }
    let offered = match tool.offered_to.as_slice() {
        [] => "no agent".to_owned(),
        ids => ids.join(", "),
    };
    for (what, value) in [
        ("offered to", offered),
        ("approval", tool.asked_for()),
        ("effect", tool.effect().to_owned()),
        ("repeatable", tool.repeatable().to_owned()),
        ("the model", tool.waiting().to_owned()),
        ("time limit", format!("{} s", tool.timeout_seconds)),
    ] {
        screen.line(Tone::Plain, &format!("{what:<12}{value}"))?;
    }
    screen.line(Tone::Quiet, "arguments, as JSON Schema:")?;
    for line in format!("{:#}", tool.schema).lines() {
        screen.line(Tone::Plain, &format!("  {line}"))?;
    }
    Ok(())
}

/// Says that a world has no such tool, and what to do.
pub fn unknown(world: &str, name: &str) -> anyhow::Error {
    let name = words::shortened(name);
    anyhow!(
        "world {world} has no tool `{name}`; `agent-world tool list -w {world}` shows those it has"
    )
}

impl Described {
    fn source(&self) -> String {
        let name = || words::unbroken(self.source_name.as_deref().unwrap_or_default());
        match self.source.as_str() {
            "built_in" => "built in".to_owned(),
            "mcp_server" => format!("server {}", name()),
            other => format!("{other} {}", name()),
        }
    }

    fn asked_for(&self) -> String {
        match (self.approval.required, &self.approval.message) {
            (false, _) => "not asked for, unless a rule says so".to_owned(),
            (true, None) => "asked for, unless a rule says otherwise".to_owned(),
            (true, Some(message)) => {
                let message = words::excerpt(message);
                format!("asked for, unless a rule says otherwise: {message}")
            }
        }
    }

    fn effect(&self) -> &'static str {
        match (self.read_only, self.destructive) {
            (true, _) => "read-only",
            (false, true) => "destructive",
            (false, false) => "changes",
        }
    }

    fn repeatable(&self) -> &'static str {
        match self.read_only || self.idempotent {
            true => "yes, it may be started again after a crash",
            false => "no",
        }
    }

    fn waiting(&self) -> &'static str {
        match self.mode.as_str() {
            "background" => "goes on while it runs",
            "per_call" => "waits for its result, or goes on with `blocking: false`",
            _ => "waits for its result",
        }
    }

    fn first_line(&self) -> String {
        mask_text(self.description.lines().next().unwrap_or_default()).into_owned()
    }
}
