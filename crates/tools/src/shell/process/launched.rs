//! The server's side of a launcher: gives it an order, hears how the program fares, and lets go of it.
//! Called by `process`. Closing the socket is all it takes to end everything, so a dropped call needs no care; should the
//! launcher itself be killed, what it left is ended from here. Never waits for a launcher without end.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Pair;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::Child;

use super::{Exit, Job, NotRun, Process, Started, quiet};
use crate::launcher::ARGUMENT;
use crate::launcher::message::{Arriving, Ended, Limit, Message, Note, Order, Problem, frame};
use crate::launcher::record::{self, Identity};
use crate::sandbox::{Confinement, InForce};

/// Longer than a launcher takes to give up on processes that cannot be killed.
const PATIENCE: Duration = Duration::from_secs(40);

#[derive(Debug)]
pub struct Launched {
    /// Not killed when dropped: it has to end the others first.
    launcher: Child,
    socket: UnixStream,
    arriving: Arriving,
    in_force: Option<InForce>,
    last: Last,
    call: String,
    record: Option<PathBuf>,
    confinement: Option<Confinement>,
}

/// The last word on a program.
#[derive(Debug)]
enum Last {
    Waiting,
    NotStarted(Problem),
    Ended(Ended),
    /// The launcher has gone without a word.
    Silence,
}

pub async fn start(launcher: &Path, job: Job) -> Result<Started, NotRun> {
    let problem =
        |error: io::Error| NotRun::Other(format!("the launcher cannot be started: {error}"));
    let record = job.records.as_deref().map(|folder| record::path_in(folder, &job.call));
    let (order, confinement) = order(&job, record.as_deref());
    let order = frame(&order).map_err(problem)?;
    let (ours, theirs) = Pair::pair().map_err(problem)?;
    ours.set_nonblocking(true).map_err(problem)?;
    let mut child = quiet(launcher)
        .args([ARGUMENT, crate::launcher::SUPERVISE])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .map_err(problem)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut launched = Launched {
        launcher: child,
        socket: UnixStream::from_std(ours).map_err(problem)?,
        arriving: Arriving::default(),
        in_force: None,
        last: Last::Waiting,
        call: job.call,
        record,
        confinement,
    };
    // One that has died says so by its silence.
    launched.socket.write_all(&order).await.ok();
    let process = Process::Launched(Box::new(launched));
    match (stdout, stderr) {
        (Some(stdout), Some(stderr)) => Ok(Started { process, stdout, stderr }),
        _ => Err(NotRun::Other("its output cannot be read".to_owned())),
    }
}

fn order(job: &Job, record: Option<&Path>) -> (Order, Option<Confinement>) {
    let note = record.zip(Identity::of_this_process());
    let order = Order {
        call: job.call.clone(),
        program: job.program.clone().into(),
        name: job.name.clone().into(),
        arguments: job.parameters.iter().map(Into::into).collect(),
        environment: job.environment.clone(),
        directory: job.directory.clone().into(),
        priority: None,
        confinement: job.confinement.clone(),
        record: note.map(|(path, server)| Note { path: path.into(), server }),
    };
    (order, job.confinement.clone())
}

impl Launched {
    pub async fn exited(&mut self) {
        while matches!(self.last, Last::Waiting) {
            match self.arriving.next() {
                Ok(Some(Message::Confined(in_force))) => self.in_force = Some(in_force),
                Ok(Some(Message::NotStarted(problem))) => self.last = Last::NotStarted(problem),
                Ok(Some(Message::Ended(ended))) => self.last = Last::Ended(ended),
                Ok(None) => match self.socket.read_buf(&mut self.arriving.bytes).await {
                    Ok(0) | Err(_) => self.last = Last::Silence,
                    Ok(_) => {}
                },
                Err(_) => self.last = Last::Silence,
            }
        }
    }

    pub async fn end(&mut self) -> Result<Exit, NotRun> {
        if matches!(self.last, Last::Waiting) {
            // Fails when the launcher has gone, which is noticed next.
            self.socket.shutdown().await.ok();
            // What it could not do in this time is done below.
            tokio::time::timeout(PATIENCE, self.exited()).await.ok();
        }
        if matches!(self.last, Last::Waiting | Last::Silence) {
            self.end_without_launcher().await;
        }
        // It has nothing left to do, and its exit says nothing new.
        tokio::time::timeout(PATIENCE, self.launcher.wait()).await.ok();
        self.exit()
    }

    async fn end_without_launcher(&mut self) {
        self.launcher.start_kill().ok();
        let (call, record) = (self.call.clone(), self.record.clone());
        // Looks through all processes; there is nothing to be done if the runtime is shutting down.
        tokio::task::spawn_blocking(move || record::end_call(&call, record.as_deref())).await.ok();
    }

    fn exit(&mut self) -> Result<Exit, NotRun> {
        let sandbox = self.in_force.take().unwrap_or_default();
        match std::mem::replace(&mut self.last, Last::Silence) {
            Last::NotStarted(Problem::Program(number)) => {
                Err(NotRun::Program(io::Error::from_raw_os_error(number)))
            }
            Last::NotStarted(Problem::Refused(problem) | Problem::Other(problem)) => {
                Err(NotRun::Other(problem))
            }
            Last::Ended(ended) => {
                let remark = remark(&ended, self.confinement.as_ref());
                Ok(Exit { code: ended.exit_code, signal: ended.signal, remark, sandbox })
            }
            Last::Waiting | Last::Silence => {
                let remark = Some("the launcher was killed, and the program with it".to_owned());
                Ok(Exit { remark, sandbox, ..Exit::default() })
            }
        }
    }
}

fn remark(ended: &Ended, confinement: Option<&Confinement>) -> Option<String> {
    let limits = confinement.zip(ended.limit).map(|(limits, limit)| match limit {
        Limit::Processes => {
            format!("killed: more than {} processes at the same time", limits.processes)
        }
        Limit::Memory => format!("killed: more than {} bytes of memory", limits.memory_bytes),
        Limit::FileSize => format!("killed: a file of more than {} bytes", limits.file_bytes),
    });
    let survivors = (ended.survivors > 0)
        .then(|| format!("{} processes could not be killed and still run", ended.survivors));
    let remarks: Vec<String> = limits.into_iter().chain(survivors).collect();
    (!remarks.is_empty()).then(|| remarks.join("; "))
}
