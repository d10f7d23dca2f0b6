//! The real engine on a store in memory and on a SQLite file, with scripted models and tools.
//!
//! Scenes are named for the behaviour they show. They hold models and tools back with gates and wait by following the
//! log, so that none depends on how fast the machine is; where timers matter, time is virtual.

// Tests may panic: that is how they fail.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "runtime/processes.rs"]
mod processes;
#[path = "runtime/props.rs"]
mod props;
#[path = "runtime/stage.rs"]
mod stage;

#[path = "runtime/conversations.rs"]
mod conversations;
#[path = "runtime/failures.rs"]
mod failures;

#[path = "runtime/background.rs"]
mod background;
#[path = "runtime/batches.rs"]
mod batches;
#[path = "runtime/results.rs"]
mod results;

#[path = "runtime/bindings.rs"]
mod bindings;
#[path = "runtime/claims.rs"]
mod claims;
#[path = "runtime/clients.rs"]
mod clients;
#[path = "runtime/decisions.rs"]
mod decisions;
#[path = "runtime/permissions.rs"]
mod permissions;

#[path = "runtime/questions.rs"]
mod questions;

#[path = "runtime/history.rs"]
mod history;
#[path = "runtime/titles.rs"]
mod titles;

#[path = "runtime/stopping.rs"]
mod stopping;

#[path = "runtime/following.rs"]
mod following;
#[path = "runtime/mcp.rs"]
mod mcp;
#[path = "runtime/sources.rs"]
mod sources;
#[path = "runtime/streaming.rs"]
mod streaming;
#[path = "runtime/watching.rs"]
mod watching;

#[path = "runtime/limits.rs"]
mod limits;
#[path = "runtime/pressure.rs"]
mod pressure;
#[path = "runtime/restarts.rs"]
mod restarts;
#[path = "runtime/settings.rs"]
mod settings;
#[path = "runtime/transfer.rs"]
mod transfer;
#[path = "runtime/vendors.rs"]
mod vendors;
#[path = "runtime/with_tools.rs"]
mod with_tools;

#[path = "../../llm/tests/network/server.rs"]
mod server;
