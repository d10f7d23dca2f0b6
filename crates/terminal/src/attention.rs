//! Decides whether a key may be an answer to what is asked on the screen.
//! Used by `chat` and `tui` for every key that is not part of a text. Pure: it knows the time, and what is on the screen, only
//! as it is told. A key counts where the person could have read what it answers: it was drawn, unchanged, for a moment; nothing
//! was typed before it as if it were a text; it is not the key of the last answer, still held; and the one it was meant for was
//! not taken away under their fingers.

use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key that is pressed so soon after a question appeared was meant for something else.
pub const UNREAD: Duration = Duration::from_millis(300);
/// Who types a text does not decide: after a letter that is no answer, letters are part of that text until there is a pause.
pub const PAUSE: Duration = Duration::from_millis(700);
/// A key that is held down comes as pressed again, the first time after longer than the other times.
pub const HELD: Duration = Duration::from_secs(1);
/// Keys that follow each other so closely were not pressed one by one.
pub const BURST: Duration = Duration::from_millis(30);
/// Whoever was about to answer a question that is suddenly gone may press the key for so long.
pub const GONE: Duration = Duration::from_secs(3);

/// What keys would answer: a request, and how far the person has come with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    pub id: String,
    /// Changes whenever keys mean something else.
    pub step: u64,
    /// Changes whenever the person turns to it anew.
    pub turn: u64,
}

/// Why a key was no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untaken {
    /// What it would have answered had only just come up.
    TooSoon,
    /// It came with other keys, as a text does.
    Text,
    /// It is the key of the last answer, and may be held down.
    Held,
    /// What it may have been meant for is gone, and another is in its place.
    Another,
}

impl Untaken {
    /// Says what became of the key, and what to do.
    pub fn words(self) -> &'static str {
        match self {
            Self::TooSoon => "just shown, so that key did nothing: press again",
            Self::Text => "taken for part of a text: press again",
            Self::Held => "a key that is held counts once: press again after a moment",
            Self::Another => "the one before is settled, and this is another: press again",
        }
    }
}

/// How a person stands to what is asked.
#[derive(Clone, Debug, Default)]
pub struct Attention {
    /// What the picture shows, or is about to.
    sight: Option<Sight>,
    /// When it was on the screen first, as it is; none where it is only about to be drawn.
    since: Option<Instant>,
    /// It came in place of one that was taken away: the first key is taken for that one's.
    is_another: bool,
    /// The person is done with what is shown: whatever comes next is no surprise.
    is_done: bool,
    /// The one that was taken away last, and when.
    gone: Option<(String, Instant)>,
    /// When a letter was last typed that was no answer.
    stray: Option<Instant>,
    /// The key of the last answer, and when it was last pressed without a pause.
    held: Option<(KeyCode, Instant)>,
    /// The last two times a key was pressed, whatever for.
    pressed: (Option<Instant>, Option<Instant>),
}

impl Attention {
    /// What the next picture shows.
    pub fn look(&mut self, sight: Option<&Sight>, now: Instant) {
        if self.sight.as_ref() == sight {
            return;
        }
        let is_done = std::mem::take(&mut self.is_done);
        let before = std::mem::replace(&mut self.sight, sight.cloned());
        self.since = None;
        if let (Some(before), Some(after)) = (&before, sight)
            && before.id == after.id
        {
            // Whoever turns to it has seen which one it is.
            self.is_another &= before.turn == after.turn;
            return;
        }
        if let Some(before) = before {
            self.gone = (!is_done).then_some((before.id, now));
        }
        self.is_another = match sight {
            Some(after) => {
                self.gone.take().is_some_and(|(id, at)| id != after.id && passed(at, now) < GONE)
            }
            None => false,
        };
    }

    /// The picture is on the screen: what it shows can be read from now on.
    pub fn drawn(&mut self, now: Instant) {
        self.since.get_or_insert(now);
    }

    /// It cannot be read, or must be read anew: until it is drawn again no key answers it.
    pub fn unsee(&mut self) {
        self.since = None;
    }

    /// The person has decided about it, put it off or gone on to another.
    pub fn leave(&mut self) {
        self.is_done = true;
        self.gone = None;
    }

    /// Whether a key would count now, as far as what is on the screen says. Keys are offered when they count.
    pub fn is_ready(&self, now: Instant) -> bool {
        !self.is_unread(now) && !self.is_in_text(now)
    }

    /// Some key was pressed, whatever for. Told of every one, before anything is asked about it.
    pub fn press(&mut self, key: KeyEvent, now: Instant) {
        self.pressed = (self.pressed.1, Some(now));
        let goes_on = |(code, at): (KeyCode, Instant)| code == key.code && passed(at, now) < HELD;
        self.held = self.held.filter(|held| goes_on(*held)).map(|(code, _)| (code, now));
    }

    /// A letter was typed that is no answer to anything.
    pub fn stray(&mut self, now: Instant) {
        self.stray = Some(now);
    }

    /// Whether a key may be an answer to what keys would answer now.
    ///
    /// # Errors
    /// Why it is none.
    pub fn allow(&mut self, sight: &Sight, key: KeyEvent, now: Instant) -> Result<(), Untaken> {
        let why = if self.sight.as_ref() != Some(sight) || self.is_unread(now) {
            Untaken::TooSoon
        } else if std::mem::take(&mut self.is_another) {
            self.since = Some(now);
            return Err(Untaken::Another);
        } else if self.is_in_burst(now) || (letter(key).is_some() && self.is_in_text(now)) {
            Untaken::Text
        } else if self.held.is_some_and(|(code, _)| code == key.code) {
            return Err(Untaken::Held);
        } else {
            return Ok(());
        };
        // Whoever goes on typing has not looked up yet.
        if letter(key).is_some() {
            self.stray = Some(now);
        }
        Err(why)
    }

    /// A key was an answer, or a step towards one.
    pub fn took(&mut self, key: KeyEvent, now: Instant) {
        self.held = Some((key.code, now));
    }

    fn is_unread(&self, now: Instant) -> bool {
        self.since.is_none_or(|since| passed(since, now) < UNREAD)
    }

    fn is_in_text(&self, now: Instant) -> bool {
        self.stray.is_some_and(|at| passed(at, now) < PAUSE)
    }

    fn is_in_burst(&self, now: Instant) -> bool {
        self.pressed.0.is_some_and(|before| passed(before, now) < BURST)
    }
}

fn passed(since: Instant, now: Instant) -> Duration {
    now.saturating_duration_since(since)
}

/// A letter that was typed as such.
pub fn letter(key: KeyEvent) -> Option<char> {
    let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char(letter) if is_plain && key.kind != KeyEventKind::Release => {
            Some(letter.to_ascii_lowercase())
        }
        _ => None,
    }
}

#[cfg(test)]
#[path = "attention_tests.rs"]
mod tests;
