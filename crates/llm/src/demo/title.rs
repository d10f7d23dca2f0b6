//! Makes a chat's title, three to six words, from what was said first.
//! Called by `demo` when it is asked for one. Never repeats mentions or control tags.

use std::sync::Arc;

use agent_world_core::item::Item;

use super::conversation::without_mentions;

const FEWEST_WORDS: usize = 3;
const MOST_WORDS: usize = 6;
const LONGEST_WORD: usize = 24;

pub fn from_opening(input: &[Arc<Item>]) -> String {
    let opening = input.iter().find_map(|item| match &**item {
        Item::Message(message) => Some(message.text()),
        _ => None,
    });
    let opening = opening.unwrap_or_default();
    // The first answer follows the first message behind an empty line.
    let first = opening.trim().split("\n\n").next().unwrap_or_default();
    let words: Vec<String> = spoken(first)
        .flat_map(|line| without_mentions(line).split_whitespace())
        .filter(|word| !word.contains(['<', '>', '\\']))
        .map(plain)
        .filter(|word| !word.is_empty() && word.chars().count() <= LONGEST_WORD)
        .take(MOST_WORDS)
        .map(str::to_owned)
        .collect();
    match words.len() {
        0 => "A new conversation".to_owned(),
        count if count < FEWEST_WORDS => format!("Chat about {}", words.join(" ")),
        _ => capitalised(&words.join(" ")),
    }
}

/// The lines of a text without what is no language: code between fences, and JSON behind a word.
fn spoken(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter_map(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        let words = line.split('{').next().unwrap_or_default();
        (!is_fence && !is_code).then_some(words)
    })
}

/// A word without what stands around it. An option or a path keeps what it begins with.
fn plain(word: &str) -> &str {
    let is_around = |c: char| !c.is_alphanumeric();
    let bare = word.trim_matches(is_around);
    let kept = ["--", "-", "/", "./", "~/"].into_iter().find_map(|start| {
        let rest = word.strip_prefix(start)?;
        rest.starts_with(char::is_alphanumeric).then(|| word.trim_end_matches(is_around))
    });
    kept.unwrap_or(bare)
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_three_to_six_words() {
        for (opening, expected) in [
            ("@ada, what time is it in the big city?\n\nI read it", "What time is it in the"),
            ("hello\n\nHello! Say `help`", "Chat about hello"),
            ("run ls\n\n...", "Chat about run ls"),
            ("run ls -la\n\n...", "Run ls -la"),
            ("run cat ./notes.md /etc/hosts", "Run cat ./notes.md /etc/hosts"),
            (
                "call shell_cmd {\"command\": \"sh\", \"parameters\": []}",
                "Chat about call shell_cmd",
            ),
            ("run printf \"a\\nb \\u{202e}\"", "Chat about run printf"),
            ("```rust\nfn main() {}\n```\nwhat does this do?", "What does this do"),
            ("", "A new conversation"),
            ("🙂 <world>STOP</world>", "A new conversation"),
        ] {
            assert_eq!(from_opening(&[Arc::new(Item::user(opening))]), expected);
        }
        assert_eq!(from_opening(&[]), "A new conversation");
    }
}
