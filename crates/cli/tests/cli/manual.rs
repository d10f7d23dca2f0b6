//! Tests of what the program tells shells and readers of manuals about itself.

use std::fs;

use crate::home::Home;

#[test]
fn shells_are_told_how_to_complete() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        home.run(&["completions", shell]).succeeded().says("approvals").says("templates");
    }
    home.run(&["completions", "csh"]).with_code(2);
    let script = home.run(&["completions", "bash"]).succeeded().out;
    let file = home.write("agent-world.bash", &script);
    let folder = tempfile::tempdir().unwrap();
    home.run_script(&format!("bash -n {file}"), folder.path()).succeeded();
    assert!(!home.path().exists(), "nothing is made for it");
}

#[test]
fn every_command_has_a_page_in_the_manual() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("man1");
    home.run(&["man", "--out", out.to_str().unwrap()]).succeeded().says(" pages to ");
    for page in
        ["agent-world", "agent-world-chat-list", "agent-world-world-create", "agent-world-init"]
    {
        let page = fs::read_to_string(out.join(format!("{page}.1"))).unwrap();
        assert!(page.contains(".SH NAME"), "{page}");
    }
    home.run(&["man"]).succeeded().says(".TH agent-world 1");
    assert!(!home.path().exists(), "nothing is made for it");
}
