//! Says what can be written behind `agent-world mcp`.
//! Read by `args`. Checks the form of what is written, never whether it exists.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  agent-world mcp add time -- uvx mcp-server-time
  agent-world mcp list --check
  agent-world mcp import .mcp.json -w lab
  agent-world mcp disable time
  agent-world mcp remove time")]
pub enum Mcp {
    /// The servers of a world
    #[command(after_help = "\
Examples:
  agent-world mcp list -w lab
  agent-world mcp list --check")]
    List {
        /// The world; otherwise `demo`, or the only one there is
        #[arg(short, long)]
        world: Option<String>,
        /// Starts each server and says whether it works and how many tools it has
        #[arg(long)]
        check: bool,
        #[arg(long)]
        json: bool,
    },
    /// One server, in place of any of the same name
    #[command(visible_aliases = ["create", "update"])]
    Add(Add),
    /// All servers of a file with `mcpServers`, as other programs write it
    #[command(after_help = "\
Examples:
  agent-world mcp import ~/.cursor/mcp.json
  agent-world mcp import .mcp.json -w lab")]
    Import {
        /// The file; `-` reads from stdin
        file: PathBuf,
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
    /// Lets a server start that is switched off, such as one that came with an imported world
    #[command(after_help = "\
A server is a program of its own and runs with your rights: look at it first, with `agent-world mcp list`.

Examples:
  agent-world mcp enable time -w lab")]
    Enable(Switched),
    /// Switches a server off: it is not started, and its tools are gone until it is switched on
    #[command(after_help = "\
Examples:
  agent-world mcp disable time -w lab")]
    Disable(Switched),
    /// Takes a server out of a world
    #[command(
        visible_alias = "delete",
        after_help = "\
Examples:
  agent-world mcp remove time -w lab"
    )]
    Remove {
        name: String,
        #[arg(short, long)]
        world: Option<String>,
        #[arg(long)]
        json: bool,
    },
}

/// Which server is switched on or off.
#[derive(Debug, Args)]
pub struct Switched {
    pub name: String,
    /// The world; otherwise `demo`, or the only one there is
    #[arg(short, long)]
    pub world: Option<String>,
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  agent-world mcp add time -- uvx mcp-server-time
  agent-world mcp add files --env DEBUG=1 -- npx -y my-file-server .
  agent-world mcp add wiki --url https://wiki.example/mcp --header 'Key: ${KEY}'

${NAME} is read from the environment when the server is started.")]
pub struct Add {
    pub name: String,
    #[arg(short, long)]
    pub world: Option<String>,
    /// Where a server over HTTP is
    #[arg(long, conflicts_with = "command", value_parser = address)]
    pub url: Option<String>,
    /// Sent with every request to a server over HTTP; may be given several times
    #[arg(long = "header", value_name = "NAME: VALUE", requires = "url", value_parser = header)]
    pub headers: Vec<(String, String)>,
    /// A variable that the server gets besides the harmless ones; may be given several times
    #[arg(long = "env", value_name = "NAME=VALUE", conflicts_with = "url", value_parser = variable)]
    pub env: Vec<(String, String)>,
    /// Believes what the server says about its tools: those that only read need no approval
    #[arg(long)]
    pub trusted: bool,
    /// How long one call may take
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<u64>,
    #[arg(long)]
    pub json: bool,
    /// The program and its parameters, after `--`
    #[arg(last = true, required_unless_present = "url")]
    pub command: Vec<String>,
}

fn header(written: &str) -> Result<(String, String), String> {
    let (name, value) = written.split_once(':').ok_or("write NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn variable(written: &str) -> Result<(String, String), String> {
    let (name, value) = written.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Something that can be asked over HTTP. What stands for a variable is known only where the server is started.
fn address(written: &str) -> Result<String, String> {
    let is_address = |url: reqwest::Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match written.contains("${") || reqwest::Url::parse(written).is_ok_and(is_address) {
        true => Ok(written.to_owned()),
        false => Err("it is no URL; write one such as https://wiki.example/mcp".to_owned()),
    }
}
