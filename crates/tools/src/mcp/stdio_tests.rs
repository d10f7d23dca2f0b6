//! Children that end, that do not want to, that leave others behind and that talk too much.

use std::ffi::OsString;
use std::time::Instant;

use tokio::io::AsyncBufReadExt;

use super::*;

fn program(script: &str) -> Program {
    Program {
        command: "/bin/sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        environment: vec![(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))],
        directory: std::env::temp_dir(),
    }
}

fn is_alive(pid: &str) -> bool {
    // One that was killed and not yet reaped by its new parent is no longer alive.
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()))
        .is_ok_and(|stat| !stat.contains(") Z "))
}

async fn until_dead(pid: &str) {
    let start = Instant::now();
    while is_alive(pid) {
        assert!(start.elapsed() < Duration::from_secs(10), "{pid} is still alive");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn first_line(lines: Lines<ChildStdout>) -> String {
    let mut lines = tokio::io::BufReader::new(lines).lines();
    lines.next_line().await.unwrap().unwrap()
}

#[tokio::test]
async fn the_whole_group_ends_with_a_server_that_does_not_want_to() {
    let script = "trap '' TERM; sleep 600 & echo $!; while true; do sleep 1; done";
    let (running, stdout, stdin) = Running::start(&program(script)).unwrap();
    let grandchild = first_line(stdout).await;
    drop(stdin);
    let status = running.end().await.unwrap();
    assert!(!status.success());
    until_dead(&grandchild).await;
}

#[tokio::test]
async fn dropping_a_server_kills_its_group() {
    let (running, stdout, _stdin) = Running::start(&program("sleep 600 & echo $!; wait")).unwrap();
    let grandchild = first_line(stdout).await;
    drop(running);
    until_dead(&grandchild).await;
}

#[tokio::test]
async fn what_a_dead_server_left_behind_is_killed_too() {
    let (mut running, stdout, stdin) =
        Running::start(&program("sleep 600 & echo $!; exit 3")).unwrap();
    let grandchild = first_line(stdout).await;
    running.exited().await;
    drop(stdin);
    assert_eq!(running.end().await.unwrap().code(), Some(3));
    until_dead(&grandchild).await;
}

#[tokio::test]
async fn the_last_lines_of_the_error_output_are_kept_and_no_more() {
    let script = "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done >&2; \
                  printf 'bad \\033[31mthing\\n' >&2; echo done; read x";
    let (running, stdout, stdin) = Running::start(&program(script)).unwrap();
    let said = running.said();
    first_line(stdout).await;
    drop(stdin);
    running.end().await.unwrap();
    let start = Instant::now();
    while !said.last_lines().is_some_and(|lines| lines.ends_with("bad [31mthing")) {
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", said.last_lines());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(said.last_lines().unwrap().lines().count(), TOLD);
    assert!(said.0.lock().unwrap().len() <= KEPT);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let missing = Program { command: "no-such-program".to_owned(), ..program("") };
    let error = Running::start(&missing).map(|_| ()).unwrap_err();
    assert!(error.contains("`no-such-program` was not found"), "{error}");
}

#[tokio::test]
async fn a_line_without_end_is_an_error_and_many_lines_are_none() {
    let mut text = Vec::new();
    let short = "12345678\n".repeat(100);
    Lines::new(short.as_bytes(), 10).read_to_end(&mut text).await.unwrap();
    assert_eq!(text, short.as_bytes());
    let error = Lines::new(&b"123456789012"[..], 10).read_to_end(&mut text).await.unwrap_err();
    assert!(error.to_string().contains("longer than 10 bytes"), "{error}");
}
