//! A connection that loses the answer to the first message that is posted, after the server has carried it out.
//! What is sent again must not be posted again.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::home::{Home, until};
use crate::pty::Pty;
use crate::serve::address;

/// Stands between a client and a server, and passes everything on but for that one answer.
struct Lossy {
    address: String,
    posted: Arc<AtomicUsize>,
    /// The keys under which messages were posted.
    keys: Arc<Mutex<Vec<String>>>,
}

impl Lossy {
    fn before(server: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (posted, keys) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(Vec::new())));
        let known = (Arc::clone(&posted), Arc::clone(&keys));
        thread::spawn(move || {
            for client in listener.incoming().filter_map(Result::ok) {
                let Ok(server) = TcpStream::connect(&server) else { continue };
                let known = (Arc::clone(&known.0), Arc::clone(&known.1));
                thread::spawn(move || pass_on(client, server, &known.0, &known.1));
            }
        });
        Self { address, posted, keys }
    }

    #[track_caller]
    fn has_lost_one_that_was_sent_again(&self) {
        until("the second attempt", || self.posted.load(Ordering::SeqCst) >= 2);
        let keys = self.keys.lock().unwrap();
        assert!(!keys[0].is_empty() && keys[0] == keys[1], "{keys:?}");
    }
}

fn pass_on(
    mut client: TcpStream,
    mut server: TcpStream,
    posted: &AtomicUsize,
    keys: &Mutex<Vec<String>>,
) {
    let loses = Arc::new(AtomicBool::new(false));
    let (answers, back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let lost = Arc::clone(&loses);
    thread::spawn(move || answer(answers, back, &lost));
    let mut buffer = [0; 64 * 1024];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let request = String::from_utf8_lossy(&buffer[..length]).to_lowercase();
        let head = request.lines().next().unwrap_or_default();
        if head.starts_with("post ") && head.contains("/messages ") {
            let key = request.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
            keys.lock().unwrap().push(key.unwrap_or_default().to_owned());
            loses.store(posted.fetch_add(1, Ordering::SeqCst) == 0, Ordering::SeqCst);
        }
        if server.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}

fn answer(mut answers: TcpStream, mut back: TcpStream, loses: &AtomicBool) {
    let mut buffer = [0; 64 * 1024];
    while let Ok(length @ 1..) = answers.read(&mut buffer) {
        // Carried out, for there is an answer; but nobody gets it.
        if loses.load(Ordering::SeqCst) || back.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    for stream in [&back, &answers] {
        stream.shutdown(Shutdown::Both).ok();
    }
}

/// How often a message was stored.
fn stored(home: &Home) -> usize {
    let listed = home.run(&["chat", "list", "--json"]).succeeded();
    let chat = listed.json()[0]["id"].as_str().unwrap().to_owned();
    home.run(&["chat", "show", &chat]).succeeded().out.matches("human: hello").count()
}

#[test]
fn a_message_whose_answer_was_lost_is_posted_once_from_a_terminal() {
    let home = Home::new();
    home.run(&["world", "create", "demo", "--agent", "ada"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let lossy = Lossy::before(address(&server));
    let url = format!("http://{}", lossy.address);
    let mut chat = Pty::start(&home, &["chat", "--server", &url], 80, 24);
    chat.wait_for("Connected to");
    chat.keys("hello\r");
    chat.wait_for_line("> hello");
    lossy.has_lost_one_that_was_sent_again();
    chat.wait_until("the answer", |screen| {
        screen.contains("\nada\n") && !screen.contains("(sending)")
    });
    chat.keys("\x04");
    chat.ends(0);
    assert_eq!(stored(&home), 1);
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn a_message_whose_answer_was_lost_is_posted_once_from_a_pipe() {
    let home = Home::new();
    home.run(&["world", "create", "demo", "--agent", "ada"]).succeeded();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let lossy = Lossy::before(address(&server));
    let url = format!("http://{}", lossy.address);
    home.run_with(&["chat", "--server", &url], "hello\n").succeeded().says("ada: ");
    lossy.has_lost_one_that_was_sent_again();
    assert_eq!(stored(&home), 1);
    server.signal("TERM");
    server.wait().succeeded();
}
