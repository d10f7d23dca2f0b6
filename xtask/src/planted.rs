//! Proves that the simulation would notice: plants a bug in a copy of the workspace and expects it to fail.
//! Called by `suite`. Never changes the workspace itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::report::Outcome;

/// A safeguard, and the code without it.
pub struct Bug {
    pub name: &'static str,
    file: &'static str,
    with: &'static str,
    without: &'static str,
}

pub const BUGS: &[Bug] = &[
    Bug {
        name: "a tool runs before its start is durable",
        file: "crates/runtime/src/chat_task.rs",
        with: "        let Some(started) = self.must_record(command).await else { return };\n",
        without: "        let early = match &command {\n\
                  \x20           Command::StartTool { call, .. } => self.ledger.chat.calls.get(call).cloned(),\n\
                  \x20           _ => None,\n\
                  \x20       };\n\
                  \x20       let Some(early) = early else { return };\n\
                  \x20       let mut early = agent_world_core::chat::Call::clone(&early);\n\
                  \x20       early.attempt += 1;\n\
                  \x20       let (stop, reach) = (CancellationToken::new(), self.reach.clone());\n\
                  \x20       let (chat, early) = (&self.ledger.chat, Arc::new(early));\n\
                  \x20       let run =\n\
                  \x20           tool::run(&self.shared, &world, chat, &early, Default::default(), reach, stop);\n\
                  \x20       let ended = tokio::spawn(run);\n\
                  \x20       tokio::task::yield_now().await;\n\
                  \x20       if self.must_record(command).await.is_some()\n\
                  \x20           && let Ok(command) = ended.await\n\
                  \x20       {\n\
                  \x20           self.must_record(command).await;\n\
                  \x20       }\n\
                  \x20       return;\n\
                  \x20       #[allow(unreachable_code)]\n\
                  \x20       let started: Committed = Committed::default();\n",
    },
    Bug {
        name: "a decided request can be decided again",
        file: "crates/core/src/apply.rs",
        with: "chat.approvals.remove(&decided.approval)",
        without: "chat.approvals.get(&decided.approval).cloned()",
    },
    Bug {
        name: "the store takes events behind a head that has moved on",
        file: "crates/store/src/memory/data.rs",
        with: "head != append.expected && !self.sabotage.skip_head_check",
        without: "false",
    },
];

/// Runs the simulation on the workspace with this bug in it. Passes when the simulation fails.
pub fn is_noticed(bug: &Bug) -> Result<Outcome, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("xtask has no workspace")?;
    let copy = root.join("target").join("planted");
    copy_workspace(root, &copy)?;
    plant(&copy.join(bug.file), bug)?;
    let simulation =
        "test --profile proof --package agent-world-runtime --test simulation --locked";
    let built = at(&copy, root, &format!("{simulation} --no-run")).status();
    if !built.is_ok_and(|status| status.success()) {
        return Err(format!("`{}` does not compile any more", bug.name));
    }
    let run = at(&copy, root, simulation).output().map_err(|error| error.to_string())?;
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

fn at(copy: &Path, root: &Path, arguments: &str) -> Command {
    let mut command = cargo::command(arguments);
    // A folder of its own: cargo takes a copy for the original, and must never find the bug's code there.
    command.current_dir(copy).env("CARGO_TARGET_DIR", root.join("target").join("planted-build"));
    command
}

fn plant(file: &Path, bug: &Bug) -> Result<(), String> {
    let source = fs::read_to_string(file).map_err(|error| format!("{}: {error}", bug.file))?;
    match source.matches(bug.with).count() {
        1 => fs::write(file, source.replacen(bug.with, bug.without, 1))
            .map_err(|error| format!("{}: {error}", bug.file)),
        found => Err(format!(
            "the safeguard against `{}` is {found} times in {}; name it anew in xtask",
            bug.name, bug.file
        )),
    }
}

/// What a build needs, and nothing else.
fn copy_workspace(root: &Path, copy: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot copy the workspace: {error}");
    if copy.exists() {
        fs::remove_dir_all(copy).map_err(failed)?;
    }
    for name in ["Cargo.toml", "Cargo.lock", "clippy.toml", "crates", "xtask"] {
        copy_all(&root.join(name), &copy.join(name)).map_err(failed)?;
    }
    Ok(())
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
