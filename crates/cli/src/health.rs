//! `health`: asks a server whether it takes work, for health checks of containers and supervisors.
//! Called by `main`. Asks only the server it was told of or the one that runs on the data folder; changes nothing.

use agent_world_client::Error;
use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use serde_json::json;

use crate::connect::Whereabouts;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::running_server::{self, Found};
use crate::screen::{Screen, Tone};

#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is 0 when the server takes work and 1 when it does not or nobody answers: for health checks of containers \
and supervisors. Needs no token.

Examples:
  agent-world health
  agent-world health http://127.0.0.1:7420 --json")]
pub struct Health {
    /// The server's address; otherwise that of --server, or of the server that runs on the data folder
    #[arg(value_name = "URL")]
    url: Option<String>,
    #[arg(long)]
    json: bool,
}

pub async fn run(to: &Whereabouts, wanted: &Health) -> Result<Exit> {
    let named = wanted.url.as_deref().or(to.server.as_deref());
    let named = named.map(str::trim).filter(|url| !url.is_empty());
    let url = match named {
        Some(url) if url.contains("://") => url.to_owned(),
        Some(host) => format!("http://{host}"),
        None => of_folder(&to.data).await?,
    };
    running_server::ask(&url, "/readyz").await.map_err(|error| told(&url, error))?;
    let mut screen = Screen::stdout();
    match wanted.json {
        true => screen.json(&json!({"type": "health", "url": url, "ready": true}))?,
        false => screen.line(Tone::Plain, &format!("ready: {url}"))?,
    }
    Ok(Exit::Done)
}

/// What is wrong, and what to do where nobody is there.
fn told(url: &str, error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(Error::Unreachable { cause, .. }) => anyhow!(
            "nobody answers at {url}: {cause}; `agent-world serve` starts a server, and one that runs elsewhere is named by its \
             URL"
        ),
        _ => error,
    }
}

async fn of_folder(data: &DataFolder) -> Result<String> {
    let url = match running_server::find(data).await {
        Found::Answering(server) | Found::Silent(server) => Some(server.url),
        Found::Nobody | Found::Gone(_) => None,
    };
    url.with_context(|| {
        let folder = data.path().display();
        format!("no server runs on {folder}; start one with `agent-world serve`, or name its URL")
    })
}
