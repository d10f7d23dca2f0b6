//! Asks the kernel for one connection by its two addresses, over its socket for such questions.
//! Used by `peer`. A table of all connections is the other way to find out; to read it costs milliseconds, and this
//! microseconds. Never certain that there is none: where the kernel lacks the part that answers, it says the same.

use std::net::{IpAddr, Ipv6Addr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// Kind of the question, and of its answer.
const BY_FAMILY: u16 = 20;
const REQUEST: u16 = 1;
const HEADER: usize = 16;
const QUESTION: usize = HEADER + 56;
/// Behind the header, the family and three bytes of state, then both ports and addresses.
const PLACE: usize = HEADER + 4;
const INODE: usize = HEADER + 68;
const TCP: u8 = 6;
const ANY_STATE: u32 = u32::MAX;
const NO_COOKIE: [u8; 8] = [0xff; 8];

/// One end of a connection.
pub(super) type End = (IpAddr, u16);

/// The number of the socket at one end, 0 if nobody holds it any more. None where it is not to be had this way.
pub(super) fn socket(theirs: End, ours: End) -> Option<u64> {
    let place = place(theirs, ours);
    let family = if theirs.0.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let link = open().ok()?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&link, &question(family, &place), SendFlags::empty(), &kernel).ok()?;
    let mut answer = [0; 512];
    let (length, _) = recv(&link, &mut answer, RecvFlags::DONTWAIT).ok()?;
    read(answer.get(..length)?, &place)
}

fn open() -> Result<OwnedFd, Errno> {
    socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(SOCK_DIAG))
}

/// Both ports, then both addresses, as they are on the wire: first the end that is looked for.
fn place(theirs: End, ours: End) -> Vec<u8> {
    let bytes = |address: IpAddr| match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            Ipv6Addr::from([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).octets()
        }
        IpAddr::V6(address) => address.octets(),
    };
    let ports = [theirs.1.to_be_bytes(), ours.1.to_be_bytes()].concat();
    [ports, bytes(theirs.0).to_vec(), bytes(ours.0).to_vec()].concat()
}

fn question(family: AddressFamily, place: &[u8]) -> Vec<u8> {
    let length = u32::try_from(QUESTION).unwrap_or_default();
    let mut question = Vec::with_capacity(QUESTION);
    question.extend(length.to_ne_bytes());
    question.extend(BY_FAMILY.to_ne_bytes());
    question.extend(REQUEST.to_ne_bytes());
    question.extend([0; 8]);
    question.extend([u8::try_from(family.as_raw()).unwrap_or_default(), TCP, 0, 0]);
    question.extend(ANY_STATE.to_ne_bytes());
    question.extend(place);
    question.extend([0; 4]);
    question.extend(NO_COOKIE);
    question
}

/// For want of the connection itself, the kernel answers with whoever listens at that address: not that.
fn read(answer: &[u8], place: &[u8]) -> Option<u64> {
    let kind = answer.get(4..6)?;
    let is_it = answer.get(PLACE..PLACE + place.len())? == place;
    let inode: [u8; 4] = answer.get(INODE..INODE + 4)?.try_into().ok()?;
    (kind == BY_FAMILY.to_ne_bytes() && is_it).then(|| u32::from_ne_bytes(inode).into())
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener, TcpStream};

    use super::*;

    fn end(address: SocketAddr) -> End {
        (address.ip(), address.port())
    }

    #[test]
    fn a_connection_is_found_and_one_that_is_not_there_is_not() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let ours = listener.local_addr().unwrap();
            let connected = TcpStream::connect(ours).unwrap();
            let theirs = connected.local_addr().unwrap();
            let Some(found) = socket(end(theirs), end(ours)) else {
                // A kernel without it: the table of all connections is read there.
                continue;
            };
            let file = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&connected));
            let link = std::fs::read_link(file).unwrap();
            assert_eq!(link.to_str(), Some(format!("socket:[{found}]").as_str()));
            // Whoever listens there is not at the other end.
            assert_eq!(socket(end(ours), (theirs.ip(), theirs.port() ^ 1)), None);
            drop(connected);
            assert_eq!(socket(end(theirs), end(ours)).unwrap_or_default(), 0);
        }
    }
}
