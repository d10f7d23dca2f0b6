//! Runs a program and makes sure that everything it started ends with it.
//! Called by `shell`. With a launcher the launcher sees to it; without one only the program's process group is ended, and
//! nothing is confined.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{ChildStderr, ChildStdout, Command};

mod bare;
#[cfg(target_os = "linux")]
mod launched;

use crate::launcher::Launcher;
use crate::sandbox::{Confinement, InForce};

/// What to run, with everything decided.
// Elsewhere nothing is confined or noted.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
#[derive(Clone, Debug)]
pub struct Job {
    pub call: String,
    pub program: PathBuf,
    /// What the program is told that it is called.
    pub name: String,
    pub parameters: Vec<String>,
    pub environment: Vec<(OsString, OsString)>,
    pub directory: PathBuf,
    pub confinement: Option<Confinement>,
    /// Where running calls are noted.
    pub records: Option<PathBuf>,
}

/// A running program. Dropping it kills everything it started.
#[derive(Debug)]
pub enum Process {
    Bare(Box<bare::Bare>),
    #[cfg(target_os = "linux")]
    Launched(Box<launched::Launched>),
}

#[derive(Debug)]
pub struct Started {
    pub process: Process,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

/// How a program ended.
#[derive(Clone, Debug, Default)]
pub struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    /// Why it was killed, if it used more than it may, or what else must be told.
    pub remark: Option<String>,
    pub sandbox: InForce,
}

/// Why there is no exit to speak of.
#[derive(Debug)]
pub enum NotRun {
    /// The program could not be executed.
    Program(io::Error),
    Other(String),
}

impl Process {
    pub async fn start(launcher: &Launcher, job: Job) -> Result<Started, NotRun> {
        #[cfg(target_os = "linux")]
        if let Some(program) = &launcher.program {
            return launched::start(program, job).await;
        }
        // Elsewhere there is no launcher to be had.
        debug_assert!(launcher.program.is_none());
        bare::start(&job)
    }

    /// Returns once the program has ended.
    pub async fn exited(&mut self) {
        match self {
            Self::Bare(process) => process.exited().await,
            #[cfg(target_os = "linux")]
            Self::Launched(process) => process.exited().await,
        }
    }

    /// Ends whatever is left of it.
    pub async fn end(&mut self) -> Result<Exit, NotRun> {
        match self {
            Self::Bare(process) => process.end().await,
            #[cfg(target_os = "linux")]
            Self::Launched(process) => process.end().await,
        }
    }
}

/// A command whose output is read and which gets no variable unless it is told.
fn quiet(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}
