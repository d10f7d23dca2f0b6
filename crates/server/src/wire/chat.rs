//! A chat as clients read it, with what goes on in it.

use agent_world_core::Timestamp;
use agent_world_core::event::Author;
use agent_world_core::view::{AgentActivity, ChatView, Glance};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Chat {
    pub id: String,
    pub world_id: String,
    pub title: String,
    /// `default`, `model` or `person`: who named it.
    pub named_by: &'static str,
    pub forked_from: Option<ForkedFrom>,
    pub activity: Activity,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ForkedFrom {
    pub chat_id: String,
    pub message_id: String,
}

/// Who is at work, and on what.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Activity {
    /// `busy` or `idle`.
    pub state: &'static str,
    pub agents: Vec<AgentAtWork>,
    /// The calls that run now, by id.
    pub running_calls: Vec<String>,
    /// How many approvals wait for a decision.
    pub waiting_approvals: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct AgentAtWork {
    pub id: String,
    /// `thinking`, `running_tools`, `awaiting_approval` or `awaiting_human`.
    #[schema(value_type = String)]
    pub doing: agent_world_core::view::Doing,
}

/// What a chat waits for.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Standing {
    /// A model or a tool is at it, or about to be. Naming the chat does not count.
    pub works: bool,
    /// The approvals that wait for a decision, by id.
    pub waiting_approvals: Vec<String>,
}

/// A chat to open.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewChat {
    /// Without one, a model names the chat once there is something to name.
    pub title: Option<String>,
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    pub title: String,
}

/// Whose work is meant.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfAgent {
    /// Absent: all agents of the chat.
    pub agent_id: Option<String>,
}

#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkPoint {
    /// The last message the new chat takes along.
    pub message_id: String,
}

impl Chat {
    pub fn from_view(view: &ChatView) -> Self {
        let activity = &view.activity;
        Self {
            id: view.id.to_string(),
            world_id: view.world.to_string(),
            title: view.title.clone(),
            named_by: match view.named_by {
                Author::Default => "default",
                Author::Model => "model",
                Author::Person(_) => "person",
            },
            forked_from: view.forked_from.as_ref().map(|origin| ForkedFrom {
                chat_id: origin.chat.to_string(),
                message_id: origin.message.to_string(),
            }),
            activity: Activity {
                state: state(activity.busy),
                agents: agents(&activity.agents),
                running_calls: activity.running.iter().map(ToString::to_string).collect(),
                waiting_approvals: activity.waiting.len(),
            },
            created_at: view.created_at,
            updated_at: view.updated_at,
        }
    }
}

impl Standing {
    pub fn new(standing: &agent_world_runtime::Standing) -> Self {
        Self {
            works: standing.works,
            waiting_approvals: standing.waiting.iter().map(ToString::to_string).collect(),
        }
    }
}

impl Activity {
    pub fn from_glance(glance: &Glance) -> Self {
        Self {
            state: state(glance.busy),
            agents: agents(&glance.agents),
            running_calls: glance.running.iter().map(ToString::to_string).collect(),
            waiting_approvals: glance.waiting,
        }
    }
}

fn state(busy: bool) -> &'static str {
    if busy { "busy" } else { "idle" }
}

fn agents(at_work: &[AgentActivity]) -> Vec<AgentAtWork> {
    let agent = |one: &AgentActivity| AgentAtWork { id: one.agent.to_string(), doing: one.doing };
    at_work.iter().map(agent).collect()
}
