//! Decides what can have happened in a chat: the persisted format of its log.
//! Written by `decide`, folded by `apply`, never edited. The API's format is another (see the server's wire types).
//!
//! Every event is stored with its type and version. A variant's meaning never changes; a new meaning is a new variant.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::binding::{Binding, Facts};
use crate::chain::Hash;
use crate::config::{Location, Mode, ToolSpec};
use crate::ids::{AgentId, ApprovalId, CallId, ChatId, GrantId, MessageId, TurnId, WorldId};
use crate::item::{Finish, Item, Part, Usage};
use crate::policy::{Grant, Rule, Suggestion, Verdict};
use crate::sender::Sender;

/// The version written beside every event's type.
pub const FORMAT: u32 = 1;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    ChatCreated(ChatCreated),
    /// History of the chat this one was forked from. Nothing in it runs again.
    HistoryCopied {
        events: Vec<Copied>,
    },
    ChatRenamed {
        title: String,
        by: Author,
    },
    /// A model was asked for a title; what it took. What became of its proposal is the next event.
    TitleProposed {
        model: String,
        usage: Usage,
    },
    /// No model could name the chat; it is not asked again.
    NamingGivenUp {
        reason: String,
    },
    ChatDeleted {
        by: String,
    },

    MessagePosted(MessagePosted),
    NoticePosted(NoticePosted),
    /// A message and everything after it were taken out of the chat's history.
    HistoryCut {
        from: MessageId,
        position: Position,
        by: String,
    },

    TurnStarted(TurnStarted),
    ModelCallRequested(ModelCallRequested),
    ReplyRecorded(ReplyRecorded),
    /// The batch held a denial and the world wants the person to speak first.
    TurnPaused {
        turn: TurnId,
    },
    TurnEnded {
        turn: TurnId,
        ending: Ending,
    },
    /// The agent would have answered, but has had its turns. What it was to answer stays in its history.
    TurnLimitReached {
        agent: AgentId,
        limit: u32,
        set_aside: Vec<Waiting>,
        notice: Option<MessageId>,
    },
    WorkStopped {
        agent: Option<AgentId>,
        by: String,
        set_aside: Vec<SetAside>,
    },

    ToolCalled(ToolCalled),
    /// Only in copied history: a person changed what this call ran with.
    ArgumentsEdited {
        call: CallId,
        arguments: Value,
    },
    ToolStarted {
        call: CallId,
        attempt: u32,
        /// What the call meant on this machine when it started: the program, the directory.
        #[serde(default, skip_serializing_if = "Facts::is_empty")]
        facts: Facts,
    },
    /// A start was lost in a crash and the tool says that repeating it is harmless.
    ToolRequeued {
        call: CallId,
    },
    ToolFinished(ToolFinished),

    ApprovalRequested(ApprovalRequested),
    ApprovalDecided(ApprovalDecided),
    ApprovalExpired {
        approval: ApprovalId,
    },
    ApprovalWithdrawn {
        approval: ApprovalId,
        reason: String,
    },
    GrantRevoked {
        grant: GrantId,
        by: String,
    },
    /// A client executes these tools for this chat, in place of what it offered before.
    ClientToolsOffered {
        client: String,
        tools: Vec<ToolSpec>,
        by: String,
    },
}

/// An event of another chat's log, with its place there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copied {
    pub at: Timestamp,
    pub event: Event,
}

/// A place in a chat's history: the event, and the index inside it when it holds copied history.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Position {
    pub seq: u64,
    pub index: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChatCreated {
    pub chat: ChatId,
    pub world: WorldId,
    pub title: String,
    pub by: Author,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkOrigin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkOrigin {
    pub chat: ChatId,
    pub message: MessageId,
}

/// Who gave a chat its title.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// Nobody yet: a model may.
    Default,
    Model,
    Person(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessagePosted {
    pub message: Message,
    /// The agents that are to answer it.
    pub recipients: Vec<AgentId>,
    #[serde(default)]
    pub attendance: Attendance,
    #[serde(default, skip_serializing_if = "Addressing::is_by_text")]
    pub addressing: Addressing,
}

/// What made the recipients of a message its recipients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Addressing {
    /// Its text.
    #[default]
    ByText,
    /// Whoever posted it named them, whatever it says.
    Named,
}

impl Addressing {
    fn is_by_text(&self) -> bool {
        *self == Self::ByText
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    pub id: MessageId,
    pub sender: Sender,
    /// The authenticated user's name, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    pub text: String,
    /// Images and files beside the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<MessageId>,
    /// The turn whose final text this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// What the model call took that this is the text of. Logs from before it was noted here have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Whether somebody can be asked while a message is worked on. The lesser of two is what holds where both are worked on at
/// once: whoever can be asked is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attendance {
    #[default]
    Attended,
    /// The client cannot ask: what needs approval is denied at once.
    Unattended,
}

/// Something a person should know that no agent is to answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoticePosted {
    pub id: MessageId,
    pub code: NoticeCode,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<MessageId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeCode {
    NobodyAddressed,
    NoAgents,
    ModelFailed,
    IterationLimit,
    AgentGone,
    ReplyIncomplete,
    ReplyEmpty,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    pub turn: TurnId,
    pub agent: AgentId,
    /// Whose message the turn answers: an agent's is answered with a mention.
    pub answering: Sender,
    pub attendance: Attendance,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<TurnId>,
}

/// The model is owed a call. `joined` is what it is shown for the first time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelCallRequested {
    pub turn: TurnId,
    pub agent: AgentId,
    /// The id the reply will have; chunks carry it while it streams.
    pub reply: MessageId,
    /// Counts the model calls of the turn from 1.
    pub iteration: u32,
    pub joined: Vec<Waiting>,
}

/// Something an agent has still to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    Message {
        id: MessageId,
        sender: Sender,
        attendance: Attendance,
    },
    /// The result of a call that ran in the background.
    Background {
        call: CallId,
    },
}

/// What an agent had still to be shown when its work was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    pub agent: AgentId,
    pub waiting: Vec<Waiting>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplyRecorded {
    pub turn: TurnId,
    pub agent: AgentId,
    pub reply: MessageId,
    pub model: String,
    pub items: Vec<Item>,
    /// Our ids of the calls in `items`, in order.
    pub calls: Vec<CallId>,
    pub order: Order,
    pub usage: Usage,
    pub finish: Finish,
}

/// How the calls of one reply may run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Each as soon as it is allowed.
    #[default]
    Parallel,
    /// One after another, as the model made them.
    Sequential,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Completed,
    Failed { error: String },
    Stopped,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCalled {
    pub call: CallId,
    pub turn: TurnId,
    pub agent: AgentId,
    /// The reply that made it.
    pub reply: MessageId,
    pub vendor_id: String,
    pub name: String,
    /// Canonical: what is shown, approved and run.
    pub arguments: Value,
    pub mode: Mode,
    pub location: Location,
    pub timeout_seconds: u64,
    /// A lost start may be repeated.
    pub may_repeat: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// Absent when the call never came before the policy: it was not a valid call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolFinished {
    pub call: CallId,
    /// The tool message that holds the result.
    pub message: MessageId,
    pub outcome: Outcome,
    pub output: Output,
}

/// How a call ended. Each call ends in exactly one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Failed,
    Timeout,
    Denied,
    Expired,
    /// It was started and nobody can know whether it took effect.
    Interrupted,
    Cancelled,
}

/// What a tool gave back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// All of it or, where `whole` says that there is more, its beginning and end with a note in between.
    pub text: String,
    /// Facts beside the text: exit code, structured content.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub details: Value,
    /// The whole text, where it was too long to be kept here. Stored durably before the event that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<Whole>>,
}

/// Names a text that is stored once, beside the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// SHA-256 of the text.
    pub digest: Hash,
    pub characters: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequested {
    pub approval: ApprovalId,
    pub call: CallId,
    /// The stored assistant message whose tool call is `client.requestApproval`.
    pub message: MessageId,
    /// What the person is asked.
    pub question: String,
    /// The arguments as shown: secrets masked, invisible characters made visible.
    pub shown: String,
    pub options: Vec<Choice>,
    pub suggestions: Vec<Suggestion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// What an approval holds for; compared when the call starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
    /// What the call would do, as far as its tool can say: a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// It was approved before, and then something was different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voided: Option<Voided>,
    /// A running tool asks the person for something; the call goes on with the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub form: Option<Form>,
}

/// An approval that does not hold any more, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Voided {
    pub approval: ApprovalId,
    pub changes: Vec<String>,
}

/// What a running tool wants to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Form {
    /// JSON Schema of the answer, an object.
    pub schema: Value,
    /// Where the person is to go, when it is not answered here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    Deny,
    ApproveOnce,
    ApproveSession,
    ApproveAlways,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecided {
    pub approval: ApprovalId,
    pub call: CallId,
    /// The tool message that answers the `client.requestApproval` call.
    pub message: MessageId,
    pub decision: Decision,
    pub by: Decider,
    /// What the approval holds for, when the person changed the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binding: Option<Binding>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "people make few decisions, and none is kept in bulk")]
pub enum Decision {
    Approved {
        scope: Permission,
        /// Arguments the person put in place of the model's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<Value>,
        /// Why, where that was said: above all that a program decided in the person's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Denied {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// What a running tool asked for.
    Answered { content: Value },
}

/// How far an approval reaches, with the permission it made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    Once,
    Session(Grant),
    Always(Rule),
}

/// Who or what decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    Person(String),
    /// An answer to another request made a permission that covers this one.
    Grant {
        grant: GrantId,
        by: String,
    },
    Rule {
        rule: crate::ids::RuleId,
        by: String,
    },
    /// Nobody could be asked.
    Nobody,
}

impl Event {
    /// The name under which the event is stored and filtered.
    pub fn kind(&self) -> &'static str {
        match self {
            Event::ChatCreated(_) => "chat_created",
            Event::HistoryCopied { .. } => "history_copied",
            Event::ChatRenamed { .. } => "chat_renamed",
            Event::TitleProposed { .. } => "title_proposed",
            Event::NamingGivenUp { .. } => "naming_given_up",
            Event::ChatDeleted { .. } => "chat_deleted",
            Event::MessagePosted(_) => "message_posted",
            Event::NoticePosted(_) => "notice_posted",
            Event::HistoryCut { .. } => "history_cut",
            Event::TurnStarted(_) => "turn_started",
            Event::ModelCallRequested(_) => "model_call_requested",
            Event::ReplyRecorded(_) => "reply_recorded",
            Event::TurnPaused { .. } => "turn_paused",
            Event::TurnEnded { .. } => "turn_ended",
            Event::TurnLimitReached { .. } => "turn_limit_reached",
            Event::WorkStopped { .. } => "work_stopped",
            Event::ToolCalled(_) => "tool_called",
            Event::ArgumentsEdited { .. } => "arguments_edited",
            Event::ToolStarted { .. } => "tool_started",
            Event::ToolRequeued { .. } => "tool_requeued",
            Event::ToolFinished(_) => "tool_finished",
            Event::ApprovalRequested(_) => "approval_requested",
            Event::ApprovalDecided(_) => "approval_decided",
            Event::ApprovalExpired { .. } => "approval_expired",
            Event::ApprovalWithdrawn { .. } => "approval_withdrawn",
            Event::GrantRevoked { .. } => "grant_revoked",
            Event::ClientToolsOffered { .. } => "client_tools_offered",
        }
    }
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}

impl Whole {
    pub fn of(text: &str) -> Self {
        let characters = text.chars().count();
        Self {
            digest: Hash::of(text.as_bytes()),
            characters: u64::try_from(characters).unwrap_or(u64::MAX),
            bytes: u64::try_from(text.len()).unwrap_or(u64::MAX),
        }
    }
}

impl Outcome {
    pub fn is_error(self) -> bool {
        self != Outcome::Completed
    }
}

impl Waiting {
    /// None for a result, which follows from a turn that knew whether somebody can be asked.
    pub fn attendance(&self) -> Option<Attendance> {
        match self {
            Waiting::Message { attendance, .. } => Some(*attendance),
            Waiting::Background { .. } => None,
        }
    }
}
