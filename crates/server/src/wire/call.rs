//! A tool call as clients read it.

use agent_world_core::Timestamp;
use agent_world_core::chat::CallState;
use agent_world_core::config::Location;
use agent_world_core::display::mask_secrets;
use agent_world_core::event::{Outcome, Whole};
use agent_world_core::ids::ChatId;
use agent_world_core::view::CallView;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Call {
    pub id: String,
    pub chat_id: String,
    pub agent_id: String,
    pub turn_id: String,
    pub name: String,
    /// Secrets are masked, except for a tool that the client executes and so must know.
    #[schema(value_type = Object)]
    pub arguments: Value,
    pub blocking: bool,
    /// `server` or `client`: who executes it.
    #[schema(value_type = String)]
    pub location: Location,
    /// `pending`, `awaiting_approval`, `executing`, `completed`, `failed`, `timeout`, `denied`, `expired`,
    /// `interrupted` or `cancelled`.
    pub state: String,
    pub approval_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub requested_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub started_at: Option<Timestamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<i64>,
    pub result: Option<String>,
    /// Where `result` is only its beginning and end: how long the whole is.
    #[schema(value_type = Option<Object>)]
    pub result_whole: Option<Whole>,
    /// Facts beside the text: exit code, structured content.
    #[schema(value_type = Option<Object>)]
    pub details: Option<Value>,
    pub is_error: bool,
}

impl Call {
    pub fn from_view(chat: &ChatId, view: &CallView) -> Self {
        let duration = view.started_at.zip(view.ended_at);
        let output = view.output.as_ref();
        let arguments = match view.location {
            Location::Server => mask_secrets(&view.arguments),
            Location::Client => view.arguments.clone(),
        };
        Self {
            id: view.id.to_string(),
            chat_id: chat.to_string(),
            agent_id: view.agent.to_string(),
            turn_id: view.turn.to_string(),
            name: view.name.clone(),
            arguments,
            blocking: view.blocking,
            location: view.location,
            state: view.state.name().to_owned(),
            approval_id: view.approval.as_ref().map(ToString::to_string),
            requested_at: view.requested_at,
            started_at: view.started_at,
            ended_at: view.ended_at,
            duration_ms: duration.map(|(from, to)| to.as_millisecond() - from.as_millisecond()),
            result: output.map(|output| output.text.clone()),
            result_whole: output.and_then(|output| output.whole.as_deref().copied()),
            details: output.map(|output| output.details.clone()).filter(|value| !value.is_null()),
            is_error: matches!(view.state, CallState::Ended(outcome) if outcome != Outcome::Completed),
        }
    }
}
