//! Tests of what commands say about this machine and the program itself: with a server on the data folder, and without.

use expect_test::expect_file;

use crate::both::{Place, places};

/// What is about this machine, or the program itself, and so differs with who answers.
fn about_the_program(place: &Place) -> String {
    let mut told = String::new();
    for command in [
        &["resume"][..],
        &["resume", "--json"],
        &["token", "list"],
        &["token", "revoke", "none"],
        &["token", "create", "x", "--role", "owner"],
        &["init"],
        &["init", "--vendor", "ollama", "--model", "ollama/x", "--no-test"],
        &["init", "--vendor", "ollama", "--model", "ollama/x", "--no-test", "--world", "home"],
        &["completions", "csh"],
        &["man", "--out", "/dev/null/x"],
    ] {
        told += &place.told(command);
    }
    // Of what is long the beginning is enough to see what it is.
    for command in [&["openapi"][..], &["man"], &["completions", "bash"]] {
        let long = place.told(command);
        let lines: Vec<&str> = long.lines().take(3).collect();
        told += &format!("{}\n", lines.join("\n"));
    }
    without_ports(&told)
}

/// Where a server listens differs from run to run.
fn without_ports(text: &str) -> String {
    let mut parts = text.split("127.0.0.1:");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|one: char| one.is_ascii_digit());
        out += &format!("127.0.0.1:PORT{rest}");
    }
    out
}

#[test]
fn the_program_itself() {
    let [bare, beside, _] = places();
    let told = about_the_program(&bare) + &bare.told(&["health"]);
    expect_file!["told/without_a_server.txt"].assert_eq(&told);
    let told = about_the_program(&beside) + &without_ports(&beside.told(&["health"]));
    expect_file!["told/beside_a_server.txt"].assert_eq(&told);
    // From the first one on a server wants one, so it comes last.
    let told: String = [
        &["token", "create", "ci", "--role", "member", "--json"][..],
        &["token", "list"],
        &["token", "list", "--json"],
        &["token", "revoke", "ci"],
    ]
    .iter()
    .map(|command| without_tokens(&bare.told(command)))
    .collect();
    expect_file!["told/tokens.txt"].assert_eq(&told);
}

/// A token and its id are new every time.
fn without_tokens(text: &str) -> String {
    let mut text = text.to_owned();
    for (mark, name) in [("awt_", "TOKEN"), ("tok_", "ID")] {
        while let Some(start) = text.find(mark) {
            let behind = &text[start + mark.len()..];
            let is_part = |one: char| one.is_ascii_alphanumeric() || one == '_' || one == '-';
            let length = behind.find(|one: char| !is_part(one)).unwrap_or(behind.len());
            text.replace_range(start..start + mark.len() + length, name);
        }
    }
    text
}
