//! A data folder that is gone after the test, and the program started on it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Far longer than anything here takes; reached only when something is broken.
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Home {
    folder: TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// A command that is still running.
pub struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
    out: Arc<Mutex<String>>,
    err: Arc<Mutex<String>>,
}

impl Home {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn database(&self) -> PathBuf {
        self.path().join("agent-world.db")
    }

    /// A file in the folder the demo world's tools work in.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path().join("workspace/demo").join(name)
    }

    pub fn lines_of(&self, name: &str) -> usize {
        std::fs::read_to_string(self.file(name)).map_or(0, |text| text.lines().count())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_agent-world"), arguments)
    }

    fn command_of(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("AGENT_WORLD_DATA", self.path())
            .env("USER", "tester")
            .env_remove("AGENT_WORLD_URL")
            .env_remove("AGENT_WORLD_TOKEN")
            .env_remove("AGENT_WORLD_LOG")
            .env_remove("AGENT_WORLD_LOG_FORMAT")
            .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::spawn(&mut self.command(arguments))
    }

    /// Starts a command with these variables.
    pub fn start_where(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Running {
        Running::spawn(self.command(arguments).envs(variables.iter().copied()))
    }

    /// Starts a command of the shell at a terminal of its own. What it writes comes as standard output.
    pub fn start_terminal(&self, variables: &[(&str, &str)], command: &str) -> Running {
        let mut script = self.command_of("script", &["-qefc", command, "/dev/null"]);
        Running::spawn(script.envs(variables.iter().copied()))
    }

    /// Runs a command to its end, with this on its standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str) -> Ended {
        let mut running = self.start(arguments);
        running.write(input);
        running.close();
        running.wait()
    }

    /// Runs a command with these variables; an empty one is as good as none.
    pub fn run_where(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
        let mut command = self.command(arguments);
        Running::spawn(command.envs(variables.iter().copied())).with_no_input()
    }

    /// Runs a script of the shell, in which the program is found by its name.
    pub fn run_script(&self, script: &str, folder: &Path) -> Ended {
        let program = Path::new(env!("CARGO_BIN_EXE_agent-world"));
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = self.command_of("sh", &["-eu", "-c", script]);
        let path = format!("{}:{path}", program.parent().unwrap().display());
        Running::spawn(command.current_dir(folder).env("PATH", path)).with_no_input()
    }

    /// Writes a file beside the data folder.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with(arguments, "")
    }

    /// Holds a conversation of these lines.
    pub fn chat(&self, lines: &[&str]) -> Ended {
        self.run_with(&["chat"], &(lines.join("\n") + "\n"))
    }

    /// The ids of what waits, oldest first.
    pub fn waiting(&self) -> Vec<String> {
        let listed = self.run(&["approvals", "list", "--json"]).succeeded();
        listed.json().iter().map(|approval| approval["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Asks for commands and leaves their requests waiting.
    pub fn leave_waiting(&self, message: &str) -> Vec<String> {
        self.run(&["send", "--approve", "wait", message]).with_code(3);
        self.waiting()
    }
}

impl Ended {
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    #[track_caller]
    pub fn succeeded(self) -> Self {
        self.with_code(0)
    }

    #[track_caller]
    pub fn says(self, expected: &str) -> Self {
        assert!(self.out.contains(expected), "{expected:?} is not in stdout of {self:#?}");
        self
    }

    #[track_caller]
    pub fn says_nothing(self) -> Self {
        assert_eq!(self.out, "", "{self:#?}");
        self
    }

    #[track_caller]
    pub fn warns(self, expected: &str) -> Self {
        assert!(self.err.contains(expected), "{expected:?} is not in stderr of {self:#?}");
        self
    }

    #[track_caller]
    pub fn does_not_say(self, unexpected: &str) -> Self {
        assert!(!self.out.contains(unexpected), "{unexpected:?} is in stdout of {self:#?}");
        self
    }

    /// Standard output as one JSON value for each line.
    #[track_caller]
    pub fn json(&self) -> Vec<Value> {
        let read = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("{error} in {line:?} of {self:#?}"),
        };
        self.out.lines().map(read).collect()
    }
}

impl Running {
    fn spawn(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        Self {
            stdin: child.stdin.take(),
            out: collect(child.stdout.take().unwrap()),
            err: collect(child.stderr.take().unwrap()),
            child,
        }
    }

    fn with_no_input(mut self) -> Ended {
        self.close();
        self.wait()
    }

    pub fn write(&mut self, text: &str) {
        self.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub fn close(&mut self) {
        self.stdin = None;
    }

    #[track_caller]
    pub fn wait_for(&self, expected: &str) {
        until(&format!("{expected:?} in {:?}", self.out), || self.out().contains(expected));
    }

    #[track_caller]
    pub fn wait_for_warning(&self, expected: &str) {
        until(&format!("{expected:?} in {:?}", self.err), || {
            self.err.lock().unwrap().contains(expected)
        });
    }

    pub fn out(&self) -> String {
        self.out.lock().unwrap().clone()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it as a crash would.
    pub fn crash(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    #[track_caller]
    pub fn wait(mut self) -> Ended {
        let mut status = None;
        until(&format!("the end of a command that said {:?} {:?}", self.out, self.err), || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        // What the program started may outlive it and hold its output open; what is there is enough.
        let start = Instant::now();
        let held = |text: &Arc<Mutex<String>>| Arc::strong_count(text) > 1;
        while (held(&self.out) || held(&self.err)) && start.elapsed() < Duration::from_secs(5) {
            thread::sleep(Duration::from_millis(2));
        }
        Ended {
            code: status.unwrap().code().unwrap_or(-1),
            out: self.out(),
            err: self.err.lock().unwrap().clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed must leave nothing behind; one that has ended is not there any more.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Asks again and again until something is so.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < DEADLINE, "waited in vain for {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn collect(mut source: impl std::io::Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let collected = Arc::clone(&text);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = source.read(&mut buffer) {
            collected.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    });
    text
}
