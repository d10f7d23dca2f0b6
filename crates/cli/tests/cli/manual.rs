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

/// What bash proposes for the last of these words.
fn proposed(home: &Home, words: &[&str]) -> Vec<String> {
    let last = words.len() - 1;
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let asked = format!(
        "source <(agent-world completions bash); COMP_WORDS=({}); COMP_CWORD={last}; \
         _agent__world agent-world {} {}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        quoted.join(" "),
        quoted[last],
        quoted[last - 1],
    );
    let script = home.write("ask.bash", &asked);
    let folder = home.path();
    let folder = folder.parent().unwrap();
    let ended = home.run_script(&format!("bash {script}"), folder).succeeded();
    ended.out.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_below_the_first_word() {
    let home = Home::new();
    let words = proposed(&home, &["agent-world", "approvals", ""]);
    for word in ["list", "show", "approve", "deny", "revoke"] {
        assert!(words.iter().any(|one| one == word), "{word}: {words:?}");
    }
    let values = proposed(&home, &["agent-world", "send", "--approve", ""]);
    assert_eq!(values, ["none", "read-only", "all", "wait"]);
    let words = proposed(&home, &["agent-world", "approvals", "approve", "--sc"]);
    assert_eq!(words, ["--scope"]);
}
