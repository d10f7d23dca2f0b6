//! Proves that the simulation would notice: plants bugs in a copy of the workspace and expects it to fail with each.
//! Called by `suite`. Never changes the workspace itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::installed::{root, target};
use crate::report::Outcome;

/// A safeguard, and the code in which it can be taken away: where `PLANTED` stands, it is asked whether it is.
pub struct Bug {
    pub name: &'static str,
    file: &'static str,
    with: &'static str,
    without: &'static str,
}

/// Names the bug that a run has.
const VARIABLE: &str = "AGENT_WORLD_PLANTED";
/// Where the copy's crates are, seen from its root. Not where the original's are: cargo tells crates of one target folder
/// apart by this, and must never take the one for the other.
const CRATES: &str = "planted/crates";

pub const BUGS: &[Bug] = &[
    Bug {
        name: "a tool runs before its start is durable",
        file: "runtime/src/chat_task.rs",
        with: "        let Some(started) = self.must_record(command).await else { return };\n",
        without: "        if PLANTED {\n\
                  \x20           let early = match &command {\n\
                  \x20               Command::StartTool { call, .. } => self.ledger.chat.calls.get(call).cloned(),\n\
                  \x20               _ => None,\n\
                  \x20           };\n\
                  \x20           let Some(early) = early else { return };\n\
                  \x20           let mut early = agent_world_core::chat::Call::clone(&early);\n\
                  \x20           early.attempt += 1;\n\
                  \x20           let (stop, reach) = (CancellationToken::new(), self.reach.clone());\n\
                  \x20           let (chat, early) = (&self.ledger.chat, Arc::new(early));\n\
                  \x20           let run =\n\
                  \x20               tool::run(&self.shared, &world, chat, &early, Default::default(), reach, stop);\n\
                  \x20           let ended = tokio::spawn(run);\n\
                  \x20           tokio::task::yield_now().await;\n\
                  \x20           if self.must_record(command).await.is_some()\n\
                  \x20               && let Ok(command) = ended.await\n\
                  \x20           {\n\
                  \x20               self.must_record(command).await;\n\
                  \x20           }\n\
                  \x20           return;\n\
                  \x20       }\n\
                  \x20       let Some(started) = self.must_record(command).await else { return };\n",
    },
    Bug {
        name: "a decided request can be decided again",
        file: "core/src/apply.rs",
        with: "chat.approvals.remove(&decided.approval)",
        without: "(if PLANTED {\n\
                  \x20           chat.approvals.get(&decided.approval).cloned()\n\
                  \x20       } else {\n\
                  \x20           chat.approvals.remove(&decided.approval)\n\
                  \x20       })",
    },
    Bug {
        name: "the store takes events behind a head that has moved on",
        file: "store/src/memory/data.rs",
        with: "head != append.expected && !self.sabotage.skip_head_check",
        without: "head != append.expected && !self.sabotage.skip_head_check && !PLANTED",
    },
];

/// Builds the simulation with all bugs in it, each asleep until it is named.
pub fn plant() -> Result<Outcome, String> {
    copy_workspace()?;
    for bug in BUGS {
        bug.plant()?;
    }
    let status = simulation("--no-run").status().map_err(|error| error.to_string())?;
    match status.success() {
        true => Ok(Outcome::Passed),
        false => {
            Err("the workspace with the bugs does not compile; name them anew in xtask".into())
        }
    }
}

/// Runs the simulation with this bug. Passes when the simulation fails.
pub fn is_noticed(bug: &Bug) -> Result<Outcome, String> {
    let run = simulation("").env(VARIABLE, bug.name).output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&run.stdout).into_owned();
    if run.status.success() {
        return Err(format!("`{}` was not noticed", bug.name));
    }
    match printed.lines().skip_while(|line| !line.starts_with("Plan {")).nth(1) {
        Some(broken) => {
            println!("noticed: {broken}");
            Ok(Outcome::Passed)
        }
        None => Err(format!("`{}` ended otherwise than by a broken promise:\n{printed}", bug.name)),
    }
}

/// In the folder of all other builds: what is not ours is compiled already.
fn simulation(more: &str) -> Command {
    let mut command =
        cargo::command(&format!("{} --test simulation {more}", crate::suite::PROVING));
    command.current_dir(copy()).env("CARGO_TARGET_DIR", target());
    command
}

fn copy() -> PathBuf {
    target().join("planted")
}

impl Bug {
    fn plant(&self) -> Result<(), String> {
        let file = copy().join(CRATES).join(self.file);
        let failed = |error: std::io::Error| format!("{}: {error}", self.file);
        let source = fs::read_to_string(&file).map_err(failed)?;
        match source.matches(self.with).count() {
            1 => {
                let without = self.without.replace("PLANTED", &self.is_planted());
                fs::write(&file, source.replacen(self.with, &without, 1)).map_err(failed)
            }
            found => Err(format!(
                "the safeguard against `{}` is {found} times in {}; name it anew in xtask",
                self.name, self.file
            )),
        }
    }

    /// Asks for the variable once: a simulation comes by a million times.
    fn is_planted(&self) -> String {
        format!(
            "{{ static IS: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| \
             std::env::var(\"{VARIABLE}\").is_ok_and(|named| named == \"{}\")); *IS }}",
            self.name
        )
    }
}

/// What a build needs, and nothing else.
fn copy_workspace() -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy the workspace: {error}");
    let (root, copy) = (root(), copy());
    if copy.exists() {
        fs::remove_dir_all(&copy).map_err(failed)?;
    }
    for (name, place) in
        [("Cargo.lock", "Cargo.lock"), (".cargo", ".cargo"), ("crates", CRATES), ("xtask", "xtask")]
    {
        copy_all(&root.join(name), &copy.join(place)).map_err(failed)?;
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml")).map_err(failed)?;
    fs::write(copy.join("Cargo.toml"), manifest.replace("\"crates/", &format!("\"{CRATES}/")))
        .map_err(failed)
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut left: Vec<(PathBuf, PathBuf)> = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = left.pop() {
        if from.is_dir() {
            fs::create_dir_all(&to)?;
            for entry in fs::read_dir(&from)? {
                let entry = entry?;
                // The page's packages are not built with.
                if entry.file_name() == "node_modules" {
                    continue;
                }
                left.push((entry.path(), to.join(entry.file_name())));
            }
        } else {
            if let Some(folder) = to.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::copy(&from, &to)?;
        }
    }
    Ok(())
}
