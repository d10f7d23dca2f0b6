//! Decides what a person is shown of a tool call's arguments before deciding about it.
//! Called when an approval is requested or listed. Never changes what is stored or run: what it
//! hides (secrets) or cuts it says so in place, and what would be invisible it makes visible.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use self::secrets::Masked;
pub use self::secrets::{MASKED, mask_secrets, mask_text};

mod secrets;

/// Arguments as a person sees them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub text: String,
    /// False when something was cut or masked: such arguments must not get a lasting approval.
    pub complete: bool,
}

/// Shows arguments as JSON with sorted keys, secrets masked and hidden characters made visible.
pub fn shown(arguments: &Value, limit_characters: usize) -> Shown {
    let (arguments, masked) = secrets::mask(arguments);
    let text = reveal_json(&format!("{arguments:#}"));
    match text.char_indices().nth(limit_characters) {
        None => Shown { text, complete: masked == Masked::Nothing },
        Some((end, _)) => {
            let (start, rest) = text.split_at_checked(end).unwrap_or_default();
            let left_out = rest.chars().count();
            Shown {
                text: format!("{start}\n… {left_out} more characters not shown"),
                complete: false,
            }
        }
    }
}

/// Fills `{key}` from the arguments, on one line, with secrets masked. A missing key is left empty.
/// Only the template has placeholders: braces inside a value are the value's own.
pub fn fill_template(template: &str, arguments: &Value) -> String {
    let arguments = mask_secrets(arguments);
    let mut filled = String::new();
    let mut rest = template;
    while let Some((literal, after)) = rest.split_once('{') {
        filled.push_str(&reveal(literal));
        if let Some((key, after)) = split_key(after) {
            filled.push_str(&one_line(arguments.get(key)));
            rest = after;
        } else {
            filled.push('{');
            rest = after;
        }
    }
    filled.push_str(&reveal(rest));
    filled.truncate(filled.trim_end().len());
    filled
}

// Braces around anything but a key, as in a JSON example, are ordinary text.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let after = text.trim_start_matches(|character: char| {
        character.is_alphanumeric() || "_-.$".contains(character)
    });
    let (key, _) = text.split_at_checked(text.len().checked_sub(after.len())?)?;
    let after = after.strip_prefix('}')?;
    (!key.is_empty()).then_some((key, after))
}

/// A value as JSON on one line: secrets masked, hidden characters escaped, nothing else changed.
pub fn compact(value: &Value) -> String {
    reveal_json(&mask_secrets(value).to_string())
}

fn one_line(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::String(text)) => reveal_line(text).into_owned(),
        Some(Value::Array(words)) if words.iter().all(Value::is_string) => {
            let words: Vec<String> = words.iter().map(word).collect();
            words.join(" ")
        }
        Some(other) => reveal_json(&other.to_string()),
    }
}

// A list of words reads like a command line; a word in which that would be ambiguous is shown in quotes.
fn word(value: &Value) -> String {
    match value.as_str() {
        Some(text) if is_plain(text) => text.to_owned(),
        _ => reveal_json(&value.to_string()),
    }
}

fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|one| one.is_ascii_alphanumeric() || "_-./:=@%+,~^".contains(one))
}

/// Makes hidden characters visible as `\u{202E}`, and keeps line breaks and tabs.
/// A typed `\u{` is itself escaped, so that every such sequence in the result is a real escape.
pub fn reveal(text: &str) -> Cow<'_, str> {
    static PATTERN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"[{HIDDEN}&&[^\n\t]]|\\u\{{")).ok());
    replace(PATTERN.as_ref(), text, |found| match found {
        r"\u{" => r"\u{5C}u{".to_owned(),
        hidden => escape(hidden),
    })
}

/// Like `reveal`, for a text that may have been revealed already: one in which nothing is hidden stays as it is.
pub fn reveal_once(text: &str) -> Cow<'_, str> {
    static PATTERN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"[{HIDDEN}&&[^\n\t]]")).ok());
    match PATTERN.as_ref() {
        Some(hidden) if !hidden.is_match(text) => Cow::Borrowed(text),
        _ => reveal(text),
    }
}

/// Makes hidden characters visible and keeps the text on one line: a line break becomes `\n`.
/// A backslash is doubled, so that a typed `\n` is told from a line break.
pub fn reveal_line(text: &str) -> Cow<'_, str> {
    static PATTERN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(&format!(r"[{HIDDEN}\\]")).ok());
    replace(PATTERN.as_ref(), text, |found| match found {
        "\\" => r"\\".to_owned(),
        "\n" => r"\n".to_owned(),
        "\r" => r"\r".to_owned(),
        "\t" => r"\t".to_owned(),
        hidden => escape(hidden),
    })
}

/// Takes hidden characters out. For texts that are only a label, such as a title.
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    replace(HIDDEN_PATTERN.as_ref(), text, |_| String::new())
}

// JSON doubles backslashes and escapes line breaks by itself. The breaks that are left are its own.
fn reveal_json(json: &str) -> String {
    replace(HIDDEN_PATTERN.as_ref(), json, |found| match found {
        "\n" => "\n".to_owned(),
        hidden => escape(hidden),
    })
    .into_owned()
}

// Inside a character class. Control, format, private and unassigned characters, every separator but
// the plain space, what Unicode says to draw as nothing (joiners, fillers, selectors, tags), and
// three characters that are drawn as nothing without being declared so.
const HIDDEN: &str = concat!(
    r"\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}[\p{Zs}--\x20]",
    r"\p{Default_Ignorable_Code_Point}\u{2800}\u{FFFC}\u{1D159}",
);

static HIDDEN_PATTERN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(&format!("[{HIDDEN}]")).ok());

// Without its pattern, which a test shows to compile, nothing but plain ASCII is trusted.
fn replace<'t>(
    pattern: Option<&Regex>,
    text: &'t str,
    replacement: impl Fn(&str) -> String,
) -> Cow<'t, str> {
    match pattern {
        Some(pattern) => pattern.replace_all(text, |found: &Captures<'_>| {
            found.get(0).map_or_else(String::new, |found| replacement(found.as_str()))
        }),
        None => Cow::Owned(text.escape_default().to_string()),
    }
}

fn escape(hidden: &str) -> String {
    let code_points = hidden.chars().map(u32::from);
    code_points.fold(String::new(), |text, code_point| text + &format!("\\u{{{code_point:X}}}"))
}

#[cfg(test)]
#[path = "display_tests.rs"]
mod tests;
