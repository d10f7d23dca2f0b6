//! Tests of what commands name as the next step: it can be typed as it stands, and leads to the same place.

use crate::home::{Ended, Home};
use crate::serve::address;

/// Runs a command on the data folder of a home, which is named by a flag as well.
fn run_by_flag(home: &Home, arguments: &[&str]) -> Ended {
    let folder = home.path();
    home.run(&[&["--data", folder.to_str().unwrap()], arguments].concat())
}

#[test]
fn a_next_step_repeats_the_flags_that_were_typed() {
    let home = Home::new();
    let folder = home.path().display().to_string();
    let made = run_by_flag(&home, &["world", "create", "lab", "--agent", "ada"]).succeeded();
    made.says(&format!("`agent-world --data {folder} chat -w lab` opens it"));
    let unknown = run_by_flag(&home, &["world", "show", "none"]).with_code(1);
    unknown.warns(&format!("`agent-world --data {folder} world list` shows those that do"));
    run_by_flag(&home, &["doctor"])
        .says(&format!("`agent-world --data {folder} serve` starts one"));
    // What the environment says holds for the next command as well.
    home.run(&["world", "show", "none"]).with_code(1).warns("`agent-world world list` shows");

    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    let unknown = home.run(&["--server", &url, "world", "show", "none"]).with_code(1);
    unknown.warns(&format!("`agent-world --server {url} world list` shows those that do"));
    server.signal("TERM");
    server.wait().succeeded();
}

#[test]
fn what_is_left_waiting_in_a_chat_is_found_again_by_the_words_it_says() {
    let home = Home::new();
    let folder = home.path().display().to_string();
    let sent = run_by_flag(&home, &["send", "--approve", "wait", "run touch made"]).with_code(3);
    sent.warns(&format!("`agent-world --data {folder} approvals approve ID`"))
        .warns(&format!("`agent-world --data {folder} chat -w demo -c chat_"));
    let left = run_by_flag(&home, &["chat"]).with_code(3);
    left.says(&format!("  agent-world --data {folder} chat -w demo -c chat_"))
        .says(&format!("`agent-world --data {folder} approvals list`"));
}

#[test]
fn a_next_step_is_about_the_world_that_was_named() {
    let home = Home::new();
    home.run(&["world", "create", "lab", "--agent", "ada"]).succeeded();
    let listed = home.run(&["mcp", "list", "-w", "lab"]).succeeded();
    listed.says("`agent-world mcp add NAME -w lab -- COMMAND`").says("import FILE -w lab`");
    home.run(&["tool", "list", "-w", "lab"]).succeeded().says("`agent-world policy show -w lab`");
    let added = home.run(&["mcp", "add", "x", "-w", "lab", "--", "/no/such/program"]).succeeded();
    added.says("`agent-world mcp list -w lab --check`");
    let made = home.run(&["agent", "create", "eve", "-w", "lab"]).succeeded();
    made.says("`agent-world agent update ID -w lab` changes them");
}

#[test]
fn a_server_that_is_not_there_is_told_of_without_its_layers() {
    let home = Home::new();
    let ended = home.run(&["health", "http://127.0.0.1:9"]).with_code(1).says_nothing();
    let ended = ended.warns("nobody answers at http://127.0.0.1:9: Connection refused");
    let ended = ended.warns("`agent-world serve` starts a server, and one");
    assert_eq!(ended.err.lines().count(), 1, "{}", ended.err);
    assert!(!ended.err.contains("readyz") && !ended.err.contains("client error"), "{}", ended.err);
}

#[test]
fn a_token_is_not_sent_to_another_machine_where_others_can_read_it() {
    let home = Home::new();
    // Nobody is there, and nobody is asked.
    let elsewhere = ["--server", "http://192.0.2.1:7420", "world", "list"];
    let token = [("AGENT_WORLD_TOKEN", "awt_secret")];
    let refused = home.run_where(&token, &elsewhere).with_code(1).says_nothing();
    let refused = refused.warns("the token was not sent: 192.0.2.1 is another machine");
    let refused = refused.warns("https://").warns("--plain-http");
    assert!(!refused.err.contains("awt_secret"), "{}", refused.err);
    // On this machine nobody listens on the way.
    let server = home.start(&["serve", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    home.run_where(&token, &["--server", &url, "world", "list"]).succeeded();
    server.signal("TERM");
    server.wait().succeeded();
}
