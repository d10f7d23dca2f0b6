//! Tests of how commands find a server on the data folder: only the one that announced itself there is talked to, and
//! whatever else may listen, or not answer, keeps nobody from the store.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::home::Home;
use crate::serve::address;

/// Says that a server runs there, in the name of a process that is alive.
fn announce(home: &Home, address: &str) {
    let said = json!({
        "url": format!("http://{address}"),
        "pid": std::process::id(),
        "instance": "0123456789abcdef0123456789abcdef",
        "started_at": "2026-11-15T05:59:00Z",
    });
    fs::write(home.path().join("server.json"), said.to_string()).unwrap();
}

#[test]
fn whoever_listens_and_says_nothing_is_passed_by() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    announce(&home, &listener.local_addr().unwrap().to_string());
    home.run(&["world", "list"]).succeeded().says("demo         1      ada, bob");
    home.run(&["send", "hello"]).succeeded().says("ada: ");
    home.run(&["doctor"]).says("does not answer");
}

#[test]
fn another_program_at_the_address_gets_no_token_and_no_message() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    announce(&home, &listener.local_addr().unwrap().to_string());
    let asked = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&asked);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut buffer = [0; 4096];
            let length = stream.read(&mut buffer).unwrap_or(0);
            heard.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..length]));
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nok\n";
            stream.write_all(answer.as_bytes()).ok();
        }
    });
    let token = [("AGENT_WORLD_TOKEN", "aw_a-token-of-a-test")];
    let sent = home.run_where(&token, &["send", "a message of a test"]).succeeded();
    sent.says("ada: ");
    let asked = asked.lock().unwrap().clone();
    assert!(asked.contains("GET /healthz"), "{asked}");
    for secret in ["a-token-of-a-test", "message of a test", "/api/", "authorization"] {
        assert!(!asked.to_lowercase().contains(secret), "{asked}");
    }
    home.run(&["doctor"]).says("ended without a word");
}

#[test]
fn the_server_that_announced_itself_says_which_one_it_is() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = address(&server);
    let said = fs::read_to_string(home.path().join("server.json")).unwrap();
    let said: Value = serde_json::from_str(&said).unwrap();
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let instance = said["instance"].as_str().unwrap();
    assert_eq!(instance.len(), 32);
    assert!(answer.contains(&format!("agent-world-instance: {instance}\r\n")), "{answer}");
    assert!(answer.ends_with("\r\n\r\nok\n"), "{answer}");
    // It is found by that, and does the work.
    home.run(&["send", "--approve", "wait", "run ls"]).with_code(3);
    home.run(&["resume"]).succeeded().warns(&format!("the server at http://{address}"));
}
