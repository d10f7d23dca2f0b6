//! An agent as clients read it, and what they send to make or change one.

use agent_world_core::config;
use agent_world_core::ids::AgentId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::patch::Patch;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Agent {
    pub id: String,
    pub name: String,
    /// `vendor/model`; the world's default when absent.
    pub model: Option<String>,
    pub instructions: String,
    pub temperature: Option<f64>,
    pub max_output_tokens: Option<u64>,
    pub reasoning_effort: Option<String>,
    /// `["*"]` for every tool of the world, or names.
    pub tools: Vec<String>,
    /// Whether an answer of its that mentions nobody goes back to the agent it answers, as if it began with that one's name.
    pub auto_reply: bool,
    pub parallel_tool_calls: bool,
    /// Overrides the world's setting.
    pub streaming: Option<bool>,
}

impl Agent {
    pub fn from_settings(agent: &config::Agent) -> Self {
        Self {
            id: agent.id.to_string(),
            name: agent.name.clone(),
            model: agent.model.clone(),
            instructions: agent.instructions.clone(),
            temperature: agent.temperature,
            max_output_tokens: agent.max_output_tokens,
            reasoning_effort: agent.reasoning_effort.clone(),
            tools: agent.tools.clone(),
            auto_reply: agent.auto_reply,
            parallel_tool_calls: agent.parallel_tool_calls,
            streaming: agent.streaming,
        }
    }
}

/// What an agent is made with, or what of it is changed. A setting that is left out is kept as it is; `null` puts it back
/// to its default.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentInput {
    /// Only when an agent is made; otherwise it is made of the name.
    pub id: Option<String>,
    /// Only when an agent is changed: the version of the world the change was made for.
    pub version: Option<u64>,
    /// The id when left out.
    pub name: Option<String>,
    /// `vendor/model`.
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub model: Patch<String>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub instructions: Patch<String>,
    #[serde(default)]
    #[schema(value_type = Option<f64>)]
    pub temperature: Patch<f64>,
    #[serde(default)]
    #[schema(value_type = Option<u64>)]
    pub max_output_tokens: Patch<u64>,
    #[serde(default)]
    #[schema(value_type = Option<String>)]
    pub reasoning_effort: Patch<String>,
    #[serde(default)]
    #[schema(value_type = Option<Vec<String>>)]
    pub tools: Patch<Vec<String>>,
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub auto_reply: Patch<bool>,
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub parallel_tool_calls: Patch<bool>,
    #[serde(default)]
    #[schema(value_type = Option<bool>)]
    pub streaming: Patch<bool>,
}

impl AgentInput {
    /// Changes all but the id.
    pub fn apply(self, agent: &mut config::Agent) {
        let usual = config::Agent::new(agent.id.clone());
        if let Some(name) = self.name {
            agent.name = name;
        }
        self.model.apply_optional(&mut agent.model);
        self.instructions.apply(&mut agent.instructions, String::new);
        self.temperature.apply_optional(&mut agent.temperature);
        self.max_output_tokens.apply_optional(&mut agent.max_output_tokens);
        self.reasoning_effort.apply_optional(&mut agent.reasoning_effort);
        self.tools.apply(&mut agent.tools, || usual.tools);
        self.auto_reply.apply(&mut agent.auto_reply, || usual.auto_reply);
        self.parallel_tool_calls
            .apply(&mut agent.parallel_tool_calls, || usual.parallel_tool_calls);
        self.streaming.apply_optional(&mut agent.streaming);
    }

    /// A new agent of that id.
    pub fn make(self, id: AgentId) -> config::Agent {
        let mut agent = config::Agent::new(id);
        self.apply(&mut agent);
        agent
    }
}
