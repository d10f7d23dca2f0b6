//! Shows the tools a world's agents have, as the tools describe themselves.
//! Called by `main`. Runs none of them, but starts the world's MCP servers to hear what they offer. What a server says about its tools is shown, not believed.

use std::sync::Arc;

use agent_world_core::config::{Agent, Modes, Source, ToolSpec, Tools, World};
use agent_world_core::display::mask_text;
use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::args;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::screen::{Screen, Tone};
use crate::setup::Session;
use crate::{place, wire, words};

/// Characters of a tool's name in the list; one of a server may be longer, and is not cut: it is there to be typed.
const NAME: usize = 20;
const SOURCE: usize = 14;
/// Characters of a tool's description in the list, so that a line stays one on most terminals.
const DESCRIPTION: usize = 42;

pub async fn run(data: DataFolder, wanted: args::Tool) -> Result<Exit> {
    let session = Session::visit_with_servers(data).await?;
    let done = match wanted {
        args::Tool::List { world, json } => list(&session, world.as_deref(), json).await,
        args::Tool::Show { name, world, json } => {
            show(&session, world.as_deref(), &name, json).await
        }
    };
    session.engine.shutdown().await;
    done.map(|()| Exit::Done)
}

async fn tools_of(session: &Session, world: Option<&str>) -> Result<(Arc<World>, Arc<Tools>)> {
    let world = place::world(session, world).await?;
    let tools = all_of(session, &world).await;
    Ok((world, tools))
}

/// The tools a world has, those of its MCP servers included. Says which server gave none: a list must not pass for whole.
pub async fn all_of(session: &Session, world: &World) -> Arc<Tools> {
    // Asked for once, the servers are started.
    session.engine.tools_of(world);
    session.engine.tools_ready(world).await;
    let tools = session.engine.tools_of(world);
    for (name, _) in world.mcp_servers.iter().filter(|(_, server)| !server.disabled) {
        let gives =
            |spec: &Arc<ToolSpec>| matches!(&spec.source, Source::McpServer(from) if from == name);
        if !tools.iter().any(gives) {
            let (id, name) = (&world.id, words::shortened(name));
            eprintln!(
                "the MCP server {name} gives no tools; `agent-world mcp list -w {id} --check` says why"
            );
        }
    }
    tools
}

async fn list(session: &Session, world: Option<&str>, json: bool) -> Result<()> {
    let (world, tools) = tools_of(session, world).await?;
    let mut screen = Screen::stdout();
    for spec in tools.iter() {
        if json {
            screen.json(&wire::tool(spec))?;
            continue;
        }
        let name = &spec.name;
        let source = words::cut(&source(&spec.source), SOURCE - 1);
        let (asks, does) = (asks(spec), effect(spec));
        let line =
            format!("{name:<NAME$} {source:<SOURCE$} {asks:<5}  {does:<11}  {}", first_line(spec));
        screen.line(Tone::Plain, &line)?;
    }
    if !json {
        let number = words::count(tools.iter().count(), "tool");
        let text = format!(
            "{number} in world {}; ask is what a tool declares, `agent-world policy show` what is decided",
            world.id
        );
        screen.line(Tone::Quiet, &text)?;
    }
    Ok(())
}

async fn show(session: &Session, world: Option<&str>, name: &str, json: bool) -> Result<()> {
    let (world, tools) = tools_of(session, world).await?;
    let spec = known(&world, &tools, name)?;
    let offered: Vec<&Agent> = world.agents.iter().filter(|agent| agent.may_see(name)).collect();
    let mut screen = Screen::stdout();
    if json {
        let mut value = wire::tool(&spec);
        if let Some(fields) = value.as_object_mut() {
            let ids: Vec<Value> = offered.iter().map(|agent| json!(agent.id)).collect();
            fields.insert("parameters".to_owned(), spec.parameters.clone());
            fields.insert("offered_to".to_owned(), Value::Array(ids));
        }
        return Ok(screen.json(&value)?);
    }
    screen.line(Tone::Name, &format!("{name}  {}", source(&spec.source)))?;
    for line in spec.description.lines() {
        screen.line(Tone::Plain, &format!("  {line}"))?;
    }
    let names: Vec<&str> = offered.iter().map(|agent| agent.id.as_str()).collect();
    let names = if names.is_empty() { "no agent".to_owned() } else { names.join(", ") };
    for (what, value) in [
        ("offered to", names),
        ("approval", approval(&spec)),
        ("effect", effect(&spec).to_owned()),
        ("repeatable", yes_or_no(spec.may_repeat()).to_owned()),
        ("the model", waiting(&spec).to_owned()),
        ("time limit", format!("{} s", spec.timeout_seconds)),
    ] {
        screen.line(Tone::Plain, &format!("{what:<12}{value}"))?;
    }
    screen.line(Tone::Quiet, "arguments, as JSON Schema:")?;
    Ok(screen.line(Tone::Plain, &format!("{:#}", spec.parameters))?)
}

/// A tool of a world, by its name.
pub fn known(world: &World, tools: &Tools, name: &str) -> Result<Arc<ToolSpec>> {
    tools.get(name).cloned().ok_or_else(|| {
        let (id, name) = (&world.id, words::shortened(name));
        anyhow!(
            "world {id} has no tool `{name}`; `agent-world tool list -w {id}` shows those it has"
        )
    })
}

fn source(source: &Source) -> String {
    match source {
        Source::Program => "built in".to_owned(),
        Source::McpServer(name) => format!("server {}", words::unbroken(name)),
        Source::Client(name) => format!("client {}", words::unbroken(name)),
    }
}

fn asks(spec: &ToolSpec) -> &'static str {
    if spec.approval.required { "ask" } else { "allow" }
}

fn approval(spec: &ToolSpec) -> String {
    match (&spec.approval.required, &spec.approval.message) {
        (false, _) => "not asked for, unless a rule says so".to_owned(),
        (true, None) => "asked for, unless a rule says otherwise".to_owned(),
        (true, Some(message)) => {
            let message = words::excerpt(message);
            format!("asked for, unless a rule says otherwise: {message}")
        }
    }
}

fn effect(spec: &ToolSpec) -> &'static str {
    match (spec.read_only, spec.destructive) {
        (true, _) => "read-only",
        (false, true) => "destructive",
        (false, false) => "changes",
    }
}

fn waiting(spec: &ToolSpec) -> &'static str {
    match spec.mode {
        Modes::Blocking => "waits for its result",
        Modes::Background => "goes on while it runs",
        Modes::PerCall => "waits for its result, or goes on with `blocking: false`",
    }
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes, it may be started again after a crash" } else { "no" }
}

fn first_line(spec: &ToolSpec) -> String {
    let line = mask_text(spec.description.lines().next().unwrap_or_default());
    words::cut(&line, DESCRIPTION)
}
