//! Decides how the sources that Gemini names for its words become annotations of the text.
//! Called by `reply` when a message is done. Says nothing where a source does not fit the text.

use serde_json::{Value, json};

/// Sources that are looked at; a reply names a handful.
const MOST: usize = 1_000;

/// The annotations for a text, in the words of the *Responses* format.
pub(super) fn annotations(text: &str, grounding: &Value) -> Vec<Value> {
    let sources = list(grounding, "groundingChunks");
    let mut characters = Characters { text, byte: 0, character: 0 };
    let mut annotations = Vec::new();
    for support in list(grounding, "groundingSupports").iter().take(MOST) {
        let Some((from, to)) = place(text, support) else { continue };
        let (from, to) = (characters.at(from), characters.at(to));
        for source in list(support, "groundingChunkIndices") {
            let source = source
                .as_u64()
                .and_then(|index| usize::try_from(index).ok())
                .and_then(|index| sources.get(index));
            if let Some((url, title)) = source.and_then(address)
                && annotations.len() < MOST
            {
                annotations.push(json!({
                    "type": "url_citation",
                    "start_index": from,
                    "end_index": to,
                    "url": url,
                    "title": title,
                }));
            }
        }
    }
    annotations
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The bytes that a source speaks for, if they are in the text and say what the vendor says they do.
fn place(text: &str, support: &Value) -> Option<(usize, usize)> {
    let segment = support.get("segment")?;
    let number = |key: &str| match segment.get(key) {
        Some(number) => number.as_u64().and_then(|number| usize::try_from(number).ok()),
        None => Some(0),
    };
    let (from, to) = (number("startIndex")?, number("endIndex")?);
    let meant = text.get(from..to)?;
    match segment.get("text").and_then(Value::as_str) {
        Some(said) if said != meant => None,
        _ => Some((from, to)),
    }
}

fn address(source: &Value) -> Option<(&str, &str)> {
    let source = ["web", "maps", "retrievedContext"].iter().find_map(|kind| source.get(kind))?;
    let url = source.get("uri")?.as_str()?;
    Some((url, source.get("title").and_then(Value::as_str).unwrap_or_default()))
}

/// Counts characters up to a byte, going on from where it was asked last.
struct Characters<'a> {
    text: &'a str,
    byte: usize,
    character: usize,
}

impl Characters<'_> {
    fn at(&mut self, byte: usize) -> usize {
        if byte < self.byte {
            (self.byte, self.character) = (0, 0);
        }
        if let Some(between) = self.text.get(self.byte..byte) {
            self.character += between.chars().count();
            self.byte = byte;
        }
        self.character
    }
}
