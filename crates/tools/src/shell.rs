//! The tool `shell_cmd`: runs one program, or a script, in the world's working directory.
//! Called by the runtime with the arguments that were stored and approved. Never splits, expands or interprets them,
//! never hands on a secret of this program's environment, and leaves nothing running.
//!
//! With a launcher, programs are confined as the world says, and everything they start ends with them. Without one,
//! nothing is confined, and a process that leaves the program's group is not found again.

mod arguments;
pub(crate) mod environment;
mod output;
mod passing;
mod process;
mod program;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agent_world_core::binding::{Facts, Prepared};
use agent_world_core::config::{Approval, Modes, Sandbox, SandboxMode, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::launcher::{self, Bubblewrap, Launcher, Leftover};
use crate::sandbox::{self, Confinement, Surroundings};
use crate::watcher::Channel;
use crate::{Failure, Intent, Invocation, Tool};
use arguments::Arguments;
use output::{Capture, Ending, Report};
use passing::Passing;
use process::{Job, NotRun, Process, Started};
use program::Place;

pub const NAME: &str = "shell_cmd";
/// No call runs longer, whatever it asks for.
pub const TIMEOUT_SECONDS: u64 = 600;
/// Bytes kept of each of stdout and stderr.
pub const OUTPUT_LIMIT: usize = 4 * 1024 * 1024;

const DESCRIPTION: &str = "Runs one program and returns its output. There is no shell: `command` is the \
    program's name or path and nothing else, each parameter is one element of `parameters`, and quotes, pipes, \
    redirections, variables and wildcards mean nothing. Where they are needed, give `script` instead: it is run by \
    bash. The program gets no input. It may write in the working directory and in $TMPDIR, and usually has no network; \
    the result's details say what was in force. Background processes it leaves behind are killed when it ends. With \
    `blocking: false` you can go on while it runs.";

/// Runs programs for agents.
#[derive(Clone, Debug)]
pub struct ShellCmd {
    environment: Vec<(OsString, OsString)>,
    launcher: Launcher,
    /// Never shown to programs.
    private: Vec<PathBuf>,
    /// Where running calls are noted.
    records: Option<PathBuf>,
}

impl ShellCmd {
    /// Gives programs the harmless part of this process's environment, and starts them without a launcher.
    pub fn new() -> Self {
        Self::with_environment(std::env::vars_os())
    }

    /// Gives programs what is harmless of these variables, and nothing else.
    pub fn with_environment(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment = environment::allowed(variables);
        Self { environment, launcher: Launcher::none(), private: Vec::new(), records: None }
    }

    /// Who starts programs, confined and supervised.
    #[must_use]
    pub fn launched_by(self, launcher: Launcher) -> Self {
        Self { launcher, ..self }
    }

    /// Folders and files that no confined program may read: this program's own data and keys.
    #[must_use]
    pub fn hiding(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.private.extend(paths);
        self
    }

    /// Notes what runs in this folder, which must exist, so that it can be ended after a crash.
    #[must_use]
    pub fn recording_in(self, folder: impl Into<PathBuf>) -> Self {
        Self { records: Some(folder.into()), ..self }
    }

    /// Ends what earlier runs left behind that were killed together with their launchers. To be called once at the start,
    /// with the folder given to `recording_in`. Leaves alone what another process still looks after.
    pub fn end_leftovers(folder: &Path) -> io::Result<Vec<Leftover>> {
        launcher::end_leftovers(folder)
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        self.environment.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_os_str())
    }

    fn place<'a>(&'a self, directory: &'a Path) -> Place<'a> {
        Place { directory, search: self.variable("PATH") }
    }

    /// What confines the call's programs; none if the world wants none.
    async fn confinement(
        &self,
        settings: &Sandbox,
        root: &Path,
    ) -> Result<Option<Confinement>, String> {
        if self.launcher.program.is_none() {
            return match settings.mode {
                SandboxMode::On | SandboxMode::Off => Ok(None),
                SandboxMode::Required => Err(format!(
                    "this world requires a sandbox and {}; relax its `sandbox.mode`, or give the program a launcher",
                    sandbox::NO_LAUNCHER
                )),
            };
        }
        let wanted = settings.mode != SandboxMode::Off
            && self.launcher.bubblewrap == Bubblewrap::WhereItWorks;
        let bubblewrap = if wanted {
            // Tried once, which takes some milliseconds.
            let found = tokio::task::spawn_blocking(sandbox::bubblewrap).await;
            found.unwrap_or_else(|_| Err("it could not be tried".to_owned()))
        } else {
            Err("bubblewrap is not wanted".to_owned())
        };
        let surroundings = Surroundings {
            home: self.variable("HOME").map(PathBuf::from),
            temporary: self.variable("TMPDIR").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from),
            private: self.private.iter().chain(&self.records).cloned().collect(),
        };
        Ok(Confinement::new(settings, root, &surroundings, bubblewrap))
    }

    async fn job(&self, arguments: &Arguments, invocation: &Invocation) -> Result<Job, String> {
        let root = arguments.root(invocation.working_directory.as_deref())?;
        let directory = arguments.directory_in(&root)?;
        let program = match approved(&invocation.facts) {
            Some(program) => program,
            None => self
                .place(&directory)
                .find(&arguments.command)
                .map_err(|error| arguments.not_started(&error))?,
        };
        let confinement = self.confinement(&invocation.sandbox, &root).await;
        Ok(Job {
            call: invocation.call.to_string(),
            program,
            name: arguments.command.clone(),
            parameters: arguments.parameters.clone(),
            environment: self.environment.clone(),
            directory,
            confinement: confinement.map_err(|problem| arguments.cannot_run(&problem))?,
            records: self.records.clone(),
        })
    }

    /// What is run is what was looked at: the start was recorded in between, and files can change meanwhile.
    async fn check(&self, arguments: &Arguments, invocation: &Invocation) -> Result<(), String> {
        if invocation.facts.is_empty() {
            return Ok(());
        }
        let now = self.prepare(invocation.intent()).await?.facts;
        // Whatever its name means by now: the program that was found then is the one that is run.
        let mut named = invocation.facts.iter().filter(|(name, _)| *name != program::PROGRAM);
        match named.find(|(name, before)| now.get(*name) != Some(*before)) {
            None => Ok(()),
            Some((name, _)) => Err(arguments.cannot_run(&format!(
                "its {name} changed while it was about to start; call it again"
            ))),
        }
    }

    async fn execute(
        &self,
        job: Job,
        limit: Option<Duration>,
        invocation: &Invocation,
    ) -> Result<Report, NotRun> {
        let start = Instant::now();
        let Started { mut process, stdout, stderr } = Process::start(&self.launcher, job).await?;
        let ended = CancellationToken::new();
        let watching = async {
            let reason = watch(&mut process, limit, &invocation.cancelled).await;
            let exit = process.end().await;
            ended.cancel();
            exit.map(|exit| Ending::new(reason, exit))
        };
        let passing = |channel| Passing::new(invocation.watcher.clone(), channel);
        let (ending, stdout, stderr) = tokio::join!(
            watching,
            Capture::read(stdout, OUTPUT_LIMIT, &ended, passing(Channel::Stdout)),
            Capture::read(stderr, OUTPUT_LIMIT, &ended, passing(Channel::Stderr)),
        );
        Ok(Report { ending: ending?, duration: start.elapsed(), stdout, stderr })
    }
}

impl Default for ShellCmd {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Tool for ShellCmd {
    fn spec(&self) -> ToolSpec {
        let message = "Execute shell command: {command} {parameters}{script}".to_owned();
        ToolSpec {
            approval: Approval { message: Some(message), ..Approval::default() },
            mode: Modes::PerCall,
            timeout_seconds: TIMEOUT_SECONDS,
            destructive: true,
            ..ToolSpec::new(NAME, DESCRIPTION, arguments::schema())
        }
    }

    async fn prepare(&self, intent: Intent<'_>) -> Result<Prepared, String> {
        let arguments = Arguments::read(intent.arguments.clone())?;
        let root = arguments.root(intent.working_directory)?;
        let mut facts = Facts::new();
        match arguments.directory_in(&root) {
            Ok(directory) => {
                facts = program::facts(&arguments, self.place(&directory), &root);
                facts.insert(program::DIRECTORY.to_owned(), directory.display().to_string());
            }
            // An earlier call may make it.
            Err(_) if arguments.may_come_to_be(&root) => {
                facts.insert(program::DIRECTORY.to_owned(), program::NOT_FOUND.to_owned());
            }
            Err(problem) => return Err(problem),
        }
        let sandbox = match self.launcher.program {
            Some(_) => sandbox::describe(intent.sandbox),
            None => sandbox::NO_LAUNCHER.to_owned(),
        };
        facts.insert(program::SANDBOX.to_owned(), sandbox);
        Ok(Prepared { facts, preview: None })
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        let arguments = Arguments::read(invocation.arguments.clone()).map_err(Failure::text)?;
        if invocation.cancelled.is_cancelled() {
            return Err(Failure::text(arguments.cannot_run("it was cancelled before it started")));
        }
        let job = self.job(&arguments, &invocation).await.map_err(Failure::text)?;
        self.check(&arguments, &invocation).await.map_err(Failure::text)?;
        let report = self.execute(job, arguments.time_limit(), &invocation).await;
        let report = report.map_err(|problem| {
            Failure::text(match problem {
                NotRun::Program(error) => arguments.not_started(&error),
                NotRun::Other(problem) => arguments.cannot_run(&problem),
            })
        })?;
        report.into_result()
    }
}

/// The program that was found when the call was prepared, and which people may have agreed to.
fn approved(facts: &Facts) -> Option<PathBuf> {
    let program = facts.get(program::PROGRAM).filter(|program| *program != program::NOT_FOUND);
    program.map(PathBuf::from)
}

/// Why a process is not waited for any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Exited,
    TimedOut(Duration),
    Cancelled,
}

/// Without a limit of the call's own, the runtime's timeout comes as a cancellation.
async fn watch(
    process: &mut Process,
    limit: Option<Duration>,
    cancelled: &CancellationToken,
) -> Reason {
    let timer = async {
        match limit {
            Some(limit) => {
                tokio::time::sleep(limit).await;
                Reason::TimedOut(limit)
            }
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        // One that has ended by itself has a result, even if somebody gave up at that moment.
        biased;
        () = process.exited() => Reason::Exited,
        () = cancelled.cancelled() => Reason::Cancelled,
        reason = timer => reason,
    }
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
