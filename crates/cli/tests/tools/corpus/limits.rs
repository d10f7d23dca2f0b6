//! Attempts to take too much: processes, memory, disk, output, time, and room in a reply.

use std::fs::File;

use agent_world_core::event::Choice;
use agent_world_llm::scripted::Answer;
use serde_json::json;

use super::canaries::Canaries;
use super::case::{
    Case, approved, call, confined, confined_call, ensure, raw_call, replying, unanswered,
};

const EXHAUSTS: &str = "the machine or this program has nothing left";

pub fn cases() -> Vec<Case> {
    let mut cases = bombs();
    cases.extend(outputs());
    cases.extend(arguments());
    cases.extend(patterns());
    cases.extend(large_files());
    cases
}

fn bombs() -> Vec<Case> {
    vec![
        // Should it not be ended, it ends by itself at a thousand, after half a minute.
        confined("a fork bomb", EXHAUSTS, |canaries| {
            let bomb = "bomb() { [ $1 = 0 ] || { bomb $(($1-1)) | bomb $(($1-1)) & }; sleep 30; }";
            format!("{bomb}; bomb 9; sleep {}", canaries.nap)
        })
        .world(|world| world.sandbox.processes = 60)
        .ends("failed", "[killed: more than 60 processes at the same time]"),
        // And this one at some hundred.
        confined("a fork bomb in sessions of its own", EXHAUSTS, |_| {
            "echo '[ $1 = 0 ] || { n=$(($1-1)); setsid sh bomb $n & setsid sh bomb $n & }; sleep 30' > bomb; sh bomb 8"
                .to_owned()
        })
        .world(|world| world.sandbox.processes = 40)
        .ends("failed", "[killed: more than 40 processes at the same time]"),
        confined("all memory by many", EXHAUSTS, |_| {
            "for i in 1 2 3 4 5 6; do bash -c 'x=$(head -c 40000000 /dev/zero | tr \"\\0\" x); sleep 60; true' & done; wait"
                .to_owned()
        })
        .world(|world| world.sandbox.memory_bytes = 150 << 20)
        .ends("failed", "[killed: more than 157286400 bytes of memory]"),
        confined("all memory by one", EXHAUSTS, |_| {
            "x=$(head -c 300000000 /dev/zero | tr '\\0' x); [ ${#x} = 300000000 ]".to_owned()
        })
        .world(|world| world.sandbox.memory_bytes = 50 << 20)
        .ends("failed", "memory|allocate|exit code"),
        confined("a file without end", EXHAUSTS, |_| {
            "exec dd if=/dev/zero of=big bs=1000 count=1000".to_owned()
        })
        .world(|world| world.sandbox.file_bytes = 100_000)
        .ends("failed", "[killed: a file of more than 100000 bytes]")
        .check(|aftermath| {
            let length = aftermath.canaries.work.join("big").metadata().map_or(0, |file| file.len());
            ensure(length <= 100_000, || format!("it has {length} bytes"))
        }),
        confined("processes that outlive their command", EXHAUSTS, |canaries| {
            let nap = &canaries.nap;
            format!("setsid sleep {nap} & (setsid sh -c 'nohup sleep {nap} &' &); trap '' TERM; sleep {nap} & echo left")
        })
        .ends("completed", "left"),
        confined_call("a command that does not want to end", EXHAUSTS, |canaries| {
            let script = format!("trap '' TERM INT HUP; kill -STOP $$; sleep {}", canaries.nap);
            json!({"script": script, "timeout": 0.3})
        })
        .ends("timeout", "timed out after 0.3s and was killed"),
    ]
}

fn outputs() -> Vec<Case> {
    let short = |aftermath: &super::case::Aftermath<'_>| {
        let longest = aftermath.told.iter().map(String::len).max().unwrap_or_default();
        ensure(longest < 25_000, || format!("the model was given {longest} bytes at once"))
    };
    vec![
        confined_call("output without end", EXHAUSTS, |_| json!({"command": "yes", "timeout": 1}))
            .ends("timeout", "timed out after 1s")
            .check(short),
        confined("a line without end", EXHAUSTS, |_| {
            "tr '\\0' x < /dev/zero | head -c 9000000".to_owned()
        })
        .ends("completed", "stdout cut: 4194304 of 9000000 bytes kept")
        .check(short),
        approved("a page without end", EXHAUSTS, |canaries| {
            Answer::call("fetch_url", json!({"url": canaries.web.url("large")}))
        })
        .world(|world| world.sandbox.private_addresses = true)
        .ends("completed", "x")
        .check(short),
    ]
}

fn arguments() -> Vec<Case> {
    let huge = "# x\n".repeat(40_000);
    let nested = format!("{{\"command\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let half = format!("{{\"command\": {}", "[".repeat(100_000));
    let bounded = |aftermath: &super::case::Aftermath<'_>| {
        let request = &aftermath.requests[0];
        ensure(!request.options.contains(&Choice::ApproveAlways), || {
            "`always` is offered for what is not shown".to_owned()
        })?;
        let shown = request.shown.chars().count();
        ensure(shown < 21_000 && request.shown.contains("more characters not shown"), || {
            format!("{shown} characters are shown")
        })
    };
    vec![
        approved("a huge script", EXHAUSTS, call("shell_cmd", json!({"script": huge})))
            .ends("failed", "Argument list too long|too long")
            .check(bounded),
        unanswered(
            "a script whose harm is far behind",
            "the person does not see what runs",
            move |_| {
                let script = format!("{}touch owned", "# harmless\n".repeat(3_000));
                Answer::call("shell_cmd", json!({"script": script}))
            },
        )
        .ends("awaiting_approval", "")
        .check(bounded),
        approved("a huge file to write", EXHAUSTS, |_| {
            Answer::call("write_file", json!({"path": "new", "content": "x".repeat(11 << 20)}))
        })
        .check(|aftermath| {
            let state = aftermath.calls[0].state.name();
            ensure(state == "failed", || format!("it ended as {state}"))
        }),
        unanswered("arguments nested without end", EXHAUSTS, move |_| {
            replying(vec![raw_call("1", "shell_cmd", nested.clone())])
        })
        .ends("failed", "not JSON|nested|deep"),
        unanswered("arguments that never close", EXHAUSTS, move |_| {
            replying(vec![raw_call("1", "shell_cmd", half.clone())])
        })
        .ends("failed", "not JSON"),
        unanswered("two hundred calls in one reply", EXHAUSTS, |_| {
            let touch = || json!({"command": "touch", "parameters": ["owned"]});
            Answer::calls((0..200).map(|_| ("shell_cmd", touch())))
        })
        .check(|aftermath| {
            let asked = aftermath.requests.len();
            ensure(asked == 128, || format!("{asked} of them are asked about"))?;
            let text = aftermath.calls[199].output.clone().unwrap_or_default().text;
            ensure(text.contains("128"), || format!("the last is told {text}"))
        }),
    ]
}

fn patterns() -> Vec<Case> {
    let text = |canaries: &Canaries| {
        std::fs::write(canaries.work.join("text"), "a".repeat(30_000)).unwrap();
    };
    vec![
        approved(
            "a pattern that explodes",
            EXHAUSTS,
            call("search_files", json!({"pattern": "(x+x+)+y|(a|a?)+$|(.*)*b"})),
        )
        .with(text)
        .ends("completed", ""),
        approved(
            "a pattern that grows",
            EXHAUSTS,
            call("search_files", json!({"pattern": "((a{1000}){1000}){1000}"})),
        )
        .ends("failed", "pattern|size|large"),
        approved(
            "a glob that grows",
            EXHAUSTS,
            call("list_files", json!({"pattern": "{a,b}".repeat(2_000)})),
        )
        .with(text)
        .check(|aftermath| {
            let state = aftermath.calls[0].state.name();
            ensure(["failed", "completed"].contains(&state), || format!("it is {state}"))
        }),
    ]
}

/// They take no room on the disk, and would take all memory.
fn large_files() -> Vec<Case> {
    let sparse = |canaries: &Canaries| {
        File::create(canaries.work.join("sparse")).unwrap().set_len(1 << 40).unwrap();
    };
    vec![
        approved(
            "read_file of a file without end",
            EXHAUSTS,
            call("read_file", json!({"path": "sparse"})),
        )
        .with(sparse)
        .check(|aftermath| ensure(aftermath.told[0].len() < 25_000, || "too much".to_owned())),
        approved(
            "search_files over a file without end",
            EXHAUSTS,
            call("search_files", json!({"pattern": "x"})),
        )
        .with(sparse)
        .check(|aftermath| ensure(aftermath.told[0].len() < 25_000, || "too much".to_owned())),
        approved(
            "edit_file of a file without end",
            EXHAUSTS,
            call("edit_file", json!({"path": "sparse", "old": "x", "new": "y"})),
        )
        .with(sparse)
        .check(|aftermath| {
            let state = aftermath.calls[0].state.name();
            ensure(state == "failed", || format!("it ended as {state}"))
        }),
    ]
}
