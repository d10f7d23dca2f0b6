//! Runs cargo in the workspace's root.
//! Called by the steps in `suite`. Never changes the caller's choice of toolchain or target folder.

use std::env;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::report::Outcome;

/// Whether the web page is built: see `crates/web/build.rs`.
const PAGE: &str = "AGENT_WORLD_WEB";

/// Runs cargo with arguments separated by spaces; none of ours contains one.
pub fn cargo(arguments: &str) -> Result<Outcome, String> {
    cargo_with(arguments, &[])
}

/// The same with variables that tests read.
pub fn cargo_with(arguments: &str, variables: &[(&str, &OsStr)]) -> Result<Outcome, String> {
    println!("$ cargo {arguments}");
    let status = command(arguments)
        .envs(variables.iter().copied())
        .status()
        .map_err(|error| format!("cannot start `cargo {arguments}`: {error}"))?;
    if status.success() {
        Ok(Outcome::Passed)
    } else {
        Err(format!("`cargo {arguments}` failed: {status}"))
    }
}

/// Whether `cargo <name>` exists on this machine.
pub fn has_subcommand(name: &str) -> bool {
    command(&format!("{name} --version"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Cargo in the workspace's root, with these arguments.
pub fn command(arguments: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments.split_whitespace());
    // What is checked is all there is: a build without the page would pass without it.
    if env::var_os(PAGE).is_none() {
        command.env(PAGE, "require");
    }
    if let Some(root) = Path::new(env!("CARGO_MANIFEST_DIR")).parent() {
        command.current_dir(root);
    }
    // `cargo run` describes xtask in these variables. Some build scripts watch them, and would run
    // again at every change between `cargo xtask` and a plain `cargo`.
    for (name, _) in env::vars_os() {
        if describes_package(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

fn describes_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_cargo_is_a_failure() {
        let failure = cargo("no-such-command").expect_err("the command does not exist");
        assert!(failure.starts_with("`cargo no-such-command` failed"), "{failure}");
    }

    #[test]
    fn subcommands_are_found_only_when_they_exist() {
        assert!(has_subcommand("fmt"));
        assert!(!has_subcommand("no-such-command"));
    }

    #[test]
    fn only_what_describes_a_package_is_hidden() {
        assert!(describes_package("CARGO_PKG_NAME"));
        assert!(describes_package("CARGO_MANIFEST_DIR"));
        assert!(!describes_package("CARGO_TARGET_DIR"));
        assert!(!describes_package("CARGO_HOME"));
    }
}
