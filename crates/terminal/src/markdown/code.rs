//! Styles code by what its parts mean, and diffs by what they change.
//! Used for fenced code, commands and previews. Never changes the text; what is too long to be looked at is left plain.

use std::sync::LazyLock;

use ratatui::style::Style;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

use super::wrap::Spans;
use crate::theme::{Part, Theme};

/// Bytes of a line, and lines of a text, that are looked at. Hostile code can make that slow.
const LINE: usize = 1_000;
const LINES: usize = 2_000;
/// Parts of code inside one another.
const DEPTH: usize = 100;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// What is written most often, with a line of each that has most of its parts.
const COMMON: [(&str, &str); 6] = [
    ("bash", "for one in \"$@\"; do echo 1; done # all"),
    ("json", "{\"name\": [1, true, \"text\"]}"),
    ("rust", "pub fn one(two: &str) -> u8 { let a = 1; \"text\" } // why"),
    ("python", "def one(two): return [1, \"text\"] # why"),
    ("javascript", "const one = (two) => { return [1, \"text\"]; } // why"),
    ("diff", "@@ -1 +1 @@"),
];

/// Reads what is known of languages, and of the common ones what their first line needs. That takes a while: whoever does it
/// before it is needed, beside what must not wait, spares the first code that is shown.
pub fn prepare() {
    for (language, line) in COMMON {
        drop(Highlighter::new(language, Theme::new(true)).line(line));
    }
}

/// Highlights one line after another.
pub struct Highlighter {
    theme: Theme,
    state: Option<(ParseState, ScopeStack)>,
    seen: usize,
}

impl std::fmt::Debug for Highlighter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Highlighter").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Clone for Highlighter {
    fn clone(&self) -> Self {
        Self { theme: self.theme, state: self.state.clone(), seen: self.seen }
    }
}

impl Highlighter {
    /// For a language by its name, or a file by its name.
    pub fn new(language: &str, theme: Theme) -> Self {
        let state = match theme.has_colours() {
            true => syntax(language).map(|found| (ParseState::new(found), ScopeStack::new())),
            false => None,
        };
        Self { theme, state, seen: 0 }
    }

    /// Whether the parts of the next line are looked at.
    pub fn is_at_work(&self) -> bool {
        self.state.is_some()
    }

    /// A line without its end.
    pub fn line(&mut self, line: &str) -> Spans {
        let plain = self.theme.code_block();
        self.seen += 1;
        if line.len() > LINE || self.seen > LINES {
            self.state = None;
        }
        let Some((state, stack)) = &mut self.state else {
            return vec![(line.to_owned(), plain)];
        };
        let ended = format!("{line}\n");
        let Ok(changes) = state.parse_line(&ended, &SYNTAXES) else {
            self.state = None;
            return vec![(line.to_owned(), plain)];
        };
        let mut spans = Spans::new();
        let mut from = 0;
        for (at, change) in changes {
            let style = style(stack, self.theme);
            let text = line.get(from..at.min(line.len())).unwrap_or_default();
            append(&mut spans, text, style);
            from = at.min(line.len()).max(from);
            if stack.apply(&change).is_err() {
                break;
            }
        }
        append(&mut spans, line.get(from..).unwrap_or_default(), style(stack, self.theme));
        if stack.len() > DEPTH {
            self.state = None;
        }
        spans
    }
}

/// Lines of code. Hidden characters must have been made visible.
pub fn highlighted(text: &str, language: &str, theme: Theme) -> Vec<Spans> {
    let mut highlighter = Highlighter::new(language, theme);
    text.lines().map(|line| highlighter.line(line)).collect()
}

/// Lines of a unified diff. Hidden characters must have been made visible.
pub fn changes(text: &str, theme: Theme) -> Vec<Spans> {
    let mut in_hunk = false;
    let line = |line: &str| {
        in_hunk |= line.starts_with("@@");
        let style = match line.chars().next() {
            Some('@') if line.starts_with("@@") => theme.hunk(),
            Some('+' | '-') if !in_hunk => theme.strong(),
            Some('+') => theme.added(),
            Some('-') => theme.removed(),
            Some(' ') | None => theme.plain(),
            // Notes beside the diff, such as what was cut.
            Some(_) => theme.quiet(),
        };
        vec![(line.to_owned(), style)]
    };
    text.lines().map(line).collect()
}

fn append(spans: &mut Spans, text: &str, style: Style) {
    if text.is_empty() {
        return;
    }
    match spans.last_mut() {
        Some((last, same)) if *same == style => last.push_str(text),
        _ => spans.push((text.to_owned(), style)),
    }
}

fn syntax(language: &str) -> Option<&'static SyntaxReference> {
    let word = language.split([' ', ',', '{']).next().unwrap_or_default().trim();
    let name = word.rsplit('/').next().unwrap_or(word);
    let ending = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    // Names people use that the syntaxes do not have.
    let token = match ending.as_str() {
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

fn style(stack: &ScopeStack, theme: Theme) -> Style {
    static PARTS: LazyLock<Vec<(Scope, Part)>> = LazyLock::new(|| {
        let known = [
            ("comment", Part::Comment),
            ("string", Part::Text),
            ("constant", Part::Constant),
            ("keyword.operator", Part::Other),
            ("keyword", Part::Keyword),
            ("storage", Part::Keyword),
            ("entity.name.function", Part::Function),
            ("variable.function", Part::Function),
            ("support.function", Part::Function),
            ("meta.function-call", Part::Other),
            ("entity.name.tag", Part::Keyword),
            ("entity.name", Part::Type),
            ("support.type", Part::Type),
            ("support.class", Part::Type),
            ("entity.other.attribute-name", Part::Type),
            ("markup.inserted", Part::Added),
            ("markup.deleted", Part::Removed),
        ];
        let scope = |(name, part)| Scope::new(name).ok().map(|scope| (scope, part));
        known.into_iter().filter_map(scope).collect()
    });
    let part_of = |scope: &Scope| {
        PARTS.iter().find(|(known, _)| known.is_prefix_of(*scope)).map(|(_, part)| *part)
    };
    let part = stack.as_slice().iter().rev().find_map(part_of);
    theme.part(part.unwrap_or(Part::Other))
}
