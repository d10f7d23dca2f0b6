//! What is left when servers are killed: nothing, or nothing after the next start.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use agent_world_tools::shell::ShellCmd;
use serde_json::json;

use super::bench::{Bench, LAUNCHER, nap, running, until};
use super::endings::kill;

/// A server of its own that runs one call.
struct Server(Child);

impl Server {
    fn start(bench: &Bench, wrapping: &str, script: &str) -> Self {
        let child = Command::new(LAUNCHER)
            .arg(bench.work())
            .arg(bench.place.path().join("records"))
            .arg(wrapping)
            .arg(json!({"script": script}).to_string())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn call(&self) -> String {
        format!("call_{}", self.0.id())
    }

    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A child, a grandchild in a session of its own, and one that has forgotten whose it is.
fn family(nap: &str) -> String {
    format!(
        "setsid sh -c 'sleep {nap}' & setsid env -i sh -c 'sleep {nap} & sleep {nap}' & sleep {nap}"
    )
}

#[tokio::test]
async fn killing_the_server_leaves_nothing() {
    for wrapping in ["alone", "wrapped"] {
        let bench = Bench::new();
        let nap = nap();
        let mut server = Server::start(&bench, wrapping, &family(&nap));
        until(|| running(&format!("sleep {nap}")).len() >= 5).await;
        server.kill();
        until(|| running(&nap).is_empty()).await;
        until(|| bench.records() == 0).await;
        assert_eq!(ShellCmd::end_leftovers(&bench.place.path().join("records")).unwrap(), []);
    }
}

#[tokio::test]
async fn killing_the_server_and_its_launcher_leaves_what_the_next_start_ends() {
    let bench = Bench::new();
    let nap = nap();
    let records = bench.place.path().join("records");
    let mut server = Server::start(&bench, "alone", &family(&nap));
    until(|| running(&format!("sleep {nap}")).len() >= 5).await;
    until(|| all_noted(&records, &nap)).await;
    // As long as the server lives, nobody else ends its calls.
    assert_eq!(ShellCmd::end_leftovers(&records).unwrap(), []);
    let mut sleeping = running(&format!("sleep {nap}"));
    sleeping.retain(|id| *id != server.0.id());
    kill_with_launcher(&mut server);
    assert_eq!(running(&format!("sleep {nap}")), sleeping);
    let ended = ShellCmd::end_leftovers(&records).unwrap();
    assert_eq!(running(&nap), [0; 0]);
    assert_eq!(bench.records(), 0);
    let [leftover] = ended.as_slice() else { panic!("{ended:?}") };
    assert_eq!(leftover.call, server.call());
    assert!(sleeping.iter().all(|id| leftover.processes.contains(id)), "{leftover:?}");
    assert_eq!(ShellCmd::end_leftovers(&records).unwrap(), []);
}

#[tokio::test]
async fn inside_namespaces_nothing_outlives_the_launcher() {
    if agent_world_tools::sandbox::Support::detect().bubblewrap.is_err() {
        return;
    }
    let bench = Bench::new();
    let nap = nap();
    let mut server = Server::start(&bench, "wrapped", &family(&nap));
    until(|| running(&format!("sleep {nap}")).len() >= 5).await;
    kill_with_launcher(&mut server);
    until(|| running(&nap).is_empty()).await;
}

/// Stopped, a launcher cannot notice that its server has gone.
fn kill_with_launcher(server: &mut Server) {
    let launchers: Vec<u32> = super::bench::everybody()
        .filter(|id| super::bench::parent(*id) == Some(server.0.id()))
        .collect();
    for launcher in &launchers {
        let id = rustix::process::Pid::from_raw((*launcher).try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::STOP).unwrap();
    }
    server.kill();
    launchers.into_iter().for_each(kill);
}

fn all_noted(records: &Path, nap: &str) -> bool {
    let files = fs::read_dir(records).unwrap().flatten();
    let texts: String =
        files.map(|file| fs::read_to_string(file.path()).unwrap_or_default()).collect();
    running(&format!("sleep {nap}")).iter().all(|id| texts.contains(&format!("\"process\":{id},")))
}

#[tokio::test]
async fn a_process_that_only_has_the_same_number_is_left_alone() {
    let bench = Bench::new();
    let records = bench.place.path().join("records");
    let mut other = Command::new("sleep").arg(nap()).spawn().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let identity = json!({"process": other.id(), "started": 1});
    let record = json!({
        "boot": boot.trim(), "call": "call_long_ago", "server": {"process": 1, "started": 1},
        "launcher": identity, "processes": [identity], "temporary": null,
    });
    fs::write(records.join("old.running"), record.to_string()).unwrap();
    fs::write(records.join("damaged.running"), "{").unwrap();
    assert_eq!(ShellCmd::end_leftovers(&records).unwrap(), []);
    assert_eq!(bench.records(), 0);
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
    assert_eq!(ShellCmd::end_leftovers(&records.join("missing")).unwrap(), []);
}
