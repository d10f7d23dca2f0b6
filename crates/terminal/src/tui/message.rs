//! What can happen to the full-screen view, and what it can want done.
//! Messages come from the keyboard, the clock and from whoever performs effects; nothing else changes the state.

use agent_world_client::Heard;
use agent_world_client::wire::{Approval, Call, Chat, Decision, Me, World};
use agent_world_core::Timestamp;
use crossterm::event::{KeyEvent, MouseEvent};
use serde_json::Value;

use crate::conversation::Loaded;

#[derive(Debug)]
pub enum Message {
    Key(KeyEvent),
    Paste(String),
    /// A key that would have been an answer came with others, as a text does.
    TypedAtOnce,
    Mouse(MouseEvent),
    /// The terminal has another size, or must be drawn again.
    Resized,
    Tick(Timestamp),
    /// From now on everything after this event is heard.
    Following(u64),
    Heard(Heard),
    /// Following failed and begins anew: something may have been missed.
    Broken(String),
    /// Who the person is.
    Me(Me),
    Worlds(Vec<World>),
    Chats {
        world: String,
        chats: Vec<Chat>,
    },
    Chat(Box<Chat>),
    /// A chat that was asked for does not exist.
    ChatGone(String),
    /// A chat that was made here.
    Created(Box<Chat>),
    NotCreated(String),
    Approvals(Vec<Approval>),
    Opened(Box<Loaded>),
    /// A chat cannot be loaded.
    NotOpened {
        chat: String,
        why: String,
    },
    Older(Box<Loaded>),
    NotOlder {
        chat: String,
        why: String,
    },
    /// Events of the log as they came, oldest first.
    Events(Vec<Value>),
    Call(Box<Call>),
    /// A message is stored, or never will be.
    Posted {
        key: String,
    },
    NotPosted {
        key: String,
        why: String,
    },
    /// A message was not said anew.
    NotEdited {
        chat: String,
        message: String,
        text: String,
        why: String,
    },
    Decided(Box<Approval>),
    /// Nobody answered; the decision is tried again.
    DecisionDelayed {
        id: String,
        why: String,
    },
    NotDecided {
        id: String,
        why: String,
    },
    /// The agents of a chat were stopped, are not yet, or were not.
    Stopped {
        chat: String,
    },
    StopDelayed {
        why: String,
    },
    NotStopped {
        chat: String,
        why: String,
    },
    /// Something to read, over everything else.
    Told {
        title: String,
        text: String,
    },
    /// Something that was wanted is done; there is nothing to show but this.
    Done(String),
    Failed(String),
}

/// What is to be done outside. Each is answered by messages, in any order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    LoadMe,
    LoadWorlds,
    LoadChats(String),
    LoadChat {
        world: String,
        chat: String,
    },
    LoadApprovals,
    Open {
        world: Box<World>,
        chat: Box<Chat>,
        /// What the runtime had to say after this event is loaded as well.
        after: u64,
    },
    LoadOlder {
        world: Box<World>,
        chat: Box<Chat>,
        before: String,
    },
    LoadEvents {
        world: String,
        after: u64,
    },
    LoadCall {
        world: String,
        chat: String,
        call: String,
    },
    CreateChat(String),
    Post {
        world: String,
        chat: String,
        text: String,
        key: String,
    },
    Stop {
        world: String,
        chat: String,
        /// None stops all.
        agent: Option<String>,
    },
    Retry {
        world: String,
        chat: String,
    },
    Rename {
        world: String,
        chat: String,
        title: String,
    },
    /// A copy of a chat that ends with a message.
    Fork {
        world: String,
        chat: String,
        message: String,
    },
    /// A message is said anew; everything after it is taken back.
    Edit {
        world: String,
        chat: String,
        message: String,
        text: String,
    },
    ShowPolicy {
        world: String,
        chat: String,
    },
    Decide {
        id: String,
        decision: Box<Decision>,
    },
    /// A text is written to a file of its own.
    Save {
        name: String,
        text: String,
    },
    Quit,
}
