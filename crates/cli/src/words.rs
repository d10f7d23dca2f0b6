//! Puts calls, decisions and events into words.
//! Used wherever something is shown to a person. Never decides anything, and masks secrets in arguments.

use agent_world_core::command_line;
use agent_world_core::config::{Sandbox, SandboxMode};
use agent_world_core::display::{compact, mask_secrets, mask_text, reveal_line};
use serde_json::Value;

use crate::screen::escape_hidden;
pub use agent_world_terminal::permissions::{permitted, preset};

/// Characters of a line that only reminds of something.
const LINE: usize = 120;
/// Characters of a line of somebody's text: beyond that it is hardly read.
const TEXT_LINE: usize = 500;

/// A call on one line. What is hidden in it stands there as JSON writes it: the screen has nothing left to make visible, and
/// escapes nothing twice.
pub fn call(tool: &str, arguments: &Value) -> String {
    let arguments = match mask_secrets(arguments) {
        Value::String(text) => shortened(&text),
        masked => cut(&escape_hidden(&masked.to_string()), LINE),
    };
    format!("{tool} {arguments}")
}

/// What a call does, on one line: a command as it would be typed, anything else as a call.
pub fn action(tool: &str, arguments: &Value) -> String {
    let typed = || typed(&mask_secrets(arguments));
    match (tool == command_line::TOOL).then(typed).flatten() {
        Some(typed) => cut(&format!("$ {typed}"), LINE),
        None => call(tool, arguments),
    }
}

/// The command of a call to the shell tool, and what else it says. None where it is no plain call of it.
fn typed(arguments: &Value) -> Option<String> {
    let fields = arguments.as_object()?;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let mut typed = match (text("script"), text("command")) {
        (Some(script), None) => reveal_line(&mask_text(script)).into_owned(),
        (None, Some(program)) => {
            let parameters = match fields.get("parameters") {
                None | Some(Value::Null) => &[],
                Some(given) => given.as_array()?.as_slice(),
            };
            let mut words = vec![quoted(program)];
            for parameter in parameters {
                words.push(quoted(parameter.as_str()?));
            }
            mask_text(&words.join(" ")).into_owned()
        }
        _ => return None,
    };
    let named = ["script", "command", "parameters"];
    for (name, value) in fields.iter().filter(|(name, _)| !named.contains(&name.as_str())) {
        typed.push_str(&format!(" ({name}: {})", compact(value)));
    }
    Some(typed)
}

/// A word of which it is clear where it ends.
fn quoted(word: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "_-./:=@%+,~^".contains(one);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => compact(&Value::from(word)),
    }
}

/// The first lines of a text, saying how many are left out.
pub fn first_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut shown: Vec<String> = lines.iter().take(most).map(|line| cut(line, TEXT_LINE)).collect();
    match lines.len().saturating_sub(most) {
        0 => {}
        left => shown.push(format!("… {} more", count(left, "line"))),
    }
    shown.join("\n")
}

/// A text on one line, cut where that is said.
pub fn shortened(text: &str) -> String {
    cut(&reveal_line(text), LINE)
}

/// A text that must not look like several lines. The screen makes everything else visible.
pub fn unbroken(text: &str) -> String {
    text.replace('\n', "\\n")
}

/// What somebody said or the log holds, on one line. Masked first: the beginning of a secret is not seen as one.
pub fn excerpt(text: &str) -> String {
    shortened(&mask_text(text))
}

/// The beginning of a line, with a mark where the rest is missing.
pub fn cut(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

pub fn count(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        number => format!("{number} {thing}s"),
    }
}

/// How the programs that agents run are confined.
pub fn sandbox(sandbox: &Sandbox) -> String {
    let network = if sandbox.network { "with network" } else { "without network" };
    match sandbox.mode {
        SandboxMode::Off => "programs run without a sandbox".to_owned(),
        SandboxMode::On => {
            format!("programs run in a sandbox, as far as this system has one, {network}")
        }
        SandboxMode::Required => format!("programs run in a sandbox or not at all, {network}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_one_line_without_secrets() {
        let line = call("shell_cmd", &json!({"command": "a\nb", "api_key": "sk-1234567890abcdef"}));
        assert!(line.starts_with("shell_cmd {") && !line.contains('\n'), "{line}");
        assert!(!line.contains("sk-1234567890abcdef"), "{line}");
    }

    #[test]
    fn what_is_hidden_in_a_call_is_escaped_once() {
        let line = call("shell_cmd", &json!({"command": "a \u{202e}b\u{1b}[2J \\n"}));
        assert_eq!(line, r#"shell_cmd {"command":"a \u202eb\u001b[2J \\n"}"#);
        // The screen has nothing left to do.
        assert_eq!(agent_world_core::display::reveal(&line), line);
    }

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let shown = |arguments: Value| action("shell_cmd", &arguments);
        let two = json!({"command": "sh", "parameters": ["-c", "a \u{1b}[2J"], "timeout": 5});
        assert_eq!(shown(two), r#"$ sh -c "a \u001b[2J" (timeout: 5)"#);
        assert_eq!(shown(json!({"command": "touch", "parameters": ["m.txt"]})), "$ touch m.txt");
        assert_eq!(shown(json!({"script": "a && b"})), "$ a && b");
        assert_eq!(shown(json!({"odd": 1})), r#"shell_cmd {"odd":1}"#);
        let secret = json!({"command": "curl", "parameters": ["--token", "sk-1234567890abcdef"]});
        assert!(!shown(secret).contains("sk-1234567890abcdef"));
        assert_eq!(action("clock", &json!({})), "clock {}");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        assert_eq!(first_lines("a\nb\nc\n", 5), "a\nb\nc");
        assert_eq!(first_lines("a\nb\nc", 2), "a\nb\n… 1 line more");
        assert_eq!(first_lines("a\nb\nc\nd", 2), "a\nb\n… 2 lines more");
    }
}
