//! `export` and `import`: a world as a file with everything in it, or its settings as a folder for people to edit.
//! Called by `main`. What a document means and whether it is true is decided in the runtime; here files are read and written.

mod disk;
mod import;
mod watch;

use std::path::Path;

use agent_world_core::ids::WorldId;
use agent_world_runtime::transfer::{Files, Literals, MissingSecret};
use anyhow::{Context as _, Result};
use clap::Args;
use futures::TryStreamExt as _;
use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::connect::{Connection, Purpose, Whereabouts};
use crate::exit::{Exit, Usage};
use crate::place;
use crate::screen::{Screen, Tone};
use crate::setup::Session;
use crate::words;
pub use import::{Import, run as import};

#[derive(Debug, Args)]
#[command(after_help = "\
The file has everything: settings, chats, permissions, and keys that stand in the settings as they are; only its owner
can read it. From a server that was named with --server it comes without keys: variables are named in their place. A folder
has the settings only, for git: world.toml, policy.toml and agents/ID.md, with the names of variables in place of keys.

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
    /// Writes over a file that exists
    #[arg(long)]
    pub force: bool,
    /// Says what was written in JSON; what goes to stdout is JSON itself
    #[arg(long)]
    pub json: bool,
}

/// A world's settings as files, as the interface gives them.
#[derive(Debug, Deserialize)]
struct Folder {
    files: Files,
    #[serde(default)]
    missing_secrets: Vec<MissingSecret>,
}

pub async fn export(to: Whereabouts, wanted: Export) -> Result<Exit> {
    // Keys leave only by the owner's own hand, never over the interface, so a whole world is read from the store itself,
    // also beside a server that runs on it.
    let connection = match wanted.folder || to.server.is_some() {
        true => Connection::open(to, Purpose::Visit).await?,
        false => Connection::on_store(to.data, Purpose::Visit).await?,
    };
    let done = carry_out(&connection, &wanted).await;
    connection.close().await;
    done.map(|()| Exit::Done)
}

async fn carry_out(connection: &Connection, wanted: &Export) -> Result<()> {
    let out = wanted.out.as_deref();
    place::known_world(&connection.client, Some(&wanted.world)).await?;
    // An empty one was made for it.
    let holds = |path: &&Path| path.metadata().is_ok_and(|file| file.is_file() && file.len() > 0);
    if let Some(file) = out.filter(holds).filter(|_| !wanted.folder && !wanted.force) {
        let text = format!("{} exists already; add --force to write over it", file.display());
        return Err(Usage(text).into());
    }
    match (wanted.folder, connection.session()) {
        (true, _) => folder(connection, wanted).await,
        (false, Some(session)) => whole(session, wanted).await,
        (false, None) => whole_from_server(connection, wanted).await,
    }
}

async fn whole(session: &Session, wanted: &Export) -> Result<()> {
    let id = WorldId::new(wanted.world.as_str());
    let usual = session.data.workspace().join(&wanted.world);
    let pieces = session.engine.export(&id, Literals::Kept, Some(&usual)).await?;
    let mut pieces = std::pin::pin!(pieces);
    let mut file = disk::Draft::open(wanted.out.as_deref())?;
    while let Some(piece) = pieces.try_next().await? {
        file.write(&piece)?;
    }
    file.finish()?;
    tell_written(wanted, &[], "")
}

async fn whole_from_server(connection: &Connection, wanted: &Export) -> Result<()> {
    let path = place::path(&wanted.world).then("export");
    let bytes = connection.client.raw(Method::GET, path, Vec::new()).await?;
    let text = String::from_utf8(bytes).context("what the server exports is no text")?;
    let mut file = disk::Draft::open(wanted.out.as_deref())?;
    file.write(&text)?;
    file.finish()?;
    let Missing { missing_secrets } = match wanted.json {
        true => serde_json::from_str(&text).context("what the server exports cannot be read")?,
        false => Missing::default(),
    };
    let but = "; keys of MCP servers are not in it, `missing_secrets` names them";
    tell_written(wanted, &missing_secrets, but)
}

/// Of a document only what was left out of it.
#[derive(Debug, Default, Deserialize)]
struct Missing {
    #[serde(default)]
    missing_secrets: Vec<MissingSecret>,
}

fn tell_written(wanted: &Export, missing: &[MissingSecret], but: &str) -> Result<()> {
    let Export { world, out, json, .. } = wanted;
    let Some(path) = out else {
        return Ok(());
    };
    if *json {
        return tell_json(world, path, "document", missing);
    }
    let text = format!("wrote world {world} to {}; only you can read it{but}", path.display());
    Ok(Screen::stderr().line(Tone::Plain, &text)?)
}

fn tell_json(world: &str, path: &Path, form: &str, missing: &[MissingSecret]) -> Result<()> {
    let told = json!({
        "type": "export",
        "world_id": world,
        "form": form,
        "path": path.display().to_string(),
        "missing_secrets": missing,
    });
    Ok(Screen::stdout().json(&told)?)
}

async fn folder(connection: &Connection, wanted: &Export) -> Result<()> {
    let world = wanted.world.as_str();
    let path = place::path(world).then("export").with("form", "folder");
    let Folder { files, missing_secrets } = connection.client.get(path).await?;
    let folder = wanted.out.as_deref().unwrap_or(Path::new(world));
    disk::write_folder(folder, &files)?;
    if wanted.json {
        return tell_json(world, folder, "folder", &missing_secrets);
    }
    let mut screen = Screen::stdout();
    let text = format!("wrote the settings of world {world} to {}", folder.display());
    screen.line(Tone::Plain, &text)?;
    tell_missing(&mut screen, &missing_secrets)
}

fn tell_missing(screen: &mut Screen, missing: &[MissingSecret]) -> Result<()> {
    for MissingSecret { name, server, field } in missing {
        let text =
            format!("{field} of MCP server {server} was left out; set the variable {name} instead");
        screen.line(Tone::Warning, &words::unbroken(&text))?;
    }
    Ok(())
}
