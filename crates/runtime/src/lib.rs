//! Agent World as a library: owns live chats, performs what they owe, and goes on after a crash.
//!
//! Open a store, register models and tools, start an [`Engine`]; then post messages, subscribe to events and
//! decide what waits for approval. Every rule is in `core`; this crate only carries out what follows from it.

mod chat_task;
mod effects;
mod engine;
mod environment;
mod error;
mod feed;
mod history;
mod kill_point;
mod ledger;
mod read_result;
mod recover;
mod results;
mod standing;
pub mod telemetry;
mod toolbox;
pub mod transfer;
mod with_tools;
mod worlds;

pub use agent_world_core as core;
pub use agent_world_llm as llm;
pub use agent_world_store as store;
pub use agent_world_tools as tools;

pub use engine::{Builder, Delivery, Engine, Mode, NewMessage, Options, Posted, WorldPart};
pub use environment::{Environment, System};
pub use error::Error;
pub use feed::{Begun, Chunk, FeedItem, Subscription, ToolOutput};
pub use standing::Standing;
pub use with_tools::{Answered, Progress, Statistics, Unanswered, WithTools, generate_with_tools};

/// The README's program is compiled with the tests, so that it stays true.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And so are those of the page on models.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/models.md")]
struct Models;
