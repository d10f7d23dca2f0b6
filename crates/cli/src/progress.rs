//! Shows a person that something is under way: a line on stderr that moves, after a second.
//! Used by commands that may take long. Quiet where stderr is no terminal, and gone before anything else is written.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that takes longer than this is shown.
const NOTICEABLE: Duration = Duration::from_secs(1);
const PACE: Duration = Duration::from_millis(100);

/// Something that takes its time.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn start(text: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(ProgressStyle::default_spinner());
        bar.set_message(text.to_owned());
        let (shown, begun) = (bar.clone(), Instant::now());
        std::thread::spawn(move || {
            while begun.elapsed() < NOTICEABLE {
                std::thread::sleep(PACE);
                if shown.is_finished() {
                    return;
                }
            }
            shown.set_draw_target(ProgressDrawTarget::stderr());
            shown.enable_steady_tick(PACE);
        });
        Self { bar: Some(bar) }
    }

    /// Says what is under way now.
    pub fn tell(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }

    /// Writes something else, with the line out of the way.
    pub fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    pub fn end(self) {
        drop(self);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
