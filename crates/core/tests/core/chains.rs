//! Checks that a stored log proves itself: any change of an event, its place or its time is found.

use agent_world_core::chain::{Hash, Recorded, Sealed, Unreadable, seal};
use agent_world_core::event::FORMAT;

use crate::stage::play;

fn log() -> Vec<Sealed> {
    play("human: hello\nada says: hello").scene().stored.clone()
}

fn is_whole(log: &[Sealed]) -> bool {
    let before = std::iter::once(Hash::default()).chain(log.iter().map(|sealed| sealed.hash));
    log.iter().zip(before).all(|(sealed, previous)| sealed.hash == sealed.hash_after(previous))
}

#[test]
fn a_log_as_it_was_stored_is_whole() {
    assert!(is_whole(&log()));
}

#[test]
fn a_change_of_anything_that_was_stored_is_found() {
    let changes: [fn(&mut Vec<Sealed>); 7] = [
        |log| log[1].payload = log[1].payload.replace("hello", "hullo"),
        |log| log[1].payload.push(' '),
        |log| log[1].seq += 1,
        |log| log[1].version += 1,
        |log| log[1].at = log[1].at.checked_add(std::time::Duration::from_millis(1)).unwrap(),
        |log| log.swap(1, 2),
        |log| drop(log.remove(1)),
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut log = log();
        change(&mut log);
        assert!(!is_whole(&log), "change {number}");
    }
}

#[test]
fn an_event_is_sealed_behind_its_predecessor() {
    let log = log();
    let Recorded { seq, at, event } = log[1].open().unwrap();
    let again = seal(log[0].head(), &Recorded { seq, at, event }).unwrap();
    assert_eq!(again, log[1]);
}

#[test]
fn an_event_of_a_newer_format_is_refused_and_says_so() {
    let mut sealed = log().remove(0);
    sealed.version = FORMAT + 1;
    let error = sealed.open().unwrap_err();
    assert!(matches!(error, Unreadable::Newer { seq: 1, .. }));
    assert!(error.to_string().contains("update"), "{error}");
}

#[test]
fn an_event_that_cannot_be_read_is_named() {
    for payload in ["", "{}", "{\"type\":\"no_such_event\"}", "not JSON"] {
        let mut sealed = log().remove(0);
        sealed.payload = payload.to_owned();
        let error = sealed.open().unwrap_err();
        assert!(error.to_string().starts_with("event 1 of type `chat_created`"), "{error}");
    }
}

#[test]
fn a_hash_is_written_and_read_as_hexadecimal_digits() {
    let hash = log()[0].hash;
    assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
    assert_eq!(serde_json::from_str::<Hash>(&serde_json::to_string(&hash).unwrap()).unwrap(), hash);
    for text in ["", "12", &"g".repeat(64), &"0".repeat(63), &"é".repeat(32), &"+f".repeat(32)] {
        assert_eq!(Hash::parse(text), None, "{text}");
    }
}
