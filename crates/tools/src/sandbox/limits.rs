//! Limits what one process may use, and takes from an administrator's processes what no program needs.
//! Called in the process that becomes the program. What all processes of a call use together is watched by the launcher.

use rustix::io;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

use super::Confinement;

/// What builds and package managers need: to own, change and read files whoever they belong to, and to become somebody else.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE);

pub fn enter(confinement: &Confinement) -> io::Result<()> {
    // No program started from here on gets more rights than it was given.
    set_no_new_privs(true)?;
    limit(Resource::Fsize, confinement.file_bytes)?;
    limit(Resource::Data, confinement.memory_bytes)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Nproc, threads_for(confinement.processes))?;
    let CapabilitySets { effective, permitted, .. } = capabilities(None)?;
    let kept = CapabilitySets {
        effective: effective & KEPT,
        permitted: permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, kept)
}

/// Never more than this process has already.
fn limit(resource: Resource, wanted: u64) -> io::Result<()> {
    let ceiling = getrlimit(resource).maximum;
    let limit = Some(ceiling.map_or(wanted, |ceiling| ceiling.min(wanted)));
    setrlimit(resource, Rlimit { current: limit, maximum: limit })
}

/// A bound that no ordinary user's program can pass, whatever it does between two looks of the launcher. The kernel counts
/// all threads of the user, so there must be room for the others, of which there are no more than there are at all.
fn threads_for(processes: u32) -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let all =
        load.split_whitespace().nth(3).and_then(|field| field.split_once('/')?.1.parse().ok());
    all.unwrap_or(1024_u64).saturating_add(u64::from(processes).saturating_mul(4)).max(1024)
}
