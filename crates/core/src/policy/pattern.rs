//! Decides whether a text fits a pattern: a star pattern, or a regular expression over all of it.
//! Called for tools, programs, parameters and arguments. Never slow: both take time in proportion to the text.

use regex::{Regex, RegexBuilder};

/// Characters of a regular expression.
pub(super) const REGEX_LIMIT: usize = 1_000;
/// Bytes a compiled expression may take.
const REGEX_SIZE: usize = 256 * 1024;

/// Whether `text` fits a pattern in which `*` stands for any run of characters.
// One backtrack point is enough: an earlier `*` never has to give back what a later one could take.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let (middle, last) = rest.rsplit_once('*').map_or((None, rest), |(a, b)| (Some(a), b));
    for piece in middle.into_iter().flat_map(|middle| middle.split('*')) {
        match text.split_once(piece) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(last)
}

/// An expression that must match a whole text.
pub(super) fn whole(expression: &str) -> Result<Regex, String> {
    if expression.chars().count() > REGEX_LIMIT {
        return Err(format!("the regular expression is longer than {REGEX_LIMIT} characters"));
    }
    // On its own first: `a)|(b` must not get its balance from the parentheses around it.
    let compile = |text: &str| RegexBuilder::new(text).size_limit(REGEX_SIZE).build();
    compile(expression).and_then(|_| compile(&format!(r"\A(?:{expression})\z"))).map_err(|error| {
        match error {
            regex::Error::Syntax(text) => {
                let last = text.lines().last().unwrap_or_default();
                format!(
                    "the regular expression cannot be read: {}",
                    last.trim_start_matches("error: ")
                )
            }
            regex::Error::CompiledTooBig(_) => {
                "the regular expression is too large; write a simpler one".to_owned()
            }
            other => other.to_string(),
        }
    })
}
