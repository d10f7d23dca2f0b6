//! Reads what a program writes, within bounds, and puts it together with how the program ended.
//! Called by `shell`. Never keeps more than the limit, and never waits for a process that has left its group.

use std::fmt::Write as _;
use std::time::Duration;

use agent_world_core::event::Output;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;

use super::Reason;
use super::passing::Passing;
use super::process::Exit;
use crate::Failure;

const BUFFER: usize = 16 * 1024;
/// After the group has ended its pipes are closed at once, unless a process outside the group holds them open.
const PATIENCE: Duration = Duration::from_secs(1);

/// What was read of a stream.
#[derive(Debug, Default)]
pub struct Capture {
    kept: Vec<u8>,
    total: u64,
    /// Somebody may still write to it.
    left_open: bool,
    error: Option<String>,
}

/// How a program ended, and why it was not waited for any longer.
#[derive(Clone, Debug)]
pub struct Ending {
    reason: Reason,
    exit: Exit,
}

#[derive(Debug)]
pub struct Report {
    pub ending: Ending,
    pub duration: Duration,
    pub stdout: Capture,
    pub stderr: Capture,
}

impl Capture {
    /// Reads to the end, or for a little while after the program has ended. Draining what is not kept lets it go on.
    pub async fn read(
        stream: impl AsyncRead + Unpin,
        limit: usize,
        ended: &CancellationToken,
        mut passing: Passing,
    ) -> Self {
        let mut capture = Self::default();
        let patience = async {
            ended.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        let left_open = tokio::select! {
            biased;
            () = patience => true,
            () = capture.drain(stream, limit, &mut passing) => false,
        };
        passing.finish();
        Self { left_open, ..capture }
    }

    async fn drain(
        &mut self,
        mut stream: impl AsyncRead + Unpin,
        limit: usize,
        passing: &mut Passing,
    ) {
        let mut buffer = Vec::with_capacity(BUFFER);
        loop {
            buffer.clear();
            let read = match passing.due() {
                None => stream.read_buf(&mut buffer).await,
                Some(due) => match tokio::time::timeout_at(due, stream.read_buf(&mut buffer)).await
                {
                    Ok(read) => read,
                    Err(_) => {
                        passing.flush();
                        continue;
                    }
                },
            };
            match read {
                Ok(0) => return,
                Ok(_) => passing.push(self.keep(&buffer, limit)),
                Err(error) => {
                    self.error = Some(error.to_string());
                    return;
                }
            }
        }
    }

    /// Returns what was kept: nobody is shown more than that.
    fn keep<'a>(&mut self, bytes: &'a [u8], limit: usize) -> &'a [u8] {
        let room = limit.saturating_sub(self.kept.len());
        let kept = bytes.get(..room).unwrap_or(bytes);
        self.kept.extend(kept);
        self.total = self.total.saturating_add(bytes.len() as u64);
        kept
    }

    fn kept_bytes(&self) -> u64 {
        self.kept.len() as u64
    }

    fn is_truncated(&self) -> bool {
        self.kept_bytes() < self.total
    }

    fn write(&self, name: &str, text: &mut String) {
        text.push_str(&String::from_utf8_lossy(&self.kept));
        if self.is_truncated() {
            note(text, &format!("{name} cut: {} of {} bytes kept", self.kept_bytes(), self.total));
        }
        if self.left_open {
            note(text, &format!("{name} is still held open by another process; not read on"));
        }
        if let Some(error) = &self.error {
            note(text, &format!("{name} could not be read on: {error}"));
        }
    }
}

impl Ending {
    pub fn new(reason: Reason, exit: Exit) -> Self {
        Self { reason, exit }
    }

    /// Nothing for a program that ended well.
    fn closing_line(&self) -> Option<String> {
        let how = match (self.reason, self.exit.code, self.exit.signal) {
            (Reason::TimedOut(limit), ..) => {
                Some(format!("timed out after {}s and was killed", limit.as_secs_f64()))
            }
            (Reason::Cancelled, ..) => Some("cancelled and killed before it ended".to_owned()),
            (Reason::Exited, ..) if self.exit.remark.is_some() => None,
            (Reason::Exited, Some(0), _) => None,
            (Reason::Exited, Some(code), _) => Some(format!("exit code {code}")),
            (Reason::Exited, None, Some(signal)) => Some(format!("killed by signal {signal}")),
            (Reason::Exited, None, None) => Some("exit code unknown".to_owned()),
        };
        let lines: Vec<String> = how.into_iter().chain(self.exit.remark.clone()).collect();
        (!lines.is_empty()).then(|| lines.join("; "))
    }
}

impl Report {
    /// A program that did not end well is a failure of the call, with the same text.
    pub fn into_result(self) -> Result<Output, Failure> {
        let closing = self.ending.closing_line();
        let mut text = String::new();
        self.stdout.write("stdout", &mut text);
        if self.stderr.total > 0 {
            note(&mut text, "stderr");
            text.push('\n');
        }
        self.stderr.write("stderr", &mut text);
        if let Some(line) = &closing {
            note(&mut text, line);
        }
        let end = text.trim_end_matches('\n').len();
        text.truncate(end);
        if text.is_empty() {
            text.push_str("(no output)");
        }
        let output = Output { details: self.details(), ..Output::text(text) };
        match (self.ending.reason, closing) {
            (Reason::TimedOut(_), _) => Err(Failure::TimedOut(output)),
            (_, Some(_)) => Err(Failure::Failed(output)),
            (_, None) => Ok(output),
        }
    }

    fn details(&self) -> serde_json::Value {
        json!({
            "exit_code": self.ending.exit.code,
            "signal": self.ending.exit.signal,
            "duration_ms": u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            "stdout_bytes": self.stdout.total,
            "stderr_bytes": self.stderr.total,
            "sandbox": self.ending.exit.sandbox,
            "truncated": self.stdout.is_truncated() || self.stderr.is_truncated(),
        })
    }
}

/// A remark of ours, on a line of its own.
fn note(text: &mut String, remark: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    // Writing to a string cannot fail.
    write!(text, "[{remark}]").ok();
}
