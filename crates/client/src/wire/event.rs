//! What happens, as the event streams tell it.

use serde::Deserialize;
use serde::de::Error as _;
use serde_json::Value;

use super::{Activity, Approval, Call, Message, Usage};

/// Something that is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Grows within every stream: what to go on after.
    pub seq: u64,
    pub world_id: String,
    pub chat_id: Option<String>,
    pub at: String,
    pub news: News,
    /// All of it, as it came.
    pub json: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum News {
    Message(Box<Message>),
    Stream(Stream),
    Tool(Box<Call>),
    Approval(Box<Approval>),
    Activity(Activity),
    Notice(Notice),
    Changed(Changed),
    /// Something this client does not know.
    Other,
}

/// A reply begins or ends.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Stream {
    pub phase: Phase,
    pub message_id: String,
    pub agent_id: String,
    #[serde(default)]
    pub turn_id: Option<String>,
    /// Counts the replies of a turn from 1. Of those that start only, as the two after it.
    #[serde(default)]
    pub iteration: Option<u32>,
    /// What the agent is shown for the first time.
    #[serde(default)]
    pub joined: Option<Vec<Joined>>,
    /// The failed turn whose work is taken up again.
    #[serde(default)]
    pub retry_of: Option<String>,
    #[serde(default)]
    pub usage: Option<Usage>,
    #[serde(default)]
    pub error: Option<String>,
}

/// Something an agent is shown.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Joined {
    MessageId(String),
    /// The result of a call that ran in the background.
    ToolCallId(String),
    /// Something this client does not know.
    #[serde(untagged)]
    Other(Value),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    Start,
    Chunk,
    End,
    Error,
    #[serde(other)]
    Other,
}

/// What the runtime has to say.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Notice {
    pub code: String,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub agent_id: Option<String>,
    #[serde(default)]
    pub message_id: Option<String>,
    #[serde(default)]
    pub by: Option<String>,
}

/// Something was made, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Changed {
    pub entity: String,
    pub action: String,
    pub id: String,
    /// Of messages: this one and all after it.
    #[serde(default)]
    pub from: Option<String>,
    #[serde(default)]
    pub by: Option<String>,
}

/// A piece of a reply. Not stored: the whole follows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Piece {
    #[serde(skip)]
    pub chat_id: String,
    pub message_id: String,
    pub agent_id: String,
    /// Characters of the text before it.
    #[serde(default)]
    pub offset: u64,
    #[serde(default)]
    pub delta: String,
    #[serde(default)]
    pub reasoning_delta: String,
}

/// A piece of what a tool writes. Not stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Output {
    #[serde(skip)]
    pub chat_id: String,
    /// The call's.
    pub id: String,
    pub agent_id: String,
    /// `stdout`, `stderr` or `progress`.
    #[serde(default)]
    pub channel: String,
    #[serde(default)]
    pub delta: String,
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    seq: Option<u64>,
    world_id: String,
    #[serde(default)]
    chat_id: Option<String>,
    #[serde(default)]
    at: String,
    data: Value,
}

/// One thing a stream tells.
pub(crate) enum Told {
    Event(Box<Event>),
    Piece(Piece),
    Output(Output),
}

impl Event {
    /// Reads an event of a page.
    ///
    /// # Errors
    /// When it is none.
    pub fn read(json: Value) -> Result<Self, serde_json::Error> {
        let envelope = Envelope::deserialize(&json)?;
        let seq = envelope.seq.ok_or_else(|| serde_json::Error::missing_field("seq"))?;
        Self::of(seq, envelope, json)
    }

    fn of(seq: u64, envelope: Envelope, json: Value) -> Result<Self, serde_json::Error> {
        let Envelope { kind, world_id, chat_id, at, data, .. } = envelope;
        let news = match kind.as_str() {
            "message" => News::Message(serde_json::from_value(data)?),
            "stream" => News::Stream(serde_json::from_value(data)?),
            "tool" => News::Tool(serde_json::from_value(data)?),
            "approval" => News::Approval(serde_json::from_value(data)?),
            "activity" => News::Activity(serde_json::from_value(data)?),
            "system" => News::Notice(serde_json::from_value(data)?),
            "crud" => News::Changed(serde_json::from_value(data)?),
            _ => News::Other,
        };
        Ok(Self { seq, world_id, chat_id, at, news, json })
    }
}

/// What a stream tells: events, and pieces that are not stored.
pub(crate) fn read(text: &str) -> Result<Told, serde_json::Error> {
    let json: Value = serde_json::from_str(text)?;
    let envelope = Envelope::deserialize(&json)?;
    if let Some(seq) = envelope.seq {
        return Event::of(seq, envelope, json).map(|event| Told::Event(Box::new(event)));
    }
    let chat_id = envelope.chat_id.unwrap_or_default();
    Ok(match envelope.kind.as_str() {
        "stream" => Told::Piece(Piece { chat_id, ..serde_json::from_value(envelope.data)? }),
        _ => Told::Output(Output { chat_id, ..serde_json::from_value(envelope.data)? }),
    })
}
