//! Opens the store and starts an engine on it, with the models and tools this program has.
//! Called by every command that posts, decides or works. One process works on a store; any other leaves its inputs
//! there for it, and takes the work over when the first is gone.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_llm::demo::Demo;
use agent_world_llm::{Models, vendors};
use agent_world_runtime::{Engine, Mode, Options};
use agent_world_store::sqlite::Role;
use agent_world_store::{self as store, Sqlite, Store};
use agent_world_tools::fetch::{Fetch, FetchUrl};
use agent_world_tools::launcher::Launcher;
use agent_world_tools::shell::ShellCmd;
use agent_world_tools::{Tool, files, mcp};
use anyhow::{Context as _, Result};

use crate::data::DataFolder;
use crate::{secrets, settings};

/// How soon a process notices what another one wrote.
const POLL: Duration = Duration::from_millis(250);
/// How long a store may be in use by a process that is just making it.
const PATIENCE: Duration = Duration::from_secs(3);

/// A store with an engine on it.
#[derive(Debug)]
pub struct Session {
    pub data: DataFolder,
    pub engine: Engine,
    /// The newest event before the engine started: what comes after it was done since.
    pub began: u64,
    /// What runs the MCP servers of worlds, where this process does.
    pub servers: Option<Arc<mcp::Servers>>,
}

/// Whether the MCP servers of worlds are started when their tools are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Servers {
    Started,
    LeftAlone,
}

impl Session {
    /// Works on the store or, where another process does, leaves inputs for it.
    pub async fn open(data: DataFolder) -> Result<Self> {
        match Sqlite::open(data.database(), Role::Worker) {
            Ok(store) => Self::start(data, store, Mode::Worker, Servers::Started).await,
            Err(store::Error::InUse { .. }) => Self::visit(data).await,
            Err(error) => Err(error).context(cannot_open(&data)),
        }
    }

    /// Works on the store; none where another process does.
    pub async fn work(data: DataFolder) -> Result<Option<Self>> {
        match Sqlite::open(data.database(), Role::Worker) {
            Ok(store) => Self::start(data, store, Mode::Worker, Servers::Started).await.map(Some),
            Err(store::Error::InUse { .. }) => Ok(None),
            Err(error) => Err(error).context(cannot_open(&data)),
        }
    }

    /// Only looks and leaves inputs, also where nobody works.
    pub async fn visit(data: DataFolder) -> Result<Self> {
        let store = open_to_look(&data).await?;
        Self::start(data, store, Mode::Visitor, Servers::LeftAlone).await
    }

    /// Only looks, also at what the MCP servers of a world offer: those it is asked about run until it is shut down.
    pub async fn visit_with_servers(data: DataFolder) -> Result<Self> {
        let store = open_to_look(&data).await?;
        Self::start(data, store, Mode::Visitor, Servers::Started).await
    }

    async fn start(data: DataFolder, store: Sqlite, mode: Mode, servers: Servers) -> Result<Self> {
        let began = store.position().await?;
        let options = Options { poll: POLL, ..Options::default() };
        let running = data.make_running()?;
        if mode == Mode::Worker {
            end_leftovers(&running);
        }
        let mut builder =
            Engine::builder(Arc::new(store)).models(models(&data)?).options(options).mode(mode);
        for tool in tools(&data, &running) {
            builder = builder.tool(tool)?;
        }
        // Whoever only leaves inputs must not start anybody's servers.
        let servers = match servers {
            Servers::Started => Some(Arc::new(mcp_servers(&data)?)),
            Servers::LeftAlone => None,
        };
        if let Some(servers) = &servers {
            builder = builder.source(Arc::<mcp::Servers>::clone(servers));
        }
        let engine = builder.start()?;
        Ok(Self { data, engine, began, servers })
    }

    pub fn store(&self) -> &dyn Store {
        self.engine.store().as_ref()
    }

    pub fn is_visitor(&self) -> bool {
        self.engine.mode() == Mode::Visitor
    }

    /// Becomes the process that works, if the other one is gone. Subscriptions must then be made anew.
    pub async fn take_over(&mut self) -> Result<bool> {
        if !self.is_visitor() {
            return Ok(false);
        }
        match Sqlite::open(self.data.database(), Role::Worker) {
            Ok(store) => {
                let next =
                    Self::start(self.data.clone(), store, Mode::Worker, Servers::Started).await?;
                self.engine.shutdown().await;
                self.engine = next.engine;
                self.servers = next.servers;
                Ok(true)
            }
            Err(store::Error::InUse { .. }) => Ok(false),
            Err(error) => Err(error).context(cannot_open(&self.data)),
        }
    }
}

/// What agents can do on this machine.
pub fn tools(data: &DataFolder, running: &Path) -> Vec<Arc<dyn Tool>> {
    let shell = ShellCmd::new()
        .launched_by(Launcher::this_program())
        .hiding([data.path().to_owned()])
        .recording_in(running);
    let mut tools = files::all();
    tools.push(Arc::new(shell));
    tools.push(Arc::new(FetchUrl::new(Fetch::default())));
    tools
}

/// What starts and ends the MCP servers of worlds, with the keys that were put away for them.
pub fn mcp_servers(data: &DataFolder) -> Result<mcp::Servers> {
    // Told now rather than when a server is started.
    secrets::check(data.path())?;
    let path = data.path().to_owned();
    let put_away = move |server: mcp::Starting<'_>| {
        let mcp::Starting { world, server: name, settings } = server;
        secrets::variables(&path, world.as_str(), name, settings).unwrap_or_else(|error| {
            tracing::error!(error = format!("{error:#}"), "keys of MCP servers cannot be read");
            Vec::new()
        })
    };
    Ok(mcp::Servers::new(mcp::Options {
        put_away: Some(Arc::new(put_away)),
        tokens: Some(data.make_tokens()?),
        ..mcp::Options::default()
    }))
}

/// Ends the commands of a process that was killed, before anything else runs.
fn end_leftovers(running: &Path) {
    match ShellCmd::end_leftovers(running) {
        Ok(ended) => {
            for left in ended {
                tracing::warn!(?left, "a command that an earlier process left behind was ended");
            }
        }
        Err(error) => {
            tracing::warn!(%error, "what earlier processes left running cannot be looked for");
        }
    }
}

/// The demo model, and every vendor that is known by name or in the settings.
pub fn models(data: &DataFolder) -> Result<Models> {
    let settings = settings::read(data)?.models;
    let vendors = vendors::models(&settings, &|name| std::env::var(name).ok())?;
    Ok(Models::default().with("demo", Arc::new(Demo)).and(vendors))
}

/// The store without an engine, for commands that only look.
pub async fn open_to_look(data: &DataFolder) -> Result<Sqlite> {
    let start = Instant::now();
    loop {
        match Sqlite::open(data.database(), Role::Visitor) {
            Err(store::Error::InUse { .. }) if start.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            opened => return opened.context(cannot_open(data)),
        }
    }
}

/// The name under which decisions are recorded.
pub fn who() -> String {
    ["USER", "LOGNAME"]
        .into_iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|name| !name.trim().is_empty())
        .unwrap_or_else(|| "human".to_owned())
}

fn cannot_open(data: &DataFolder) -> String {
    format!("the store {} cannot be opened", data.database().display())
}
