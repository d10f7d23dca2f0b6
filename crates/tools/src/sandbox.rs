//! Decides how a program is confined, and says what of it was in force.
//! The settings of a world become a `Confinement` on the server; the launcher applies it to the process that becomes the
//! program, and to nothing else. Never claims more than the kernel confirmed.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod calls;
#[cfg(target_os = "linux")]
mod files;
mod hidden;
#[cfg(target_os = "linux")]
mod limits;
mod support;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use agent_world_core::config::{Sandbox, SandboxMode};
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use bubblewrap::Bubble;
pub use support::Support;
pub(crate) use support::bubblewrap;

/// Why nothing is confined where a program was not given a launcher.
pub(crate) const NO_LAUNCHER: &str = "there is no sandbox: this program has no launcher";

/// A world's settings, with everything found out that can be known before a program is started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Confinement {
    demand: Demand,
    network: Network,
    working_directory: OsString,
    /// Everything that is not hidden, without it.
    readable: Option<Vec<OsString>>,
    hidden: Vec<OsString>,
    writable: Vec<OsString>,
    /// Made anew for each call, inside the folder named here.
    temporary: OsString,
    devices: Devices,
    pub(crate) processes: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) file_bytes: u64,
    /// The program that puts namespaces around, where it works.
    pub(crate) bubblewrap: Result<OsString, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Demand {
    AsMuchAsPossible,
    Everything,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Network {
    Denied,
    Allowed,
}

/// Whose devices a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Devices {
    TheSystems,
    ItsOwn,
}

/// What held while a program ran, as it is told with its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// The version of the kernel's interface; nothing where files are not protected.
    pub landlock: Option<u32>,
    pub seccomp: bool,
    pub limits: bool,
    pub bubblewrap: bool,
    /// Whether the program could open sockets.
    pub network: bool,
    /// What is not protected, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Where things are on this machine, as far as settings refer to it.
#[derive(Clone, Debug)]
pub struct Surroundings {
    pub home: Option<PathBuf>,
    pub temporary: PathBuf,
    /// What the embedder hides: its own data and keys.
    pub private: Vec<PathBuf>,
}

// Elsewhere it is made and never entered.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
impl Confinement {
    /// Nothing for a world that confines nothing.
    pub(crate) fn new(
        settings: &Sandbox,
        working_directory: &Path,
        surroundings: &Surroundings,
        bubblewrap: Result<PathBuf, String>,
    ) -> Option<Self> {
        let demand = match settings.mode {
            SandboxMode::Off => return None,
            SandboxMode::On => Demand::AsMuchAsPossible,
            SandboxMode::Required => Demand::Everything,
        };
        let home = surroundings.home.as_deref();
        let places = |names: &[String]| -> Vec<OsString> {
            names.iter().map(|name| place(name, home, working_directory)).collect()
        };
        let named = places(&settings.hidden).into_iter().map(PathBuf::from);
        let private = surroundings.private.iter().cloned().chain(named);
        Some(Self {
            demand,
            network: if settings.network { Network::Allowed } else { Network::Denied },
            working_directory: working_directory.into(),
            readable: settings.readable.as_deref().map(places),
            hidden: hidden::existing(private, home, working_directory),
            writable: places(&settings.writable),
            temporary: surroundings.temporary.clone().into(),
            devices: Devices::TheSystems,
            processes: settings.processes,
            memory_bytes: settings.memory_bytes,
            file_bytes: settings.file_bytes,
            bubblewrap: bubblewrap.map(PathBuf::into_os_string),
        })
    }

    /// Where the call's own temporary folder is to be made.
    pub(crate) fn temporary(&self) -> &Path {
        Path::new(&self.temporary)
    }

    fn working_directory(&self) -> &Path {
        Path::new(&self.working_directory)
    }

    /// Everything a program may change, besides devices.
    fn changeable<'a>(&'a self, own: &'a Path) -> impl Iterator<Item = &'a Path> {
        let named = self.writable.iter().map(Path::new);
        [self.working_directory(), own].into_iter().chain(named)
    }

    /// Hidden folders and files that lie where the program may write, so that no rule of the kernel's can hide them.
    fn exposed(&self) -> impl Iterator<Item = &Path> {
        let inside = |path: &Path| {
            let mut roots =
                [self.working_directory()].into_iter().chain(self.writable.iter().map(Path::new));
            roots.any(|root| path.starts_with(root))
        };
        self.hidden.iter().map(Path::new).filter(move |path| inside(path))
    }

    /// Puts the calling process under this confinement, for ever. `own` is the call's temporary folder.
    #[cfg(target_os = "linux")]
    pub(crate) fn enter(&self, own: &Path, program: &Path) -> Result<InForce, String> {
        let mut in_force =
            InForce { network: self.network == Network::Allowed, ..InForce::default() };
        let missing = &mut in_force.missing;
        match limits::enter(self) {
            Ok(()) => in_force.limits = true,
            Err(error) => missing.push(format!("limits: {error}")),
        }
        match files::enter(self, own, program, missing) {
            Ok(version) => in_force.landlock = Some(version),
            Err(error) => missing.push(format!("files are not protected: {error}")),
        }
        // Last, because it forbids what the others need.
        match calls::enter(self.network) {
            Ok(()) => in_force.seccomp = true,
            Err(error) => missing.push(format!("system calls are not filtered: {error}")),
        }
        if self.devices == Devices::ItsOwn {
            in_force.bubblewrap = true;
        } else if let Err(reason) = &self.bubblewrap {
            // The kernel's rules for files know nothing of these.
            missing.push(format!(
                "no namespaces: {reason}; so names in hidden folders can be listed, and rights, owners and times \
                 of files outside can be changed"
            ));
        }
        if self.network == Network::Allowed {
            in_force.missing.push(
                "sockets of other programs that lie in readable folders can be connected to"
                    .to_owned(),
            );
        }
        self.is_enough(&in_force).map(|()| in_force)
    }

    /// Bubblewrap is more than is asked for; everything else is not.
    #[cfg(target_os = "linux")]
    fn is_enough(&self, in_force: &InForce) -> Result<(), String> {
        let whole = in_force.landlock.is_some_and(|version| version >= files::NEEDED)
            && in_force.seccomp
            && in_force.limits
            && (in_force.bubblewrap || self.exposed().next().is_none());
        if self.demand == Demand::AsMuchAsPossible || whole {
            return Ok(());
        }
        Err(format!(
            "this world requires a sandbox and this system has only a part of it ({}); relax the \
             world's `sandbox.mode` or run it where it can be had",
            in_force.missing.join("; ")
        ))
    }
}

impl InForce {
    /// Where there is no launcher, or no confinement is wanted.
    pub fn nothing(reason: &str) -> Self {
        Self { network: true, missing: vec![reason.to_owned()], ..Self::default() }
    }
}

/// What a world's settings mean, in a line: it changes with each of them.
pub fn describe(settings: &Sandbox) -> String {
    let Sandbox {
        mode,
        network,
        readable,
        hidden,
        writable,
        processes,
        memory_bytes,
        file_bytes,
        private_addresses: _,
    } = settings;
    let mode = match mode {
        SandboxMode::Off => return "off".to_owned(),
        SandboxMode::On => "on",
        SandboxMode::Required => "required",
    };
    let mut parts = vec![mode.to_owned()];
    parts.push(if *network { "with network" } else { "no network" }.to_owned());
    if let Some(readable) = readable {
        parts.push(format!("reads only {readable:?}"));
    }
    for (what, paths) in [("hides", hidden), ("writes also", writable)] {
        if !paths.is_empty() {
            parts.push(format!("{what} {paths:?}"));
        }
    }
    parts.push(format!("{processes} processes"));
    parts.push(format!("{} of memory", size(*memory_bytes)));
    parts.push(format!("files up to {}", size(*file_bytes)));
    parts.join(", ")
}

/// In the largest unit that loses nothing: other settings must look different.
fn size(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let whole = units.iter().find(|(_, unit)| bytes > 0 && bytes.is_multiple_of(*unit));
    whole.map_or(format!("{bytes} bytes"), |(name, unit)| format!("{} {name}", bytes / unit))
}

/// A path from the settings: `~` is the home, others are relative to the working directory.
fn place(name: &str, home: Option<&Path>, working_directory: &Path) -> OsString {
    let path = match (name.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_owned(),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => working_directory.join(name),
    };
    // With all links resolved where it exists: rules hold for what is there, not for names.
    path.canonicalize().unwrap_or(path).into()
}

#[cfg(test)]
#[path = "sandbox_tests.rs"]
mod tests;
