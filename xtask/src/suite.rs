//! Lists the steps of each command, in order: the cheap ones first.
//! Called by `main`. Decides what runs and with which arguments; runs nothing itself.

use crate::cargo::{cargo, cargo_with, has_subcommand};
use crate::clients;
use crate::mcp;
use crate::packages;
use crate::page;
use crate::planted::{self, BUGS};
use crate::report::{Failed, Outcome, Report};

/// Tests that prove something only by doing a lot of it, and so run with optimised code. All are built with the same
/// packages and features, so that what they are made of is compiled once.
pub const PROVING: &str = "test --profile proof --locked --package agent-world-runtime --package agent-world \
                           --features agent-world/kill-points";
/// (test, what it does)
const PROOFS: &[(&str, &str)] = &[
    ("simulation", "thousands of seeds with faults and crashes"),
    ("kill", "the real binary, killed"),
];

pub fn test(report: &mut Report) -> Result<(), Failed> {
    report.step("Debian packages", || packages::install_missing(packages::REQUIRED))?;
    lint(report)?;
    report.step("MCP servers", mcp::install_servers)?;
    report.step("test clients", clients::install)?;
    if has_subcommand("nextest") {
        report.step("tests", || with_installed("nextest run --workspace --locked"))?;
        report.step("documentation tests", || cargo("test --doc --workspace --locked"))?;
    } else {
        report.step("tests", || with_installed("test --workspace --locked"))?;
    }
    report.step("web page", page::check)?;
    report.step("web page in a browser", page::in_a_browser)?;
    // Once more for its words: how many recorded exchanges were replayed, or left out where there are none.
    report.step("recorded exchanges", || {
        cargo("test --workspace --test corpus --locked -- --nocapture")
    })?;
    for (test, what) in PROOFS {
        report.step(&format!("{test}: {what}"), || {
            cargo(&format!("{PROVING} --test {test} -- --nocapture"))
        })?;
    }
    planted(report)?;
    report.step("examples", || cargo("build --workspace --examples --locked"))?;
    report.step("benches", || cargo("check --workspace --benches --locked"))
}

pub fn servers(report: &mut Report) -> Result<(), Failed> {
    report.step("MCP servers", mcp::install_servers)?;
    report.step("test clients", clients::install)?;
    println!("export {}={}", mcp::VARIABLE, mcp::servers().display());
    println!("export {}={}", clients::VARIABLE, clients::folder().display());
    Ok(())
}

/// Cargo, with the tests told where what they start is.
fn with_installed(arguments: &str) -> Result<Outcome, String> {
    let (servers, clients) = (mcp::servers(), clients::folder());
    let variables =
        [(mcp::VARIABLE, servers.as_os_str()), (clients::VARIABLE, clients.as_os_str())];
    cargo_with(arguments, &variables)
}

pub fn conformance(report: &mut Report) -> Result<(), Failed> {
    report.step("conformance suite", mcp::install_conformance)?;
    report.step("client", || {
        cargo("build --package agent-world-tools --example mcp_conformance --locked")
    })?;
    for revision in mcp::REVISIONS {
        report.step(&format!("MCP {revision}"), || mcp::conform(revision))?;
    }
    Ok(())
}

pub fn planted(report: &mut Report) -> Result<(), Failed> {
    report.step("planting bugs", planted::plant)?;
    for bug in BUGS {
        report.step(&format!("planted bug: {}", bug.name), || planted::is_noticed(bug))?;
    }
    Ok(())
}

pub fn lint(report: &mut Report) -> Result<(), Failed> {
    report.step("formatting", || cargo("fmt --all --check"))?;
    report.step("lints", || cargo("clippy --workspace --all-targets --locked -- -D warnings"))?;
    report.step("dependency policy", || {
        if has_subcommand("deny") {
            cargo("deny --locked check --hide-inclusion-graph licenses bans sources")
        } else {
            Ok(Outcome::NotRun("cargo-deny is not installed"))
        }
    })
}

pub fn format(report: &mut Report) -> Result<(), Failed> {
    report.step("format", || cargo("fmt --all"))
}
