//! Decides what in a tool call's arguments is a secret, and puts a marker in its place.
//! Called by `display` for what a person is shown. Never changes what is stored or run, and never
//! hides more of a text than one value: a person must see the command around it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

/// How what stands in the place of a secret begins.
pub const MASKED: &str = "[secret masked: ";

/// Masks text that is a secret by the name it stands under or by the form it has.
pub fn mask_secrets(value: &Value) -> Value {
    mask(value).0
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Masked {
    Nothing,
    Something,
}

pub(super) fn mask(value: &Value) -> (Value, Masked) {
    let mut masking = Masking { masked: Masked::Nothing };
    (masking.value(value), masking.masked)
}

struct Masking {
    masked: Masked,
}

impl Masking {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => self.array(items),
            Value::Object(fields) => self.object(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    // A command line given as a list: the item after `--password` is the password.
    fn array(&mut self, items: &[Value]) -> Value {
        let mut after_secret_flag = false;
        let masked = items.iter().map(|item| {
            let secret = std::mem::replace(&mut after_secret_flag, is_secret_flag(item));
            if secret && item.is_string() { self.secret(item) } else { self.value(item) }
        });
        Value::Array(masked.collect())
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Value {
        // Lists of headers and variables name the secret beside it: {"name": .., "value": ..}.
        let named = ["name", "key", "header"].iter().find_map(|key| fields.get(*key)?.as_str());
        let secret_value = named.is_some_and(is_secret_name);
        // Names stay as they are: two of them under one marker would make a field disappear.
        // Sorted whether or not serde_json keeps insertion order, so that equal arguments look equal.
        let sorted: BTreeMap<_, _> = fields.iter().collect();
        let masked = sorted.into_iter().map(|(key, value)| {
            let secret = is_secret_name(key) || (secret_value && key == "value");
            let value = if secret { self.secret(value) } else { self.value(value) };
            (key.clone(), value)
        });
        Value::Object(masked.collect())
    }

    // Only text is a secret here: `max_tokens: 100` and `token: null` say nothing.
    fn secret(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) if !text.is_empty() => {
                self.masked = Masked::Something;
                match marker_at_the_start(text) {
                    Some(length) if length == text.len() => value.clone(),
                    _ => Value::String(marker("value of a secret field", text)),
                }
            }
            Value::Array(items) => items.iter().map(|item| self.secret(item)).collect(),
            Value::Object(fields) => {
                let sorted: BTreeMap<_, _> = fields.iter().collect();
                let masked = sorted.into_iter();
                masked.map(|(key, value)| (key.clone(), self.secret(value))).collect()
            }
            _ => value.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let masked = mask_text(text);
        if matches!(masked, Cow::Owned(_)) {
            self.masked = Masked::Something;
        }
        masked.into_owned()
    }
}

// Says what kind of thing is hidden and how long it is; not a character of it.
fn marker(kind: &str, secret: &str) -> String {
    format!("{MASKED}{kind}, {} characters]", secret.chars().count())
}

/// Bytes of the marker that a text begins with: what was masked before is not masked again.
fn marker_at_the_start(text: &str) -> Option<usize> {
    MARKER.as_ref()?.find(text).map(|found| found.end())
}

static MARKER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\[secret masked: [A-Za-z ]{1,40}, [0-9]{1,9} characters\]").ok()
});

/// Masks secrets that are told by their form anywhere inside a text.
pub fn mask_text(text: &str) -> Cow<'_, str> {
    let Some(pattern) = SECRETS.as_ref() else {
        return Cow::Owned(marker("unchecked text", text));
    };
    pattern.replace_all(text, |found: &Captures<'_>| {
        let part = |start: usize, end: usize| text.get(start..end).unwrap_or_default();
        let mut forms = SECRET_FORMS.iter().zip(found.iter().skip(1));
        let secret = forms.find_map(|((kind, _), secret)| Some((kind, secret?)));
        match (found.get(0), secret) {
            (Some(whole), Some((_, secret)))
                if marker_at_the_start(part(secret.start(), text.len())).is_some() =>
            {
                whole.as_str().to_owned()
            }
            (Some(whole), Some((kind, secret))) => [
                part(whole.start(), secret.start()),
                &marker(kind, secret.as_str()),
                part(secret.end(), whole.end()),
            ]
            .concat(),
            _ => marker("unchecked text", text),
        }
    })
}

// One pass over all forms, so that no form is looked for inside the marker of another.
static SECRETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms =
        SECRET_FORMS.iter().map(|(_, form)| form.replace("VALUE", VALUE).replace("NAME", NAME));
    Regex::new(&forms.collect::<Vec<_>>().join("|")).ok()
});

// A masked value must never be able to hide a command from the person who approves it. It is one
// shell word at most, and ends where an expansion, a quote or another command could begin, even if
// that leaves a part of an unusual password visible.
const VALUE: &str = r#"[^\s"'`$;&|<>()]+"#;
const NAME: &str = "(?i:token|secret|password|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|credentials?)";

/// Kind and form of each secret. Each form has exactly one group, around what is to be masked.
pub(super) const SECRET_FORMS: [(&str, &str); 16] = [
    (
        "private key",
        concat!(
            r"(-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----",
            r"(?:(?:\s|\\[nr])*(?:Proc-Type|DEK-Info): [A-Za-z0-9,-]+)*",
            r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{20,})*",
            r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]*(?:\s|\\[nr])*-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----)?)",
        ),
    ),
    ("web token", r"\b(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.?[A-Za-z0-9_-]*)"),
    ("API key", r"\b(sk-[A-Za-z0-9_-]{16,})"),
    ("AWS access key", r"\b((?:AKIA|ASIA)[A-Z0-9]{16})\b"),
    ("GitHub token", r"\b((?:gh[oprsu]_|github_pat_)[A-Za-z0-9_]{16,})"),
    ("GitLab token", r"\b(glpat-[A-Za-z0-9_-]{16,})"),
    ("Slack token", r"\b(xox[abeoprs]-[A-Za-z0-9-]{8,})"),
    ("Google API key", r"\b(AIza[A-Za-z0-9_-]{30,})"),
    (
        "authorization",
        r#"\b(?i:authorization)\\?["']?[ \t]*[:=][ \t]*\\?["']?(?i:basic|bearer|digest|token|apikey)[ \t]+(VALUE)"#,
    ),
    (
        "bearer token",
        r"\b(?i:bearer)[ \t]+([A-Za-z._~+/-]*[0-9][A-Za-z0-9._~+/=-]*|[A-Za-z._~+/=-]{16,})",
    ),
    (
        "password in an address",
        r#"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#@:"'`$;&|<>()]*:([^\s/?#"'`$;&|<>()]+)@"#,
    ),
    ("user in a web address", r#"\b(?i:https?)://([^\s/?#@:"'`$;&|<>()]+)@"#),
    // Without blanks around the sign only names in the style of environment variables count, so
    // that code such as `f(token=next)` stays readable.
    (
        "assigned value",
        r#"\b(?:[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)|(?i:password|passwd))=\\?["']?(VALUE)"#,
    ),
    ("assigned value", r#"NAME\\?["']?[ \t]*[:=][ \t]*\\?["'](VALUE)"#),
    ("query parameter", r"[?&][A-Za-z0-9_-]*NAME=(VALUE)"),
    ("option", r#"(?:^|[\s"'])--?[A-Za-z0-9-]*NAME[ =]["']?(VALUE)"#),
];

// What a name may hold or end in, such as `token` and `authtoken`, once it is cut into words.
const SECRET_WORDS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "secrets",
    "token",
    "apikey",
    "authorization",
    "credential",
    "credentials",
    "bearer",
];
const SECRET_WHOLE_WORDS: [&str; 4] = ["pass", "auth", "cookie", "cookies"];
const KEY_WORDS: [&str; 9] =
    ["api", "access", "private", "secret", "signing", "encryption", "ssh", "account", "master"];
// A name that ends so tells something about a secret, and a person needs to see it.
const HARMLESS_ENDINGS: [&str; 16] = [
    "count", "limit", "type", "length", "size", "budget", "usage", "url", "uri", "endpoint",
    "expiry", "policy", "file", "path", "name", "method",
];

fn is_secret_name(name: &str) -> bool {
    let words = words_of(name);
    let harmless = words.last().is_some_and(|word| HARMLESS_ENDINGS.contains(&word.as_str()));
    let secret_word = |word: &String| {
        let word = word.trim_end_matches(|character: char| character.is_ascii_digit());
        SECRET_WHOLE_WORDS.contains(&word) || SECRET_WORDS.iter().any(|end| word.ends_with(end))
    };
    let mut pairs = words.iter().zip(words.iter().skip(1));
    let secret_key = |(first, second): (&String, &String)| {
        second == "key" && KEY_WORDS.contains(&first.as_str())
    };
    !harmless && (words.iter().any(secret_word) || pairs.any(secret_key))
}

// `X-Api-Key`, `api_key`, `apiKey` and `APIKey` are the same two words.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous = ' ';
    let mut characters = name.chars().peekable();
    while let Some(character) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let starts_word = character.is_uppercase()
            && (previous.is_lowercase() || (previous.is_uppercase() && next_is_lower));
        if starts_word || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(character.to_lowercase());
        }
        previous = character;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn is_secret_flag(item: &Value) -> bool {
    let flag = item.as_str().filter(|text| text.starts_with('-') && !text.contains(['=', ' ']));
    flag.is_some_and(is_secret_name)
}

#[cfg(test)]
pub(super) fn groups() -> Option<usize> {
    Some(SECRETS.as_ref()?.captures_len() - 1)
}
