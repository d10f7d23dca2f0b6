//! Finds the processes that descend from one, looks at them and ends them.
//! Called by the supervisor and by those who clean up after a crash. Never signals a process it cannot tell from another
//! that has the same number by now.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::record::Identity;

/// All descendants of a process, nearest first. What is born meanwhile may be missing.
pub fn descendants(root: u32, at_most: usize) -> Vec<u32> {
    let listed = fs::exists(format!("/proc/{root}/task/{root}/children")).unwrap_or(false);
    let parents = if listed { BTreeMap::new() } else { everybody_by_parent() };
    let mut found = Vec::new();
    let mut next = 0;
    let mut current = root;
    while found.len() <= at_most {
        if listed {
            found.extend(children(current));
        } else {
            found.extend(parents.get(&current).into_iter().flatten());
        }
        let Some(process) = found.get(next) else { break };
        current = *process;
        next += 1;
    }
    found
}

/// All descendants of this process, each stopped before its children are listed: nothing can be born unseen.
pub fn stop_descendants() -> Vec<u32> {
    let root = std::process::id();
    let mut found = BTreeSet::new();
    let mut waiting = descendants(root, usize::MAX);
    while let Some(process) = waiting.pop() {
        if found.insert(process) {
            signal_descendant(process, Signal::STOP);
            waiting.extend(children(process));
        }
        if waiting.is_empty() {
            // Those whose parents have ended meanwhile.
            waiting.extend(children(root).into_iter().filter(|child| !found.contains(child)));
        }
    }
    found.into_iter().collect()
}

/// Each thread has children of its own.
fn children(process: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let listed = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(listed.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
    }
    children
}

/// For kernels that do not list children.
fn everybody_by_parent() -> BTreeMap<u32, Vec<u32>> {
    let mut parents: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for process in everybody() {
        if let Some(parent) = stat(process).and_then(|stat| stat.field(4)) {
            parents.entry(parent).or_default().push(process);
        }
    }
    parents
}

/// Every process there is.
pub fn everybody() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// What the kernel says about a process in one line.
#[derive(Debug)]
pub struct Stat(String);

/// Nothing for a process that is gone.
pub fn stat(process: u32) -> Option<Stat> {
    let line = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The second field is the program's name, which may hold anything; the last bracket ends it.
    Some(Stat(line.rsplit_once(") ")?.1.to_owned()))
}

impl Stat {
    /// Counted as in the manual, from the third on.
    fn field<T: std::str::FromStr>(&self, number: usize) -> Option<T> {
        self.0.split(' ').nth(number.checked_sub(3)?)?.parse().ok()
    }

    /// Ended, and waiting to be reaped.
    pub fn is_over(&self) -> bool {
        self.0.starts_with(['Z', 'X'])
    }

    pub fn parent(&self) -> Option<u32> {
        self.field(4)
    }

    /// In ticks since the system was started.
    pub fn started(&self) -> Option<u64> {
        self.field(22)
    }
}

/// Memory that a process has for itself or shares with its relatives, in bytes; files that are only mapped do not count.
pub fn memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kilobytes = |line: &str| line.split_whitespace().nth(1)?.parse::<u64>().ok();
    status
        .lines()
        .filter(|line| line.starts_with("RssAnon:") || line.starts_with("RssShmem:"))
        .filter_map(kilobytes)
        .fold(0, |sum, next| sum.saturating_add(next.saturating_mul(1024)))
}

/// Signals a descendant of this process: its number stays taken until this process reaps it or its parent does.
pub fn signal_descendant(process: u32, signal: Signal) {
    if let Some(id) = pid(process) {
        // Fails only when it has ended, which is what is wanted.
        kill_process(id, signal).ok();
    }
}

/// Kills a process if it is still the one that was meant.
pub fn kill_the_same(identity: Identity) -> bool {
    let Some(id) = pid(identity.process) else { return false };
    // Held open, it keeps meaning the same process whatever happens to the number.
    let held: Option<OwnedFd> = pidfd_open(id, PidfdFlags::empty()).ok();
    if !identity.is_running() {
        return false;
    }
    match held {
        Some(held) => pidfd_send_signal(&held, Signal::KILL).is_ok(),
        None => kill_process(id, Signal::KILL).is_ok(),
    }
}

pub fn pid(process: u32) -> Option<Pid> {
    i32::try_from(process).ok().and_then(Pid::from_raw)
}
