//! Decides what people can set: worlds, their agents, and what a tool declares about itself.
//! Stored as one small versioned document per world. Never holds a conversation, a secret or a running thing.

mod bounds;
mod mcp;
mod sandbox;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::arguments::Schema;
use crate::event::Choice;
use crate::ids::{AgentId, WorldId, is_slug};
use crate::mention::Roster;
use crate::policy::{Policy, Problem};
use crate::sender;

pub use mcp::{McpServer, McpTransport, SET};
pub use sandbox::{Sandbox, SandboxMode};

pub const DEFAULT_TURN_LIMIT: u32 = 5;
pub const DEFAULT_MAX_ITERATIONS: u32 = 10;
/// Characters of one tool result that a model is given.
pub const DEFAULT_RESULT_LIMIT: usize = 20_000;
pub const DEFAULT_TOOL_TIMEOUT_SECONDS: u64 = 30;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct World {
    pub id: WorldId,
    pub name: String,
    #[serde(default)]
    pub description: String,
    /// Counts the changes of this document; a writer states the one it read.
    #[serde(default)]
    pub version: u64,
    #[serde(default = "default_turn_limit")]
    pub turn_limit: u32,
    #[serde(default = "default_max_iterations")]
    pub max_iterations: u32,
    #[serde(default)]
    pub main_agent: Option<AgentId>,
    #[serde(default)]
    pub after_denial: AfterDenial,
    #[serde(default)]
    pub approval_timeout_seconds: Option<u64>,
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    #[serde(default)]
    pub working_directory: Option<String>,
    #[serde(default)]
    pub default_model: Option<String>,
    #[serde(default)]
    pub title_model: Option<String>,
    #[serde(default = "default_true")]
    pub streaming: bool,
    #[serde(default = "default_result_limit")]
    pub result_limit: usize,
    #[serde(default)]
    pub agents: Vec<Agent>,
    #[serde(default)]
    pub policy: Policy,
    #[serde(default)]
    pub sandbox: Sandbox,
    #[serde(default)]
    pub mcp_servers: BTreeMap<String, McpServer>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// What happens to a turn in which a person denied a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AfterDenial {
    /// The model gets the denial as the tool's result and goes on.
    #[default]
    Reply,
    /// The turn waits; the next human message goes to the model together with all results.
    Wait,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub id: AgentId,
    pub name: String,
    /// `vendor/model`; the world's default when absent.
    #[serde(default)]
    pub model: Option<String>,
    #[serde(default)]
    pub instructions: String,
    #[serde(default)]
    pub temperature: Option<f64>,
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// `["*"]` for every tool of the world, or names.
    #[serde(default = "all_tools")]
    pub tools: Vec<String>,
    /// An answer that mentions nobody goes back to the agent it answers.
    #[serde(default = "default_true")]
    pub auto_reply: bool,
    #[serde(default = "default_true")]
    pub parallel_tool_calls: bool,
    /// Overrides the world's setting.
    #[serde(default)]
    pub streaming: Option<bool>,
}

/// Whether something can be the name of a tool: models and people can write it, and it is not of the person's side.
pub fn is_tool_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && !name.to_ascii_lowercase().starts_with("client.")
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// What a tool says about itself when it is registered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments object.
    pub parameters: Arc<Value>,
    #[serde(default)]
    pub location: Location,
    #[serde(default)]
    pub approval: Approval,
    #[serde(default)]
    pub mode: Modes,
    #[serde(default = "default_tool_timeout")]
    pub timeout_seconds: u64,
    #[serde(default)]
    pub read_only: bool,
    /// Running it twice is the same as running it once: it may be started again after a crash.
    #[serde(default)]
    pub idempotent: bool,
    #[serde(default)]
    pub destructive: bool,
    #[serde(default)]
    pub source: Source,
}

/// Where a tool comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The program itself: built in, or registered by whoever embeds the runtime.
    #[default]
    Program,
    McpServer(String),
    Client(String),
}

/// Who executes a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    #[default]
    Server,
    Client,
}

/// Whether the model waits for a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    #[default]
    Blocking,
    Background,
}

/// In which modes a tool runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modes {
    #[default]
    Blocking,
    Background,
    /// Each call says: with the argument `blocking: false` it runs in the background.
    PerCall,
}

/// What a tool asks of people when no rule says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    pub required: bool,
    /// Shown to the person; `{name}` is filled from the arguments.
    #[serde(default)]
    pub message: Option<String>,
    /// The choices it leaves to the person; absent for all of them. Denying is always one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<Choice>>,
}

impl Default for Approval {
    fn default() -> Self {
        Self { required: true, message: None, options: None }
    }
}

impl Approval {
    pub fn not_required() -> Self {
        Self { required: false, ..Self::default() }
    }
}

/// The tools that exist for a world right now.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    specs: BTreeMap<String, Arc<ToolSpec>>,
    /// Each tool's schema, compiled when it is first called.
    schemas: BTreeMap<String, Arc<OnceLock<Schema>>>,
}

/// What a decision is made from besides the chat itself.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    pub world: &'a World,
    pub tools: &'a Tools,
}

/// Why settings are refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error(
        "`{0}` cannot be the id of a world or agent; use lower-case letters, digits, - and _, at most 64, starting with a letter or digit"
    )]
    Slug(String),
    #[error("an agent cannot be called `{0}`: the name stands for somebody else; choose another")]
    Reserved(String),
    #[error("two agents answer to `{0}`; give each an id and a name of its own")]
    Ambiguous(String),
    #[error("main_agent `{0}` is not an agent of this world; add it or name another")]
    MainAgent(AgentId),
    #[error("`{field}` must be at least 1")]
    Zero { field: &'static str },
    #[error("`{field}` {why}")]
    OutOfBounds { field: String, why: String },
    #[error("the policy is refused: {}", list(.0))]
    Policy(Vec<Problem>),
}

impl World {
    /// A world with every setting at its default.
    pub fn new(id: WorldId, name: impl Into<String>, at: Timestamp) -> Self {
        Self {
            id,
            name: name.into(),
            description: String::new(),
            version: 0,
            turn_limit: DEFAULT_TURN_LIMIT,
            max_iterations: DEFAULT_MAX_ITERATIONS,
            main_agent: None,
            after_denial: AfterDenial::default(),
            approval_timeout_seconds: None,
            variables: BTreeMap::new(),
            working_directory: None,
            default_model: None,
            title_model: None,
            streaming: true,
            result_limit: DEFAULT_RESULT_LIMIT,
            agents: Vec::new(),
            policy: Policy::default(),
            sandbox: Sandbox::default(),
            mcp_servers: BTreeMap::new(),
            created_at: at,
            updated_at: at,
        }
    }

    pub fn agent(&self, id: &AgentId) -> Option<&Agent> {
        self.agents.iter().find(|agent| &agent.id == id)
    }

    pub fn roster(&self) -> Roster<'_> {
        Roster::new(self.agents.iter().map(|agent| (&agent.id, agent.name.as_str())))
    }

    /// The model an agent speaks with, if any is set.
    pub fn model_of<'a>(&'a self, agent: &'a Agent) -> Option<&'a str> {
        agent.model.as_deref().or(self.default_model.as_deref())
    }

    pub fn streams(&self, agent: &Agent) -> bool {
        agent.streaming.unwrap_or(self.streaming)
    }

    /// Refuses settings under which a message could not be routed or a turn never run.
    pub fn check(&self) -> Result<(), Invalid> {
        if !is_slug(self.id.as_str()) {
            return Err(Invalid::Slug(self.id.to_string()));
        }
        for (field, value) in
            [("turn_limit", self.turn_limit), ("max_iterations", self.max_iterations)]
        {
            if value == 0 {
                return Err(Invalid::Zero { field });
            }
        }
        self.check_agents()?;
        self.policy.check().map_err(Invalid::Policy)?;
        match &self.main_agent {
            Some(id) if self.agent(id).is_none() => Err(Invalid::MainAgent(id.clone())),
            _ => Ok(()),
        }
    }

    fn check_agents(&self) -> Result<(), Invalid> {
        let mut taken = BTreeSet::new();
        for agent in &self.agents {
            if !is_slug(agent.id.as_str()) {
                return Err(Invalid::Slug(agent.id.to_string()));
            }
            let names: BTreeSet<String> =
                [agent.id.as_str(), agent.name.trim()].into_iter().map(str::to_lowercase).collect();
            for name in names {
                if sender::is_reserved(&name) {
                    return Err(Invalid::Reserved(name));
                }
                if !taken.insert(name.clone()) {
                    return Err(Invalid::Ambiguous(name));
                }
            }
        }
        Ok(())
    }
}

impl Agent {
    /// An agent with every setting at its default.
    pub fn new(id: impl Into<AgentId>) -> Self {
        let id = id.into();
        Self {
            name: id.to_string(),
            id,
            model: None,
            instructions: String::new(),
            temperature: None,
            max_output_tokens: None,
            reasoning_effort: None,
            tools: all_tools(),
            auto_reply: true,
            parallel_tool_calls: true,
            streaming: None,
        }
    }

    pub fn may_see(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == "*" || name == tool)
    }
}

impl ToolSpec {
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: Arc::new(parameters),
            location: Location::Server,
            approval: Approval::default(),
            mode: Modes::Blocking,
            timeout_seconds: DEFAULT_TOOL_TIMEOUT_SECONDS,
            read_only: false,
            idempotent: false,
            destructive: false,
            source: Source::Program,
        }
    }

    /// Whether the model waits for a call with these arguments.
    pub fn mode_of(&self, arguments: &Value) -> Mode {
        let wanted = arguments.get("blocking").and_then(Value::as_bool);
        match (self.mode, wanted) {
            (Modes::Background, _) | (Modes::PerCall, Some(false)) => Mode::Background,
            (Modes::Blocking, _) | (Modes::PerCall, _) => Mode::Blocking,
        }
    }

    /// Whether a start that may or may not have happened may be repeated.
    pub fn may_repeat(&self) -> bool {
        self.idempotent || self.read_only
    }
}

impl Tools {
    pub fn get(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.specs.get(name)
    }

    /// What a tool's arguments are held to.
    pub fn schema(&self, name: &str) -> Option<&Schema> {
        let spec = self.specs.get(name)?;
        Some(self.schemas.get(name)?.get_or_init(|| Schema::new(&spec.parameters)))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.specs.values()
    }

    /// The tools an agent is offered, in a stable order.
    pub fn of<'a>(&'a self, agent: &'a Agent) -> impl Iterator<Item = &'a Arc<ToolSpec>> {
        self.specs.values().filter(|spec| agent.may_see(&spec.name))
    }
}

impl FromIterator<ToolSpec> for Tools {
    fn from_iter<I: IntoIterator<Item = ToolSpec>>(specs: I) -> Self {
        let specs: BTreeMap<String, Arc<ToolSpec>> =
            specs.into_iter().map(|spec| (spec.name.clone(), Arc::new(spec))).collect();
        let schemas = specs.keys().map(|name| (name.clone(), Arc::default())).collect();
        Self { specs, schemas }
    }
}

fn list(problems: &[Problem]) -> String {
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    problems.join("; ")
}

fn default_turn_limit() -> u32 {
    DEFAULT_TURN_LIMIT
}

fn default_max_iterations() -> u32 {
    DEFAULT_MAX_ITERATIONS
}

fn default_result_limit() -> usize {
    DEFAULT_RESULT_LIMIT
}

fn default_tool_timeout() -> u64 {
    DEFAULT_TOOL_TIMEOUT_SECONDS
}

fn default_true() -> bool {
    true
}

fn all_tools() -> Vec<String> {
    vec!["*".to_owned()]
}
