//! Installs the MCP servers that tests start, and runs the protocol's conformance suite against our client.
//! Called by `suite`. What is installed, and how, is in `installed`.

use std::path::PathBuf;
use std::process::Command;

use crate::installed::{bring_up_to_date, node_in, root, run, target};
use crate::report::Outcome;

/// Tells the tests where the servers are.
pub const VARIABLE: &str = "AGENT_WORLD_MCP_SERVERS";
/// Each with the number of scenarios that it requires of a client.
pub const REVISIONS: &[&str] = &["2026-07-28", "2025-11-25"];

const SERVERS: &str = "crates/tools/tests/mcp/servers";
const CONFORMANCE: &str = "crates/tools/tests/mcp/conformance";
#[cfg(test)]
pub const FOLDERS: &[&str] = &[SERVERS, CONFORMANCE];

/// Where the servers are, once `install_servers` has run.
pub fn servers() -> PathBuf {
    target().join("mcp-servers")
}

pub fn install_servers() -> Result<Outcome, String> {
    bring_up_to_date(&root().join(SERVERS), &servers())?;
    Ok(Outcome::Passed)
}

pub fn install_conformance() -> Result<Outcome, String> {
    bring_up_to_date(&root().join(CONFORMANCE), &target().join("mcp-conformance"))?;
    Ok(Outcome::Passed)
}

pub fn conform(revision: &str) -> Result<Outcome, String> {
    let folder = target().join("mcp-conformance");
    let client = target().join("debug/examples/mcp_conformance");
    run(Command::new(node_in(&folder)?)
        .arg(folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .arg("client")
        .arg("--command")
        .arg(&client)
        .args(["--requirements", revision, "--output-dir"])
        .arg(folder.join("results").join(revision)))?;
    Ok(Outcome::Passed)
}
