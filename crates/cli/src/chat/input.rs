//! Reads what a person types, or what a pipe holds, line by line.
//! Started by `chat`. A thread of its own, because reading a terminal blocks; it ends with the input or the program.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};
use tokio::sync::mpsc;

/// Lines read ahead. When they are not taken, reading stops until they are; nothing is lost.
const READ_AHEAD: usize = 16;

#[derive(Debug)]
pub struct Input {
    lines: mpsc::Receiver<Line>,
    /// Somebody types: lines may come at any time, and are seen where they are typed.
    pub is_typed: bool,
}

#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    pub read_at: Instant,
}

impl Input {
    pub fn open() -> Result<Self> {
        let (sender, lines) = mpsc::channel(READ_AHEAD);
        thread::Builder::new()
            .name("input".to_owned())
            .spawn(move || read(&sender))
            .context("no thread can be started to read the input")?;
        Ok(Self { lines, is_typed: io::stdin().is_terminal() })
    }

    /// The next line; none at the end of the input.
    pub async fn next(&mut self) -> Option<Line> {
        self.lines.recv().await
    }
}

// An unreadable input is an ended one.
fn read(sender: &mpsc::Sender<Line>) {
    let mut input = io::stdin().lock();
    let mut bytes = Vec::new();
    while let Ok(1..) = input.read_until(b'\n', &mut bytes) {
        let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']).to_owned();
        let read_at = Instant::now();
        if sender.blocking_send(Line { text, read_at }).is_err() {
            return;
        }
        bytes.clear();
    }
}
