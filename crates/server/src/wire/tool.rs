//! A tool of a world as clients read it.

use agent_world_core::config::{Location, Modes, Source, ToolSpec, World};
use agent_world_core::event::Choice;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Tool {
    pub name: String,
    pub description: String,
    /// `server` or `client`: who executes it.
    #[schema(value_type = String)]
    pub location: Location,
    pub approval: ToolApproval,
    /// JSON Schema of its arguments.
    #[schema(value_type = Object)]
    pub schema: Value,
    /// `built_in`, `mcp_server` or `client`.
    pub source: &'static str,
    /// Which server or client, where it is of one.
    pub source_name: Option<String>,
    /// `blocking`, `background` or `per_call`: whether the model waits for it.
    #[schema(value_type = String)]
    pub mode: Modes,
    pub timeout_seconds: u64,
    pub read_only: bool,
    /// Running it twice is the same as running it once.
    pub idempotent: bool,
    pub destructive: bool,
    /// The agents that are given it.
    pub offered_to: Vec<String>,
}

/// What a tool asks of people when no rule says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ToolApproval {
    pub required: bool,
    /// Shown to the person; `{name}` is filled from the arguments.
    pub message: Option<String>,
    /// The choices it leaves to the person; absent for all of them.
    #[schema(value_type = Option<Vec<String>>)]
    pub options: Option<Vec<Choice>>,
}

impl Tool {
    pub fn from_spec(spec: &ToolSpec, world: &World) -> Self {
        let (source, source_name) = match &spec.source {
            Source::Program => ("built_in", None),
            Source::McpServer(name) => ("mcp_server", Some(name.clone())),
            Source::Client(name) => ("client", Some(name.clone())),
        };
        let offered = world.agents.iter().filter(|agent| agent.may_see(&spec.name));
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            location: spec.location,
            approval: ToolApproval {
                required: spec.approval.required,
                message: spec.approval.message.clone(),
                options: spec.approval.options.clone(),
            },
            schema: Value::clone(&spec.parameters),
            source,
            source_name,
            mode: spec.mode,
            timeout_seconds: spec.timeout_seconds,
            read_only: spec.read_only,
            idempotent: spec.idempotent,
            destructive: spec.destructive,
            offered_to: offered.map(|agent| agent.id.to_string()).collect(),
        }
    }
}
