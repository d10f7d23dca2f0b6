//! Takes in what was exported: a whole world, the settings of one, or MCP servers as other programs write them.
//! Called by `main`. Never starts anything: what a world brings along is told.

use std::path::{Path, PathBuf};

use agent_world_client::{Error, wire};
use agent_world_runtime::transfer::{Files, MissingSecret};
use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{disk, tell_missing, watch};
use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::{mcp, place, words};

#[derive(Debug, Args)]
#[command(after_help = "\
An import moves or restores a world and never makes a copy: chats keep their ids. Every log is verified before anything
is written. Whatever was under way in the chats is stopped, so nothing starts to run. The world brings its permissions
and its MCP servers along: import only what you trust.

A file with `mcpServers`, as other programs write it, gives its servers to a world, as `agent-world mcp import` does.

Examples:
  agent-world import lab.json
  agent-world import worlds/lab --update --dry-run
  agent-world import worlds/lab --watch
  agent-world import .mcp.json -w lab")]
pub struct Import {
    /// What `export` wrote: a file, `-` for stdin, or a folder; or a file of MCP servers
    #[arg(value_name = "FILE|DIR")]
    pub from: PathBuf,
    /// Another id for the world; only where no chats come with it
    #[arg(long = "as", value_name = "ID")]
    pub name: Option<String>,
    /// The world that gets the MCP servers of a file; otherwise `demo`, or the only one there is
    #[arg(short, long, conflicts_with = "name")]
    pub world: Option<String>,
    /// Lets the MCP servers of the file start, as it says; otherwise those that are new or changed come switched off: they
    /// are programs
    #[arg(long)]
    pub trust: bool,
    /// Changes the settings of a world that exists, from a folder; permissions given with always are kept
    #[arg(long)]
    pub update: bool,
    /// With --update: only shows what would change
    #[arg(long, requires = "update")]
    pub dry_run: bool,
    /// Keeps a world in step with a folder, such as one in git, until Ctrl-C; makes the world if there is none. Changes of
    /// what agents may do, and MCP servers, need --trust
    #[arg(long, conflicts_with = "dry_run")]
    pub watch: bool,
    #[arg(long)]
    pub json: bool,
}

/// What came in, as far as it is shown.
#[derive(Debug, Deserialize)]
struct Imported {
    id: String,
    chats: usize,
    granted_rules: usize,
    stopped: Vec<String>,
    missing_secrets: Vec<MissingSecret>,
    mcp_servers: Vec<String>,
}

/// What the files of a folder changed.
#[derive(Debug, Deserialize)]
pub struct Changed {
    pub id: String,
    pub changes: Vec<String>,
    /// Servers that do not start, although the files let them.
    #[serde(default)]
    pub switched_off: Vec<String>,
}

pub async fn run(to: Whereabouts, wanted: Import) -> Result<Exit> {
    let is_folder = wanted.from.is_dir();
    if !is_folder && (wanted.update || wanted.watch) {
        let flag = if wanted.watch { "--watch" } else { "--update" };
        let text =
            format!("{flag} takes a folder; a file is a whole world and comes in as a new one");
        return Err(Usage(text).into());
    }
    // However long a document is, the store takes it; a server has a limit.
    let connection = match is_folder || to.server.is_some() {
        true => Connection::open(to.clone(), Purpose::Visit).await?,
        false => Connection::on_store(to.data.clone(), Purpose::Visit).await?,
    };
    let done = match (is_folder, wanted.watch) {
        (true, true) => watch::run(&connection, &wanted).await,
        (true, false) => folder(&connection, &to, &wanted).await,
        (false, _) => file(&connection, &to, &wanted).await,
    };
    connection.close().await;
    done
}

async fn file(connection: &Connection, to: &Whereabouts, wanted: &Import) -> Result<Exit> {
    let bytes = disk::read_file(&wanted.from)?;
    if is_of_servers(&bytes) {
        let world = place::world(connection, wanted.world.as_deref()).await?;
        let text = String::from_utf8_lossy(&bytes);
        return mcp::import(connection, &world.id, &text, wanted.json).await;
    }
    take_in(connection, to, wanted, bytes).await
}

/// Whether a file holds MCP servers as other programs write them, and no world.
fn is_of_servers(bytes: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Probe {
        format: Option<serde::de::IgnoredAny>,
        #[serde(rename = "mcpServers", alias = "servers")]
        servers: Option<serde::de::IgnoredAny>,
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let probe = serde_json::from_slice::<Probe>(bytes);
    probe.is_ok_and(|probe| probe.format.is_none() && probe.servers.is_some())
}

async fn folder(connection: &Connection, to: &Whereabouts, wanted: &Import) -> Result<Exit> {
    let files = disk::read_folder(&wanted.from)?;
    if wanted.update {
        return update(connection, wanted, &files).await;
    }
    let bytes = serde_json::to_vec(&json!({ "files": files }))?;
    take_in(connection, to, wanted, bytes).await
}

async fn take_in(
    connection: &Connection,
    to: &Whereabouts,
    wanted: &Import,
    bytes: Vec<u8>,
) -> Result<Exit> {
    let value = imported(connection, wanted, bytes).await?;
    if wanted.json {
        Screen::stdout().json(&value)?;
        return Ok(Exit::Done);
    }
    let imported: Imported = serde_json::from_value(value)?;
    let world = connection.client.get(place::path(&imported.id)).await?;
    tell(to, &imported, &world)?;
    Ok(Exit::Done)
}

/// Has a world taken in.
pub async fn imported(connection: &Connection, wanted: &Import, bytes: Vec<u8>) -> Result<Value> {
    let path = place::path("import").maybe("as", wanted.name.as_deref());
    let path = path.maybe("trust", wanted.trust.then_some("true"));
    let answer = connection.client.raw(Method::POST, path, bytes).await;
    let answer = answer.map_err(|error| refused(&wanted.from, error))?;
    serde_json::from_slice(&answer).context("what became of the import cannot be read")
}

/// Why something was not taken in, and where it stands.
pub fn refused(from: &Path, error: Error) -> anyhow::Error {
    match (error.code(), error.status()) {
        (Some("world_exists"), _) => {
            let told = error.to_string();
            let fact = told.split(';').next().unwrap_or_default();
            let way_out = match from.is_dir() {
                true => {
                    "change its settings with --update, or bring it in under another id with --as ID"
                }
                // Chats keep their ids, so another id for the world does not help where there are some.
                false => {
                    "delete that one first, or give a file without chats another id with --as ID; \
                     --update changes settings from a folder"
                }
            };
            anyhow!("{fact}; {way_out}")
        }
        (_, Some(400 | 422)) => anyhow!("{} cannot be imported: {error}", from.display()),
        _ => error.into(),
    }
}

/// Puts the settings of a folder in place of those in force.
async fn update(connection: &Connection, wanted: &Import, files: &Files) -> Result<Exit> {
    let id = id_of(wanted, files)?;
    place::known_world(&connection.client, Some(&id)).await?;
    let value = changed(connection, wanted, files, wanted.dry_run).await?;
    let mut screen = Screen::stdout();
    if wanted.json {
        screen.json(&value)?;
        return Ok(Exit::Done);
    }
    let Changed { id, changes, switched_off } = serde_json::from_value(value)?;
    for change in &changes {
        screen.line(Tone::Plain, &format!("  {}", words::unbroken(change)))?;
    }
    let number = words::count(changes.len(), "change");
    let text = match (changes.is_empty(), wanted.dry_run) {
        (true, _) => format!("world {id} is so already; nothing was changed"),
        (false, true) => {
            format!("{number} would be made to world {id}; leave out --dry-run to do it")
        }
        (false, false) => format!("changed world {id}: {number}"),
    };
    screen.line(Tone::Plain, &text)?;
    tell_switched_off(&mut screen, &id, &switched_off)?;
    Ok(Exit::Done)
}

/// Has a world's settings replaced by what files say, or only told what would change.
pub async fn changed(
    connection: &Connection,
    wanted: &Import,
    files: &Files,
    dry: bool,
) -> Result<Value> {
    let path = place::path(&id_of(wanted, files)?).then("folder");
    let path = path.maybe("dry_run", dry.then_some("true"));
    let path = path.maybe("trust", wanted.trust.then_some("true"));
    let answer = connection.client.put(path, &json!({ "files": files })).await;
    answer.map_err(|error| refused(&wanted.from, error))
}

/// The world a folder is about. Whatever else is wrong with it is told by whoever reads all of it.
pub fn id_of(wanted: &Import, files: &Files) -> Result<String> {
    #[derive(Deserialize)]
    struct Named {
        id: String,
    }
    if let Some(name) = &wanted.name {
        return Ok(name.clone());
    }
    let from = wanted.from.display();
    let text = files.get("world.toml");
    let text = text.ok_or_else(|| {
        anyhow!("{from} has no world.toml; name a folder that `agent-world export --folder` wrote")
    })?;
    let named: Named = toml::from_str(text)
        .map_err(|error| anyhow!("{from}/world.toml cannot be read: {}", error.message()))?;
    Ok(named.id)
}

fn tell(to: &Whereabouts, imported: &Imported, world: &wire::World) -> Result<()> {
    let mut screen = Screen::stdout();
    let id = &imported.id;
    let text = match imported.chats {
        0 => format!("imported world {id}: settings only, no chats came along"),
        number => format!("imported world {id} with {}", words::count(number, "chat")),
    };
    screen.line(Tone::Plain, &text)?;
    for chat in &imported.stopped {
        screen.line(Tone::Plain, &format!("what was under way in chat {chat} was stopped"))?;
    }
    if imported.granted_rules > 0 {
        let rules = words::count(imported.granted_rules, "permission");
        let text = format!(
            "{rules} given with always came along; `agent-world policy show -w {}` lists them",
            imported.id
        );
        screen.hint(Tone::Plain, &text)?;
    }
    tell_servers(&mut screen, imported, world)?;
    tell_missing(&mut screen, &imported.missing_secrets)?;
    match &world.working_directory {
        // Whether it is there can be seen only on the machine itself.
        Some(folder) if to.server.is_none() && !Path::new(folder).is_dir() => {
            let text = format!(
                "its tools work in {folder}, which is not there; make it, or name another with \
                 `agent-world world update {} --directory DIR`",
                imported.id
            );
            Ok(screen.hint(Tone::Warning, &words::unbroken(&text))?)
        }
        _ => Ok(()),
    }
}

fn tell_servers(screen: &mut Screen, imported: &Imported, world: &wire::World) -> Result<()> {
    if !imported.mcp_servers.is_empty() {
        let servers = imported.mcp_servers.join(", ");
        let text = format!("MCP servers that start when the world is used: {servers}");
        screen.line(Tone::Warning, &words::unbroken(&text))?;
    }
    let servers = world.more.get("mcp_servers").and_then(Value::as_object).into_iter().flatten();
    let is_off = |server: &Value| server.get("disabled") == Some(&Value::Bool(true));
    let off: Vec<String> =
        servers.filter(|(_, server)| is_off(server)).map(|(name, _)| name.clone()).collect();
    tell_switched_off(screen, &imported.id, &off)
}

/// Which programs nobody let start, and how that is done.
fn tell_switched_off(screen: &mut Screen, world: &str, off: &[String]) -> Result<()> {
    if off.is_empty() {
        return Ok(());
    }
    let text = format!(
        "MCP servers that are switched off: {}; they are programs, look at them with `agent-world mcp list -w {world}` \
         and let one start with `agent-world mcp enable NAME -w {world}`; --trust lets them start as the file says",
        off.join(", ")
    );
    Ok(screen.hint(Tone::Warning, &words::unbroken(&text))?)
}
