//! Finds out what this system can do to confine programs.
//! Called for a person who wants to know, and before the first program is started. Tries things on threads and processes
//! that end at once; this program itself is never confined.

use std::fmt;
use std::path::PathBuf;

/// Each with the reason where it is not to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// Protects files; the version of the kernel's interface.
    pub landlock: Result<u32, String>,
    /// Filters system calls.
    pub seccomp: Result<(), String>,
    /// Limits processes, memory and files.
    pub limits: Result<(), String>,
    /// Adds namespaces.
    pub bubblewrap: Result<PathBuf, String>,
}

impl Support {
    /// Takes some milliseconds the first time.
    pub fn detect() -> Self {
        Self {
            landlock: on_a_thread(landlock),
            seccomp: on_a_thread(seccomp),
            limits: limits(),
            bubblewrap: bubblewrap(),
        }
    }

    /// Whether worlds that require a sandbox can run programs here.
    pub fn is_whole(&self) -> bool {
        self.landlock.as_ref().is_ok_and(|version| *version >= NEEDED)
            && self.seccomp.is_ok()
            && self.limits.is_ok()
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or = |reason: &String| format!("no: {reason}");
        let version = |version: &u32| {
            let partly = if *version < NEEDED { ", too old to confine signals" } else { "" };
            format!("yes, version {version}{partly}")
        };
        let plain =
            |result: &Result<(), String>| result.as_ref().map_or_else(or, |()| "yes".to_owned());
        let landlock = self.landlock.as_ref().map_or_else(or, version);
        let bubblewrap =
            self.bubblewrap.as_ref().map_or_else(or, |path| format!("yes, {}", path.display()));
        writeln!(f, "files (landlock):          {landlock}")?;
        writeln!(f, "system calls (seccomp):    {}", plain(&self.seccomp))?;
        writeln!(f, "processes, memory, sizes:  {}", plain(&self.limits))?;
        write!(f, "namespaces (bubblewrap):   {bubblewrap}")
    }
}

fn on_a_thread<T: Send + 'static>(probe: fn() -> Result<T, String>) -> Result<T, String> {
    let thread = std::thread::Builder::new().spawn(probe).map_err(|error| error.to_string())?;
    thread.join().unwrap_or_else(|_| Err("it could not be tried".to_owned()))
}

#[cfg(target_os = "linux")]
use super::files::NEEDED;

#[cfg(target_os = "linux")]
fn landlock() -> Result<u32, String> {
    super::files::probe()
}

#[cfg(target_os = "linux")]
fn seccomp() -> Result<(), String> {
    super::calls::probe()
}

#[cfg(target_os = "linux")]
fn limits() -> Result<(), String> {
    match std::fs::exists("/proc/self/status") {
        Ok(true) => Ok(()),
        _ => Err("/proc is not there to count processes and memory".to_owned()),
    }
}

#[cfg(target_os = "linux")]
pub(crate) fn bubblewrap() -> Result<PathBuf, String> {
    super::bubblewrap::find()
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::path::PathBuf;

    pub const NEEDED: u32 = 1;
    const ONLY_LINUX: &str = "programs are confined on Linux only";

    pub fn landlock() -> Result<u32, String> {
        Err(ONLY_LINUX.to_owned())
    }

    pub fn seccomp() -> Result<(), String> {
        Err(ONLY_LINUX.to_owned())
    }

    pub fn limits() -> Result<(), String> {
        Err(ONLY_LINUX.to_owned())
    }

    pub fn bubblewrap() -> Result<PathBuf, String> {
        Err(ONLY_LINUX.to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::bubblewrap;
#[cfg(not(target_os = "linux"))]
use elsewhere::{NEEDED, landlock, limits, seccomp};
