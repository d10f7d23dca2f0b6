//! `health`: asks a server whether it takes work, for health checks of containers and supervisors.
//! Called by `main`. Asks only the server it was told of or the one that runs on the data folder; changes nothing.

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::args::Health;
use crate::data::DataFolder;
use crate::exit::Exit;
use crate::running_server::{self, Found};
use crate::screen::{Screen, Tone};

pub async fn run(data: &DataFolder, wanted: &Health) -> Result<Exit> {
    let named = wanted.url.as_deref().map(str::trim).filter(|url| !url.is_empty());
    let url = match named {
        Some(url) if url.contains("://") => url.to_owned(),
        Some(host) => format!("http://{host}"),
        None => of_folder(data).await?,
    };
    running_server::ask(&url, "/readyz").await?;
    let mut screen = Screen::stdout();
    match wanted.json {
        true => screen.json(&json!({"type": "health", "url": url, "ready": true}))?,
        false => screen.line(Tone::Plain, &format!("ready: {url}"))?,
    }
    Ok(Exit::Done)
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
