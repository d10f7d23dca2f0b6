//! Runs a program in a process group of its own, for embedders without a launcher.
//! Called by `process`. Never signals a group whose leader was already reaped: its number may be somebody else's by then.
//! A process that leaves the group is not found again.

use std::io;
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::Child;
use tokio::signal::unix::{self, SignalKind};

use super::{Exit, Job, NotRun, Process, Started, quiet};
use crate::launcher::CALL_VARIABLE;
use crate::sandbox::{InForce, NO_LAUNCHER};

#[derive(Debug)]
pub struct Bare {
    child: Child,
    /// The leader's id, which is the group's. None once the leader was reaped.
    group: Option<Pid>,
    /// Listens from before the start, so that no exit is missed.
    children: unix::Signal,
}

pub fn start(job: &Job) -> Result<Started, NotRun> {
    let problem = |error: io::Error| NotRun::Other(error.to_string());
    let children = unix::signal(SignalKind::child()).map_err(problem)?;
    let mut child = quiet(&job.program)
        .arg0(&job.name)
        .args(&job.parameters)
        .current_dir(&job.directory)
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .env(CALL_VARIABLE, &job.call)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(NotRun::Program)?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let process = Process::Bare(Box::new(Bare { child, group, children }));
    match (stdout, stderr) {
        (Some(stdout), Some(stderr)) => Ok(Started { process, stdout, stderr }),
        _ => Err(NotRun::Other("its output cannot be read".to_owned())),
    }
}

impl Bare {
    /// Leaves the program unreaped: its number stays taken.
    pub async fn exited(&mut self) {
        while !self.has_exited() {
            if self.children.recv().await.is_none() {
                // The runtime is shutting down and will drop us.
                std::future::pending::<()>().await;
            }
        }
    }

    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        match self.group.map(|leader| waitid(WaitId::Pid(leader), options)) {
            Some(Ok(status)) => status.is_some(),
            // Interrupted: asked again with the next signal, and there is one if it has ended meanwhile.
            Some(Err(rustix::io::Errno::INTR)) => false,
            Some(Err(_)) | None => true,
        }
    }

    /// Kills what is left of the group, then reaps the program.
    pub async fn end(&mut self) -> Result<Exit, NotRun> {
        self.kill_group();
        let status = self.child.wait().await;
        self.group = None;
        let status = status.map_err(|error| NotRun::Other(error.to_string()))?;
        let sandbox = InForce::nothing(NO_LAUNCHER);
        Ok(Exit { code: status.code(), signal: status.signal(), remark: None, sandbox })
    }

    fn kill_group(&self) {
        if let Some(group) = self.group {
            // Fails only when nobody is left to kill, which is what is wanted.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

impl Drop for Bare {
    // Runs before the child is dropped, and so before it can be reaped.
    fn drop(&mut self) {
        self.kill_group();
    }
}
