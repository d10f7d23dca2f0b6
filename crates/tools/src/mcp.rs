//! Tools of MCP servers: child processes and servers over HTTP, named in a world's settings.
//! Used by the runtime as a `Source`. Every server has a task of its own that keeps it running (`supervisor`); nothing here
//! decides whether a call may run, and no server's failure reaches another server or the world.

mod call;
mod catalog;
mod connection;
mod content;
mod elicitation;
mod expand;
mod failure;
mod handler;
mod health;
mod http;
mod import;
mod naming;
mod oauth;
mod plan;
mod secrets;
mod stdio;
mod supervisor;
mod tool;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::config::{McpServer, World};
use agent_world_core::ids::WorldId;
use async_trait::async_trait;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::{Registry, Source};

pub use health::{Problem, Ready, ServerHealth, State};
pub use import::import;
pub use oauth::Redirect;

use supervisor::Server;
use tool::RemoteTool;

/// Bytes of one message of a server.
const FRAME_LIMIT: usize = 8 * 1024 * 1024;
/// How long servers may take to end before they are left to be killed.
const CLOSING: Duration = Duration::from_secs(10);

/// Which era of the protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The newer one with whoever speaks it.
    #[default]
    Either,
    /// With a greeting and sessions, up to 2025-11-25.
    Older,
    /// Without, from 2026-07-28.
    Newer,
}

/// A server that is about to be started.
#[derive(Clone, Copy, Debug)]
pub struct Starting<'a> {
    pub world: &'a WorldId,
    pub server: &'a str,
    pub settings: &'a McpServer,
}

/// Where variables come from that may change while the program runs: those that are kept for the server which is asked about,
/// and no other's. Settings may come from anywhere, and name what they like.
pub type Variables = Arc<dyn Fn(Starting<'_>) -> Vec<(OsString, OsString)> + Send + Sync>;

/// What an embedder can set about all servers.
#[derive(Clone)]
pub struct Options {
    /// What `${NAME}` in settings is read from. Children get only what is harmless of it.
    pub environment: Vec<(OsString, OsString)>,
    /// Further ones, asked for whenever a server is started: keys that were put away since. They win.
    pub put_away: Option<Variables>,
    /// How long a server may take until its tools are known.
    pub start_limit: Duration,
    /// How long a call may take where its server's settings do not say.
    pub call_limit: Duration,
    /// Before a server that ended is started again; doubled each time, with some chance in it.
    pub first_delay: Duration,
    pub longest_delay: Duration,
    /// How often a server of the older era is asked whether it is still there.
    pub ping_every: Duration,
    /// How long its answer may take.
    pub ping_limit: Duration,
    pub protocol: Protocol,
    /// Where a browser is sent after a login.
    pub redirect: Redirect,
    /// A folder for tokens, readable by nobody else. Without one they are kept in memory only.
    pub tokens: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            environment: std::env::vars_os().collect(),
            put_away: None,
            start_limit: Duration::from_secs(60),
            call_limit: Duration::from_secs(60),
            first_delay: Duration::from_secs(1),
            longest_delay: Duration::from_secs(300),
            ping_every: Duration::from_secs(60),
            ping_limit: Duration::from_secs(10),
            protocol: Protocol::default(),
            redirect: Redirect::default(),
            tokens: None,
        }
    }
}

impl Options {
    /// What `${NAME}` stands for now, in the settings of a server.
    fn variables(&self, server: Starting<'_>) -> Vec<(OsString, OsString)> {
        let put_away = self.put_away.as_ref().map(|read| read(server)).unwrap_or_default();
        put_away.into_iter().chain(self.environment.iter().cloned()).collect()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("start_limit", &self.start_limit)
            .field("call_limit", &self.call_limit)
            .field("protocol", &self.protocol)
            .field("redirect", &self.redirect)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

/// The MCP servers of all worlds. Dropping it ends them; `close` waits until they have ended.
#[derive(Debug)]
pub struct Servers {
    options: Arc<Options>,
    worlds: Mutex<HashMap<WorldId, Servants>>,
    tasks: TaskTracker,
}

/// The servers of one world.
#[derive(Debug, Default)]
struct Servants {
    servers: BTreeMap<String, Kept>,
    /// Of which settings these are: a world made later, or changed later, is newer.
    followed: Option<(Timestamp, u64)>,
    /// Counts the changes of their tools.
    changes: Arc<AtomicU64>,
    /// Made when so many changes had been counted.
    registry: Option<(u64, Arc<Registry>)>,
}

#[derive(Debug)]
struct Kept {
    server: Arc<Server>,
    /// Ends its task when dropped.
    _running: DropGuard,
}

impl Servers {
    pub fn new(options: Options) -> Self {
        Self { options: Arc::new(options), worlds: Mutex::default(), tasks: TaskTracker::new() }
    }

    /// How a world's servers are, by name. Those that it never asked for are not known.
    pub fn health(&self, world: &WorldId) -> Vec<ServerHealth> {
        let worlds = self.worlds();
        let servers = worlds.get(world).map(|servants| &servants.servers);
        servers
            .into_iter()
            .flat_map(BTreeMap::values)
            .map(|kept| kept.server.status().borrow().health.clone())
            .collect()
    }

    /// Starts a server anew, at once. Calls that run on it fail.
    ///
    /// # Errors
    /// When the world has no such server.
    pub fn restart(&self, world: &WorldId, server: &str) -> Result<(), String> {
        self.server(world, server)?.restart();
        Ok(())
    }

    /// Hands on the address that a browser was sent to after a login, where the embedder's own page or a person got it.
    ///
    /// # Errors
    /// When nobody waits for it.
    pub fn redirected(
        &self,
        world: &WorldId,
        server: &str,
        address: impl Into<String>,
    ) -> Result<(), String> {
        let found = self.server(world, server)?;
        match found.authorizer() {
            Some(authorizer) if found.status().borrow().health.authorize_at.is_some() => {
                authorizer.redirected(address.into())
            }
            _ => Err(format!("MCP server `{server}` waits for no login")),
        }
    }

    fn server(&self, world: &WorldId, server: &str) -> Result<Arc<Server>, String> {
        let worlds = self.worlds();
        let kept = worlds.get(world).and_then(|servants| servants.servers.get(server));
        kept.map(|kept| Arc::clone(&kept.server))
            .ok_or_else(|| format!("world `{world}` has no MCP server `{server}`"))
    }

    /// Starts what is new or changed, ends what is gone.
    fn follow(&self, world: &World, servants: &mut Servants) {
        // Whoever began something under earlier settings may still ask: a server that was taken out since is not started
        // again for it, nor is one that was changed ended.
        let settings = Some((world.created_at, world.version));
        if settings < servants.followed {
            return;
        }
        servants.followed = settings;
        let folder = world.working_directory.as_ref().map(PathBuf::from);
        let same = |kept: &Kept| {
            world.mcp_servers.get(&kept.server.name) == Some(&kept.server.settings)
                && kept.server.folder == folder
        };
        let before = servants.servers.len();
        servants.servers.retain(|_, kept| same(kept));
        if servants.servers.len() != before {
            servants.changes.fetch_add(1, Ordering::AcqRel);
        }
        if self.tasks.is_closed() {
            return;
        }
        for (name, settings) in &world.mcp_servers {
            if servants.servers.contains_key(name) {
                continue;
            }
            let server = Arc::new(Server::new(
                world.id.clone(),
                name.clone(),
                settings.clone(),
                folder.clone(),
                Arc::clone(&self.options),
                Arc::clone(&servants.changes),
            ));
            let cancelled = CancellationToken::new();
            if !settings.disabled {
                self.tasks.spawn(Arc::clone(&server).supervise(cancelled.clone()));
            }
            let kept = Kept { server, _running: cancelled.drop_guard() };
            servants.servers.insert(name.clone(), kept);
        }
    }

    fn worlds(&self) -> MutexGuard<'_, HashMap<WorldId, Servants>> {
        // Nothing can panic while it is held.
        self.worlds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Servants {
    fn registry(&mut self) -> Arc<Registry> {
        // Counted before the lists are read: a change that comes in between is seen next time.
        let changes = self.changes.load(Ordering::Acquire);
        if let Some((made, registry)) = &self.registry
            && *made == changes
        {
            return Arc::clone(registry);
        }
        let mut registry = Registry::default();
        for kept in self.servers.values() {
            let catalog = Arc::clone(&kept.server.status().borrow().catalog);
            for listed in catalog.tools.values() {
                let tool = RemoteTool::new(Arc::clone(&kept.server), listed.clone());
                if let Err(error) = registry.add(Arc::new(tool)) {
                    // Names and schemas were checked when the list was read.
                    tracing::error!(server = kept.server.name, %error, "an MCP tool was left out");
                }
            }
        }
        let registry = Arc::new(registry);
        self.registry = Some((changes, Arc::clone(&registry)));
        registry
    }
}

#[async_trait]
impl Source for Servers {
    fn tools(&self, world: &World) -> Arc<Registry> {
        let mut worlds = self.worlds();
        let servants = worlds.entry(world.id.clone()).or_default();
        self.follow(world, servants);
        servants.registry()
    }

    async fn ready(&self, world: &World) {
        let statuses: Vec<_> = {
            let mut worlds = self.worlds();
            let servants = worlds.entry(world.id.clone()).or_default();
            self.follow(world, servants);
            servants.servers.values().map(|kept| kept.server.status()).collect()
        };
        for mut status in statuses {
            // An error means that the server is gone, and then it has no tools.
            status.wait_for(|status| !matches!(status.health.state, State::Starting)).await.ok();
        }
    }

    fn forget(&self, world: &WorldId) {
        self.worlds().remove(world);
    }

    async fn close(&self) {
        self.tasks.close();
        self.worlds().clear();
        // What has not let go by then is killed when its task is dropped.
        timeout(CLOSING, self.tasks.wait()).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn settings_that_are_out_of_date_start_and_end_nothing() {
        let servers = Servers::new(Options::default());
        let mut old = World::new(WorldId::from("w"), "w", Timestamp::UNIX_EPOCH);
        old.version = 1;
        let one = serde_json::from_str(r#"{"command":"cat"}"#).unwrap();
        old.mcp_servers.insert("removed".to_owned(), one);
        let mut new = World::new(WorldId::from("w"), "w", Timestamp::UNIX_EPOCH);
        new.version = 2;
        servers.tools(&old);
        servers.tools(&new);
        assert!(servers.health(&new.id).is_empty());
        // A chat whose model call began before the server was taken out looks at the reply.
        servers.tools(&old);
        let health = servers.health(&new.id);
        servers.close().await;
        assert!(health.is_empty(), "{health:?}");
    }
}
