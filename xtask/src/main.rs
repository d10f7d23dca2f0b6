//! The project's own commands: `cargo xtask test` is what contributors and the build server run.
//! Reads the command line only: `suite` lists what runs, `report` times it, `cargo` and
//! `packages` do it. Uses nothing but the standard library, so that it builds in a moment.

mod cargo;
mod clients;
mod installed;
mod mcp;
mod packages;
mod page;
mod planted;
mod report;
mod suite;

use std::env;
use std::process::ExitCode;

use report::Report;

const HELP: &str = "\
Usage: cargo xtask <command>

Commands:
  test    Everything that must pass before a change is merged: installs missing Debian packages
          the tests need (as root; otherwise prints the command and fails) and the MCP servers and
          clients that they start (npm, pip; into the target folder), checks formatting,
          lints and, where cargo-deny is installed, dependency policy; runs all tests, with
          cargo-nextest where it is installed, the web page in a real browser, and the heavy
          proofs with optimised code;
          plants bugs in a copy and expects the simulation to notice; builds examples and
          checks benches
  lint    The formatting, lint and dependency policy checks of `test`
  servers The MCP servers and clients of `test`, installed on their own; says how to let tests
          find them
  conformance
          What each revision of the Model Context Protocol requires of a client, checked by the
          protocol's own suite (npm)
  planted The planted bugs of `test`: each safeguard removed in turn must be noticed
  fmt     Formats the workspace
  help    Prints this text; so do -h and --help
";

#[derive(Debug, PartialEq, Eq)]
enum Request {
    Test,
    Lint,
    Servers,
    Conformance,
    Planted,
    Format,
    Help,
}

fn parse(arguments: &[&str]) -> Result<Request, String> {
    match arguments {
        _ if arguments.iter().any(|argument| matches!(*argument, "-h" | "--help")) => {
            Ok(Request::Help)
        }
        ["test"] => Ok(Request::Test),
        ["lint"] => Ok(Request::Lint),
        ["servers"] => Ok(Request::Servers),
        ["conformance"] => Ok(Request::Conformance),
        ["planted"] => Ok(Request::Planted),
        ["fmt"] => Ok(Request::Format),
        ["help"] => Ok(Request::Help),
        [] => Err("no command given".to_owned()),
        _ => Err(format!("unknown command `{}`", arguments.join(" "))),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> =
        env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match parse(&arguments) {
        Ok(Request::Test) => run(suite::test),
        Ok(Request::Lint) => run(suite::lint),
        Ok(Request::Servers) => run(suite::servers),
        Ok(Request::Conformance) => run(suite::conformance),
        Ok(Request::Planted) => run(suite::planted),
        Ok(Request::Format) => run(suite::format),
        Ok(Request::Help) => {
            print!("{HELP}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprint!("error: {problem}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn run(suite: fn(&mut Report) -> Result<(), report::Failed>) -> ExitCode {
    let mut report = Report::default();
    let result = suite(&mut report);
    println!("\n{report}");
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(report::Failed) => ExitCode::FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_in_the_help_is_understood() {
        let commands: Vec<&str> = HELP
            .lines()
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| !line.starts_with(' '))
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(commands, ["test", "lint", "servers", "conformance", "planted", "fmt", "help"]);
        for command in commands {
            assert!(parse(&[command]).is_ok(), "{command}");
            assert_eq!(parse(&[command, "--help"]), Ok(Request::Help));
        }
    }

    #[test]
    fn anything_else_is_an_error() {
        assert_eq!(parse(&[]), Err("no command given".to_owned()));
        assert_eq!(parse(&["tset"]), Err("unknown command `tset`".to_owned()));
        assert_eq!(parse(&["test", "core"]), Err("unknown command `test core`".to_owned()));
    }
}
