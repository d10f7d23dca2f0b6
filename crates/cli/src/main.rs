//! The `agent-world` command. Reads the command line, starts what it names and turns the result into an exit code.
//! Only wires: what a command does is in the file of its name, and every rule is in `core`.

mod approvals;
mod args;
mod audit;
mod chat;
mod data;
mod demo_world;
mod doctor;
mod events;
mod exit;
mod mcp;
mod narrator;
mod place;
mod policy;
mod resume;
mod screen;
mod secrets;
mod send;
mod settings;
mod setup;
mod signals;
mod stats;
mod tool;
mod verify;
mod wire;
mod words;
mod work;
mod world;

use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Parser as _;

use args::{Arguments, Command};
use data::DataFolder;
use exit::Exit;

fn main() -> ExitCode {
    // Started by itself to run somebody's command: then it is nothing else.
    if let Some(ended) = agent_world_tools::launcher::main_if_asked() {
        return ended;
    }
    // Not to be had on every system, and no reason not to go on.
    agent_world_tools::launcher::keep_to_itself().ok();
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(error) => exit::report(&error),
    }
}

fn run(arguments: Arguments) -> Result<Exit> {
    let Some(command) = arguments.command else {
        return args::print_introduction();
    };
    log_if_wanted()?;
    let data = match &command {
        // It tells of what is there, and makes nothing.
        Command::Doctor(_) => DataFolder::locate(arguments.data)?,
        _ => DataFolder::find(arguments.data)?,
    };
    let runtime = tokio::runtime::Runtime::new().context("the async runtime cannot be started")?;
    let exit = runtime.block_on(carry_out(command, data));
    // A thread may be waiting for a line of input that never comes.
    runtime.shutdown_background();
    exit
}

async fn carry_out(command: Command, data: DataFolder) -> Result<Exit> {
    match command {
        Command::Chat(wanted) => chat::run(data, wanted).await,
        Command::Send(wanted) => send::run(data, wanted).await,
        Command::Resume(wanted) => resume::run(data, wanted).await,
        Command::Approvals(wanted) => approvals::run(data, wanted).await,
        Command::World(wanted) => world::run(data, wanted).await,
        Command::Mcp(wanted) => mcp::run(data, wanted).await,
        Command::Policy(wanted) => policy::run(data, wanted).await,
        Command::Tool(wanted) => tool::run(data, wanted).await,
        Command::Events(args::Events::Tail(wanted)) => events::tail(data, wanted).await,
        Command::Audit(wanted) => audit::run(data, wanted).await,
        Command::Stats(wanted) => stats::run(data, wanted).await,
        Command::Verify(wanted) => verify::run(data, wanted).await,
        Command::Doctor(wanted) => doctor::run(data, &wanted).await,
    }
}

/// Off unless asked for; always on stderr, so that output stays what scripts expect.
fn log_if_wanted() -> Result<()> {
    let Ok(wanted) = std::env::var("AGENT_WORLD_LOG") else {
        return Ok(());
    };
    let filter = tracing_subscriber::EnvFilter::try_new(&wanted).with_context(|| {
        format!(
            "AGENT_WORLD_LOG=`{wanted}` cannot be read; try `info` or `agent_world_runtime=debug`"
        )
    })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .init();
    Ok(())
}
