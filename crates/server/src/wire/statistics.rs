//! How a world's tools and models were used, as clients read it.

use std::collections::BTreeMap;

use agent_world_core::Timestamp;
use agent_world_core::audit;
use agent_world_runtime::store::UsageTotal;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Statistics {
    pub world_id: String,
    /// One for each tool and agent.
    pub tools: Vec<ToolUse>,
    /// One for each agent, and one for what no agent used.
    pub usage: Vec<ModelUse>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ToolUse {
    pub tool: String,
    pub agent_id: String,
    pub calls: u64,
    /// How many calls ended in which way.
    pub outcomes: BTreeMap<String, u64>,
    pub approvals: Answers,
    /// Runs that have ended.
    pub runs: u64,
    pub mean_ms: Option<u64>,
    pub max_ms: Option<u64>,
    #[schema(value_type = String, format = DateTime)]
    pub first_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub last_at: Timestamp,
}

/// How often a person was asked, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Answers {
    pub asked: u64,
    pub approved: u64,
    pub denied: u64,
    pub expired: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ModelUse {
    /// Absent for what no agent used: titles.
    pub agent_id: Option<String>,
    pub model_calls: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub total_tokens: u64,
    pub cached_input_tokens: u64,
    pub reasoning_tokens: u64,
}

impl Statistics {
    /// Nothing was done.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.usage.is_empty()
    }
}

impl ToolUse {
    pub fn of(sums: &audit::Statistics) -> Self {
        Self {
            tool: sums.tool.clone(),
            agent_id: sums.agent.to_string(),
            calls: sums.calls,
            outcomes: sums.outcomes.clone(),
            approvals: Answers {
                asked: sums.asked,
                approved: sums.approved,
                denied: sums.denied,
                expired: sums.expired,
            },
            runs: sums.runs,
            mean_ms: sums.mean_ms(),
            max_ms: (sums.runs > 0).then_some(sums.longest_ms),
            first_at: sums.first,
            last_at: sums.last,
        }
    }
}

impl ModelUse {
    pub fn of(total: &UsageTotal) -> Self {
        let usage = &total.usage;
        Self {
            agent_id: total.agent.as_ref().map(ToString::to_string),
            model_calls: total.model_calls,
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            total_tokens: usage.total_tokens,
            cached_input_tokens: usage.cached_input_tokens,
            reasoning_tokens: usage.reasoning_tokens,
        }
    }
}
