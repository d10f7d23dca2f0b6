//! Checks what a person is shown of a change.

use super::*;

#[test]
fn a_change_is_a_unified_diff() {
    assert_eq!(
        diff("f", Some(b"a\nb\nc\n"), b"a\nB\nc\n"),
        "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"
    );
    assert_eq!(diff("f", None, b"a\n"), "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
    assert_eq!(diff("f", None, b""), "an empty file `f`\n");
    assert_eq!(diff("f", Some(b"a"), b"a"), "no change: `f` has this content already");
    let end = diff("f", Some(b"a\n"), b"a");
    assert!(end.contains("\\ No newline at end of file"), "{end}");
}

#[test]
fn what_would_hide_is_shown() {
    let text = diff("f", Some(b"a\n"), "a\u{202E}\u{1B}[2K\u{200B}\n".as_bytes());
    assert!(text.contains("+a\\u{202E}\\u{1B}[2K\\u{200B}\n"), "{text}");
}

#[test]
fn line_endings_are_shown_where_they_change() {
    let same = diff("f", Some(b"a\r\nb\r\n"), b"a\r\nc\r\n");
    assert!(same.ends_with(" a\n-b\n+c\n[the lines end with CRLF]\n"), "{same}");
    let changed = diff("f", Some(b"a\r\n"), b"a\n");
    assert!(changed.ends_with("-a\\u{D}\n+a\n"), "{changed}");
}

#[test]
fn binary_content_is_not_shown() {
    let expected = "binary content, not shown: replaces 3 bytes with 1 bytes";
    assert_eq!(diff("f", Some(b"a\0b"), b"a"), expected);
    let damaged = diff("f", Some(b"\xE9\n"), b"e\n");
    assert!(
        damaged.contains("-\u{FFFD}\n+e\n") && damaged.contains("no text in UTF-8"),
        "{damaged}"
    );
}

#[test]
fn a_long_preview_is_cut_and_says_how_much_is_missing() {
    let after: String = (0..10_000).map(|number| format!("line {number}\n")).collect();
    let text = diff("f", None, after.as_bytes());
    assert!(text.chars().count() < LIMIT + 100);
    let shown = text.lines().count() - 1;
    let left = 10_003 - shown;
    assert!(text.ends_with(&format!("[cut: {left} more lines of the diff are not shown]\n")), "…");
    let wide = diff("f", None, "x".repeat(10_000).as_bytes());
    assert!(wide.contains(" [… 9501 more characters in this line]"), "…");
}

#[test]
fn contents_with_nothing_in_common_take_no_longer_than_allowed() {
    let lines =
        |from: usize| -> String { (from..from + 200_000).map(|n| format!("{n}\n")).collect() };
    let start = std::time::Instant::now();
    diff("f", Some(lines(0).as_bytes()), lines(1_000_000).as_bytes());
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn a_path_that_is_visible_already_stays_as_it_is() {
    let text = diff("a\\u{202E}b", Some(b"a\n"), b"b\n");
    assert!(text.starts_with("--- a/a\\u{202E}b\n+++ b/a\\u{202E}b\n@@"), "{text}");
}
