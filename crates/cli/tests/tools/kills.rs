//! The real program is ended while five commands of different shapes run. However it goes, nothing is left running, and
//! the next start says honestly what became of each.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use agent_world_core::config::SandboxMode;
use agent_world_core::ids::WorldId;
use agent_world_runtime::Engine;
use agent_world_store::sqlite::Role;
use agent_world_store::{Sqlite, Store, verify};
use rustix::process::Signal;
use serde_json::json;
use tempfile::TempDir;

use crate::processes::{children, nap, running, signal, sleeping, until};
use crate::stage::PROGRAM;

/// How many processes sleep when all five commands run.
const SLEEPERS: usize = 7;

/// The program at work on five commands.
struct Server {
    folder: TempDir,
    child: Child,
    nap: String,
}

impl Server {
    async fn start(mode: SandboxMode) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let nap = nap();
        program(&folder, &["send", "hello"]).output().unwrap();
        confine(&folder, mode).await;
        let child = program(&folder, &["send", "-w", "demo", "--approve", "all", &five(&nap)])
            .spawn()
            .unwrap();
        let server = Self { folder, child, nap };
        until(|| sleeping(&server.nap).len() == SLEEPERS);
        server
    }

    /// Every launcher that the program started itself.
    fn launchers(&self) -> Vec<u32> {
        let launching = running("__launch");
        children(self.child.id()).into_iter().filter(|id| launching.contains(id)).collect()
    }

    fn end(&mut self, how: Signal) -> Option<i32> {
        signal(self.child.id(), how);
        self.child.wait().unwrap().signal()
    }

    /// Starts the program again, to settle what was under way.
    fn resume(&self) {
        let resumed = program(&self.folder, &["resume"]).output().unwrap();
        let said = String::from_utf8_lossy(&resumed.stderr);
        assert!(resumed.status.success(), "{said}");
    }

    /// What became of the five, after the next start.
    async fn outcomes(&self) -> Vec<(&'static str, String)> {
        let store = Sqlite::open(database(&self.folder), Role::Visitor).unwrap();
        let world = WorldId::new("demo");
        let chats = store.chats(&world, None, 10).await.unwrap();
        let mut outcomes = Vec::new();
        for chat in &chats {
            verify::verify(&store, &chat.id).await.unwrap();
            for call in store.calls(&chat.id, None, 100).await.unwrap() {
                assert_eq!(call.attempt, 1, "nothing runs twice");
                outcomes.push((call.state.name(), call.output.unwrap().text));
            }
        }
        outcomes
    }

    fn records(&self) -> usize {
        fs::read_dir(self.folder.path().join("data/running")).unwrap().count()
    }

    async fn all_were_interrupted(&self) {
        assert_eq!(sleeping(&self.nap), [0; 0], "the next start runs nothing again");
        assert_eq!(self.records(), 0);
        let outcomes = self.outcomes().await;
        assert_eq!(outcomes.len(), 5);
        for (state, text) in outcomes {
            assert_eq!(state, "interrupted", "{text}");
            assert!(text.contains("may or may not have taken effect"), "{text}");
        }
    }
}

impl Drop for Server {
    /// Nothing outlives a test that fails in the middle.
    fn drop(&mut self) {
        self.child.kill().ok();
        sleeping(&self.nap).into_iter().for_each(|id| signal(id, Signal::KILL));
    }
}

/// Alone, with a child in a session of its own, abandoned twice, in the background, in a pipeline.
fn five(nap: &str) -> String {
    let calls = [
        json!({"command": "sleep", "parameters": [nap]}),
        json!({"script": format!("setsid sleep {nap} & sleep {nap}")}),
        json!({"script": format!("(setsid sh -c 'sleep {nap} &' &); sleep {nap}")}),
        json!({"command": "sleep", "parameters": [nap], "blocking": false}),
        json!({"script": format!("sleep {nap} | cat | cat")}),
    ];
    let lines: Vec<String> = calls.iter().map(|call| format!("call shell_cmd {call}")).collect();
    format!("@ada {}", lines.join("\n"))
}

fn program(folder: &TempDir, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(arguments)
        .env("AGENT_WORLD_DATA", folder.path().join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    command
}

fn database(folder: &TempDir) -> PathBuf {
    folder.path().join("data/agent-world.db")
}

/// As a person would set it.
async fn confine(folder: &TempDir, mode: SandboxMode) {
    let store = Sqlite::open(database(folder), Role::Worker).unwrap();
    let engine = Engine::builder(Arc::new(store)).start().unwrap();
    let mut world = (*engine.world(&WorldId::new("demo")).await.unwrap()).clone();
    world.sandbox.mode = mode;
    engine.update_world(world, "eve").await.unwrap();
    engine.shutdown().await;
}

#[tokio::test]
async fn told_to_end_the_program_leaves_nothing_and_says_what_was_interrupted() {
    for mode in [SandboxMode::On, SandboxMode::Off] {
        let mut server = Server::start(mode).await;
        assert_eq!(server.end(Signal::TERM), None, "it ends by itself");
        // On a busy machine its launchers may take a little longer than it waits for them.
        until(|| sleeping(&server.nap).is_empty());
        until(|| server.records() == 0);
        server.resume();
        server.all_were_interrupted().await;
    }
}

#[tokio::test]
async fn killed_the_program_leaves_nothing_and_says_what_was_interrupted() {
    for mode in [SandboxMode::On, SandboxMode::Off] {
        let mut server = Server::start(mode).await;
        assert_eq!(server.end(Signal::KILL), Some(9));
        until(|| sleeping(&server.nap).is_empty());
        until(|| server.records() == 0);
        server.resume();
        server.all_were_interrupted().await;
    }
}

#[tokio::test]
async fn killed_together_with_its_launchers_it_leaves_what_the_next_start_ends() {
    for mode in [SandboxMode::On, SandboxMode::Off] {
        let mut server = Server::start(mode).await;
        let launchers = server.launchers();
        assert_eq!(launchers.len(), 5);
        // Stopped, a launcher cannot notice that the program has gone.
        launchers.iter().for_each(|launcher| signal(*launcher, Signal::STOP));
        assert_eq!(server.end(Signal::KILL), Some(9));
        launchers.iter().for_each(|launcher| signal(*launcher, Signal::KILL));
        if mode == SandboxMode::Off {
            // Without namespaces, which end with their launcher, nobody is there to end these.
            until(|| launchers.iter().all(|launcher| children(*launcher).is_empty()));
            assert_eq!(sleeping(&server.nap).len(), SLEEPERS);
            assert_eq!(server.records(), 5);
        }
        server.resume();
        server.all_were_interrupted().await;
    }
}
