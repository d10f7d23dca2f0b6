//! The bench on which the tools for files are tested, and what holds for all of them: what they say about themselves,
//! and that no path leads out of the working directory.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use agent_world_core::arguments::validate;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{Invocation, Registry};

/// A working directory, and beside it a folder that is none of anybody's business.
pub struct Bench {
    folder: TempDir,
    pub cancelled: CancellationToken,
}

impl Bench {
    pub fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/secret"), "secret").unwrap();
        Self { folder, cancelled: CancellationToken::new() }
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join("work").join(path)
    }

    pub fn outside(&self, path: &str) -> PathBuf {
        self.folder.path().join("outside").join(path)
    }

    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, path: impl AsRef<Path>) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    pub fn link(&self, target: impl AsRef<Path>, path: impl AsRef<Path>) {
        symlink(target, self.path(path)).unwrap();
    }

    pub fn pipe(&self, path: &str) {
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, self.path(path), mode).unwrap();
    }

    pub fn invocation(&self, tool: &dyn Tool, arguments: Value) -> Invocation {
        let arguments = validate(arguments, &tool.spec().parameters).unwrap();
        let call = ("call_1".into(), "world".into(), "chat_1".into(), "ada".into());
        Invocation {
            working_directory: Some(self.path("")),
            cancelled: self.cancelled.clone(),
            ..Invocation::new(call.0, call.1, call.2, call.3, arguments)
        }
    }

    pub async fn run(&self, tool: &dyn Tool, arguments: Value) -> Output {
        match tool.run(self.invocation(tool, arguments)).await {
            Ok(output) => output,
            Err(failure) => panic!("{failure:?}"),
        }
    }

    pub async fn fail(&self, tool: &dyn Tool, arguments: Value) -> String {
        let result = tool.run(self.invocation(tool, arguments)).await;
        result.unwrap_err().into_output().text
    }

    pub async fn prepare(&self, tool: &dyn Tool, arguments: Value) -> Result<Prepared, String> {
        tool.prepare(self.invocation(tool, arguments).intent()).await
    }

    /// Everything in the working directory's first folder, also what is hidden.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

/// Each tool with a path put into otherwise sensible arguments.
fn calls(path: &str) -> Vec<(Arc<dyn Tool>, Value)> {
    vec![
        (Arc::new(ReadFile), json!({ "path": path })),
        (Arc::new(ListFiles), json!({ "path": path })),
        (Arc::new(SearchFiles), json!({ "path": path, "pattern": "secret" })),
        (Arc::new(WriteFile), json!({ "path": path, "content": "mine" })),
        (Arc::new(EditFile), json!({ "path": path, "old": "secret", "new": "mine" })),
    ]
}

#[test]
fn all_can_be_registered_and_say_what_they_do() {
    let mut registry = Registry::default();
    for tool in all() {
        registry.add(tool).unwrap();
    }
    let flags = |tool: &dyn Tool| {
        let spec = tool.spec();
        (spec.read_only, spec.idempotent, spec.destructive, spec.approval.required)
    };
    for tool in [&ReadFile as &dyn Tool, &ListFiles, &SearchFiles] {
        assert_eq!(flags(tool), (true, true, false, false), "{tool:?}");
    }
    assert_eq!(flags(&WriteFile), (false, true, true, true));
    assert_eq!(flags(&EditFile), (false, false, true, true));
    assert_eq!(WriteFile.spec().approval.message.as_deref(), Some("Write file: {path}"));
    assert_eq!(EditFile.spec().approval.message.as_deref(), Some("Edit file: {path}"));
}

#[tokio::test]
async fn no_path_leads_out_and_nobody_is_asked_about_one_that_would() {
    let bench = Bench::new();
    let outside = bench.outside("secret");
    bench.write("sub/file", "inside");
    bench.link(&outside, "absolute");
    bench.link("../outside/secret", "relative");
    bench.link("../../outside", "sub/folder");
    bench.link("sub/folder", "chain");
    bench.link("/proc/self/root", "root");
    bench.link("/proc/self/cwd", "cwd");
    bench.link(bench.outside("missing"), "dangling");
    bench.link("loop", "loop");
    bench.link("two", "one");
    bench.link("one", "two");
    let absolute = outside.to_str().unwrap();
    let through_root = format!("root{absolute}");
    let up_after_root = bench.path("../outside/secret");
    for (path, expected) in [
        ("../outside/secret", "outside the working directory"),
        ("sub/../../outside/secret", "outside the working directory"),
        ("..", "outside the working directory"),
        ("/", "outside the working directory"),
        ("/etc/passwd", "outside the working directory"),
        ("/proc/self/environ", "outside the working directory"),
        (absolute, "outside the working directory"),
        (up_after_root.to_str().unwrap(), "outside the working directory"),
        ("absolute", "outside the working directory"),
        ("relative", "outside the working directory"),
        ("sub/folder/secret", "outside the working directory"),
        ("chain/secret", "outside the working directory"),
        (&through_root, "outside the working directory"),
        ("cwd/x", "outside the working directory"),
        ("dangling", "outside the working directory"),
        ("loop", "in a circle"),
        ("one", "in a circle"),
        ("sub/file/x", "not a folder"),
        ("sub/file/", "not a folder"),
        ("missing/../sub", "not there"),
        ("a\0b", "NUL"),
    ] {
        for (tool, arguments) in calls(path) {
            let prepared = bench.prepare(&*tool, arguments.clone()).await.unwrap_err();
            assert!(prepared.contains(expected), "{path} by {tool:?}: {prepared}");
            let run = bench.fail(&*tool, arguments).await;
            assert!(run.contains(expected), "{path} by {tool:?}: {run}");
        }
    }
    assert_eq!(fs::read(outside).unwrap(), b"secret");
    assert!(!bench.outside("missing").exists());
}

#[tokio::test]
async fn a_path_is_found_in_every_way_that_stays_inside() {
    let bench = Bench::new();
    bench.write("sub/file", "inside");
    bench.link("sub", "folder");
    bench.link("../sub/file", "sub/relative");
    bench.link(bench.path("sub/file"), "absolute");
    let absolute = bench.path("sub/file");
    for path in [
        "sub/file",
        "./sub//file",
        "sub/../sub/file",
        "folder/file",
        "folder/../sub/file",
        "sub/relative",
        "absolute",
        absolute.to_str().unwrap(),
    ] {
        let output = bench.run(&ReadFile, json!({ "path": path })).await;
        assert_eq!(output.details["path"], "sub/file", "{path}");
    }
}

#[tokio::test]
async fn a_working_directory_that_is_a_link_is_the_folder_it_leads_to() {
    let bench = Bench::new();
    bench.write("real/file", "inside");
    bench.link("real", "link");
    let mut call = bench.invocation(&ReadFile, json!({ "path": "file" }));
    call.working_directory = Some(bench.path("link"));
    for path in [bench.path("link/file"), bench.path("real/file"), PathBuf::from("file")] {
        call.arguments["path"] = json!(path);
        assert_eq!(ReadFile.run(call.clone()).await.unwrap().details["path"], "file");
    }
    call.working_directory = Some(bench.path("nowhere"));
    let text = ReadFile.run(call).await.unwrap_err().into_output().text;
    assert!(text.starts_with("cannot use the working directory"), "{text}");
}

#[tokio::test]
async fn pipes_sockets_and_devices_are_refused_without_waiting() {
    let bench = Bench::new();
    bench.pipe("pipe");
    let _socket = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    let start = Instant::now();
    for (path, kind) in [("pipe", "pipe"), ("socket", "socket")] {
        for (tool, arguments) in calls(path) {
            let text = bench.fail(&*tool, arguments).await;
            assert!(text.contains(kind), "{path} by {tool:?}: {text}");
        }
    }
    bench.write("file", "a secret");
    let listed = bench.run(&ListFiles, json!({})).await.text;
    assert_eq!(listed, "file\npipe (pipe)\nsocket (socket)");
    let found = bench.run(&SearchFiles, json!({ "pattern": "secret" })).await.text;
    assert_eq!(found, "file\n1:a secret");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[tokio::test]
async fn a_link_swapped_in_again_and_again_never_leads_out() {
    let bench = Bench::new();
    bench.write("a/secret", "inside");
    bench.write("b/x", "x");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let swapper = {
        let (stop, real, link) = (Arc::clone(&stop), bench.path("a"), bench.path("link"));
        symlink(bench.outside(""), &link).unwrap();
        std::thread::spawn(move || {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                use rustix::fs::{CWD, RenameFlags, renameat_with};
                renameat_with(CWD, &link, CWD, &real, RenameFlags::EXCHANGE).unwrap();
            }
        })
    };
    for _ in 0..150 {
        for (tool, arguments) in calls("a/secret") {
            if let Ok(output) = tool.run(bench.invocation(&*tool, arguments)).await {
                assert!(!output.text.contains("\tsecret"), "{output:?}");
                assert!(!output.text.contains(":secret"), "{output:?}");
            }
        }
        let found = SearchFiles.run(bench.invocation(&SearchFiles, json!({"pattern": "secret"})));
        if let Ok(output) = found.await {
            assert!(!output.text.contains(":secret"), "{output:?}");
        }
        let listed = ListFiles.run(bench.invocation(&ListFiles, json!({"pattern": "zz*"}))).await;
        assert!(!listed.is_ok_and(|output| output.text.contains("zz")));
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    swapper.join().unwrap();
    assert_eq!(fs::read(bench.outside("secret")).unwrap(), b"secret");
    assert_eq!(fs::read_dir(bench.outside("")).unwrap().count(), 1);
}

#[tokio::test]
async fn odd_names_are_shown_escaped() {
    let bench = Bench::new();
    bench.write("new\nline", "x");
    bench.write("bell\u{7}", "x");
    bench.write("bidi\u{202E}txt.exe", "x");
    bench.write("back\\slash", "x");
    bench.write("größe 漢字", "x");
    bench.write(Path::new(OsStr::from_bytes(b"bad\xFFname")), "x");
    let listed = bench.run(&ListFiles, json!({})).await.text;
    assert_eq!(
        listed,
        "back\\\\slash\nbad\\xFFname\nbell\\u{7}\nbidi\\u{202E}txt.exe\ngröße 漢字\nnew\\nline"
    );
    let found = bench.run(&SearchFiles, json!({ "pattern": "x", "glob": "b*" })).await.text;
    assert_eq!(
        found,
        "back\\\\slash\n1:x\n\nbad\\xFFname\n1:x\n\nbell\\u{7}\n1:x\n\nbidi\\u{202E}txt.exe\n1:x"
    );
    let read = bench.run(&ReadFile, json!({ "path": "new\nline" })).await;
    assert_eq!(read.details["path"], "new\\nline");
    let prepared = bench.prepare(&WriteFile, json!({ "path": "new\nline", "content": "y" })).await;
    let prepared = prepared.unwrap();
    assert!(prepared.facts["path"].ends_with("/new\\nline"), "{prepared:?}");
    assert!(prepared.preview.unwrap().starts_with("--- a/new\\"), "a line break got through");
}

#[tokio::test]
async fn a_call_that_is_cancelled_does_nothing() {
    let bench = Bench::new();
    bench.write("secret", "secret");
    bench.cancelled.cancel();
    for (tool, arguments) in calls("secret") {
        let result = tool.run(bench.invocation(&*tool, arguments)).await;
        if !tool.spec().read_only {
            let text = result.unwrap_err().into_output().text;
            assert_eq!(text, "cancelled before it ended", "{tool:?}");
        }
    }
    assert_eq!(bench.read("secret"), b"secret");
}

#[tokio::test]
async fn a_file_that_changes_after_the_look_is_not_written() {
    let bench = Bench::new();
    bench.write("a.txt", "one\n");
    for (tool, arguments) in [
        (&WriteFile as &dyn Tool, json!({ "path": "a.txt", "content": "new\n" })),
        (&EditFile, json!({ "path": "a.txt", "old": "one", "new": "new" })),
    ] {
        let mut invocation = bench.invocation(tool, arguments);
        invocation.facts = tool.prepare(invocation.intent()).await.unwrap().facts;
        bench.write("a.txt", "one, and somebody else's words\n");
        let refused = tool.run(invocation).await.unwrap_err().into_output().text;
        assert!(refused.contains("changed while the call was about to start"), "{refused}");
        assert_eq!(bench.read("a.txt"), b"one, and somebody else's words\n");
        bench.write("a.txt", "one\n");
    }
}
