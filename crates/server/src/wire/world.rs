//! A world as clients read it, and what they send to make or change one.
//! Nobody sees a key: values of servers' variables and headers are not shown, other secrets are masked.

use std::collections::BTreeMap;

use agent_world_core::Timestamp;
use agent_world_core::config::{self, AfterDenial, SandboxMode};
use agent_world_core::display::mask_secrets;
use agent_world_core::unambiguous::Unambiguous;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::agent::{Agent, AgentInput};
use super::patch::Patch;
use super::policy::Policy;
use crate::problem::Problem;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct World {
    pub id: String,
    pub name: String,
    pub description: String,
    /// Turns that agents may take among themselves before a person is waited for.
    pub turn_limit: u32,
    /// Model calls of one turn.
    pub max_iterations: u32,
    /// Who answers a message that mentions nobody.
    pub main_agent: Option<String>,
    /// `reply` or `wait`: what happens to a turn in which a person denied a call.
    #[schema(value_type = String)]
    pub after_denial: AfterDenial,
    pub approval_timeout_seconds: Option<u64>,
    /// Secrets masked.
    #[schema(value_type = BTreeMap<String, String>)]
    pub variables: Value,
    /// Where its tools work.
    pub working_directory: Option<String>,
    /// `vendor/model`, for agents that name none.
    pub default_model: Option<String>,
    pub title_model: Option<String>,
    pub streaming: bool,
    /// Characters of one tool result that a model is given.
    pub result_limit: usize,
    pub agents: Vec<Agent>,
    pub policy: Policy,
    /// How programs are confined.
    #[schema(value_type = Sandbox)]
    pub sandbox: config::Sandbox,
    /// By name, without the values of variables and headers.
    #[schema(value_type = BTreeMap<String, Object>)]
    pub mcp_servers: BTreeMap<String, Map<String, Value>>,
    /// Counts the changes of these settings; the same as `ETag`.
    pub version: u64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

impl World {
    pub fn from_settings(world: &config::World) -> Result<Self, Problem> {
        let servers = world.mcp_servers.iter();
        Ok(Self {
            id: world.id.to_string(),
            name: world.name.clone(),
            description: world.description.clone(),
            turn_limit: world.turn_limit,
            max_iterations: world.max_iterations,
            main_agent: world.main_agent.as_ref().map(ToString::to_string),
            after_denial: world.after_denial,
            approval_timeout_seconds: world.approval_timeout_seconds,
            variables: mask_secrets(&json!(world.variables)),
            working_directory: world.working_directory.clone(),
            default_model: world.default_model.clone(),
            title_model: world.title_model.clone(),
            streaming: world.streaming,
            result_limit: world.result_limit,
            agents: world.agents.iter().map(Agent::from_settings).collect(),
            policy: Policy::from_settings(&world.policy)?,
            sandbox: world.sandbox.clone(),
            mcp_servers: servers.map(|(name, server)| (name.clone(), server.shown())).collect(),
            version: world.version,
            created_at: world.created_at,
            updated_at: world.updated_at,
        })
    }
}

/// What a world is made with, or what of it is changed. A setting that is left out is kept as it is; `null` puts it back
/// to its default.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorldInput {
    /// Only when a world is made; otherwise it is made of the name. Lower-case letters, digits, `-` and `_`.
    pub id: Option<String>,
    /// Only when a world is changed: the version the change was made for.
    pub version: Option<u64>,
    /// Needed when a world is made.
    pub name: Option<String>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub description: Patch<String>,
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub turn_limit: Patch<u32>,
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1)]
    pub max_iterations: Patch<u32>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub main_agent: Patch<String>,
    /// `reply` or `wait`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub after_denial: Patch<AfterDenial>,
    #[serde(default)]
    #[schema(value_type = Option<u64>)]
    pub approval_timeout_seconds: Patch<u64>,
    /// Merged by name; `null` takes one out.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, Option<String>>>)]
    pub variables: Patch<BTreeMap<String, Option<String>>>,
    /// A folder that exists, from the root on. A new world without one gets a folder of its own where the server has a
    /// place for it.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub working_directory: Patch<String>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub default_model: Patch<String>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub title_model: Patch<String>,
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub streaming: Patch<bool>,
    #[serde(default)]
    #[schema(value_type = Option<usize>)]
    pub result_limit: Patch<usize>,
    /// All agents, in place of those there are.
    #[serde(default)]
    #[schema(value_type = Option<Vec<AgentInput>>)]
    pub agents: Patch<Vec<AgentInput>>,
    /// `preset`, `rules` or both.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub policy: Patch<Unambiguous>,
    #[serde(default)]
    #[schema(value_type = Option<SandboxInput>)]
    pub sandbox: Patch<SandboxInput>,
    /// Merged by name; each replaces the one of its name as a whole, `null` takes one out.
    #[serde(default)]
    #[schema(value_type = Option<BTreeMap<String, Object>>)]
    pub mcp_servers: Patch<BTreeMap<String, Option<Value>>>,
}

/// How the programs of a world's agents are confined.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Sandbox {
    /// `on`, `off` or `required`.
    #[schema(value_type = String)]
    pub mode: SandboxMode,
    /// Whether programs may open sockets.
    pub network: bool,
    /// Whether `fetch_url` may reach this machine and its own networks.
    pub private_addresses: bool,
    /// What programs may read; absent for everything that is not hidden.
    #[schema(required = false)]
    pub readable: Option<Vec<String>>,
    #[schema(required = false)]
    pub hidden: Vec<String>,
    #[schema(required = false)]
    pub writable: Vec<String>,
    pub processes: u32,
    pub memory_bytes: u64,
    pub file_bytes: u64,
}

/// What of the confinement is changed.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxInput {
    /// `on`, `off` or `required`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub mode: Patch<SandboxMode>,
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub network: Patch<bool>,
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub private_addresses: Patch<bool>,
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub readable: Patch<Vec<String>>,
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub hidden: Patch<Vec<String>>,
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub writable: Patch<Vec<String>>,
    #[serde(default)]
    #[schema(value_type = Option<u32>)]
    pub processes: Patch<u32>,
    #[serde(default)]
    #[schema(value_type = Option<u64>)]
    pub memory_bytes: Patch<u64>,
    #[serde(default)]
    #[schema(value_type = Option<u64>)]
    pub file_bytes: Patch<u64>,
}

impl SandboxInput {
    pub fn apply(self, sandbox: &mut config::Sandbox) {
        let usual = config::Sandbox::default();
        self.mode.apply(&mut sandbox.mode, || usual.mode);
        self.network.apply(&mut sandbox.network, || usual.network);
        self.private_addresses.apply(&mut sandbox.private_addresses, || usual.private_addresses);
        self.readable.apply_optional(&mut sandbox.readable);
        self.hidden.apply(&mut sandbox.hidden, Vec::new);
        self.writable.apply(&mut sandbox.writable, Vec::new);
        self.processes.apply(&mut sandbox.processes, || usual.processes);
        self.memory_bytes.apply(&mut sandbox.memory_bytes, || usual.memory_bytes);
        self.file_bytes.apply(&mut sandbox.file_bytes, || usual.file_bytes);
    }
}
