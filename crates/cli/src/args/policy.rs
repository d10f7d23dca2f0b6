//! Says what can be written behind `agent-world policy`, and how far agents of a world may go.
//! Part of `args`. Checks the form of what is written, never whether it exists.

use std::path::PathBuf;

use agent_world_core::config::SandboxMode;
use agent_world_core::policy::Preset;
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;

use super::parse_json;

#[derive(Debug, Subcommand)]
pub enum Policy {
    /// The preset, the rules in their order, and what people granted with `always`
    Show(ShowPolicy),
    /// Replaces the preset and the rules by a document, or only the preset
    Set(SetPolicy),
    /// Says what would be decided about a call, and by which rule. The call is not made
    Test(TestPolicy),
    /// What another policy would have decided otherwise about the calls that were made
    Diff(DiffPolicy),
}

#[derive(Debug, Args)]
pub struct ShowPolicy {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    /// The document that `policy set` takes
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The document is JSON: {\"preset\": \"ask\", \"rules\": [..]}, where a rule has an id, a ruling (allow, ask or deny), a tool
(* stands for anything) and, as it needs them: agent, command {program, parameters}, paths {within}, annotations,
matches, description, examples {must_match, must_not_match}. Of the rules that match the first decides, but a deny
wins wherever it stands. What the document leaves out is as in a new world; what people granted with `always` stays.

Examples:
  agent-world policy set --preset read-only
  agent-world policy set rules.json --dry-run
  agent-world policy show --json | agent-world policy set -")]
pub struct SetPolicy {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    /// A JSON document; `-` reads it from stdin
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    pub file: Option<PathBuf>,
    /// Changes only what holds where no rule speaks
    #[arg(long, value_enum)]
    pub preset: Option<NamedPreset>,
    /// Only says what would change
    #[arg(long)]
    pub dry_run: bool,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The exit code is 0 whatever the verdict is; scripts read `verdict` of --json. What was granted for the rest of a chat is
left out. The world's MCP servers are started for it: what a tool declares has a say.

Examples:
  agent-world policy test -- git status -s
  agent-world policy test -- \"git pull && make\"
  agent-world policy test --tool read_file --arguments '{\"path\": \"notes.txt\"}'
  agent-world policy test --policy rules.json --agent bob -- rm -r build")]
pub struct TestPolicy {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    /// The tool that is called
    #[arg(long, required_unless_present = "command", requires = "arguments")]
    pub tool: Option<String>,
    #[arg(long, value_name = "JSON", value_parser = parse_json, requires = "tool")]
    pub arguments: Option<Value>,
    /// Who calls it; otherwise the world's main agent
    #[arg(long)]
    pub agent: Option<String>,
    /// Asks this document in place of the world's preset and rules; `-` reads it from stdin
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// A command with its parameters, as a call of shell_cmd. A single word with spaces in it is a script
    #[arg(last = true, conflicts_with = "tool")]
    pub command: Vec<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Both policies are asked about each call as it was made, by the tools and in the folder the world has now. What was
granted for the rest of a chat is left out. The world's MCP servers are started for it. Nothing is changed.

Examples:
  agent-world policy diff rules.json
  agent-world policy diff rules.json --limit 500 --json")]
pub struct DiffPolicy {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    /// A JSON document as `policy set` takes it; `-` reads it from stdin
    pub file: PathBuf,
    /// How many of the newest calls are looked at
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub limit: usize,
    /// One JSON object per line for each difference, then one with the numbers
    #[arg(long)]
    pub json: bool,
}

/// How far the agents of a world may go.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct Bounds {
    /// What holds where no rule of the world's policy speaks
    #[arg(long, value_enum, alias = "policy-preset")]
    pub preset: Option<NamedPreset>,
    /// Whether programs that agents run are confined
    #[arg(long, value_enum, value_name = "MODE")]
    pub sandbox: Option<NamedMode>,
    /// Whether programs in the sandbox may open sockets
    #[arg(long, value_enum, value_name = "STATE")]
    pub network: Option<Switch>,
}

impl Bounds {
    /// Whether nothing is said about them.
    pub fn is_empty(&self) -> bool {
        self.preset.is_none() && self.sandbox.is_none() && self.network.is_none()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NamedPreset {
    /// Tools that only read are as they declare, everything else is denied
    ReadOnly,
    /// What each tool declares
    Ask,
    /// Tools that do not destroy are allowed; of servers and clients those that only read
    Trusted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NamedMode {
    /// As much as this system supports
    On,
    /// Not at all
    Off,
    /// Where this system cannot confine them, they do not run
    Required,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    On,
    Off,
}

impl From<NamedPreset> for Preset {
    fn from(named: NamedPreset) -> Self {
        match named {
            NamedPreset::ReadOnly => Preset::ReadOnly,
            NamedPreset::Ask => Preset::Ask,
            NamedPreset::Trusted => Preset::Trusted,
        }
    }
}

impl From<NamedMode> for SandboxMode {
    fn from(named: NamedMode) -> Self {
        match named {
            NamedMode::On => SandboxMode::On,
            NamedMode::Off => SandboxMode::Off,
            NamedMode::Required => SandboxMode::Required,
        }
    }
}
