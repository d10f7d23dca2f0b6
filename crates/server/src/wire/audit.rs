//! An entry of the audit as clients read it, and which of them they want.
//! Secrets were masked when it was written.

use agent_world_core::Timestamp;
use agent_world_core::audit::Actor;
use agent_world_runtime::store::Audited;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct AuditEntry {
    /// The position of the event it tells of.
    pub seq: u64,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// `called`, `requested`, `decided`, `expired`, `withdrawn`, `started`, `finished`, `grant_revoked` or `changed`.
    pub kind: &'static str,
    pub world_id: String,
    /// Absent for changes of a world's settings.
    pub chat_id: Option<String>,
    pub agent_id: Option<String>,
    pub tool: Option<String>,
    pub tool_call_id: Option<String>,
    pub approval_id: Option<String>,
    /// Who or what it is due to: `kind` and, of a person, `name`.
    #[schema(value_type = Object)]
    pub actor: Actor,
    /// The rule or grant by which it was so, or that was made or taken back.
    pub rule: Option<String>,
    /// What is told of this kind: arguments, verdict, outcome.
    #[schema(value_type = Object)]
    pub data: Value,
}

impl AuditEntry {
    pub fn of(audited: &Audited) -> Self {
        let entry = &audited.entry;
        let mut data = json!(entry.what);
        if let Some(fields) = data.as_object_mut() {
            fields.remove("kind");
        }
        let text = |id: Option<&dyn ToString>| id.map(ToString::to_string);
        Self {
            seq: audited.position,
            at: entry.at,
            kind: entry.what.kind(),
            world_id: entry.world.to_string(),
            chat_id: text(entry.chat.as_ref().map(|id| id as _)),
            agent_id: text(entry.agent.as_ref().map(|id| id as _)),
            tool: entry.tool.clone(),
            tool_call_id: text(entry.call.as_ref().map(|id| id as _)),
            approval_id: text(entry.approval.as_ref().map(|id| id as _)),
            actor: entry.actor.clone(),
            rule: entry.rule.clone(),
            data,
        }
    }
}

/// Which entries are wanted: those that fit all that is given.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditQuery {
    pub world: Option<String>,
    pub chat: Option<String>,
    pub agent: Option<String>,
    pub tool: Option<String>,
    /// The id of a tool call.
    pub call: Option<String>,
    /// `called`, `requested`, `decided`, `expired`, `withdrawn`, `started`, `finished`, `grant_revoked` or `changed`.
    pub kind: Option<String>,
    /// A person's name, or `nobody`.
    pub actor: Option<String>,
    /// Not before this moment.
    #[param(value_type = Option<String>, format = DateTime)]
    pub since: Option<Timestamp>,
    /// Before this moment.
    #[param(value_type = Option<String>, format = DateTime)]
    pub until: Option<Timestamp>,
    /// How many; 100 unless said, at most 1000.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// The `seq` that ended the page before: `next` of that page.
    pub after: Option<u64>,
    /// Instead of `after`: the last entries before this `seq`. A number beyond all gives the newest; `next` leads back.
    pub before: Option<u64>,
}
