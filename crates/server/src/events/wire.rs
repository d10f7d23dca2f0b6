//! What clients are told of events: a format of its own, so that what is stored can change without it.
//! Made by `tell`, encoded by `frame`. Plain data.

use agent_world_core::Timestamp;
use agent_world_core::item::Usage;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::rendering::Render;
use crate::wire::{Activity, Approval, Call, Message};

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Event {
    /// Grows within every stream and is the same in all: what to go on after.
    pub seq: u64,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub world_id: String,
    /// Absent where it happened to a world.
    pub chat_id: Option<String>,
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    pub data: Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Message,
    Stream,
    Tool,
    Approval,
    Activity,
    System,
    Crud,
}

/// What an event is about, by its type.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
#[allow(clippy::large_enum_variant, reason = "made and encoded at once, never kept")]
pub(crate) enum Data {
    Message(Message),
    Stream(Stream),
    /// The call as it stood then.
    Tool(Call),
    /// The request as it stood then.
    Approval(Approval),
    Activity(Activity),
    System(System),
    Crud(Crud),
}

/// A reply while it is made. Its pieces are told live only: `phase` is `chunk`, with `offset`, `delta` and
/// `reasoning_delta`; with `render=html` also `blocks`, those of its text that have changed: each has its `index` and its
/// `html`, which is empty where there is no such block any more. An `offset` of 0 begins anew.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Stream {
    /// `start`, `end` or `error`.
    pub phase: &'static str,
    /// The message that the reply becomes.
    pub message_id: String,
    pub agent_id: String,
    pub turn_id: String,
    /// Counts the model calls of the turn from 1. Of a reply that starts only, as the two after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iteration: Option<u32>,
    /// What the agent is shown for the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined: Option<Vec<Joined>>,
    /// The failed turn whose work this one takes up again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub usage: Option<Usage>,
    /// Why there is no reply: what streamed of it is void.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Something an agent is shown: a message, or the result of a call that ran in the background.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Joined {
    MessageId(String),
    ToolCallId(String),
}

/// Something to know that is no answer: a notice, a title, work that was stopped.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct System {
    /// Stable name for programs: `title`, `title_failed`, `turn_paused`, `turn_limit_reached`, `work_stopped`,
    /// `event_unreadable`, or that of a notice: `nobody_addressed`, `no_agents`, `model_failed`, `iteration_limit`,
    /// `agent_gone`, `reply_incomplete`, `reply_empty`.
    pub code: &'static str,
    pub text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The message that says the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
    /// Who did it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Something was made, changed or removed; reading it tells more.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub(crate) struct Crud {
    /// `world`, `agent`, `policy`, `rule`, `mcp_server`, `chat`, `message`, `grant` or `client_tools`.
    pub entity: String,
    /// `created`, `updated` or `deleted`.
    pub action: String,
    pub id: String,
    /// This message and all after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

impl Kind {
    pub const ALL: [Self; 7] = [
        Self::Message,
        Self::Stream,
        Self::Tool,
        Self::Approval,
        Self::Activity,
        Self::System,
        Self::Crud,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Stream => "stream",
            Self::Tool => "tool",
            Self::Approval => "approval",
            Self::Activity => "activity",
            Self::System => "system",
            Self::Crud => "crud",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Message => 1,
            Self::Stream => 2,
            Self::Tool => 4,
            Self::Approval => 8,
            Self::Activity => 16,
            Self::System => 32,
            Self::Crud => 64,
        }
    }
}

impl Data {
    pub fn kind(&self) -> Kind {
        match self {
            Self::Message(_) => Kind::Message,
            Self::Stream(_) => Kind::Stream,
            Self::Tool(_) => Kind::Tool,
            Self::Approval(_) => Kind::Approval,
            Self::Activity(_) => Kind::Activity,
            Self::System(_) => Kind::System,
            Self::Crud(_) => Kind::Crud,
        }
    }
}

/// The types somebody wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub const ALL: Self = Self(u8::MAX);

    /// Names separated by commas.
    pub fn read(text: &str) -> Result<Self, Problem> {
        let mut wanted = 0;
        for name in text.split(',').map(str::trim) {
            let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.name() == name) else {
                let detail = "the query of this address is refused: `types` takes some of message, stream, tool, \
                              approval, activity, system and crud, separated by commas";
                return Err(Problem::unprocessable("query_invalid", detail).with("field", "types"));
            };
            wanted |= kind.bit();
        }
        Ok(Self(wanted))
    }

    pub fn contain(self, kind: Kind) -> bool {
        self.0 & kind.bit() != 0
    }
}

/// How it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    /// Texts are there as HTML, too.
    Html,
}

impl Form {
    pub fn of(render: Option<Render>) -> Self {
        match render {
            Some(Render::Html) => Self::Html,
            None => Self::Plain,
        }
    }
}

/// What somebody wants to hear of, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub types: Types,
    pub form: Form,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_own_bit_and_name() {
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            let only = Types::read(kind.name()).unwrap();
            for (other, another) in Kind::ALL.into_iter().enumerate() {
                assert_eq!(only.contain(another), index == other, "{kind:?} {another:?}");
            }
        }
        assert!(Types::read("message,nothing").is_err());
        assert!(Types::read("").is_err());
    }
}
