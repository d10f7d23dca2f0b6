//! Tests of looking at the log, and of finding that somebody changed it.

use crate::home::{Home, until};

fn tamper(home: &Home, sql: &str) {
    let connection = rusqlite::Connection::open(home.database()).unwrap();
    let changed = connection.execute(sql, []).unwrap();
    assert!(changed > 0, "{sql}");
}

#[test]
fn an_untouched_store_is_found_whole() {
    let home = Home::new();
    home.run(&["verify"]).succeeded();
    home.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
    home.run(&["verify"]).succeeded().says("ok: ").says("1 world and 1 chat");
    home.run(&["verify", "-w", "demo"]).succeeded();
    let json = home.run(&["verify", "--json"]).succeeded().json();
    assert_eq!(json[0]["ok"], true);
    home.run(&["verify", "-w", "none"]).with_code(1).warns("world none does not exist");
}

#[test]
fn a_changed_event_is_found() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    tamper(&home, "UPDATE events SET payload = replace(payload, 'hello', 'hullo') WHERE seq = 2");
    home.run(&["verify"]).with_code(1).warns("broken: the log of chat").says("problem");
    let json = home.run(&["verify", "--json"]).with_code(1).json();
    assert_eq!(json[0]["ok"], false);
}

#[test]
fn a_removed_event_is_found() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    tamper(&home, "DELETE FROM events WHERE seq = 3");
    home.run(&["verify"]).with_code(1).warns("broken: the log of chat");
}

#[test]
fn a_changed_read_model_is_found() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    tamper(&home, "UPDATE messages SET document = replace(document, 'hello', 'hullo')");
    home.run(&["verify"]).with_code(1).warns("is not what its log says");
}

#[test]
fn the_newest_events_are_shown_and_then_those_after_a_position() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let all = home.run(&["events", "tail", "--after", "0", "--json"]).succeeded().json();
    let positions: Vec<u64> = all.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert!(positions.is_sorted_by(|one, next| one < next), "{positions:?}");
    let later = home.run(&["events", "tail", "--after", &positions[2].to_string(), "--json"]);
    assert_eq!(later.succeeded().json(), all[3..]);
    let newest = home.run(&["events", "tail", "-n", "2", "--json"]).succeeded().json();
    assert_eq!(newest, all[all.len() - 2..]);
    let chat = newest[0]["chat_id"].as_str().unwrap();
    let of_chat = home.run(&["events", "tail", "-c", chat, "-w", "demo"]).succeeded();
    of_chat.says(" message human: hello").says(" message ada: ").says(" activity idle");
    home.run(&["events", "tail", "-c", "chat_none"]).with_code(1).warns("chat chat_none does not");
    home.run(&["events", "tail", "-w", "none"]).with_code(1).warns("world none does not exist");
}

#[test]
fn events_can_be_followed_as_they_are_stored() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    let tail = home.start(&["events", "tail", "--follow"]);
    tail.wait_for("human: hello");
    home.run(&["send", "@bob thanks"]).succeeded();
    tail.wait_for("human: @bob thanks");
    until("bob's answer", || tail.out().contains(" message bob: "));
    tail.signal("INT");
    tail.wait().succeeded();
}

#[test]
fn secrets_are_masked_wherever_the_log_and_requests_are_shown() {
    let home = Home::new();
    let secrets = ["sk-abcdefghijklmnop1234567890", "hunter2"];
    let [key, password] = secrets;
    let long = "x".repeat(72);
    // The last one is cut in the middle of its key when it is shown on one line.
    for message in [
        format!("run curl --token {key} http://x"),
        format!("run curl --password {password} http://x"),
        format!("run echo {long} {key}"),
    ] {
        home.run(&["send", "--new", "--approve", "wait", &message]).with_code(3);
    }
    let id = home.waiting().remove(0);
    home.run(&["approvals", "approve", &id]).succeeded();
    for arguments in [
        vec!["approvals", "list"],
        vec!["approvals", "list", "--json"],
        vec!["events", "tail", "--after", "0"],
        vec!["events", "tail", "--after", "0", "--json"],
        vec!["resume", "--json"],
    ] {
        let ended = home.run(&arguments).succeeded();
        assert!(!ended.out.is_empty(), "{arguments:?}");
        // What somebody said is handed to programs as it was said.
        let said = |line: &&str| line.contains(r#""type":"message""#);
        for line in ended.out.lines().filter(|line| !said(line)) {
            for hidden in ["sk-abcdef", password] {
                assert!(!line.contains(hidden), "{arguments:?}: {hidden} in {line}");
            }
        }
    }
}

#[test]
fn the_newest_events_are_read_from_the_end() {
    let home = Home::new();
    for number in 0..4 {
        home.run(&["send", &format!("hello {number}")]).succeeded();
    }
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = crate::serve::address(&server);
    let all = home.run(&["events", "tail", "--after", "0", "--json"]).succeeded().json();
    let chat = all.iter().find_map(|event| event["chat_id"].as_str()).unwrap();
    for scope in [&[][..], &["-w", "demo"], &["-c", chat]] {
        let tail = |more: &[&str]| {
            let arguments = [&["events", "tail", "--json"], scope, more].concat();
            home.run(&arguments).succeeded().json()
        };
        let all = tail(&["--after", "0"]);
        for number in [0, 1, 7, all.len(), all.len() + 5] {
            let newest = tail(&["-n", &number.to_string()]);
            assert_eq!(newest, all[all.len().saturating_sub(number)..], "{scope:?} {number}");
        }
    }
    // Page by page back to the beginning.
    let (mut before, mut read) = (u64::MAX.to_string(), Vec::new());
    loop {
        let path = format!("/api/events?limit=3&before={before}");
        let (status, body) = crate::serve::get(&address, &path);
        assert_eq!(status, 200, "{body}");
        let page: serde_json::Value = serde_json::from_str(&body).unwrap();
        let events = page["data"].as_array().unwrap().clone();
        assert!(events.len() <= 3);
        read.splice(0..0, events);
        match page["next"].as_str() {
            Some(next) => before = next.to_owned(),
            None => break,
        }
    }
    assert_eq!(read, all);
    for wrong in ["after=1&before=2", "before=x"] {
        let (status, _) = crate::serve::get(&address, &format!("/api/events?{wrong}"));
        assert!((400..500).contains(&status), "{wrong}: {status}");
    }
}
