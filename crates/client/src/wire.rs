//! What servers send, as far as clients use it.
//! Read tolerantly: a field that is missing is empty and one that is new is passed over, so that a client works with an
//! older or newer server. What is kept as JSON is for showing only.

mod approval;
mod chat;
pub(crate) mod event;
mod me;
mod message;
mod world;

use serde::Deserialize;

pub use approval::{Approval, ApprovalState, Binding, Decision, Reach, Suggestion, Verdict};
pub use chat::{Activity, AgentAtWork, Chat, Doing, Standing};
pub use event::{Changed, Event, Joined, News, Notice, Output, Phase, Piece, Stream};
pub use me::Me;
pub use message::{
    Call, CallState, Message, NewMessage, OnApproval, Posted, Role, ToolCall, Usage,
};
pub use world::{Agent, World};

/// A part of a list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    /// Where the list goes on; none at its end.
    pub next: Option<String>,
}
