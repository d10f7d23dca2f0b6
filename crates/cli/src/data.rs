//! Finds the folder in which everything is stored, and makes it where there is none.
//! Called by `main` once, and by `doctor`, which makes nothing. Only its owner may look into it; nothing outside it is ever written.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use agent_world_core::ids::WorldId;
use anyhow::{Context as _, Result};
use etcetera::BaseStrategy as _;

const NAME: &str = "agent-world";
const DATABASE: &str = "agent-world.db";
/// Below it, each world has the folder its tools work in.
pub const WORKSPACE: &str = "workspace";
const RUNNING: &str = "running";
const TOKENS: &str = "mcp-tokens";
const SERVER: &str = "server.json";
const CHAT_HISTORY: &str = "chat-history";

#[derive(Clone, Debug)]
pub struct DataFolder {
    path: PathBuf,
    /// Settings that are read in place of those found in the usual places.
    settings: Option<PathBuf>,
}

impl DataFolder {
    /// The folder given, or the platform's, made where it is not there.
    pub fn find(given: Option<PathBuf>) -> Result<Self> {
        let folder = Self::locate(given)?;
        make_private(&folder.path)?;
        folder.make_database_private()?;
        Ok(folder)
    }

    /// Where the folder is or would be.
    pub fn locate(given: Option<PathBuf>) -> Result<Self> {
        let path = match given.filter(|path| !path.as_os_str().is_empty()) {
            Some(path) => path,
            None => etcetera::base_strategy::choose_native_strategy()
                .context("this system names no data folder; name one with --data DIR")?
                .data_dir()
                .join(NAME),
        };
        let path = std::path::absolute(&path)
            .with_context(|| format!("{} is not a usable path", path.display()))?;
        Ok(Self { path, settings: None })
    }

    /// Has settings read from this file and from nowhere else.
    pub fn with_settings(self, settings: Option<PathBuf>) -> Self {
        Self { settings, ..self }
    }

    pub fn settings(&self) -> Option<&Path> {
        self.settings.as_deref()
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Where running commands are noted, so that they can be found after a crash.
    pub fn make_running(&self) -> Result<PathBuf> {
        let path = self.running();
        make_private(&path)?;
        Ok(path)
    }

    /// Where logins at MCP servers are kept.
    pub fn make_tokens(&self) -> Result<PathBuf> {
        let path = self.path.join(TOKENS);
        make_private(&path)?;
        Ok(path)
    }

    /// Where a running server says how to reach it.
    pub fn server(&self) -> PathBuf {
        self.path.join(SERVER)
    }

    /// What was typed into conversations.
    pub fn chat_history(&self) -> PathBuf {
        self.path.join(CHAT_HISTORY)
    }

    pub fn running(&self) -> PathBuf {
        self.path.join(RUNNING)
    }

    // The folder may be one that others can look into. SQLite gives its further files the rights of this one.
    fn make_database_private(&self) -> Result<()> {
        let path = self.database();
        match File::options().write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made
                .map(drop)
                .with_context(|| format!("the file {} cannot be made", path.display())),
        }
    }

    /// Below it, each world has a folder of its own.
    pub fn workspace(&self) -> PathBuf {
        self.path.join(WORKSPACE)
    }

    /// A folder of a world's own, so that its tools touch nothing of the user's.
    pub fn make_workspace(&self, world: &WorldId) -> Result<PathBuf> {
        let path = self.workspace().join(world.as_str());
        make_private(&path)?;
        Ok(path)
    }
}

fn make_private(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).with_context(|| {
        format!("the folder {} cannot be made; name another with --data DIR", path.display())
    })
}
