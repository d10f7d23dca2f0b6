//! Checks what a model sees of a file: its lines, what is odd about it, and how to go on.

use serde_json::json;

use super::*;
use crate::files::tests::Bench;

async fn shown(content: impl AsRef<[u8]>) -> String {
    let bench = Bench::new();
    bench.write("file", content);
    bench.run(&ReadFile, json!({ "path": "file" })).await.text
}

#[tokio::test]
async fn lines_come_with_their_numbers() {
    assert_eq!(shown("a\n\tb\n\nd\n").await, "1\ta\n2\t\tb\n3\t\n4\td");
    assert_eq!(shown("a").await, "1\ta\n[the last line has no line break]");
    assert_eq!(shown("").await, "(empty file)");
    assert_eq!(shown("\n").await, "1\t");
}

#[tokio::test]
async fn what_is_odd_about_a_file_is_said() {
    assert_eq!(shown("a\r\nb\r\n").await, "1\ta\n2\tb\n[the lines end with CRLF]");
    assert_eq!(shown("a\r\nb\n").await, "1\ta\n2\tb\n[1 of these lines end with CRLF]");
    assert_eq!(shown("\u{FEFF}a\n").await, "1\ta\n[the file begins with a byte order mark]");
    assert_eq!(
        shown(b"caf\xE9\n").await,
        "1\tcaf\u{FFFD}\n[some bytes are no text in UTF-8 and are shown as \u{FFFD}]"
    );
}

#[tokio::test]
async fn binary_files_are_described() {
    assert_eq!(shown(b"\x7FELF\0\0").await, "`file` is binary: 6 bytes, not shown");
    assert_eq!(
        shown(b"\xFF\xFEa\0").await,
        "`file` is binary, perhaps text in UTF-16: 4 bytes, not shown"
    );
    // A NUL far behind the beginning is not shown either.
    let late = [vec![b'\n'; HEAD], b"a\0b\n".to_vec()].concat();
    let bench = Bench::new();
    bench.write("late", late);
    let text = bench.run(&ReadFile, json!({"path": "late", "offset": HEAD + 1})).await.text;
    assert!(text.starts_with(&format!("{}\ta\u{FFFD}b\n", HEAD + 1)), "{text}");
}

#[tokio::test]
async fn a_file_is_read_in_parts_that_join() {
    let bench = Bench::new();
    let lines: Vec<String> = (1..=5_000).map(|number| format!("line {number}\n")).collect();
    bench.write("file", lines.concat());
    let (mut offset, mut joined, mut parts) = (1, String::new(), 0);
    loop {
        let output = bench.run(&ReadFile, json!({"path": "file", "offset": offset})).await;
        assert!(output.text.chars().count() <= agent_world_core::config::DEFAULT_RESULT_LIMIT);
        for line in output.text.lines().filter(|line| !line.starts_with('[')) {
            joined.push_str(line.split_once('\t').unwrap().1);
            joined.push('\n');
        }
        parts += 1;
        assert_eq!(output.details["lines"], 5_000);
        if output.details["truncated"] == false {
            break;
        }
        let next = output.details["last_line"].as_u64().unwrap() + 1;
        assert!(output.text.ends_with(&format!(" of 5000; go on with offset {next}]")));
        offset = next;
    }
    assert!(parts > 1);
    assert_eq!(joined, lines.concat());
}

#[tokio::test]
async fn offset_and_limit_choose_lines() {
    let bench = Bench::new();
    bench.write("file", "a\nb\nc\nd\n");
    let read = |arguments| bench.run(&ReadFile, arguments);
    let text = read(json!({"path": "file", "offset": 2, "limit": 2})).await.text;
    assert_eq!(text, "2\tb\n3\tc\n[lines 2 to 3 of 4; go on with offset 4]");
    assert_eq!(read(json!({"path": "file", "offset": 4, "limit": 9})).await.text, "4\td");
    let text = bench.fail(&ReadFile, json!({"path": "file", "offset": 5})).await;
    assert_eq!(text, "`file` has only 4 lines; choose a smaller offset");
}

#[tokio::test]
async fn a_line_without_end_is_cut_at_a_character() {
    let text = shown("é".repeat(5 * 1024 * 1024)).await;
    let line = format!("1\t{} [… {} more bytes", "é".repeat(1000), 10 * 1024 * 1024 - 2000);
    assert!(text.starts_with(&line), "{}", &text[..50]);
    let exact = "x".repeat(LINE_LIMIT);
    assert_eq!(
        shown(format!("{exact}\r\n")).await,
        format!("1\t{exact}\n[the lines end with CRLF]")
    );
    let odd = format!("x{}", "é".repeat(LINE_LIMIT));
    let text = shown(odd).await;
    assert!(!text.contains('\u{FFFD}') && text.contains("é [… 2002 more bytes"), "{text}");
}

#[tokio::test]
async fn a_file_of_100_megabytes_is_read_where_it_is_asked_for() {
    let bench = Bench::new();
    bench.write("file", "0123456789abcde\n".repeat(100 * 1024 * 1024 / 16));
    let start = bench.run(&ReadFile, json!({"path": "file", "limit": 1})).await.text;
    let size = 100 * 1024 * 1024;
    assert!(start.contains(&format!("of a file of {size} bytes; go on with offset 2]")), "{start}");
    let arguments = json!({"path": "file", "offset": 6_553_600, "limit": 5});
    let end = bench.run(&ReadFile, arguments).await.text;
    assert_eq!(end, "6553600\t0123456789abcde");
}

#[tokio::test]
async fn what_cannot_be_read_is_explained() {
    let bench = Bench::new();
    bench.write("folder/file", "x");
    let text = bench.fail(&ReadFile, json!({"path": "folder"})).await;
    assert_eq!(text, "`folder` is a folder; list_files shows what is in it");
    let text = bench.fail(&ReadFile, json!({"path": "folder/x"})).await;
    assert_eq!(text, "there is no file `folder/x`; look with list_files");
}

#[tokio::test]
async fn a_file_that_may_not_be_read_says_so_and_keeps_no_search_from_the_rest() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.write("closed", "needle\n");
    bench.write("open", "needle\n");
    let nothing = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(bench.path("closed"), nothing).unwrap();
    let read = ReadFile.run(bench.invocation(&ReadFile, json!({"path": "closed"}))).await;
    let found = bench.run(&crate::files::SearchFiles, json!({"pattern": "needle"})).await.text;
    // Root may read everything.
    if rustix::process::geteuid().is_root() {
        assert_eq!(read.unwrap().text, "1\tneedle");
        assert_eq!(found, "closed\n1:needle\n\nopen\n1:needle");
    } else {
        let text = read.unwrap_err().into_output().text;
        assert!(text.starts_with("cannot read `closed`: "), "{text}");
        assert_eq!(found, "open\n1:needle\n[1 file or folder could not be searched to the end]");
    }
}
