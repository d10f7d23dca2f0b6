//! Says that every case of the corpus is run by some test, and that no case a test expects has gone missing.
//! The tests of the vendors compare names within their folders; here it is the folders that are compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::cases;

/// The folders that a test runs, and how many cases it expects there.
const FOLDERS: &[(&str, usize)] = &[
    ("anthropic", 19),
    ("azure-openai", 1),
    ("deepseek", 2),
    ("gemini", 16),
    ("groq", 4),
    ("llamacpp", 3),
    ("mistral", 2),
    ("ollama", 2),
    ("openai-chat", 9),
    ("openai-responses", 23),
    ("openrouter", 1),
    ("xai", 5),
];

#[test]
fn no_case_is_left_out() {
    let expected: usize = FOLDERS.iter().map(|(_, cases)| cases).sum();
    assert_eq!(expected, 87);
    let Some(folder) = cases::folder() else {
        println!("skipped {expected} cases in all: the provider corpus is not here");
        return;
    };
    let (index, kept) = (cases::names(&folder), kept(&folder));
    let problems = problems(&index, &kept);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    println!("all {} cases of the corpus are run", index.len());
}

/// What would be left out without a word, or is missing.
fn problems(index: &[String], kept: &BTreeSet<String>) -> Vec<String> {
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    for name in index {
        *found
            .entry(name.split_once('/').map_or(name.as_str(), |(folder, _)| folder))
            .or_default() += 1;
    }
    let mut problems = Vec::new();
    for (folder, expected) in FOLDERS {
        let cases = found.remove(folder).unwrap_or_default();
        if cases != *expected {
            problems.push(format!("{folder}: {cases} cases in the index, {expected} expected"));
        }
    }
    problems.extend(found.keys().map(|folder| format!("{folder}: no test runs this folder")));
    let named: BTreeSet<&String> = index.iter().collect();
    if named.len() != index.len() {
        problems.push("the index names a case twice".to_owned());
    }
    let unnamed = kept.iter().filter(|name| !named.contains(name));
    problems.extend(unnamed.map(|name| format!("{name}: not in the index")));
    problems
}

/// The cases that are there, as `vendor/name`, whether the index has them or not.
fn kept(folder: &Path) -> BTreeSet<String> {
    let inside = |path: &Path| {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let cases = inside(folder).into_iter().flat_map(|vendor| {
        let cases = inside(&vendor).into_iter().filter(|case| case.join("meta.json").is_file());
        cases.map(|case| format!("{}/{}", name(&vendor), name(&case))).collect::<Vec<_>>()
    });
    cases.collect()
}

#[test]
fn a_new_folder_a_missing_case_and_one_without_a_name_are_noticed() {
    let whole: Vec<String> = FOLDERS
        .iter()
        .flat_map(|(folder, cases)| (0..*cases).map(move |number| format!("{folder}/{number}")))
        .collect();
    let kept: BTreeSet<String> = whole.iter().cloned().collect();
    assert_eq!(problems(&whole, &kept), Vec::<String>::new());
    let mut more = whole.clone();
    more.push("cohere/text".to_owned());
    assert_eq!(problems(&more, &kept), ["cohere: no test runs this folder"]);
    let fewer: Vec<String> = whole.iter().filter(|name| *name != "ollama/1").cloned().collect();
    assert_eq!(
        problems(&fewer, &kept),
        ["ollama: 1 cases in the index, 2 expected", "ollama/1: not in the index"]
    );
}
