//! One life of the program: what it is asked to do, when it is killed, and how it is brought back until all is done.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Starts after which a life must be at rest.
const RETURNS: u32 = 12;

#[derive(Clone, Copy, Debug)]
pub enum Scene {
    /// One process posts, approves and runs.
    ApprovedAtOnce,
    /// A process posts and leaves; decisions are recorded while nothing runs; another takes them up.
    ApprovedWhileNothingRuns,
}

#[derive(Clone, Copy, Debug)]
pub enum Kill {
    At { place: &'static str, pass: u64 },
    After(Duration),
}

/// The working directory of the demo world.
const PLACE: &str = "data/workspace/demo";

pub struct Life {
    scene: Scene,
    folder: tempfile::TempDir,
    pub tokens: Vec<String>,
    /// The message, once the program has said that it is stored.
    pub accepted: Option<String>,
    pub deaths: u64,
}

impl Life {
    pub fn new(scene: Scene, run: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The ledger is synced before the script ends: what it holds has really happened.
        let script = "printf '%s\\n' \"$2\" >> \"$1\" && sync \"$1\"\n";
        // Where commands of the demo world can write: everywhere else the sandbox stops them.
        let place = folder.path().join(PLACE);
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("ledger.sh"), script).unwrap();
        fs::write(place.join("ledger"), "").unwrap();
        let tokens = ["a", "b", "c"].iter().map(|call| format!("run{run}-{call}")).collect();
        Self { scene, folder, tokens, accepted: None, deaths: 0 }
    }

    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn ledger(&self) -> String {
        fs::read_to_string(self.folder.path().join(PLACE).join("ledger")).unwrap()
    }

    /// Everything the person wants, with one death on the way, until nothing is left to do.
    pub fn live(&mut self, kill: Kill) {
        let message = self.message();
        let approve = match self.scene {
            Scene::ApprovedAtOnce => "all",
            Scene::ApprovedWhileNothingRuns => "wait",
        };
        let send = ["send", "-w", "demo", "--json", "--approve", approve, message.as_str()];
        let sent = self.run_and_kill(&send, kill);
        self.accepted = stored_message(&sent.stdout, &message);
        let mut mortal = matches!(self.scene, Scene::ApprovedWhileNothingRuns);
        for _ in 0..RETURNS {
            let decided = self.decide_all(kill, mortal);
            let resumed = if mortal {
                self.run_and_kill(&["resume"], kill)
            } else {
                self.must_run(&["resume"])
            };
            if decided == 0 && !mortal && resumed.stdout.is_empty() {
                return;
            }
            mortal = false;
        }
        panic!("not at rest after {RETURNS} starts");
    }

    /// How long a life takes that nobody cuts short.
    pub fn span(&self) -> Duration {
        let message = self.message();
        let began = Instant::now();
        self.must_run(&["send", "-w", "demo", "--approve", "all", message.as_str()]);
        began.elapsed()
    }

    fn message(&self) -> String {
        let path = |name: &str| self.folder.path().join(PLACE).join(name).display().to_string();
        let runs: Vec<String> = self
            .tokens
            .iter()
            .map(|token| format!("run sh {} {} {token}", path("ledger.sh"), path("ledger")))
            .collect();
        format!("@ada {}", runs.join("\n"))
    }

    /// Approves what waits, last one first. The program that records the first decision may be killed too.
    fn decide_all(&mut self, kill: Kill, mortal: bool) -> usize {
        let mut waiting = self.waiting();
        waiting.reverse();
        for (index, approval) in waiting.iter().enumerate() {
            let approve = ["approvals", "approve", approval];
            if mortal && index == 0 {
                self.run_and_kill(&approve, kill);
            } else {
                self.must_run(&approve);
            }
        }
        waiting.len()
    }

    fn waiting(&self) -> Vec<String> {
        let listed = self.must_run(&["approvals", "list", "--json"]);
        let text = String::from_utf8(listed.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|approval| approval["id"].as_str().unwrap().to_owned())
            .collect()
    }

    fn must_run(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }

    fn run_and_kill(&mut self, arguments: &[&str], kill: Kill) -> Output {
        let mut command = self.command(arguments);
        let output = match kill {
            Kill::At { place, pass } => {
                command.env("AGENT_WORLD_KILL_AT", format!("{place}:{pass}"));
                command.spawn().unwrap().wait_with_output().unwrap()
            }
            Kill::After(moment) => {
                let mut child: Child = command.spawn().unwrap();
                std::thread::sleep(moment);
                // It may have ended by itself.
                child.kill().ok();
                child.wait_with_output().unwrap()
            }
        };
        use std::os::unix::process::ExitStatusExt;
        if output.status.signal() == Some(9) {
            self.deaths += 1;
        }
        output
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agent-world"));
        command
            .args(arguments)
            .env("AGENT_WORLD_DATA", self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// The id of the message, if the program lived to say that it is stored.
fn stored_message(stdout: &[u8], message: &str) -> Option<String> {
    String::from_utf8_lossy(stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|said| said["content"] == message || said["text"] == message)
        .and_then(|said| said["id"].as_str().map(str::to_owned))
}
