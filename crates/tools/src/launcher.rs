//! Starts programs under supervision: this program starts itself again, in a role that does nothing else.
//! The launcher ends with the server, however the server dies, and takes everything the program started along. Never
//! trusts the program it runs: that has no way to reach the launcher's socket, its memory or its process.
//!
//! A server starts a launcher, the launcher starts itself once more, and that process confines itself and becomes the
//! program. Only so can limits and rules hold for the program alone.

#[cfg(target_os = "linux")]
pub(crate) mod family;
#[cfg(target_os = "linux")]
mod lookup;
#[cfg(target_os = "linux")]
pub(crate) mod message;
mod peer;
#[cfg(target_os = "linux")]
pub(crate) mod record;
#[cfg(target_os = "linux")]
mod supervisor;
#[cfg(target_os = "linux")]
mod target;

use std::path::PathBuf;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
pub use peer::{Peer, peer};
#[cfg(target_os = "linux")]
pub use record::{Leftover, end_leftovers};

/// As the first argument it makes this program a launcher.
pub const ARGUMENT: &str = "__launch";
/// Every program gets the id of its call in this variable.
pub const CALL_VARIABLE: &str = "AGENT_WORLD_CALL";

/// As the second argument: which part it plays.
#[cfg(target_os = "linux")]
pub(crate) const SUPERVISE: &str = "supervise";
#[cfg(target_os = "linux")]
const BECOME: &str = "become";

/// Who starts programs.
#[derive(Clone, Debug)]
pub struct Launcher {
    pub(crate) program: Option<PathBuf>,
    pub(crate) bubblewrap: Bubblewrap,
}

/// Whether namespaces are put around programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bubblewrap {
    #[default]
    WhereItWorks,
    Never,
}

impl Launcher {
    /// This program, started again. Its `main` must call `main_if_asked` before anything else.
    pub fn this_program() -> Self {
        // What runs, even if the file was replaced since.
        Self::at("/proc/self/exe")
    }

    pub fn at(program: impl Into<PathBuf>) -> Self {
        let program = cfg!(target_os = "linux").then(|| program.into());
        Self { program, bubblewrap: Bubblewrap::default() }
    }

    /// Programs are started directly, without a sandbox.
    pub fn none() -> Self {
        Self { program: None, bubblewrap: Bubblewrap::Never }
    }

    #[must_use]
    pub fn bubblewrap(self, bubblewrap: Bubblewrap) -> Self {
        Self { bubblewrap, ..self }
    }
}

/// Does a launcher's work if this process was started for it. To be called first thing in `main`: no thread may run yet.
pub fn main_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    Some(act(arguments.next()))
}

/// Keeps other programs of the same user, MCP servers among them, from reading this one's memory and the variables it was
/// started with, which hold keys. To be called by a server's `main` after `main_if_asked`.
pub fn keep_to_itself() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn act(part: Option<std::ffi::OsString>) -> ExitCode {
    let done = match part.as_deref().and_then(std::ffi::OsStr::to_str) {
        Some(SUPERVISE) => supervisor::run(),
        Some(BECOME) => target::run(),
        _ => Err(std::io::Error::other("this argument is for the program itself only")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("launcher: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn act(_part: Option<std::ffi::OsString>) -> ExitCode {
    eprintln!("launcher: programs are supervised on Linux only");
    ExitCode::FAILURE
}

/// What was left of a call and has been ended.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover {
    pub call: String,
    pub processes: Vec<u32>,
}

/// Nothing is recorded on this system.
#[cfg(not(target_os = "linux"))]
pub fn end_leftovers(_folder: &std::path::Path) -> std::io::Result<Vec<Leftover>> {
    Ok(Vec::new())
}

/// Who is at the other end of a connection.
#[cfg(not(target_os = "linux"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Own,
    Other,
    Gone,
    Unclear,
}

/// Nobody can be told apart on this system.
#[cfg(not(target_os = "linux"))]
pub fn peer(_theirs: std::net::SocketAddr, _ours: std::net::SocketAddr) -> Peer {
    Peer::Other
}
