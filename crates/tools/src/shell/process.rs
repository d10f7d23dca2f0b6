//! Starts a program in a process group of its own and makes sure that the group ends with it.
//! Called by `shell`. Never signals a group whose leader was already reaped: its number may be somebody else's by then.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::signal::unix::{self, SignalKind};

use super::arguments::Arguments;
use crate::Failure;

/// A running program. Dropping it kills the whole group.
#[derive(Debug)]
pub struct Process {
    child: Child,
    /// The leader's id, which is the group's. None once the leader was reaped.
    group: Option<Pid>,
    /// Listens from before the start, so that no exit is missed.
    children: unix::Signal,
}

impl Process {
    pub fn start(
        arguments: &Arguments,
        directory: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<(Self, ChildStdout, ChildStderr), Failure> {
        let problem = |error: io::Error| arguments.cannot_run(&error.to_string());
        let children = unix::signal(SignalKind::child()).map_err(problem)?;
        let child = Command::new(&arguments.command)
            .args(&arguments.parameters)
            .current_dir(directory)
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| arguments.not_started(&error))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let mut process = Self { child, group, children };
        match (process.child.stdout.take(), process.child.stderr.take()) {
            (Some(stdout), Some(stderr)) => Ok((process, stdout, stderr)),
            _ => Err(arguments.cannot_run("its output cannot be read")),
        }
    }

    /// Returns once the program has ended, and leaves it unreaped: its number stays taken.
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
    pub async fn end(&mut self) -> io::Result<ExitStatus> {
        self.kill_group();
        let status = self.child.wait().await;
        self.group = None;
        status
    }

    fn kill_group(&self) {
        if let Some(group) = self.group {
            // Fails only when nobody is left to kill, which is what is wanted.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

impl Drop for Process {
    // Runs before the child is dropped, and so before it can be reaped.
    fn drop(&mut self) {
        self.kill_group();
    }
}
