//! What happens to programs that take too much.

use std::fs;

use agent_world_core::config::SandboxMode;

use super::bench::{Bench, failed, nap, running, until};

#[tokio::test]
async fn a_fork_bomb_is_ended_and_named() {
    for bench in Bench::both() {
        let bench = bench.set(|sandbox| sandbox.processes = 60);
        let nap = nap();
        // Should it not be ended, it ends by itself at some thousand.
        let bomb = "bomb() { [ $1 = 0 ] || { bomb $(($1-1)) | bomb $(($1-1)) & }; sleep 30; }";
        let output = failed(bench.script(&format!("{bomb}; bomb 10; sleep {nap}")).await);
        let words = "[killed: more than 60 processes at the same time]";
        assert!(output.text.ends_with(words), "{output:?}");
        assert_eq!(running(&nap), [0; 0]);
    }
}

#[tokio::test]
async fn a_bomb_whose_parts_leave_the_group_is_ended() {
    let bench = Bench::new().set(|sandbox| sandbox.processes = 40);
    // Should it not be ended, it ends by itself at some hundred.
    let script = "echo '[ $1 = 0 ] || { n=$(($1-1)); setsid sh bomb $n & setsid sh bomb $n & }; sleep 30' > bomb; sh bomb 9";
    let output = failed(bench.script(script).await);
    assert!(output.text.contains("[killed: more than 40 processes"), "{output:?}");
    let place = bench.place.path().display().to_string();
    let left = || {
        running("sh bomb")
            .into_iter()
            .filter(|id| {
                fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(&place))
            })
            .count()
    };
    assert_eq!(left(), 0);
}

#[tokio::test]
async fn memory_of_all_processes_together_is_limited() {
    for bench in Bench::both() {
        let bench = bench.set(|sandbox| sandbox.memory_bytes = 200 << 20);
        // Each stays below the limit.
        let hog = "x=$(head -c 40000000 /dev/zero | tr '\\\\0' x); touch held$1; sleep 1000";
        let script = format!(
            "for i in 1 2 3 4 5 6; do bash -c \"{}\" hog $i & done; wait",
            hog.replace('$', "\\$")
        );
        let output = failed(bench.script(&script).await);
        assert!(
            output.text.contains("[killed: more than 209715200 bytes of memory]"),
            "{output:?}"
        );
    }
}

#[tokio::test]
async fn memory_of_one_process_is_limited_by_the_kernel() {
    let bench = Bench::new().set(|sandbox| sandbox.memory_bytes = 50 << 20);
    let script = "x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo ${#x}";
    let output = bench.script(script).await;
    let text = match output {
        Ok(output) => output.text,
        Err(failure) => failure.into_output().text,
    };
    assert!(!text.contains("400000000"), "{text}");
    let free = bench.set(|sandbox| sandbox.mode = SandboxMode::Off);
    assert_eq!(free.script(script).await.unwrap().text, "400000000");
}

#[tokio::test]
async fn a_file_cannot_grow_beyond_its_limit() {
    for bench in Bench::both() {
        let bench = bench.set(|sandbox| sandbox.file_bytes = 100_000);
        let command = serde_json::json!({"command": "dd", "parameters": ["if=/dev/zero", "of=big", "bs=1000", "count=1000"]});
        let output = failed(bench.run(command.clone()).await);
        assert!(output.text.ends_with("[killed: a file of more than 100000 bytes]"), "{output:?}");
        assert_eq!(fs::metadata(bench.work().join("big")).unwrap().len(), 100_000);
        let free = bench.set(|sandbox| sandbox.mode = SandboxMode::Off);
        free.run(command).await.unwrap();
        until(|| fs::metadata(free.work().join("big")).unwrap().len() == 1_000_000).await;
    }
}
