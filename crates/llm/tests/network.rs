//! Asks vendors over a real network: servers of the tests' own, on this machine. They answer as a script says, also
//! wrongly, late, in pieces or never.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

#[path = "network/access.rs"]
mod access;
#[path = "network/limits.rs"]
mod limits;
#[path = "network/oauth.rs"]
mod oauth;
#[path = "network/proxies.rs"]
mod proxies;
#[path = "network/replies.rs"]
mod replies;
#[path = "network/retries.rs"]
mod retries;
#[path = "network/server.rs"]
mod server;
#[path = "network/tls.rs"]
mod tls;
#[path = "network/toy.rs"]
mod toy;
