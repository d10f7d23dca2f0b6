//! Decides how much of one text goes into the scrollback: a line or a message can be longer than anybody scrolls.
//! Used by `flow`. What is left out is always counted. What a growing text was cut to stays as it was while it grows.

use std::borrow::Cow;

/// Characters of one line that are shown.
const LINE: usize = 4_000;
/// Lines, and bytes, of one message that are shown.
const LINES: usize = 1_000;
const ALL: usize = 60_000;

/// Where the whole of something can be read.
pub const WHERE: &str = "`agent-world tui` shows all of it";

/// A text as far as it is shown, and how many characters of it are not.
#[derive(Debug, PartialEq, Eq)]
pub struct Shortened<'t> {
    pub text: Cow<'t, str>,
    pub left_out: usize,
}

/// The part of a text that is shown. `is_over`: nothing will be added to it.
pub fn shortened(text: &str, is_over: bool) -> Shortened<'_> {
    if text.len() <= LINE {
        return Shortened { text: Cow::Borrowed(text), left_out: 0 };
    }
    let (mut kept, mut left_out) = (String::new(), 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if number >= LINES || kept.len() >= ALL {
            left_out += line.chars().count();
            continue;
        }
        let content = line.strip_suffix('\n').unwrap_or(line);
        let ends = content.len() < line.len();
        let at = content.char_indices().nth(LINE).map_or(content.len(), |(at, _)| at);
        let (shown, rest) = content.split_at_checked(at).unwrap_or((content, ""));
        kept.push_str(shown);
        let more = rest.chars().count();
        left_out += more;
        // How much is missing is known when the line is over.
        if more > 0 && (ends || is_over) {
            kept.push_str(&format!(" … ({more} more characters in this line)"));
        }
        if ends {
            kept.push('\n');
        }
    }
    Shortened { text: Cow::Owned(kept), left_out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_short_stays_as_it_is() {
        let text = "one\ntwo\n".repeat(100);
        assert_eq!(shortened(&text, true), Shortened { text: Cow::Borrowed(&text), left_out: 0 });
        let long = "a line of usual length, of which there are many\n".repeat(300);
        let short = shortened(&long, true);
        assert_eq!((short.text.as_ref(), short.left_out), (long.as_str(), 0));
    }

    #[test]
    fn one_long_line_is_cut_and_what_follows_it_is_not() {
        let text = format!("before\n{}\nafter", "x".repeat(900_000));
        let short = shortened(&text, true);
        assert!(
            short.text.len() < 5_000 && short.text.ends_with("\nafter"),
            "{}",
            short.text.len()
        );
        assert!(short.text.contains("(896000 more characters in this line)"));
        assert_eq!(short.left_out, 896_000);
    }

    #[test]
    fn a_long_message_ends_somewhere() {
        let text = "word ".repeat(10).trim_end().to_owned() + "\n";
        let long = text.repeat(20_000);
        let short = shortened(&long, true);
        assert!(short.text.lines().count() <= LINES);
        assert_eq!(short.left_out + short.text.chars().count(), text.len() * 20_000);
    }

    #[test]
    fn what_was_shown_of_a_growing_text_is_the_beginning_of_what_is_shown_later() {
        let text = format!("{}\n{}", "ä".repeat(6_000), "b\n".repeat(2_000));
        let mut before = String::new();
        for end in (0..text.len()).step_by(333).filter(|end| text.is_char_boundary(*end)) {
            let now = shortened(&text[..end], false).text.into_owned();
            assert!(now.starts_with(&before), "at {end}");
            before = now;
        }
        assert!(shortened(&text, true).text.starts_with(&before));
    }
}
