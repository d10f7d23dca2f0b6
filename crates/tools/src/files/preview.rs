//! Decides what a person sees of a change before it is made: a unified diff, with nothing hidden in it.
//! Called by `write` and `edit` when a call is prepared. Never silently shows less than all: what is cut says so.

use std::time::Duration;

use agent_world_core::display::reveal;
use similar::TextDiff;

/// Characters of a preview, and of one line in it.
const LIMIT: usize = 20_000;
const LINE_LIMIT: usize = 500;
/// After this a diff is no longer the shortest one, and still a right one.
const PATIENCE: Duration = Duration::from_millis(500);

/// The content before and after, as a diff. Nothing before for a new file. The path is given as it is shown.
pub fn diff(path: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    if is_binary(after) || before.is_some_and(is_binary) {
        let was = before.map_or_else(String::new, |bytes| format!(" {} bytes with", bytes.len()));
        return format!("binary content, not shown: replaces{was} {} bytes", after.len());
    }
    if before == Some(after) {
        return format!("no change: `{path}` has this content already");
    }
    let mut notes = Vec::new();
    let mut old = String::from_utf8_lossy(before.unwrap_or_default()).into_owned();
    let mut new = String::from_utf8_lossy(after).into_owned();
    if before.is_some_and(|before| old.len() != before.len()) {
        notes.push("some bytes are no text in UTF-8 and are shown as \u{FFFD}");
    }
    // On lines that all end alike, before and after, only the difference is of interest.
    let both = before.is_none_or(ends_in_crlf) && ends_in_crlf(after);
    if both {
        notes.push("the lines end with CRLF");
        old = old.replace("\r\n", "\n");
        new = new.replace("\r\n", "\n");
    }
    let from = before.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{path}"));
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old.as_str(), new.as_str());
    let unified = diff.unified_diff().to_string();
    // The path is visible already; revealed twice, what is hidden in it would look typed.
    let mut text = bounded(&format!("--- {from}\n+++ b/{path}\n{}", reveal(&unified)));
    if new.is_empty() && before.is_none() {
        text = format!("an empty file `{path}`\n");
    }
    for note in notes {
        super::remark(&mut text, note);
    }
    text
}

/// Whether there is at least one line break and all of them are CRLF.
pub fn ends_in_crlf(content: &[u8]) -> bool {
    let mut breaks = memchr::memchr_iter(b'\n', content).peekable();
    breaks.peek().is_some()
        && breaks.all(|at| at.checked_sub(1).and_then(|at| content.get(at)) == Some(&b'\r'))
}

pub fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, content).is_some()
}

fn bounded(text: &str) -> String {
    let mut kept = String::new();
    let mut characters = 0;
    let total = text.lines().count();
    for (count, line) in text.lines().enumerate() {
        let line = match line.char_indices().nth(LINE_LIMIT) {
            None => line.to_owned(),
            Some((end, _)) => {
                let (start, rest) = line.split_at_checked(end).unwrap_or((line, ""));
                format!("{start} [… {} more characters in this line]", rest.chars().count())
            }
        };
        characters += line.chars().count() + 1;
        if characters > LIMIT {
            super::remark(
                &mut kept,
                &format!("cut: {} more lines of the diff are not shown", total - count),
            );
            return kept;
        }
        kept.push_str(&line);
        kept.push('\n');
    }
    kept
}

#[cfg(test)]
#[path = "preview_tests.rs"]
mod tests;
