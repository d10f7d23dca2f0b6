//! One tool of one server, as the registry has it.
//! Made by `Servers` from what a server listed. Looks at the list as it is now whenever it is prepared, so that a tool that
//! changed since it was approved is not run.

use std::fmt;
use std::sync::Arc;

use agent_world_core::binding::{Facts, Prepared};
use agent_world_core::config::ToolSpec;
use agent_world_core::event::Output;
use async_trait::async_trait;

use super::call;
use super::catalog::Listed;
use super::health::State;
use super::supervisor::{Live, Server};
use crate::{Failure, Intent, Invocation, Tool};

const SERVER: &str = "server";
const TOOL: &str = "tool";

pub struct RemoteTool {
    server: Arc<Server>,
    listed: Listed,
}

impl RemoteTool {
    pub fn new(server: Arc<Server>, listed: Listed) -> Self {
        Self { server, listed }
    }

    fn facts(&self) -> Facts {
        let status = self.server.status();
        let now = status.borrow().catalog.tools.get(&self.listed.spec.name).cloned();
        let mut facts = Facts::new();
        facts.insert(SERVER.to_owned(), self.server.identity());
        // Nothing at all, once the server no longer has it: an approval then no longer holds.
        if let Some(listed) = now {
            facts.insert(TOOL.to_owned(), listed.digest);
        }
        facts
    }

    /// The connection, once the server is ready or known not to be.
    async fn live(&self) -> Result<Live, Failure> {
        let name = &self.server.name;
        let mut status = self.server.status();
        let settled = status
            .wait_for(|status| !matches!(status.health.state, State::Starting))
            .await
            .map_err(|_| Failure::text(format!("MCP server `{name}` is gone")))?;
        if let Some(live) = &settled.live {
            return Ok(live.clone());
        }
        let text = match &settled.health.state {
            State::Failed { error, next_attempt: Some(next) } => {
                format!(
                    "MCP server `{name}` is not running: {error}; it is started again at {next}"
                )
            }
            State::Failed { error, .. } => format!("MCP server `{name}` is not running: {error}"),
            _ => format!("MCP server `{name}` is not running"),
        };
        Err(Failure::text(text))
    }

    /// What is run is what was looked at.
    fn check(&self, invocation: &Invocation) -> Result<(), Failure> {
        let now = self.facts();
        for name in [SERVER, TOOL] {
            if let Some(before) = invocation.facts.get(name)
                && now.get(name) != Some(before)
            {
                let text = format!(
                    "the tool {} is not what it was when the call was looked at: its {name} changed; call it again",
                    self.listed.spec.name
                );
                return Err(Failure::text(text));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for RemoteTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteTool").field("name", &self.listed.spec.name).finish_non_exhaustive()
    }
}

#[async_trait]
impl Tool for RemoteTool {
    fn spec(&self) -> ToolSpec {
        self.listed.spec.clone()
    }

    async fn prepare(&self, _intent: Intent<'_>) -> Result<Prepared, String> {
        Ok(Prepared { facts: self.facts(), preview: None })
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        let cancelled = invocation.cancelled.clone();
        let live = tokio::select! {
            biased;
            () = cancelled.cancelled() => {
                return Err(Failure::text("the call was cancelled before it was sent"));
            }
            live = self.live() => live?,
        };
        self.check(&invocation)?;
        call::call(&self.server, &self.listed.original, &invocation, live).await
    }
}
