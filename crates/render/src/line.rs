//! Decides what a line can begin, by its first characters alone.
//! Called by `open` for every line outside of code. Never looks at the lines around it.

/// A fence that opens or closes code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    mark: char,
    length: usize,
    pub indent: usize,
}

impl Fence {
    /// Whether a line closes what this one opened.
    pub fn is_closed_by(self, line: &str) -> bool {
        let text = line.trim_start_matches(' ');
        let rest = text.trim_start_matches(self.mark);
        line.len() - text.len() < 4
            && text.len() - rest.len() >= self.length
            && rest.trim().is_empty()
    }

    /// A line of the code it opened, without the indentation that the fence has, too.
    pub fn content(self, line: &str) -> &str {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line.get(spaces.min(self.indent)..).unwrap_or_default()
    }
}

/// The fence that a line opens, and what is said behind it.
pub fn fence(line: &str) -> Option<(Fence, &str)> {
    let text = line.trim_start_matches(' ');
    let indent = line.len() - text.len();
    let mark = text.chars().next().filter(|one| matches!(one, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    let is_fence = indent < 4 && length >= 3 && (mark == '~' || !info.contains('`'));
    is_fence.then_some((Fence { mark, length, indent }, info.trim()))
}

pub fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

pub fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

/// `# Title`, at the beginning of a line.
pub fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=6).contains(&level) && (text.is_empty() || text.starts_with([' ', '\t']))
}

/// `- `, `* `, `+ `, `1. ` or `1) `.
pub fn is_item(line: &str) -> bool {
    let text = line.trim_start_matches(' ');
    let after = match text.strip_prefix(['-', '*', '+']) {
        Some(after) => after,
        None => {
            let number = text.trim_start_matches(|one: char| one.is_ascii_digit());
            let digits = text.len() - number.len();
            match number.strip_prefix(['.', ')']) {
                Some(after) if (1..=9).contains(&digits) => after,
                _ => return false,
            }
        }
    };
    after.is_empty() || after.starts_with([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_told_from_text() {
        for line in ["```", "````rust", "~~~ a `b`", "   ``` sh"] {
            assert!(fence(line).is_some(), "{line}");
        }
        for line in ["``", "``` a ` b", "    ```", "a ```"] {
            assert!(fence(line).is_none(), "{line}");
        }
    }

    #[test]
    fn a_fence_is_closed_by_one_as_long() {
        let (fence, info) = fence("````md title").unwrap();
        assert_eq!(info, "md title");
        for (line, closes) in [
            ("````", true),
            ("  `````  ", true),
            ("```", false),
            ("~~~~", false),
            ("```` a", false),
            ("    ````", false),
        ] {
            assert_eq!(fence.is_closed_by(line), closes, "{line}");
        }
    }

    #[test]
    fn items_and_headings_are_told_from_text() {
        for line in ["- a", "  * a", "+", "1. a", "12) b"] {
            assert!(is_item(line), "{line}");
        }
        for line in ["-a", "**bold**", "1.5 is more", "a", "1234567890. a", "---"] {
            assert!(!is_item(line), "{line}");
        }
        assert!(
            is_heading("# a") && is_heading("######") && !is_heading("#a") && !is_heading(" # a")
        );
    }
}
