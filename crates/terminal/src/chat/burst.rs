//! Tells one key from a text: letters that follow a key at once were not pressed one by one to answer something.
//! Used by `run` for a key that would decide, and for those that are there already when it draws. Waits for a moment only, and
//! loses nothing that came meanwhile.

use std::future::poll_fn;
use std::io;
use std::task::Poll;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use futures::{Stream, StreamExt as _};
use tokio::time::timeout;

/// How soon a letter must follow to belong to the same text.
const BURST: Duration = Duration::from_millis(30);

/// The letters that came together with a key, which is the first of them, and what came after those.
pub async fn burst(
    first: KeyEvent,
    keys: &mut (impl Stream<Item = io::Result<Event>> + Unpin),
) -> io::Result<(Vec<KeyEvent>, Option<Event>)> {
    let mut letters = vec![first];
    while let Ok(Some(next)) = timeout(BURST, keys.next()).await {
        match next? {
            Event::Key(key) if is_letter(key) => letters.push(key),
            // Of the key itself, where the terminal tells that too.
            Event::Key(key) if key.kind == KeyEventKind::Release => {}
            other => return Ok((letters, Some(other))),
        }
    }
    Ok((letters, None))
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

fn is_letter(key: KeyEvent) -> bool {
    let is_plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    is_plain && key.kind == KeyEventKind::Press && matches!(key.code, KeyCode::Char(_))
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    fn key(code: KeyCode) -> Event {
        Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    async fn told(after: &[KeyCode]) -> (String, Option<Event>) {
        let first = KeyEvent::new(KeyCode::Char('o'), KeyModifiers::NONE);
        let waiting: Vec<io::Result<Event>> = after.iter().map(|code| Ok(key(*code))).collect();
        // Nothing comes after them, and the stream goes on.
        let mut keys = stream::iter(waiting).chain(stream::pending());
        let (letters, after) = burst(first, &mut keys).await.unwrap();
        let letters = letters.iter().filter_map(|key| key.code.as_char()).collect();
        (letters, after)
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
    async fn letters_that_come_at_once_are_a_text_and_one_alone_is_a_key() {
        assert_eq!(told(&[]).await, ("o".to_owned(), None));
        assert_eq!(told(&[KeyCode::Char('k'), KeyCode::Char(' ')]).await, ("ok ".to_owned(), None));
        let (letters, after) = told(&[KeyCode::Char('k'), KeyCode::Enter]).await;
        assert_eq!((letters.as_str(), after), ("ok", Some(key(KeyCode::Enter))));
    }
}
