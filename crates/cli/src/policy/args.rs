//! Says what can be written behind `agent-world policy`.
//! Read by `args`. Checks the form of what is written, never whether it exists.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::args::parse_json;
use crate::bounds::NamedPreset;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world policy show
  agent-world policy test -- git push
  agent-world policy set rules.json --dry-run
  agent-world policy diff rules.json")]
pub enum Policy {
    /// Every world's preset, and how many rules it has
    #[command(after_help = "\
Examples:
  agent-world policy list
  agent-world policy list --json")]
    List {
        /// One JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// The preset, the rules in their order, and what people granted with `always`
    Show(ShowPolicy),
    /// Replaces the preset and the rules by a document, or only the preset
    #[command(visible_aliases = ["create", "update"])]
    Set(SetPolicy),
    /// Takes out all rules: what is left is the policy of a new world
    Delete(DeletePolicy),
    /// Says what would be decided about a call, and by which rule. The call is not made
    Test(TestPolicy),
    /// What another policy would have decided otherwise about the calls that were made
    Diff(DiffPolicy),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world policy show -w lab
  agent-world policy show --json > rules.json")]
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
What people granted with `always` stays; `agent-world approvals revoke ID` takes one back.

Examples:
  agent-world policy delete -w lab --yes")]
pub struct DeletePolicy {
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    /// Nothing is deleted without it
    #[arg(long)]
    pub yes: bool,
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
    #[arg(long, requires = "arguments")]
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
