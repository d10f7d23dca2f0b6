//! Named places at which a test may have the process killed. Compiled to nothing without the feature `kill-points`.
//! The campaign that uses them is in the command line's tests; a product build never has them.

/// Between deciding and appending: nothing of the command is durable.
pub(crate) const BEFORE_APPEND: &str = "before_append";
/// The events are durable; nobody has been told.
pub(crate) const AFTER_APPEND: &str = "after_append";
/// A tool's start is durable; its process does not exist.
pub(crate) const TOOL_STARTED: &str = "tool_started";
/// A tool has ended; nothing of that is durable.
pub(crate) const TOOL_ENDED: &str = "tool_ended";
/// A model has answered; nothing of that is durable.
pub(crate) const MODEL_ANSWERED: &str = "model_answered";
/// A chat was loaded; nothing it owes has been taken up.
pub(crate) const CHAT_LOADED: &str = "chat_loaded";

/// Kills the process, as `kill -9` would, if this is the place and the time that `AGENT_WORLD_KILL_AT` names
/// (`place:count`, the count from 1).
#[cfg(feature = "kill-points")]
pub(crate) fn reached(place: &str) {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};

    static PASSED: Mutex<Option<HashMap<String, u64>>> = Mutex::new(None);
    let Ok(wanted) = std::env::var("AGENT_WORLD_KILL_AT") else {
        return;
    };
    let Some((name, count)) = wanted.split_once(':') else {
        return;
    };
    let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    let passed = passed.get_or_insert_default().entry(place.to_owned()).or_default();
    *passed += 1;
    if name == place && count.parse() == Ok(*passed) {
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
            .ok();
        // The signal is on its way; nothing may happen before it arrives.
        loop {
            std::thread::park();
        }
    }
}

#[cfg(not(feature = "kill-points"))]
#[inline(always)]
pub(crate) fn reached(_place: &str) {}
