//! Tests of the full-screen view: the real program on a pseudo-terminal, seen as a terminal would show it.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtyPair, PtySize, native_pty_system};

use crate::home::{Home, until};
use crate::serve::address;

const LARGE: (u16, u16) = (160, 50);
const SMALL: (u16, u16) = (80, 24);
/// Longer than keys count for nothing after one that came too soon.
const PAUSE: Duration = Duration::from_millis(1_200);
const POLL: Duration = Duration::from_millis(20);

/// The program on a terminal of its own.
struct View {
    pty: PtyPair,
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Mutex<vt100::Parser>>,
    /// How the terminal was set before the program ran.
    settings: String,
}

impl View {
    fn start(home: &Home, (columns, rows): (u16, u16), arguments: &[&str]) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pty = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_agent-world"));
        command.args(arguments);
        command.env("AGENT_WORLD_DATA", home.path());
        command.env("USER", "tester");
        command.env("TERM", "xterm-256color");
        for name in ["AGENT_WORLD_LOG", "AGENT_WORLD_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"] {
            command.env_remove(name);
        }
        let (rows, columns) = (NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap());
        let screen = Arc::new(Mutex::new(vt100::Parser::new(rows, columns, 0)));
        let settings = settings(pty.master.as_ref());
        let mut output = pty.master.try_clone_reader().unwrap();
        let shown = Arc::clone(&screen);
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                shown.lock().unwrap().process(&buffer[..length]);
            }
        });
        let keyboard = pty.master.take_writer().unwrap();
        let child = pty.slave.spawn_command(command).unwrap();
        Self { pty, child, keyboard, screen, settings }
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().screen().contents()
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        until(&format!("{text:?} on the screen"), || self.screen().contains(text));
    }

    #[track_caller]
    fn hides(&self, text: &str) {
        until(&format!("the end of {text:?}"), || !self.screen().contains(text));
    }

    fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Approves once, when the request asks for it: a key that comes too soon after it was shown is none, and said to be none.
    /// The next one that counts comes after a pause, as with a person who reads that.
    #[track_caller]
    fn approve(&mut self) {
        self.shows("o once");
        until("an answer that is taken for one", || {
            self.type_in("o");
            let pressed = Instant::now();
            while pressed.elapsed() < PAUSE {
                if !self.screen().contains("o once") {
                    return true;
                }
                thread::sleep(POLL);
            }
            false
        });
    }

    fn signal(&self, name: &str) {
        let id = self.child.process_id().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Waits for the end, and looks whether the terminal is as it was.
    #[track_caller]
    fn ends_with(mut self, code: u32) {
        let mut status = None;
        until("the end of the view", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().exit_code(), code, "{}", self.screen());
        until("the terminal as it was", || {
            let parser = self.screen.lock().unwrap();
            let screen = parser.screen();
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && !screen.bracketed_paste()
                && screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None
        });
        assert_eq!(settings(self.pty.master.as_ref()), self.settings);
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the screen was\n{}", self.screen());
        }
        // A test that failed must leave nothing behind; one that has ended is not there any more.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What the terminal does with keys and lines.
fn settings(terminal: &dyn MasterPty) -> String {
    let termios = terminal.get_termios().unwrap();
    format!("{:?} {:?}", termios.local_flags, termios.input_flags)
}

#[test]
fn a_command_is_asked_for_approved_and_run() {
    let home = Home::new();
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("Nothing was said here yet.");
    view.shows("connected");
    view.type_in("run date +%Y\r");
    view.shows("waits for approval");
    view.shows("1 waiting");
    view.shows("ada  shell_cmd  date +%Y");
    view.shows("Demo › New Chat");
    view.type_in("\t");
    view.shows("1 of 1 waiting");
    view.approve();
    view.shows("done");
    view.shows("ended well");
    view.shows("Nothing waits for you.");
    // The details of the call, with all arguments and the result.
    view.type_in("\x1b");
    view.shows("i to write");
    view.type_in("t");
    view.shows("\"parameters\": [");
    view.shows("Result");
    view.type_in("q");
    view.hides("\"parameters\": [");
    view.type_in("q");
    view.ends_with(0);
    home.run(&["audit", "--json"]).succeeded().says("tester");
}

#[test]
fn a_long_result_is_shown_whole_and_written_to_a_file() {
    let home = Home::new();
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("Nothing was said here yet.");
    view.type_in("run seq 15000\r");
    view.shows("1 waiting");
    view.type_in("\t");
    view.shows("1 of 1 waiting");
    view.approve();
    view.shows("done");
    view.type_in("\x1b");
    view.shows("i to write");
    view.type_in("t");
    // All lines of the output, and a few about the call.
    view.shows(" of 1501");
    view.type_in("w");
    view.shows("written to ");
    let screen = view.screen();
    let (_, rest) = screen.split_once("written to ").unwrap();
    let file = rest.split_whitespace().next().unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::remove_file(file).unwrap();
    assert!((1..=15_000).all(|number| text.contains(&format!("\n{number}\n"))));
    view.type_in("\x1b");
    view.hides(" of 1501");
    view.type_in("q");
    view.ends_with(0);
}

#[test]
fn everything_is_reached_on_a_small_screen() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let mut view = View::start(&home, SMALL, &["tui"]);
    view.shows("1 waiting");
    view.type_in("\x1b");
    view.shows("i to write");
    view.type_in("c");
    view.shows("▾ Demo");
    view.type_in("p");
    view.shows("1 of 1 waiting");
    view.type_in("\x1b");
    view.hides("1 of 1 waiting");
    view.type_in("?");
    view.shows("this help");
    view.type_in("\x1b");
    view.hides("this help");
    view.type_in("q");
    view.shows("1 approval waits; q again quits, Esc stays.");
    view.type_in("q");
    view.ends_with(0);
    assert_eq!(home.waiting().len(), 1);
    assert!(!home.file("made").exists());
}

#[test]
fn a_long_text_that_is_typed_at_once_arrives_whole() {
    let home = Home::new();
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("Nothing was said here yet.");
    view.type_in(&"lorem ipsum ".repeat(250));
    view.shows("ipsum");
    // The last of it comes without another key.
    view.type_in(&"and so on ".repeat(150));
    view.type_in("END");
    view.shows("END");
    view.type_in("\x1b");
    view.shows("i write");
    view.type_in("q");
    view.ends_with(0);
}

#[test]
fn a_decision_of_somebody_else_is_seen_at_once() {
    let home = Home::new();
    let id = home.leave_waiting("run touch made").remove(0);
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("1 waiting");
    view.type_in("\t");
    view.shows("1 of 1 waiting");
    home.run(&["approvals", "deny", &id]).succeeded();
    view.shows("shell_cmd touch made: denied by tester");
    view.hides("1 waiting");
    // Not Esc: together with the next key it would be another one.
    view.type_in("\t");
    view.type_in("q");
    view.ends_with(0);
    assert!(!home.file("made").exists());
}

#[test]
fn the_system_ends_it_and_the_terminal_is_as_it_was() {
    let home = Home::new();
    let view = View::start(&home, SMALL, &["tui"]);
    view.shows("Nothing was said here yet.");
    view.signal("TERM");
    view.ends_with(0);
}

#[test]
fn the_work_is_taken_over_when_whoever_did_it_is_gone() {
    let home = Home::new();
    let mut worker = home.start(&["chat"]);
    worker.wait_for("first visit");
    let mut view = View::start(&home, SMALL, &["tui"]);
    view.shows("Nothing was said here yet.");
    view.type_in("hello\r");
    view.shows("ada");
    worker.close();
    worker.wait().succeeded();
    view.type_in("run touch made\r");
    view.shows("1 waiting");
    view.type_in("\t");
    view.shows("1 of 1 waiting");
    view.approve();
    view.shows("ended without any output");
    assert!(home.file("made").exists());
    view.shows("i to write");
    view.type_in("q");
    view.ends_with(0);
}

#[test]
fn a_server_that_comes_back_finds_what_was_written_meanwhile() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let at = address(&server);
    let elsewhere = Home::new();
    let mut view = View::start(&elsewhere, SMALL, &["--server", &format!("http://{at}"), "tui"]);
    view.shows("● connected");
    view.shows("Nothing was said here yet.");
    server.crash();
    view.shows("connection lost, trying again");
    view.type_in("hello\r");
    view.shows("hello  waits for the connection");
    let server = home.start(&["serve", "--listen", &at]);
    address(&server);
    view.shows("● connected");
    view.hides("waits for the connection");
    view.shows("ada");
    view.type_in("\x1b");
    view.shows("i to write");
    view.type_in("q");
    view.ends_with(0);
}

#[test]
fn a_decision_that_could_not_be_delivered_is_named_on_the_terminal() {
    let home = Home::new();
    let id = home.leave_waiting("run touch made").remove(0);
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let at = address(&server);
    let elsewhere = Home::new();
    let mut view = View::start(&elsewhere, LARGE, &["--server", &format!("http://{at}"), "tui"]);
    view.shows("● connected");
    view.type_in("\t");
    view.shows("1 of 1 waiting");
    server.crash();
    view.shows("connection lost, trying again");
    view.approve();
    view.shows("not yet delivered: retrying");
    view.type_in("q");
    view.shows("1 decision not delivered yet.");
    view.type_in("q");
    view.shows(&format!("decision on {id} was not delivered"));
    view.ends_with(1);
    assert_eq!(home.waiting(), [id]);
}

#[test]
fn a_decision_is_delivered_when_the_server_is_back() {
    let home = Home::new();
    home.leave_waiting("run touch made");
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let at = address(&server);
    let elsewhere = Home::new();
    let mut view = View::start(&elsewhere, LARGE, &["--server", &format!("http://{at}"), "tui"]);
    view.shows("● connected");
    view.type_in("\t");
    view.shows("1 of 1 waiting");
    server.crash();
    view.shows("connection lost, trying again");
    view.approve();
    view.shows("not yet delivered: retrying");
    let server = home.start(&["serve", "--listen", &at]);
    address(&server);
    view.shows("Nothing waits for you.");
    view.shows("ended without any output");
    assert!(home.file("made").exists());
    view.type_in("q");
    view.ends_with(0);
}

#[test]
fn a_server_that_comes_back_elsewhere_is_found() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let at = address(&server);
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("● connected");
    server.crash();
    view.shows("connection lost, trying again");
    // The port is taken, so that it is another one.
    let taken = std::net::TcpListener::bind(&at);
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    assert_ne!(at, address(&server));
    drop(taken);
    view.shows("● connected");
    view.type_in("run touch made\r");
    view.shows("1 of 1 waiting");
    view.type_in("/quit\r");
    view.shows("q again quits");
    view.type_in("q");
    view.ends_with(0);
}

#[test]
fn commands_are_obeyed_and_completed() {
    let home = Home::new();
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("Nothing was said here yet.");
    view.type_in("/ren\tThings to do\r");
    view.shows("Demo › Things to do");
    view.type_in("/policy\r");
    view.shows("nothing is permitted for this chat alone");
    view.type_in("q");
    view.hides("nothing is permitted");
    view.type_in("@b\t");
    view.shows("> @bob");
    view.type_in("hello\x15/new\r");
    view.shows("New Chat");
    view.type_in("/quit\r");
    view.ends_with(0);
}

#[test]
fn what_was_stopped_is_told_when_the_chat_is_opened_again() {
    let home = Home::new();
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("Nothing was said here yet.");
    view.type_in("run sleep 100\r");
    view.shows("1 of 1 waiting");
    view.type_in("/stop\r");
    view.shows("tester stopped all work in this chat");
    view.type_in("/quit\r");
    view.ends_with(0);
    let mut view = View::start(&home, LARGE, &["tui"]);
    view.shows("tester stopped all work in this chat");
    view.type_in("/quit\r");
    view.ends_with(0);
}

#[test]
fn without_a_terminal_it_says_what_to_use() {
    let home = Home::new();
    home.run(&["tui"]).with_code(2).warns("`agent-world tui` needs a terminal");
}
