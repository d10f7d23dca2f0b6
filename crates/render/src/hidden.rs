//! Shows what cannot be seen: control characters, marks that turn the direction of text, and characters without a width.
//! Used by `writer` for every text. In code all of them are shown; in prose those stay that languages and emoji need.

use std::sync::LazyLock;

use regex::Regex;

/// All that a reader of code does not see, or takes for an ordinary space.
static IN_CODE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let pattern = r"[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}[\p{Zs}--\x20]\p{Default_Ignorable_Code_Point}\u{2800}\u{FFFC}\u{1D159}&&[^\n\t]]+";
    Regex::new(pattern).ok()
});

/// Joiners, variants and marks of direction are part of many languages, one or two at a time. More of them are no writing.
static IN_PROSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let soft = r"\u{AD}\u{34F}\u{61C}\u{200B}-\u{200F}\u{2060}\u{FE00}-\u{FE0F}";
    let all = r"\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u{2800}\u{FFFC}\u{1D159}";
    Regex::new(&format!(r"[{all}&&[^\n\t{soft}]]+|[{soft}]{{3,}}")).ok()
});

/// Part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'t> {
    Seen(&'t str),
    /// Characters that are not seen, as they are.
    Hidden(&'t str),
}

pub fn in_code(text: &str) -> impl Iterator<Item = Part<'_>> {
    parts(text, &IN_CODE)
}

pub fn in_prose(text: &str) -> impl Iterator<Item = Part<'_>> {
    parts(text, &IN_PROSE)
}

fn parts<'t>(
    text: &'t str,
    pattern: &'static LazyLock<Option<Regex>>,
) -> impl Iterator<Item = Part<'t>> {
    let found = pattern.iter().flat_map(move |pattern| pattern.find_iter(text));
    let mut from = 0;
    let ends = found.map(|found| found.range()).chain(std::iter::once(text.len()..text.len()));
    ends.flat_map(move |range| {
        let seen = text.get(from..range.start).unwrap_or_default();
        from = range.end;
        [Part::Seen(seen), Part::Hidden(text.get(range).unwrap_or_default())]
    })
    .filter(|part| !matches!(part, Part::Seen("") | Part::Hidden("")))
}

/// What stands for hidden characters: `U+202E`, with how often the same one is repeated. A long run is counted only.
pub fn shown(hidden: &str) -> String {
    const NAMED: usize = 8;
    let mut runs: Vec<(char, usize)> = Vec::new();
    for one in hidden.chars() {
        if let Some((_, times)) = runs.last_mut().filter(|(same, _)| *same == one) {
            *times += 1;
            continue;
        }
        if runs.len() == NAMED {
            return format!("{} hidden characters", hidden.chars().count());
        }
        runs.push((one, 1));
    }
    let name = |(one, times): &(char, usize)| match times {
        1 => format!("U+{:04X}", u32::from(*one)),
        times => format!("U+{:04X}×{times}", u32::from(*one)),
    };
    runs.iter().map(name).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prose(text: &str) -> Vec<Part<'_>> {
        in_prose(text).collect()
    }

    #[test]
    fn what_languages_need_stays_in_prose() {
        for text in ["می‌خواهم", "❤️‍🔥", "שלום\u{200F}!", "a\u{AD}b", "tab\tand\nline"]
        {
            assert_eq!(prose(text), [Part::Seen(text)]);
        }
    }

    #[test]
    fn what_turns_or_hides_text_is_shown_everywhere() {
        for hidden in [
            "\u{202E}",
            "\u{2066}",
            "\u{1B}",
            "\0",
            "\u{E0041}",
            "\u{2028}",
            "\u{200B}\u{200B}\u{200B}",
        ] {
            let text = format!("a{hidden}b");
            let expected = [Part::Seen("a"), Part::Hidden(hidden), Part::Seen("b")];
            assert_eq!(prose(&text), expected);
            assert_eq!(in_code(&text).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn code_shows_even_a_space_that_is_none() {
        let parts: Vec<_> = in_code("a\u{A0}b\u{200D}").collect();
        let hidden = |text| Part::Hidden(text);
        assert_eq!(parts, [Part::Seen("a"), hidden("\u{A0}"), Part::Seen("b"), hidden("\u{200D}")]);
    }

    #[test]
    fn a_long_run_is_short_to_read() {
        assert_eq!(shown("\u{202E}"), "U+202E");
        assert_eq!(shown(&"\u{202E}".repeat(500)), "U+202E×500");
        assert_eq!(
            shown("\u{1}\u{2}\u{1}\u{2}\u{1}\u{2}\u{1}\u{2}\u{1}\u{2}"),
            "10 hidden characters"
        );
    }
}
