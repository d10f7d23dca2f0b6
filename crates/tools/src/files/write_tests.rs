//! Checks how files are made and replaced, and what an approval of it holds for.

use std::fs;

use serde_json::json;

use super::*;
use crate::files::tests::Bench;

#[tokio::test]
async fn a_file_is_made_with_its_folders_or_replaced() {
    let bench = Bench::new();
    let output = bench.run(&WriteFile, json!({"path": "a/b/c", "content": "x\r\n"})).await;
    assert_eq!(output.text, "created `a/b/c` (3 bytes)");
    assert_eq!(output.details, json!({"path": "a/b/c", "bytes": 3, "created": true}));
    assert_eq!(bench.read("a/b/c"), b"x\r\n");
    let output = bench.run(&WriteFile, json!({"path": "a/b/c", "content": ""})).await;
    assert_eq!(output.text, "replaced `a/b/c` (0 bytes)");
    assert_eq!(bench.read("a/b/c"), b"");
    assert_eq!(bench.names(), ["a"]);
}

#[tokio::test]
async fn links_inside_are_written_through() {
    let bench = Bench::new();
    bench.write("folder/file", "old");
    bench.link("folder/file", "link");
    bench.link("folder/new", "dangling");
    bench.link("folder", "other");
    for (path, real) in
        [("link", "folder/file"), ("dangling", "folder/new"), ("other/x", "folder/x")]
    {
        let output = bench.run(&WriteFile, json!({"path": path, "content": path})).await;
        assert_eq!(output.details["path"], real);
        assert_eq!(bench.read(real), path.as_bytes());
    }
    assert!(fs::symlink_metadata(bench.path("link")).unwrap().is_symlink());
}

#[tokio::test]
async fn create_only_replaces_nothing_and_can_be_repeated() {
    let bench = Bench::new();
    let call = |content: &str| json!({"path": "f", "content": content, "create_only": true});
    assert_eq!(bench.run(&WriteFile, call("one")).await.text, "created `f` (3 bytes)");
    let again = bench.run(&WriteFile, call("one")).await;
    assert_eq!(again.text, "found with this content already: `f` (3 bytes)");
    assert_eq!(again.details["created"], false);
    let text = bench.fail(&WriteFile, call("two")).await;
    assert_eq!(text, "`f` exists already; leave out `create_only` to replace it");
    assert_eq!(bench.read("f"), b"one");
    assert_eq!(bench.names(), ["f"]);
    let preview = bench.prepare(&WriteFile, call("two")).await.unwrap().preview.unwrap();
    assert_eq!(preview, "`f` exists already and will not be replaced");
}

#[tokio::test]
async fn of_many_that_create_the_same_file_one_does() {
    let bench = Bench::new();
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let arguments = json!({"path": "d/f", "content": number.to_string(), "create_only": true});
        let call = bench.invocation(&WriteFile, arguments);
        calls.spawn(async move { WriteFile.run(call).await.is_ok() });
    }
    let created = calls.join_all().await.into_iter().filter(|created| *created).count();
    assert_eq!(created, 1);
}

#[tokio::test]
async fn an_approval_holds_for_the_content_that_is_replaced() {
    let bench = Bench::new();
    let call = json!({"path": "sub/../f", "content": "new\n"});
    let prepared = bench.prepare(&WriteFile, call.clone()).await.unwrap_err();
    assert!(prepared.contains("not there"), "{prepared}");
    fs::create_dir(bench.path("sub")).unwrap();
    let first = bench.prepare(&WriteFile, call.clone()).await.unwrap();
    let path = bench
        .path("f")
        .canonicalize()
        .unwrap_or_else(|_| bench.path("").canonicalize().unwrap().join("f"));
    assert_eq!(first.facts["path"], path.to_str().unwrap());
    assert_eq!(first.facts["replaces"], "nothing");
    assert_eq!(first.preview.unwrap(), "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+new\n");
    assert!(!bench.path("f").exists(), "looking made it");
    bench.write("f", "old\n");
    let second = bench.prepare(&WriteFile, call.clone()).await.unwrap();
    assert_eq!(second.facts["replaces"], digest(b"old\n"));
    assert!(second.preview.unwrap().ends_with("-old\n+new\n"));
    bench.link("f", "link");
    let linked = bench.prepare(&WriteFile, json!({"path": "link", "content": "x"})).await.unwrap();
    assert_eq!(linked.facts["path"], path.to_str().unwrap());
}

#[tokio::test]
async fn large_files_are_known_again_without_being_held() {
    let bench = Bench::new();
    bench.write("large", vec![b'x'; FILE_LIMIT as usize + 1]);
    let call = json!({"path": "large", "content": ""});
    let prepared = bench.prepare(&WriteFile, call.clone()).await.unwrap();
    assert_eq!(prepared.facts["replaces"], digest(&vec![b'x'; FILE_LIMIT as usize + 1]));
    assert_eq!(prepared.preview.unwrap(), "replaces a file of 10485761 bytes with 0 bytes");
    let file = fs::File::create(bench.path("large")).unwrap();
    file.set_len(DIGESTED + 1).unwrap();
    let prepared = bench.prepare(&WriteFile, call.clone()).await.unwrap();
    assert!(prepared.facts["replaces"].starts_with("268435457 bytes, last changed at "));
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    let later = bench.prepare(&WriteFile, call).await.unwrap();
    assert_ne!(prepared.facts, later.facts);
}

#[tokio::test]
async fn what_cannot_be_written_is_refused_before_anybody_is_asked() {
    let bench = Bench::new();
    fs::create_dir(bench.path("folder")).unwrap();
    let large = "x".repeat(FILE_LIMIT as usize + 1);
    for (arguments, expected) in [
        (json!({"path": "folder", "content": ""}), "is a folder"),
        (json!({"path": "f", "content": large}), "10485760 at most"),
        (json!({"path": "new/", "content": ""}), "not a folder"),
    ] {
        let prepared = bench.prepare(&WriteFile, arguments.clone()).await.unwrap_err();
        assert!(prepared.contains(expected), "{prepared}");
        assert_eq!(bench.fail(&WriteFile, arguments).await, prepared);
    }
}
