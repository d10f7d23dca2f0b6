//! How programs end with a launcher, what comes of their output, and that nothing of them is left.

use std::time::{Duration, Instant};

use agent_world_tools::Failure;
use agent_world_tools::watcher::Channel;
use serde_json::{Value, json};

use super::bench::{Bench, failed, nap, parent, running, runs, state, until};

/// Leaves the group and the session twice, and clears its environment.
fn runaway(nap: &str) -> String {
    format!(
        "setsid sh -c 'setsid env -i sleep {nap} & echo $! > id; exec sleep {nap}' & until [ -s id ]; do :; done;"
    )
}

#[tokio::test]
async fn results_are_the_same_with_a_launcher() {
    for bench in Bench::both() {
        let output = bench.run(json!({"command": "printf", "parameters": ["%s|", "a b", "$HOME"]}));
        assert_eq!(output.await.unwrap().text, "a b|$HOME|");
        let output = failed(bench.script("echo out; printf err >&2; exit 3").await);
        assert_eq!(output.text, "out\n[stderr]\nerr\n[exit code 3]");
        assert_eq!(output.details["exit_code"], 3);
        let output = failed(bench.script("kill -TERM $$").await);
        assert_eq!(output.text, "[killed by signal 15]");
        assert_eq!(output.details["signal"], 15);
        assert_eq!(bench.run(json!({"command": "cat"})).await.unwrap().text, "(no output)");
        assert_eq!(bench.records(), 0);
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_executed_is_explained() {
    for bench in Bench::both() {
        let path = bench.work().join("broken");
        super::bench::write(&path, "#!/no/such/interpreter\n");
        let chmod = bench.run(json!({"command": "chmod", "parameters": ["+x", "broken"]}));
        chmod.await.unwrap();
        let text = failed(bench.run(json!({"command": "./broken"})).await).text;
        assert!(text.starts_with("cannot run `./broken`: "), "{text}");
        let long = "x".repeat(300_000);
        let text = failed(bench.run(json!({"command": "echo", "parameters": [long]})).await).text;
        assert!(text.contains("too long"), "{text}");
    }
}

#[tokio::test]
async fn a_program_knows_its_call_and_nothing_of_the_launchers() {
    for bench in Bench::both() {
        let invocation = bench.invocation(json!({"command": "env"}));
        let call = invocation.call.to_string();
        let output = agent_world_tools::Tool::run(&bench.tool, invocation).await.unwrap();
        assert!(output.text.contains(&format!("AGENT_WORLD_CALL={call}\n")), "{output:?}");
        assert!(!output.text.contains("CARGO"), "{output:?}");
        // Only the three usual files are open, and the one that lists them.
        let open = bench.script("ls /proc/self/fd | tr '\\n' ' '").await.unwrap().text;
        assert_eq!(open, "0 1 2 3 ");
    }
}

#[tokio::test]
async fn what_a_program_leaves_behind_ends_with_it_wherever_it_went() {
    for bench in Bench::both() {
        let nap = nap();
        let output = bench.script(&format!("{} echo bye", runaway(&nap))).await.unwrap();
        assert_eq!(output.text, "bye");
        assert_eq!(running(&nap), [0; 0]);
    }
}

#[tokio::test]
async fn a_timeout_ends_everything() {
    for bench in Bench::both() {
        let nap = nap();
        let script = format!("{} touch ready; sleep {nap}", runaway(&nap));
        let result = bench.run(json!({"script": script, "timeout": 2})).await;
        let Err(Failure::TimedOut(output)) = result else { panic!("{result:?}") };
        assert_eq!(output.text, "[timed out after 2s and was killed]");
        assert_eq!(running(&nap), [0; 0]);
        assert_eq!(bench.records(), 0);
    }
}

#[tokio::test]
async fn a_cancellation_ends_everything() {
    for bench in Bench::both() {
        let nap = nap();
        let task = bench.start(json!({"script": format!("{} sleep {nap}", runaway(&nap))}));
        until(|| running(&nap).len() >= 3).await;
        bench.cancelled.cancel();
        assert_eq!(failed(task.await.unwrap()).text, "[cancelled and killed before it ended]");
        assert_eq!(running(&nap), [0; 0]);
    }
}

#[tokio::test]
async fn dropping_the_call_ends_everything() {
    for bench in Bench::both() {
        let nap = nap();
        let task = bench.start(json!({"script": format!("{} sleep {nap}", runaway(&nap))}));
        until(|| running(&nap).len() >= 3).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        until(|| running(&nap).is_empty() && bench.records() == 0).await;
    }
}

#[tokio::test]
async fn a_server_whose_launcher_is_killed_ends_what_it_left() {
    let bench = Bench::new();
    let nap = nap();
    let script = format!("echo $PPID > launcher; {} sleep {nap}", runaway(&nap));
    let task = bench.start(json!({"script": script}));
    let launcher = bench.written_id("launcher").await;
    until(|| running(&nap).len() >= 3).await;
    kill(launcher);
    let output = failed(task.await.unwrap());
    assert!(output.text.contains("[the launcher was killed"), "{output:?}");
    assert_eq!(running(&nap), [0; 0]);
    assert_eq!(bench.records(), 0);
}

pub fn kill(process: u32) {
    let id = rustix::process::Pid::from_raw(process.try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn output_is_shown_while_it_is_made_and_characters_stay_whole() {
    let bench = Bench::new();
    let task = bench.start(json!({
        "script": r"echo first; until [ -e go ]; do :; done; printf 'a\342'; sleep 0.2; printf '\202\254b'; echo e >&2"
    }));
    let seen = bench.seen.clone();
    until(|| !seen.0.lock().unwrap().is_empty()).await;
    assert_eq!(*seen.0.lock().unwrap(), [(Channel::Stdout, "first\n".to_owned())]);
    super::bench::write(&bench.work().join("go"), "");
    assert_eq!(task.await.unwrap().unwrap().text, "first\na€b\n[stderr]\ne");
    let seen = seen.0.lock().unwrap();
    let all = |wanted| -> String {
        seen.iter()
            .filter(|(channel, _)| *channel == wanted)
            .map(|(_, text)| text.as_str())
            .collect()
    };
    assert_eq!(
        (all(Channel::Stdout).as_str(), all(Channel::Stderr).as_str()),
        ("first\na€b", "e\n")
    );
}

#[tokio::test]
async fn endless_output_is_bounded_and_does_not_flood() {
    let bench = Bench::new();
    let result = bench.run(json!({"command": "yes", "timeout": 1})).await;
    let Err(Failure::TimedOut(output)) = result else { panic!("{result:?}") };
    let limit = agent_world_tools::shell::OUTPUT_LIMIT;
    assert!(output.text.len() < limit + 200);
    assert_eq!(output.details["truncated"], true);
    let seen = bench.seen.0.lock().unwrap();
    let bytes: usize = seen.iter().map(|(_, text)| text.len()).sum();
    assert_eq!(bytes, limit);
    assert!(seen.len() <= limit / 8192, "{} pieces", seen.len());
}

#[tokio::test]
async fn a_hundred_programs_run_side_by_side_and_leave_no_zombie() {
    let bench = Bench::new();
    let arguments =
        |code: i32| json!({"command": "sh", "parameters": ["-c", format!("exit {code}")]});
    let tasks: Vec<_> = (1..101).map(|code| (code, bench.start(arguments(code)))).collect();
    for (code, task) in tasks {
        assert_eq!(failed(task.await.unwrap()).details["exit_code"], code);
    }
    let us = Some(std::process::id());
    let zombies = || {
        super::bench::everybody().filter(|id| parent(*id) == us && state(*id) == Some('Z')).count()
    };
    until(|| zombies() == 0).await;
    assert_eq!(bench.records(), 0);
}

#[tokio::test]
async fn orphans_are_reaped_while_the_program_runs() {
    let bench = Bench::new();
    // Ten orphans end at once; their new parent must not let them pile up.
    let script = "echo $PPID > launcher; for i in 1 2 3 4 5 6 7 8 9 10; do (true &); done; until [ -e go ]; do :; done";
    let task = bench.start(json!({"script": script}));
    let launcher = bench.written_id("launcher").await;
    let children =
        || super::bench::everybody().filter(|id| parent(*id) == Some(launcher)).collect::<Vec<_>>();
    until(|| children().len() == 1).await;
    assert!(children().iter().all(|id| runs(*id)));
    super::bench::write(&bench.work().join("go"), "");
    task.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_launcher_that_is_none_is_reported_at_once() {
    let bench = Bench::new();
    for launcher in ["/bin/true", "/bin/false", "/no/such/launcher", "/bin/cat"] {
        let launcher = agent_world_tools::launcher::Launcher::at(launcher);
        let tool = agent_world_tools::shell::ShellCmd::new().launched_by(launcher);
        let bench = Bench { tool, ..Bench::new() };
        let start = Instant::now();
        let text = failed(bench.run(json!({"command": "true"})).await).text;
        assert!(text.contains("launcher"), "{text}");
        assert!(start.elapsed() < Duration::from_secs(30));
    }
    assert_eq!(bench.run(json!({"command": "true"})).await.unwrap().details["signal"], Value::Null);
}
