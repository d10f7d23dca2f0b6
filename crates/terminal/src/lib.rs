//! Agent World in a terminal.
//!
//! Two faces of the same thing: [`chat`], a conversation that leaves its history in the terminal's scrollback, and [`tui`], a
//! full-screen view of all worlds. Both are folds of what a [`Client`](agent_world_client::Client) hears, drawn by pure
//! functions; only their loops touch the terminal. Nothing that a model or a tool wrote reaches the terminal unless hidden
//! characters in it were made visible.

pub mod attention;
mod burst;
pub mod chat;
pub mod completion;
pub mod composer;
pub mod conversation;
pub mod deciding;
pub mod markdown;
pub mod permissions;
pub mod theme;
pub mod tui;
pub mod unread;

#[cfg(test)]
mod scripted;
