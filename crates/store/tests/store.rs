//! One suite for every store, and what only one of them promises. Each test's name says the behaviour.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "store/backend.rs"]
mod backend;
#[path = "store/teller.rs"]
mod teller;

#[path = "store/appending.rs"]
mod appending;
#[path = "store/auditing.rs"]
mod auditing;
#[path = "store/deleting.rs"]
mod deleting;
#[path = "store/documents.rs"]
mod documents;
#[path = "store/faults.rs"]
mod faults;
#[path = "store/looking_up.rs"]
mod looking_up;
#[path = "store/results.rs"]
mod results;
#[path = "store/sqlite_failing.rs"]
mod sqlite_failing;
#[path = "store/sqlite_sharing.rs"]
mod sqlite_sharing;
#[path = "store/verifying.rs"]
mod verifying;
#[path = "store/waking.rs"]
mod waking;
#[path = "store/worlds.rs"]
mod worlds;
