//! What every case needs: a world with one server, somebody to answer questions, somebody who watches.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_world_core::Timestamp;
use agent_world_core::config::{McpServer, World};
use agent_world_core::event::Output;
use agent_world_core::ids::{AgentId, CallId, ChatId, WorldId};
use agent_world_tools::mcp::{Options, ServerHealth, Servers, State};
use agent_world_tools::person::{Answer, Person, Question};
use agent_world_tools::watcher::{Channel, Watcher};
use agent_world_tools::{Failure, Invocation, Source, Tool};
use async_trait::async_trait;
use serde_json::{Value, json};

const VARIABLE: &str = "AGENT_WORLD_MCP_SERVERS";
/// Longer than anything takes on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Where the real servers are, if they are.
pub fn installed(case: &str) -> Option<PathBuf> {
    let Some(folder) = std::env::var_os(VARIABLE) else {
        println!("skipped 1 case, {case}: {VARIABLE} is not set; `cargo xtask test` sets it");
        return None;
    };
    let folder = PathBuf::from(folder);
    assert!(folder.is_dir(), "{VARIABLE} names no folder: {}", folder.display());
    Some(folder)
}

/// A server that was installed with npm.
pub fn of_npm(folder: &std::path::Path, name: &str, args: &[&str]) -> Value {
    let script = folder.join(format!("node_modules/@modelcontextprotocol/{name}/dist/index.js"));
    assert!(script.is_file(), "{} is not installed", script.display());
    let args: Vec<String> = [script.display().to_string()]
        .into_iter()
        .chain(args.iter().map(|one| (*one).to_owned()))
        .collect();
    json!({"command": "node", "args": args})
}

/// A server that was installed with pip.
pub fn of_pip(folder: &std::path::Path, name: &str, args: &[&str]) -> Value {
    let program = folder.join("venv/bin").join(name);
    assert!(program.is_file(), "{} is not installed", program.display());
    json!({"command": program, "args": args})
}

/// One world with servers.
pub struct Stage {
    pub servers: Servers,
    pub world: World,
}

pub fn options() -> Options {
    Options { first_delay: Duration::from_millis(50), ..Options::default() }
}

impl Stage {
    pub fn new(settings: &[(&str, Value)]) -> Self {
        Self::with(options(), settings)
    }

    pub fn with(options: Options, settings: &[(&str, Value)]) -> Self {
        let mut world = World::new(WorldId::from("w"), "w", Timestamp::UNIX_EPOCH);
        for (name, settings) in settings {
            let server: McpServer = serde_json::from_value(settings.clone()).unwrap();
            world.mcp_servers.insert((*name).to_owned(), server);
        }
        Self { servers: Servers::new(options), world }
    }

    /// Starts the servers and waits until their tools are known.
    pub async fn ready(self) -> Self {
        tokio::time::timeout(PATIENCE, self.servers.ready(&self.world)).await.unwrap();
        for health in self.health() {
            assert!(matches!(health.state, State::Ready(_)), "{health:?}");
        }
        self
    }

    pub fn health(&self) -> Vec<ServerHealth> {
        self.servers.health(&self.world.id)
    }

    pub fn only(&self) -> ServerHealth {
        self.health().pop().unwrap()
    }

    pub fn names(&self) -> Vec<String> {
        self.servers.tools(&self.world).specs().iter().map(|spec| spec.name.clone()).collect()
    }

    pub fn tool(&self, name: &str) -> Arc<dyn Tool> {
        let registry = self.servers.tools(&self.world);
        registry.get(name).unwrap_or_else(|| panic!("no {name} among {:?}", self.names()))
    }

    pub async fn call(&self, name: &str, arguments: Value) -> Result<Output, Failure> {
        self.run(name, invocation(arguments)).await
    }

    pub async fn run(&self, name: &str, invocation: Invocation) -> Result<Output, Failure> {
        tokio::time::timeout(PATIENCE, self.tool(name).run(invocation)).await.unwrap()
    }

    /// Returns once the only server's health is as wanted.
    pub async fn until(&self, wanted: impl Fn(&ServerHealth) -> bool) -> ServerHealth {
        let start = Instant::now();
        loop {
            let health = self.only();
            if wanted(&health) {
                return health;
            }
            assert!(start.elapsed() < PATIENCE, "{health:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

pub fn is_ready(health: &ServerHealth) -> bool {
    matches!(health.state, State::Ready(_))
}

pub fn is_failed(health: &ServerHealth) -> bool {
    matches!(health.state, State::Failed { .. })
}

pub fn invocation(arguments: Value) -> Invocation {
    Invocation::new(
        CallId::from("call"),
        WorldId::from("w"),
        ChatId::from("chat"),
        AgentId::from("ada"),
        arguments,
    )
}

/// The text of a failure.
pub fn words(result: Result<Output, Failure>) -> String {
    result.expect_err("it must fail").into_output().text
}

/// Gives the same answer to everything, and remembers what was asked.
#[derive(Debug)]
pub struct Answering {
    answer: Answer,
    pub asked: Mutex<Vec<Question>>,
}

impl Answering {
    pub fn new(answer: Answer) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }
}

#[async_trait]
impl Person for Answering {
    async fn ask(&self, question: Question) -> Answer {
        self.asked.lock().unwrap().push(question);
        self.answer.clone()
    }
}

/// Remembers what was shown, and tells when it was.
#[derive(Debug, Default)]
pub struct Recording {
    pub seen: Mutex<Vec<String>>,
    pub something: tokio::sync::Notify,
}

impl Watcher for Recording {
    fn wrote(&self, channel: Channel, text: &str) {
        assert_eq!(channel, Channel::Progress);
        self.seen.lock().unwrap().push(text.to_owned());
        self.something.notify_one();
    }
}

/// The processes whose command line holds some words.
pub fn processes(words: &str) -> Vec<i32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        if String::from_utf8_lossy(&line).contains(words) {
            found.push(pid);
        }
    }
    found
}

pub fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

pub async fn until_gone(words: &str) {
    let start = Instant::now();
    while !processes(words).is_empty() {
        assert!(start.elapsed() < PATIENCE, "{words} is still running");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A word that no other process has on its command line.
pub fn marker(name: &str) -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}
