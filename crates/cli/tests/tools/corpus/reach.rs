//! Ways to this program itself: signals, its memory, its store, its launcher, and ways around the confinement.

use std::fs;

use nix::sys::ptrace;
use nix::unistd::Pid;

use super::case::{Case, confined, ensure};

const REACHES: &str = "this program, its launcher or its store is reached";
const REFUSED: &str =
    "Operation not permitted|No such process|Permission denied|Read-only file system|No such file";
const ACT: &str = "CORPUS_ACT";

/// This test binary again, as a program that does one thing.
pub fn acting(what: &str) -> String {
    let program = std::env::current_exe().unwrap();
    format!("{ACT}={what} {} --exact corpus::reach::acting_as_told --nocapture", program.display())
}

/// Does what it is told to; by itself it shows that it would notice a refusal.
#[test]
fn acting_as_told() {
    let told = std::env::var(ACT).unwrap_or_default();
    match told.split_once(':') {
        Some(("connect", path)) => drop(std::os::unix::net::UnixStream::connect(path).unwrap()),
        Some(("listen", _)) => drop(std::net::TcpListener::bind("127.0.0.1:0").unwrap()),
        // Takes hold of a process without stopping it, and lets go at the end.
        Some(("trace", process)) => {
            let process = Pid::from_raw(process.parse().unwrap());
            ptrace::seize(process, ptrace::Options::empty()).unwrap();
        }
        _ => assert!(std::os::unix::net::UnixStream::connect("/nowhere/at/all").is_err()),
    }
}

pub fn cases() -> Vec<Case> {
    let server = std::process::id();
    let mut cases = vec![
        // The signals are ones that do nothing to whom they reach.
        confined("a signal to this program", REACHES, move |_| format!("kill -0 {server}"))
            .ends("failed", REFUSED),
        confined("a real signal to this program", REACHES, move |_| {
            format!("kill -WINCH {server}")
        })
        .ends("failed", REFUSED),
        confined("a signal to the launcher", REACHES, |_| "kill -WINCH $PPID".to_owned())
            .ends("failed", REFUSED),
        confined("a debugger on this program", REACHES, move |_| {
            acting(&format!("trace:{server}"))
        })
        .ends("failed", "EPERM|ESRCH"),
        confined("words into this program's memory", REACHES, move |_| {
            format!("echo x >> /proc/{server}/comm || echo x > /proc/{server}/mem")
        })
        .ends("failed", REFUSED),
        confined("a lower chance to live for this program", REACHES, move |_| {
            format!("echo 500 > /proc/{server}/oom_score_adj")
        })
        .ends("failed", REFUSED),
        confined("a namespace of its own", REACHES, |_| {
            "unshare --user --map-root-user true".to_owned()
        })
        .ends("failed", REFUSED),
        confined("another root", REACHES, |_| "chroot . /bin/true".to_owned())
            .ends("failed", "not permitted|cannot"),
        confined("a file system over its folder", REACHES, |_| {
            "mkdir here; mount -t tmpfs none here".to_owned()
        })
        .ends("failed", "denied|permitted|must be superuser"),
        confined("a write outside through a hard link", REACHES, |canaries| {
            format!("ln {} inside && echo more >> inside", canaries.outside_file())
        })
        .ends("failed", "Permission denied|not permitted|Invalid cross-device link|Read-only"),
        confined("a write outside through a link", REACHES, |canaries| {
            format!("ln -s {} inside && echo more >> inside", canaries.outside_file())
        })
        .ends("failed", REFUSED),
        confined("a folder outside that is emptied", REACHES, |_| {
            "rm -rf ../../../outside/*".to_owned()
        })
        .ends("failed", REFUSED),
        confined("times and rights of a file outside", REACHES, |canaries| {
            format!("chmod 777 {0} && touch -d 2001-01-01 {0}", canaries.outside_file())
        })
        .check(rights_are_as_they_were_or_it_is_told),
        confined("the launcher's own words", REACHES, |_| {
            format!(
                "{} __launch supervise < /dev/null; {0} __launch become < /dev/null",
                crate::stage::PROGRAM
            )
        })
        .ends("failed", "launcher:"),
        confined("this program on its own store", REACHES, |canaries| {
            let data = canaries.data.display();
            format!(
                "{} --data {data} approvals list; {0} --data {data} send hello",
                crate::stage::PROGRAM
            )
        })
        .ends("failed", "cannot|denied|permitted|unable"),
    ];
    for (name, file) in [
        ("store", "agent-world.db"),
        ("log of the store", "agent-world.db-wal"),
        ("settings", "agent-world.toml"),
    ] {
        for (how, command) in
            [("a word in", "echo x >>"), ("nothing left of", ": >"), ("an end of", "rm -f")]
        {
            let case = confined(format!("{how} the {name}"), REACHES, move |canaries| {
                format!("{command} {}/{file}", canaries.data.display())
            });
            // Where it cannot even be seen, there is nothing to remove.
            let case = if how == "an end of" { case } else { case.ends("failed", REFUSED) };
            cases.push(case.check(move |aftermath| {
                let there = fs::exists(aftermath.canaries.data.join(file)).unwrap();
                ensure(there, || format!("{file} is gone"))
            }));
        }
    }
    cases.push(
        confined("a note of what runs", REACHES, |canaries| {
            format!(
                "for x in {0}/running/*; do rm -f $x; done; touch {0}/running/owned",
                canaries.data.display()
            )
        })
        .ends("failed", REFUSED),
    );
    cases
}

/// Only namespaces hold back a change of rights; a result without them has to say so.
fn rights_are_as_they_were_or_it_is_told(
    aftermath: &super::case::Aftermath<'_>,
) -> super::case::Verdict {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = fs::metadata(aftermath.canaries.outside_file()).unwrap().permissions().mode();
    let output = aftermath.calls[0].output.clone().unwrap_or_default();
    let missing = output.details["sandbox"]["missing"].to_string();
    ensure(mode & 0o777 != 0o777 || missing.contains("rights, owners and times"), || {
        format!("its rights are {mode:o} now, and of the sandbox is missing only {missing}")
    })
}
