//! The effects a chat owes: each runs on its own and ends in the command that records what it led to.

pub(crate) mod asking;
pub(crate) mod look;
pub(crate) mod model;
pub(crate) mod title;
pub(crate) mod tool;
