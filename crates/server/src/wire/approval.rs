//! A request for approval as clients read it, with what became of it.

use agent_world_core::Timestamp;
use agent_world_core::display::mask_secrets;
use agent_world_core::event::{Choice, Decider, Decision, Permission};
use agent_world_core::view::{ApprovalState, ApprovalView};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::Message;

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Approval {
    pub id: String,
    /// `pending`, `approved`, `denied`, `expired` or `withdrawn`.
    pub state: &'static str,
    pub world_id: String,
    pub chat_id: String,
    pub agent_id: String,
    pub tool_call_id: String,
    pub tool: String,
    /// As they will run, secrets masked.
    #[schema(value_type = Object)]
    pub arguments: Value,
    pub working_directory: Option<String>,
    /// What the person is asked.
    pub message: String,
    /// The arguments as text: secrets masked, invisible characters made visible, nothing cut in silence.
    pub shown: String,
    /// Some of `deny`, `approve_once`, `approve_session`, `approve_always`.
    #[schema(value_type = Vec<String>)]
    pub options: Vec<Choice>,
    /// Narrower conditions under which `session` and `always` can be given.
    #[schema(value_type = Vec<Object>)]
    pub suggested_matches: Value,
    /// What the call would do, as far as its tool can say: a diff.
    pub preview: Option<String>,
    /// What an approval holds for besides the arguments: the program, the directory, the content of a script.
    #[schema(value_type = Option<Object>)]
    pub binding: Value,
    /// An earlier approval that does not hold any more, and why.
    #[schema(value_type = Option<Object>)]
    pub voided: Value,
    /// Where a running tool asks for something: the schema of the answer, to be sent as `arguments`.
    #[schema(value_type = Option<Object>)]
    pub form: Value,
    /// The messages before it, where one approval is read on its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Message>>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What became of a request. Everything is absent while it waits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Outcome {
    /// `approve` or `deny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Arguments that the person put in place of the model's, secrets masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub edited_arguments: Option<Value>,
    /// What a running tool was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub answer: Option<Value>,
    /// Who: a person's name; where a permission decided, the person who gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The grant or rule that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_through: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub decided_at: Option<Timestamp>,
}

impl Approval {
    pub fn from_view(view: &ApprovalView) -> Self {
        let (state, outcome) = outcome(&view.state);
        Self {
            id: view.id.to_string(),
            state,
            world_id: view.world.to_string(),
            chat_id: view.chat.to_string(),
            agent_id: view.agent.to_string(),
            tool_call_id: view.call.to_string(),
            tool: view.tool.clone(),
            arguments: mask_secrets(&view.arguments),
            working_directory: view.working_directory.clone(),
            message: view.question.clone(),
            shown: view.shown.clone(),
            options: view.options.clone(),
            suggested_matches: mask_secrets(&json!(view.suggestions)),
            preview: view.preview.clone(),
            binding: json!(view.binding),
            voided: json!(view.voided),
            form: json!(view.form),
            context: None,
            created_at: view.created_at,
            expires_at: view.expires_at,
            outcome,
        }
    }
}

fn outcome(state: &ApprovalState) -> (&'static str, Outcome) {
    match state {
        ApprovalState::Pending => ("pending", Outcome::default()),
        ApprovalState::Expired { at } => {
            ("expired", Outcome { decided_at: Some(*at), ..Outcome::default() })
        }
        ApprovalState::Withdrawn { reason, at } => {
            let reason = Some(reason.clone());
            ("withdrawn", Outcome { reason, decided_at: Some(*at), ..Outcome::default() })
        }
        ApprovalState::Decided { decision, by, at } => {
            let (decided_by, decided_through) = decider(by);
            let decided_at = Some(*at);
            let by = Outcome { decided_by, decided_through, decided_at, ..Outcome::default() };
            decided(decision, by)
        }
    }
}

fn decided(decision: &Decision, by: Outcome) -> (&'static str, Outcome) {
    match decision {
        Decision::Denied { reason } => {
            ("denied", Outcome { decision: Some("deny"), reason: reason.clone(), ..by })
        }
        Decision::Answered { content } => {
            let answer = Some(mask_secrets(content));
            let decision = Some("approve");
            ("approved", Outcome { decision, scope: Some("once"), answer, ..by })
        }
        Decision::Approved { scope, arguments, reason } => {
            let scope = Some(match scope {
                Permission::Once => "once",
                Permission::Session(_) => "session",
                Permission::Always(_) => "always",
            });
            let edited_arguments = arguments.as_ref().map(mask_secrets);
            let decision = Some("approve");
            let reason = reason.clone();
            ("approved", Outcome { decision, scope, reason, edited_arguments, ..by })
        }
    }
}

fn decider(by: &Decider) -> (Option<String>, Option<String>) {
    match by {
        Decider::Person(name) => (Some(name.clone()), None),
        Decider::Grant { grant, by } => (Some(by.clone()), Some(grant.to_string())),
        Decider::Rule { rule, by } => (Some(by.clone()), Some(rule.to_string())),
        Decider::Nobody => (None, None),
    }
}
