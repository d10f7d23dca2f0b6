//! Looks at each world: where its tools work, whether its programs can be confined as it asks, whether its agents can
//! answer, and whether its rules can be meant.
//! Part of `doctor`. Changes no world.

use std::path::Path;

use agent_world_core::config::{SandboxMode, World};
use agent_world_tools::sandbox::Support;

use super::Findings;
use super::storage::is_writable;
use super::vendors::Vendors;
use crate::words;

pub fn look(worlds: &[World], support: &Support, vendors: &Vendors) -> Findings {
    let mut findings = Findings::about("worlds");
    if worlds.is_empty() {
        findings.ok("there is no world yet; `agent-world chat` makes a demo world");
    }
    for world in worlds {
        look_at_directory(&mut findings, world);
        look_at_sandbox(&mut findings, world, support);
        look_at_agents(&mut findings, world, vendors);
        look_at_rules(&mut findings, world);
        look_at_servers(&mut findings, world);
    }
    findings
}

fn look_at_directory(findings: &mut Findings, world: &World) {
    let id = &world.id;
    let fix = format!("make it, or name another: agent-world world update {id} --directory DIR");
    let Some(directory) = &world.working_directory else {
        let fix = format!("agent-world world update {id} --directory DIR");
        findings
            .warn(format!("{id}: it has no working directory, so tools have nowhere to work"), fix);
        return;
    };
    let path = Path::new(directory);
    if !path.is_dir() {
        findings.fail(format!("{id}: its working directory {directory} is not there"), fix);
    } else if !is_writable(path) {
        let says = format!("{id}: its working directory {directory} cannot be written to");
        findings.warn(says, fix);
    } else {
        findings.ok(format!("{id}: tools work in {directory}"));
    }
}

fn look_at_sandbox(findings: &mut Findings, world: &World, support: &Support) {
    let id = &world.id;
    let says = format!("{id}: {}", words::sandbox(&world.sandbox));
    match world.sandbox.mode {
        SandboxMode::Off => {
            findings.warn(says, format!("agent-world world update {id} --sandbox on"));
        }
        SandboxMode::Required if !support.is_whole() => findings.fail(
            format!("{says}, and this system cannot confine them: none will run"),
            format!("see sandbox above, or agent-world world update {id} --sandbox on"),
        ),
        SandboxMode::On if !support.is_whole() => {
            findings.warn(format!("{says}: less than there could be"), "see sandbox above");
        }
        SandboxMode::On | SandboxMode::Required => findings.ok(says),
    }
}

fn look_at_agents(findings: &mut Findings, world: &World, vendors: &Vendors) {
    let id = &world.id;
    if world.agents.is_empty() {
        let fix = "make a world with agents: agent-world world create ID --agent ada";
        findings.warn(format!("{id}: it has no agents, so nobody answers"), fix);
    }
    for agent in &world.agents {
        let name = &agent.id;
        let Some(model) = world.model_of(agent) else {
            let fix = "give the agent a model, or the world a default_model";
            findings.fail(format!("{id}: agent {name} has no model"), fix);
            continue;
        };
        match vendors.trouble(model) {
            Some((why, fix)) => {
                findings.fail(format!("{id}: agent {name} cannot ask {model}: {why}"), fix);
            }
            None => findings.ok(format!("{id}: agent {name} asks {model}")),
        }
    }
}

/// What is stored was checked when it was written, by a program that may have known less.
fn look_at_rules(findings: &mut Findings, world: &World) {
    let id = &world.id;
    if let Err(invalid) = world.check() {
        let fix = format!(
            "agent-world policy show -w {id} --json, mend it, agent-world policy set -w {id} FILE"
        );
        findings.warn(format!("{id}: {invalid}"), fix);
    }
}

/// Whether a server works is known only when it runs.
fn look_at_servers(findings: &mut Findings, world: &World) {
    let id = &world.id;
    match world.mcp_servers.values().filter(|server| !server.disabled).count() {
        0 => {}
        number => {
            let (servers, tries) = (
                words::count(number, "MCP server"),
                format!("`agent-world mcp list -w {id} --check` tries them"),
            );
            findings.ok(format!("{id}: {servers}; {tries}"));
        }
    }
}
