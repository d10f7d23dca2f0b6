//! Tells one key from a text: keys that follow another at once were not pressed one by one to answer something.
//! Used by the loops of `chat` and `tui` for a key that would answer, and for those that are there already when a frame is
//! drawn. Waits for a moment only, and loses nothing that came meanwhile.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind};
use futures::{Stream, StreamExt as _};
use tokio::time::timeout;

use crate::attention::{BURST, letter};

/// A key with what came at once after it.
#[derive(Debug, PartialEq, Eq)]
pub struct Burst {
    /// The key, and those after it that are part of a text.
    pub keys: Vec<KeyEvent>,
    /// What came after those.
    pub after: Option<Event>,
}

impl Burst {
    /// Whether the key was pressed on its own, so that it may be an answer.
    pub fn is_one_key(&self) -> bool {
        let is_followed = matches!(self.after, Some(Event::Key(_) | Event::Paste(_)));
        self.keys.len() == 1 && !is_followed
    }

    /// What was typed, as it is written into a message. A line break at its end is no part of it.
    pub fn text(&self) -> String {
        let letter = |key: &KeyEvent| match key.code {
            KeyCode::Enter => Some('\n'),
            KeyCode::Tab => Some('\t'),
            code => code.as_char(),
        };
        self.keys.iter().filter_map(letter).collect::<String>().trim_end_matches('\n').to_owned()
    }
}

/// What came together with a key.
pub async fn burst(
    first: KeyEvent,
    keys: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
) -> io::Result<Burst> {
    let mut typed = vec![first];
    while let Ok(Some(next)) = timeout(BURST, keys.next()).await {
        match next? {
            // Of the key itself, where the terminal tells that too.
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            Event::Key(key) if is_of_text(key) => typed.push(key),
            other => return Ok(Burst { keys: typed, after: Some(other) }),
        }
    }
    Ok(Burst { keys: typed, after: None })
}

/// What was typed and not taken yet. Asked in the task that draws, so that the keys that come later wake it.
pub async fn ready(
    keys: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
) -> io::Result<Option<Event>> {
    match poll_fn(|context| Poll::Ready(keys.poll_next_unpin(context))).await {
        Poll::Ready(event) => event.transpose(),
        Poll::Pending => Ok(None),
    }
}

fn is_of_text(key: KeyEvent) -> bool {
    let breaks = matches!(key.code, KeyCode::Enter | KeyCode::Tab) && key.modifiers.is_empty();
    letter(key).is_some() || breaks
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;
    use futures::stream;

    use super::*;

    fn key(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    async fn told(after: &[KeyCode]) -> Burst {
        let first = KeyEvent::new(KeyCode::Char('o'), KeyModifiers::NONE);
        let waiting: Vec<io::Result<Event>> = after.iter().map(|code| Ok(key(*code))).collect();
        // Nothing comes after them, and the stream goes on.
        let mut keys = stream::iter(waiting).chain(stream::pending());
        burst(first, &mut keys).await.unwrap()
    }

    #[tokio::test]
    async fn all_that_was_typed_is_there_at_once_and_nothing_is_waited_for() {
        let waiting = (0..500).map(|_| Ok(key(KeyCode::Char('x'))));
        let mut keys = stream::iter(waiting).chain(stream::pending());
        let mut taken = 0;
        while ready(&mut keys).await.unwrap().is_some() {
            taken += 1;
        }
        assert_eq!(taken, 500);
    }

    #[tokio::test]
    async fn keys_that_come_at_once_are_a_text_and_one_alone_is_a_key() {
        assert!(told(&[]).await.is_one_key());
        for (after, text) in [
            (vec![KeyCode::Char('k'), KeyCode::Char(' '), KeyCode::Char('x')], "ok x"),
            (vec![KeyCode::Enter], "o"),
            (vec![KeyCode::Char('k'), KeyCode::Enter, KeyCode::Char('y')], "ok\ny"),
            (vec![KeyCode::Backspace], "o"),
        ] {
            let burst = told(&after).await;
            assert!(!burst.is_one_key(), "{after:?}");
            assert_eq!(burst.text(), text);
        }
        assert_eq!(told(&[KeyCode::Backspace]).await.after, Some(key(KeyCode::Backspace)));
    }
}
