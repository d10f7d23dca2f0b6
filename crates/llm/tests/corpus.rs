//! Runs every exchange of the provider corpus both ways: the recorded reply must be understood, and the request made
//! for the same conversation must mean what the recorded one meant.
//!
//! The corpus is not part of the project. It is looked for in `AGENT_WORLD_CORPUS`, then in `shared/provider-corpus`
//! beside the project's folder. Where it is not found, the tests say how many cases they skipped; where the variable
//! is set, every case must be there and must run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "corpus/cases.rs"]
mod cases;
#[path = "corpus/compare.rs"]
mod compare;
#[path = "corpus/run.rs"]
mod run;

#[path = "corpus/complete.rs"]
mod complete;

#[path = "corpus/anthropic.rs"]
mod anthropic;
#[path = "corpus/chat.rs"]
mod chat;
#[path = "corpus/google.rs"]
mod google;
#[path = "corpus/ollama.rs"]
mod ollama;
#[path = "corpus/openai.rs"]
mod openai;

#[path = "schema/check.rs"]
mod schema;
