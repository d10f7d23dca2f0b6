//! Decides how a call is changed before it is approved: as the command line or the script that it is, or as JSON.
//! Part of `deciding`. What cannot be read back as exactly one call is refused; nothing is guessed.

use agent_world_client::wire::{Approval, Reach};
use agent_world_core::command_line::TOOL;
use agent_world_core::display::without_hidden;
use crossterm::event::{KeyCode, KeyEvent};
use serde_json::{Map, Value, json};

use super::form::Fields;
use super::input::{Input, escape_hidden};
use super::{Deciding, Outcome, Step, rules};
use crate::attention::letter;

/// Characters that a shell would give a meaning, which a program that is called without one is not given.
const OF_SHELLS: &str = "|&;<>()$`*?[]{}!#\\";
/// The tools of which a whole diff shows what these arguments do, and how the places of a diff begin.
const CHANGES: [(&str, &[&str]); 2] =
    [("write_file", &["content"]), ("edit_file", &["old", "new"])];
const HUNK: &str = "@@";

impl Deciding {
    pub(super) fn ask_arguments(&mut self) -> Outcome {
        if !rules::offers(&self.approval, Reach::Once) {
            return self.refuse(rules::ONCE_NOT_OFFERED);
        }
        let step = match &self.approval.form {
            None => match begin(&self.approval) {
                Some(input) => Step::Command(input),
                None => Step::Arguments(Input::json(&self.approval.arguments)),
            },
            Some(form) => match Fields::of(form) {
                Some(fields) => Step::Fields(Box::new(fields)),
                None => Step::Arguments(Input::json(&Value::Object(Map::new()))),
            },
        };
        self.go_to(step)
    }

    /// What was typed in place of a command is shown as it would run before it is approved. A script is sent by a key that no
    /// text ends with, and was seen as it is.
    pub(super) fn change(&mut self, input: Input) -> Outcome {
        match arguments(&self.approval, &input.text()) {
            Err(problem) => self.refuse(problem),
            Ok(arguments) if !input.is_line() => self.once(Some(arguments)),
            Ok(arguments) if is_same(&self.approval.arguments, &arguments) => {
                self.refuse(rules::UNCHANGED)
            }
            Ok(arguments) => self.go_to(Step::Changed(input, arguments)),
        }
    }

    pub(super) fn make_sure_of_change(&mut self, key: KeyEvent) -> Outcome {
        let Step::Changed(input, arguments) = &self.step else {
            return Outcome::Nothing;
        };
        match (key.code, letter(key)) {
            (_, Some('y')) => {
                let arguments = arguments.clone();
                self.once(Some(arguments))
            }
            (KeyCode::Esc, _) | (_, Some('n')) => {
                let input = input.clone();
                self.go_to(Step::Command(input))
            }
            _ => Outcome::Nothing,
        }
    }
}

/// Whether two calls of the shell are the same: what is not given is as good as empty.
fn is_same(one: &Value, other: &Value) -> bool {
    let program = |call: &Value| call.get("command").cloned();
    let parameters = |call: &Value| {
        call.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default()
    };
    (program(one), parameters(one)) == (program(other), parameters(other))
}

/// A call of the shell that is nothing but a command, as text to change.
fn begin(approval: &Approval) -> Option<Input> {
    let fields = approval.arguments.as_object().filter(|_| approval.tool == TOOL)?;
    let given = |name: &str| fields.get(name).filter(|value| !value.is_null());
    let has_others = |known: &[&str]| {
        fields.iter().any(|(name, value)| !value.is_null() && !known.contains(&name.as_str()))
    };
    match (given("command"), given("script")) {
        (Some(Value::String(program)), None) if !has_others(&["command", "parameters"]) => {
            let parameters = match given("parameters") {
                None => Vec::new(),
                Some(Value::Array(all)) => {
                    all.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?
                }
                Some(_) => return None,
            };
            let words = std::iter::once(program.as_str()).chain(parameters);
            Some(Input::line_of(&words.map(word).collect::<Vec<_>>().join(" ")))
        }
        // In a script nothing can be escaped: one with hidden characters is shown as JSON, where they are seen.
        (None, Some(Value::String(script))) if !has_others(&["script"]) => {
            let is_plain = script.lines().all(|line| without_hidden(line) == line);
            is_plain.then(|| Input::lines_of(script))
        }
        _ => None,
    }
}

/// What was typed in place of a command or a script, as arguments.
pub fn arguments(approval: &Approval, text: &str) -> Result<Value, String> {
    let is_script = approval.arguments.get("script").is_some_and(Value::is_string);
    let arguments = match is_script {
        true => json!({ "script": text }),
        false => {
            let mut words = words(text)?.into_iter();
            let program = words.next().unwrap_or_default();
            if program.is_empty() {
                return Err("there is no command; nothing was decided".to_owned());
            }
            let parameters: Vec<String> = words.collect();
            match parameters.is_empty() {
                true => json!({ "command": program }),
                false => json!({ "command": program, "parameters": parameters }),
            }
        }
    };
    rules::arguments(approval, &arguments.to_string())
}

/// A word as it can be read back: in quotes where it would not be clear where it ends.
fn word(text: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_-./:=@%+,~^".contains(one);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => escape_hidden(&Value::from(text).to_string()),
    }
}

/// The words of a line: single quotes hold what is between them, double quotes hold a string of JSON.
fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        match next {
            '"' => {
                let mut strings = serde_json::Deserializer::from_str(rest).into_iter::<String>();
                let Some(Ok(text)) = strings.next() else {
                    return Err("what begins with \" is no string; nothing was decided".to_owned());
                };
                word.get_or_insert_default().push_str(&text);
                rest = rest.get(strings.byte_offset()..).unwrap_or_default();
            }
            '\'' => {
                let inner = rest.get(1..).unwrap_or_default();
                let Some((text, after)) = inner.split_once('\'') else {
                    return Err("what begins with ' does not end; nothing was decided".to_owned());
                };
                word.get_or_insert_default().push_str(text);
                rest = after;
            }
            space if space.is_whitespace() => {
                words.extend(word.take());
                rest = rest.get(space.len_utf8()..).unwrap_or_default();
            }
            special if OF_SHELLS.contains(special) => {
                return Err(format!(
                    "no shell reads this line: put what has {special} in it in quotes; nothing was decided"
                ));
            }
            other => {
                word.get_or_insert_default().push(other);
                rest = rest.get(other.len_utf8()..).unwrap_or_default();
            }
        }
    }
    words.extend(word);
    Ok(words)
}

/// The arguments without the texts that the diff below them shows. None where it does not show all of it.
pub fn beside_diff(approval: &Approval) -> Option<String> {
    let (_, texts) = CHANGES.iter().find(|(tool, _)| approval.tool == *tool)?;
    let diff = approval.preview.as_deref()?;
    if !rules::is_whole(approval) || !diff.lines().any(|line| line.starts_with(HUNK)) {
        return None;
    }
    let mut arguments: Value = serde_json::from_str(&approval.shown).ok()?;
    for text in *texts {
        arguments.as_object_mut()?.remove(*text).filter(Value::is_string)?;
    }
    Some(format!("{arguments:#}"))
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
