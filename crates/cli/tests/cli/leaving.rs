//! Tests of `send` that somebody ends: at any moment it ends at once, and says what goes on without it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::home::{Home, Running, until};
use crate::serve::address;

const ANY_PORT: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// Waits until a program handles Ctrl-C itself.
fn until_it_listens(running: &Running) {
    until("a program that listens for signals", || {
        let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
        caught & 0b10 != 0
    });
}

/// Hands everything on to a server but the message that is posted; says when it has come.
fn proxy(to: String) -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let held = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&held);
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(&to).unwrap();
            let (mut up, mut down) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut { server }, &mut down));
            let (seen, to) = (Arc::clone(&seen), to.clone());
            thread::spawn(move || {
                let mut client = client;
                let mut buffer = [0; 1 << 16];
                while let Ok(length @ 1..) = client.read(&mut buffer) {
                    let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                    if text.starts_with("POST ") && text.contains("/messages HTTP") {
                        seen.store(true, Ordering::SeqCst);
                        // Kept open, and answered by nobody.
                        thread::park();
                    }
                    // The server checks for whom it was meant.
                    let text = text.replace(&address.to_string(), &to);
                    up.write_all(text.as_bytes()).unwrap();
                }
            });
        }
    });
    (format!("http://{address}"), held)
}

#[test]
fn while_a_message_is_read_nothing_is_sent() {
    for signal in ["INT", "TERM"] {
        let home = Home::new();
        let send = home.start(&["send", "-"]);
        until_it_listens(&send);
        send.signal(signal);
        send.wait().with_code(1).says_nothing().warns("nothing was sent");
        // Nothing was stored.
        assert_eq!(fs::metadata(home.database()).map_or(0, |found| found.len()), 0);
    }
}

#[test]
fn while_a_server_does_not_answer_nothing_is_sent() {
    let home = Home::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let send = home.start(&["--server", &url, "send", "hello"]);
    let _connection = listener.accept().unwrap();
    send.signal("TERM");
    send.wait().with_code(1).says_nothing().warns("nothing was sent");
}

#[test]
fn while_the_message_is_on_its_way_nobody_knows() {
    let home = Home::new();
    let server = home.start(&ANY_PORT);
    let (url, held) = proxy(address(&server));
    let mut send = home.start(&["--server", &url, "send", "hello"]);
    send.close();
    until("the message", || held.load(Ordering::SeqCst));
    send.signal("INT");
    let ended = send.wait().with_code(1).says_nothing();
    let next = format!("`agent-world --server {url} chat show chat_");
    ended.warns("whether it was accepted is not known").warns(&next);
}

#[test]
fn while_a_server_works_it_is_told_who_goes_on() {
    let home = Home::new();
    let server = home.start(&ANY_PORT);
    let url = format!("http://{}", address(&server));
    let command = "run sh -c 'touch begun; while [ ! -e go ]; do sleep 0.05; done; touch done'";
    let mut send = home.start(&["send", "--approve", "all", command]);
    send.close();
    until("the command", || home.file("begun").exists());
    send.signal("INT");
    let ended = send.wait().with_code(1).warns("the message was accepted in chat_");
    ended.warns("ada uses tools").warns(&format!("nothing is lost: {url} goes on"));
    fs::write(home.file("go"), "").unwrap();
    until("its end", || home.file("done").exists());
}
