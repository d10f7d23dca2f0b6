//! Decides which part of a text is thought aloud: what stands between `<think>` and `</think>` at its very beginning.
//! Used on text as it streams in, so a tag may come in pieces. A tag further on is text like any other, because a
//! model may talk about it.

const OPENING: &str = "<think>";
const CLOSING: &str = "</think>";

/// A piece of what a model said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Thought(String),
    Text(String),
}

/// Splits a text as it comes.
#[derive(Debug)]
pub(super) enum Splitter {
    /// Nothing but blanks and maybe the beginning of a tag so far.
    Start {
        blanks: String,
        tag: String,
    },
    /// In the thoughts; the tail may be the beginning of the closing tag.
    Inside {
        begun: bool,
        tail: String,
    },
    /// Behind the thoughts, where blanks lead up to the text.
    Behind,
    Text,
}

impl Splitter {
    pub(super) fn new() -> Self {
        Self::Start { blanks: String::new(), tag: String::new() }
    }

    /// For a host whose models never think aloud.
    pub(super) fn text_only() -> Self {
        Self::Text
    }

    /// Takes the next piece of text; gives what it settles.
    pub(super) fn push(&mut self, piece: &str, out: &mut Vec<Piece>) {
        match self {
            Self::Start { .. } => self.start(piece, out),
            Self::Inside { .. } => self.inside(piece, out),
            Self::Behind => {
                let text = piece.trim_start();
                if !text.is_empty() {
                    *self = Self::Text;
                    out.push(Piece::Text(text.to_owned()));
                }
            }
            Self::Text => {
                if !piece.is_empty() {
                    out.push(Piece::Text(piece.to_owned()));
                }
            }
        }
    }

    /// The text is at its end: what was held back was no tag.
    pub(super) fn end(&mut self, out: &mut Vec<Piece>) {
        match std::mem::replace(self, Self::Text) {
            Self::Start { blanks, tag } if !(blanks.is_empty() && tag.is_empty()) => {
                out.push(Piece::Text(blanks + &tag));
            }
            Self::Inside { tail, .. } if !tail.is_empty() => out.push(Piece::Thought(tail)),
            _ => {}
        }
    }

    fn start(&mut self, piece: &str, out: &mut Vec<Piece>) {
        let Self::Start { blanks, tag } = self else { return };
        let mut rest = piece;
        if tag.is_empty() {
            rest = piece.trim_start();
            blanks.push_str(piece.strip_suffix(rest).unwrap_or_default());
        }
        tag.push_str(rest);
        if OPENING.starts_with(tag.as_str()) && tag.len() < OPENING.len() {
            return;
        }
        match tag.strip_prefix(OPENING) {
            Some(behind) => {
                let behind = behind.to_owned();
                *self = Self::Inside { begun: false, tail: String::new() };
                self.inside(&behind, out);
            }
            None => {
                out.push(Piece::Text(std::mem::take(blanks) + tag));
                *self = Self::Text;
            }
        }
    }

    fn inside(&mut self, piece: &str, out: &mut Vec<Piece>) {
        let Self::Inside { begun, tail } = self else { return };
        let text = std::mem::take(tail) + piece;
        let (thought, behind) = match text.split_once(CLOSING) {
            Some((thought, behind)) => (thought, Some(behind)),
            None => {
                let held = held_back(&text);
                let (thought, kept) = text.split_at(text.len() - held);
                tail.push_str(kept);
                (thought, None)
            }
        };
        let thought = if *begun { thought } else { thought.trim_start() };
        if !thought.is_empty() {
            *begun = true;
            out.push(Piece::Thought(thought.to_owned()));
        }
        if let Some(behind) = behind {
            *self = Self::Behind;
            self.push(behind, out);
        }
    }
}

/// Bytes at the end of a text that may be the beginning of the closing tag.
fn held_back(text: &str) -> usize {
    let begins = |length: &usize| CLOSING.get(..*length).is_some_and(|tag| text.ends_with(tag));
    (1..CLOSING.len()).rev().find(begins).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of a text that comes in pieces of a size.
    fn split(text: &str, size: usize) -> (String, String) {
        let mut splitter = Splitter::new();
        let mut pieces = Vec::new();
        let characters: Vec<char> = text.chars().collect();
        for chunk in characters.chunks(size) {
            splitter.push(&chunk.iter().collect::<String>(), &mut pieces);
        }
        splitter.end(&mut pieces);
        let (mut thought, mut spoken) = (String::new(), String::new());
        for piece in pieces {
            match piece {
                Piece::Thought(text) => thought.push_str(&text),
                Piece::Text(text) => spoken.push_str(&text),
            }
        }
        (thought, spoken)
    }

    fn check(text: &str, thought: &str, spoken: &str) {
        for size in [1, 2, 3, 5, 7, 100] {
            let expected = (thought.to_owned(), spoken.to_owned());
            assert_eq!(split(text, size), expected, "{text:?} in {size}s");
        }
    }

    #[test]
    fn what_stands_between_the_tags_is_thought() {
        check("<think>Hm.</think>Yes.", "Hm.", "Yes.");
        check("\n<think>\nHm.\n</think>\n\nYes.\n", "Hm.\n", "Yes.\n");
        check("<think>a < b </thin> </</think>ü", "a < b </thin> </", "ü");
    }

    #[test]
    fn thoughts_that_a_limit_cut_are_thoughts() {
        check("<think>Hm", "Hm", "");
        check("<think>Hm</thi", "Hm</thi", "");
        check("<think>", "", "");
    }

    #[test]
    fn blank_thoughts_are_none() {
        check("<think>\n\n</think>\n\nYes.", "", "Yes.");
    }

    #[test]
    fn a_tag_further_on_is_text() {
        for text in [
            "Write <think> first.",
            "Yes.<think>no</think>",
            "<thinking>x</thinking>",
            "<thi",
            " <",
            "\n\nYes. ",
            "</think>",
            "",
        ] {
            check(text, "", text);
        }
        check("<think>a</think>b<think>c</think>", "a", "b<think>c</think>");
    }
}
