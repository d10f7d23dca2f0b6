//! Says what can be written on the command line, and teaches it by example.
//! Read by `main` only. Checks the form of what is written, never whether it exists.

mod policy;

use std::path::PathBuf;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::audit::What;
use agent_world_core::command::Scope;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::Value;

pub use policy::{Bounds, DiffPolicy, Policy, SetPolicy, ShowPolicy, Switch, TestPolicy};

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
  agent-world chat                             talk to the agents; decide what they may do
  agent-world send \"what time is it\"           one message; what needs approval is denied
  agent-world send --approve all \"run date\"    the same, but each request is approved once
  agent-world approvals list                   what waits for a decision, in all worlds
  agent-world approvals approve ID             decide, also while nothing runs
  agent-world resume                           go on with what was accepted or decided meanwhile
  agent-world policy show                      what agents may do, and by which rule
  agent-world policy test -- git status        what would be decided about a command
  agent-world audit --since 2h                 who did, asked for and decided what
  agent-world verify                           check that nobody changed the log
  agent-world doctor                           what is missing, and how to fix it";

/// Runs LLM agents that act under human control.
#[derive(Debug, Parser)]
#[command(name = "agent-world", version, after_help = NOTES)]
pub struct Arguments {
    /// Where everything is stored; otherwise the platform's data folder
    #[arg(long, global = true, value_name = "DIR", env = "AGENT_WORLD_DATA")]
    pub data: Option<PathBuf>,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serves everything over HTTP, and works until it is ended
    Serve(Serve),
    /// Asks whether a server takes work
    Health(Health),
    /// Talks to the agents of a world, with approvals at the prompt
    Chat(Chat),
    /// Posts one message, waits until the agents are done and prints their replies
    Send(Send),
    /// Goes on with whatever is owed: unanswered messages, recorded decisions, interrupted work. What waits for a
    /// person goes on waiting
    Resume(Resume),
    /// Lists and decides what waits for a person
    #[command(subcommand)]
    Approvals(Approvals),
    /// Lists, creates, shows, changes and deletes worlds
    #[command(subcommand)]
    World(World),
    /// Lists, adds, imports and removes the MCP servers that a world's tools come from
    #[command(subcommand)]
    Mcp(crate::mcp::Mcp),
    /// Shows, changes and tries what agents of a world may do
    #[command(subcommand)]
    Policy(Policy),
    /// Shows the tools agents have
    #[command(subcommand)]
    Tool(Tool),
    /// Shows what is in the log
    #[command(subcommand)]
    Events(Events),
    /// Who did, asked for and decided what, by which rule and with which result
    Audit(Audit),
    /// How tools are used: calls, outcomes, answers, times
    Stats(Stats),
    /// Writes a world to a file with everything in it, or its settings to a folder
    Export(crate::transfer::Export),
    /// Takes in a world that was exported
    Import(crate::transfer::Import),
    /// Checks the log's hash chains, and that everything looked up says what the log says
    Verify(Verify),
    /// Makes, lists and revokes the tokens that let people and programs use the server
    #[command(subcommand)]
    Token(crate::token::Command),
    /// Says what is set up, what is missing and how to fix it
    Doctor(Doctor),
    /// Prints the OpenAPI document of the HTTP interface
    Openapi,
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
#[command(after_help = "\
The exit code is 0 when the server takes work and 1 when it does not or nobody answers: for health checks of containers \
and supervisors. Needs no token.")]
pub struct Health {
    /// The server's address; otherwise that of the server that runs on the data folder
    #[arg(value_name = "URL", env = "AGENT_WORLD_URL")]
    pub url: Option<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
At the prompt: a message, or /help for the commands. When an approval is asked, the next line answers it.
Without a terminal each line of the input is a message, posted when the agents are done with the one before;
a line that comes while an approval is asked is its answer, as if a person had typed it.")]
pub struct Chat {
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
Examples:
  agent-world send \"@bob what time is it\"
  echo \"run ls\" | agent-world send --approve all -
  agent-world send --approve wait \"run rm old.txt\"; agent-world approvals list")]
pub struct Send {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    /// The chat to post to; otherwise the latest of the world
    #[arg(short, long)]
    pub chat: Option<String>,
    /// Posts to a new chat
    #[arg(long, conflicts_with = "chat")]
    pub new: bool,
    /// What happens to tool calls of this message that need approval
    #[arg(long, value_enum, default_value_t = Approve::None)]
    pub approve: Approve,
    /// One JSON object per line for each message, tool call and approval
    #[arg(long)]
    pub json: bool,
    /// The message; `-`, or nothing when input is piped, reads it from stdin
    pub message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Approve {
    /// Denied at once, because nobody can be asked
    None,
    /// Approved where the tool declares that it only reads, otherwise denied
    ReadOnly,
    /// Approved, each once
    All,
    /// Left waiting for somebody to decide later
    Wait,
}

#[derive(Debug, Args)]
pub struct Resume {
    /// Keeps going, and takes up what other processes leave, until Ctrl-C or SIGTERM
    #[arg(long)]
    pub watch: bool,
    /// One JSON object per line for each event
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Approvals {
    /// Everything that waits, in all worlds
    List {
        /// Only of this world
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// One request with what was said before it
    Show {
        id: String,
        #[arg(long)]
        json: bool,
    },
    /// Lets the call run
    Approve(ApproveOne),
    /// Refuses the call; the agent is told, with the reason
    Deny {
        id: String,
        #[arg(long)]
        reason: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Takes back a permission that lasts, by the id that `world show` gives
    Revoke {
        /// `rule_...` for one given with always, `grant_...` for one of a session
        id: String,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct ApproveOne {
    pub id: String,
    /// This call; or this agent and tool for the rest of the chat; or always in this world
    #[arg(long, value_enum, default_value_t = Reach::Once)]
    pub scope: Reach,
    /// Only for calls that fit a suggestion, by its number in `approvals show`
    #[arg(long = "match", value_name = "N")]
    pub suggestion: Option<usize>,
    /// Runs with these arguments in place of the model's
    #[arg(long, value_name = "JSON", value_parser = parse_json)]
    pub arguments: Option<Value>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reach {
    Once,
    Session,
    Always,
}

#[derive(Debug, Subcommand)]
pub enum World {
    /// All worlds
    List {
        #[arg(long)]
        json: bool,
    },
    /// A new world with its first chat
    Create(CreateWorld),
    /// A world's settings, agents and chats
    Show {
        id: String,
        #[arg(long)]
        json: bool,
    },
    /// Changes where a world's tools work and how far its agents may go
    Update(UpdateWorld),
    /// Removes a world with all its chats
    Delete {
        id: String,
        /// Nothing is deleted without it
        #[arg(long)]
        yes: bool,
    },
}

/// An agent as it is written on the command line.
#[derive(Clone, Debug)]
pub struct NewAgent {
    pub id: String,
    pub model: Option<String>,
}

fn new_agent(written: &str) -> Result<NewAgent, String> {
    let Some((id, model)) = written.split_once(':') else {
        return Ok(NewAgent { id: written.to_owned(), model: None });
    };
    let (vendor, name) = model.split_once('/').unwrap_or_default();
    if vendor.is_empty() || name.is_empty() || model.contains(char::is_whitespace) {
        return Err(format!("`{model}` is not a model; write vendor/model, as in openai/gpt-5"));
    }
    Ok(NewAgent { id: id.to_owned(), model: Some(model.to_owned()) })
}

#[derive(Debug, Args)]
pub struct CreateWorld {
    /// Lower-case letters, digits, - and _
    pub id: String,
    #[arg(long)]
    pub name: Option<String>,
    /// An agent, with its model if it is not demo/demo; may be given several times
    #[arg(long = "agent", value_name = "ID[:VENDOR/MODEL]", value_parser = new_agent)]
    pub agents: Vec<NewAgent>,
    /// Who alone gets messages that address nobody; otherwise all agents do
    #[arg(long, value_name = "AGENT")]
    pub main_agent: Option<String>,
    /// What every agent is told first; otherwise its name, who else is there and how to speak to them
    #[arg(long, value_name = "TEXT")]
    pub instructions: Option<String>,
    /// Where tools work; otherwise a folder of its own in the data folder
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    #[command(flatten)]
    pub bounds: Bounds,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Rules are changed with `agent-world policy set`.

Examples:
  agent-world world update lab --sandbox required --network off
  agent-world world update lab --preset read-only
  agent-world world update lab --directory .")]
pub struct UpdateWorld {
    pub id: String,
    /// Where tools work
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    #[command(flatten)]
    pub bounds: Bounds,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Tool {
    /// All tools of a world. Its MCP servers are started to hear what they offer
    List {
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        /// One JSON object per line, without the schema
        #[arg(long)]
        json: bool,
    },
    /// Everything about one tool, with the schema of its arguments
    Show {
        name: String,
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "\
Each line is ok, a warning or a problem, with what to do. The exit code is 1 when there is a problem. Nobody is asked
over the network but a server on this machine, none is started, and no key is shown or fetched.")]
pub struct Doctor {
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum Events {
    /// The newest events, or all after a position
    Tail(Tail),
}

#[derive(Debug, Args)]
pub struct Tail {
    /// Only of this world
    #[arg(short, long)]
    pub world: Option<String>,
    /// Only of this chat
    #[arg(short, long)]
    pub chat: Option<String>,
    /// All events after this position, instead of the newest
    #[arg(long, value_name = "SEQ")]
    pub after: Option<u64>,
    /// How many of the newest
    #[arg(short = 'n', long, default_value_t = 20)]
    pub lines: usize,
    /// Goes on as events are stored, until Ctrl-C
    #[arg(long)]
    pub follow: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
WHEN is a moment such as 2026-11-15T05:59:00Z or 2026-11-15, or how long ago: 90s, 30m, 2h, 3d, 1w.
Times are shown in UTC. Nothing that looks like a secret is in the audit.

Examples:
  agent-world audit --tool shell_cmd --kind decided
  agent-world audit --call call_01m7ewk6wd59f78rxr2nrhe2rk
  agent-world audit --json > audit.jsonl")]
pub struct Audit {
    /// Only of this world, which may be deleted
    #[arg(short, long)]
    pub world: Option<String>,
    /// Only of this chat
    #[arg(short, long)]
    pub chat: Option<String>,
    /// Only what this agent did or asked for
    #[arg(long)]
    pub agent: Option<String>,
    /// Only about this tool
    #[arg(long)]
    pub tool: Option<String>,
    /// Only about this tool call
    #[arg(long, value_name = "ID")]
    pub call: Option<String>,
    /// Only entries of this kind
    #[arg(long, value_parser = PossibleValuesParser::new(What::KINDS))]
    pub kind: Option<String>,
    /// Only what this person decided or changed, also by a permission; `nobody` where nobody could be asked
    #[arg(long, value_name = "WHO")]
    pub actor: Option<String>,
    /// Only since then
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub since: Option<Timestamp>,
    /// Only before then
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    pub until: Option<Timestamp>,
    /// How many of the newest; otherwise 50, and with --json all
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
    /// One JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
ok are calls that completed, not are those that ended in another way; yes and no are answers to what was asked, and no
answer in time is a no. mean and max are the times that runs took.")]
pub struct Stats {
    /// Only of this world, which may be deleted
    #[arg(short, long)]
    pub world: Option<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// Only this world
    #[arg(short, long)]
    pub world: Option<String>,
    #[arg(long)]
    pub json: bool,
}

impl From<Reach> for Scope {
    fn from(reach: Reach) -> Self {
        match reach {
            Reach::Once => Scope::Once,
            Reach::Session => Scope::Session,
            Reach::Always => Scope::Always,
        }
    }
}

impl Arguments {
    /// What is to be done; without a word about it, serving, as the environment wants it.
    pub fn wanted(self) -> (Option<PathBuf>, Command) {
        let Self { data, command } = self;
        let command = command.or_else(|| Self::parse_from(["agent-world", "serve"]).command);
        let unasked =
            || Command::Serve(Serve { listen: None, public_url: None, config: None, open: false });
        (data, command.unwrap_or_else(unasked))
    }
}

/// A moment, or how long ago it was.
fn moment(text: &str) -> Result<Timestamp, String> {
    let given = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse());
    if let Ok(moment) = given {
        return Ok(moment);
    }
    let unclear =
        || format!("`{text}` is no time; write 2026-11-15T05:59:00Z, 2026-11-15, 30m, 2h or 3d");
    let number = text.trim_end_matches(|last: char| last.is_ascii_alphabetic());
    let seconds: u64 = match text.strip_prefix(number) {
        Some("s") => 1,
        Some("m") => 60,
        Some("h") => 3_600,
        Some("d") => 86_400,
        Some("w") => 7 * 86_400,
        _ => return Err(unclear()),
    };
    let number: u64 = number.parse().map_err(|_| unclear())?;
    let ago = Duration::from_secs(number.saturating_mul(seconds));
    Timestamp::now().checked_sub(ago).map_err(|_| unclear())
}

fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}"))
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
