//! Tests of a conversation on a terminal: what a person sees, what keys do, and what is left in the scrollback.

use std::os::unix::fs::PermissionsExt as _;

use crate::home::{Home, until};
use crate::pty::Pty;
use crate::serve::address;

pub const ENTER: &str = "\r";
const CTRL_C: &str = "\x03";
pub const CTRL_D: &str = "\x04";
const UP: &str = "\x1b[A";
pub const TAB: &str = "\t";

pub fn chat(home: &Home) -> Pty {
    Pty::start(home, &["chat"], 80, 24)
}

/// The keys of a question are shown when they count.
pub const KEYS: &str = "l later";

#[test]
fn a_newcomer_without_any_key_is_greeted_and_answered() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("This is your first visit: a world called `demo` was made for you");
    chat.wait_for("Try: hello");
    chat.keys("hello");
    chat.wait_for("> hello");
    chat.keys(ENTER);
    chat.wait_for("Say help to see what I can do");
    chat.wait_for_line("> hello");
    chat.keys(CTRL_D);
    chat.ends(0);
    chat.is_restored();
    let path = home.path().join("chat-history");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "\"hello\"\n");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn two_agents_answer_at_once_and_stay_apart() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    chat.keys("@ada @bob count to 12\r");
    let all = |name: &str| {
        let text = chat.everything();
        let said = text.split(&format!("\n{name}\n")).nth(1).map(str::to_owned);
        said.is_some_and(|said| said.contains("12"))
    };
    until("both counts", || all("ada") && all("bob"));
    // Whoever speaks finishes: no line of one stands among those of the other.
    let text = chat.everything();
    let ada = text.find("\nada\n").unwrap();
    let bob = text.find("\nbob\n").unwrap();
    let (first, second) = (ada.min(bob), ada.max(bob));
    assert!(text[first..second].contains("12"), "{text}");
    chat.keys("/quit\r");
    chat.ends(0);
}

#[test]
fn three_approvals_are_decided_out_of_order_and_with_different_scopes() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    chat.keys("run touch one; run mkdir two; run rm three\r");
    chat.wait_for("1 of 3 waiting");
    chat.wait_for(KEYS);
    chat.keys(TAB);
    chat.wait_for("2 of 3 waiting");
    chat.keys(TAB);
    chat.wait_for("3 of 3 waiting");
    chat.wait_for(KEYS);
    chat.keys("d");
    chat.wait_for("why (empty for no reason)>");
    chat.keys("not that one\r");
    chat.wait_for_line("denied by tester (not that one)");
    chat.wait_for("of 2 waiting");
    chat.wait_until("the keys of the first", |screen| {
        screen.contains("1 of 2 waiting") && screen.contains(KEYS)
    });
    chat.keys(TAB);
    chat.wait_until("the keys of the second", |screen| {
        screen.contains("2 of 2 waiting") && screen.contains(KEYS)
    });
    chat.keys("s");
    chat.wait_for("for the rest of this chat: which calls?");
    chat.keys("1");
    chat.wait_for_line("shell_cmd mkdir two: approved for the session by tester");
    chat.wait_until("the last question", |screen| {
        screen.contains("1 of 1 waiting") && screen.contains(KEYS)
    });
    chat.keys("a");
    chat.wait_for("always, in this world: which calls?");
    chat.keys("1");
    chat.wait_for_line("shell_cmd touch one: approved always by tester");
    until("both files", || home.file("one").exists() && home.file("two").exists());
    chat.wait_until("the composer", |screen| !screen.contains("waiting") && screen.contains("\n>"));
    chat.keys(CTRL_D);
    chat.ends(0);
    let kept = std::fs::read_to_string(home.path().join("chat-history")).unwrap();
    assert!(!kept.contains("not that one"), "what was typed into an approval is not kept: {kept}");
}

#[test]
fn what_is_typed_stays_while_a_question_is_asked_and_answered_elsewhere() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    chat.keys("run touch made\r");
    chat.wait_for("1 of 1 waiting");
    chat.wait_for(KEYS);
    chat.keys("l");
    chat.wait_for("it waits; /approvals asks again");
    chat.keys("a draft");
    chat.wait_for("> a draft");
    let id = home.waiting().remove(0);
    home.run(&["approvals", "approve", &id]).succeeded();
    chat.wait_for_line("shell_cmd touch made: approved once by tester");
    chat.wait_for("ended");
    chat.wait_for("> a draft");
    until("the file", || home.file("made").exists());
    chat.keys("\x15");
    chat.keys(CTRL_D);
    chat.ends(0);
}

#[test]
fn ctrl_c_stops_the_agents_and_a_second_one_leaves() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    chat.keys("run sleep 60\r");
    chat.wait_for(KEYS);
    chat.keys("o");
    chat.wait_until("the running tool", |screen| {
        screen.lines().any(|line| {
            line.starts_with("⚙ ada shell_cmd sleep 60 · ") && line.trim_end().ends_with(" s")
        })
    });
    chat.keys(CTRL_C);
    chat.wait_for("stopped all work in this chat");
    chat.wait_for("cancelled");
    chat.keys("hello\r");
    chat.wait_for("Say help");
    chat.wait_until("rest", |screen| !screen.contains("thinks"));
    chat.keys(CTRL_C);
    chat.wait_for("Ctrl-C once more leaves");
    chat.keys(CTRL_C);
    chat.ends(0);
    chat.is_restored();
}

#[test]
fn a_conversation_is_left_with_something_waiting_and_taken_up_again() {
    let home = Home::new();
    let mut first = chat(&home);
    first.wait_for("/help explains");
    first.keys("run touch made\r");
    first.wait_for(KEYS);
    first.keys(CTRL_D);
    first.wait_for("1 approval still waiting. Come back with\n  agent-world chat -w demo -c chat_");
    first.wait_for("then `agent-world resume`");
    first.ends(3);
    let mut second = chat(&home);
    second.wait_for("1 approval still waiting here");
    second.wait_for("> run touch made");
    second.wait_for(KEYS);
    second.keys("o");
    until("the file", || home.file("made").exists());
    second.wait_for("touch made ended");
    second.wait_until("rest", |screen| !screen.contains("Ctrl-C stops"));
    second.keys(UP);
    second.wait_until("what was typed before", |screen| {
        screen.matches("> run touch made").count() > 1
    });
    second.keys(CTRL_C);
    second.keys("/title A name\r");
    second.wait_for("demo · A name");
    second.keys("/quit\r");
    second.ends(0);
    second.is_restored();
}

#[test]
fn the_program_itself_can_be_spoken_to() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    chat.keys("/help\r");
    chat.wait_for_line("/switch     goes to another chat");
    chat.keys("/agents\r");
    chat.wait_for_line("@bob  Bob (demo/demo)");
    chat.keys("hello\r");
    chat.wait_for("Say help");
    chat.keys("/edit\r");
    chat.wait_for("changes your last message");
    chat.keys("\x15@bob hello\r");
    chat.wait_for_line("took messages back");
    // As any other message of one's own.
    chat.wait_for_line("\n> @bob hello\n");
    chat.wait_for_line("\nbob\n");
    chat.keys("/new\r");
    chat.wait_for_line("/help explains");
    chat.keys("/chats\r");
    chat.wait_for("/switch ID goes to one");
    chat.keys("/nonsense\r");
    chat.wait_for("there is no command /nonsense");
    chat.keys("/st\t");
    chat.wait_for("> /stop");
    chat.keys("\x15/quit\r");
    chat.ends(0);
}

#[test]
fn a_small_terminal_and_another_size_will_do() {
    let home = Home::new();
    let mut chat = Pty::start(&home, &["chat"], 40, 10);
    chat.wait_for("/help explains");
    chat.keys("run touch made\r");
    chat.wait_for("of 1 waiting");
    chat.wait_for(KEYS);
    chat.keys("o");
    chat.wait_for("ended");
    chat.resize(100, 30);
    chat.wait_for("✓ ada shell_cmd touch made: approved once by tester");
    chat.keys("hello\r");
    chat.wait_for("Say help");
    chat.keys("\x1b[200~two\nlines\x1b[201~");
    chat.wait_for("> two\n  lines");
    chat.wait_until("rest", |screen| !screen.contains("Ctrl-C stops"));
    chat.keys(CTRL_C);
    chat.keys(CTRL_D);
    chat.ends(0);
}

#[test]
fn a_signal_ends_it_and_gives_the_terminal_back() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    let id = chat.id().to_string();
    let sent = std::process::Command::new("kill").args(["-s", "TERM", &id]).status().unwrap();
    assert!(sent.success());
    chat.ends(0);
    chat.is_restored();
}

#[test]
fn the_work_is_taken_over_when_the_other_process_is_gone() {
    let home = Home::new();
    let watch = home.start(&["resume", "--watch"]);
    watch.wait_for_warning("working");
    let mut chat = chat(&home);
    chat.wait_for("Another agent-world process is running");
    chat.keys("hello\r");
    chat.wait_for("Say help");
    watch.crash();
    chat.wait_for("this one does the work now");
    chat.keys("@bob hello\r");
    chat.wait_for_line("\nbob\n");
    chat.keys(CTRL_D);
    chat.ends(0);
}

#[test]
fn a_server_that_goes_and_comes_back_is_waited_for() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let place = address(&server);
    let mut chat = chat(&home);
    chat.wait_for(&format!("Connected to http://{place}"));
    chat.keys("run touch made\r");
    chat.wait_for(KEYS);
    chat.keys("o");
    chat.wait_for("touch made ended");
    server.signal("TERM");
    server.wait().succeeded();
    chat.wait_for("connection lost");
    chat.keys("@bob hello\r");
    chat.wait_for("> @bob hello (sending)");
    let server = home.start(&["serve", "--listen", &place]);
    address(&server);
    chat.wait_until("the connection", |screen| !screen.contains("connection lost"));
    // It arrives by itself, and once.
    chat.wait_for_line("\nbob\n");
    assert_eq!(chat.everything().matches("> @bob hello").count(), 1, "{}", chat.everything());
    chat.keys(CTRL_D);
    chat.ends(0);
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn a_server_that_comes_back_elsewhere_is_found() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let place = address(&server);
    let mut chat = chat(&home);
    chat.wait_for(&format!("Connected to http://{place}"));
    server.signal("TERM");
    server.wait().succeeded();
    chat.wait_for("connection lost");
    // The port is taken, so that it is another one.
    let taken = std::net::TcpListener::bind(&place);
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let other = address(&server);
    assert_ne!(place, other);
    drop(taken);
    chat.wait_for_line(&format!("the server is at http://{other} now"));
    chat.wait_until("the connection", |screen| !screen.contains("connection lost"));
    chat.keys("@bob hello\r");
    chat.wait_for_line("\nbob\n");
    chat.keys(CTRL_D);
    chat.ends(0);
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn whoever_leaves_while_nobody_answers_is_told_that_what_waits_is_not_known() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let place = address(&server);
    let mut chat = chat(&home);
    chat.wait_for("1 of 1 waiting");
    server.signal("TERM");
    server.wait().succeeded();
    chat.wait_for("connection lost");
    chat.keys(CTRL_D);
    chat.wait_for(&format!("nobody answers at http://{place}, so what is waiting is not known"));
    chat.ends(3);
}

#[test]
fn leaving_finishes_what_is_under_way() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    chat.keys("run sh -c 'touch begun; while [ ! -e go ]; do sleep 0.05; done; touch done'\r");
    chat.wait_for(KEYS);
    chat.keys("o");
    until("the command", || home.file("begun").exists());
    chat.keys("/quit\r");
    chat.wait_for("finishing what is under way; Ctrl-C leaves at once");
    std::fs::write(home.file("go"), "").unwrap();
    chat.ends(0);
    assert!(home.file("done").exists());
}

#[test]
fn a_background_command_ends_while_the_conversation_goes_on() {
    let home = Home::new();
    let mut chat = chat(&home);
    chat.wait_for("/help explains");
    let script = "while [ ! -e go ]; do sleep 0.05; done; echo finally";
    let arguments =
        serde_json::json!({ "command": "sh", "parameters": ["-c", script], "blocking": false });
    chat.keys(&format!("call shell_cmd {arguments}\r"));
    chat.wait_for(KEYS);
    chat.keys("o");
    chat.wait_for_line("will follow");
    let runs =
        |screen: &str| screen.lines().any(|line| line.starts_with("⚙ ada shell_cmd sh -c while"));
    chat.wait_until("the command", runs);
    chat.keys("hello\r");
    chat.wait_for_line("Say help");
    chat.wait_until("the command, which still runs", runs);
    std::fs::write(home.file("go"), "").unwrap();
    chat.wait_for_line("completed · ");
    chat.wait_for_line("finally\n");
    chat.keys(CTRL_D);
    chat.ends(0);
    let text = chat.everything();
    let place =
        |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is not in\n{text}"));
    assert!(place("will follow") < place("Say help"), "{text}");
    assert!(place("Say help") < place("completed · "), "{text}");
}

#[test]
fn what_a_tool_did_is_seen_afterwards_and_on_coming_back() {
    let home = Home::new();
    let mut first = chat(&home);
    first.wait_for("/help explains");
    first.keys("run seq 9\r");
    first.wait_for(KEYS);
    first.keys("o");
    first.wait_for_line("(Ctrl-O shows)");
    first.wait_until("rest", |screen| screen.contains("ended") && !screen.contains("thinks"));
    first.keys("\x0f");
    first.wait_for("it gave back");
    first.wait_for("│ 9");
    first.keys(CTRL_D);
    first.ends(0);
    let mut second = chat(&home);
    second.wait_for("> run seq 9\n⚙ ada shell_cmd seq 9 · completed");
    second.keys(CTRL_D);
    second.ends(0);
}
