//! The `agent-world` command. Reads the command line, starts what it names and turns the result into an exit code.
//! Only wires: what a command does is in the file of its name, and every rule is in `core`.

mod again;
mod agent;
mod approvals;
mod args;
mod audit;
mod bounds;
mod changes;
mod chat;
mod chats;
mod completions;
mod connect;
mod data;
mod demo_world;
mod doctor;
mod doubts;
mod events;
mod exit;
mod health;
mod init;
mod logging;
mod man;
mod mcp;
mod narration;
mod openapi;
mod phrases;
mod place;
mod policy;
mod progress;
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
mod table;
mod telemetry;
mod templates;
mod token;
mod tool;
mod transfer;
mod tui;
mod usual_models;
mod verify;
mod words;
mod work;
mod world;

use std::num::NonZero;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use tokio::runtime::Runtime;

use agent_world_client::Token;
use args::{Arguments, Command, Wanted};
use connect::Whereabouts;
use data::DataFolder;
use exit::Exit;

/// A turn is thousands of small allocations that end on another thread than they began on.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Started by itself to run somebody's command: then it is nothing else.
    if let Some(ended) = agent_world_tools::launcher::main_if_asked() {
        return ended;
    }
    // Not to be had on every system, and no reason not to go on.
    agent_world_tools::launcher::keep_to_itself().ok();
    let arguments = Arguments::read();
    again::remember(arguments.typed.clone());
    match run(arguments) {
        Ok(exit) => exit.into(),
        Err(error) => exit::report(&error),
    }
}

fn run(arguments: Arguments) -> Result<Exit> {
    let Wanted { data: folder, server, unencrypted, command } = arguments.wanted();
    let data = match &command {
        // They tell of what is there, and make nothing.
        Command::Doctor(_)
        | Command::Health(_)
        | Command::Openapi
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Init(_) => DataFolder::locate(folder)?,
        Command::Serve(wanted) => DataFolder::find(folder)?.with_settings(wanted.config.clone()),
        _ if server.is_some() => DataFolder::locate(folder)?,
        _ => DataFolder::find(folder)?,
    };
    let token = std::env::var("AGENT_WORLD_TOKEN").ok().filter(|token| !token.trim().is_empty());
    let token = token.map(|text| Token::new(text).sent(unencrypted));
    let to = Whereabouts { server, token, data };
    let runtime = runtime().context("the async runtime cannot be started")?;
    let logging = match &command {
        Command::Serve(_) => logging::start_for_server(&to.data, runtime.handle())?,
        _ => logging::start(runtime.handle())?,
    };
    let exit = runtime.block_on(carry_out(command, to));
    logging.end();
    // A thread may be waiting for a line of input that never comes.
    runtime.shutdown_background();
    exit
}

/// One thread for every two processors: the others are for the store, which has a thread of its own, and for what agents run.
/// More would wake each other for steps of a few microseconds. `TOKIO_WORKER_THREADS` says otherwise.
fn runtime() -> std::io::Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if std::env::var_os("TOKIO_WORKER_THREADS").is_none() {
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        builder.worker_threads(processors.div_ceil(2));
    }
    builder.enable_all().build()
}

async fn carry_out(command: Command, to: Whereabouts) -> Result<Exit> {
    let data = to.data.clone();
    match command {
        Command::Serve(wanted) => serve::run(data, wanted).await,
        Command::Health(wanted) => health::run(&to, &wanted).await,
        Command::Chat(args::Chat { of_chats: Some(wanted), .. }) => chats::run(to, wanted).await,
        Command::Chat(wanted) => chat::run(to, wanted).await,
        Command::Tui(wanted) => tui::run(to, wanted).await,
        Command::Send(wanted) => send::run(to, wanted).await,
        Command::Resume(wanted) => resume::run(to, wanted).await,
        Command::Approvals(wanted) => approvals::run(to, wanted).await,
        Command::Init(wanted) => init::run(to, wanted).await,
        Command::Agent(wanted) => agent::run(to, wanted).await,
        Command::World(wanted) => world::run(to, wanted).await,
        Command::Mcp(wanted) => mcp::run(to, wanted).await,
        Command::Policy(wanted) => policy::run(to, wanted).await,
        Command::Tool(wanted) => tool::run(to, wanted).await,
        Command::Events(wanted) => events::run(to, wanted).await,
        Command::Audit(wanted) => audit::run(to, wanted).await,
        Command::Stats(wanted) => stats::run(to, wanted).await,
        Command::Export(wanted) => transfer::export(to, wanted).await,
        Command::Import(wanted) => transfer::import(to, wanted).await,
        Command::Verify(wanted) => verify::run(to, wanted).await,
        Command::Token(wanted) => token::run(data, wanted).await,
        Command::Doctor(wanted) => doctor::run(data, &wanted).await,
        Command::Openapi => openapi::run(),
        Command::Completions(wanted) => completions::run(&wanted),
        Command::Man(wanted) => man::run(&wanted),
    }
}
