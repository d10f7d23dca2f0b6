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
    chat.wait_for_line("in every chat of demo you are not asked again for ada: exactly this call");
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

#[test]
fn a_decision_that_a_dead_server_does_not_take_is_delivered_when_it_is_back() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let place = address(&server);
    let mut chat = chat(&home);
    chat.wait_for("Connected to");
    chat.keys("run touch one; run touch two\r");
    chat.wait_until("the keys of the first", |screen| {
        screen.contains("1 of 2 waiting") && screen.contains(KEYS)
    });
    chat.keys(TAB);
    chat.wait_until("the keys of the second", |screen| {
        screen.contains("2 of 2 waiting") && screen.contains(KEYS)
    });
    server.signal("KILL");
    server.wait();
    chat.wait_for("\nconnection lost: trying again · demo");
    chat.keys("o");
    chat.wait_for("not yet delivered: retrying");
    chat.keys("o");
    assert!(chat.screen().contains("2 of 2 waiting"), "{}", chat.screen());
    let server = home.start(&["serve", "--listen", &place]);
    address(&server);
    chat.wait_for_line("shell_cmd touch two: approved once by tester");
    until("the file", || home.file("two").exists());
    chat.wait_for("1 of 1 waiting");
    assert!(!home.file("one").exists());
    chat.keys(CTRL_D);
    chat.wait_for("or decide with `agent-world approvals list`.");
    chat.ends(3);
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn a_text_that_begins_like_an_answer_and_comes_at_once_is_a_message() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let mut chat = chat(&home);
    chat.wait_for(KEYS);
    chat.keys("ok then");
    chat.wait_for("> ok then");
    assert_eq!(home.waiting().len(), 1);
    chat.keys("\x15");
    chat.wait_for(KEYS);
    chat.keys("o");
    until("the file", || home.file("made").exists());
    chat.wait_until("rest", |screen| !screen.contains("Ctrl-C stops"));
    chat.keys(CTRL_D);
    chat.ends(0);
}

#[test]
fn requests_of_other_chats_are_decided_on_cards_that_say_where_they_are() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let mut chat = Pty::start(&home, &["chat", "--new"], 80, 24);
    chat.wait_for("1 approval waiting in other chats: /approvals asks about them");
    chat.keys("/approvals\r");
    chat.wait_for("of another chat: “");
    chat.wait_for(KEYS);
    chat.keys("o");
    chat.wait_for_line("shell_cmd touch made: approved once by tester");
    until("the file", || home.file("made").exists());
    chat.keys(CTRL_D);
    chat.ends(0);
}

#[test]
fn beside_a_server_an_empty_chat_with_the_demo_model_says_what_to_try() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    address(&server);
    let mut first = chat(&home);
    first.wait_for("Try: hello");
    first.keys("hello\r");
    first.wait_for("Say help to see what I can do");
    first.keys(CTRL_D);
    first.ends(0);
    let mut second = chat(&home);
    second.wait_for("Say help to see what I can do");
    assert!(!second.everything().contains("Try: hello"), "{}", second.everything());
    second.keys(CTRL_D);
    second.ends(0);
    server.signal("TERM");
    server.wait().succeeded();
}
