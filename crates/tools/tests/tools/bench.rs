//! A world with a working directory, a launcher and nothing else, and questions about processes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_world_core::arguments::validate;
use agent_world_core::config::{Sandbox, SandboxMode};
use agent_world_core::event::Output;
use agent_world_tools::launcher::{Bubblewrap, Launcher};
use agent_world_tools::shell::ShellCmd;
use agent_world_tools::watcher::{Channel, Watcher};
use agent_world_tools::{Failure, Invocation, Tool as _};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub const LAUNCHER: &str = env!("CARGO_BIN_EXE_agent-world-launcher");

pub struct Bench {
    pub tool: ShellCmd,
    /// The working directory is one of its folders.
    pub place: TempDir,
    pub sandbox: Sandbox,
    pub cancelled: CancellationToken,
    pub seen: Arc<Seen>,
}

/// Every piece of output that was passed on.
#[derive(Debug, Default)]
pub struct Seen(pub Mutex<Vec<(Channel, String)>>);

impl Watcher for Seen {
    fn wrote(&self, channel: Channel, text: &str) {
        self.0.lock().unwrap().push((channel, text.to_owned()));
    }
}

impl Bench {
    /// Without namespaces, so that what the kernel's other means hold back is seen.
    pub fn new() -> Self {
        Self::with(Bubblewrap::Never)
    }

    pub fn with(bubblewrap: Bubblewrap) -> Self {
        let place = TempDir::new().unwrap();
        for folder in ["work", "beside", "records"] {
            fs::create_dir(place.path().join(folder)).unwrap();
        }
        let tool = ShellCmd::new()
            .launched_by(Launcher::at(LAUNCHER).bubblewrap(bubblewrap))
            .recording_in(place.path().join("records"));
        let sandbox = Sandbox::default();
        Self { tool, place, sandbox, cancelled: CancellationToken::new(), seen: Arc::default() }
    }

    /// The same with everything that this system has, and with only the kernel's own means.
    pub fn both() -> [Self; 2] {
        [Self::new(), Self::with(Bubblewrap::WhereItWorks)]
    }

    pub fn set(mut self, change: impl FnOnce(&mut Sandbox)) -> Self {
        change(&mut self.sandbox);
        self
    }

    pub fn work(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("work")
    }

    pub fn beside(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("beside")
    }

    pub fn invocation(&self, arguments: Value) -> Invocation {
        static CALLS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let number = CALLS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let call = format!("call_{}_{number}", std::process::id());
        let ids = (call.as_str().into(), "world".into(), "chat_1".into(), "ada".into());
        let arguments = validate(arguments, &self.tool.spec().parameters).unwrap();
        Invocation {
            working_directory: Some(self.work()),
            sandbox: self.sandbox.clone(),
            cancelled: self.cancelled.clone(),
            watcher: self.seen.clone(),
            ..Invocation::new(ids.0, ids.1, ids.2, ids.3, arguments)
        }
    }

    pub async fn run(&self, arguments: Value) -> Result<Output, Failure> {
        self.tool.run(self.invocation(arguments)).await
    }

    pub async fn script(&self, script: &str) -> Result<Output, Failure> {
        self.run(json!({"script": script})).await
    }

    pub fn start(&self, arguments: Value) -> JoinHandle<Result<Output, Failure>> {
        let (tool, invocation) = (self.tool.clone(), self.invocation(arguments));
        tokio::spawn(async move { tool.run(invocation).await })
    }

    /// The script must fail with these words under the sandbox, and work without.
    pub async fn only_without_sandbox(self, script: &str, words: &[&str]) {
        let output = failed(self.script(script).await);
        assert!(words.iter().any(|words| output.text.contains(words)), "{script}: {output:?}");
        assert_eq!(output.details["sandbox"]["landlock"].as_u64().map(|abi| abi > 0), Some(true));
        let free = self.set(|sandbox| sandbox.mode = SandboxMode::Off);
        let output = free.script(script).await;
        assert!(output.is_ok(), "{script}: {output:?}");
    }

    /// The number that a process has written to a file.
    pub async fn written_id(&self, name: &str) -> u32 {
        let path = self.work().join(name);
        let read = || fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until(|| read().is_some()).await;
        read().unwrap().trim().parse().unwrap()
    }

    pub fn records(&self) -> usize {
        fs::read_dir(self.place.path().join("records")).unwrap().count()
    }
}

pub fn failed(result: Result<Output, Failure>) -> Output {
    match result.expect_err("it should have failed") {
        Failure::Failed(output) => output,
        Failure::TimedOut(output) => panic!("timed out: {output:?}"),
    }
}

pub async fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "it did not come to pass");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Processes that have the given text in their command line, by number.
pub fn running(text: &str) -> Vec<u32> {
    let has = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
    };
    everybody().filter(has).filter(|id| runs(*id)).collect()
}

pub fn everybody() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// One that only waits to be reaped does not run.
pub fn runs(id: u32) -> bool {
    !matches!(state(id), None | Some('Z' | 'X'))
}

pub fn state(id: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

pub fn parent(id: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// A number of seconds nobody else sleeps for, so that a sleeping process can be found.
pub fn nap() -> String {
    static NAPS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NAPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("1{:07}{number:02}", std::process::id())
}

pub fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}
