//! Checks which narrower permissions are offered, and that each covers the call it is offered for.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::*;
use crate::command_line::TOOL;

#[track_caller]
fn offered(tool: &str, arguments: Value, expected: Expect) {
    let agent = AgentId::new("ada");
    let question = Question {
        agent: &agent,
        tool,
        arguments: &arguments,
        directory: Some("/users/ada/project"),
    };
    let offered = suggestions(question);
    for one in &offered {
        assert!(fits(&one.matches, question, None), "{one:?}");
        let rule = Rule { matches: one.matches.clone(), ..Rule::new("r", Ruling::Allow, tool) };
        assert!(rule.covers(question), "{one:?}");
        let policy = Policy { rules: vec![rule].into(), ..Policy::default() };
        assert_eq!(policy.check(), Ok(()), "{one:?}");
    }
    let labels: Vec<&str> = offered.iter().map(|one| one.label.as_str()).collect();
    expected.assert_eq(&labels.join(" | "));
}

#[track_caller]
fn for_script(script: &str, expected: Expect) {
    offered(TOOL, json!({ "script": script }), expected);
}

#[test]
fn a_command_is_offered_with_the_words_that_say_what_it_does() {
    for_script(
        "git status -s",
        expect!["exactly this call | `git status` with any parameters | any shell_cmd call"],
    );
    for_script(
        "gh pr list --limit 3",
        expect![
            "exactly this call | `gh pr list` with any parameters | `gh pr` with any parameters | any shell_cmd call"
        ],
    );
    for_script(
        "ls -la src",
        expect!["exactly this call | `ls` with any parameters | any shell_cmd call"],
    );
    for_script(
        "cat src/main.rs",
        expect!["exactly this call | `cat` with any parameters | any shell_cmd call"],
    );
    for_script(
        "cargo test; cargo test -p x",
        expect!["exactly this call | `cargo test` with any parameters | any shell_cmd call"],
    );
    for_script(
        "touch one",
        expect!["exactly this call | `touch` with any parameters | any shell_cmd call"],
    );
    offered(
        TOOL,
        json!({ "command": "/usr/bin/git", "parameters": ["log"] }),
        expect!["exactly this call | `/usr/bin/git log` with any parameters | any shell_cmd call"],
    );
}

#[test]
fn nothing_is_offered_that_would_let_anything_through() {
    let little = || expect!["exactly this call | any shell_cmd call"];
    for script in [
        "rm -rf x",
        "sudo ls",
        "env ls",
        "bash -c ls",
        "ls | xargs wc",
        "find . -name x",
        "git",
        "git -C x log",
        "git config a b",
        "docker run x",
        "npm exec x",
        "npx x",
        "python3 x.py",
        "sed s/a/b/ x",
        "mv a b",
        "curl https://x",
        "git status; ls",
        "git status; git log",
        "make",
    ] {
        for_script(script, little());
    }
    for script in [
        "echo $HOME",
        "git bisect run x",
        "python3 -c x",
        "git status > x",
        "git status | sh",
        "echo 'x",
        "gi* status",
    ] {
        for_script(script, expect!["exactly this call"]);
    }
}

#[test]
fn files_are_offered_by_folder_and_addresses_by_host() {
    let path = |path: &str| json!({ "path": path });
    offered(
        "read",
        path("src/a/b.rs"),
        expect!["exactly this call | read for files in `src/a/` | any read call"],
    );
    offered(
        "read",
        path("/users/ada/project/src/b.rs"),
        expect!["exactly this call | read for files in `src/` | any read call"],
    );
    offered(
        "read",
        path("a.rs"),
        expect!["exactly this call | read for files in the working directory | any read call"],
    );
    offered(
        "read",
        path("/etc/hosts"),
        expect!["exactly this call | read for files in `/etc/` | any read call"],
    );
    offered(
        "read",
        path("../x/y"),
        expect!["exactly this call | read for files in `/users/ada/x/` | any read call"],
    );
    for odd in ["/hosts", "/", ".", "~/x", "a*/b", ""] {
        offered("read", path(odd), expect!["exactly this call | any read call"]);
    }
    offered(
        "move",
        json!({ "source": "src/a", "destination": "src/b" }),
        expect!["exactly this call | move for files in `src/` | any move call"],
    );
    offered(
        "move",
        json!({ "source": "src/a", "destination": "b" }),
        expect!["exactly this call | any move call"],
    );
    let url = |url: &str| json!({ "url": url });
    offered(
        "fetch",
        url("https://docs.rs/x?y"),
        expect!["exactly this call | fetch for https://docs.rs | any fetch call"],
    );
    for odd in [
        "https://docs.rs",
        "https://user@docs.rs/x",
        "ftp://x/y",
        "https:///x",
        "https://döcs/x",
        "https://*/x",
        "x",
    ] {
        offered("fetch", url(odd), expect!["exactly this call | any fetch call"]);
    }
    offered(
        "mcp__s__x",
        json!({ "command": "ls" }),
        expect!["exactly this call | any mcp__s__x call"],
    );
}

#[test]
fn a_host_is_not_anothers_beginning() {
    let agent = AgentId::new("ada");
    let first = json!({ "url": "https://docs.rs/x" });
    fn question<'a>(agent: &'a AgentId, arguments: &'a Value) -> Question<'a> {
        Question { agent, tool: "fetch", arguments, directory: None }
    }
    let host = suggestions(question(&agent, &first)).swap_remove(1);
    for (url, expected) in [
        ("https://docs.rs/y", true),
        ("https://docs.rs.evil.org/x", false),
        ("https://docs.rs@evil.org/x", false),
        ("http://docs.rs/x", false),
        ("https://docs.rs:99/x", false),
    ] {
        let arguments = json!({ "url": url });
        assert_eq!(fits(&host.matches, question(&agent, &arguments), None), expected, "{url}");
    }
}

#[test]
fn what_hides_in_a_label_is_made_visible() {
    offered(
        "read",
        json!({ "path": "a\u{202e}b/c" }),
        expect![[r#"exactly this call | read for files in `a\u{202E}b/` | any read call"#]],
    );
}
