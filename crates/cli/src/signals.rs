//! Waits for somebody to end the program: Ctrl-C, or the system.
//! Used by every command that waits. Never ends anything by itself.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

#[derive(Debug)]
pub struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Ctrl-C: a person wants something to stop.
    Interrupt,
    /// The system wants the program to end.
    Terminate,
}

impl Signals {
    pub fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("signals cannot be listened for");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
        })
    }

    /// The next one. May be dropped and called again; none is lost.
    pub async fn next(&mut self) -> Sign {
        tokio::select! {
            _ = self.interrupt.recv() => Sign::Interrupt,
            _ = self.terminate.recv() => Sign::Terminate,
            _ = self.hangup.recv() => Sign::Terminate,
        }
    }
}
