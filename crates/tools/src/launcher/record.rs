//! Keeps a note of what runs, and ends what an earlier run left behind.
//! Written by the launcher, one file per call; read when a program starts again after it was killed together with its
//! launchers. Never ends anything of a server that is still there, nor a process that only has the same number.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::CALL_VARIABLE;
use super::family;

const ENDING: &str = "running";
/// Killed processes are gone at once, unless the kernel holds them.
const PATIENCE: Duration = Duration::from_secs(5);

/// A process that cannot be mistaken for a later one of the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    pub process: u32,
    /// In ticks since the system was started.
    started: u64,
}

/// What one launcher looks after.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Numbers and ticks mean nothing after the next start of the system.
    boot: String,
    call: String,
    server: Identity,
    launcher: Identity,
    processes: Vec<Identity>,
    temporary: Option<OsString>,
}

/// What was left of a call and has been ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub call: String,
    pub processes: Vec<u32>,
}

impl Identity {
    pub fn of(process: u32) -> Option<Self> {
        let started = family::stat(process)?.started()?;
        Some(Self { process, started })
    }

    pub fn of_this_process() -> Option<Self> {
        Self::of(std::process::id())
    }

    pub fn is_running(self) -> bool {
        family::stat(self.process)
            .is_some_and(|stat| stat.started() == Some(self.started) && !stat.is_over())
    }
}

impl Record {
    pub fn new(call: &str, server: Identity, temporary: Option<&Path>) -> Option<Self> {
        Some(Self {
            boot: boot(),
            call: call.to_owned(),
            server,
            launcher: Identity::of_this_process()?,
            processes: Vec::new(),
            temporary: temporary.map(|path| path.as_os_str().to_owned()),
        })
    }

    /// Takes over what runs now; says whether that is news.
    pub fn note(&mut self, processes: &[u32]) -> bool {
        let known = |id: u32| self.processes.iter().any(|known| known.process == id);
        if processes.len() == self.processes.len() && processes.iter().all(|id| known(*id)) {
            return false;
        }
        self.processes = processes.iter().filter_map(|id| Identity::of(*id)).collect();
        true
    }

    /// Whole or not at all, whenever this process is killed.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        let unfinished = path.with_extension("new");
        fs::write(&unfinished, serde_json::to_vec(self)?)?;
        fs::rename(&unfinished, path)
    }

    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    fn is_looked_after(&self) -> bool {
        self.boot == boot() && self.server.is_running()
    }

    /// Ends everything that belongs to the call and is still there.
    fn end(&self) -> Vec<u32> {
        let mut ended = Vec::new();
        if self.boot == boot() {
            let known: Vec<Identity> =
                self.processes.iter().copied().chain([self.launcher]).collect();
            ended = end_all(&self.call, &known);
        }
        if let Some(temporary) = &self.temporary {
            fs::remove_dir_all(temporary).ok();
        }
        ended
    }
}

/// Where the record of a call is kept.
pub fn path_in(folder: &Path, call: &str) -> PathBuf {
    // Ids are made of harmless characters; an embedder's own may not be.
    let harmless = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name: String =
        call.chars().map(|letter| if harmless(letter) { letter } else { '_' }).take(120).collect();
    folder.join(format!("{name}-{}.{ENDING}", std::process::id()))
}

/// Ends what earlier runs left behind, by the records they left in a folder. Leaves alone what a server that still runs
/// looks after.
pub fn end_leftovers(folder: &Path) -> io::Result<Vec<Leftover>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut leftovers = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new(ENDING)) {
            leftovers.extend(end_leftover(&path)?);
        }
    }
    Ok(leftovers)
}

/// Ends what one record speaks of.
fn end_leftover(path: &Path) -> io::Result<Option<Leftover>> {
    let record = Record::read(path);
    if record.as_ref().is_some_and(Record::is_looked_after) {
        return Ok(None);
    }
    let leftover = record.and_then(|record| {
        let processes = record.end();
        (!processes.is_empty()).then_some(Leftover { call: record.call, processes })
    });
    remove(path)?;
    Ok(leftover)
}

/// For a server whose launcher died under it.
pub fn end_call(call: &str, record: Option<&Path>) -> Vec<u32> {
    let Some(path) = record else { return end_all(call, &[]) };
    let ended = match Record::read(path) {
        Some(record) => record.end(),
        None => end_all(call, &[]),
    };
    // It can stay: the next start finds nothing to end any more and removes it.
    remove(path).ok();
    ended
}

pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Kills until nothing is found any more: the known ones, those marked with the call, and all their descendants.
fn end_all(call: &str, known: &[Identity]) -> Vec<u32> {
    let mut ended = Vec::new();
    let give_up = Instant::now() + PATIENCE;
    loop {
        let mut victims: Vec<Identity> =
            known.iter().copied().filter(|identity| identity.is_running()).collect();
        victims.extend(marked(call));
        let heirs: Vec<Identity> = victims
            .iter()
            .flat_map(|victim| family::descendants(victim.process, usize::MAX))
            .filter_map(Identity::of)
            .filter(|identity| identity.is_running())
            .collect();
        victims.extend(heirs);
        if victims.is_empty() || Instant::now() > give_up {
            ended.sort_unstable();
            ended.dedup();
            return ended;
        }
        for victim in victims {
            if family::kill_the_same(victim) {
                ended.push(victim.process);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Processes that were started with the mark of the call.
fn marked(call: &str) -> Vec<Identity> {
    let mark = [CALL_VARIABLE.as_bytes(), b"=", OsStr::new(call).as_bytes()].concat();
    let is_marked = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    family::everybody()
        .filter(|process| *process != std::process::id())
        .filter(is_marked)
        .filter_map(Identity::of)
        .filter(|identity| identity.is_running())
        .collect()
}

/// Different after each start of the system.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
