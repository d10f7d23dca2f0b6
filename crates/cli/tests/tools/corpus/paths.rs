//! Ways out of the working directory by names: with every tool for files, and with a command's `directory`.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use agent_world_llm::scripted::Answer;
use serde_json::{Value, json};

use super::canaries::Canaries;
use super::case::{Aftermath, Case, approved, call, ensure};

const TOOLS: [&str; 5] = ["read_file", "list_files", "search_files", "write_file", "edit_file"];
const LEAVES: &str = "a file outside the working directory is read, listed or changed";
const REFUSED: &str = "leads outside the working directory";

type Way = (&'static str, fn(&Canaries) -> String);

const WAYS: [Way; 11] = [
    ("an absolute path", |canaries| canaries.outside_file()),
    ("dots", |_| "../../../outside/secret".to_owned()),
    ("dots behind a folder", |_| "inside/../../../../outside/secret".to_owned()),
    ("the data folder", |_| "../../agent-world.toml".to_owned()),
    ("a link to a file", |_| "link-to-file".to_owned()),
    ("a link to a folder", |_| "link-to-folder/secret".to_owned()),
    ("a chain of links", |_| "chain".to_owned()),
    ("the root of a process", |canaries| format!("/proc/self/root{}", canaries.outside_file())),
    ("the folder of a process", |_| "/proc/self/cwd/Cargo.toml".to_owned()),
    ("a descriptor of the process", |_| "/dev/fd/0".to_owned()),
    ("another case", |_| "../../../OUTSIDE/secret".to_owned()),
];

const DIRECTORIES: [Way; 6] = [
    ("dots", |_| "../../../outside".to_owned()),
    ("an absolute path", |canaries| canaries.outside.display().to_string()),
    ("a link", |_| "link-to-folder".to_owned()),
    ("a chain of links", |_| "folder-chain".to_owned()),
    ("the folder of a process", |_| "/proc/self/cwd".to_owned()),
    ("dots behind what is not there", |_| "nothing/../../../../outside".to_owned()),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for tool in TOOLS {
        for (name, way) in WAYS {
            let reply =
                move |canaries: &Canaries| Answer::call(tool, arguments(tool, &way(canaries)));
            let case = approved(format!("{tool} by {name}"), LEAVES, reply).with(links);
            cases.push(case.ends("failed", REFUSED).check(|aftermath| {
                ensure(aftermath.requests.is_empty(), || "somebody was asked".to_owned())
            }));
        }
        cases.extend(odd_names(tool));
    }
    for (name, way) in DIRECTORIES {
        let reply = move |canaries: &Canaries| {
            let directory = way(canaries);
            let arguments =
                json!({"command": "touch", "parameters": ["new"], "directory": directory});
            Answer::call("shell_cmd", arguments)
        };
        let name = format!("a directory by {name}");
        let refused = "is outside the working directory|cannot use";
        cases.push(approved(name, LEAVES, reply).with(links).ends("failed", refused));
    }
    cases.extend(odd_directories());
    cases.extend(walks());
    cases.extend(special_files());
    cases.extend(hard_names());
    cases
}

/// Names that mean something to a shell, to a program or to another system, and here only themselves.
fn hard_names() -> impl Iterator<Item = Case> {
    let names =
        ["-rf", "~", "$(touch owned)", "a; touch owned", "*", "CON", "...", "%2e%2e", "..\\..\\x"];
    names.into_iter().map(|name| {
        let arguments = json!({"path": name, "content": "fine"});
        let case = approved(format!("a file called {name}"), LEAVES, call("write_file", arguments));
        case.ends("completed", "").check(move |aftermath| {
            let content = fs::read_to_string(aftermath.canaries.work.join(name));
            ensure(content.is_ok_and(|content| content == "fine"), || "it is not there".to_owned())
        })
    })
}

fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        "search_files" => json!({"path": path, "pattern": "."}),
        "write_file" => json!({"path": path, "content": "owned"}),
        "edit_file" => json!({"path": path, "old": "key", "new": "owned"}),
        _ => json!({"path": path}),
    }
}

fn links(canaries: &Canaries) {
    let work = &canaries.work;
    fs::create_dir(work.join("inside")).unwrap();
    symlink(canaries.outside_file(), work.join("link-to-file")).unwrap();
    symlink("../../../outside", work.join("link-to-folder")).unwrap();
    symlink("inside/../link-to-file", work.join("chain")).unwrap();
    symlink("inside/../link-to-folder", work.join("folder-chain")).unwrap();
    symlink("../../../outside/new", work.join("link-to-nothing")).unwrap();
    symlink("circle", work.join("circle")).unwrap();
}

fn odd_names(tool: &'static str) -> [Case; 3] {
    let long = "x".repeat(300);
    let deep = "x/".repeat(3_000);
    let wording = if tool == "write_file" {
        "too long|cannot|deep"
    } else {
        "too long|cannot|deep|there is no|nothing"
    };
    [
        approved(
            format!("{tool} with a NUL in its path"),
            LEAVES,
            call(tool, arguments(tool, "inside\0/../../../../outside/secret")),
        )
        .ends("failed", "has a NUL in it"),
        approved(
            format!("{tool} with an endless name"),
            LEAVES,
            call(tool, arguments(tool, &long)),
        )
        .ends("failed", wording),
        approved(
            format!("{tool} with an endless path"),
            LEAVES,
            call(tool, arguments(tool, &deep)),
        )
        .ends("failed", format!("{wording}|not a folder")),
    ]
}

fn odd_directories() -> [Case; 2] {
    let touching = |directory: &str| json!({"command": "touch", "parameters": ["new"], "directory": directory});
    [
        approved("a directory with a NUL", LEAVES, call("shell_cmd", touching("a\0b")))
            .ends("failed", "NUL character"),
        approved(
            "a directory of endless length",
            LEAVES,
            call("shell_cmd", touching(&"x".repeat(5_000))),
        )
        .ends("failed", "File name too long"),
    ]
}

/// Tools that walk meet links on their way.
fn walks() -> [Case; 3] {
    let tells = |words: &'static str| {
        move |aftermath: &Aftermath<'_>| {
            let told = aftermath.told.join("\n");
            ensure(!told.contains(words), || format!("it walked through a link: {told}"))
        }
    };
    [
        approved(
            "list_files walks through links",
            LEAVES,
            call("list_files", json!({"depth": 9, "hidden": true})),
        )
        .with(links)
        .ends("completed", "link-to-folder")
        .check(tells("link-to-folder/secret")),
        approved(
            "search_files walks through links",
            LEAVES,
            call("search_files", json!({"pattern": "sixteen"})),
        )
        .with(links)
        .ends("completed", "")
        .check(tells("secret:")),
        approved(
            "write_file through a link to nothing",
            "a file is made outside the working directory",
            call("write_file", json!({"path": "link-to-nothing", "content": "owned"})),
        )
        .with(links)
        .ends("failed", REFUSED),
    ]
}

fn special_files() -> [Case; 3] {
    let pipe = |canaries: &Canaries| {
        links(canaries);
        let made = Command::new("mkfifo").arg(canaries.work.join("pipe")).status();
        assert!(made.unwrap().success());
    };
    let hangs = "the tool waits for ever";
    [
        approved("read_file of a pipe", hangs, call("read_file", json!({"path": "pipe"})))
            .with(pipe)
            .ends("failed", "is a pipe, not a file"),
        approved("search_files over a pipe", hangs, call("search_files", json!({"pattern": "x"})))
            .with(pipe)
            .ends("completed", ""),
        approved(
            "read_file in a circle of links",
            hangs,
            call("read_file", json!({"path": "circle"})),
        )
        .with(links)
        .ends("failed", "lead in a circle"),
    ]
}
