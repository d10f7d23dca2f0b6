//! Runs a program of the project against a fake of the vendors, with an environment of its own.
//! Used by the tests of the examples.

use std::env;
use std::process::Command;

use super::fake::{DOORS, Fake, KEY};

/// What an example prints. It must end well.
pub async fn run(example: &str, arguments: &[&str], fake: &Fake) -> String {
    // Examples are built into a folder beside the one that this test is in.
    let folder = env::current_exe().unwrap();
    let folder = folder.parent().unwrap().parent().unwrap().join("examples");
    let program = folder.join(format!("{example}{}", env::consts::EXE_SUFFIX));
    assert!(
        program.exists(),
        "{} is not there; build it first: cargo build --examples, or cargo test without --test",
        program.display()
    );
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
    for door in DOORS.iter().filter(|door| !door.name.starts_with("azure")) {
        let name =
            if door.name == "google" { "GEMINI".to_owned() } else { door.name.to_uppercase() };
        command.env(format!("{name}_BASE_URL"), fake.url(door.name));
        command.env(format!("{name}_API_KEY"), KEY);
    }
    command.env("LAB_KEY", KEY);
    let ended = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let complaint = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{example} {arguments:?}: {complaint}");
    String::from_utf8(ended.stdout).unwrap()
}
