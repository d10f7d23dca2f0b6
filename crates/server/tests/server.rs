//! The server over HTTP, as clients use it: each file holds the scenes of one part.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

#[path = "server/access.rs"]
mod access;
#[path = "server/agents.rs"]
mod agents;
#[path = "server/audit.rs"]
mod audit;
#[path = "server/bounds.rs"]
mod bounds;
#[path = "server/documentation.rs"]
mod documentation;
#[path = "server/door.rs"]
mod door;
#[path = "server/events.rs"]
mod events;
#[path = "server/mcp_servers.rs"]
mod mcp_servers;
#[path = "server/operations.rs"]
mod operations;
#[path = "server/page.rs"]
mod page;
#[path = "server/policy.rs"]
mod policy;
#[path = "server/queries.rs"]
mod queries;
#[path = "server/responses.rs"]
mod responses;
#[path = "server/responses_compact.rs"]
mod responses_compact;
#[path = "server/responses_completions.rs"]
mod responses_completions;
#[path = "server/responses_errors.rs"]
mod responses_errors;
#[path = "server/responses_socket.rs"]
mod responses_socket;
#[path = "server/responses_stage.rs"]
mod responses_stage;
#[path = "server/responses_stored.rs"]
mod responses_stored;
#[path = "server/roles.rs"]
mod roles;
#[path = "server/sessions.rs"]
mod sessions;
#[path = "server/settings_stage.rs"]
mod settings_stage;
#[path = "server/transfer.rs"]
mod transfer;
#[path = "server/webhook.rs"]
mod webhook;
#[path = "server/work.rs"]
mod work;
#[path = "server/worlds.rs"]
mod worlds;
