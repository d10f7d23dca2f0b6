//! Checks what an edit changes, what it refuses, and what an approval of it holds for.

use serde_json::json;

use super::*;
use crate::files::tests::Bench;

async fn edited(content: impl AsRef<[u8]>, old: &str, new: &str) -> Vec<u8> {
    let bench = Bench::new();
    bench.write("f", content);
    bench.run(&EditFile, json!({"path": "f", "old": old, "new": new})).await;
    assert_eq!(bench.names(), ["f"]);
    bench.read("f")
}

async fn refusal(content: impl AsRef<[u8]>, old: &str, new: &str) -> String {
    let bench = Bench::new();
    bench.write("f", &content);
    let text = bench.fail(&EditFile, json!({"path": "f", "old": old, "new": new})).await;
    assert_eq!(bench.read("f"), content.as_ref(), "it was changed all the same");
    text
}

#[tokio::test]
async fn one_piece_is_replaced_and_nothing_else() {
    assert_eq!(edited("a b c", "b", "x").await, b"a x c");
    assert_eq!(edited("a\nb\nc", "\nb\n", "\n").await, b"a\nc");
    assert_eq!(edited("a b", " b", "").await, b"a");
    assert_eq!(edited("\u{FEFF}a\n", "a", "b").await, "\u{FEFF}b\n".as_bytes());
    assert_eq!(edited(b"\xE9 a \xFF", "a", "b").await, b"\xE9 b \xFF");
    assert_eq!(edited("a.c abc", "a.c", "$1").await, b"$1 abc");
}

#[tokio::test]
async fn line_endings_stay_as_they_are() {
    assert_eq!(edited("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz").await, b"x\r\ny\r\nz\r\nc\r\n");
    assert_eq!(edited("a\r\nb\r\n", "a\r\nb", "x\r\ny").await, b"x\r\ny\r\n");
    assert_eq!(edited("a\r\nb\r\n", "a", "x\ny").await, b"x\r\ny\r\nb\r\n");
    // Where they are mixed, nothing is guessed.
    assert_eq!(edited("a\r\nb\nc\n", "b\nc", "x\ny").await, b"a\r\nx\ny\n");
    assert!(refusal("a\r\nb\nc\n", "a\nb", "x").await.contains("is not in it"));
}

#[tokio::test]
async fn what_is_not_there_or_there_more_than_once_is_refused() {
    let text = refusal("a\n", "b", "c").await;
    let expected = "cannot edit `f`: the text to replace is not in it; read it again and give the \
                    text exactly";
    assert_eq!(text, expected);
    let text = refusal("x\nx y\n\nx", "x", "z").await;
    assert!(text.contains("is in it 3 times (lines 1, 2, 4)"), "{text}");
    let text = refusal("x".repeat(50), "x", "z").await;
    assert!(text.contains("50 times") && text.contains("and more"), "{text}");
    assert!(refusal("a\0b", "a", "c").await.contains("binary"));
    let large = refusal("x".repeat(FILE_LIMIT as usize + 1), "x", "c").await;
    assert!(large.contains("more than 10485760 bytes"), "{large}");
    let grown = refusal("x", "x", &"y".repeat(FILE_LIMIT as usize + 1)).await;
    assert!(grown.contains("it would have 10485761 bytes"), "{grown}");
}

#[tokio::test]
async fn all_places_are_replaced_on_request() {
    let bench = Bench::new();
    bench.write("f", "aa\nxaa\naaa");
    let arguments = json!({"path": "f", "old": "aa", "new": "a", "all": true});
    let output = bench.run(&EditFile, arguments.clone()).await;
    assert_eq!(output.text, "edited `f`: 3 replacements, lines 1, 2, 3");
    assert_eq!(bench.read("f"), b"a\nxa\naa");
    bench.write("f", "none");
    assert!(bench.fail(&EditFile, arguments).await.contains("is not in it"));
}

#[tokio::test]
async fn edits_of_one_file_at_the_same_time_are_all_there() {
    let bench = Bench::new();
    let lines: String = (0..30).map(|number| format!("<{number}>\n")).collect();
    bench.write("f", lines);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..30 {
        let old = format!("<{number}>");
        let call = bench
            .invocation(&EditFile, json!({"path": "f", "old": old, "new": format!("[{number}]")}));
        calls.spawn(async move { EditFile.run(call).await.unwrap() });
    }
    calls.join_all().await;
    let expected: String = (0..30).map(|number| format!("[{number}]\n")).collect();
    assert_eq!(bench.read("f"), expected.as_bytes());
}

#[tokio::test]
async fn an_approval_holds_for_the_change_and_what_is_around_it() {
    let bench = Bench::new();
    let arguments = json!({"path": "f", "old": "old", "new": "new"});
    let change = || async {
        bench.prepare(&EditFile, arguments.clone()).await.unwrap().facts["change"].clone()
    };
    assert_eq!(change().await, "cannot be applied: there is no such file");
    bench.write("f", "something else\n");
    assert!(change().await.starts_with("cannot be applied: the text to replace is not in it"));
    bench.write("f", "1\n2\n3\n4\n5\nold\n7\n8\n9\n10\n");
    let first = change().await;
    assert!(first.starts_with("sha256:"));
    // Lines above that push it down, and others far away, make no difference.
    bench.write("f", "more\nlines\n0\n2\n3\n4\n5\nold\n7\n8\n9\nten\n");
    assert_eq!(change().await, first);
    for around in [
        "1\n2\n3!\n4\n5\nold\n7\n8\n9\n10\n",
        "1\n2\n3\n4\n5\nold\n7\n8\n9!\n10\n",
        "1\n2\n3\n4\n5\nold!\n7\n8\n9\n10\n",
        "1\n2\n3\n4\n5\n!old\n7\n8\n9\n10\n",
    ] {
        bench.write("f", around);
        assert_ne!(change().await, first, "{around}");
    }
    let preview = bench.prepare(&EditFile, arguments.clone()).await.unwrap().preview.unwrap();
    assert!(preview.contains("-!old\n+!new\n"), "{preview}");
}

#[tokio::test]
async fn an_approval_of_all_holds_for_every_place() {
    let bench = Bench::new();
    let arguments = json!({"path": "f", "old": "x", "new": "y", "all": true});
    let gap = "-\n".repeat(10);
    let change = |content: String| {
        bench.write("f", content);
        let prepared = bench.prepare(&EditFile, arguments.clone());
        async move { prepared.await.unwrap().facts["change"].clone() }
    };
    let two = change(format!("x\n{gap}x\n")).await;
    assert_eq!(change(format!("x\n{gap}{gap}x\n")).await, two);
    assert_ne!(change(format!("x\n{gap}x\n{gap}x\n")).await, two);
    assert_ne!(change(format!("x\n{gap}xx\n")).await, two);
}

#[tokio::test]
async fn what_can_never_be_meant_is_refused_before_anybody_is_asked() {
    let bench = Bench::new();
    bench.write("folder/f", "x");
    for (arguments, expected) in [
        (json!({"path": "folder/f", "old": "x", "new": "x"}), "are the same"),
        (json!({"path": "folder", "old": "x", "new": "y"}), "is a folder"),
    ] {
        let prepared = bench.prepare(&EditFile, arguments.clone()).await.unwrap_err();
        assert!(prepared.contains(expected), "{prepared}");
        assert_eq!(bench.fail(&EditFile, arguments).await, prepared);
    }
}

#[tokio::test]
async fn a_file_that_changes_during_the_edit_is_not_overwritten() {
    let bench = Bench::new();
    bench.write("f", "old");
    let root = Root::open(Some(&bench.path(""))).unwrap();
    let found = root.find("f").unwrap();
    let name = found.file().unwrap();
    let before = read(&found.folder, name).unwrap();
    bench.write("f", "somebody else's");
    let problem =
        save::save(&found.folder, name, b"new", Over::Exactly(&before.stamp)).unwrap_err();
    assert!(problem.explain("f").contains("changed by somebody else"), "{problem:?}");
    assert_eq!(bench.read("f"), b"somebody else's");
}
