//! Executes one tool call.
//!
//! A tool is given exactly what was stored and approved. It never sees the store, the model or another agent's
//! call, and this crate's dependencies make sure of it.

pub mod fetch;
pub mod files;
mod group;
pub mod launcher;
pub mod mcp;
pub mod person;
pub mod sandbox;
pub mod scripted;
pub mod shell;
pub mod trust;
pub mod watcher;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_world_core::binding::{Facts, Prepared};
use agent_world_core::config::{Sandbox, ToolSpec, Tools, World, is_tool_name};
use agent_world_core::event::Output;
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use person::{Nobody, Person};
use watcher::{Unwatched, Watcher};

/// A call as it was made, before anybody decided about it.
#[derive(Clone, Copy, Debug)]
pub struct Intent<'a> {
    pub world: &'a WorldId,
    pub chat: &'a ChatId,
    pub agent: &'a AgentId,
    /// Canonical: valid by the tool's schema.
    pub arguments: &'a Value,
    pub working_directory: Option<&'a Path>,
    pub sandbox: &'a Sandbox,
}

/// One call, as approved.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// Unique for ever: a tool may use it as its idempotency key.
    pub call: CallId,
    pub world: WorldId,
    pub chat: ChatId,
    pub agent: AgentId,
    pub arguments: Value,
    pub working_directory: Option<PathBuf>,
    /// The world's settings for programs that a tool starts.
    pub sandbox: Sandbox,
    /// What was found when the call was prepared; for an approved call, what the approval holds for.
    pub facts: Facts,
    /// Can be asked while the call runs.
    pub person: Arc<dyn Person>,
    /// Sees the output while it is made.
    pub watcher: Arc<dyn Watcher>,
    /// Fires on timeout, stop or shutdown. The tool ends what it started and returns.
    pub cancelled: CancellationToken,
}

/// How a call ended that did not end well. The model is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The tool ran and says that it failed, or could not run.
    Failed(Output),
    /// The tool ended it, because the time that the call itself asked for was up.
    TimedOut(Output),
}

/// Something an agent can call. Dropping the future must leave nothing running.
#[async_trait]
pub trait Tool: fmt::Debug + Send + Sync {
    fn spec(&self) -> ToolSpec;

    /// Looks at a call without running it: when it is made, and again right before an approved one starts. Changes
    /// nothing and is quick. An error refuses the call for good, before anybody is asked; what may be otherwise once
    /// an earlier call has run is a fact, not an error.
    async fn prepare(&self, _intent: Intent<'_>) -> Result<Prepared, String> {
        Ok(Prepared::default())
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure>;
}

/// Tools that come and go while the program runs: those of MCP servers.
#[async_trait]
pub trait Source: fmt::Debug + Send + Sync {
    /// What a world has from here now. Waits for nothing; starts in the background what has to be started. The same
    /// `Arc` until something changes.
    fn tools(&self, world: &World) -> Arc<Registry>;

    /// Returns when the world's tools are known, or when it is known that they cannot be had for now.
    async fn ready(&self, world: &World);

    /// Ends whatever was started for a world that is gone.
    fn forget(&self, _world: &WorldId) {}

    /// Ends whatever was started.
    async fn close(&self);
}

/// Tools by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn Tool>>,
}

/// Why a tool cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unusable {
    #[error(
        "a tool cannot be called `{0}`; use letters, digits, _, - and . (and not the prefix `client.`), at most 64"
    )]
    Name(String),
    #[error("two tools are called `{0}`; rename one")]
    Twice(String),
    #[error("the schema of tool `{name}` cannot be used: {problem}")]
    Schema { name: String, problem: String },
}

impl Invocation {
    /// A call with nobody to ask, nobody watching and every setting at its default.
    pub fn new(
        call: CallId,
        world: WorldId,
        chat: ChatId,
        agent: AgentId,
        arguments: Value,
    ) -> Self {
        Self {
            call,
            world,
            chat,
            agent,
            arguments,
            working_directory: None,
            sandbox: Sandbox::default(),
            facts: Facts::new(),
            person: Arc::new(Nobody),
            watcher: Arc::new(Unwatched),
            cancelled: CancellationToken::new(),
        }
    }

    /// The call as it was before anybody decided about it.
    pub fn intent(&self) -> Intent<'_> {
        Intent {
            world: &self.world,
            chat: &self.chat,
            agent: &self.agent,
            arguments: &self.arguments,
            working_directory: self.working_directory.as_deref(),
            sandbox: &self.sandbox,
        }
    }
}

impl Registry {
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), Unusable> {
        let spec = tool.spec();
        if !is_tool_name(&spec.name) {
            return Err(Unusable::Name(spec.name));
        }
        if self.tools.contains_key(&spec.name) {
            return Err(Unusable::Twice(spec.name));
        }
        agent_world_core::arguments::check_schema(&spec.parameters)
            .map_err(|problem| Unusable::Schema { name: spec.name.clone(), problem })?;
        self.tools.insert(spec.name, tool);
        Ok(())
    }

    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.tools.get(name).cloned()
    }

    /// What the tools say about themselves.
    pub fn specs(&self) -> Tools {
        self.tools.values().map(|tool| tool.spec()).collect()
    }
}

impl Failure {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Failed(Output::text(text))
    }

    /// What the tool gave back all the same.
    pub fn into_output(self) -> Output {
        match self {
            Self::Failed(output) | Self::TimedOut(output) => output,
        }
    }
}
