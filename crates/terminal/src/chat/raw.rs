//! Puts the terminal into the state in which keys come one by one, and back, whatever happens.
//! Held by `run`. Also a panic or an early return leaves a terminal that can be used.

use std::io::{self, Write as _};
use std::sync::Once;

use crossterm::cursor::{self, Show};
use crossterm::event::{
    DisableBracketedPaste, EnableBracketedPaste, KeyboardEnhancementFlags,
    PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::terminal::{self, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};

#[derive(Debug)]
pub struct Raw(());

impl Raw {
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        enable_raw_mode()?;
        let raw = Self(());
        // Shift-Enter is told from Enter by terminals that know this; the others pass it over.
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        execute!(io::stdout(), EnableBracketedPaste, PushKeyboardEnhancementFlags(flags))?;
        Ok(raw)
    }

    /// The row from which there is room. A terminal that does not say where its cursor is gets a fresh screen.
    pub fn row(&self) -> io::Result<u16> {
        match cursor::position() {
            Ok((0, row)) => Ok(row),
            Ok((_, row)) => {
                let (_, rows) = terminal::size()?;
                write_all(b"\r\n")?;
                Ok((row + 1).min(rows.saturating_sub(1)))
            }
            Err(_) => {
                let (_, rows) = terminal::size()?;
                write_all("\r\n".repeat(usize::from(rows)).as_bytes())?;
                Ok(0)
            }
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        restore();
    }
}

fn write_all(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

// A terminal that is gone cannot be restored, and nobody would see that.
fn restore() {
    let mut out = io::stdout();
    let queued = queue!(out, PopKeyboardEnhancementFlags, DisableBracketedPaste, Show);
    let flushed = queued.and_then(|()| out.flush());
    drop((flushed, disable_raw_mode()));
}

fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            restore();
            before(info);
        }));
    });
}
