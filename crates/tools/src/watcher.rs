//! How a tool shows its output while it is made.
//! Given to every call by the runtime, which passes it on to whoever follows along. Never stored: the result is.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    Stdout,
    Stderr,
    /// What the tool says about how far it is.
    Progress,
}

/// Must not block: what cannot be passed on at once is left out.
pub trait Watcher: fmt::Debug + Send + Sync {
    fn wrote(&self, channel: Channel, text: &str);
}

/// Where nobody looks.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn wrote(&self, _channel: Channel, _text: &str) {}
}
