//! Shows a call of the shell tool as the line that it is.
//! Used by the card. Shows every argument or nothing: what it does not understand is shown as it came.

use agent_world_core::command_line::CommandLine;
use agent_world_core::display::{compact, reveal};
use serde_json::{Map, Value};

/// Programs that take away or change what is there, or act with other rights.
const DESTRUCTIVE: [&str; 18] = [
    "rm", "rmdir", "unlink", "shred", "dd", "truncate", "mkfs", "fdisk", "mv", "chmod", "chown",
    "chgrp", "kill", "pkill", "killall", "sudo", "su", "doas",
];

/// What would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The command, or the script.
    pub text: String,
    /// The other arguments, by name.
    pub more: Vec<(String, String)>,
    /// Programs in it that may destroy something.
    pub risky: Vec<String>,
}

impl Run {
    /// Of the arguments as they are shown. None where they are not a plain call of the shell.
    pub fn read(shown: &str) -> Option<Self> {
        let arguments: Value = serde_json::from_str(shown).ok()?;
        let fields = arguments.as_object()?;
        let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
        let (text, named) = match (given("command"), given("script")) {
            (Some(Value::String(program)), None) => {
                (line(program, given("parameters"))?, ["command", "parameters"])
            }
            (None, Some(Value::String(script))) if given("parameters").is_none() => {
                (reveal(script).into_owned(), ["script", "parameters"])
            }
            _ => return None,
        };
        Some(Self { text, more: others(fields, &named), risky: risky(&arguments) })
    }
}

fn line(program: &str, parameters: Option<&Value>) -> Option<String> {
    let mut words = vec![word(program)];
    match parameters {
        None => {}
        Some(Value::Array(parameters)) => {
            for parameter in parameters {
                words.push(word(parameter.as_str()?));
            }
        }
        Some(_) => return None,
    }
    Some(words.join(" "))
}

// A word in which it would not be clear where it ends is shown in quotes.
fn word(text: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_-./:=@%+,~^".contains(one);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => compact(&Value::from(text)),
    }
}

fn others(fields: &Map<String, Value>, named: &[&str]) -> Vec<(String, String)> {
    let others =
        fields.iter().filter(|(name, value)| !named.contains(&name.as_str()) && !value.is_null());
    others.map(|(name, value)| (reveal(name).into_owned(), compact(value))).collect()
}

fn risky(arguments: &Value) -> Vec<String> {
    let mut risky: Vec<String> = Vec::new();
    for command in CommandLine::parse(arguments).commands {
        let name = command.name();
        let is_destructive = DESTRUCTIVE.contains(&name) || name.starts_with("mkfs.");
        if is_destructive && !risky.iter().any(|known| known == name) {
            risky.push(name.to_owned());
        }
    }
    risky
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
