//! The tool `shell_cmd`: runs one program, without a shell, in the world's working directory.
//! Called by the runtime with the arguments that were stored and approved. Never splits, expands or interprets them,
//! never hands on a secret of this program's environment, and leaves nothing of its process group behind.
//!
//! A process that leaves the group (`setsid`) is not found again, and `directory` only says where a program starts:
//! neither is a sandbox.

mod arguments;
mod environment;
mod output;
mod process;

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use agent_world_core::config::{Approval, ToolSpec};
use agent_world_core::event::Output;
use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::{Failure, Invocation, Tool};
use arguments::Arguments;
use output::{Capture, Ending, Report};
use process::Process;

pub const NAME: &str = "shell_cmd";
/// No call runs longer, whatever it asks for.
pub const TIMEOUT_SECONDS: u64 = 600;
/// Bytes kept of each of stdout and stderr.
pub const OUTPUT_LIMIT: usize = 1024 * 1024;

const DESCRIPTION: &str = "Runs one program and returns its output. There is no shell: `command` is the \
    program's name or path and nothing else, each parameter is one element of `parameters`, and quotes, pipes, \
    redirections, variables and wildcards mean nothing. The program gets no input. Background processes it leaves \
    behind are killed when it ends.";

/// Runs programs for agents.
#[derive(Clone, Debug)]
pub struct ShellCmd {
    environment: Vec<(OsString, OsString)>,
}

impl ShellCmd {
    /// Gives programs the harmless part of this process's environment.
    pub fn new() -> Self {
        Self::with_environment(std::env::vars_os())
    }

    /// Gives programs what is harmless of these variables, and nothing else.
    pub fn with_environment(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { environment: environment::allowed(variables) }
    }

    async fn execute(
        &self,
        arguments: &Arguments,
        directory: &Path,
        cancelled: &CancellationToken,
    ) -> Result<Report, Failure> {
        let start = Instant::now();
        let (mut process, stdout, stderr) =
            Process::start(arguments, directory, &self.environment)?;
        let ended = CancellationToken::new();
        let watching = async {
            let ending = watch(&mut process, arguments.time_limit(), cancelled).await;
            let status = process.end().await;
            ended.cancel();
            status.map(|status| Ending::new(ending, status))
        };
        let (ending, stdout, stderr) = tokio::join!(
            watching,
            Capture::read(stdout, OUTPUT_LIMIT, &ended),
            Capture::read(stderr, OUTPUT_LIMIT, &ended),
        );
        let ending = ending.map_err(|error| arguments.cannot_run(&error.to_string()))?;
        Ok(Report { ending, duration: start.elapsed(), stdout, stderr })
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
        let message = "Execute shell command: {command} {parameters}".to_owned();
        ToolSpec {
            approval: Approval { message: Some(message), ..Approval::default() },
            timeout_seconds: TIMEOUT_SECONDS,
            destructive: true,
            ..ToolSpec::new(NAME, DESCRIPTION, arguments::schema())
        }
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        let Invocation { arguments, working_directory, cancelled, .. } = invocation;
        let arguments = Arguments::read(arguments)?;
        if cancelled.is_cancelled() {
            return Err(arguments.cannot_run("it was cancelled before it started"));
        }
        let directory = arguments.directory_in(working_directory.as_deref())?;
        self.execute(&arguments, &directory, &cancelled).await?.into_result()
    }
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
