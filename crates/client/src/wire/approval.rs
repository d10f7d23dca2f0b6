//! Requests for approval, and what people decide.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Message;

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Approval {
    pub id: String,
    pub state: ApprovalState,
    pub world_id: String,
    pub chat_id: String,
    pub agent_id: String,
    pub tool_call_id: String,
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
    #[serde(default)]
    pub working_directory: Option<String>,
    /// The question.
    #[serde(default)]
    pub message: String,
    /// What will run, as text.
    #[serde(default)]
    pub shown: String,
    /// `deny`, `approve_once`, `approve_session`, `approve_always`: what may be chosen.
    #[serde(default)]
    pub options: Vec<String>,
    #[serde(default)]
    pub suggested_matches: Vec<Suggestion>,
    /// What it would change, where the tool can tell.
    #[serde(default)]
    pub preview: Option<String>,
    /// What the decision will hold for besides the arguments.
    #[serde(default)]
    pub binding: Option<Binding>,
    /// What has changed since an earlier approval of the same call, so that it counts no more.
    #[serde(default)]
    pub voided: Option<Value>,
    /// What a running tool wants to know, in place of a permission.
    #[serde(default)]
    pub form: Option<Value>,
    /// The last messages, where one request is asked for.
    #[serde(default)]
    pub context: Option<Vec<Message>>,
    pub created_at: String,
    #[serde(default)]
    pub expires_at: Option<String>,
    #[serde(default)]
    pub scope: Option<String>,
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default)]
    pub edited_arguments: Option<Value>,
    /// What a running tool was told.
    #[serde(default)]
    pub answer: Option<Value>,
    #[serde(default)]
    pub decided_by: Option<String>,
    #[serde(default)]
    pub decided_through: Option<String>,
    #[serde(default)]
    pub decided_at: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    Pending,
    Approved,
    Denied,
    Expired,
    Withdrawn,
    /// One this client does not know.
    #[serde(other)]
    Other,
}

/// What an approval is tied to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Binding {
    /// What the call was found to mean where it runs, by name: `program`, `directory`, `sandbox`.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

/// A narrower permission.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Suggestion {
    pub label: String,
    /// None: it holds for every call of the tool.
    #[serde(default)]
    pub matches: Vec<Value>,
}

/// What a person decides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Decision {
    pub decision: Verdict,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Reach>,
    /// The place of a suggestion, from 0.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
}

// What nobody said is never an approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Approve,
    #[default]
    Deny,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    Once,
    Session,
    Always,
}

impl Approval {
    pub fn is_pending(&self) -> bool {
        self.state == ApprovalState::Pending
    }

    /// Whether a scope may be chosen.
    pub fn offers(&self, reach: Reach) -> bool {
        let name = match reach {
            Reach::Once => "approve_once",
            Reach::Session => "approve_session",
            Reach::Always => "approve_always",
        };
        self.options.iter().any(|option| option == name)
    }
}

impl Decision {
    pub fn approve(reach: Reach) -> Self {
        Self { decision: Verdict::Approve, scope: Some(reach), ..Self::default() }
    }

    pub fn deny(reason: Option<String>) -> Self {
        Self { reason, ..Self::default() }
    }
}
