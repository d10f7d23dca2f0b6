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
    let words: Vec<String> = first
        .lines()
        .flat_map(|line| without_mentions(line).split_whitespace())
        .filter(|word| !word.contains(['<', '>']))
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
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
            ("", "A new conversation"),
            ("🙂 <world>STOP</world>", "A new conversation"),
        ] {
            assert_eq!(from_opening(&[Arc::new(Item::user(opening))]), expected);
        }
        assert_eq!(from_opening(&[]), "A new conversation");
    }
}
