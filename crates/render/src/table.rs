//! Tables, written in pieces when they are long: each piece has the columns of the whole.
//! Called by `open`. A row costs its own length; columns are few, and what has more is no table.

use crate::line;

/// Columns of a table, at most. Rows are filled up to as many, so a wide head would make every short row costly.
pub const COLUMNS: usize = 64;

/// The first two lines of a table.
#[derive(Clone, Debug)]
pub struct Head {
    pub names: String,
    pub marks: String,
}

/// Whether two lines are the head of a table.
pub fn head(names: &str, marks: &str) -> Option<Head> {
    let is_mark = |cell: &str| {
        let cell = cell.trim();
        let cell = cell.strip_prefix(':').unwrap_or(cell);
        let cell = cell.strip_suffix(':').unwrap_or(cell);
        !cell.is_empty() && cell.bytes().all(|one| one == b'-')
    };
    let fits = names.contains('|')
        && marks.contains('|')
        && !line::is_indented(names)
        && !line::is_indented(marks)
        && is_narrow(names)
        && cells(marks).all(is_mark)
        && cells(marks).count() == cells(names).count();
    fits.then(|| Head { names: names.to_owned(), marks: marks.to_owned() })
}

/// Whether a line can be of a table.
pub fn is_row(line: &str) -> bool {
    line.contains('|') && !line.starts_with('>')
}

/// Whether no line has more cells than a table may have.
pub fn is_narrow(text: &str) -> bool {
    text.split('\n').all(|line| line.matches('|').count() <= COLUMNS)
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let ends = line.ends_with('|') && !line.ends_with("\\|");
    let line = if ends { line.strip_suffix('|').unwrap_or(line) } else { line };
    // A `\|` is part of its cell.
    let mut escaped = false;
    line.split(move |one: char| {
        let splits = one == '|' && !escaped;
        escaped = one == '\\' && !escaped;
        splits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_told_from_text() {
        for (names, marks) in
            [("a | b", "--|--"), ("| a | b |", "|:-:|---|"), ("|a|", "|-|"), (r"a\|b|c", "-|-")]
        {
            assert!(head(names, marks).is_some(), "{names}");
        }
        for (names, marks) in
            [("a", "--"), ("a|b", "--|--|--"), ("a|b", "--|x"), ("a|b", "|"), ("  a|b", "-|-")]
        {
            assert!(head(names, marks).is_none(), "{names}");
        }
        assert!(head(&"a|".repeat(1_000), &"-|".repeat(1_000)).is_none());
    }
}
