//! What people decide, as clients send it. What a decision is about is never taken from here, only compared.

use agent_world_core::command::Scope;
use agent_world_core::unambiguous;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{Approval, Call};

/// A decision on a request for approval.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Decide {
    pub decision: Verdict,
    /// How far an approval goes; `once` unless said. `session` and `always` without a `match` hold for every call of this tool by
    /// this agent.
    pub scope: Option<Reach>,
    /// What narrows a permission that lasts: one condition or a list of them, or the place of one in `suggested_matches`,
    /// counted from 0.
    #[serde(rename = "match", default, deserialize_with = "unambiguous::optional")]
    #[schema(value_type = Value)]
    pub narrowed: Option<Value>,
    /// Told to the model with a denial. With an approval it is only recorded, such as that a program decided.
    pub reason: Option<String>,
    /// To run in place of the model's arguments; where a running tool asks for something, the answer.
    #[serde(default, deserialize_with = "unambiguous::optional")]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Value>,
    /// Whom the sender believes this to be about: refused where it is somebody else.
    pub agent_id: Option<String>,
    /// Which tool the sender believes this to be about.
    pub tool: Option<String>,
}

/// A decision, or what a client's tool gave back.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolResult {
    /// The id of a request for approval, of the call it is about, or of a call that the client executes.
    pub tool_call_id: String,
    pub decision: Option<Verdict>,
    /// How far an approval goes; `once` unless said.
    pub scope: Option<Reach>,
    /// As in a decision on an approval.
    #[serde(rename = "match", default, deserialize_with = "unambiguous::optional")]
    #[schema(value_type = Value)]
    pub narrowed: Option<Value>,
    pub reason: Option<String>,
    #[serde(default, deserialize_with = "unambiguous::optional")]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Value>,
    /// The result of a client's tool; for a `client.requestApproval` call one of `approve_once`, `approve_session`,
    /// `approve_always`, `deny` or `deny: ` and the reason.
    pub content: Option<String>,
    pub is_error: Option<bool>,
    /// Whom the sender believes this to be about: refused where it is somebody else.
    pub agent_id: Option<String>,
    /// Which tool the sender believes this to be about.
    pub tool: Option<String>,
    /// What the sender was asked about, as the request said it: refused where it is something else.
    #[serde(rename = "originalToolCall")]
    pub original: Option<OriginalCall>,
}

/// A call as a `client.requestApproval` call tells it.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OriginalCall {
    pub id: Option<String>,
    pub name: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub args: Option<Value>,
    #[serde(rename = "workingDirectory")]
    pub working_directory: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Approve,
    Deny,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reach {
    /// This call.
    #[default]
    Once,
    /// This agent and tool for the rest of the chat.
    Session,
    /// A rule of the world.
    Always,
}

/// What became of what was sent.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Settled {
    /// Where a decision was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    pub tool_call: Call,
}

/// What somebody wants of a request, however they sent it.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    pub verdict: Verdict,
    pub reach: Reach,
    pub narrowed: Option<Value>,
    pub reason: Option<String>,
    pub arguments: Option<Value>,
}

impl Wish {
    /// A plain yes or no.
    pub fn plain(verdict: Verdict, reach: Reach, reason: Option<String>) -> Self {
        Self { verdict, reach, narrowed: None, reason, arguments: None }
    }

    /// One of the choices that a request offers, as an OpenAI client answers a call: with a text.
    pub fn from_choice(text: &str) -> Option<Self> {
        let text = text.trim();
        let approve = |reach| Some(Self::plain(Verdict::Approve, reach, None));
        match text {
            "approve_once" => approve(Reach::Once),
            "approve_session" => approve(Reach::Session),
            "approve_always" => approve(Reach::Always),
            "deny" => Some(Self::plain(Verdict::Deny, Reach::Once, None)),
            _ => {
                let reason = text.strip_prefix("deny:")?.trim().to_owned();
                Some(Self::plain(Verdict::Deny, Reach::Once, Some(reason)))
            }
        }
    }
}

impl From<Reach> for Scope {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Once => Self::Once,
            Reach::Session => Self::Session,
            Reach::Always => Self::Always,
        }
    }
}
