//! Finds what the word at the cursor could become: an agent, a command or a path.
//! Called by `composer` when Tab is pressed, and for agents and commands while one types. Changes nothing; looks into folders
//! only for words that look like paths, and only for Tab.

use std::path::{Path, PathBuf};

/// Entries of a folder that are looked at, and candidates that are offered.
const LOOKED_AT: usize = 2_000;
const OFFERED: usize = 50;

/// What words can become.
#[derive(Clone, Debug, Default)]
pub struct Words {
    pub agents: Vec<String>,
    /// With the slash, and what each does.
    pub commands: Vec<(&'static str, &'static str)>,
    /// Where relative paths begin.
    pub directory: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What takes the place of the word.
    pub text: String,
    pub about: String,
}

/// What one word could become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Characters of the word before the cursor.
    pub typed: usize,
    pub candidates: Vec<Candidate>,
}

/// What the last word of a text could become. `is_first_line` says whether commands can be meant.
pub fn complete(before: &str, is_first_line: bool, words: &Words) -> Option<Completion> {
    let (start, word) = last_word(before);
    let candidates = if start == 0 && is_first_line && is_command(word) {
        commands(word, words)
    } else if let Some(name) = word.strip_prefix('@') {
        agents(name, words)
    } else if word.contains('/') || word.starts_with('.') || word.starts_with('~') {
        paths(word, words)
    } else {
        Vec::new()
    };
    (!candidates.is_empty()).then(|| Completion { typed: word.chars().count(), candidates })
}

/// Whether the last word of a text is the name of an agent or a command, which can be offered before anybody asks.
pub fn is_name(before: &str, is_first_line: bool) -> bool {
    let (start, word) = last_word(before);
    (start == 0 && is_first_line && is_command(word)) || word.starts_with('@')
}

/// Where the last word of a text begins, and the word.
fn last_word(before: &str) -> (usize, &str) {
    let start = before.rfind(char::is_whitespace).map_or(0, |at| {
        at + before.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8)
    });
    (start, before.get(start..).unwrap_or_default())
}

fn is_command(word: &str) -> bool {
    word.strip_prefix('/').is_some_and(|rest| !rest.contains('/'))
}

fn commands(word: &str, words: &Words) -> Vec<Candidate> {
    let fits = words.commands.iter().filter(|(name, _)| name.starts_with(word));
    fits.map(|(name, about)| Candidate { text: format!("{name} "), about: (*about).to_owned() })
        .collect()
}

fn agents(name: &str, words: &Words) -> Vec<Candidate> {
    let name = name.to_lowercase();
    let fits = words.agents.iter().filter(|agent| agent.starts_with(&name));
    fits.map(|agent| Candidate { text: format!("@{agent} "), about: String::new() }).collect()
}

fn paths(word: &str, words: &Words) -> Vec<Candidate> {
    let (folder, name) = match word.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), word),
    };
    let Some(place) = place(&folder, words.directory.as_deref()) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(place) else {
        return Vec::new();
    };
    let mut found: Vec<Candidate> = entries
        .take(LOOKED_AT)
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let file = entry.file_name().into_string().ok()?;
            // A name with a space or a hidden character would not be one word any more.
            let is_word = !file.chars().any(|one| one.is_whitespace() || one.is_control());
            let is_wanted = name.starts_with('.') || !file.starts_with('.');
            let end = if is_folder { "/" } else { " " };
            (is_word && is_wanted && file.starts_with(name))
                .then(|| Candidate { text: format!("{folder}{file}{end}"), about: String::new() })
        })
        .collect();
    found.sort_by(|one, other| one.text.cmp(&other.text));
    found.truncate(OFFERED);
    found
}

fn place(folder: &str, directory: Option<&Path>) -> Option<PathBuf> {
    if let Some(rest) = folder.strip_prefix("~/") {
        return Some(PathBuf::from(std::env::var_os("HOME")?).join(rest));
    }
    match (folder.starts_with('/'), directory) {
        (false, Some(directory)) => Some(directory.join(folder)),
        (true, _) => Some(PathBuf::from(folder)),
        (false, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(text: &str, words: &Words) -> Vec<String> {
        let found = complete(text, true, words).map(|found| found.candidates).unwrap_or_default();
        found.into_iter().map(|one| one.text).collect()
    }

    #[test]
    fn words_become_agents_commands_and_paths() {
        let folder = std::env::temp_dir().join(format!("completion-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("notes/old")).unwrap();
        std::fs::write(folder.join("notes/one.md"), "").unwrap();
        std::fs::write(folder.join("notes/two words.md"), "").unwrap();
        let words = Words {
            agents: vec!["ada".to_owned(), "bob".to_owned()],
            commands: vec![("/stop", "stops"), ("/switch", "switches"), ("/new", "")],
            directory: Some(folder.clone()),
        };
        assert_eq!(offered("hello @A", &words), ["@ada "]);
        assert_eq!(offered("/s", &words), ["/stop ", "/switch "]);
        assert_eq!(offered("look at notes/o", &words), ["notes/old/", "notes/one.md "]);
        assert!(
            !offered("say /s", &words).contains(&"/stop ".to_owned()),
            "only first words are commands"
        );
        assert_eq!(offered("plain", &words), Vec::<String>::new());
        assert_eq!(complete("über @b", true, &words).unwrap().typed, 2);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
