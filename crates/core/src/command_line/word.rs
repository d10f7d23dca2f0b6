//! Decides what text a word of a script stands for, and what stops it from being known.
//! Called for every word of a simple command. Never expands: what only a running shell knows is a gap.

use rable::ast::{Node, NodeKind};

use super::Gap;

/// A word as a program would get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// The best guess at it; what is unknown is left out.
    pub text: String,
    /// What keeps the text from being certain.
    pub doubt: Option<Gap>,
    /// Holds a pattern of file names, after a beginning that is literal.
    pub pattern: bool,
}

impl Word {
    pub fn literal(text: &str) -> Self {
        Self { text: text.to_owned(), doubt: None, pattern: false }
    }

    /// A script's word. The parser has split it at its expansions; the quotes are still in it.
    pub fn read(value: &str, parts: &[Node]) -> Self {
        let mut reader = Reader::default();
        if parts.is_empty() {
            reader.text(value);
        }
        for part in parts {
            match &part.kind {
                NodeKind::WordLiteral { value } => reader.text(value),
                // Other shells take `$'rm'` for a variable's name and a quote.
                NodeKind::AnsiCQuote { decoded, .. } => {
                    reader.word.text.push_str(decoded);
                    reader.doubt(Gap::Expansion);
                }
                NodeKind::LocaleString { inner, .. } => {
                    reader.word.text.push_str(inner);
                    reader.doubt(Gap::Expansion);
                }
                _ => reader.doubt(Gap::Expansion),
            }
        }
        if reader.quote != Quote::None {
            reader.doubt(Gap::Unreadable);
        }
        reader.word
    }

    /// `{rm,-rf}` is two words in some shells and one in others.
    pub fn alternatives(value: &str) -> Option<Vec<Word>> {
        let inner = value.strip_prefix('{')?.strip_suffix('}')?;
        let doubtful = |text: &str| Word { doubt: Some(Gap::Expansion), ..Word::read(text, &[]) };
        inner.contains(',').then(|| inner.split(',').map(doubtful).collect())
    }
}

/// Whether a character is one that hides, moves or imitates others.
pub(super) fn is_deceptive(character: char) -> bool {
    (character.is_control() && character != '\n' && character != '\t')
        || (!character.is_ascii() && character.is_whitespace())
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{e0000}'..='\u{e0fff}')
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Single,
    Double,
}

#[derive(Debug)]
struct Reader {
    word: Word,
    quote: Quote,
}

impl Default for Reader {
    fn default() -> Self {
        Self { word: Word::literal(""), quote: Quote::None }
    }
}

impl Reader {
    fn doubt(&mut self, gap: Gap) {
        self.word.doubt.get_or_insert(gap);
    }

    fn text(&mut self, raw: &str) {
        // `{}` is what find and xargs put in place of a name; no shell changes it.
        if raw == "{}" && self.quote == Quote::None && self.word.text.is_empty() {
            self.word.text.push_str(raw);
            return;
        }
        let mut rest = raw.chars();
        while let Some(character) = rest.next() {
            match self.quote {
                Quote::None => self.bare(character, &mut rest),
                Quote::Single if character == '\'' => self.quote = Quote::None,
                Quote::Single => self.word.text.push(character),
                Quote::Double => self.double(character, &mut rest),
            }
        }
    }

    fn bare(&mut self, character: char, rest: &mut std::str::Chars<'_>) {
        match character {
            '\'' => self.quote = Quote::Single,
            '"' => self.quote = Quote::Double,
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(escaped) => self.word.text.push(escaped),
                None => self.doubt(Gap::Unreadable),
            },
            '*' | '?' | '[' => {
                // `[` alone is a program; behind a literal beginning, what a pattern finds is no option.
                let beginning = self.word.text.chars().next();
                let alone = character == '[' && beginning.is_none() && rest.as_str().is_empty();
                if !alone {
                    self.word.pattern = true;
                    if matches!(beginning, None | Some('-')) {
                        self.doubt(Gap::FileNames);
                    }
                }
                self.word.text.push(character);
            }
            '$' | '`' | '{' | '}' | '(' | ')' | '<' | '>' => {
                self.doubt(Gap::Expansion);
                self.word.text.push(character);
            }
            other => self.word.text.push(other),
        }
    }

    fn double(&mut self, character: char, rest: &mut std::str::Chars<'_>) {
        match character {
            '"' => self.quote = Quote::None,
            '\\' => match rest.next() {
                Some('\n') => {}
                Some(escaped @ ('$' | '`' | '"' | '\\')) => self.word.text.push(escaped),
                Some(other) => self.word.text.extend(['\\', other]),
                None => self.doubt(Gap::Unreadable),
            },
            '$' | '`' => {
                self.doubt(Gap::Expansion);
                self.word.text.push(character);
            }
            other => self.word.text.push(other),
        }
    }
}
