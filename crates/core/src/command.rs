//! Decides what may be asked of a chat, and in which words it is refused.
//! Built by the runtime from what people, models, tools and timers say. Carries every fact that is not in the chat's
//! state: time, random bits, and what was looked up in a read model at the chat's present head.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::binding::Prepared;
use crate::config::ToolSpec;
use crate::event::{Attendance, Copied, ForkOrigin, Form, Output, Position};
use crate::ids::{AgentId, ApprovalId, CallId, GrantId, MessageId, RuleId, TurnId, WorldId};
use crate::item::{Part, Reply, Usage};
use crate::policy::{Match, Preset};
use crate::sender::Sender;

/// How a reason for a denial begins where a program denied by itself, because nobody was there. Agents are told so: it was not
/// a person who did not want it.
pub const UNATTENDED: &str = "nobody was there to decide";

/// A command with the time and random bits it is decided by.
#[derive(Clone, Debug)]
pub struct Input {
    pub at: Timestamp,
    pub entropy: u128,
    pub command: Command,
}

#[derive(Clone, Debug)]
pub enum Command {
    CreateChat(CreateChat),
    RenameChat {
        title: String,
        by: String,
    },
    DeleteChat {
        by: String,
    },
    PostMessage(PostMessage),
    /// Removes the message and all that follows, then posts the new text.
    EditMessage {
        target: MessageRef,
        text: String,
        /// The authenticated user's name, when there is one: the new message carries it, as any other.
        user: Option<String>,
        by: String,
    },
    DeleteMessage {
        target: MessageRef,
        by: String,
    },
    /// Without an agent: the whole chat.
    Stop {
        agent: Option<AgentId>,
        by: String,
    },
    /// Takes the turns that failed up again.
    RetryTurns {
        agent: Option<AgentId>,
    },

    AnswerApproval(AnswerApproval),
    RevokeGrant {
        grant: GrantId,
        by: String,
    },
    /// A rule was granted elsewhere in the world: settle what it covers.
    ReviewApprovals,
    ExpireApprovals,

    RecordReply {
        turn: TurnId,
        reply: MessageId,
        model: String,
        answer: Reply,
        /// What the tools found of its calls, by their place in it.
        looks: BTreeMap<usize, Look>,
    },
    RecordModelFailure {
        turn: TurnId,
        reply: MessageId,
        error: String,
    },
    StartTool {
        call: CallId,
        /// What its tool finds now; absent when there is no such tool any more.
        look: Option<Look>,
    },
    RecordToolResult {
        call: CallId,
        attempt: u32,
        result: ToolResult,
    },
    /// Started, and whoever ran it is gone.
    RecordLostTool {
        call: CallId,
    },
    /// A running tool asks the person.
    AskPerson {
        call: CallId,
        attempt: u32,
        question: String,
        form: Form,
    },
    /// A client executes these tools for the chat from now on, in place of what it offered before.
    OfferTools {
        client: String,
        tools: Vec<ToolSpec>,
        by: String,
    },
    /// From the client that executes the tool.
    RecordClientResult {
        call: CallId,
        output: Output,
        is_error: bool,
    },
    RecordTitle {
        proposal: Result<TitleProposal, String>,
    },
}

#[derive(Clone, Debug)]
pub struct CreateChat {
    pub world: WorldId,
    /// Given by a person; otherwise a model names the chat.
    pub title: Option<String>,
    pub by: String,
    pub fork: Option<Fork>,
}

/// What a chat begins with.
#[derive(Clone, Debug)]
pub struct Fork {
    /// Where it comes from; absent when a client brought a conversation that it kept itself.
    pub origin: Option<ForkOrigin>,
    pub history: Vec<Copied>,
}

#[derive(Clone, Debug)]
pub struct PostMessage {
    pub sender: Sender,
    pub user: Option<String>,
    pub text: String,
    pub parts: Vec<Part>,
    pub reply_to: Option<MessageId>,
    pub attendance: Attendance,
    /// Exactly these agents are to answer, whatever its text mentions. Absent: those it addresses.
    pub recipients: Option<Vec<AgentId>>,
}

/// A message found in the read model at the chat's present head.
#[derive(Clone, Debug)]
pub struct MessageRef {
    pub id: MessageId,
    pub position: Position,
    pub sender: Sender,
    /// Images and files beside its text.
    pub parts: Vec<Part>,
    pub reply_to: Option<MessageId>,
    pub attendance: Attendance,
    /// The agents it was posted for, where its text does not say.
    pub recipients: Option<Vec<AgentId>>,
}

#[derive(Clone, Debug)]
pub struct AnswerApproval {
    pub approval: ApprovalId,
    pub answer: Answer,
    pub by: String,
    pub claims: Claims,
    /// What the tool finds of the arguments that the person put in place of the model's.
    pub look: Option<Look>,
}

/// What a tool found of a call, or why it can never run.
pub type Look = Result<Prepared, String>;

#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Approve {
        scope: Scope,
        matches: Vec<Match>,
        arguments: Option<Value>,
        /// Where a program decided in somebody's name: what it was told to decide by.
        reason: Option<String>,
    },
    Deny {
        reason: Option<String>,
    },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    #[default]
    Once,
    Session,
    Always,
}

/// What the sender of an answer believes it is about. Checked against the log, never used in its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    pub world: Option<WorldId>,
    pub agent: Option<AgentId>,
    pub tool: Option<String>,
    pub arguments: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ToolResult {
    Completed(Output),
    Failed(Output),
    TimedOut(Output),
    Cancelled(Output),
}

/// A model's idea of a chat's title, and what it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TitleProposal {
    pub text: String,
    pub model: String,
    pub usage: Usage,
}

/// Why a command is refused. The caller's fault; nothing was recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Rejection {
    #[error("the chat does not exist; create it first")]
    NoChat,
    #[error("the chat was deleted")]
    ChatDeleted,
    #[error("the chat exists already")]
    ChatExists,
    #[error("the message is empty; write something")]
    EmptyMessage,
    #[error("the message's parts are nested too deeply to be stored; flatten them")]
    TooDeep,
    #[error("the title is empty; write something")]
    EmptyTitle,
    #[error("`{0}` is not an agent of this world")]
    UnknownAgent(AgentId),
    #[error("message {id} was sent by {sender}; only a human message can be edited or removed")]
    NotHuman { id: MessageId, sender: Sender },
    #[error("approval {0} is not waiting for a decision")]
    ApprovalNotPending(ApprovalId),
    #[error("approval {approval} is about {field} {actual}, not {stated}; nothing was decided")]
    ClaimMismatch { approval: ApprovalId, field: &'static str, stated: String, actual: String },
    #[error("approval {approval} does not offer `{scope}`; choose one of its options")]
    NotOffered { approval: ApprovalId, scope: &'static str },
    #[error("approval {approval} expired at {at}; ask the agent again")]
    ApprovalExpired { approval: ApprovalId, at: Timestamp },
    #[error(
        "rule {rule} denies this call, whoever approves it; change the rule or deny the request"
    )]
    DeniedByRule { rule: RuleId },
    #[error(
        "this world is {preset}, which denies the call, whoever approves it; change the preset or deny the request"
    )]
    DeniedByPreset { preset: Preset },
    #[error("the narrower match does not cover the call it was given for")]
    MatchDoesNotCover,
    #[error("the tools are refused: {0}")]
    InvalidTools(String),
    #[error("the answer is refused: {0}")]
    InvalidAnswer(String),
    #[error("the edited arguments are refused: {0}")]
    InvalidArguments(String),
    #[error("grant {0} does not exist in this chat or was revoked already")]
    UnknownGrant(GrantId),
    #[error("tool call {0} is not waiting for a client's result")]
    NotAClientCall(CallId),
    #[error("no turn of this chat has failed; there is nothing to retry")]
    NothingToRetry,
    #[error("{0} is no longer under way")]
    Stale(String),
}

impl Rejection {
    /// Stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Rejection::NoChat => "chat_not_found",
            Rejection::ChatDeleted => "chat_deleted",
            Rejection::ChatExists => "chat_exists",
            Rejection::EmptyMessage => "message_empty",
            Rejection::TooDeep => "message_too_deep",
            Rejection::EmptyTitle => "title_empty",
            Rejection::UnknownAgent(_) => "agent_not_found",
            Rejection::NotHuman { .. } => "message_not_human",
            Rejection::ApprovalNotPending(_) => "approval_not_pending",
            Rejection::ClaimMismatch { .. } => "approval_mismatch",
            Rejection::NotOffered { .. } => "choice_not_offered",
            Rejection::ApprovalExpired { .. } => "approval_expired",
            Rejection::DeniedByRule { .. } => "denied_by_rule",
            Rejection::DeniedByPreset { .. } => "denied_by_preset",
            Rejection::MatchDoesNotCover => "match_does_not_cover",
            Rejection::InvalidTools(_) => "tools_invalid",
            Rejection::InvalidAnswer(_) => "answer_invalid",
            Rejection::InvalidArguments(_) => "arguments_invalid",
            Rejection::UnknownGrant(_) => "grant_not_found",
            Rejection::NotAClientCall(_) => "call_not_waiting",
            Rejection::NothingToRetry => "nothing_to_retry",
            Rejection::Stale(_) => "stale",
        }
    }
}
