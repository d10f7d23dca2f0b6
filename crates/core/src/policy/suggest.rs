//! Decides which narrower permissions are offered with a request, from the narrowest to the whole tool.
//! Called when an approval is requested. Each covers the call it is offered for; none lets a program through that
//! runs or destroys whatever it is told to.

use serde_json::Value;

use super::condition::{Conditions, Facts};
use super::paths;
use super::{Match, Question, Suggestion, Test};
use crate::command_line::{self, Command};
use crate::display::{mask_text, reveal_line};

/// Subcommands that are named at most: `docker compose up`.
const SUBCOMMANDS: usize = 2;

/// Narrower permissions worth offering for a call.
pub fn suggestions(question: Question<'_>) -> Vec<Suggestion> {
    let facts = Facts::new(question, None);
    let exactly = Match { pointer: String::new(), test: Test::Equals(question.arguments.clone()) };
    let mut offered = vec![offer("exactly this call".to_owned(), vec![exactly])];
    if facts.line.is_some() {
        offered.extend(commands(&facts));
    } else {
        offered.extend(folder(question));
        offered.extend(host(question));
    }
    offered.push(offer(format!("any {} call", shown(question.tool)), Vec::new()));
    // A permission that would not have spared this very question is not worth its label.
    offered.retain(|one| Conditions::new(&one.matches).permit(&facts));
    offered
}

fn offer(label: String, matches: Vec<Match>) -> Suggestion {
    Suggestion { label, matches }
}

fn shown(text: &str) -> String {
    reveal_line(&mask_text(text)).into_owned()
}

/// A program with the words that say what it does, whatever follows them.
fn commands(facts: &Facts<'_>) -> Vec<Suggestion> {
    let Some((first, others)) = facts.commands().split_first() else { return Vec::new() };
    // A permission names one command; a line of several is theirs only if all are alike.
    let words = subcommands(first);
    let alike = |other: &Command| {
        other.program == first.program && subcommands(other).starts_with(words.as_slice())
    };
    if !facts.is_certain() || !others.iter().all(alike) || is_boundless(first) {
        return Vec::new();
    }
    let shortest = usize::from(!words.is_empty());
    (shortest..=words.len())
        .rev()
        .filter_map(|length| {
            let words: Vec<String> = words.iter().take(length).map(ToString::to_string).collect();
            let named: Vec<&str> = std::iter::once(first.program.as_str())
                .chain(words.iter().map(String::as_str))
                .collect();
            let label = format!("`{}` with any parameters", shown(&named.join(" ")));
            (!first.program.contains('*'))
                .then(|| offer(label, vec![Match::command(first.program.clone(), words)]))
        })
        .collect()
}

/// The words that say what a program does, if it is one that takes such words: no options, no paths.
fn subcommands(command: &Command) -> Vec<&str> {
    let is_word = |text: &&str| {
        text.starts_with(|character: char| character.is_ascii_lowercase())
            && text
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "-_:".contains(character))
    };
    let words = if has_subcommands(&super::condition::plain_name(&command.program)) {
        SUBCOMMANDS
    } else {
        0
    };
    command.parameters.iter().map(String::as_str).take_while(is_word).take(words).collect()
}

/// Whether "with any parameters" would mean anything at all.
fn is_boundless(command: &Command) -> bool {
    let name = super::condition::plain_name(&command.program);
    let word = command.parameters.first().map(String::as_str).unwrap_or_default();
    command_line::runs_others(&name)
        || matches!(
            name.as_str(),
            "rm" | "rmdir"
                | "unlink"
                | "shred"
                | "dd"
                | "truncate"
                | "mv"
                | "cp"
                | "ln"
                | "install"
                | "tee"
                | "sed"
                | "perl"
                | "chmod"
                | "chown"
                | "chgrp"
                | "kill"
                | "pkill"
                | "killall"
                | "curl"
                | "wget"
                | "nc"
                | "ncat"
                | "netcat"
                | "socat"
                | "scp"
                | "sftp"
                | "rsync"
                | "reboot"
                | "shutdown"
                | "halt"
                | "poweroff"
                | "mount"
                | "umount"
                | "crontab"
                | "systemctl"
                | "launchctl"
                | "iptables"
                | "vi"
                | "vim"
                | "nvim"
                | "emacs"
                | "nano"
                | "less"
                | "more"
                | "man"
                | "npx"
                | "bunx"
                | "uvx"
                | "pipx"
                | "tar"
                | "zip"
                | "make"
        )
        || name.starts_with("mkfs")
        || (subcommands(command).is_empty() && has_subcommands(&name))
        || match name.as_str() {
            "git" => matches!(
                word,
                "config"
                    | "bisect"
                    | "submodule"
                    | "filter-branch"
                    | "rebase"
                    | "difftool"
                    | "mergetool"
                    | "clean"
                    | "reset"
                    | "push"
            ),
            "docker" | "podman" | "kubectl" | "nerdctl" => {
                matches!(word, "run" | "exec" | "rm" | "delete" | "compose" | "system")
            }
            "npm" | "pnpm" | "yarn" | "bun" | "uv" | "poetry" | "mise" | "nix" => {
                let runs = matches!(word, "exec" | "x" | "dlx" | "shell" | "develop");
                runs || word == "run" && subcommands(command).len() < 2
            }
            _ => false,
        }
}

/// Whether a program does nothing in particular until its first word says what.
fn has_subcommands(name: &str) -> bool {
    matches!(
        name,
        "git"
            | "gh"
            | "docker"
            | "podman"
            | "kubectl"
            | "nerdctl"
            | "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "uv"
            | "poetry"
            | "mise"
            | "nix"
            | "cargo"
            | "rustup"
            | "go"
            | "pip"
            | "pip3"
            | "brew"
            | "apt"
            | "apt-get"
            | "helm"
            | "terraform"
            | "aws"
            | "gcloud"
            | "az"
            | "dotnet"
    )
}

/// The folder of the call's paths, if they have one in common.
fn folder(question: Question<'_>) -> Option<Suggestion> {
    let places = paths::places(question.arguments, "", question.directory);
    let folders: Option<Vec<String>> =
        places.iter().map(|place| place.as_ref()?.folder()).collect();
    let folder =
        folders?.into_iter().reduce(|one, other| if one == other { one } else { String::new() })?;
    // A star in a folder's name would be taken for a pattern.
    if folder.is_empty() || folder.contains('*') {
        return None;
    }
    let label = match folder.as_str() {
        "." => "files in the working directory".to_owned(),
        folder => format!("files in `{}/`", shown(folder)),
    };
    Some(offer(format!("{} for {label}", shown(question.tool)), vec![Match::within(vec![folder])]))
}

/// The host of the call's address.
fn host(question: Question<'_>) -> Option<Suggestion> {
    let url = question.arguments.get("url").and_then(Value::as_str)?;
    let (scheme, rest) = url.split_once("://")?;
    let (host, _) = rest.split_once('/')?;
    let is_plain = |character: char| character.is_ascii_alphanumeric() || ".-:".contains(character);
    if !matches!(scheme, "http" | "https") || host.is_empty() || !host.chars().all(is_plain) {
        return None;
    }
    let test = Test::Glob(format!("{scheme}://{host}/*"));
    let label = format!("{} for {scheme}://{host}", shown(question.tool));
    Some(offer(label, vec![Match { pointer: "/url".to_owned(), test }]))
}
