//! Where time and random bits come from. Asked by the runtime for every command; replaced in simulations.

use std::fmt;

use agent_world_core::Timestamp;

/// The two things a rule may not ask for itself.
pub trait Environment: fmt::Debug + Send + Sync {
    /// Now, to the millisecond: what is stored is what was decided with.
    fn now(&self) -> Timestamp;
    fn entropy(&self) -> u128;
}

/// The machine's clock and random source.
#[derive(Debug, Default)]
pub struct System;

impl Environment for System {
    fn now(&self) -> Timestamp {
        let now = Timestamp::now();
        Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
    }

    fn entropy(&self) -> u128 {
        rand::random()
    }
}
