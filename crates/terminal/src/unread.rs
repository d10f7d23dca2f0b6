//! Has the rest of a long input read, when more was typed at once than is read at once.
//! Used by loops that read keys. `crossterm` reads a piece of what the terminal holds, and hears of the rest only when
//! something else is typed: without this a text that was typed by a program would stop in its middle.

use std::io;

use crossterm::event::Event;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

/// Events after which more may be left: no piece that was read to its full size has fewer.
const MANY: usize = 64;
/// How often it is looked for the rest, after the last time that much was read.
const ATTEMPTS: u8 = 8;

#[derive(Debug, Default)]
pub struct Unread {
    events: usize,
    attempts: u8,
}

impl Unread {
    /// Something was read.
    pub fn heard(&mut self, event: &Event) {
        self.events += if matches!(event, Event::Paste(_)) { MANY } else { 1 };
    }

    /// Nothing more is there, as far as is known. Called before a frame is drawn and when time has passed.
    pub fn look_again(&mut self) {
        if self.wants() {
            // A terminal that is gone holds nothing.
            wake().ok();
        }
    }

    /// Whether it is to be looked again when time has passed.
    pub fn is_looking(&self) -> bool {
        self.events >= MANY || self.attempts > 0
    }

    fn wants(&mut self) -> bool {
        if std::mem::take(&mut self.events) >= MANY {
            self.attempts = ATTEMPTS;
        }
        let wants = self.attempts > 0;
        self.attempts = self.attempts.saturating_sub(1);
        wants
    }
}

/// Settings that are set, even to what they are, wake whoever waits for the terminal.
fn wake() -> io::Result<()> {
    let terminal = io::stdin();
    let settings = tcgetattr(&terminal)?;
    Ok(tcsetattr(&terminal, OptionalActions::Now, &settings)?)
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    use super::*;

    #[test]
    fn the_rest_is_looked_for_only_after_much_was_read() {
        let key = Event::Key(KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE));
        let mut unread = Unread::default();
        unread.heard(&key);
        assert!(!unread.wants());
        (0..MANY).for_each(|_| unread.heard(&key));
        let wanted = (0..20).filter(|_| unread.wants()).count();
        assert_eq!(wanted, usize::from(ATTEMPTS));
        unread.heard(&Event::Paste(String::new()));
        assert!(unread.wants());
    }
}
