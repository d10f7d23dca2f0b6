//! Checks what a listing shows, leaves out and cuts.

use std::fs;

use serde_json::json;

use super::*;
use crate::files::tests::Bench;

fn project() -> Bench {
    let bench = Bench::new();
    for path in ["src/a.rs", "src/deep/b.rs", "src/deep/c.js", "target/out", "x.log", "readme.md"] {
        bench.write(path, "text");
    }
    bench.write(".hidden/file", "");
    bench.write(".git/config", "");
    bench.write(".gitignore", "target/\n*.log\n!keep.log\n");
    bench.write("src/.gitignore", "*.js\n/a.rs\n!kept.log\n");
    bench.write("src/deep/kept.log", "");
    bench.write("keep.log", "");
    bench
}

#[track_caller]
fn check(output: &Output, expected: &str) {
    let listed: Vec<&str> = output.text.lines().filter(|line| !line.starts_with('[')).collect();
    assert_eq!(listed, expected.split_whitespace().collect::<Vec<_>>(), "{output:?}");
}

#[tokio::test]
async fn a_folder_is_listed_without_what_is_hidden_or_ignored() {
    let bench = project();
    let output = bench.run(&ListFiles, json!({})).await;
    check(&output, "keep.log readme.md src/");
    let remark = "[5 hidden or ignored entries left out; `hidden` lists them too]";
    assert!(output.text.ends_with(remark), "{}", output.text);
    let output = bench.run(&ListFiles, json!({"depth": 3})).await;
    check(&output, "keep.log readme.md src/ src/deep/ src/deep/b.rs src/deep/kept.log");
    // The rules of folders above hold as well, unless nearer ones say otherwise.
    check(
        &bench.run(&ListFiles, json!({"path": "src/deep"})).await,
        "src/deep/b.rs src/deep/kept.log",
    );
    // What is named is listed, also when it is ignored.
    check(&bench.run(&ListFiles, json!({"path": "target"})).await, "target/out");
}

#[tokio::test]
async fn everything_is_listed_on_request() {
    let bench = project();
    let output = bench.run(&ListFiles, json!({"hidden": true, "depth": 2, "path": "."})).await;
    check(
        &output,
        ".git/ .gitignore .hidden/ .hidden/file keep.log readme.md src/ src/.gitignore src/a.rs \
         src/deep/ target/ target/out x.log",
    );
}

#[tokio::test]
async fn a_pattern_chooses_by_name_or_by_path() {
    let bench = project();
    let list = |pattern: &str| {
        let arguments = json!({"pattern": pattern, "hidden": true});
        let bench = &bench;
        async move { bench.run(&ListFiles, arguments).await }
    };
    check(&list("*.rs").await, "src/a.rs src/deep/b.rs");
    check(&list("src/*.rs").await, "src/a.rs");
    check(&list("./src/**/*.{rs,js}").await, "src/a.rs src/deep/b.rs src/deep/c.js");
    check(&list("deep").await, "src/deep/");
    assert_eq!(list("*.nope").await.text, "(nothing found)");
    let below = json!({"pattern": "deep/*.js", "path": "src", "hidden": true});
    check(&bench.run(&ListFiles, below).await, "src/deep/c.js");
    let shallow = json!({"pattern": "*.rs", "depth": 2, "hidden": true});
    check(&bench.run(&ListFiles, shallow).await, "src/a.rs");
    let error = bench.fail(&ListFiles, json!({"pattern": "a["})).await;
    assert!(error.starts_with("the pattern cannot be used"), "{error}");
    assert_eq!(bench.prepare(&ListFiles, json!({"pattern": "a["})).await.unwrap_err(), error);
}

#[tokio::test]
async fn links_are_shown_and_not_followed() {
    let bench = Bench::new();
    bench.write("folder/file", "");
    bench.link("folder", "link");
    bench.link("..", "folder/up");
    bench.link(bench.outside(""), "out");
    let output = bench.run(&ListFiles, json!({"depth": 9})).await;
    let out = bench.outside("");
    assert_eq!(
        output.text,
        format!("folder/\nfolder/file\nfolder/up -> ..\nlink -> folder\nout -> {}", out.display())
    );
}

#[tokio::test]
async fn fifty_thousand_files_are_cut_and_found() {
    let bench = Bench::new();
    fs::create_dir(bench.path("many")).unwrap();
    for number in 0..50_000 {
        fs::File::create(bench.path(format!("many/{number:05}"))).unwrap();
    }
    let output = bench.run(&ListFiles, json!({"path": "many"})).await;
    assert!(output.text.chars().count() <= agent_world_core::config::DEFAULT_RESULT_LIMIT);
    assert!(output.text.starts_with("many/00000\nmany/00001\n"), "not in order");
    assert!(output.text.contains("[cut after "), "it does not say that it is cut");
    let found = bench.run(&ListFiles, json!({"path": "many", "pattern": "4999[89]"})).await;
    assert_eq!(found.text, "many/49998\nmany/49999");
}

#[tokio::test]
async fn what_is_no_folder_is_explained() {
    let bench = Bench::new();
    bench.write("file", "");
    let text = bench.fail(&ListFiles, json!({"path": "file"})).await;
    assert_eq!(text, "`file` is a file; read_file shows it");
    assert_eq!(bench.fail(&ListFiles, json!({"path": "x"})).await, "there is no folder `x`");
    assert_eq!(bench.run(&ListFiles, json!({"pattern": "x"})).await.text, "(nothing found)");
}
