//! Names what somebody should stop at before a call runs: programs that destroy, and a sandbox that keeps little from
//! happening. Used by the card, and by commands that show a request without one. Decides nothing.

use agent_world_client::wire::Approval;
use agent_world_core::command_line::TOOL;

use super::command::Run;

/// What the programs of a call can do. None of a call that is no plain one of the shell.
pub fn of_call(approval: &Approval) -> Option<String> {
    let shown = Some(&approval.shown).filter(|_| approval.tool == TOOL)?;
    of_run(&Run::read(shown)?)
}

pub(super) fn of_run(run: &Run) -> Option<String> {
    let risky = Some(&run.risky).filter(|risky| !risky.is_empty())?;
    Some(format!("! {} can destroy what is there", risky.join(", ")))
}

/// What a sandbox does not keep from happening.
pub fn of_sandbox(sandbox: &str) -> Option<&'static str> {
    if sandbox == "off" || sandbox.starts_with("there is no sandbox") {
        Some("! nothing keeps it from other files or the network")
    } else if sandbox.contains("with network") {
        Some("! it can reach the network")
    } else {
        None
    }
}
