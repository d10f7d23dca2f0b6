//! Checks the web page: its types, its own tests, and the page in a real browser with the real program behind it.
//! Called by `suite`, after the program was built. The page itself is built by `crates/web/build.rs`.

use std::process::Command;

use crate::installed::{root, run, target};
use crate::report::Outcome;

const PAGE: &str = "crates/web/page";
const BROWSER: &str = "crates/web/browser";
#[cfg(test)]
pub const FOLDERS: &[&str] = &[PAGE, BROWSER];

/// Needs the page's packages, which the build script installs.
pub fn check() -> Result<Outcome, String> {
    npm(PAGE, &["run", "check"])?;
    npm(PAGE, &["test"])
}

pub fn in_a_browser() -> Result<Outcome, String> {
    npm(BROWSER, &["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
    npm(BROWSER, &["test"])
}

fn npm(folder: &str, arguments: &[&str]) -> Result<Outcome, String> {
    let program = target().join("debug/agent-world");
    run(Command::new("npm")
        .args(arguments)
        .env("AGENT_WORLD_BIN", program)
        .current_dir(root().join(folder)))?;
    Ok(Outcome::Passed)
}
