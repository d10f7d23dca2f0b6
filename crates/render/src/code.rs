//! Marks code by what its parts mean, with classes, one line after another.
//! Called by `open` for fenced code and by `markdown` for code inside lists. What is too long to be looked at is left plain:
//! how long it takes is bounded by how much is looked at.

use std::sync::LazyLock;

use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use crate::writer::Writer;

/// Bytes of a line that are looked at. Hostile code can make that slow.
const LINE: usize = 1_000;
/// Bytes of one code block that are looked at.
const BLOCK: usize = 64 * 1024;
/// Parts of code inside one another.
const DEPTH: usize = 100;
/// Letters of a language's name.
const NAME: usize = 32;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// What parts of code are called, and their classes. The first that fits counts.
pub const CLASSES: [(&str, &str); 17] = [
    ("comment", "hl-comment"),
    ("string", "hl-string"),
    ("constant.numeric", "hl-number"),
    ("constant", "hl-constant"),
    ("keyword.operator", "hl-operator"),
    ("keyword", "hl-keyword"),
    ("storage", "hl-keyword"),
    ("entity.name.function", "hl-function"),
    ("variable.function", "hl-function"),
    ("support.function", "hl-function"),
    ("entity.name.tag", "hl-tag"),
    ("entity.other.attribute-name", "hl-attribute"),
    ("entity.name", "hl-type"),
    ("support", "hl-type"),
    ("markup.inserted", "hl-inserted"),
    ("markup.deleted", "hl-deleted"),
    ("markup.heading", "hl-heading"),
];

/// Looks at one line after another.
#[derive(Clone)]
pub struct Highlighter {
    state: Option<(ParseState, ScopeStack)>,
    left: usize,
}

impl std::fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Highlighter").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Highlighter {
    pub fn new(language: &str) -> Self {
        let state = syntax(language).map(|found| (ParseState::new(found), ScopeStack::new()));
        Self { state, left: BLOCK }
    }

    /// Writes a line without its end.
    pub fn line(&mut self, line: &str, writer: &mut Writer) {
        match self.marked(line) {
            Some(parts) => parts.into_iter().for_each(|(class, text)| match class {
                Some(class) => {
                    writer.tag("<span class=\"");
                    writer.tag(class);
                    writer.tag("\">");
                    writer.code(text);
                    writer.tag("</span>");
                }
                None => writer.code(text),
            }),
            None => {
                self.state = None;
                writer.code(line);
            }
        }
    }

    fn marked<'t>(&mut self, line: &'t str) -> Option<Vec<(Option<&'static str>, &'t str)>> {
        let (state, stack) = self.state.as_mut()?;
        self.left = self.left.checked_sub(line.len() + 1)?;
        if line.len() > LINE {
            return None;
        }
        let changes = state.parse_line(&format!("{line}\n"), &SYNTAXES).ok()?;
        let mut parts: Vec<(Option<&'static str>, &str)> = Vec::new();
        let mut from = 0;
        for (at, change) in changes {
            let until = at.min(line.len()).max(from);
            parts.push((class(stack), line.get(from..until)?));
            from = until;
            stack.apply(&change).ok()?;
        }
        parts.push((class(stack), line.get(from..)?));
        if stack.len() > DEPTH {
            return None;
        }
        parts.retain(|(_, text)| !text.is_empty());
        Some(joined(parts, line))
    }
}

/// Neighbours of one class as one part.
fn joined<'t>(
    parts: Vec<(Option<&'static str>, &'t str)>,
    line: &'t str,
) -> Vec<(Option<&'static str>, &'t str)> {
    let mut joined: Vec<(Option<&'static str>, &str)> = Vec::with_capacity(parts.len());
    let mut end = 0;
    for (class, text) in parts {
        let start = end;
        end += text.len();
        match joined.last_mut() {
            Some((same, last)) if *same == class => {
                *last = line.get(start.saturating_sub(last.len())..end).unwrap_or_default();
            }
            _ => joined.push((class, text)),
        }
    }
    joined
}

/// The language that code says it is in, as something that can stand in an attribute.
pub fn language(info: &str) -> &str {
    let word = info.split([' ', ',', '{', '\t']).next().unwrap_or_default();
    let usual =
        |one: char| one.is_ascii_alphanumeric() || matches!(one, '+' | '#' | '.' | '-' | '_');
    if word.len() <= NAME && word.chars().all(usual) { word } else { "" }
}

fn syntax(language: &str) -> Option<&'static SyntaxReference> {
    // Names people use that the syntaxes do not have.
    let name = language.to_lowercase();
    let token = match name.as_str() {
        "" | "text" | "txt" | "plain" => return None,
        "shell" | "console" | "shell-session" | "zsh" => "bash",
        "typescript" | "ts" | "tsx" | "jsx" | "mjs" | "cjs" => "js",
        "jsonc" | "json5" | "jsonl" => "json",
        "c++" | "hpp" | "cc" => "cpp",
        "csharp" => "cs",
        "golang" => "go",
        "yml" => "yaml",
        other => other,
    };
    SYNTAXES.find_syntax_by_token(token)
}

fn class(stack: &ScopeStack) -> Option<&'static str> {
    static KNOWN: LazyLock<Vec<(Scope, &'static str)>> = LazyLock::new(|| {
        let scope = |(name, class)| Scope::new(name).ok().map(|scope| (scope, class));
        CLASSES.into_iter().filter_map(scope).collect()
    });
    let of = |scope: &Scope| {
        KNOWN.iter().find(|(known, _)| known.is_prefix_of(*scope)).map(|(_, class)| *class)
    };
    stack.as_slice().iter().rev().find_map(of)
}
