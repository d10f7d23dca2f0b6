//! Tests of the `agent-world` command: the real program, started with a data folder of its own, as a person or a
//! script would.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[path = "cli/home.rs"]
mod home;
#[path = "cli/pty.rs"]
mod pty;

#[path = "cli/answering.rs"]
mod answering;
#[path = "cli/whoever.rs"]
mod whoever;

#[path = "cli/answers.rs"]
mod answers;
#[path = "cli/approvals.rs"]
mod approvals;
#[path = "cli/asking.rs"]
mod asking;
#[path = "cli/auditing.rs"]
mod auditing;
#[path = "cli/both.rs"]
mod both;
#[path = "cli/chat.rs"]
mod chat;
#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/doubts.rs"]
mod doubts;
#[path = "cli/finding.rs"]
mod finding;
#[path = "cli/first_use.rs"]
mod first_use;
#[path = "cli/hints.rs"]
mod hints;
#[path = "cli/init.rs"]
mod init;
#[path = "cli/leaving.rs"]
mod leaving;
#[path = "cli/log.rs"]
mod log;
#[path = "cli/lossy.rs"]
mod lossy;
#[path = "cli/manual.rs"]
mod manual;
#[path = "cli/mcp.rs"]
mod mcp;
#[path = "cli/policy.rs"]
mod policy;
#[path = "cli/processes.rs"]
mod processes;
#[path = "cli/program.rs"]
mod program;
#[path = "cli/readme.rs"]
mod readme;
#[path = "cli/send.rs"]
mod send;
#[path = "cli/serve.rs"]
mod serve;
#[path = "cli/sizes.rs"]
mod sizes;
#[path = "cli/telemetry.rs"]
mod telemetry;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/token.rs"]
mod token;
#[path = "cli/tools.rs"]
mod tools;
#[path = "cli/transfer.rs"]
mod transfer;
#[path = "cli/tui.rs"]
mod tui;
#[path = "cli/watching.rs"]
mod watching;
#[path = "cli/width.rs"]
mod width;
#[path = "cli/worlds.rs"]
mod worlds;
