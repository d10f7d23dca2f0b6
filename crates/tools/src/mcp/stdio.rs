//! Starts a server as a child process and makes sure that its whole process group ends with it.
//! Called by `connection`. Never signals a group whose leader was already reaped, never reads a line or an error output
//! without bounds.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::plan::Program;
use crate::group::{self, Group};

/// Bytes kept of what a server wrote to its error output last.
const KEPT: usize = 4096;
/// Lines of it that are told.
const TOLD: usize = 8;
/// How long a server may take to end by itself: once after its input ended, once after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// A running server. Dropping it kills the whole group.
#[derive(Debug)]
pub struct Running {
    /// Before its child: it must be dropped first.
    group: Group,
    child: Child,
    said: Said,
    /// Hears what it says, to its end.
    hearing: JoinHandle<()>,
}

/// What a server wrote to its error output last.
#[derive(Clone, Debug, Default)]
pub struct Said(Arc<Mutex<VecDeque<u8>>>);

impl Running {
    /// # Errors
    /// When the program cannot be started.
    pub fn start(program: &Program) -> Result<(Self, Lines<ChildStdout>, ChildStdin), String> {
        let cannot = |error: &io::Error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "the program `{}` was not found; install it or correct `command`",
                program.command
            ),
            _ => format!("`{}` cannot be started: {error}", program.command),
        };
        let children = group::listen().map_err(|error| cannot(&error))?;
        let mut child = Command::new(&program.command)
            .args(&program.args)
            .current_dir(&program.directory)
            .env_clear()
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| cannot(&error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let group = Group::led_by(&child, children);
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(format!("`{}` has no input or output", program.command));
        };
        let said = Said::default();
        // Ends with the pipe, which ends with the group.
        let hearing = tokio::spawn(said.clone().listen(stderr));
        let running = Self { group, child, said, hearing };
        Ok((running, Lines::new(stdout, super::FRAME_LIMIT), stdin))
    }

    pub fn said(&self) -> Said {
        self.said.clone()
    }

    /// Returns once the program has ended, and leaves it unreaped: its number stays taken.
    pub async fn exited(&mut self) {
        self.group.exited().await;
    }

    /// Lets the program end by itself for a moment, then kills what is left of the group. Its input must be closed.
    pub async fn end(mut self) -> io::Result<ExitStatus> {
        if timeout(GRACE, self.exited()).await.is_err() {
            self.group.signal(Signal::TERM);
            // An error means that it did not listen, and it is killed below.
            timeout(GRACE, self.exited()).await.ok();
        }
        self.group.signal(Signal::KILL);
        let status = self.child.wait().await;
        self.group.was_reaped();
        // Its last words may still be on their way; somebody outside the group may hold the pipe open for ever.
        timeout(GRACE, &mut self.hearing).await.ok();
        status
    }
}

impl Said {
    async fn listen(self, mut stderr: ChildStderr) {
        let mut piece = [0; 1024];
        while let Ok(count) = stderr.read(&mut piece).await {
            let Some(read) = piece.get(..count).filter(|read| !read.is_empty()) else { return };
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(read);
            let excess = kept.len().saturating_sub(KEPT);
            kept.drain(..excess);
        }
    }

    /// The last lines, without characters that could play tricks on a terminal.
    pub fn last_lines(&self) -> Option<String> {
        let bytes: Vec<u8> = {
            let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.iter().copied().collect()
        };
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<String> = text
            .lines()
            .map(|line| line.chars().filter(|letter| !letter.is_control()).collect::<String>())
            .filter(|line| !line.trim().is_empty())
            .collect();
        let from = lines.len().saturating_sub(TOLD);
        let last = lines.get(from..).unwrap_or_default().join("\n");
        (!last.is_empty()).then_some(last)
    }
}

/// Passes lines on, and ends the stream at one that is longer than allowed.
#[derive(Debug)]
pub struct Lines<R> {
    inner: R,
    limit: usize,
    /// Of the line that is being read.
    length: usize,
}

impl<R> Lines<R> {
    pub fn new(inner: R, limit: usize) -> Self {
        Self { inner, limit, length: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.inner).poll_read(context, buffer);
        if matches!(polled, Poll::Ready(Ok(()))) {
            let read = buffer.filled().get(before..).unwrap_or_default();
            for piece in read.split_inclusive(|byte| *byte == b'\n') {
                this.length += piece.len();
                if this.length > this.limit {
                    // Who gets an error must not get bytes with it.
                    buffer.set_filled(before);
                    let problem = format!("a message is longer than {} bytes", this.limit);
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, problem)));
                }
                if piece.ends_with(b"\n") {
                    this.length = 0;
                }
            }
        }
        polled
    }
}

#[cfg(test)]
#[path = "stdio_tests.rs"]
mod tests;
