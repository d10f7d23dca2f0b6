//! Every rule of Agent World, as pure functions over a log of events.
//!
//! `decide` turns a command into events or a rejection, `apply` folds events into the state of a chat, and
//! `outstanding` says what effects that state still owes. Nothing here knows time, IO or async: time, ids and
//! random bits come in with commands, and effects are performed by the `runtime` crate, which feeds their
//! results back as commands.

pub mod apply;
pub mod arguments;
pub mod audit;
pub mod binding;
pub mod brought;
pub mod chain;
pub mod chat;
pub mod command;
pub mod command_line;
pub mod config;
pub mod decide;
pub mod display;
pub mod event;
pub mod fork;
pub mod ids;
pub mod item;
pub mod long_result;
pub mod mention;
pub mod nesting;
pub mod outstanding;
pub mod policy;
pub mod prompt;
pub mod sender;
pub mod title;
pub mod unambiguous;
pub mod view;

pub use jiff::Timestamp;
