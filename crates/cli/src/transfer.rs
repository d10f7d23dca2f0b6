//! `export` and `import`: a world as a file with everything in it, or its settings as a folder for people to edit.
//! Called by `main`. What a document means and whether it is true is decided in the runtime; here files are read and written.

mod disk;

use std::path::Path;

use agent_world_core::Timestamp;
use agent_world_core::config::World;
use agent_world_core::ids::{WorldId, is_slug};
use agent_world_runtime::Error;
use agent_world_runtime::transfer::{
    Document, ImportError, Imported, Literals, MissingSecret, differences, keep_literals,
    leave_out, read_folder, replace_literals, switch_servers_off, write_folder,
};
use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use futures::TryStreamExt as _;
use serde_json::json;

use crate::data::DataFolder;
use crate::exit::{Exit, Usage};
use crate::screen::{Screen, Tone};
use crate::setup::{Session, who};
use crate::{place, words};

#[derive(Debug, Args)]
#[command(after_help = "\
The file has everything: settings, chats, permissions, and keys that stand in the settings as they are; only its owner
can read it. A folder has the settings only, for git: world.toml, policy.toml and agents/ID.md, with the names of
variables in place of keys.

Examples:
  agent-world export lab --out lab.json
  agent-world export lab --folder --out worlds/lab")]
pub struct Export {
    pub world: String,
    /// The file, otherwise stdout; with --folder the folder, otherwise one of the world's name
    #[arg(long, value_name = "FILE|DIR")]
    pub out: Option<std::path::PathBuf>,
    /// Writes the settings as files for people to edit
    #[arg(long)]
    pub folder: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
An import moves or restores a world and never makes a copy: chats keep their ids. Every log is verified before anything
is written. Whatever was under way in the chats is stopped, so nothing starts to run. The world brings its permissions
and its MCP servers along: import only what you trust.

Examples:
  agent-world import lab.json
  agent-world import worlds/lab --update --dry-run")]
pub struct Import {
    /// What `export` wrote: a file, `-` for stdin, or a folder
    #[arg(value_name = "FILE|DIR")]
    pub from: std::path::PathBuf,
    /// Another id for the world; only where no chats come with it
    #[arg(long = "as", value_name = "ID")]
    pub name: Option<String>,
    /// Lets the world's MCP servers start, as the file says; otherwise they come switched off: they are programs
    #[arg(long, conflicts_with = "update")]
    pub trust: bool,
    /// Changes the settings of a world that exists, from a folder; permissions given with always are kept
    #[arg(long)]
    pub update: bool,
    /// With --update: only shows what would change
    #[arg(long, requires = "update")]
    pub dry_run: bool,
    #[arg(long)]
    pub json: bool,
}

pub async fn export(data: DataFolder, wanted: Export) -> Result<Exit> {
    let session = Session::visit(data).await?;
    let id = WorldId::new(wanted.world.as_str());
    let world = place::known_world(&session, &id).await?;
    match wanted.folder {
        true => export_folder(&session, &world, wanted.out.as_deref())?,
        false => export_whole(&session, &id, wanted.out.as_deref()).await?,
    }
    session.engine.shutdown().await;
    Ok(Exit::Done)
}

async fn export_whole(session: &Session, id: &WorldId, out: Option<&Path>) -> Result<()> {
    let usual = session.data.workspace().join(id.as_str());
    let pieces = session.engine.export(id, Literals::Kept, Some(&usual)).await?;
    let mut pieces = std::pin::pin!(pieces);
    let mut file = disk::Draft::open(out)?;
    while let Some(piece) = pieces.try_next().await? {
        file.write(&piece)?;
    }
    file.finish()?;
    if let Some(path) = out {
        let text = format!("wrote world {id} to {}; only you can read it", path.display());
        Screen::stderr().line(Tone::Plain, &text)?;
    }
    Ok(())
}

fn export_folder(session: &Session, world: &World, out: Option<&Path>) -> Result<()> {
    let mut world = world.clone();
    leave_out(Some(&session.data.workspace().join(world.id.as_str())), &mut world);
    // A folder is for git: no key belongs there.
    let missing = replace_literals(&mut world);
    let files = write_folder(&world).map_err(|error| anyhow!(error))?;
    let folder = out.unwrap_or(Path::new(world.id.as_str()));
    disk::write_folder(folder, &files)?;
    let mut screen = Screen::stdout();
    let text = format!("wrote the settings of world {} to {}", world.id, folder.display());
    screen.line(Tone::Plain, &text)?;
    tell_missing(&mut screen, &missing)
}

pub async fn import(data: DataFolder, wanted: Import) -> Result<Exit> {
    let session = Session::visit(data).await?;
    match (wanted.from.is_dir(), wanted.update) {
        (true, true) => update(&session, &wanted).await?,
        (false, true) => {
            let text = "--update takes a folder; a file is a whole world and comes in as a new one";
            return Err(Usage(text.to_owned()).into());
        }
        (true, false) => {
            let mut world = folder(&session, &wanted)?;
            if !wanted.trust {
                switch_servers_off(&mut world);
            }
            let imported = session.engine.import_settings(world, Vec::new(), &who()).await;
            let imported = imported.map_err(|error| {
                taken(error, "change its settings with --update, or bring it in under another id with --as ID")
            })?;
            tell(&imported, wanted.json)?;
        }
        (false, false) => {
            let mut document = Document::parse(&disk::read_file(&wanted.from)?)
                .with_context(|| format!("{} cannot be imported", wanted.from.display()))?;
            if let Some(name) = &wanted.name {
                document.rename(&WorldId::new(name.as_str()))?;
            }
            if !wanted.trust {
                document.switch_servers_off();
            }
            if let (None, Some(id)) = (document.working_directory(), document.id()) {
                let usual = session.data.make_workspace(&id)?;
                document.set_working_directory(&usual.display().to_string());
            }
            let way_out = match document.has_chats() {
                // Chats keep their ids, so another id for the world does not help.
                true => {
                    "delete that one first; --as ID gives another id only to a file without chats, and --update changes \
                         settings from a folder"
                }
                false => {
                    "bring it in under another id with --as ID, or change its settings from a folder with --update"
                }
            };
            let imported = session.engine.import(document, &who()).await;
            let imported = imported.map_err(|error| taken(error, way_out))?;
            tell(&imported, wanted.json)?;
        }
    }
    session.engine.shutdown().await;
    Ok(Exit::Done)
}

/// Says what to do about a world that is there already.
fn taken(error: ImportError, way_out: &str) -> anyhow::Error {
    match error {
        ImportError::Engine(Error::WorldExists(id)) => {
            anyhow!("world {id} exists already; {way_out}")
        }
        error => error.into(),
    }
}

fn folder(session: &Session, wanted: &Import) -> Result<World> {
    let files = disk::read_folder(&wanted.from)?;
    let mut world = read_folder(&files, Timestamp::now())
        .map_err(|error| anyhow!("{} is refused: {error}", wanted.from.display()))?;
    if let Some(name) = &wanted.name {
        world.id = WorldId::new(name.as_str());
    }
    // A bad id must not become a path.
    if world.working_directory.is_none() && is_slug(world.id.as_str()) {
        let usual = session.data.make_workspace(&world.id)?;
        world.working_directory = Some(usual.display().to_string());
    }
    Ok(world)
}

/// Puts the settings of a folder in place of those in force.
async fn update(session: &Session, wanted: &Import) -> Result<()> {
    let mut world = folder(session, wanted)?;
    let present = place::known_world(session, &world.id).await?;
    keep_literals(&mut world, &present);
    world.version = present.version;
    world.created_at = present.created_at;
    world.updated_at = present.updated_at;
    world.policy.granted = present.policy.granted.clone();
    let changes = differences(&present, &world).map_err(|error| anyhow!(error))?;
    let id = world.id.clone();
    if !wanted.dry_run && !changes.is_empty() {
        session.engine.update_world(world, &who()).await?;
    }
    let mut screen = Screen::stdout();
    if wanted.json {
        let changed = !wanted.dry_run && !changes.is_empty();
        return Ok(screen.json(&json!({"id": id, "changed": changed, "changes": changes}))?);
    }
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
    Ok(screen.line(Tone::Plain, &text)?)
}

fn tell(imported: &Imported, as_json: bool) -> Result<()> {
    let Imported { world, chats, events, stopped, missing_secrets } = imported;
    let mut screen = Screen::stdout();
    let servers = world.mcp_servers.iter().filter(|(_, server)| !server.disabled);
    let servers: Vec<&str> = servers.map(|(name, _)| name.as_str()).collect();
    let off = world.mcp_servers.iter().filter(|(_, server)| server.disabled);
    let off: Vec<&str> = off.map(|(name, _)| name.as_str()).collect();
    if as_json {
        return Ok(screen.json(&json!({
            "id": world.id,
            "chats": chats,
            "events": events,
            "granted_rules": world.policy.granted.len(),
            "stopped": stopped,
            "missing_secrets": missing_secrets,
            "mcp_servers": servers,
        }))?);
    }
    let text = format!("imported world {} with {}", world.id, words::count(*chats, "chat"));
    screen.line(Tone::Plain, &text)?;
    for chat in stopped {
        screen.line(Tone::Plain, &format!("what was under way in chat {chat} was stopped"))?;
    }
    match world.policy.granted.len() {
        0 => {}
        number => {
            let rules = words::count(number, "permission");
            let text = format!(
                "{rules} given with always came along; `agent-world policy show` lists them"
            );
            screen.line(Tone::Plain, &text)?;
        }
    }
    if !servers.is_empty() {
        let text = format!("MCP servers that start when the world is used: {}", servers.join(", "));
        screen.line(Tone::Warning, &words::unbroken(&text))?;
    }
    if !off.is_empty() {
        let text = format!(
            "MCP servers that came switched off: {}; `--trust` lets them start as the file says",
            off.join(", ")
        );
        screen.line(Tone::Warning, &words::unbroken(&text))?;
    }
    tell_missing(&mut screen, missing_secrets)?;
    match &world.working_directory {
        Some(folder) if !Path::new(folder).is_dir() => {
            let text = format!(
                "its tools work in {folder}, which is not there; make it, or name another with `agent-world world update`"
            );
            Ok(screen.line(Tone::Warning, &words::unbroken(&text))?)
        }
        _ => Ok(()),
    }
}

fn tell_missing(screen: &mut Screen, missing: &[MissingSecret]) -> Result<()> {
    for MissingSecret { name, server, field } in missing {
        let text =
            format!("{field} of MCP server {server} was left out; set the variable {name} instead");
        screen.line(Tone::Warning, &words::unbroken(&text))?;
    }
    Ok(())
}
