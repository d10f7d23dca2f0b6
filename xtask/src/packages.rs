//! Makes sure that the Debian packages the tests need are there.
//! Called first by `suite::test`. Never lets a test be skipped for want of a package: it installs
//! what is missing, or says how to and fails.

use std::process::{Command, Output};

use crate::report::Outcome;

/// (package, what the tests need it for)
pub const REQUIRED: &[(&str, &str)] = &[
    ("bubblewrap", "the sandbox with namespaces, which is also tested without them"),
    ("chromium", "the web page in a browser"),
];

const UPDATE: &str = "apt-get update";
const INSTALL: &str = "apt-get install --yes --no-install-recommends";

#[derive(Clone, Copy)]
enum User {
    Root,
    Other,
}

pub fn install_missing(required: &[(&str, &str)]) -> Result<Outcome, String> {
    let mut missing = Vec::new();
    for (package, reason) in required {
        if !is_installed(package)? {
            println!("{package} is missing, needed for {reason}");
            missing.push(*package);
        }
    }
    if missing.is_empty() {
        return Ok(Outcome::Passed);
    }
    for command in commands_to_install(&missing, current_user()?)? {
        apt(&command)?;
    }
    Ok(Outcome::Passed)
}

/// What to run, or, for a user who may not install packages, what to tell them.
fn commands_to_install(missing: &[&str], user: User) -> Result<[String; 2], String> {
    let install = format!("{INSTALL} {}", missing.join(" "));
    match user {
        User::Root => Ok([UPDATE.to_owned(), install]),
        User::Other => {
            Err(format!("Debian packages are missing; run `sudo {UPDATE} && sudo {install}`"))
        }
    }
}

fn is_installed(package: &str) -> Result<bool, String> {
    let output =
        output_of("dpkg-query", &["--show", "--showformat=${db:Status-Status}\n", package])
            .map_err(|problem| {
                format!("{problem}; without dpkg there is no telling whether {package} is there")
            })?;
    Ok(says_installed(&String::from_utf8_lossy(&output.stdout)))
}

/// A package of several architectures has one line for each. One that was removed but not purged
/// says `config-files`; one that was never there says nothing.
fn says_installed(statuses: &str) -> bool {
    statuses.lines().any(|status| status == "installed")
}

fn current_user() -> Result<User, String> {
    let output = output_of("id", &["-u"])?;
    Ok(if output.stdout.trim_ascii() == b"0" { User::Root } else { User::Other })
}

fn apt(command: &str) -> Result<(), String> {
    println!("$ {command}");
    let mut words = command.split_whitespace();
    let status = Command::new(words.next().unwrap_or_default())
        .args(words)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()
        .map_err(|error| format!("cannot start `{command}`: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{command}` failed: {status}")) }
}

fn output_of(program: &str, arguments: &[&str]) -> Result<Output, String> {
    Command::new(program)
        .args(arguments)
        .output()
        .map_err(|error| format!("cannot start `{program}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_installs_all_at_once() {
        let commands = commands_to_install(&["chromium", "postgresql"], User::Root);
        assert_eq!(
            commands.expect("root may install"),
            ["apt-get update", "apt-get install --yes --no-install-recommends chromium postgresql"],
        );
    }

    #[test]
    fn others_are_told_the_exact_command() {
        let told = commands_to_install(&["chromium"], User::Other).expect_err("only root may");
        assert_eq!(
            told,
            "Debian packages are missing; run `sudo apt-get update && \
             sudo apt-get install --yes --no-install-recommends chromium`",
        );
    }

    #[test]
    fn only_an_installed_package_counts() {
        assert!(says_installed("installed\n"));
        assert!(says_installed("not-installed\ninstalled\n"));
        for status in ["", "not-installed\n", "config-files\n", "half-installed\n"] {
            assert!(!says_installed(status), "{status:?}");
        }
    }

    #[test]
    fn nothing_required_asks_nothing_of_the_machine() {
        assert!(matches!(install_missing(&[]), Ok(Outcome::Passed)));
    }
}
