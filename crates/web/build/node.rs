//! Runs Node, npm and Vite for the build script, and says in a sentence what went wrong.
//! Called by the build script. No package's own script runs: all that is run is Node, npm and what the lock file pins.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::Path;
use std::process::Command;

use crate::files;

/// Lines of a failed command that are repeated.
const LINES: usize = 12;
/// The oldest versions that Vite runs on.
const OLDEST: [(u32, u32); 2] = [(20, 19), (22, 12)];

pub struct Node {
    version: String,
}

impl Node {
    pub fn find() -> Result<Self, String> {
        let how = "install Node 22.12 or newer with npm, and build again";
        let asked = Command::new("node").arg("--version").output();
        let asked = asked.map_err(|error| format!("Node does not start ({error}); {how}"))?;
        let version = String::from_utf8_lossy(&asked.stdout).trim().to_owned();
        if !asked.status.success() || !is_new_enough(&version) {
            return Err(format!("Node is {version}, which is too old; {how}"));
        }
        let npm = Command::new(npm()).arg("--version").output();
        match npm {
            Ok(npm) if npm.status.success() => Ok(Self { version }),
            _ => Err(format!("npm does not start; {how}")),
        }
    }

    /// Installs the page's packages, unless these are there already.
    pub fn install(&self, page: &Path) -> Result<(), String> {
        let stamp = files::state(page)?.join("installed");
        let wanted = self.stamp(page)?;
        let is_there = page.join("node_modules").is_dir();
        if is_there && fs::read_to_string(&stamp).is_ok_and(|found| found == wanted) {
            return Ok(());
        }
        let mut command = Command::new(npm());
        command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]);
        // Without a network it gives up in seconds.
        command.args(["--fetch-retry-mintimeout=500", "--fetch-retry-maxtimeout=2000"]);
        run(command.current_dir(page), "npm ci")?;
        fs::write(&stamp, wanted).map_err(|error| files::about(&stamp, &error))
    }

    pub fn bundle(&self, page: &Path, out: &Path) -> Result<(), String> {
        let mut command = Command::new("node");
        command.arg(page.join("node_modules/vite/bin/vite.js"));
        command.args(["build", "--logLevel", "warn", "--emptyOutDir", "--outDir"]).arg(out);
        command.env("NODE_ENV", "production");
        run(command.current_dir(page), "vite build")?;
        if out.join("index.html").is_file() {
            return Ok(());
        }
        Err("vite build made no index.html".to_owned())
    }

    /// Puts compressed copies beside the files, so that no request waits for it.
    pub fn compress(&self, out: &Path) -> Result<(), String> {
        let mut command = Command::new("node");
        command.arg(Path::new("build").join("compress.mjs")).arg(out);
        run(&mut command, "compressing the page")
    }

    /// What the installed packages follow from.
    fn stamp(&self, page: &Path) -> Result<String, String> {
        let mut hasher = DefaultHasher::new();
        for name in ["package.json", "package-lock.json"] {
            let path = page.join(name);
            hasher.write(&fs::read(&path).map_err(|error| files::about(&path, &error))?);
        }
        Ok(format!("{} {:016x}", self.version, hasher.finish()))
    }
}

fn npm() -> &'static str {
    if cfg!(windows) { "npm.cmd" } else { "npm" }
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(|part| part.parse().ok());
    let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    let of_same = OLDEST.iter().find(|(oldest, _)| *oldest == major);
    match of_same {
        Some((_, oldest)) => minor >= *oldest,
        None => major > OLDEST.iter().map(|(oldest, _)| *oldest).max().unwrap_or_default(),
    }
}

fn run(command: &mut Command, what: &str) -> Result<(), String> {
    let done = command.output().map_err(|error| format!("{what} does not start: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let said = [done.stderr, done.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).take(LINES).collect();
    Err(format!("{what} failed: {}", said.join(" | ")))
}
