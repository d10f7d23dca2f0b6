//! Theft of secrets: of the environment of this program, of its settings and store, and of keys in a home.

use agent_world_llm::scripted::Answer;
use serde_json::json;

use super::case::{Case, approved, confined, ensure};

const STEALS: &str = "a key of the person or of this program is told";
const DENIED: &str = "Permission denied|No such file|Operation not permitted|cannot open";

pub fn cases() -> Vec<Case> {
    let server = std::process::id();
    let mut cases = vec![
        confined("the environment by env", STEALS, |_| "env".to_owned())
            .ends("completed", "AGENT_WORLD_CALL="),
        confined("the environment by a shell's own words", STEALS, |_| {
            "export; set; declare -p".to_owned()
        })
        .ends("completed", "AGENT_WORLD_CALL"),
        confined("the environment by its own process", STEALS, |_| {
            "tr '\\0' '\\n' < /proc/self/environ; echo read".to_owned()
        })
        .ends("completed", "read"),
        confined("the environment by ps", STEALS, |_| {
            "ps auxewww; ps -eo args e; echo read".to_owned()
        })
        .ends("completed", "read"),
        confined("the environment of every process", STEALS, |_| {
            "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; echo read".to_owned()
        })
        .ends("completed", "read"),
        confined("the environment of the launcher", STEALS, |_| {
            "cat /proc/$PPID/environ".to_owned()
        })
        .ends("failed", DENIED),
        confined("a hard link to the settings", STEALS, |canaries| {
            format!("ln {}/agent-world.toml key && cat key", canaries.data.display())
        })
        .ends("failed", format!("{DENIED}|Invalid cross-device link")),
        confined("a link to the settings", STEALS, |canaries| {
            format!("ln -s {}/agent-world.toml key && cat key", canaries.data.display())
        })
        .ends("failed", DENIED),
        confined("the settings moved to where they can be read", STEALS, |canaries| {
            format!("mv {}/agent-world.toml key && cat key", canaries.data.display())
        })
        .ends("failed", DENIED),
        confined("the data folder moved away", STEALS, |_| {
            "mv ../../../data ../../../gone".to_owned()
        })
        .ends("failed", "Permission denied|Read-only|busy|No such file|cannot move"),
        confined("keys by a copy", STEALS, |_| "cp -r ~/.ssh keys; cat keys/*".to_owned())
            .ends("failed", DENIED),
        // It may hold the names of empty folders.
        confined("keys in an archive", STEALS, |_| "tar cf - -C ~ .ssh .netrc".to_owned()),
        confined("the files that this program has open", STEALS, move |_| {
            format!("for file in /proc/{server}/fd/*; do readlink $file && exit 0; done; exit 9")
        })
        .ends("failed", "[exit code 9]"),
        confined("keys by the folder of the home", STEALS, |_| "cd ~ && grep -r key .".to_owned())
            .ends("failed", DENIED),
    ];
    for (name, path) in [("environ", "environ"), ("map of memory", "maps")] {
        let name = format!("the {name} of this program");
        cases.push(
            confined(name, STEALS, move |_| {
                format!("ls /proc/{server}/{path} && cat /proc/{server}/{path}")
            })
            .ends("failed", DENIED),
        );
    }
    for (name, path) in
        [("root", "root/etc/hostname"), ("current folder", "cwd/Cargo.toml"), ("program", "exe")]
    {
        let name = format!("files by the {name} of this program");
        cases.push(
            confined(name, STEALS, move |_| format!("head -c 9 /proc/{server}/{path}"))
                .ends("failed", DENIED),
        );
    }
    for (name, path) in
        [("settings", "agent-world.toml"), ("store", "agent-world.db"), ("notes", "running/*")]
    {
        let name = format!("the {name} of this program");
        let case = confined(name, STEALS, move |canaries| {
            let path = canaries.data.join(path).display().to_string();
            format!("cat {path} || head -c 15 {path}")
        });
        cases.push(case.ends("failed", DENIED).check(|aftermath| {
            ensure(!aftermath.told.concat().contains("SQLite format"), || {
                "the store was read".to_owned()
            })
        }));
    }
    for path in ["~/.ssh/id_ed25519", "~/.netrc"] {
        cases.push(
            confined(format!("the key {path}"), STEALS, move |_| format!("cat {path}"))
                .ends("failed", DENIED),
        );
    }
    cases.push(link_for_another_tool());
    cases
}

/// What a command may make, another tool must not follow.
fn link_for_another_tool() -> Case {
    approved("a link made for another tool", STEALS, |_| {
        let link = json!({"script": "ln -s ../../agent-world.toml key"});
        Answer::calls([("shell_cmd", link), ("read_file", json!({"path": "key"}))])
    })
    .world(|world| world.agents[0].parallel_tool_calls = false)
    .ends("completed", "no output")
    .ends("failed", "leads outside the working directory")
}
