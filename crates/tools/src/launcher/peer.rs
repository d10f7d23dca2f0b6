//! Finds out whether a program that this process started is at the other end of a connection on this machine.
//! Asked by a server that lets in whoever is at the machine: its own agents' commands are there, too. Looks only at what the
//! kernel tells, and at all programs of the machine only where its own ones cannot be told apart.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;

use super::{ARGUMENT, SUPERVISE, family, lookup};

/// More than anybody starts; beyond it nothing is certain.
const MOST: usize = 10_000;
/// Looks at programs that come and go while they are looked at.
const ATTEMPTS: usize = 8;

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A program that this process started, or one that such a program started.
    Own,
    /// Somebody else, or this process itself.
    Other,
    /// Nobody any more: whoever it was has let go of the connection.
    Gone,
    /// A program of our own runs, what it holds cannot be seen, and nobody else was found.
    Unclear,
}

/// Who holds the other end of a connection between two addresses of this machine, as this process sees it.
pub fn peer(theirs: SocketAddr, ours: SocketAddr) -> Peer {
    let own = std::process::id();
    if !connections_are_listed() {
        let nothing_runs = family::descendants(own, MOST).is_empty();
        return if nothing_runs { Peer::Other } else { Peer::Unclear };
    }
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let before = family::descendants(own, MOST);
        let held = Held::by(&before);
        // Read after what they hold: one that has ended meanwhile holds nothing, and then nobody does.
        let Some(socket) = held_socket(theirs, ours) else { return Peer::Gone };
        if held.sockets.contains(&socket) {
            // What this process holds itself, a program that it is just starting has for a moment, too.
            let is_ours = sockets(own).is_some_and(|sockets| sockets.contains(&socket));
            return if is_ours { Peer::Other } else { Peer::Own };
        }
        last = Some(socket);
        // A program that started another and ended may have handed on what it held.
        if family::descendants(own, MOST) == before {
            if held.all_seen && before.len() <= MOST {
                return Peer::Other;
            }
            break;
        }
    }
    last.map_or(Peer::Gone, |socket| elsewhere(own, socket))
}

/// Whether the kernel tells who holds a connection: a service may be kept from seeing it. Tried once, on one of our own.
fn connections_are_listed() -> bool {
    static LISTED: OnceLock<bool> = OnceLock::new();
    let tried = || {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let ours = listener.local_addr()?;
        let connected = TcpStream::connect(ours)?;
        let socket = held_socket(connected.local_addr()?, ours);
        let held = sockets(std::process::id()).unwrap_or_default();
        Ok::<bool, std::io::Error>(socket.is_some_and(|socket| held.contains(&socket)))
    };
    *LISTED.get_or_init(|| tried().unwrap_or(false))
}

/// The sockets of some programs.
struct Held {
    sockets: BTreeSet<u64>,
    /// None of them could keep us from looking.
    all_seen: bool,
}

impl Held {
    fn by(programs: &[u32]) -> Self {
        let mut held = Self { sockets: BTreeSet::new(), all_seen: true };
        for program in programs {
            match sockets(*program) {
                Some(sockets) => held.sockets.extend(sockets),
                // Launchers hide themselves from what they run; one that has ended holds nothing.
                None => held.all_seen &= is_launcher(*program) || is_over(*program),
            }
        }
        held
    }
}

/// Looks for somebody else who holds a socket. Costs a look at every program of this machine.
fn elsewhere(own: u32, socket: u64) -> Peer {
    let holds = |program: &u32| sockets(*program).is_some_and(|held| held.contains(&socket));
    match family::everybody().find(holds) {
        Some(program) if descends(program, own) => Peer::Own,
        Some(_) => Peer::Other,
        None => Peer::Unclear,
    }
}

/// None where they cannot be seen.
fn sockets(program: u32) -> Option<Vec<u64>> {
    let files = fs::read_dir(format!("/proc/{program}/fd")).ok()?;
    let targets = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let number = |target: std::path::PathBuf| {
        target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Some(targets.filter_map(number).collect())
}

fn descends(program: u32, from: u32) -> bool {
    let mut current = program;
    // Each is older than the one before; the bound is for numbers that are given anew meanwhile.
    for _ in 0..MOST {
        match family::stat(current).and_then(|stat| stat.parent()) {
            Some(parent) if parent == from => return true,
            Some(parent) if parent > 1 => current = parent,
            _ => return false,
        }
    }
    true
}

fn is_over(program: u32) -> bool {
    family::stat(program).is_none_or(|stat| stat.is_over())
}

fn is_launcher(program: u32) -> bool {
    let line = fs::read(format!("/proc/{program}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).skip(1);
    words.next() == Some(ARGUMENT.as_bytes()) && words.next() == Some(SUPERVISE.as_bytes())
}

/// The other end's socket, if anybody holds it.
fn held_socket(theirs: SocketAddr, ours: SocketAddr) -> Option<u64> {
    let (theirs, ours) = (plain(theirs), plain(ours));
    if let Some(socket) = lookup::socket(theirs, ours) {
        return (socket != 0).then_some(socket);
    }
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|table| {
        let table = fs::read_to_string(table).ok()?;
        let found = table.lines().skip(1).find_map(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let is_it = address(fields.next()?)? == theirs && address(fields.next()?)? == ours;
            // After the state, two queues, a timer and what it is for, its owner and the probes.
            is_it.then(|| fields.nth(6)?.parse::<u64>().ok()).flatten()
        });
        // A connection that its program has let go of is still listed for a while, as nobody's.
        found.filter(|socket| *socket != 0)
    })
}

/// The same address is written in two ways, by which kind of socket somebody uses.
fn plain(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

/// Groups of four bytes as this machine keeps them in memory, then the port.
fn address(text: &str) -> Option<(IpAddr, u16)> {
    let (host, port) = text.split_once(':')?;
    let group = |at: usize| -> Option<[u8; 4]> {
        let digits = host.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let host = match host.len() {
        8 => IpAddr::from(group(0)?),
        32 => {
            let groups = [group(0)?, group(1)?, group(2)?, group(3)?];
            let bytes: [u8; 16] = groups.concat().try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some((host, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
