//! The real tools in the real engine, on a real file: scenes in which they work, and a hostile corpus in which a model
//! tries everything to get out. The program `agent-world` is the launcher here, as it is for people.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "tools/processes.rs"]
mod processes;
#[path = "tools/stage.rs"]
mod stage;
#[path = "tools/web.rs"]
mod web;

#[path = "tools/bindings.rs"]
mod bindings;
#[path = "tools/corpus.rs"]
mod corpus;
#[path = "tools/kills.rs"]
mod kills;
#[path = "tools/permissions.rs"]
mod permissions;
#[path = "tools/scenes.rs"]
mod scenes;
