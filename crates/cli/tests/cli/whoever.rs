//! Runs the same script whoever answers: the bare store, a server that runs on the data folder, and a server elsewhere that
//! is named and wants a token. What is said on stdout and the exit codes must be the same.

use std::collections::HashMap;

use crate::answering::{Asked, answering};
use crate::home::until;

impl Asked {
    /// A command with what it said on stdout and its exit code.
    pub fn told(&self, arguments: &[&str]) -> String {
        let ended = self.run(arguments);
        let code = ended.code;
        format!("$ {}\n{}exit code {code}\n", arguments.join(" "), ended.out)
    }

    /// Does what was decided. A server does so by itself.
    pub fn go_on(&self, file: &str) {
        if !self.is_served() {
            self.run(&["resume"]).succeeded();
        } else {
            self.run(&["resume"]).succeeded().warns("the server at http://127.0.0.1:");
        }
        until(file, || self.home.file(file).exists());
        self.settle();
    }

    /// Waits until nothing is under way, and the chat has its name.
    pub fn settle(&self) {
        until("a quiet chat with a name", || {
            let events = self.run(&["events", "tail", "--after", "0", "--json"]).succeeded().json();
            let activity = events.iter().rfind(|event| event["type"] == "activity");
            let idle = activity.is_none_or(|event| event["data"]["state"] == "idle");
            idle && events.iter().any(|event| event["data"]["code"] == "title")
        });
    }

    pub fn waiting(&self) -> Vec<String> {
        let listed = self.run(&["approvals", "list", "--json"]).succeeded().json();
        listed.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    }

    /// What differs from run to run is replaced.
    fn tidy(&self, text: &str) -> String {
        let folder = self.home.path().display().to_string();
        let mut ids = HashMap::new();
        // Only a token says who speaks.
        let lines = text.replace(&folder, "DATA").replace(r#""user":"tester""#, r#""user":null"#);
        let lines = lines.lines().map(|line| tidy(line, &mut ids) + "\n");
        lines.collect()
    }
}

/// A line without ids, moments, durations and the width of columns.
fn tidy(line: &str, ids: &mut HashMap<String, usize>) -> String {
    let is_part = |one: char| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | ':' | '.');
    let mut words: Vec<String> = Vec::new();
    for one in line.chars() {
        match words.last_mut() {
            Some(word) if is_part(one) && word.chars().all(is_part) => word.push(one),
            Some(word) if one == ' ' && word.chars().all(|one| one == ' ') => {}
            _ => words.push(one.to_string()),
        }
    }
    let mut tidied: Vec<String> = Vec::new();
    for word in words {
        if word == "ms" && tidied.len() > 1 {
            let number = tidied.len() - 2;
            tidied[number] = "N".to_owned();
        }
        let after_ms = tidied.len() > 1 && tidied[tidied.len() - 2].ends_with("_ms");
        tidied.push(match without_ends(&word) {
            (id, rest) if is_id(id) => {
                let next = ids.len() + 1;
                let number = *ids.entry(id.to_owned()).or_insert(next);
                let (kind, _) = id.split_once('_').unwrap();
                format!("{kind}_{number}{rest}")
            }
            (moment, rest) if is_like(moment, "0000-00-00T") => format!("TIME{rest}"),
            (moment, _) if moment.len() == 10 && is_like(moment, "0000-00-00") => "DAY".to_owned(),
            (moment, _) if moment.len() == 8 && is_like(moment, "00:00:00") => "CLOCK".to_owned(),
            (number, _) if after_ms && number.starts_with(':') => ":N".to_owned(),
            _ => word,
        });
    }
    if tidied.last().is_some_and(|last| is_age(last)) {
        tidied.pop();
        tidied.push("AGE".to_owned());
    }
    tidied.concat()
}

/// How long something waits, as tables have it.
fn is_age(word: &str) -> bool {
    let number = word.strip_suffix(['s', 'm', 'h', 'd']).unwrap_or_default();
    !number.is_empty() && number.chars().all(|one| one.is_ascii_digit())
}

/// A word, and the colon or stop that ends it.
fn without_ends(word: &str) -> (&str, &str) {
    word.split_at(word.trim_end_matches([':', '.']).len())
}

fn is_id(word: &str) -> bool {
    let parts = word.split_once('_');
    parts.is_some_and(|(_, id)| id.len() == 26 && id.chars().all(|c| c.is_ascii_alphanumeric()))
}

fn is_like(word: &str, shape: &str) -> bool {
    let shaped = |one: char| if one.is_ascii_digit() { '0' } else { one };
    word.chars().map(shaped).take(shape.len()).eq(shape.chars())
}

/// What a script says, which is the same whoever answers.
#[track_caller]
pub fn whoever_answers(script: impl Fn(&Asked) -> String) -> String {
    let [store, others @ ..] = answering(&[]);
    let told = store.tidy(&script(&store));
    for asked in others {
        let again = asked.tidy(&script(&asked));
        assert_eq!(again, told, "asked of a {}", asked.name);
        if let Some(away) = asked.away() {
            assert!(!away.path().exists(), "nothing is made where nothing is needed");
        }
    }
    told
}
