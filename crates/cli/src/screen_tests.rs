//! Tests of what reaches a terminal: whole lines, nothing hidden, colours only where they are wanted.

use std::sync::{Arc, Mutex};

use super::*;

/// Keeps what is written, for tests of everything that writes.
#[derive(Clone, Default)]
pub struct Paper(Arc<Mutex<Vec<u8>>>);

impl Paper {
    pub fn screen(&self, colours: bool) -> Screen {
        Screen::on(Box::new(self.clone()), colours)
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_text_of_several_lines_cannot_pass_for_somebody_else() {
    let paper = Paper::default();
    let mut screen = paper.screen(false);
    screen.said("ada", "one\nbob: two\n\nbob: three").unwrap();
    screen.begin_saying("ada").unwrap();
    screen.go_on_saying("one\n").unwrap();
    screen.go_on_saying("bob: two").unwrap();
    let expected = "ada: one\n  bob: two\n\n  bob: three\nada: one\n  bob: two";
    assert_eq!(paper.text(), expected);
}

#[test]
fn escape_sequences_become_visible_in_every_way_to_write() {
    let paper = Paper::default();
    let mut screen = paper.screen(false);
    let evil = "a\u{1b}[2Jb\u{9b}c\r";
    screen.said(evil, evil).unwrap();
    screen.line(Tone::Warning, evil).unwrap();
    screen.prompt(Tone::Question, evil).unwrap();
    screen.echo(evil).unwrap();
    screen.json(&serde_json::json!({ "text": evil })).unwrap();
    let text = paper.text();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.contains("a\\u{1B}[2Jb\\u{9B}c\\u{D}"), "{text}");
}

#[test]
fn json_keeps_its_meaning() {
    let paper = Paper::default();
    let value = serde_json::json!({ "text": "é \u{202e}\u{9b}\u{e0001}\u{1b}" });
    paper.screen(true).json(&value).unwrap();
    let text = paper.text();
    assert!(text.contains("é \\u202e\\u009b\\udb40\\udc01\\u001b"), "{text}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
}

#[test]
fn a_line_never_starts_in_the_middle_of_another() {
    let paper = Paper::default();
    let mut screen = paper.screen(false);
    screen.begin_saying("ada").unwrap();
    screen.go_on_saying("half").unwrap();
    screen.line(Tone::Plain, "other").unwrap();
    screen.prompt(Tone::Plain, "> ").unwrap();
    screen.prompt(Tone::Plain, "> ").unwrap();
    screen.line(Tone::Plain, "news").unwrap();
    assert_eq!(paper.text(), "ada: half\nother\n> \nnews\n");
}

#[test]
fn colours_appear_only_where_they_are_wanted() {
    for (wanted, expected) in [(true, true), (false, false)] {
        let paper = Paper::default();
        paper.screen(wanted).line(Tone::Warning, "no").unwrap();
        assert_eq!(paper.text().contains('\u{1b}'), expected);
    }
}
