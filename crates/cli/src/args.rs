//! Says what can be written on the command line, and teaches it by example.
//! Read by `main` only. Checks the form of what is written, never whether it exists.

use std::path::PathBuf;

use agent_world_client::Unencrypted;
use clap::builder::{FalseyValueParser, Resettable};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use serde_json::Value;

use crate::again::Flags;

/// Columns beyond which lines are hard to read.
const WIDEST: usize = 100;

const NOTES: &str = "\
Without a command it serves: `agent-world` is `agent-world serve`. `agent-world COMMAND --help` explains one command.

Exit codes: 0 done, 1 failed, 2 usage; 3 from `send` and `chat` when approvals are still waiting in their chat, \
and from `send` when a request was denied without a person being asked. `resume` returns 0 also when approvals wait.

Models are written vendor/model. demo/demo needs nothing; for others set the vendor's key, such as OPENAI_API_KEY, \
ANTHROPIC_API_KEY, GEMINI_API_KEY, XAI_API_KEY or GROQ_API_KEY. agent-world.toml in the data folder or the current \
folder can say more: keys from a command, other addresses, hosts of your own.

Logging: AGENT_WORLD_LOG=info (or debug, or a filter) writes to stderr, as AGENT_WORLD_LOG_FORMAT=text or json. Traces and \
metrics go to OpenTelemetry where its usual variables say so, such as OTEL_EXPORTER_OTLP_ENDPOINT.

Examples:
  agent-world                                  serve everything over HTTP
  agent-world chat                             talk to the agents, and decide
  agent-world tui                              the same on the whole screen
  agent-world send \"what time is it\"           one message, nobody is asked
  agent-world send --approve all \"run date\"    each request is approved once
  agent-world approvals list                   what waits for a decision
  agent-world approvals approve ID             decide, also while nothing runs
  agent-world resume                           go on with what is left to do
  agent-world policy show                      what agents may do
  agent-world policy test -- git status        what would be decided
  agent-world init                             set up a model of a vendor
  agent-world world create x --template pair   a world that is ready for use
  agent-world audit --since 2h                 who did and decided what
  agent-world verify                           check that nobody changed the log
  agent-world doctor                           what is missing, how to fix it";

/// Runs LLM agents that act under human control.
#[derive(Debug, Parser)]
#[command(name = "agent-world", version, after_help = NOTES)]
pub struct Arguments {
    /// Where everything is stored; otherwise the platform's data folder
    #[arg(long, global = true, value_name = "DIR", env = "AGENT_WORLD_DATA")]
    pub data: Option<PathBuf>,
    /// The server to talk to; otherwise one that runs on the data folder, or the store itself. AGENT_WORLD_TOKEN holds the
    /// token it wants
    #[arg(long, global = true, value_name = "URL", env = "AGENT_WORLD_URL")]
    pub server: Option<String>,
    /// Sends the token to a server on another machine over http:// as well, where everybody on the way can read it
    #[arg(long, global = true, env = "AGENT_WORLD_PLAIN_HTTP", value_parser = FalseyValueParser::new())]
    pub plain_http: bool,
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Which of the flags above were typed, for commands that name others
    #[arg(skip)]
    pub typed: Flags,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves everything over HTTP, and works until it is ended
    Serve(Serve),
    /// Asks whether a server takes work
    Health(crate::health::Health),
    /// Talks to the agents of a world, with approvals at the prompt; or lists, shows and changes chats
    Chat(Chat),
    /// Shows all worlds, their chats and what waits for you on the whole screen
    Tui(crate::tui::Tui),
    /// Posts one message, waits until the agents are done and prints their replies
    Send(crate::send::Send),
    /// Goes on with whatever is owed: unanswered messages, recorded decisions, interrupted work. What waits for a
    /// person goes on waiting
    Resume(crate::resume::Resume),
    /// Lists and decides what waits for a person
    #[command(subcommand)]
    Approvals(crate::approvals::Approvals),
    /// Sets up a model: asks for a vendor and a key, tries it, and makes a world
    Init(crate::init::Init),
    /// Lists, creates, shows, changes and deletes worlds
    #[command(subcommand)]
    World(crate::world::World),
    /// Lists, creates, shows, changes and deletes the agents of a world
    #[command(subcommand)]
    Agent(crate::agent::Agent),
    /// Lists, adds, imports, switches and removes the MCP servers that a world's tools come from
    #[command(subcommand)]
    Mcp(crate::mcp::Mcp),
    /// Shows, changes and tries what agents of a world may do
    #[command(subcommand)]
    Policy(crate::policy::Policy),
    /// Shows the tools agents have
    #[command(subcommand)]
    Tool(crate::tool::Tool),
    /// Shows what is in the log
    #[command(subcommand)]
    Events(crate::events::Events),
    /// Who did, asked for and decided what, by which rule and with which result
    Audit(crate::audit::Audit),
    /// How tools and models are used: calls, outcomes, answers, times, tokens
    Stats(crate::stats::Stats),
    /// Writes a world to a file with everything in it, or its settings to a folder
    Export(crate::transfer::Export),
    /// Takes in a world that was exported, or MCP servers of other programs; or follows a folder
    Import(crate::transfer::Import),
    /// Checks the log's hash chains, and that everything looked up says what the log says
    Verify(crate::verify::Verify),
    /// Makes, lists and revokes the tokens that let people and programs use the server
    #[command(subcommand)]
    Token(crate::token::Command),
    /// Says what is set up, what is missing and how to fix it
    Doctor(Doctor),
    /// Prints the OpenAPI document of the HTTP interface
    #[command(after_help = "\
Examples:
  agent-world openapi > openapi.json")]
    Openapi,
    /// Prints what a shell needs to complete these commands
    Completions(crate::completions::Completions),
    /// Writes manual pages, one for each command
    Man(crate::man::Man),
}

#[derive(Debug, Args)]
#[command(after_help = "\
The first start makes a demo world. Ctrl-C or SIGTERM ends the server: it finishes what it is answering, ends what it \
runs, and the next start goes on from there. A second one ends it at once. docs/server.md says more.

Examples:
  agent-world serve
  agent-world serve --listen 127.0.0.1:0
  agent-world --data /srv/agents serve --config /etc/agent-world.toml
  agent-world health && agent-world doctor")]
pub struct Serve {
    /// Where to listen; otherwise what the settings say, or 127.0.0.1:7420. Port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", env = "AGENT_WORLD_LISTEN")]
    pub listen: Option<std::net::SocketAddr>,
    /// How people reach it, for links in what it sends; otherwise where it listens
    #[arg(long, value_name = "URL", env = "AGENT_WORLD_PUBLIC_URL")]
    pub public_url: Option<String>,
    /// The settings file, in place of agent-world.toml in the data and the current folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Opens the browser when the server listens
    #[arg(long)]
    pub open: bool,
}

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
At the prompt: a message, or /help for the commands. When an approval is asked, the next line answers it.
Without a terminal each line of the input is a message, posted when the agents are done with the one before;
a line that comes while an approval is asked is its answer, as if a person had typed it.

Examples:
  agent-world chat
  agent-world chat -w lab --new --agent ada"
)]
pub struct Chat {
    /// Without one of these it is a conversation
    #[command(subcommand)]
    pub of_chats: Option<crate::chats::Chats>,
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    /// The chat to go on with; otherwise the latest of the world
    #[arg(short, long)]
    pub chat: Option<String>,
    /// Starts a new chat
    #[arg(long, conflicts_with = "chat")]
    pub new: bool,
    /// Whom messages are for that do not begin with a mention
    #[arg(long)]
    pub agent: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each line is ok, a warning or a problem, with what to do. The exit code is 1 when there is a problem. Without --online
nobody is asked over the network but a server on this machine, and no key is fetched. No server is started, and no key is
shown.

Examples:
  agent-world doctor
  agent-world doctor --online
  agent-world doctor --json")]
pub struct Doctor {
    /// Asks the vendors of all agents whether they take the key and list the model
    #[arg(long)]
    pub online: bool,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

impl Arguments {
    /// Reads the command line. Ends the program where it cannot be meant, or help was asked for.
    pub fn read() -> Self {
        let matches = flowing(Self::command()).try_get_matches();
        let matches = matches.unwrap_or_else(|error| as_typed(error).exit());
        let read = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        let typed = Flags::of(&matches, read.data.as_deref(), read.server.as_deref());
        Self { typed, ..read }
    }

    /// What is to be done; without a word about it, serving, as the environment wants it.
    pub fn wanted(self) -> Wanted {
        let Self { data, server, plain_http, command, .. } = self;
        let command = command.or_else(|| Self::parse_from(["agent-world", "serve"]).command);
        let unasked =
            || Command::Serve(Serve { listen: None, public_url: None, config: None, open: false });
        let server = server.filter(|url| !url.trim().is_empty());
        let unencrypted = match plain_http {
            true => Unencrypted::Anywhere,
            false => Unencrypted::OnlyHere,
        };
        Wanted { data, server, unencrypted, command: command.unwrap_or_else(unasked) }
    }
}

/// What is to be done, and where.
#[derive(Debug)]
pub struct Wanted {
    pub data: Option<PathBuf>,
    pub server: Option<String>,
    /// Where the token may go without encryption.
    pub unencrypted: Unencrypted,
    pub command: Command,
}

/// The same mistake told by what was typed alone: what the environment says is in no usage line, as if it had to be written.
fn as_typed(error: clap::Error) -> clap::Error {
    if !error.use_stderr() {
        return error;
    }
    match without_environment(flowing(Arguments::command())).try_get_matches() {
        Err(typed) if typed.kind() == error.kind() => typed,
        // The mistake is in the environment.
        _ => error,
    }
}

fn without_environment(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| argument.env(Resettable::Reset));
    command.mut_subcommands(without_environment)
}

/// The same command with texts that fit any width: lines that were broken for whoever reads the source are joined again, and
/// the terminal breaks them.
pub fn flowing(command: clap::Command) -> clap::Command {
    let after = command.get_after_help().map(|text| joined(&text.to_string()));
    let command = match after {
        Some(text) => command.after_help(text),
        None => command,
    };
    command.max_term_width(WIDEST).mut_subcommands(flowing)
}

/// Paragraphs on one line each. What is indented, such as an example, stays as it is.
fn joined(text: &str) -> String {
    let mut out = String::new();
    let is_prose = |line: &str| !line.is_empty() && !line.starts_with(' ');
    let mut before = "";
    for line in text.lines() {
        let goes_on = is_prose(before) && is_prose(line) && !before.ends_with(':');
        match (out.is_empty(), goes_on) {
            (true, _) => {}
            (false, true) => out.push(' '),
            (false, false) => out.push('\n'),
        }
        out.push_str(line);
        before = line;
    }
    out
}

/// JSON as somebody types it.
pub fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
