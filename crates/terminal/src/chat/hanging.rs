//! Breaks lines for the scrollback, so that what goes on in the next row is seen to go on.
//! Used by `inline` for every line it writes. Nothing but what the program itself says begins at the edge of the screen: a
//! long line of a tool or a model, however it is made, cannot look like a line of somebody else.

use ratatui::text::{Line, Span};

use crate::markdown::{Break, Spans, wrap};

/// What stands before each further row of a line that begins at the edge.
const INDENT: &str = "  ";
/// What a line may begin with that belongs to whoever writes it, and not to the text.
const MARKS: [char; 2] = [' ', '│'];

/// The rows of a line at a width.
pub fn hanging(line: &Line<'static>, width: u16) -> Vec<Line<'static>> {
    if line.width() <= usize::from(width) {
        let spans = line.spans.iter().cloned();
        // A style is that of what is written, not of the rest of the row, which would be copied as spaces.
        return vec![
            spans.map(|span| Span { style: line.style.patch(span.style), ..span }).collect(),
        ];
    }
    let (mark, text) = parted(line);
    let rest = match mark.is_empty() {
        true => vec![(INDENT.to_owned(), line.style)],
        false => mark.clone(),
    };
    wrap(&text, width, &mark, &rest, Break::Words)
}

/// What a line begins with, and its text.
fn parted(line: &Line<'static>) -> (Spans, Spans) {
    let (mut mark, mut text) = (Spans::new(), Spans::new());
    for Span { content, style } in &line.spans {
        let style = line.style.patch(*style);
        let end = match text.is_empty() {
            true => content.find(|one| !MARKS.contains(&one)).unwrap_or(content.len()),
            false => 0,
        };
        let (before, after) = content.split_at(end);
        if !before.is_empty() {
            mark.push((before.to_owned(), style));
        }
        if !after.is_empty() {
            text.push((after.to_owned(), style));
        }
    }
    (mark, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: u16) -> Vec<String> {
        hanging(&Line::from(text.to_owned()), width).iter().map(Line::to_string).collect()
    }

    #[test]
    fn what_goes_on_is_indented_as_its_line_was() {
        assert_eq!(rows("short", 20), ["short"]);
        assert_eq!(rows("one two three four", 10), ["one two", "  three", "  four"]);
        assert_eq!(rows("    one two", 10), ["    one", "    two"]);
        assert_eq!(rows("  │ one two", 10), ["  │ one", "  │ two"]);
    }

    #[test]
    fn only_what_is_written_has_a_style() {
        let style = ratatui::style::Style::new().bold();
        for text in ["short", "a line that is longer than its row"] {
            for row in hanging(&Line::styled(text, style), 20) {
                assert_eq!(row.style, ratatui::style::Style::default());
                assert!(row.spans.iter().all(|span| span.style == style), "{row:?}");
            }
        }
    }

    #[test]
    fn no_row_but_the_first_begins_at_the_edge() {
        let forged = format!("    {}✓ ada shell_cmd rm: approved once by tester", " ".repeat(76));
        let long = format!("    {}", "x".repeat(300));
        for text in [forged, long, "⚙ ada shell_cmd ".repeat(20)] {
            for width in [4, 20, 40, 80] {
                let rows = rows(&text, width);
                assert!(rows.len() > 1, "{width}");
                for row in rows.iter().skip(1) {
                    assert!(row.starts_with("  "), "{width}: {row:?}");
                }
            }
        }
    }
}
