//! Finds the program that a name means, and what is known of it: the facts an approval is tied to.
//! Called by `shell` when a call is prepared and when it runs. Only looks; never runs anything.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use agent_world_core::binding::{Facts, digest};
use agent_world_core::command_line::CommandLine;
use rustix::fs::{Access, OFlags, access};

use super::arguments::{Arguments, Kind};

pub const PROGRAM: &str = "program";
pub const DIRECTORY: &str = "directory";
pub const SANDBOX: &str = "sandbox";
pub const NOT_FOUND: &str = "not found";

/// Larger files are told apart by size and time.
const LARGEST_READ: u64 = 16 * 1024 * 1024;
/// Files of one call whose content is noted.
const MOST_SCRIPTS: usize = 16;
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";

/// Names, without a version, of programs that run what they are given in a file.
const INTERPRETERS: [&str; 29] = [
    "sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "python",
    "pypy", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "luajit", "tclsh",
    "awk", "gawk", "sed", "make", "Rscript", "pwsh",
];
/// Programs that run the program they are given.
const WRAPPERS: [&str; 14] = [
    "env", "nice", "nohup", "timeout", "time", "stdbuf", "setsid", "ionice", "sudo", "doas",
    "xargs", "chrt", "taskset", "strace",
];

/// Where a program is searched.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub directory: &'a Path,
    /// The search path that the program itself will have.
    pub search: Option<&'a OsStr>,
}

impl Place<'_> {
    /// The absolute path that a name means here. Links are left: some programs are told by them what to be.
    pub fn find(&self, name: &str) -> io::Result<PathBuf> {
        if name.contains('/') {
            let path = self.directory.join(name);
            return executable(&path).map(|()| path);
        }
        let search = self.search.map_or_else(|| OsString::from(USUAL_PATH), OsStr::to_owned);
        let mut problem = io::ErrorKind::NotFound;
        // Relative entries would let a working directory decide what a name means.
        for folder in std::env::split_paths(&search).filter(|folder| folder.is_absolute()) {
            let path = folder.join(name);
            match executable(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    problem = io::ErrorKind::PermissionDenied;
                }
                Err(_) => {}
            }
        }
        Err(problem.into())
    }
}

fn executable(path: &Path) -> io::Result<()> {
    if !path.metadata()?.is_file() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    Ok(access(path, Access::EXEC_OK)?)
}

/// What is found of a call's program now. A program that is not there is a fact as well: an earlier call may make it.
pub fn facts(arguments: &Arguments, place: Place<'_>, root: &Path) -> Facts {
    let mut facts = Facts::new();
    let Ok(program) = place.find(&arguments.command) else {
        facts.insert(PROGRAM.to_owned(), NOT_FOUND.to_owned());
        return facts;
    };
    facts.insert(PROGRAM.to_owned(), program.display().to_string());
    if let Ok(file) = program.canonicalize()
        && file != program
    {
        facts.insert("program_file".to_owned(), file.display().to_string());
    }
    if is_script(&program) {
        facts.insert("script".to_owned(), content(&program));
    } else if program.canonicalize().is_ok_and(|file| file.starts_with(root)) {
        // Whatever an agent can write, it can replace.
        facts.insert("program_content".to_owned(), content(&program));
    }
    // A script of the call's own is in its arguments; what it runs is not.
    let mut all = match arguments.kind() {
        Kind::Command => scripts(&arguments.command, &arguments.parameters, place),
        Kind::Script => Vec::new(),
    };
    for script in run_by(arguments, place, root) {
        if !all.contains(&script) && script != program && all.len() < MOST_SCRIPTS {
            all.push(script);
        }
    }
    for (number, script) in all.iter().enumerate() {
        let name = if number == 0 { "script".to_owned() } else { format!("script_{}", number + 1) };
        facts.insert(name, content(script));
    }
    facts
}

/// The files that the commands of a script run, as far as they are named in it: its own programs, and what interpreters are
/// told to run.
fn run_by(arguments: &Arguments, place: Place<'_>, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for command in CommandLine::parse(&arguments.written()).commands {
        let path = place.directory.join(&command.program);
        let own = path.canonicalize().is_ok_and(|file| file.starts_with(root));
        // What follows a script's name may be a program as well, for all that can be told; a file that nobody can run is
        // none, and may change as it likes.
        let runs = || is_script(&path) || own && executable(&path).is_ok();
        if command.program.contains('/') && runs() {
            found.push(path);
        }
        let sourced = matches!(command.program.as_str(), "." | "source");
        let first = command.parameters.first().map(|name| place.directory.join(name));
        found.extend(first.filter(|path| sourced && path.is_file()));
        found.extend(scripts(&command.program, &command.parameters, place));
    }
    found
}

/// The files that an interpreter is told to run, also by way of a wrapper.
fn scripts(command: &str, parameters: &[String], place: Place<'_>) -> Vec<PathBuf> {
    if is_wrapper(command) {
        let inner = parameters.iter().position(|name| {
            is_interpreter(name)
                || is_wrapper(name)
                || (name.contains('/') && is_script(&place.directory.join(name)))
        });
        let Some((name, rest)) = inner.and_then(|at| parameters.get(at..)?.split_first()) else {
            return Vec::new();
        };
        if is_interpreter(name) || is_wrapper(name) {
            return scripts(name, rest, place);
        }
        return vec![place.directory.join(name)];
    }
    if is_interpreter(command) { files(parameters, place.directory) } else { Vec::new() }
}

/// Files among an interpreter's parameters, up to the first that cannot belong to an option. All of them may be run.
fn files(parameters: &[String], directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut after_option = false;
    for parameter in parameters {
        let is_option = parameter.starts_with('-');
        let named = match parameter.split_once('=') {
            Some((_, value)) if is_option => value,
            _ => parameter,
        };
        let path = directory.join(named);
        // Longer ones are code, not names.
        if named.len() < 4096 && path.is_file() {
            files.push(path);
            if !is_option && !after_option {
                break;
            }
        }
        after_option = is_option;
    }
    files
}

fn is_interpreter(command: &str) -> bool {
    let name = base_name(command);
    let unversioned =
        name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&unversioned)
}

fn is_wrapper(command: &str) -> bool {
    WRAPPERS.contains(&base_name(command))
}

fn base_name(command: &str) -> &str {
    command.rsplit('/').next().unwrap_or(command)
}

fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

/// Opens a file and nothing else: a pipe or a terminal would keep whoever looks waiting, or lose what was typed.
fn open(path: &Path) -> io::Result<File> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// A path and what tells its content from another.
fn content(path: &Path) -> String {
    let told = describe(path).unwrap_or_else(|error| format!("cannot be read: {error}"));
    format!("{} {told}", path.display())
}

fn describe(path: &Path) -> io::Result<String> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if metadata.len() > LARGEST_READ {
        let modified =
            metadata.modified()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        return Ok(format!("{} bytes of {}", metadata.len(), modified.as_nanos()));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_READ).read_to_end(&mut bytes)?;
    Ok(digest(&bytes))
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
