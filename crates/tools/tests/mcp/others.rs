//! The other real servers: files, memory, time, git. Each is listed, called and failed.

use serde_json::json;

use super::stage::{Stage, installed, of_npm, of_pip, words};

#[tokio::test(flavor = "multi_thread")]
async fn server_filesystem_reads_in_its_folder_and_nowhere_else() {
    let Some(folder) = installed("filesystem") else { return };
    let files = tempfile::tempdir().unwrap();
    let path = files.path().canonicalize().unwrap();
    std::fs::write(path.join("a.txt"), "inside").unwrap();
    let mut settings = of_npm(&folder, "server-filesystem", &[path.to_str().unwrap()]);
    settings["trusted"] = json!(true);
    let stage = Stage::new(&[("files", settings)]).ready().await;
    let read = stage.tool("files.read_text_file").spec();
    assert!(read.read_only && !read.approval.required, "{read:?}");
    let write = stage.tool("files.write_file").spec();
    assert!(!write.read_only && write.approval.required && write.destructive, "{write:?}");
    let output = stage.call("files.read_text_file", json!({"path": path.join("a.txt")})).await;
    assert_eq!(output.unwrap().text, "inside");
    let denied = stage.call("files.read_text_file", json!({"path": "/etc/hostname"})).await;
    assert!(words(denied).contains("denied"));
}

#[tokio::test(flavor = "multi_thread")]
async fn server_memory_remembers() {
    let Some(folder) = installed("memory") else { return };
    let files = tempfile::tempdir().unwrap();
    let mut settings = of_npm(&folder, "server-memory", &[]);
    settings["env"] = json!({"MEMORY_FILE_PATH": files.path().join("memory.jsonl")});
    let stage = Stage::new(&[("memory", settings)]).ready().await;
    let entity = json!({"name": "Ada", "entityType": "person", "observations": ["writes"]});
    stage.call("memory.create_entities", json!({"entities": [entity]})).await.unwrap();
    let graph = stage.call("memory.read_graph", json!({})).await.unwrap();
    assert_eq!(graph.details["structured"]["entities"][0]["name"], "Ada");
    let failure = stage.call("memory.create_entities", json!({"entities": "none"})).await;
    assert!(!words(failure).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_server_time_tells_the_time() {
    let Some(folder) = installed("time") else { return };
    let settings = of_pip(&folder, "mcp-server-time", &["--local-timezone", "Etc/UTC"]);
    let stage = Stage::new(&[("time", settings)]).ready().await;
    let now = stage.call("time.get_current_time", json!({"timezone": "Europe/Berlin"})).await;
    assert!(now.unwrap().text.contains("Europe/Berlin"));
    let failure = stage.call("time.get_current_time", json!({"timezone": "Mars/Olympus"})).await;
    assert!(words(failure).contains("Mars/Olympus"));
}

#[tokio::test(flavor = "multi_thread")]
async fn mcp_server_git_reads_a_repository() {
    let Some(folder) = installed("git") else { return };
    let repository = tempfile::tempdir().unwrap();
    let mut git = std::process::Command::new("git");
    assert!(git.args(["init", "-q"]).current_dir(&repository).status().unwrap().success());
    std::fs::write(repository.path().join("new.txt"), "new").unwrap();
    let path = repository.path().to_str().unwrap();
    let settings = of_pip(&folder, "mcp-server-git", &["--repository", path]);
    let stage = Stage::new(&[("git", settings)]).ready().await;
    let status = stage.call("git.git_status", json!({"repo_path": path})).await.unwrap();
    assert!(status.text.contains("new.txt"), "{}", status.text);
    let failure = stage.call("git.git_log", json!({"repo_path": "/nowhere"})).await;
    assert!(!words(failure).is_empty());
}
