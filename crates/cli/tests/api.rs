//! The product over HTTP, as anybody outside sees it: the real program, real sockets, and nothing but its interface.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]
#![allow(dead_code, reason = "the stage is shared with the bench")]

mod api {
    mod approving;
    pub mod asking;
    mod chats;
    mod crashing;
    mod editing;
    mod errors;
    mod first;
    pub mod following;
    mod fuzzing;
    mod identity;
    pub mod libraries;
    mod mentions;
    mod racing;
    mod responding;
    mod restarting;
    mod routes;
    mod safety;
    pub mod stage;
    mod streams;
    mod tools;
    mod usage;
    pub mod vendor;
}

use api::{asking, following, libraries, stage, vendor};
