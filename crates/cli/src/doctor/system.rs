//! Looks at what this system can do: confine programs, and offer tools.
//! Part of `doctor`. Tries confinement on threads and processes that end at once, and runs no tool.

use agent_world_tools::sandbox::Support;
use anyhow::{Context as _, Result};

use super::{Findings, Reader};
use crate::data::DataFolder;
use crate::{setup, words};

/// Trying takes a moment and a process, so it is done once for everything that needs to know.
pub async fn detect() -> Result<Support> {
    let tried = tokio::task::spawn_blocking(Support::detect).await;
    tried.context("what this system can confine could not be tried")
}

pub fn sandbox(support: &Support) -> Findings {
    let mut findings = Findings::about("sandbox");
    match &support.landlock {
        // Everything else being there, it is only too old.
        Ok(version) if !support.is_whole() && support.seccomp.is_ok() && support.limits.is_ok() => {
            findings.warn(
                format!("landlock version {version} protects files, but does not confine signals"),
                "Linux 6.12 or newer does",
            );
        }
        Ok(version) => findings.ok(format!("landlock version {version} protects files")),
        Err(why) => findings.warn(
            format!("landlock does not protect files: {why}"),
            "use Linux 6.12 or newer, with landlock among the `lsm=` modules it starts with",
        ),
    }
    match &support.seccomp {
        Ok(()) => findings.ok("seccomp filters system calls"),
        Err(why) => findings.warn(
            format!("seccomp does not filter system calls: {why}"),
            "use a kernel with seccomp; a container may have to be allowed to use it",
        ),
    }
    match &support.limits {
        Ok(()) => findings.ok("processes, memory and file sizes are limited"),
        Err(why) => findings.warn(
            format!("processes, memory and file sizes are not limited: {why}"),
            "mount /proc",
        ),
    }
    match &support.bubblewrap {
        Ok(path) => findings.ok(format!("bubblewrap adds namespaces: {}", path.display())),
        Err(why) => {
            findings.warn(format!("bubblewrap does not add namespaces: {why}"), bubblewrap_fix(why))
        }
    }
    findings
}

fn bubblewrap_fix(why: &str) -> &'static str {
    if why.contains("not installed") {
        "apt-get install bubblewrap, or your system's way to install it"
    } else {
        "allow unprivileged user namespaces, or go without: the rest of the sandbox does not need it"
    }
}

/// The program's own tools. Those of servers are known only when the servers run.
pub fn tools(data: &DataFolder) -> Findings {
    let mut findings = Findings::about("tools");
    let tools = setup::tools(data, &data.running());
    let names: Vec<String> = tools.iter().map(|tool| tool.spec().name).collect();
    let number = words::count(names.len(), "tool");
    findings.ok(format!("{number} built in; `agent-world tool list` describes them"));
    findings.only_for(Reader::Person);
    findings.ok(format!("built in: {}", names.join(", ")));
    findings.only_for(Reader::Program);
    findings
}
