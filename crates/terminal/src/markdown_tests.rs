//! Checks how Markdown looks, and that pieces of a text look like the whole.

use expect_test::{Expect, expect};
use ratatui::style::Style;

use super::*;

const HOSTILE: &[&str] = &[
    "# Title\n\nA *b* **c** ~~d~~ `e` <b>f</b>.\n\n```rust\nfn main() {}\n\n// x\n```\nafter\n",
    "unbalanced\n```\ncode\n\n# not a title\n~~~\n",
    "~~~~ py\r\nx = 1\r\n~~~\r\n~~~~\r\nend\r\n\r\nmore\r",
    "- a\n- b\n\n  more\n\n- c\n  1. d\n  2. e\n\nend",
    "- a\n  ```\n  code\n\n  more\n  ```\n- b\n\n```\nx",
    "text:\n1. a\n\n    b\n\n2. c\n\n\n\n3) d\n",
    "> quote\n> ```\n> x\n>\n> y\n\n> other\nlazy\n",
    "| a | b |\n|---|--:|\n| 1 | 東京 |\n| long long long long | \\| |\n\nx",
    "\u{1b}[2J\u{202E}evil\u{202C} \\u{202E} \\u\u{7b} &#27;[2J &#x202E; &#10;x\r\ry\u{0}",
    "a\\\\u{1}\\\\u{2}\\u{\\u{",
    "[a]: http://x\n\n[//]: # (hidden)\n[b](http://y \"t\") ![alt](z) <http://z> [c][a]\n",
    "a\n===\nb\n---\n***\n\n---\n- - -\n\t- tab\n",
    "<script>\n\nx\n\n</script>\n<!-- a\n\nb -->\n",
    "* * * * * * a\n> > > > > > > > b\n1. 1. 1. 1. 1. 1. 1. c\n",
    "```` `a\n``` a`b\n```\n   ````\n",
    "- [x] done\n- [ ] open\n-\n- \n\n-\tx\n",
    "😀👍🏽e\u{301}🇩🇪 नमस्ते\u{200D} \u{FE0F}",
];

fn plain(lines: &[Line<'_>]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn check(text: &str, wide: Expect, narrow: Expect) {
    for (width, expected) in [(80, wide), (40, narrow)] {
        expected.assert_eq(&plain(&render(text, width, Theme::new(false)).lines));
    }
}

/// Gives a text in pieces, of which the lengths follow from a seed.
fn in_pieces(text: &str, width: u16, seed: u64) -> Vec<Line<'static>> {
    let mut lines = Lines::new(Theme::new(true));
    let mut given = Vec::new();
    let mut state = seed;
    let mut rest = text;
    while !rest.is_empty() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let most = [1, 2, 7, 50, 5_000, 40_000][(seed % 6) as usize];
        let wanted = 1 + (state >> 33) as usize % most;
        let end = (wanted.min(rest.len())..=rest.len()).find(|end| rest.is_char_boundary(*end));
        let (piece, others) = rest.split_at(end.unwrap());
        lines.push(piece);
        rest = others;
        if state >> 60 != 0 {
            given.extend(lines.finished(width));
        }
        if state >> 61 == 0 && rest.len() < 2_000 {
            lines.tail(width);
        }
    }
    given.extend(lines.finished(width));
    given.extend(lines.tail(width));
    given
}

fn check_pieces(text: &str, seeds: std::ops::Range<u64>) {
    for width in [1, 3, 20, 80] {
        let whole = render(text, width, Theme::new(true)).lines;
        for line in &whole {
            assert!(line.width() <= usize::from(width), "{width}: {line}");
            let is_visible = |text: &str| agent_world_core::display::without_hidden(text) == text;
            assert!(line.spans.iter().all(|span| is_visible(&span.content)), "{line:?}");
        }
        for seed in seeds.clone() {
            assert_eq!(in_pieces(text, width, seed), whole, "seed {seed}, width {width}: {text:?}");
        }
    }
}

#[test]
fn pieces_look_like_the_whole() {
    for text in HOSTILE {
        check_pieces(text, 0..24);
    }
}

#[test]
fn mixed_texts_in_pieces_look_like_the_whole() {
    for seed in 0..60_usize {
        let parts = (0..8).map(|part| HOSTILE[(seed * 7 + part * (seed % 5 + 1)) % HOSTILE.len()]);
        check_pieces(&parts.collect::<Vec<_>>().join(["\n", "", "\n\n"][seed % 3]), 0..6);
    }
}

#[test]
fn any_marks_in_pieces_look_like_the_whole() {
    const MARKS: &[&str] = &[
        "\n", "\n\n", "\r\n", "\r", "\\", "\\u{", "```", "~~~", "- ", "1. ", "> ", "    ", "\t",
        "|", "|-|\n", "*", "_", "`", "[", "](", ")", "<", "&#27;", "word ", "東", "\u{202E}",
        "\u{1b}", "# ", "---", ":",
    ];
    for seed in 0..400_u64 {
        let mut state = seed;
        let mut text = String::new();
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            text.push_str(MARKS[(state >> 33) as usize % MARKS.len()]);
        }
        check_pieces(&text, seed..seed + 3);
    }
}

#[test]
fn long_lines_and_blocks_in_pieces_look_like_the_whole() {
    let long = "word \\u{1} \u{1b} 東 ".repeat(2_000);
    for text in [
        format!("{long}\nnext\n\nend"),
        format!("before\n{long}\r\n```\ncode\n```\n"),
        format!("```rust\nfn a() {{}}\n{long}\r\nfn b() {{}}\n```\n\nend"),
        format!("- a\n\n{long}"),
        "a line of a paragraph\n".repeat(2_000) + "\n*end*\n",
        "- an item of a list\n".repeat(4_000) + "\n*end*\n",
        "| a cell |\n".repeat(8_000),
        ">".repeat(20_000),
        "x".repeat(16 * 1024) + "\r\n*y*",
    ] {
        check_pieces(&text, 3..6);
    }
}

#[test]
fn a_long_text_is_looked_at_once() {
    // Were each piece to look at all before it, this would take hours.
    let code = "```rust\n".to_owned() + &"let x = 1; // code\n".repeat(2_000);
    let texts = [
        "x".repeat(1 << 20),
        "a paragraph with some words in it\n".repeat(30_000),
        "a paragraph\n\n".repeat(20_000),
        code,
    ];
    for text in texts {
        let mut lines = Lines::new(Theme::new(false));
        let mut given = 0;
        for piece in text.as_bytes().chunks(20) {
            lines.push(std::str::from_utf8(piece).unwrap());
            given += lines.finished(80).len();
        }
        assert!(given > 1_900, "{given}");
        assert!(lines.tail(80).len() < 1_000);
    }
}

#[test]
fn what_is_done_is_given_once_and_early() {
    let mut lines = Lines::new(Theme::new(false));
    let mut given = |piece: &str| {
        lines.push(piece);
        let given = plain(&lines.finished(80));
        (given, plain(&lines.tail(80)))
    };
    let pair = |given: &str, tail: &str| (given.to_owned(), tail.to_owned());
    assert_eq!(given("one"), pair("", "one\n"));
    assert_eq!(given(" two\n"), pair("", "one two\n"));
    assert_eq!(given("\n```rust\nlet"), pair("one two\n\n  rust\n", "  let\n"));
    assert_eq!(given(" a;\n"), pair("  let a;\n", ""));
    assert_eq!(given("let b;\n``"), pair("  let b;\n", "  ``\n"));
    assert_eq!(given("`\nend"), pair("", "\nend\n"));
}

#[test]
fn text_with_marks() {
    check(
        "# Title\nA *b* **c** ~~d~~ `e`\nnext line of a paragraph that is long enough to be wrapped\n\n### Small\n---\n<b>f</b> &amp; <http://a.b> [text](http://c.d) ![alt *x*](y.png)",
        expect![[r#"
            Title

            A b c d `e`
            next line of a paragraph that is long enough to be wrapped

            Small

            ────────────────────────────────────────

            <b>f</b> & http://a.b text (http://c.d) [image: alt x]
        "#]],
        expect![[r#"
            Title

            A b c d `e`
            next line of a paragraph that is long
            enough to be wrapped

            Small

            ────────────────────────────────────────

            <b>f</b> & http://a.b text (http://c.d)
            [image: alt x]
        "#]],
    );
}

#[test]
fn lists() {
    check(
        "Things:\n- one\n- two with a text that is long enough to be wrapped in a narrow terminal\n  - inner\n    1. first\n    2. second\n- [x] done\n- [ ] open\n\n9. nine\n\n   more of it\n\n10. ten\n",
        expect![[r#"
            Things:

            • one
            • two with a text that is long enough to be wrapped in a narrow terminal
              • inner
                1. first
                2. second
            • [x] done
            • [ ] open

            9. nine

               more of it

            10. ten
        "#]],
        expect![[r#"
            Things:

            • one
            • two with a text that is long enough to
              be wrapped in a narrow terminal
              • inner
                1. first
                2. second
            • [x] done
            • [ ] open

            9. nine

               more of it

            10. ten
        "#]],
    );
}

#[test]
fn a_list_that_follows_a_text_goes_on_after_an_empty_line() {
    let shown =
        plain(&render("text:\n1. one\n\n    more\n\n2. two\n", 80, Theme::new(false)).lines);
    assert_eq!(shown, "text:\n\n1. one\n\n   more\n\n2. two\n");
}

#[test]
fn quotes_and_code() {
    check(
        "> quoted\n>\n> - item\n> - other\n>\n> ```sh\n> ls\n> ```\n\n```python\nif x:\n\tprint('a line that is longer than forty columns')\n```\n\n    indented\n",
        expect![[r#"
            │ quoted
            │
            │ • item
            │ • other
            │
            │   sh
            │   ls

              python
              if x:
                  print('a line that is longer than forty columns')

              indented
        "#]],
        expect![[r#"
            │ quoted
            │
            │ • item
            │ • other
            │
            │   sh
            │   ls

              python
              if x:
                  print('a line that is longer than 
              forty columns')

              indented
        "#]],
    );
}

#[test]
fn tables() {
    check(
        "| name | amount | what it is for |\n|:--|--:|:-:|\n| tea | 3 | drinking in the afternoon with friends |\n| **coffee** | 1200 | mornings |\n",
        expect![[r#"
            name   │ amount │             what it is for
            ───────┼────────┼───────────────────────────────────────
            tea    │      3 │ drinking in the afternoon with friends
            coffee │   1200 │                mornings
        "#]],
        expect![[r#"
            name   │ amount │     what it is for
            ───────┼────────┼───────────────────────
            tea    │      3 │    drinking in the
                   │        │ afternoon with friends
            coffee │   1200 │        mornings
        "#]],
    );
    let columns =
        format!("|{}\n|{}\n|{}\n", "name|".repeat(12), "-|".repeat(12), "value|".repeat(12));
    let narrow = plain(&render(&columns, 20, Theme::new(false)).lines);
    assert!(narrow.starts_with("name: value\nname: value\n"), "{narrow}");
}

#[test]
fn hidden_text_is_shown() {
    let shown = |text: &str| plain(&render(text, 80, Theme::new(false)).lines);
    assert_eq!(shown("a\u{1b}[2J\u{202E}b \\u{202E}"), "a\\u{1B}[2J\\u{202E}b \\u{5C}u{202E}\n");
    assert_eq!(shown("&#27;[2J &#x202E;"), "\\u{1B}[2J \\u{202E}\n");
    assert_eq!(shown("<!-- note -->"), "<!-- note -->\n");
    assert_eq!(shown("[//]: # (note)"), "[//]: # (note)\n");
}

#[test]
fn code_has_colours_where_they_are_wanted() {
    let colours = |theme| {
        let lines = code("let x = \"a\"; // note", "main.rs", theme);
        let spans = lines.into_iter().flat_map(|line| line.spans);
        spans.map(|span| (span.content.into_owned(), span.style)).collect::<Vec<(String, Style)>>()
    };
    let theme = Theme::new(true);
    let coloured = colours(theme);
    assert!(coloured.contains(&("let".to_owned(), theme.part(crate::theme::Part::Keyword))));
    assert!(coloured.contains(&("// note".to_owned(), theme.quiet())), "{coloured:?}");
    let without = colours(Theme::new(false));
    assert_eq!(without, [("let x = \"a\"; // note".to_owned(), Style::new())]);
}

#[test]
fn a_diff_shows_what_is_added_and_removed() {
    let theme = Theme::new(true);
    let text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-- one\n+two\n three\n[cut]";
    let styles: Vec<Style> = diff(text, theme).iter().map(|line| line.spans[0].style).collect();
    let (head, hunk) = (theme.strong(), theme.hunk());
    assert_eq!(
        styles,
        [head, head, hunk, theme.removed(), theme.added(), theme.plain(), theme.quiet()]
    );
}
