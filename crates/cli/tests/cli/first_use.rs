//! Tests of what a newcomer meets.

use std::os::unix::fs::PermissionsExt as _;

use crate::home::Home;

#[test]
fn the_help_teaches_by_example() {
    let home = Home::new();
    let help = home.run(&["--help"]).succeeded().says("Exit codes: 0 done, 1 failed, 2 usage");
    help.says("agent-world chat").says("agent-world approvals approve ID");
    home.run(&["--version"]).succeeded().says("agent-world 0.");
    assert!(!home.path().exists(), "nothing is made before it is needed");
}

#[test]
fn the_first_message_finds_a_demo_world_and_is_answered() {
    let home = Home::new();
    let first = home.run(&["send", "hello"]).succeeded();
    first.warns("created the world `demo`").says("ada: ").says("built-in demo model");
    let second = home.run(&["send", "-w", "demo", "hello"]).succeeded();
    assert_eq!(second.err, "");
    assert_eq!(second.out, "ada: Hello! Say `help` to see what I can do.\n");
    home.run(&["world", "list"]).succeeded().says("demo         1      ada, bob");
}

#[test]
fn what_is_stored_is_for_its_owner_only() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    for (path, expected) in [(home.path(), 0o700), (home.database(), 0o600)] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, expected, "{}", path.display());
    }
}

#[test]
fn the_data_folder_can_be_named() {
    let home = Home::new();
    let other = Home::new();
    home.run(&["--data", other.path().to_str().unwrap(), "send", "hello"]).succeeded();
    assert!(other.database().exists());
    assert!(!home.path().exists());
}

#[test]
fn a_demo_world_that_was_deleted_does_not_come_back() {
    let home = Home::new();
    home.run(&["send", "hello"]).succeeded();
    home.run(&["world", "delete", "demo"]).with_code(2).warns("add --yes");
    home.run(&["world", "delete", "demo", "--yes"]).succeeded();
    home.run(&["send", "hello"]).with_code(1).warns("there is no world; make one with");
    home.run(&["world", "list"]).succeeded().says("there is no world yet");
}

#[test]
fn two_first_visits_at_once_make_one_world() {
    let home = Home::new();
    let visits: Vec<_> = (0..4).map(|_| home.start(&["send", "hello"])).collect();
    for mut visit in visits {
        visit.close();
        visit.wait().succeeded().says("ada: ");
    }
    home.run(&["world", "list"]).succeeded().says("demo         1      ada, bob");
    home.run(&["verify"]).succeeded().says("of 1 world and ");
}
