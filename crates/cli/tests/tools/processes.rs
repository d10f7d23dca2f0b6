//! Questions about processes. Used by scenes that look whether anything is left running.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Processes that have the given text in their command line, by number.
pub fn running(text: &str) -> Vec<u32> {
    let has = |id: &u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(text)
    };
    everybody().filter(has).filter(|id| runs(*id)).collect()
}

/// Processes that only sleep for just this time.
pub fn sleeping(nap: &str) -> Vec<u32> {
    let expected = format!("sleep\0{nap}\0").into_bytes();
    let sleeps =
        |id: &u32| fs::read(format!("/proc/{id}/cmdline")).is_ok_and(|line| line == expected);
    everybody().filter(sleeps).filter(|id| runs(*id)).collect()
}

/// Processes whose current folder is below this one.
pub fn working_in(folder: &Path) -> Vec<u32> {
    let is_in = |id: &u32| {
        fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|current| current.starts_with(folder))
    };
    everybody().filter(is_in).filter(|id| runs(*id)).collect()
}

fn everybody() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub fn children(parent: u32) -> Vec<u32> {
    let is_child = |id: &u32| field(*id, 1).and_then(|id| id.parse().ok()) == Some(parent);
    everybody().filter(is_child).collect()
}

/// One that only waits to be reaped does not run.
fn runs(id: u32) -> bool {
    !matches!(field(id, 0).as_deref(), None | Some("Z" | "X"))
}

/// What the kernel says of a process, counted from its state on.
fn field(id: u32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(number).map(str::to_owned)
}

pub fn signal(id: u32, signal: Signal) {
    let id = Pid::from_raw(id.try_into().unwrap()).unwrap();
    // One that has ended cannot be signalled, and need not be.
    kill_process(id, signal).ok();
}

/// A number of seconds nobody else sleeps for, so that a sleeping process can be found.
pub fn nap() -> String {
    static NAPS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NAPS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("1{:07}{number:03}", std::process::id())
}

pub fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(60), "it did not come to pass");
        std::thread::sleep(Duration::from_millis(5));
    }
}
