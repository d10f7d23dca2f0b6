//! Tests of who is at the other end of a connection, with real programs and sockets.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use super::*;

/// A program that connects and says so, and what it connected to.
fn connected(listener: &TcpListener, script: &str) -> (Child, TcpStream) {
    let address = listener.local_addr().unwrap();
    let script = script.replace("PLACE", &format!("/dev/tcp/{}/{}", address.ip(), address.port()));
    let child = Command::new("bash").arg("-c").arg(script).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    stream.read_exact(&mut [0]).unwrap();
    (child, stream)
}

fn seen(stream: &TcpStream) -> Peer {
    peer(stream.peer_addr().unwrap(), stream.local_addr().unwrap())
}

#[test]
fn a_program_of_ours_is_told_from_ourselves() {
    for place in ["127.0.0.1:0", "[::1]:0"] {
        let Ok(listener) = TcpListener::bind(place) else { continue };
        let mine = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        assert_eq!(seen(&theirs), Peer::Other);
        // Also what it starts itself.
        for script in ["exec 3<>PLACE; echo >&3; read", "exec 3<>PLACE; (echo >&3; read) <&0"] {
            let (mut child, stream) = connected(&listener, script);
            assert_eq!(seen(&stream), Peer::Own, "{script}");
            assert_eq!(seen(&theirs), Peer::Other, "while one runs");
            child.stdin.take().unwrap().write_all(b"\n").unwrap();
            child.wait().unwrap();
        }
        drop(mine);
        assert_eq!(seen(&theirs), Peer::Gone);
    }
}

#[test]
fn whoever_speaks_and_goes_away_is_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (mut child, stream) = connected(&listener, "echo >PLACE");
    child.wait().unwrap();
    assert_eq!(seen(&stream), Peer::Gone);
}

#[test]
fn a_socket_for_both_kinds_of_addresses_is_found() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let Ok(mine) = TcpStream::connect(format!("[::ffff:127.0.0.1]:{port}")) else { return };
    let (theirs, _) = listener.accept().unwrap();
    assert_eq!(seen(&theirs), Peer::Other);
    drop(mine);
}

#[test]
fn addresses_are_read_as_the_kernel_writes_them() {
    let native = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let v4 = format!("{}:1CFC", native([127, 0, 0, 1]));
    assert_eq!(address(&v4), Some(("127.0.0.1".parse().unwrap(), 7420)));
    let zero = native([0; 4]);
    let v6 = format!("{zero}{zero}{zero}{}:0001", native([0, 0, 0, 1]));
    assert_eq!(address(&v6), Some(("::1".parse().unwrap(), 1)));
    let mapped = format!("{zero}{zero}{}{}:0001", native([0, 0, 255, 255]), native([127, 0, 0, 1]));
    assert_eq!(address(&mapped), Some(("127.0.0.1".parse().unwrap(), 1)));
    for text in ["", ":", "7F000001", "7F0001:1", "é7F0000:0001", "7F000001:zz"] {
        assert_eq!(address(text), None, "{text}");
    }
}
