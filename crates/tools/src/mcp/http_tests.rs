//! What is read of a stream of events, and where it ends.

use super::*;

fn grows(limit: usize, pieces: &[&str]) -> bool {
    let mut event = Event::default();
    pieces.iter().any(|piece| event.grows_beyond(limit, piece.as_bytes()))
}

#[test]
fn many_events_are_no_long_event_however_lines_end() {
    for end in ["\n", "\r\n", "\r"] {
        let one = format!("data: 12345{end}{end}");
        assert!(!grows(20, &[&one.repeat(50)]), "{end:?}");
        let pieces: Vec<String> = one.repeat(50).chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        assert!(!grows(20, &pieces), "{end:?}");
    }
}

#[test]
fn one_event_of_many_lines_is_long_however_they_end() {
    for end in ["\n", "\r\n", "\r"] {
        let one = format!("data: 12345{end}");
        assert!(grows(100, &[&one.repeat(50)]), "{end:?}");
    }
}

#[test]
fn a_challenge_names_its_scope() {
    assert_eq!(scope_of("Bearer scope=\"a b\", error=\"x\"").as_deref(), Some("a b"));
    assert_eq!(scope_of("Bearer"), None);
}

#[test]
fn a_preview_is_short_and_plain() {
    assert_eq!(preview(b"a\nb\x1b[31m"), "a b [31m");
    assert!(preview(&[b'x'; 10_000]).len() <= TOLD);
}
