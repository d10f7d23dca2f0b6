//! Chats, and what goes on in them.

use serde::Deserialize;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Chat {
    pub id: String,
    pub world_id: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub activity: Activity,
    pub created_at: String,
    pub updated_at: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Activity {
    /// `busy` or `idle`.
    #[serde(default)]
    pub state: String,
    #[serde(default)]
    pub agents: Vec<AgentAtWork>,
    #[serde(default)]
    pub running_calls: Vec<String>,
    #[serde(default)]
    pub waiting_approvals: usize,
}

/// What a chat waits for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Standing {
    /// A model or a tool is at it, or about to be.
    pub works: bool,
    /// The approvals that wait for a decision, by id.
    #[serde(default)]
    pub waiting_approvals: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct AgentAtWork {
    pub id: String,
    #[serde(default)]
    pub doing: Doing,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Doing {
    Thinking,
    RunningTools,
    AwaitingApproval,
    AwaitingHuman,
    /// Something this client does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl Activity {
    /// Whether something goes on without a person. A chat that only waits for one is busy, and nothing in it runs.
    pub fn works(&self) -> bool {
        let waits = |doing| matches!(doing, Doing::AwaitingApproval | Doing::AwaitingHuman);
        let nobody = self.agents.is_empty() && self.waiting_approvals == 0;
        !self.running_calls.is_empty()
            || self.agents.iter().any(|agent| !waits(agent.doing))
            || (self.is_busy() && nobody)
    }

    pub fn is_busy(&self) -> bool {
        self.state == "busy"
    }
}
