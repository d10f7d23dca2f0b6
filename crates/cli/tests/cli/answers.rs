//! Tests that commands say the same and end in the same way whoever answers: the store, a server beside them, a named one.

use expect_test::expect_file;

use crate::home::{Home, until};
use crate::serve::address;
use crate::whoever::whoever_answers;

const TOUCH: &str = "run touch made";

#[test]
fn sending() {
    let told = whoever_answers(|asked| {
        let mut told = asked.told(&["send", "hello"]);
        asked.settle();
        told += &asked.told(&["send", "-w", "demo", "@bob hello"]);
        told += &asked.told(&["send", TOUCH]);
        told += &asked.told(&["send", "--approve", "read-only", TOUCH]);
        told +=
            &asked.told(&["send", "--approve", "read-only", "call read_file {\"path\": \"x\"}"]);
        assert!(!asked.home.file("made").exists(), "{}", asked.name);
        told += &asked.told(&["send", "--approve", "all", TOUCH]);
        assert!(asked.home.file("made").exists(), "{}", asked.name);
        told += &asked.told(&["send", "--approve", "wait", "run touch later"]);
        told += &asked.told(&["send", "-w", "none", "hello"]);
        told += &asked.told(&["send", "-c", "chat_none", "hello"]);
        told += &asked.told(&["send", "--events", "hello"]);
        told += &asked.told(&["send"]);
        told
    });
    expect_file!["answered/sending.txt"].assert_eq(&told);
}

#[test]
fn sending_for_programs() {
    let told = whoever_answers(|asked| {
        asked.run(&["send", "hello"]).succeeded();
        asked.settle();
        let mut told = asked.told(&["send", "--json", "--approve", "all", "run echo hi"]);
        asked.settle();
        let events = ["send", "--json", "--events", "--approve", "all", "run echo again"];
        let sent = asked.run(&events).succeeded().json();
        // All of them, as the log has them.
        let after = (sent[0]["seq"].as_u64().unwrap() - 1).to_string();
        let logged = asked.run(&["events", "tail", "--after", &after, "--json"]).succeeded().json();
        assert_eq!(logged, sent);
        for event in sent {
            told += &format!("{} {}\n", event["seq"], event["type"]);
        }
        told
    });
    expect_file!["answered/sending_for_programs.txt"].assert_eq(&told);
}

#[test]
fn approvals() {
    let told = whoever_answers(|asked| {
        let mut told = asked.told(&["approvals", "list"]);
        told += &asked.told(&["approvals", "list", "--json"]);
        asked.run(&["send", "hello"]).succeeded();
        asked.settle();
        asked.run(&["send", "--approve", "wait", TOUCH]).with_code(3);
        let id = asked.waiting().remove(0);
        told += &asked.told(&["approvals", "list", "-w", "demo"]);
        told += &asked.told(&["approvals", "show", &id]);
        told += &asked.told(&["approvals", "show", &id, "--json"]);
        told += &asked.told(&["approvals", "approve", &id, "--match", "1"]);
        told += &asked.told(&["approvals", "approve", &id, "--scope", "session", "--match", "9"]);
        told += &asked.told(&["approvals", "approve", &id, "--arguments", "{}"]);
        told += &asked.told(&["approvals", "approve", &id, "--scope", "always"]);
        asked.go_on("made");
        told += &asked.told(&["approvals", "deny", &id, "--json"]);
        let events = asked.run(&["events", "tail", "--after", "0", "--json"]).succeeded().json();
        let rule = events.iter().find(|event| event["data"]["entity"] == "rule").unwrap();
        let rule = rule["data"]["id"].as_str().unwrap();
        told += &asked.told(&["approvals", "revoke", rule]);
        told += &asked.told(&["approvals", "revoke", rule, "--json"]);
        asked.run(&["send", "--approve", "wait", TOUCH]).with_code(3);
        let id = asked.waiting().remove(0);
        told += &asked.told(&["approvals", "deny", &id, "--reason", "not now"]);
        told += &asked.told(&["approvals", "approve", "apr_none"]);
        told += &asked.told(&["approvals", "list", "-w", "none"]);
        told
    });
    expect_file!["answered/approvals.txt"].assert_eq(&told);
}

#[test]
fn what_happened() {
    let told = whoever_answers(|asked| {
        asked.run(&["send", "hello"]).succeeded();
        asked.settle();
        let mut told = asked.told(&["stats"]);
        told += &asked.told(&["audit", "--tool", "shell_cmd"]);
        asked.run(&["send", "--approve", "all", "run echo hi"]).succeeded();
        asked.settle();
        for command in [
            &["events", "tail", "-n", "100"][..],
            &["events", "tail", "-n", "3", "-w", "demo", "--json"],
            &["events", "tail", "-c", "chat_none"],
            &["events", "tail", "-w", "none"],
            &["audit"],
            &["audit", "--limit", "2"],
            &["audit", "--kind", "decided", "--json"],
            &["audit", "-w", "none"],
            &["stats"],
            &["stats", "-w", "demo", "--json"],
            &["stats", "-w", "none"],
            &["verify"],
            &["verify", "-w", "demo", "--json"],
            &["verify", "-w", "none"],
        ] {
            told += &asked.told(command);
        }
        told
    });
    expect_file!["answered/what_happened.txt"].assert_eq(&told);
}

#[test]
fn a_tampered_log_is_found_whoever_looks() {
    let told = whoever_answers(|asked| {
        asked.run(&["send", "hello"]).succeeded();
        asked.settle();
        let connection = rusqlite::Connection::open(asked.home.database()).unwrap();
        let sql = "UPDATE events SET payload = replace(payload, 'hello', 'hullo') WHERE seq = 2";
        assert!(connection.execute(sql, []).unwrap() > 0);
        asked.told(&["verify"]) + &asked.told(&["verify", "--json"])
    });
    expect_file!["answered/a_tampered_log_is_found_whoever_looks.txt"].assert_eq(&told);
}

#[test]
fn events_and_requests_are_heard_as_they_come_whoever_tells() {
    whoever_answers(|asked| {
        asked.run(&["send", "hello"]).succeeded();
        let tail = asked.start(&["events", "tail", "--follow", "-n", "1"]);
        let watch = asked.start(&["approvals", "list", "--watch"]);
        watch.wait_for("nothing is waiting for approval");
        asked.run(&["send", "--approve", "wait", TOUCH]).with_code(3);
        tail.wait_for(" message human: run touch made");
        tail.wait_for(" approval apr_");
        watch.wait_for("ada: $ touch made");
        for running in [tail, watch] {
            running.signal("INT");
            running.wait().succeeded();
        }
        String::new()
    });
}

#[test]
fn a_token_that_may_not_decide_leaves_the_request_waiting() {
    let home = Home::new();
    let made = home.run(&["token", "create", "eve", "--role", "member", "--json"]).succeeded();
    let token = made.json()[0]["token"].as_str().unwrap().to_owned();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    let variables = [("AGENT_WORLD_TOKEN", token.as_str())];
    let named = |arguments: &[&str]| {
        home.run_where(&variables, &[&["--server", url.as_str()], arguments].concat())
    };
    let sent = named(&["send", "--approve", "all", TOUCH]).with_code(3);
    sent.warns("is not decided: ").warns(" is waiting: ada wants to use shell_cmd");
    named(&["verify"]).with_code(1).warns("admin");
    let none = home.run_where(&[], &["--server", &url, "approvals", "list"]).with_code(1);
    none.warns("token");
    // Whoever holds the store needs no token of the server that runs on it.
    assert_eq!(home.waiting().len(), 1);
}

#[test]
fn a_message_survives_the_server_it_was_sent_through() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    address(&server);
    home.run(&["send", "hello"]).succeeded();
    let command = "run sh -c 'touch made; while [ ! -e go ]; do sleep 0.05; done'";
    let sent = home.start(&["send", "--json", "--approve", "all", command]);
    until("the command", || home.file("made").exists());
    server.crash();
    sent.wait_for_warning("the server has ended; this process does the work now");
    let ended = sent.wait().with_code(1).says("\"state\":\"interrupted\"");
    let ended =
        ended.warns("shell_cmd of ada was interrupted: it may or may not have taken effect");
    let replies = ended.json();
    let posted = replies.iter().filter(|one| one["role"] == "user").count();
    assert_eq!(posted, 1, "{replies:#?}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let home = Home::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let commands: [&[&str]; 7] = [
        &["send", "hello"],
        &["approvals", "list"],
        &["events", "tail"],
        &["audit"],
        &["stats"],
        &["verify"],
        &["health"],
    ];
    for command in commands {
        let ended = home.run(&[&["--server", url.as_str()], command].concat()).with_code(1);
        ended.warns(&format!("nobody answers at {url}"));
    }
    home.run(&["--server", "nonsense", "audit"]).with_code(1).warns("write it as http://HOST:PORT");
}

#[test]
fn health_is_told_by_address_and_by_folder() {
    let home = Home::new();
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    for arguments in [vec!["health"], vec!["health", &url], vec!["--server", &url, "health"]] {
        let ended = home.run(&arguments).succeeded();
        assert_eq!(ended.out, format!("ready: {url}\n"), "{arguments:?}");
    }
}
