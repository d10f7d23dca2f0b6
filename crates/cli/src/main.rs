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
mod health;
mod logging;
mod mcp;
mod narrator;
mod openapi;
mod place;
mod policy;
mod resume;
mod running_server;
mod screen;
mod secrets;
mod send;
mod serve;
mod settings;
mod setup;
mod signals;
mod stats;
mod telemetry;
mod token;
mod tool;
mod transfer;
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
    let (folder, command) = arguments.wanted();
    let data = match &command {
        // They tell of what is there, and make nothing.
        Command::Doctor(_) | Command::Health(_) | Command::Openapi => DataFolder::locate(folder)?,
        Command::Serve(wanted) => DataFolder::find(folder)?.with_settings(wanted.config.clone()),
        _ => DataFolder::find(folder)?,
    };
    let runtime = tokio::runtime::Runtime::new().context("the async runtime cannot be started")?;
    let logging = match &command {
        Command::Serve(_) => logging::start_for_server(&data, runtime.handle())?,
        _ => logging::start(runtime.handle())?,
    };
    let exit = runtime.block_on(carry_out(command, data));
    logging.end();
    // A thread may be waiting for a line of input that never comes.
    runtime.shutdown_background();
    exit
}

async fn carry_out(command: Command, data: DataFolder) -> Result<Exit> {
    match command {
        Command::Serve(wanted) => serve::run(data, wanted).await,
        Command::Health(wanted) => health::run(&data, &wanted).await,
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
        Command::Export(wanted) => transfer::export(data, wanted).await,
        Command::Import(wanted) => transfer::import(data, wanted).await,
        Command::Verify(wanted) => verify::run(data, wanted).await,
        Command::Token(wanted) => token::run(data, wanted).await,
        Command::Doctor(wanted) => doctor::run(data, &wanted).await,
        Command::Openapi => openapi::run(),
    }
}
