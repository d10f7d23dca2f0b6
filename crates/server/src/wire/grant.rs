//! A permission for the rest of a chat as clients read it.

use agent_world_core::Timestamp;
use agent_world_core::display::mask_secrets;
use agent_world_core::policy;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Grant {
    pub id: String,
    pub chat_id: String,
    pub agent_id: String,
    pub tool: String,
    /// What narrows it, secrets masked; empty for every call of the tool.
    #[schema(value_type = Vec<Object>)]
    pub matches: Value,
    /// The request whose answer gave it.
    pub approval_id: String,
    pub granted_by: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

impl Grant {
    pub fn new(chat: &agent_world_core::ids::ChatId, grant: &policy::Grant) -> Self {
        Self {
            id: grant.id.to_string(),
            chat_id: chat.to_string(),
            agent_id: grant.agent.to_string(),
            tool: grant.tool.clone(),
            matches: mask_secrets(&json!(grant.matches)),
            approval_id: grant.approval.to_string(),
            granted_by: grant.by.clone(),
            created_at: grant.at,
        }
    }
}
