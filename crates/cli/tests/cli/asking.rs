//! Tests of questions on a terminal that come while a person does something else, and of what their answers reach.

use crate::home::{Home, until};
use crate::pty::Pty;
use crate::serve::address;
use crate::terminal::{CTRL_D, KEYS, TAB, chat};

#[test]
fn a_question_beside_a_half_written_message_waits_for_tab() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    chat.keys("a draft");
    chat.wait_for("> a draft");
    home.run(&["send", "--approve", "wait", "run touch made"]).with_code(3);
    chat.wait_for("1 of 1 waiting");
    chat.wait_for("Tab to answer");
    chat.keys("o");
    chat.wait_for("> a drafto");
    chat.keys(TAB);
    chat.wait_for(KEYS);
    chat.keys("d");
    chat.wait_for("why (empty for no reason)>");
    chat.keys("not now\r");
    chat.wait_for_line("denied by tester (not now)");
    chat.wait_until("the message", |screen| {
        screen.contains("> a drafto") && !screen.contains("waiting")
    });
    chat.keys("\x15");
    chat.keys(CTRL_D);
    chat.ends(0);
    assert!(!home.file("made").exists());
}

#[test]
fn a_permission_that_also_answers_requests_elsewhere_says_how_many() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let mut chat = Pty::start(&home, &["chat", "--new"], 100, 30);
    chat.wait_for("1 approval waiting in other chats");
    chat.keys("run touch made\r");
    chat.wait_for(KEYS);
    chat.keys("a");
    chat.wait_for("always, in this world: which calls?");
    chat.keys("1");
    chat.wait_for_line("in world demo you are not asked again: exactly this call");
    chat.wait_for_line("also released: 1 waiting request in other chats");
    chat.keys("/policy\r");
    chat.wait_for_line("permitted with `always`, in all chats of this world:");
    chat.keys(CTRL_D);
    chat.ends(0);
}

#[test]
fn a_key_that_was_pressed_before_a_question_was_on_the_screen_does_not_answer_it() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    address(&server);
    let mut chat = chat(&home);
    chat.wait_for("Connected to");
    let signal = |name: &str| {
        let id = chat.id().to_string();
        assert!(
            std::process::Command::new("kill").args(["-s", name, &id]).status().unwrap().success()
        );
    };
    // What is pressed while it stands still is there before anything it will draw.
    signal("STOP");
    home.run(&["send", "--approve", "wait", "run touch made"]).with_code(3);
    chat.keys("o");
    signal("CONT");
    chat.wait_for("Tab to answer");
    chat.wait_for("> o");
    assert_eq!(home.waiting().len(), 1);
    chat.keys(TAB);
    chat.wait_for(KEYS);
    chat.keys("o");
    until("the file", || home.file("made").exists());
    chat.keys("\x15");
    chat.keys(CTRL_D);
    chat.ends(0);
    server.signal("TERM");
    server.wait().succeeded();
}
