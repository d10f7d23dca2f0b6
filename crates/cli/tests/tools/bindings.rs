//! Scenes in which something changes between an approval and the start: what was approved is what runs, or nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use agent_world_core::command::Scope as Reach;
use agent_world_core::view::ApprovalView;
use serde_json::{Value, json};

use crate::stage::{Setup, Stage};

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Approves a call for good after something has changed, and gives the request that is made in place of a start.
async fn asked_again(
    stage: &Stage,
    tool: &str,
    arguments: Value,
    change: impl FnOnce(&Stage),
) -> ApprovalView {
    stage.calls(tool, arguments).await;
    let asked = stage.asked().await;
    change(stage);
    stage.approve(&asked, Reach::Always).await;
    let again = stage.asked().await;
    assert_ne!(again.id, asked.id);
    assert_eq!(again.voided.as_ref().unwrap().approval, asked.id);
    let call = stage.last_call().await;
    assert_eq!((call.state.name(), call.started_at), ("awaiting_approval", None));
    again
}

fn changes(again: &ApprovalView) -> String {
    again.voided.as_ref().unwrap().changes.join("; ")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_changed_after_the_approval_is_asked_about_again() {
    for arguments in [
        json!({"command": "sh", "parameters": ["work.sh"]}),
        json!({"command": "env", "parameters": ["sh", "work.sh"]}),
        json!({"command": "./work.sh"}),
    ] {
        let stage = Setup::new().open().await;
        let path = stage.place.work().join("work.sh");
        program(&path, "#!/bin/sh\necho harmless\n");
        let again = asked_again(&stage, "shell_cmd", arguments, |_| {
            program(&path, "#!/bin/sh\ntouch owned\n");
        })
        .await;
        assert!(changes(&again).starts_with("script was "), "{}", changes(&again));
        assert!(!stage.place.has("owned"));
        stage.deny(&again, "it changed").await;
        stage.idle().await;
        assert_eq!(stage.told(), ["denied by the user: it changed"]);
        assert!(!stage.place.has("owned"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_approved_after_a_change_is_what_is_there_then() {
    let stage = Setup::new().open().await;
    stage.place.write("work.sh", "echo one\n");
    let arguments = json!({"command": "sh", "parameters": ["work.sh"]});
    let again = asked_again(&stage, "shell_cmd", arguments, |stage| {
        stage.place.write("work.sh", "echo two\n");
    })
    .await;
    stage.approve(&again, Reach::Once).await;
    stage.idle().await;
    assert_eq!(stage.told(), ["two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_in_the_folder_that_was_swapped_is_asked_about_again() {
    let stage = Setup::new().open().await;
    let path = stage.place.work().join("tool");
    fs::copy("/bin/true", &path).unwrap();
    let again = asked_again(&stage, "shell_cmd", json!({"command": "./tool"}), |_| {
        fs::remove_file(&path).unwrap();
        fs::copy("/bin/touch", &path).unwrap();
    })
    .await;
    assert!(changes(&again).starts_with("program_content was "), "{}", changes(&again));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_comes_first_on_the_path_since_is_asked_about_again() {
    let setup = Setup::new();
    let first = setup.place.outside();
    let stage = setup.searching(&first).open().await;
    let again = asked_again(&stage, "shell_cmd", json!({"command": "true"}), |stage| {
        program(&stage.place.outside().join("true"), "#!/bin/sh\ntouch owned\n");
    })
    .await;
    let expected = format!("and is {}", first.join("true").display());
    assert!(changes(&again).contains(&expected), "{}", changes(&again));
    assert!(!stage.place.has("owned"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_was_replaced_by_a_link_is_refused_or_asked_about_again() {
    // By one that leads to another place inside.
    let stage = Setup::new().open().await;
    for name in ["safe", "other"] {
        fs::create_dir(stage.place.work().join(name)).unwrap();
    }
    let arguments = json!({"command": "touch", "parameters": ["owned"], "directory": "safe"});
    let replace = |stage: &Stage, target: &Path| {
        fs::remove_dir(stage.place.work().join("safe")).unwrap();
        symlink(target, stage.place.work().join("safe")).unwrap();
    };
    let again = asked_again(&stage, "shell_cmd", arguments.clone(), |stage| {
        replace(stage, Path::new("other"));
    })
    .await;
    assert!(changes(&again).starts_with("directory was "), "{}", changes(&again));
    assert!(!stage.place.has("other/owned"));

    // By one that leads out: nobody can agree to that.
    let stage = Setup::new().open().await;
    fs::create_dir(stage.place.work().join("safe")).unwrap();
    stage.calls("shell_cmd", arguments).await;
    let asked = stage.asked().await;
    replace(&stage, &stage.place.outside());
    stage.approve(&asked, Reach::Once).await;
    stage.idle().await;
    assert_eq!(stage.states().await, ["failed"]);
    assert!(stage.told()[0].contains("outside the working directory"), "{:?}", stage.told());
    assert_eq!(fs::read_dir(stage.place.outside()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_working_directory_that_was_replaced_by_a_link_is_asked_about_again() {
    let stage = Setup::new().open().await;
    let arguments = json!({"command": "touch", "parameters": ["owned"]});
    let again = asked_again(&stage, "shell_cmd", arguments, |stage| {
        fs::remove_dir(stage.place.work()).unwrap();
        symlink(stage.place.outside(), stage.place.work()).unwrap();
    })
    .await;
    assert!(changes(&again).contains("directory was "), "{}", changes(&again));
    assert!(!stage.place.outside().join("owned").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_changed_after_the_approval_is_neither_edited_nor_overwritten() {
    for (tool, arguments) in [
        ("edit_file", json!({"path": "file", "old": "one", "new": "two"})),
        ("write_file", json!({"path": "file", "content": "two\n"})),
    ] {
        let stage = Setup::new().open().await;
        stage.place.write("file", "one\n");
        let again = asked_again(&stage, tool, arguments, |stage| {
            stage.place.write("file", "zero\none\n");
        })
        .await;
        assert_eq!(stage.place.read("file"), "zero\none\n");
        let preview = again.preview.clone().unwrap();
        assert!(preview.contains("zero"), "the new preview shows what is there now: {preview}");
        stage.deny(&again, "somebody else works on it").await;
        stage.idle().await;
        assert_eq!(stage.place.read("file"), "zero\none\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_the_sandbox_that_changed_after_the_approval_are_asked_about_again() {
    let stage = Setup::new().open().await;
    stage.calls("shell_cmd", json!({"command": "touch", "parameters": ["owned"]})).await;
    let asked = stage.asked().await;
    let mut world = (*stage.engine.world(&stage.world).await.unwrap()).clone();
    world.sandbox.network = true;
    stage.engine.update_world(world, "mallory").await.unwrap();
    stage.approve(&asked, Reach::Once).await;
    let again = stage.asked().await;
    assert!(changes(&again).contains("sandbox was on, no network"), "{}", changes(&again));
    assert!(!stage.place.has("owned"));
}
