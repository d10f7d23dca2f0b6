//! Tests of typing: what keys do to a text, and what is kept of it.

use std::os::unix::fs::PermissionsExt as _;

use crossterm::event::KeyEventKind;

use super::*;

fn composer() -> Composer {
    Composer::new(Theme::new(false), History::default())
}

fn words() -> Words {
    Words {
        agents: vec!["ada".to_owned(), "bob".to_owned()],
        commands: vec![("/stop", "stops"), ("/switch", "goes elsewhere")],
        directory: None,
    }
}

fn press(composer: &mut Composer, code: KeyCode, modifiers: KeyModifiers) -> Typed {
    let mut key = KeyEvent::new(code, modifiers);
    key.kind = KeyEventKind::Press;
    composer.key(key, &words())
}

fn write(composer: &mut Composer, text: &str) {
    for character in text.chars() {
        press(composer, KeyCode::Char(character), KeyModifiers::NONE);
    }
}

fn plain(composer: &mut Composer, code: KeyCode) -> Typed {
    press(composer, code, KeyModifiers::NONE)
}

fn control(composer: &mut Composer, letter: char) -> Typed {
    press(composer, KeyCode::Char(letter), KeyModifiers::CONTROL)
}

#[test]
fn enter_sends_and_other_keys_begin_a_line() {
    let mut composer = composer();
    write(&mut composer, "one");
    press(&mut composer, KeyCode::Enter, KeyModifiers::ALT);
    write(&mut composer, "two");
    press(&mut composer, KeyCode::Enter, KeyModifiers::SHIFT);
    write(&mut composer, "three");
    control(&mut composer, 'j');
    write(&mut composer, "four");
    let entered = plain(&mut composer, KeyCode::Enter);
    assert_eq!(entered, Typed::Entered("one\ntwo\nthree\nfour".to_owned()));
    assert!(composer.is_empty());
    assert_eq!(plain(&mut composer, KeyCode::Enter), Typed::Nothing, "nothing is not sent");
}

#[test]
fn what_is_pasted_keeps_its_lines_and_sends_nothing() {
    let mut composer = composer();
    composer.paste("one\r\ntwo\rthree\n");
    assert_eq!(composer.text(), "one\ntwo\nthree\n");
}

#[test]
fn what_is_killed_can_be_yanked() {
    let mut composer = composer();
    write(&mut composer, "one two");
    control(&mut composer, 'w');
    assert_eq!(composer.text(), "one ");
    control(&mut composer, 'y');
    assert_eq!(composer.text(), "one two");
    control(&mut composer, 'u');
    assert_eq!(composer.text(), "");
    control(&mut composer, 'y');
    control(&mut composer, 'a');
    control(&mut composer, 'k');
    assert_eq!(composer.text(), "");
}

#[test]
fn up_and_down_recall_and_give_the_draft_back() {
    let mut composer = composer();
    for text in ["first", "second", "second"] {
        write(&mut composer, text);
        plain(&mut composer, KeyCode::Enter);
    }
    write(&mut composer, "draft");
    plain(&mut composer, KeyCode::Up);
    assert_eq!(composer.text(), "second");
    plain(&mut composer, KeyCode::Up);
    assert_eq!(composer.text(), "first");
    plain(&mut composer, KeyCode::Up);
    assert_eq!(composer.text(), "first");
    plain(&mut composer, KeyCode::Down);
    plain(&mut composer, KeyCode::Down);
    assert_eq!(composer.text(), "draft");
}

#[test]
fn tab_completes_one_and_offers_several() {
    let mut composer = composer();
    write(&mut composer, "hi @a");
    plain(&mut composer, KeyCode::Tab);
    assert_eq!(composer.text(), "hi @ada ");
    composer.set("");
    write(&mut composer, "/s");
    plain(&mut composer, KeyCode::Tab);
    assert_eq!((composer.text().as_str(), composer.height(40)), ("/s", 3));
    plain(&mut composer, KeyCode::Down);
    assert_eq!(plain(&mut composer, KeyCode::Enter), Typed::Redraw, "it chooses and sends nothing");
    assert_eq!(composer.text(), "/switch ");
}

#[test]
fn the_box_grows_with_its_text() {
    let mut composer = composer();
    assert_eq!(composer.height(12), 1);
    write(&mut composer, "0123456789");
    assert_eq!(composer.height(12), 2, "the cursor needs a place, too");
}

#[test]
fn what_is_kept_is_private_and_bounded() {
    let path = std::env::temp_dir().join(format!("history-{}", std::process::id()));
    std::fs::remove_file(&path).ok();
    let kept = Kept::at(path.clone());
    assert_eq!(kept.load(), Vec::<String>::new());
    for number in 0..2_500 {
        kept.add(&format!("line\n{number}")).unwrap();
    }
    assert_eq!(kept.load().last().unwrap(), "line\n2499");
    assert_eq!(kept.load().len(), 1_000);
    assert!(std::fs::read_to_string(&path).unwrap().lines().count() <= 2_000);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn names_are_offered_while_they_are_typed_and_keys_mean_what_they_mean_without() {
    let mut composer = composer();
    write(&mut composer, "/");
    assert_eq!((composer.is_completing(), composer.height(40)), (true, 3));
    write(&mut composer, "st");
    assert_eq!(composer.height(40), 2, "only what fits");
    assert_eq!(plain(&mut composer, KeyCode::Enter), Typed::Entered("/st".to_owned()));
    write(&mut composer, "/stop it");
    assert!(!composer.is_completing(), "the word is over");
    composer.set("");
    write(&mut composer, "hi @");
    assert!(composer.is_completing());
    plain(&mut composer, KeyCode::Down);
    assert!(composer.has_chosen());
    plain(&mut composer, KeyCode::Down);
    plain(&mut composer, KeyCode::Enter);
    assert_eq!(composer.text(), "hi @bob ");
    write(&mut composer, "/etc");
    assert!(!composer.is_completing(), "paths are looked up only when asked for");
}

#[test]
fn what_is_offered_is_refused_for_one_word() {
    let mut composer = composer();
    write(&mut composer, "@");
    plain(&mut composer, KeyCode::Esc);
    write(&mut composer, "a");
    assert!(!composer.is_completing());
    plain(&mut composer, KeyCode::Backspace);
    plain(&mut composer, KeyCode::Backspace);
    write(&mut composer, "@");
    assert!(composer.is_completing(), "it is another word");
}
