//! MCP servers, real and hostile: what a world has from them, and what happens when they fail.
//!
//! The real ones (npm and PyPI packages, pinned in `tests/mcp/servers`) are looked for in the folder that `AGENT_WORLD_MCP_SERVERS`
//! names; `cargo xtask test` installs them and sets it. Where it is not set, those tests say that they skipped their case; where
//! it is, none is skipped.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

#[path = "mcp/stage.rs"]
mod stage;
#[path = "mcp/web.rs"]
mod web;

#[path = "mcp/everything.rs"]
mod everything;
#[path = "mcp/hostile.rs"]
mod hostile;
#[path = "mcp/http.rs"]
mod http;
#[path = "mcp/login.rs"]
mod login;
#[path = "mcp/others.rs"]
mod others;
