//! A child that leads a process group: knows when it has ended, and signals all of the group.
//! Used for commands without a launcher and for MCP servers. Never signals a group whose leader was already reaped: its
//! number may be somebody else's by then. A process that leaves the group is not found again.

use std::io;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Child;
use tokio::signal::unix::{self, SignalKind};

/// Dropping it kills the whole group. Must be dropped before its child, and so before that can be reaped.
#[derive(Debug)]
pub(crate) struct Group {
    /// The leader's id, which is the group's. None once the leader was reaped.
    leader: Option<Pid>,
    children: unix::Signal,
}

/// Listens from before a start, so that no exit is missed.
pub(crate) fn listen() -> io::Result<unix::Signal> {
    unix::signal(SignalKind::child())
}

impl Group {
    pub fn led_by(child: &Child, children: unix::Signal) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader, children }
    }

    /// Returns once the leader has ended, and leaves it unreaped: its number stays taken.
    pub async fn exited(&mut self) {
        while !self.has_exited() {
            if self.children.recv().await.is_none() {
                // The runtime is shutting down and will drop us.
                std::future::pending::<()>().await;
            }
        }
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // Fails only when nobody is left to signal, which is what is wanted.
            kill_process_group(leader, signal).ok();
        }
    }

    /// Its number may be somebody else's from now on.
    pub fn was_reaped(&mut self) {
        self.leader = None;
    }

    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match self.leader.map(|leader| waitid(WaitId::Pid(leader), options)) {
            Some(Ok(status)) => status.is_some(),
            // Interrupted: asked again with the next signal, and there is one if it has ended meanwhile.
            Some(Err(rustix::io::Errno::INTR)) => false,
            Some(Err(_)) | None => true,
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
