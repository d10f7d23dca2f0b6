//! Lists, adds, imports, checks and removes the MCP servers of a world.
//! Called by `main`. Changes settings only; the process that works starts and ends servers. Keys that stand in a server's
//! description are put away and never shown.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use agent_world_core::config::{McpServer, McpTransport, World};
use agent_world_tools::Source as _;
use agent_world_tools::mcp::{self, ServerHealth, State};
use anyhow::{Context as _, Result, anyhow};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::data::DataFolder;
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::setup::{self, Session, who};
use crate::{place, secrets, wire, words};

/// No description of servers is longer.
const LONGEST: u64 = 1 << 20;

#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// The servers of a world
    List {
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        /// Starts each server and says whether it works and how many tools it has
        #[arg(long)]
        check: bool,
        #[arg(long)]
        json: bool,
    },
    /// One server, in place of any of the same name
    Add(Add),
    /// All servers of a file with `mcpServers`, as other programs write it
    Import {
        /// The file; `-` reads from stdin
        file: PathBuf,
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Takes a server out of a world
    Remove {
        name: String,
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world mcp add time -- uvx mcp-server-time
  agent-world mcp add files --env DEBUG=1 -- npx -y @modelcontextprotocol/server-filesystem .
  agent-world mcp add wiki --url https://mcp.example.com/mcp --header 'Authorization: Bearer ${WIKI_TOKEN}'

${NAME} is read from the environment when the server is started.")]
pub struct Add {
    pub name: String,
    #[arg(short, long)]
    pub world: Option<String>,
    /// Where a server over HTTP is
    #[arg(long, conflicts_with = "command")]
    pub url: Option<String>,
    /// Sent with every request to a server over HTTP; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "url", value_parser = header)]
    pub headers: Vec<(String, String)>,
    /// A variable that the server gets besides the harmless ones; may be given several times
    #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Believes what the server says about its tools: those that only read need no approval
    #[arg(long)]
    pub trusted: bool,
    /// How long one call may take
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    #[arg(long)]
    pub json: bool,
    /// The program and its parameters, after `--`
    #[arg(last = true, required_unless_present = "url")]
    pub command: Vec<String>,
}

pub async fn run(data: DataFolder, wanted: Mcp) -> Result<Exit> {
    let session = Session::visit(data).await?;
    let done = carry_out(&session, wanted).await;
    session.engine.shutdown().await;
    done
}

async fn carry_out(session: &Session, wanted: Mcp) -> Result<Exit> {
    match wanted {
        Mcp::List { world, check, json } => {
            list(session, &find(session, world).await?, check, json).await
        }
        Mcp::Add(wanted) => {
            let world = find(session, wanted.world.clone()).await?;
            let json = wanted.json;
            let (name, server) = added(wanted)?;
            change(session, world, vec![(name, server)], json).await
        }
        Mcp::Import { file, world, json } => {
            let world = find(session, world).await?;
            let servers = mcp::import(&text(&file)?).map_err(|problem| anyhow!("{problem}"))?;
            change(session, world, servers.into_iter().collect(), json).await
        }
        Mcp::Remove { name, world, json } => {
            let world = find(session, world).await?;
            remove(session, world, &name, json).await
        }
    }
}

async fn find(session: &Session, wanted: Option<String>) -> Result<World> {
    Ok(World::clone(&*place::world(session, wanted.as_deref()).await?))
}

async fn list(session: &Session, world: &World, check: bool, json: bool) -> Result<Exit> {
    let health = if check { ask(session, world).await? } else { Vec::new() };
    let failed = health.iter().any(|one| matches!(one.state, State::Failed { .. }));
    let mut screen = Screen::stdout();
    for (name, server) in &world.mcp_servers {
        let health = health.iter().find(|one| one.name == *name);
        if json {
            let mut value = wire::mcp_server(name, server);
            if let (Some(fields), Some(health)) = (value.as_object_mut(), health) {
                fields.insert("health".to_owned(), json!(health));
            }
            screen.json(&value)?;
        } else {
            screen.line(Tone::Plain, &words::unbroken(&line(name, server)))?;
            if let Some(health) = health {
                tell(&mut screen, health)?;
            }
        }
    }
    if world.mcp_servers.is_empty() && !json {
        let text = format!(
            "world {} has no MCP servers; `agent-world mcp add NAME -- COMMAND` or \
             `agent-world mcp import FILE` gives it some",
            world.id
        );
        screen.line(Tone::Plain, &text)?;
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Starts a world's servers for a moment.
async fn ask(session: &Session, world: &World) -> Result<Vec<ServerHealth>> {
    let servers = Arc::new(setup::mcp_servers(&session.data)?);
    servers.tools(world);
    servers.ready(world).await;
    let health = servers.health(&world.id);
    servers.close().await;
    Ok(health)
}

fn tell(screen: &mut Screen, health: &ServerHealth) -> Result<()> {
    match &health.state {
        State::Ready(ready) => {
            let text = format!(
                "    {} {}, protocol {}, {}",
                ready.server_name,
                ready.server_version,
                ready.protocol_version,
                words::count(ready.tools, "tool")
            );
            screen.line(Tone::Quiet, &words::unbroken(&text))?;
        }
        State::Failed { error, .. } => screen.line(Tone::Warning, &format!("    {error}"))?,
        State::Starting => screen.line(Tone::Warning, "    is still starting")?,
        State::Stopped => screen.line(Tone::Quiet, "    switched off")?,
    }
    if let Some(address) = &health.authorize_at {
        let text = format!("    waits for a login at {}", words::unbroken(address));
        screen.line(Tone::Warning, &text)?;
    }
    for note in &health.notes {
        screen.line(Tone::Quiet, &format!("    {}", words::unbroken(note)))?;
    }
    Ok(())
}

fn added(wanted: Add) -> Result<(String, McpServer)> {
    let mut command = wanted.command.into_iter();
    let transport = match (wanted.url, command.next()) {
        (Some(url), _) => McpTransport::Http { url, headers: wanted.headers.into_iter().collect() },
        (None, Some(program)) => McpTransport::Stdio {
            command: program,
            args: command.collect(),
            env: wanted.env.into_iter().collect(),
            cwd: None,
        },
        (None, None) => return Err(Usage("name a --url, or a command after --".to_owned()).into()),
    };
    let server = McpServer {
        trusted: wanted.trusted,
        timeout_seconds: wanted.timeout,
        ..McpServer::new(transport)
    };
    Ok((wanted.name, server))
}

async fn change(
    session: &Session,
    mut world: World,
    servers: Vec<(String, McpServer)>,
    json: bool,
) -> Result<Exit> {
    let mut screen = Screen::stdout();
    let mut told = Vec::new();
    let (data, before) = (session.data.path(), world.mcp_servers.clone());
    for (name, mut server) in servers {
        // What was put away for one server is no other's, also not for a file that guesses its name.
        if serde_json::to_string(&server)?.contains(secrets::REFERENCE) {
            return Err(anyhow!(
                "server `{name}` names a variable that begins with {}, which are kept for keys that were put away; \
                 write the key itself, and it is put away",
                secrets::REFERENCE
            ));
        }
        let away = secrets::put_away(data, world.id.as_str(), &name, &mut server)?;
        told.push((name.clone(), server.clone(), away));
        world.mcp_servers.insert(name, server);
    }
    let id = world.id.clone();
    let updated = session.engine.update_world(world, &who()).await;
    for (name, server, _) in &told {
        // Of what is not in force nothing is kept: the new keys where the change was refused, else those it replaced.
        let gone = match (&updated, before.get(name)) {
            (Ok(_), replaced) => replaced.map(secrets::named).unwrap_or_default(),
            (Err(_), _) => secrets::named(server),
        };
        secrets::forget(data, id.as_str(), name, &gone)?;
    }
    updated?;
    for (name, server, away) in told {
        if json {
            screen.json(&wire::mcp_server(&name, &server))?;
            continue;
        }
        screen
            .line(Tone::Plain, &words::unbroken(&format!("{id} has {}", line(&name, &server))))?;
        if !away.is_empty() {
            let text = format!("    put away in the data folder: {}", away.join(", "));
            screen.line(Tone::Quiet, &words::unbroken(&text))?;
        }
    }
    if !json {
        let text = "`agent-world mcp list --check` says whether they work";
        screen.line(Tone::Quiet, text)?;
    }
    Ok(Exit::Done)
}

async fn remove(session: &Session, mut world: World, name: &str, json: bool) -> Result<Exit> {
    let Some(server) = world.mcp_servers.remove(name) else {
        let known: Vec<&str> = world.mcp_servers.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(anyhow!("world {} has no MCP server `{name}`; it has: {known}", world.id));
    };
    let id = world.id.clone();
    session.engine.update_world(world, &who()).await?;
    secrets::forget(session.data.path(), id.as_str(), name, &secrets::named(&server))?;
    let mut screen = Screen::stdout();
    if json {
        screen.json(&wire::mcp_server(name, &server))?;
    } else {
        screen.line(Tone::Plain, &words::unbroken(&format!("{id} no longer has {name}")))?;
    }
    Ok(Exit::Done)
}

/// A server on one line, without the values that it is given.
fn line(name: &str, server: &McpServer) -> String {
    let target = match &server.transport {
        McpTransport::Stdio { command, args, .. } => {
            [std::slice::from_ref(command), args.as_slice()].concat().join(" ")
        }
        McpTransport::Http { url, .. } => url.clone(),
    };
    let target = agent_world_core::display::mask_text(&target).into_owned();
    let trusted = if server.trusted { ", trusted" } else { "" };
    let disabled = if server.disabled { ", switched off" } else { "" };
    format!("{name}: {target}{trusted}{disabled}")
}

fn text(file: &PathBuf) -> Result<String> {
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().take(LONGEST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text))
    };
    read.with_context(|| format!("{} cannot be read", file.display()))?;
    if text.len() as u64 > LONGEST {
        return Err(anyhow!("{} is too long to be a list of servers", file.display()));
    }
    Ok(text)
}

fn header(written: &str) -> Result<(String, String), String> {
    let (name, value) = written.split_once(':').ok_or("write NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn variable(written: &str) -> Result<(String, String), String> {
    let (name, value) = written.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
