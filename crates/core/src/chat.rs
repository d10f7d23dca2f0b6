//! Decides what must be known of a chat to go on with it: its state, folded from events.
//! Read by `decide` and `outstanding`, written only by `apply`.
//!
//! Holds open work, never history: its size follows what is under way, not how long the chat is. Maps are
//! persistent, so that `decide` can try events on a copy without paying for the whole.

use std::sync::Arc;

use imbl::{OrdMap, Vector};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::binding::Binding;
use crate::config::ToolSpec;
use crate::event::{
    ApprovalRequested, Attendance, Author, ForkOrigin, Order, Outcome, Position, ToolCalled,
    Waiting,
};
use crate::ids::{AgentId, ApprovalId, CallId, ChatId, GrantId, MessageId, TurnId, WorldId};
use crate::item::Usage;
use crate::policy::Grant;
use crate::sender::Sender;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chat {
    pub id: ChatId,
    pub world: WorldId,
    pub life: Life,
    pub created_at: Timestamp,
    pub forked_from: Option<ForkOrigin>,
    /// Events folded so far: the sequence number of the last.
    pub head: u64,
    pub title: Title,
    pub agents: OrdMap<AgentId, Arc<Desk>>,
    /// Open turns; one agent has at most one.
    pub turns: OrdMap<TurnId, Arc<Turn>>,
    /// Calls of open turns, and those still running in the background.
    pub calls: OrdMap<CallId, Arc<Call>>,
    /// Requests nobody has decided yet.
    pub approvals: OrdMap<ApprovalId, Arc<Request>>,
    pub grants: OrdMap<GrantId, Arc<Grant>>,
    /// What clients offered to execute, by client.
    pub client_tools: OrdMap<String, Vector<Arc<ToolSpec>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// No event yet.
    Unborn,
    Living,
    Deleted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Title {
    pub text: String,
    pub author: Author,
    /// Whether a model is still to be asked for a name.
    pub naming: Naming,
    /// The human message a title may be made from.
    pub about: Option<Arc<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Naming {
    /// Not before an agent has answered.
    Early,
    Due,
    Settled,
}

/// What is known of one agent in this chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Desk {
    /// What it has still to be shown, in order of arrival.
    pub inbox: Vector<Waiting>,
    /// Turns taken since the last human or world message.
    pub turns_taken: u32,
    pub limit_noticed: bool,
    pub turn: Option<TurnId>,
    /// The turn that failed last and may be taken up again.
    pub failed: Option<TurnId>,
    /// Whose message its latest turn answers, and whether somebody could be asked then.
    pub answering: Sender,
    pub attendance: Attendance,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub id: TurnId,
    pub agent: AgentId,
    pub answering: Sender,
    /// The message its final text replies to.
    pub answered: Option<MessageId>,
    pub attendance: Attendance,
    /// Model calls made or under way.
    pub iteration: u32,
    pub phase: Phase,
    pub usage: Usage,
    pub started_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Started; the request for its model call follows in the same append.
    Starting,
    CallingModel {
        reply: MessageId,
    },
    /// The calls of the latest reply, in its order.
    RunningTools {
        calls: Vec<CallId>,
        order: Order,
    },
    /// After a denial, until a person speaks.
    AwaitingHuman {
        calls: Vec<CallId>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub made: Arc<ToolCalled>,
    pub state: CallState,
    pub approval: Option<ApprovalId>,
    /// In place of the model's, by a person's hand.
    pub edited: Option<Arc<Value>>,
    /// What its approval holds for.
    pub binding: Option<Arc<Binding>>,
    pub attempt: u32,
    pub requested_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Who denied it, for `after_denial`.
    pub denied_by_person: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// May run; not started.
    Pending,
    AwaitingApproval,
    Executing,
    Ended(Outcome),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub asked: Arc<ApprovalRequested>,
    pub agent: AgentId,
    pub position: Position,
    pub at: Timestamp,
}

/// Counts the meanings a snapshot has had. One of another format is not read: the log is folded instead.
const SNAPSHOT_FORMAT: u32 = 2;

#[derive(Serialize, Deserialize)]
struct Snapshot<C> {
    format: u32,
    chat: C,
}

impl Chat {
    /// The state as text, to be stored beside the log.
    pub fn to_snapshot(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(&Snapshot { format: SNAPSHOT_FORMAT, chat: self })
    }

    /// The state a text holds, if this program can read it.
    pub fn from_snapshot(text: &str) -> Option<Self> {
        let snapshot: Snapshot<Chat> = serde_json::from_str(text).ok()?;
        (snapshot.format == SNAPSHOT_FORMAT).then_some(snapshot.chat)
    }

    /// A chat before its first event.
    pub fn unborn(id: ChatId) -> Self {
        Self {
            id,
            world: WorldId::new(""),
            life: Life::Unborn,
            created_at: Timestamp::UNIX_EPOCH,
            forked_from: None,
            head: 0,
            title: Title {
                text: String::new(),
                author: Author::Default,
                naming: Naming::Early,
                about: None,
            },
            agents: OrdMap::new(),
            turns: OrdMap::new(),
            calls: OrdMap::new(),
            approvals: OrdMap::new(),
            grants: OrdMap::new(),
            client_tools: OrdMap::new(),
        }
    }

    /// A tool that a client executes for this chat.
    pub fn client_tool(&self, name: &str) -> Option<&Arc<ToolSpec>> {
        self.client_tools.values().flatten().find(|spec| spec.name == name)
    }

    pub fn desk(&self, agent: &AgentId) -> Desk {
        self.agents.get(agent).map(|desk| Desk::clone(desk)).unwrap_or_default()
    }

    pub fn turn_of(&self, agent: &AgentId) -> Option<&Turn> {
        let id = self.agents.get(agent)?.turn.as_ref()?;
        self.turns.get(id).map(Arc::as_ref)
    }

    /// Nothing is under way and nobody is waited for.
    pub fn is_idle(&self) -> bool {
        self.turns.is_empty() && !self.calls.values().any(|call| !call.state.is_final())
    }

    /// The calls that may start now, in the order in which they were made.
    pub fn runnable(&self) -> impl Iterator<Item = &Arc<Call>> {
        self.calls.values().filter(|call| call.state == CallState::Pending && self.comes_next(call))
    }

    /// Whether no earlier call of a batch that runs in order is still to settle.
    pub fn comes_next(&self, call: &Call) -> bool {
        match self.turns.get(&call.made.turn).map(|turn| &turn.phase) {
            Some(Phase::RunningTools { calls, order: Order::Sequential })
                if calls.contains(&call.made.call) =>
            {
                calls
                    .iter()
                    .take_while(|id| **id != call.made.call)
                    .all(|id| self.calls.get(id).is_none_or(|earlier| earlier.is_settled()))
            }
            _ => true,
        }
    }
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            inbox: Vector::new(),
            turns_taken: 0,
            limit_noticed: false,
            turn: None,
            failed: None,
            answering: Sender::System,
            attendance: Attendance::Attended,
        }
    }
}

impl Call {
    /// What runs: the person's arguments where there are any, else the model's.
    pub fn arguments(&self) -> &Value {
        self.edited.as_deref().unwrap_or(&self.made.arguments)
    }

    /// Nothing the model waits for: ended, or running in the background.
    pub fn is_settled(&self) -> bool {
        self.state.is_final() || (self.is_background() && self.state == CallState::Executing)
    }

    /// Ran in the background and ended by itself: its result is to be put before the model.
    /// One that was cancelled is not, or stopping the work would start a turn.
    pub fn is_undelivered(&self) -> bool {
        self.is_background()
            && self.started_at.is_some()
            && self.state.is_final()
            && self.state != CallState::Ended(Outcome::Cancelled)
    }

    pub fn is_background(&self) -> bool {
        self.made.mode == crate::config::Mode::Background
    }
}

impl CallState {
    pub fn is_final(self) -> bool {
        matches!(self, CallState::Ended(_))
    }

    /// The state's name for people and programs.
    pub fn name(self) -> &'static str {
        match self {
            CallState::Pending => "pending",
            CallState::AwaitingApproval => "awaiting_approval",
            CallState::Executing => "executing",
            CallState::Ended(outcome) => match outcome {
                Outcome::Completed => "completed",
                Outcome::Failed => "failed",
                Outcome::Timeout => "timeout",
                Outcome::Denied => "denied",
                Outcome::Expired => "expired",
                Outcome::Interrupted => "interrupted",
                Outcome::Cancelled => "cancelled",
            },
        }
    }
}
