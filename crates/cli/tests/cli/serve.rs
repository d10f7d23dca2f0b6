//! Tests of the server as a process: that it starts, says where it is, ends in order, and comes back however it ended.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::home::{Home, Running, until};

const ANY_PORT: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];
/// No model can be asked, whatever the environment of the test holds.
const NO_KEYS: &[(&str, &str)] = &[
    ("OPENAI_API_KEY", ""),
    ("ANTHROPIC_API_KEY", ""),
    ("AGENT_WORLD_LISTEN", "127.0.0.1:0"),
    ("AGENT_WORLD_URL", ""),
];

/// Where a server that was started says it is.
#[track_caller]
pub fn address(server: &Running) -> String {
    server.wait_for("stop       Ctrl-C");
    let out = server.out();
    let (_, rest) = out.split_once("listens on http://").unwrap();
    rest.split_whitespace().next().unwrap().to_owned()
}

/// The status and the body of an answer.
#[track_caller]
pub fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

fn announced(home: &Home) -> Option<Value> {
    let text = fs::read_to_string(home.path().join("server.json")).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// How many processes have this among their arguments.
fn processes(mark: &str) -> usize {
    let all = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let line = |process: fs::DirEntry| fs::read(process.path().join("cmdline")).unwrap_or_default();
    all.map(line).filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

/// Leaves a command for the next start to run, with a mark by which its processes are found.
fn leave_running(home: &Home, script: &str) -> String {
    let mark = format!("mark-{}", home.path().display()).replace('/', "-");
    let id = home.leave_waiting(&format!("run sh -c 'echo x >> ran; {script}' {mark}")).remove(0);
    home.run(&["approvals", "approve", &id]).succeeded();
    mark
}

#[test]
fn the_bare_command_serves_and_says_where_to_go() {
    let home = Home::new();
    let server = home.start_where(NO_KEYS, &[]);
    let address = address(&server);
    assert_eq!(get(&address, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&address, "/readyz"), (200, "ready\n".to_owned()));
    server.wait_for("first start: made the world `demo`");
    for told in ["/docs", "no vendor has a key yet", "/api/worlds", "chat", "Ctrl-C"] {
        server.wait_for(told);
    }
    server.wait_for(home.path().to_str().unwrap());
    server.signal("INT");
    let ended = server.wait().succeeded();
    ended.warns("started").warns("stopping").warns("stopped");
    home.run(&["world", "list"]).succeeded().says("demo         1      ada, bob");
    let again = home.start_where(NO_KEYS, &ANY_PORT);
    self::address(&again);
    again.signal("TERM");
    let ended = again.wait().succeeded().does_not_say("first start");
    assert!(!ended.out.contains("key for"), "{ended:?}");
}

#[test]
fn it_says_in_a_file_where_it_is_and_takes_that_back() {
    let home = Home::new();
    home.run_where(NO_KEYS, &["health"]).with_code(1).warns("no server runs on");
    let server = home.start(&ANY_PORT);
    let address = address(&server);
    let said = announced(&home).unwrap();
    assert_eq!(said["url"], format!("http://{address}"));
    assert_eq!(said["pid"], server.id());
    assert!(said["started_at"].as_str().unwrap().ends_with('Z'), "{said}");
    let file = fs::metadata(home.path().join("server.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    home.run_where(NO_KEYS, &["health"]).succeeded().says(&format!("ready: http://{address}"));
    let doctor = home.run(&["doctor"]);
    let doctor = doctor.says(&format!("a server runs at http://{address} (process "));
    doctor.says("there are no tokens");
    server.signal("TERM");
    server.wait().succeeded();
    assert_eq!(announced(&home), None);
    home.run(&["doctor"]).says("no server runs on this data folder");
}

#[test]
fn it_ends_what_it_runs_and_the_next_start_says_so() {
    let home = Home::new();
    let mark = leave_running(&home, "sleep 3600");
    let server = home.start(&ANY_PORT);
    let at = address(&server);
    until("the command", || home.lines_of("ran") == 1);
    assert!(processes(&mark) > 0);
    let (_, metrics) = get(&at, "/metrics");
    assert!(metrics.contains("agent_world_resident_chats 1"), "{metrics}");
    server.signal("TERM");
    server.wait().succeeded();
    assert_eq!(processes(&mark), 0);
    let server = home.start(&ANY_PORT);
    let at = address(&server);
    until("the end of the turn", || {
        get(&at, "/metrics").1.contains(r#"agent_world_turns_total{kind="completed"} 1"#)
    });
    let (_, metrics) = get(&at, "/metrics");
    let interrupted = r#"agent_world_tool_calls_total{tool="shell_cmd",outcome="interrupted"} 1"#;
    assert!(metrics.contains(interrupted), "{metrics}");
    server.signal("TERM");
    server.wait().succeeded();
    assert_eq!(home.lines_of("ran"), 1);
    home.run(&["verify"]).succeeded();
}

#[test]
fn one_that_was_killed_comes_back() {
    let home = Home::new();
    let mark = leave_running(&home, "sleep 3600");
    let server = home.start(&ANY_PORT);
    let before = address(&server);
    until("the command", || home.lines_of("ran") == 1);
    server.crash();
    until("the end of what it ran", || processes(&mark) == 0);
    assert_eq!(announced(&home).unwrap()["url"], format!("http://{before}"));
    home.run(&["doctor"]).says("ended without a word");
    home.run_where(NO_KEYS, &["health"]).with_code(1);
    let server = home.start(&ANY_PORT);
    let address = address(&server);
    assert_eq!(announced(&home).unwrap()["url"], format!("http://{address}"));
    assert_eq!(get(&address, "/readyz").0, 200);
    server.signal("TERM");
    server.wait().succeeded();
    assert_eq!(home.lines_of("ran"), 1);
}

#[test]
fn a_second_signal_ends_it_at_once_and_nothing_is_left() {
    let home = Home::new();
    let mark = leave_running(&home, "sleep 3600");
    let server = home.start(&ANY_PORT);
    let address = address(&server);
    until("the command", || home.lines_of("ran") == 1);
    // Requests that never become whole, so that the server has something to wait for. Several, because it does not wait
    // for one of which it has seen nothing.
    let halves: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(&address).unwrap()).collect();
    for mut half in &halves {
        write!(half, "GET /healthz HTTP/1.1\r\nhost: {address}\r\n").unwrap();
    }
    assert_eq!(get(&address, "/healthz").0, 200);
    server.signal("TERM");
    server.wait_for_warning("stopping");
    server.signal("TERM");
    server.wait().with_code(1).warns("ended at once");
    until("the end of what it ran", || processes(&mark) == 0);
    assert_eq!(announced(&home), None);
    home.run(&["resume"]).succeeded().says("interrupted");
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let home = Home::new();
    let server = home.start(&ANY_PORT);
    let address = address(&server);
    let there = format!("at http://{address} (process {})", server.id());
    for arguments in [&ANY_PORT[..], &["serve", "--listen", &address]] {
        let refused = home.run(arguments).with_code(1).warns("a server runs on").says_nothing();
        refused.warns(&there).warns(&format!("kill {}", server.id()));
    }
    let elsewhere = Home::new();
    let refused = elsewhere.run(&["serve", "--listen", &address]).with_code(1);
    refused.warns("is in use by another program").warns("127.0.0.1:0 for any free port");
    assert_eq!(get(&address, "/readyz").0, 200);
    home.run(&["send", "hello"]).succeeded().says("ada: ");
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn a_store_that_another_command_works_on_is_not_served() {
    let home = Home::new();
    let watch = home.start(&["resume", "--watch"]);
    watch.wait_for_warning("working");
    let refused = home.run(&ANY_PORT).with_code(1).says_nothing();
    let process = format!("(process {})", watch.id());
    refused.warns("another agent-world process works on").warns("--data DIR").warns(&process);
    watch.signal("TERM");
    watch.wait().succeeded();
}

#[test]
fn other_machines_are_not_let_in_without_a_token() {
    let home = Home::new();
    let refused = home.run(&["serve", "--listen", "0.0.0.0:0"]).with_code(1).says_nothing();
    refused.warns("can be reached by other machines").warns("agent-world token create");
    home.run(&["serve", "--listen", "somewhere"]).with_code(2);
}

#[test]
fn settings_can_be_named_and_flags_win() {
    let home = Home::new();
    let text = "[server]\nlisten = '0.0.0.0:1'\nlog = 'info'\nlog_format = 'json'\n";
    let file = home.write("other.toml", text);
    let server = home.start(&["serve", "--config", &file, "--listen", "127.0.0.1:0"]);
    address(&server);
    server.signal("TERM");
    let ended = server.wait().succeeded();
    let lines: Vec<Value> =
        ended.err.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let started = lines.iter().find(|line| line["message"] == "started").unwrap();
    assert!(started["url"].as_str().unwrap().starts_with("http://127.0.0.1:"), "{started}");
    assert!(lines.iter().any(|line| line["message"] == "stopped"), "{lines:?}");
    home.run(&["serve", "--config", "nowhere.toml"]).with_code(1).warns("is not there");
    let wrong = [("AGENT_WORLD_LOG_FORMAT", "xml")];
    home.run_where(&wrong, &ANY_PORT).with_code(1).warns("it is `text` or `json`");
}

#[test]
fn it_can_open_the_browser() {
    let home = Home::new();
    let (programs, seen) = (tempfile::tempdir().unwrap(), home.write("seen", ""));
    for name in ["xdg-open", "open"] {
        let program = programs.path().join(name);
        fs::write(&program, format!("#!/bin/sh\nprintf %s \"$1\" > {seen}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let path = format!("{}:{}", programs.path().display(), std::env::var("PATH").unwrap());
    let wanted = ["serve", "--listen", "127.0.0.1:0", "--open"];
    let server = home.start_where(&[("PATH", &path)], &wanted);
    let expected = format!("http://{}/", address(&server));
    until("the browser", || fs::read_to_string(&seen).unwrap() == expected);
    server.signal("TERM");
    server.wait().succeeded();
}
