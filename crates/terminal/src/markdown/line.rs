//! Decides what a line of Markdown begins, as far as that says where blocks end.
//! Used by `stream`. Looks at one line only; what it means inside its block is the parser's to say.

/// What a block is taken for, by its first line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// May go on after an empty line.
    List,
    /// A table or a quote: worth more waiting than a paragraph.
    Wide,
    Other,
}

/// Code that began with a line of ``` or ~~~.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    pub language: String,
}

impl Kind {
    /// Bytes that are waited for.
    pub fn limit(self) -> usize {
        match self {
            Self::Other => 16 * 1024,
            Self::List | Self::Wide => 64 * 1024,
        }
    }
}

impl Fence {
    /// One that a line of a list begins, whatever is before it.
    pub fn within(line: &str) -> Option<Self> {
        let mut rest = line.trim_start();
        while let Some(content) = after_marker(rest) {
            rest = content.trim_start();
        }
        opens_fence(rest)
    }

    pub fn is_closed_by(&self, line: &str) -> bool {
        let Some((indent, rest)) = indentation(line) else {
            return false;
        };
        let marks = rest.chars().take_while(|one| *one == self.mark).count();
        let after = rest.trim_start_matches(self.mark);
        indent < 4 && marks >= self.length && is_blank(after)
    }

    /// A line of the code, without the spaces that were before the fence too.
    pub fn content<'l>(&self, line: &'l str) -> &'l str {
        let spaces = line.chars().take(self.indent).take_while(|one| *one == ' ').count();
        line.get(spaces..).unwrap_or(line)
    }
}

pub fn is_blank(line: &str) -> bool {
    line.chars().all(|one| one == ' ' || one == '\t')
}

pub fn kind_of(line: &str) -> Kind {
    match line.trim_start().chars().next() {
        _ if starts_item(line) => Kind::List,
        Some('|' | '>') => Kind::Wide,
        _ => Kind::Other,
    }
}

/// Whether it begins an item of a list.
pub fn starts_item(line: &str) -> bool {
    indentation(line)
        .is_some_and(|(indent, rest)| indent < 4 && after_marker(rest).is_some() && !is_rule(rest))
}

/// The code that a line begins.
pub fn opens_fence(line: &str) -> Option<Fence> {
    let (indent, rest) = indentation(line)?;
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = rest.chars().take_while(|one| *one == mark).count();
    let language = rest.trim_start_matches(mark).trim();
    let is_inline = mark == '`' && language.contains('`');
    (indent < 4 && length >= 3 && !is_inline).then(|| Fence {
        mark,
        length,
        indent,
        language: language.to_owned(),
    })
}

/// Spaces before a line, and the line. None where a tab is before it: it is far in.
fn indentation(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches(' ');
    (!rest.starts_with('\t')).then(|| (line.len() - rest.len(), rest))
}

fn after_marker(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => {
            let digits = line.chars().take_while(char::is_ascii_digit).count();
            let number = line.get(digits..).filter(|_| (1..=9).contains(&digits))?;
            number.strip_prefix(['.', ')'])?
        }
    };
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
}

fn is_rule(line: &str) -> bool {
    ['-', '*'].iter().any(|mark| {
        line.chars().filter(|one| one == mark).count() >= 3
            && line.chars().all(|one| one == *mark || one == ' ' || one == '\t')
    })
}
