//! Tests of a conversation on a terminal with what is too long to be read or shown at once, and with too little room.

use crate::home::{Home, until};
use crate::pty::Pty;
use crate::terminal::{CTRL_D, ENTER, chat};

#[test]
fn a_long_text_that_is_typed_at_once_arrives_whole() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    // More than is read at once, and the last of it comes without another key.
    let text = format!("{}THE END", "lorem ipsum ".repeat(400));
    chat.keys(&text);
    chat.wait_for("THE END");
    chat.keys(ENTER);
    chat.wait_for_line("I read");
    chat.wait_until("rest", |screen| !screen.contains("Ctrl-C stops"));
    chat.keys(CTRL_D);
    chat.ends(0);
    let exported = home.run(&["export", "demo"]).succeeded();
    assert!(exported.out.contains(&text), "{}", exported.out.len());
}

#[test]
fn a_window_that_is_too_small_for_the_keys_takes_no_answer() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let mut chat = Pty::start(&home, &["chat"], 20, 5);
    chat.wait_for("enlarge the window");
    chat.keys("o");
    chat.keys("y");
    chat.resize(80, 24);
    // The small window offers to put it off, too: only a window that takes answers names this one.
    chat.wait_for("o once");
    assert!(!home.file("made").exists());
    assert_eq!(home.waiting().len(), 1);
    chat.keys("o");
    chat.wait_for_line("approved once by tester");
    until("the file", || home.file("made").exists());
    chat.wait_until("rest", |screen| !screen.contains("Ctrl-C stops"));
    chat.keys(CTRL_D);
    chat.ends(0);
}
