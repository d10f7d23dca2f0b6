//! A client of Agent World's HTTP interface: what the command line and the terminal are built on, and any Rust program
//! can use.
//!
//! A [`Client`] speaks through a [`Transport`]: [`Remote`] reaches a server, and a program that holds an engine itself can
//! hand requests to its own router. Whoever uses the client cannot tell the two apart. It never decides anything by itself
//! and never repeats a request that may have been carried out.

mod client;
mod error;
mod events;
mod path;
mod remote;
mod transport;
pub mod wire;

pub use client::{Client, Pages};
pub use error::{Error, Problem};
pub use events::{Following, Heard, Scope};
pub use path::Path;
pub use remote::{Remote, Token, Unencrypted};
pub use transport::{Answer, Body, Transport};

pub type Result<T> = std::result::Result<T, Error>;
