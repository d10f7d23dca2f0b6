//! What a conversation wants done, and what came of it.
//! Made by `state`, carried out by `perform`. Plain data: nothing here does anything.

use agent_world_client::wire::{Approval, Decision, Message};

use super::open::Opened;

/// What is to be done elsewhere. Nothing waits for it.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Post {
        number: u64,
        text: String,
        /// However often it is sent under this key, it is posted once.
        key: String,
    },
    Edit {
        message: String,
        text: String,
    },
    Decide {
        approval: String,
        decision: Box<Decision>,
    },
    /// To count what else a lasting permission answers that was given after an event.
    CountReleased {
        approval: String,
        after: u64,
    },
    Stop {
        agent: Option<String>,
    },
    Retry,
    Title(String),
    /// To another chat of the same world.
    Open(Which),
    ListChats,
    ListApprovals,
    ShowPolicy,
    /// What was typed is kept for the next time.
    Remember(String),
    Quit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    New,
    Chat(String),
    /// A copy of this one that ends with a message.
    Fork(String),
}

/// What came of it.
#[derive(Debug)]
pub enum Told {
    Posted {
        number: u64,
        message: Box<Message>,
    },
    NotPosted {
        number: u64,
        why: String,
        /// Nobody knows whether it arrived.
        is_unsure: bool,
    },
    /// A message is as it was.
    NotEdited {
        chat: String,
        message: String,
        text: String,
        why: String,
    },
    Decided(Box<Approval>),
    /// Nobody took the decision; it is tried again.
    DecisionDelayed {
        approval: String,
    },
    /// It goes on waiting.
    NotDecided {
        approval: String,
        why: String,
    },
    /// Somebody else was first.
    DecidedBefore {
        approval: String,
        why: String,
    },
    Opened(Box<Opened>),
    /// What waits, and of it what waits in other chats, each with where that is.
    Waiting {
        lines: Vec<String>,
        elsewhere: Vec<(Approval, String)>,
    },
    /// Something to know, quietly.
    Noted(String),
    /// Something to read, line by line.
    Listed(Vec<String>),
    Refused(String),
}
