//! Passes output on while it is made, in pieces that are whole characters and not too many.
//! Called by `output`. What it is given is also kept; whoever looks on may miss some of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::watcher::{Channel, Watcher};

/// Whatever comes within this time goes together.
const PAUSE: Duration = Duration::from_millis(50);
const PIECE: usize = 16 * 1024;

#[derive(Debug)]
pub struct Passing {
    watcher: Arc<dyn Watcher>,
    channel: Channel,
    pending: Vec<u8>,
    /// When what is pending goes on its way.
    due: Instant,
}

impl Passing {
    pub fn new(watcher: Arc<dyn Watcher>, channel: Channel) -> Self {
        Self { watcher, channel, pending: Vec::new(), due: Instant::now() }
    }

    /// None while nothing is pending.
    pub fn due(&self) -> Option<Instant> {
        (!self.pending.is_empty()).then_some(self.due)
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend(bytes);
        if self.pending.len() >= PIECE || Instant::now() >= self.due {
            self.flush();
        }
    }

    /// Leaves the beginning of a character for later.
    pub fn flush(&mut self) {
        let end = whole_characters(&self.pending);
        let piece: Vec<u8> = self.pending.drain(..end).collect();
        self.pass(&piece);
        self.due = Instant::now() + PAUSE;
    }

    /// Nothing more will come.
    pub fn finish(mut self) {
        let rest = std::mem::take(&mut self.pending);
        self.pass(&rest);
    }

    fn pass(&self, piece: &[u8]) {
        if !piece.is_empty() {
            self.watcher.wrote(self.channel, &String::from_utf8_lossy(piece));
        }
    }
}

/// How many bytes there are without a character that has only begun.
fn whole_characters(bytes: &[u8]) -> usize {
    let begun = bytes.iter().rev().take(3).position(|byte| byte & 0b1100_0000 != 0b1000_0000);
    let Some((back, lead)) =
        begun.and_then(|back| Some((back + 1, *bytes.get(bytes.len() - back - 1)?)))
    else {
        return bytes.len();
    };
    let needed = match lead {
        0b1100_0000..=0b1101_1111 => 2,
        0b1110_0000..=0b1110_1111 => 3,
        0b1111_0000..=0b1111_0111 => 4,
        _ => 1,
    };
    if needed > back { bytes.len() - back } else { bytes.len() }
}

#[cfg(test)]
mod tests {
    use super::whole_characters;

    #[test]
    fn a_character_is_never_cut() {
        for text in ["", "a", "é", "a€", "€", "𝄞", "x𝄞y"] {
            let bytes = text.as_bytes();
            for end in 0..=bytes.len() {
                let start = &bytes[..end];
                let whole = whole_characters(start);
                assert!(std::str::from_utf8(&start[..whole]).is_ok(), "{text} {end}");
                assert!(end - whole < 4 && text.is_char_boundary(whole));
                assert_eq!(whole == end, text.is_char_boundary(end), "{text} {end}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_characters_do_not_pile_up() {
        for bytes in [&[0xff, 0xff][..], &[0x80, 0x80, 0x80, 0x80], b"ab\xff"] {
            assert_eq!(whole_characters(bytes), bytes.len());
        }
    }
}
