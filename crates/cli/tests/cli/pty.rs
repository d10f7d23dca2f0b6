//! The program on a terminal of its own: keys go in, and what a person would see is read off the screen.

use std::io::{Read as _, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use crate::home::{Home, until};

/// Far longer than anything here takes; reached only when something is broken.
const DEADLINE: Duration = Duration::from_secs(60);
const SCROLLBACK: usize = 5_000;

/// What a terminal asks back: the place of its cursor.
const WHERE: &[u8] = b"\x1b[6n";

pub struct Pty {
    child: Box<dyn Child + Send + Sync>,
    master: Box<dyn MasterPty + Send>,
    writer: Arc<Mutex<Box<dyn Write + Send>>>,
    parser: Arc<Mutex<vt100::Parser>>,
    reader: thread::JoinHandle<()>,
    /// Everything that was written, as it came.
    raw: Arc<Mutex<Vec<u8>>>,
}

impl Pty {
    /// Starts the program on a terminal of this size.
    pub fn start(home: &Home, arguments: &[&str], columns: u16, rows: u16) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_agent-world"));
        command.args(arguments);
        command.env("AGENT_WORLD_DATA", home.path());
        command.env("USER", "tester");
        command.env("TERM", "xterm-256color");
        for name in ["AGENT_WORLD_LOG", "AGENT_WORLD_URL", "AGENT_WORLD_TOKEN", "NO_COLOR"] {
            command.env_remove(name);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        drop(pair.slave);
        let writer = Arc::new(Mutex::new(pair.master.take_writer().unwrap()));
        let parser = vt100::Parser::new(nonzero(rows), nonzero(columns), SCROLLBACK);
        let parser = Arc::new(Mutex::new(parser));
        let raw = Arc::new(Mutex::new(Vec::new()));
        let mut output = pair.master.try_clone_reader().unwrap();
        let (screen, answers, kept) = (Arc::clone(&parser), Arc::clone(&writer), Arc::clone(&raw));
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                let bytes = &buffer[..length];
                let mut screen = screen.lock().unwrap();
                screen.process(bytes);
                kept.lock().unwrap().extend_from_slice(bytes);
                if bytes.windows(WHERE.len()).any(|window| window == WHERE) {
                    let (row, column) = screen.screen().cursor_position();
                    let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                    answers.lock().unwrap().write_all(answer.as_bytes()).ok();
                }
            }
        });
        Self { child, master: pair.master, writer, parser, reader, raw }
    }

    /// Presses keys, as the bytes a terminal sends for them.
    pub fn keys(&self, keys: &str) {
        let mut writer = self.writer.lock().unwrap();
        writer.write_all(keys.as_bytes()).unwrap();
        writer.flush().unwrap();
    }

    /// What is on the screen now.
    pub fn screen(&self) -> String {
        self.parser.lock().unwrap().screen().contents()
    }

    /// What is on the screen and what scrolled off it, from the first line on.
    pub fn everything(&self) -> String {
        let mut parser = self.parser.lock().unwrap();
        let screen = parser.screen_mut();
        let rows = usize::from(screen.size().0.get());
        screen.set_scrollback(usize::MAX);
        let mut text = Vec::new();
        let mut above = screen.scrollback();
        while above > 0 {
            screen.set_scrollback(above);
            let lines: Vec<String> = screen.rows(0, u16::MAX).take(above.min(rows)).collect();
            text.extend(lines);
            above = above.saturating_sub(rows);
        }
        screen.set_scrollback(0);
        text.push(screen.contents());
        text.join("\n")
    }

    #[track_caller]
    pub fn wait_for(&self, expected: &str) {
        self.wait_until(expected, |screen| screen.contains(expected));
    }

    #[track_caller]
    pub fn wait_until(&self, what: &str, is_so: impl Fn(&str) -> bool) {
        let start = Instant::now();
        while !is_so(&self.screen()) {
            let late = start.elapsed() > DEADLINE;
            assert!(
                !late,
                "waited in vain for {what:?} on\n{}\n{}",
                self.screen(),
                self.everything()
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until something was written, however long ago it scrolled off.
    #[track_caller]
    pub fn wait_for_line(&self, expected: &str) {
        let start = Instant::now();
        while !self.everything().contains(expected) {
            let late = start.elapsed() > DEADLINE;
            assert!(!late, "waited in vain for {expected:?} in\n{}", self.everything());
            thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let mut parser = self.parser.lock().unwrap();
        parser.screen_mut().set_size(nonzero(rows), nonzero(columns));
        // Real terminals scroll the whole screen after a change of size; this one has to be told.
        parser.process(b"\x1b[r");
        self.master.resize(size).unwrap();
    }

    pub fn id(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Whether the terminal was given back as it was: the cursor to be seen, pasting as usual, lines edited by the system.
    #[track_caller]
    pub fn is_restored(&self) {
        let parser = self.parser.lock().unwrap();
        assert!(!parser.screen().hide_cursor(), "the cursor is hidden");
        assert!(!parser.screen().bracketed_paste(), "pastes are still bracketed");
        let raw = self.raw.lock().unwrap();
        let count = |code: &[u8]| raw.windows(code.len()).filter(|window| *window == code).count();
        assert!(count(b"\x1b[<1u") >= count(b"\x1b[>1u"), "keys are still told in another way");
    }

    #[track_caller]
    pub fn ends(&mut self, code: u32) {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                // What it wrote last is read after it has ended.
                until("the end of the output", || self.reader.is_finished());
                assert_eq!(status.exit_code(), code, "{}", self.everything());
                return;
            }
            assert!(start.elapsed() < DEADLINE, "it does not end\n{}", self.everything());
            thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        // A test that failed must leave nothing behind; one that has ended is not there any more.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn nonzero(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}
