//! What the build script does where Node is missing, too old or not wanted, and when nothing has changed: run as cargo runs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a panic is how a test fails, also in functions that tests call"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The script that built this very test: cargo keeps it in a folder beside what it made.
fn script() -> PathBuf {
    let out = Path::new(env!("OUT_DIR"));
    let builds = out.parent().and_then(Path::parent).unwrap();
    let entries = fs::read_dir(builds).unwrap().map(|entry| entry.unwrap());
    let ours = entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("agent-world-web-"))
        .map(|entry| entry.path().join("build-script-build"))
        .filter(|path| path.is_file());
    ours.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("a build script")
}

struct Ran {
    output: Output,
    told: String,
    page: PathBuf,
    _folder: tempfile::TempDir,
}

/// Runs the script with a choice, where these programs are found and no others.
fn run(choice: &str, programs: &[(&str, &str)]) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    for (name, text) in programs {
        let path = bin.join(name);
        fs::write(&path, text).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).unwrap();
    }
    let output = Command::new(script())
        .env("CARGO_MANIFEST_DIR", env!("CARGO_MANIFEST_DIR"))
        .env("OUT_DIR", folder.path())
        .env("AGENT_WORLD_WEB", choice)
        .env("PATH", &bin)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let told = [output.stdout.clone(), output.stderr.clone()].concat();
    let told = String::from_utf8(told).unwrap();
    Ran { output, told, page: folder.path().join("page"), _folder: folder }
}

impl Ran {
    /// It ended well, with the page that says how to get the real one.
    fn left_the_short_page(&self) {
        assert!(self.output.status.success(), "{}", self.told);
        let page = fs::read_to_string(self.page.join("index.html")).unwrap();
        assert!(page.contains("Install") && page.contains("cargo run --release"), "{page}");
        assert_eq!(fs::read_dir(&self.page).unwrap().count(), 1);
    }
}

const OLD: [(&str, &str); 1] = [("node", "#!/bin/sh\necho v18.19.1\n")];
const BROKEN: [(&str, &str); 2] = [
    ("node", "#!/bin/sh\necho v99.0.0\n"),
    (
        "npm",
        "#!/bin/sh\n[ \"$1\" = --version ] && echo 11 && exit 0\necho no network >&2\nexit 1\n",
    ),
];

#[test]
fn without_node_there_is_a_page_that_says_how_to_get_the_real_one() {
    for programs in [&[][..], &OLD[..]] {
        let ran = run("auto", programs);
        ran.left_the_short_page();
        assert!(ran.told.contains("cargo::warning=built without the web page"), "{}", ran.told);
        // Another try once something was installed, and not before.
        assert!(ran.told.contains("cargo::rerun-if-env-changed=PATH"), "{}", ran.told);
        assert!(ran.told.contains("/bin\n"), "{}", ran.told);
        assert!(!ran.told.contains("/never"), "{}", ran.told);
    }
}

#[test]
fn what_may_work_the_next_time_is_tried_the_next_time() {
    let ran = run("", &BROKEN);
    ran.left_the_short_page();
    assert!(ran.told.contains("no network"), "{}", ran.told);
    assert!(ran.told.contains("/never\n"), "{}", ran.told);
}

#[test]
fn whoever_requires_the_page_gets_no_build_without_it() {
    for programs in [&[][..], &OLD[..], &BROKEN[..]] {
        let ran = run("require", programs);
        assert!(!ran.output.status.success());
        assert!(ran.told.contains("AGENT_WORLD_WEB=require"), "{}", ran.told);
    }
}

#[test]
fn who_wants_no_page_is_not_warned() {
    let ran = run("skip", &[]);
    ran.left_the_short_page();
    assert!(!ran.told.contains("warning"), "{}", ran.told);
    assert!(!run("perhaps", &[]).output.status.success());
}

#[test]
fn sources_are_watched_and_what_is_installed_beside_them_is_not() {
    let told = run("skip", &[]).told;
    for watched in ["page/src", "page/index.html", "page/package-lock.json", "web/build.rs"] {
        assert!(told.contains(&format!("{watched}\n")), "{watched}: {told}");
    }
    assert!(!told.contains("node_modules") && !told.contains(".build"), "{told}");
}
