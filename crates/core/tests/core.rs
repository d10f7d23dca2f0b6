//! Checks every rule that needs no IO, as play scripts, as recorded logs and as a random walk.
//! The first modules read, perform, check and print a play; those after them are the plays, one for each part of the
//! behaviour, and the logs of earlier plays; the last ones are the random walk and the reference it is compared with.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

// A plain `mod` would look beside this file, where cargo takes every file for a test of its own.
#[path = "core/invariants.rs"]
mod invariants;
#[path = "core/printer.rs"]
mod printer;
#[path = "core/scene.rs"]
mod scene;
#[path = "core/script.rs"]
mod script;
#[path = "core/setting.rs"]
mod setting;
#[path = "core/stage.rs"]
mod stage;

#[path = "core/answers.rs"]
mod answers;
#[path = "core/approvals.rs"]
mod approvals;
#[path = "core/auto_mention.rs"]
mod auto_mention;
#[path = "core/background.rs"]
mod background;
#[path = "core/bindings.rs"]
mod bindings;
#[path = "core/chains.rs"]
mod chains;
#[path = "core/chats.rs"]
mod chats;
#[path = "core/clients.rs"]
mod clients;
#[path = "core/denials.rs"]
mod denials;
#[path = "core/forks.rs"]
mod forks;
#[path = "core/forms.rs"]
mod forms;
#[path = "core/grants.rs"]
mod grants;
#[path = "core/hostile.rs"]
mod hostile;
#[path = "core/logs.rs"]
mod logs;
#[path = "core/mentions.rs"]
mod mentions;
#[path = "core/naming.rs"]
mod naming;
#[path = "core/offers.rs"]
mod offers;
#[path = "core/prompts.rs"]
mod prompts;
#[path = "core/recovery.rs"]
mod recovery;
#[path = "core/retractions.rs"]
mod retractions;
#[path = "core/rules.rs"]
mod rules;
#[path = "core/senders.rs"]
mod senders;
#[path = "core/settings.rs"]
mod settings;
#[path = "core/stopping.rs"]
mod stopping;
#[path = "core/tools.rs"]
mod tools;
#[path = "core/turn_limit.rs"]
mod turn_limit;
#[path = "core/turns.rs"]
mod turns;
#[path = "core/unattended.rs"]
mod unattended;

#[path = "core/moves.rs"]
mod moves;
#[path = "core/reference.rs"]
mod reference;
#[path = "core/walk.rs"]
mod walk;
