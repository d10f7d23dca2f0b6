//! Checks what is found, how it is shown, and that no search goes on for ever.

use std::time::{Duration, Instant};

use serde_json::json;

use super::*;
use crate::files::tests::Bench;

fn project() -> Bench {
    let bench = Bench::new();
    bench.write("src/a.rs", "one\ntwo Needle\nthree\nfour\nfive needle\n");
    bench.write("src/b.js", "needle\r\n");
    bench.write("target/x", "needle\n");
    bench.write(".hidden", "needle\n");
    bench.write("binary", b"needle\n\0\n");
    bench.write(".gitignore", "target\n");
    bench
}

#[tokio::test]
async fn matches_come_by_file_with_their_lines() {
    let bench = project();
    let output = bench.run(&SearchFiles, json!({"pattern": "needle$"})).await;
    assert_eq!(
        output.text,
        "src/a.rs\n5:five needle\n\nsrc/b.js\n1:needle\n[1 binary file left out]"
    );
    assert_eq!((&output.details["matches"], &output.details["files"]), (&json!(2), &json!(2)));
    let output = bench.run(&SearchFiles, json!({"pattern": "^two.*e$"})).await;
    assert!(output.text.starts_with("src/a.rs\n2:two Needle\n"), "{}", output.text);
    let output = bench.run(&SearchFiles, json!({"pattern": "nothing like it"})).await;
    assert!(output.text.starts_with("(no match in 3 files)"), "{}", output.text);
}

#[tokio::test]
async fn case_context_glob_and_path_are_respected() {
    let bench = project();
    let search = |arguments| bench.run(&SearchFiles, arguments);
    for (case, pattern, expected) in [
        ("sensitive", "needle", "src/a.rs\n5:five needle"),
        ("insensitive", "NEEDLE", "src/a.rs\n2:two Needle\n5:five needle"),
        ("smart", "needle", "src/a.rs\n2:two Needle\n5:five needle"),
        ("smart", "Needle", "src/a.rs\n2:two Needle"),
    ] {
        let output = search(json!({"pattern": pattern, "case": case, "glob": "*.rs"})).await;
        assert_eq!(output.text, expected, "{case} {pattern}");
    }
    let output = search(json!({"pattern": "two|five", "context": 1, "path": "src/a.rs"})).await;
    assert_eq!(output.text, "src/a.rs\n1-one\n2:two Needle\n3-three\n4-four\n5:five needle");
    let output = search(json!({"pattern": "one|five", "context": 1, "path": "src/a.rs"})).await;
    assert_eq!(output.text, "src/a.rs\n1:one\n2-two Needle\n--\n4-four\n5:five needle");
    // What is named is searched, also when it is ignored or hidden.
    let output = search(json!({"pattern": "needle", "path": "target"})).await;
    assert_eq!(output.text, "target/x\n1:needle");
    let output = search(json!({"pattern": "needle", "path": ".hidden"})).await;
    assert_eq!(output.text, ".hidden\n1:needle");
}

#[tokio::test]
async fn matches_are_limited_and_it_is_said() {
    let bench = Bench::new();
    bench.write("a", "x\n".repeat(150));
    bench.write("b", "x\n");
    let output = bench.run(&SearchFiles, json!({"pattern": "x"})).await;
    assert_eq!(output.details["matches"], MATCHES);
    assert!(output.text.contains("[cut after 100 matches, there are more"), "{}", output.text);
    let output = bench.run(&SearchFiles, json!({"pattern": "x", "limit": 150, "path": "a"})).await;
    assert_eq!(output.details["truncated"], false);
    let output = bench.run(&SearchFiles, json!({"pattern": "x", "limit": 150})).await;
    assert_eq!(
        (&output.details["matches"], &output.details["truncated"]),
        (&json!(150), &json!(true))
    );
    bench.write("c", format!("{}\n", "y".repeat(400)).repeat(1_000));
    let output = bench.run(&SearchFiles, json!({"pattern": "y", "limit": 1000})).await;
    assert!(output.text.chars().count() <= agent_world_core::config::DEFAULT_RESULT_LIMIT);
    assert_eq!(output.details["truncated"], true);
}

#[tokio::test]
async fn a_long_line_is_shown_where_the_match_is() {
    let bench = Bench::new();
    let long = "é".repeat(5 * 1024 * 1024);
    bench.write("long", format!("{long}needle{long}\n"));
    let output = bench.run(&SearchFiles, json!({"pattern": "needle"})).await;
    assert!(output.text.starts_with("long\n1:…é"), "{:.60}", output.text);
    assert!(output.text.contains("éneedleé") && output.text.len() < 700, "{}", output.text);
    assert!(!output.text.contains('\u{FFFD}'), "{}", output.text);
    bench.write("long", vec![b'x'; LONGEST_LINE * 2]);
    let output = bench.run(&SearchFiles, json!({"pattern": "xy"})).await;
    assert_eq!(
        output.text,
        "(no match in 1 file)\n[1 file or folder could not be searched to the end]"
    );
}

#[tokio::test]
async fn expressions_that_cannot_be_used_are_refused_before_anybody_is_asked() {
    let bench = Bench::new();
    for pattern in ["(", "(?=a)", r"(a)\1", r"a{1000}{1000}{1000}", &"(".repeat(5_000), r"\n"] {
        let error = bench.prepare(&SearchFiles, json!({ "pattern": pattern })).await.unwrap_err();
        assert!(error.starts_with("the pattern cannot be used"), "{pattern}: {error}");
    }
}

#[tokio::test]
async fn an_evil_expression_takes_no_longer_than_another() {
    let bench = Bench::new();
    bench.write("file", format!("{}!\n", "a".repeat(20_000)));
    let start = Instant::now();
    bench.run(&SearchFiles, json!({"pattern": "(a*)*(a|aa)+b"})).await;
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_search_ends_when_it_is_cancelled_or_dropped() {
    let bench = Bench::new();
    bench.write("huge", "some text without it\n".repeat(5_000_000));
    let start = Instant::now();
    let work = |cancelled: &CancellationToken| {
        cancelled.cancel();
        let arguments = serde_json::from_value(json!({"pattern": "zz"})).unwrap();
        search(&arguments, Some(&bench.path("")), cancelled)
    };
    assert_eq!(work(&CancellationToken::new()).unwrap_err(), CANCELLED);
    assert!(start.elapsed() < Duration::from_millis(500), "it searched on");
    let reader = Cancellable { file: &b"abc"[..], cancelled: &bench.cancelled };
    bench.cancelled.cancel();
    assert!({ reader }.read(&mut [0; 3]).is_err());
}

#[tokio::test]
async fn work_is_told_when_nobody_waits_for_it_any_longer() {
    let (told, telling) = std::sync::mpsc::channel();
    let cancelled = CancellationToken::new();
    let (begun, beginning) = tokio::sync::oneshot::channel();
    let work = move |cancelled: &CancellationToken| {
        begun.send(()).unwrap();
        while !cancelled.is_cancelled() {
            std::thread::yield_now();
        }
        told.send(()).unwrap();
        Ok(())
    };
    tokio::select! {
        _ = look(&cancelled, work) => panic!("it ended by itself"),
        _ = beginning => {}
    }
    assert!(telling.recv_timeout(Duration::from_secs(20)).is_ok());
}

#[tokio::test]
async fn text_in_utf_16_with_a_mark_is_searched() {
    let bench = Bench::new();
    let text: Vec<u8> = "\u{FEFF}a needle\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    bench.write("wide", text);
    let output = bench.run(&SearchFiles, json!({"pattern": "needle"})).await;
    assert_eq!(output.text, "wide\n1:a needle");
}
