//! Executes one tool call.
//!
//! A tool is given exactly what was stored and approved. It never sees the store, the model or another agent's
//! call, and this crate's dependencies make sure of it.

pub mod scripted;
pub mod shell;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use agent_world_core::config::{ToolSpec, Tools};
use agent_world_core::event::Output;
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

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
    async fn run(&self, invocation: Invocation) -> Result<Output, Failure>;
}

/// The tools of a program, by name.
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

impl Registry {
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), Unusable> {
        let spec = tool.spec();
        if !is_name(&spec.name) {
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

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && !name.to_ascii_lowercase().starts_with("client.")
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
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
