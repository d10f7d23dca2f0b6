//! A conversation at the bottom of a terminal, which leaves its history in the scrollback like any other program.
//! Started by the `chat` command. [`state`] decides what keys and news mean, [`draw`] says how that looks, [`run`] is the loop
//! that carries out what was decided; only the loop touches the terminal and the network.

pub mod address;
pub mod commands;
pub mod draw;
pub mod effect;
mod flow;
mod hanging;
pub mod inline;
mod open;
mod order;
mod perform;
mod raw;
mod released;
mod run;
mod shorten;
mod show;
pub mod state;
mod waiting;
mod words;

pub use perform::insist;
pub use released::released;
pub use run::{Ended, FromHost, Setup, run};
pub use words::{UNDO, lasts};

#[cfg(test)]
mod tests;
