//! Decides which files a program may touch, and has the kernel's landlock hold it to that.
//! Called in the process that becomes the program. Landlock only grants: everything but some hidden places is granted
//! sibling by sibling along the way to each of them. Listing is granted on that way and so below it: names can be listed
//! in hidden folders, too, but nothing in them can be read. Rights, owners and times of files are not landlock's business.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError,
    RulesetStatus, Scope,
};

use super::{Confinement, Devices, Network};

/// What the rules are written for; an older kernel holds to as many as it knows.
const KNOWN: ABI = ABI::V7;
/// From here on signals are confined too.
pub const NEEDED: u32 = 6;

const ABSENT: &str = "this kernel has no landlock, or it is switched off";

const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Where programs, their libraries and their settings are.
const SYSTEM: [&str; 13] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/proc",
    "/sys",
    "/run/systemd/resolve",
];

/// What a kernel older than a version does not confine.
const SINCE: [(u32, &str); 4] = [
    (3, "truncating files that may not be written"),
    (4, "TCP ports by rules of the file system"),
    (5, "control of devices"),
    (6, "signals and abstract sockets"),
];

/// Returns the version of the kernel's interface.
pub fn enter(
    confinement: &Confinement,
    own: &Path,
    program: &Path,
    missing: &mut Vec<String>,
) -> Result<u32, String> {
    let status = rules(confinement, own, program, missing)
        .and_then(RulesetCreated::restrict_self)
        .map_err(|error| error.to_string())?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(ABSENT.to_owned());
    }
    let version = version(status.landlock).unwrap_or_default();
    missing.extend(
        SINCE
            .iter()
            .filter(|(since, _)| version < *since)
            .map(|(since, what)| format!("{what}: landlock {version} is older than {since}")),
    );
    if confinement.devices == Devices::TheSystems {
        missing.extend(confinement.exposed().map(|path| {
            format!("`{}` is not hidden: it lies where the program may write", path.display())
        }));
    }
    Ok(version)
}

/// Says which version the kernel has, on a thread that ends afterwards.
pub fn probe() -> Result<u32, String> {
    let status = Ruleset::default()
        .handle_access(AccessFs::MakeBlock)
        .and_then(Ruleset::create)
        .and_then(RulesetCreated::restrict_self)
        .map_err(|error| error.to_string())?;
    version(status.landlock).ok_or_else(|| ABSENT.to_owned())
}

/// Nothing where landlock is not to be had.
fn version(status: LandlockStatus) -> Option<u32> {
    match status {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            Some(kernel_abi.unwrap_or(effective_abi as i32).unsigned_abs())
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => None,
    }
}

fn rules(
    confinement: &Confinement,
    own: &Path,
    program: &Path,
    missing: &mut Vec<String>,
) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?;
    if confinement.network == Network::Denied {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
    }
    let mut created = ruleset.create()?;
    for (path, access) in grants(confinement, own, program, missing) {
        // What has gone meanwhile needs no rule.
        if let Ok(place) = PathFd::new(&path) {
            let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
            created = created.add_rule(PathBeneath::new(place, access))?;
        }
    }
    Ok(created)
}

type Grants = Vec<(PathBuf, BitFlags<AccessFs>)>;

fn grants(
    confinement: &Confinement,
    own: &Path,
    program: &Path,
    missing: &mut Vec<String>,
) -> Grants {
    let read = AccessFs::from_read(KNOWN);
    // Nobody makes devices: they would be ways around these rules.
    let change = AccessFs::from_all(KNOWN)
        & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    let device = AccessFs::ReadFile
        | AccessFs::WriteFile
        | AccessFs::ReadDir
        | AccessFs::Truncate
        | AccessFs::IoctlDev;
    let mut grants = Grants::new();
    let mut hidden: Vec<&Path> = confinement.hidden.iter().map(Path::new).collect();
    // Disks can be read through their devices.
    hidden.push(Path::new("/dev"));
    match &confinement.readable {
        None => reveal(Path::new("/"), &hidden, &mut grants),
        Some(readable) => {
            let system =
                SYSTEM.iter().map(PathBuf::from).filter_map(|path| path.canonicalize().ok());
            for path in system.chain(readable.iter().map(PathBuf::from)) {
                reveal(&path, &hidden, &mut grants);
            }
            grants.push((program.to_owned(), read));
        }
    }
    for path in confinement.changeable(own) {
        if !path.exists() {
            missing.push(format!("`{}` cannot be written: it does not exist", path.display()));
        }
        grants.push((path.to_owned(), change));
    }
    match confinement.devices {
        Devices::TheSystems => {
            grants.extend(DEVICES.iter().map(|path| (PathBuf::from(path), device)));
            grants.push((PathBuf::from("/dev"), AccessFs::ReadDir.into()));
        }
        Devices::ItsOwn => grants.push((PathBuf::from("/dev"), change | AccessFs::IoctlDev)),
    }
    grants
}

/// Grants reading of everything below a place but what is hidden.
fn reveal(path: &Path, hidden: &[&Path], grants: &mut Grants) {
    if hidden.iter().any(|hidden| path.starts_with(hidden)) {
        return;
    }
    if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
        grants.push((path.to_owned(), AccessFs::from_read(KNOWN)));
        return;
    }
    grants.push((path.to_owned(), AccessFs::ReadDir.into()));
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for entry in entries.flatten() {
        // A link may lead to what is hidden; where it leads is granted on its own way if it may be.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink() && !kind.is_socket()) {
            reveal(&entry.path(), hidden, grants);
        }
    }
}
