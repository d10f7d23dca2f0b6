//! Runs a program in a process group of its own, for embedders without a launcher.
//! Called by `process`. A process that leaves the group is not found again.

use std::io;
use std::os::unix::process::ExitStatusExt as _;

use rustix::process::Signal;
use tokio::process::Child;

use super::{Exit, Job, NotRun, Process, Started, quiet};
use crate::group::{self, Group};
use crate::launcher::CALL_VARIABLE;
use crate::sandbox::{InForce, NO_LAUNCHER};

#[derive(Debug)]
pub struct Bare {
    /// Before its child: it must be dropped first.
    group: Group,
    child: Child,
}

pub fn start(job: &Job) -> Result<Started, NotRun> {
    let problem = |error: io::Error| NotRun::Other(error.to_string());
    let children = group::listen().map_err(problem)?;
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
    let group = Group::led_by(&child, children);
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let process = Process::Bare(Box::new(Bare { group, child }));
    match (stdout, stderr) {
        (Some(stdout), Some(stderr)) => Ok(Started { process, stdout, stderr }),
        _ => Err(NotRun::Other("its output cannot be read".to_owned())),
    }
}

impl Bare {
    /// Leaves the program unreaped: its number stays taken.
    pub async fn exited(&mut self) {
        self.group.exited().await;
    }

    /// Kills what is left of the group, then reaps the program.
    pub async fn end(&mut self) -> Result<Exit, NotRun> {
        self.group.signal(Signal::KILL);
        let status = self.child.wait().await;
        self.group.was_reaped();
        let status = status.map_err(|error| NotRun::Other(error.to_string()))?;
        let sandbox = InForce::nothing(NO_LAUNCHER);
        Ok(Exit { code: status.code(), signal: status.signal(), remark: None, sandbox })
    }
}
