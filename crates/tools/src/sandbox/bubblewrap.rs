//! Puts namespaces around a program with bubblewrap, where it is installed and works.
//! Called by the launcher, which runs itself again inside: everything else holds there as it does outside. Adds what the
//! kernel's other means cannot do: processes of others are not seen, nothing outside can be changed in any way, and hidden
//! folders can lie inside the working directory.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::{Confinement, Devices, Network};

const PATIENCE: Duration = Duration::from_secs(5);

/// One program's surroundings, about to be made.
#[derive(Debug)]
pub struct Bubble<'a> {
    pub confinement: &'a Confinement,
    /// The call's temporary folder.
    pub own: &'a Path,
    /// What is run inside.
    pub launcher: &'a Path,
}

/// What is put over the system's own files, from the outside in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Layer {
    Readable,
    Changeable,
    Hidden,
}

impl Bubble<'_> {
    /// The command so far; what to run is still to be added.
    pub fn command(&self, bubblewrap: &OsStr) -> Command {
        let mut command = Command::new(bubblewrap);
        command.args(["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
        command.args(["--unshare-cgroup-try"]);
        if self.confinement.network == Network::Denied {
            command.arg("--unshare-net");
        }
        command.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]);
        for (path, layer) in self.layers() {
            match layer {
                Layer::Readable => command.arg("--ro-bind").arg(path).arg(path),
                Layer::Changeable => command.arg("--bind").arg(path).arg(path),
                Layer::Hidden if path.is_dir() => command.arg("--tmpfs").arg(path),
                Layer::Hidden => command.args(["--ro-bind", "/dev/null"]).arg(path),
            };
        }
        command.arg("--");
        command
    }

    /// Outer ones first, so that each lies on top of what it is in.
    fn layers(&self) -> Vec<(&Path, Layer)> {
        let changeable =
            self.confinement.changeable(self.own).map(|path| (path, Layer::Changeable));
        let hidden = self.confinement.hidden.iter().map(|path| (Path::new(path), Layer::Hidden));
        let mut layers: Vec<(&Path, Layer)> = [(self.launcher, Layer::Readable)]
            .into_iter()
            .chain(changeable)
            .chain(hidden)
            .filter(|(path, _)| path.exists())
            .collect();
        layers.sort_by_key(|(path, layer)| (path.components().count(), *layer));
        layers
    }
}

impl Confinement {
    /// Whether everything around was arranged already.
    pub(crate) fn is_inside_bubble(&self) -> bool {
        self.devices == Devices::ItsOwn
    }

    /// The same, as it is inside.
    pub(crate) fn inside_bubble(&self) -> Self {
        let bubblewrap = Err("it is inside already".to_owned());
        Self { devices: Devices::ItsOwn, bubblewrap, ..self.clone() }
    }

    /// The same, with a reason to go without.
    pub(crate) fn without_bubble(&self, reason: String) -> Self {
        Self { bubblewrap: Err(reason), ..self.clone() }
    }
}

/// Where bubblewrap is, if it works; tried once.
pub fn find() -> Result<PathBuf, String> {
    static FOUND: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    FOUND.get_or_init(probe).clone()
}

/// Not by this process's search path: whoever could change that could hollow out the confinement.
fn probe() -> Result<PathBuf, String> {
    let places = [
        "/usr/bin/bwrap",
        "/bin/bwrap",
        "/usr/local/bin/bwrap",
        "/run/current-system/sw/bin/bwrap",
    ];
    let path = places
        .iter()
        .map(PathBuf::from)
        .find(|path| path.is_file())
        .ok_or("bubblewrap is not installed")?;
    let tried = Command::new(&path)
        .args([
            "--die-with-parent",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-net",
        ])
        .args([
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--",
            "/proc/self/exe",
            "--version",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let mut tried = tried.map_err(|error| format!("bubblewrap cannot be started: {error}"))?;
    let give_up = Instant::now() + PATIENCE;
    while Instant::now() < give_up {
        match tried.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(path),
            Ok(Some(_)) => return Err("bubblewrap may not make namespaces here".to_owned()),
            Ok(None) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(format!("bubblewrap cannot be tried: {error}")),
        }
    }
    // Both fail only when it has ended meanwhile.
    tried.kill().ok();
    tried.wait().ok();
    Err("bubblewrap does not answer".to_owned())
}
