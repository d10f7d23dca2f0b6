//! Checks `shell_cmd` without a launcher, with real programs: how they end, what they are given, and that nothing of their
//! group is left. What a launcher adds is checked from outside.
//! Waits for conditions, never for a time in which something should have happened.

use std::fs;
use std::sync::Arc;

use agent_world_core::arguments::validate;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::*;
use crate::Registry;

/// A program in its third generation writes its id here.
const GRANDCHILD: &str = "sh -c 'echo $$ > id.new; mv id.new id; exec sleep 1000' & wait";

struct Bench {
    tool: ShellCmd,
    folder: TempDir,
    cancelled: CancellationToken,
}

impl Bench {
    fn new() -> Self {
        let tool = ShellCmd::new();
        Self { tool, folder: TempDir::new().unwrap(), cancelled: CancellationToken::new() }
    }

    fn invocation(&self, arguments: Value) -> Invocation {
        let arguments = validate(arguments, &self.tool.spec().parameters).unwrap();
        let call = ("call_1".into(), "world".into(), "chat_1".into(), "ada".into());
        Invocation {
            working_directory: Some(self.folder.path().to_owned()),
            cancelled: self.cancelled.clone(),
            ..Invocation::new(call.0, call.1, call.2, call.3, arguments)
        }
    }

    async fn run(&self, arguments: Value) -> Result<Output, Failure> {
        self.tool.run(self.invocation(arguments)).await
    }

    async fn shell(&self, script: &str) -> Result<Output, Failure> {
        self.run(json!({"command": "sh", "parameters": ["-c", script]})).await
    }

    fn start(&self, arguments: Value) -> JoinHandle<Result<Output, Failure>> {
        let (tool, invocation) = (self.tool.clone(), self.invocation(arguments));
        tokio::spawn(async move { tool.run(invocation).await })
    }

    /// The id a grandchild has written.
    async fn grandchild(&self) -> u32 {
        let path = self.folder.path().join("id");
        until(|| path.exists()).await;
        fs::read_to_string(path).unwrap().trim().parse().unwrap()
    }
}

fn failed(result: Result<Output, Failure>) -> Output {
    match result.unwrap_err() {
        Failure::Failed(output) => output,
        Failure::TimedOut(output) => panic!("timed out: {output:?}"),
    }
}

fn timed_out(result: Result<Output, Failure>) -> Output {
    match result.unwrap_err() {
        Failure::TimedOut(output) => output,
        Failure::Failed(output) => panic!("failed: {output:?}"),
    }
}

async fn until(condition: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(30), "it did not come to pass");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether a process still runs; one that only waits to be reaped does not.
fn runs(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().and_then(|rest| rest.chars().next());
    !matches!(state, None | Some('Z' | 'X'))
}

#[test]
fn it_says_that_it_needs_approval_and_how_long_it_may_run() {
    let mut registry = Registry::default();
    registry.add(Arc::new(ShellCmd::new())).unwrap();
    let specs = registry.specs();
    let spec = specs.get("shell_cmd").unwrap();
    assert!(spec.approval.required && spec.destructive && !spec.may_repeat());
    assert_eq!(spec.timeout_seconds, 600);
    let message = spec.approval.message.as_deref();
    assert_eq!(message, Some("Execute shell command: {command} {parameters}{script}"));
}

#[tokio::test]
async fn a_program_gets_its_parameters_as_they_are() {
    let parameters = ["%s|", "two words", "$HOME", "*", "'", ""];
    let output = Bench::new().run(json!({"command": "printf", "parameters": parameters})).await;
    let output = output.unwrap();
    assert_eq!(output.text, "two words|$HOME|*|'||");
    let facts = |name: &str| output.details[name].clone();
    assert_eq!(facts("exit_code"), 0);
    assert_eq!(facts("signal"), Value::Null);
    assert_eq!((facts("stdout_bytes"), facts("stderr_bytes")), (json!(21), json!(0)));
    assert_eq!(facts("truncated"), false);
    assert!(facts("duration_ms").is_u64());
}

#[tokio::test]
async fn a_silent_program_says_so() {
    let output = Bench::new().run(json!({"command": "true"})).await.unwrap();
    assert_eq!(output.text, "(no output)");
}

#[tokio::test]
async fn an_exit_code_other_than_zero_is_a_failure_with_the_output() {
    let output = failed(Bench::new().shell("echo out; printf err >&2; exit 3").await);
    assert_eq!(output.text, "out\n[stderr]\nerr\n[exit code 3]");
    assert_eq!(output.details["exit_code"], 3);
    assert_eq!(output.details["stderr_bytes"], 3);
}

#[tokio::test]
async fn a_signal_is_a_failure_with_its_number() {
    let output = failed(Bench::new().shell("kill -TERM $$").await);
    assert_eq!(output.text, "[killed by signal 15]");
    assert_eq!(
        (&output.details["exit_code"], &output.details["signal"]),
        (&Value::Null, &json!(15))
    );
}

#[tokio::test]
async fn a_program_that_is_not_found_is_explained() {
    let bench = Bench::new();
    for command in ["no-such-program", "ls -l", "./missing"] {
        let text = failed(bench.run(json!({"command": command})).await).text;
        assert!(text.starts_with(&format!("cannot run `{command}`: no such program")), "{text}");
        assert!(text.contains("`parameters`"), "{text}");
    }
    fs::write(bench.folder.path().join("plain"), "text").unwrap();
    let text = failed(bench.run(json!({"command": "./plain"})).await).text;
    assert!(text.contains("may not be executed"), "{text}");
    let text = failed(bench.run(json!({"command": "echo", "parameters": ["a\u{0}b"]})).await).text;
    assert!(text.starts_with("cannot run `echo`: "), "{text}");
    let text = failed(bench.run(json!({"command": "  "})).await).text;
    assert_eq!(text, "`command` is empty; name the program to run");
}

#[tokio::test]
async fn a_script_is_run_by_a_shell_and_goes_with_nothing_else() {
    let bench = Bench::new();
    let output = bench.run(json!({"script": "printf 'b\\na\\n' | sort; echo $0"})).await.unwrap();
    assert_eq!(output.text, "a\nb\nbash");
    for (arguments, problem) in [
        (json!({}), "nothing to run"),
        (json!({"command": "ls", "script": "ls"}), "cannot be given together"),
        (json!({"script": "ls", "parameters": ["-l"]}), "`parameters` go with `command`"),
        (json!({"script": " "}), "`script` is empty"),
        (json!({"script": "echo \u{0}"}), "cannot run the script: there is a NUL character"),
    ] {
        let text = failed(bench.run(arguments).await).text;
        assert!(text.contains(problem), "{text}");
    }
}

#[test]
fn a_call_says_itself_whether_it_is_waited_for() {
    use agent_world_core::config::Mode;
    let spec = ShellCmd::new().spec();
    assert_eq!(spec.mode_of(&json!({"command": "ls"})), Mode::Blocking);
    assert_eq!(spec.mode_of(&json!({"command": "ls", "blocking": false})), Mode::Background);
}

#[tokio::test]
async fn what_was_found_when_a_call_was_prepared_is_what_runs() {
    let bench = Bench::new();
    let script = bench.folder.path().canonicalize().unwrap().join("tool");
    fs::write(&script, "#!/bin/sh\necho one\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut invocation = bench.invocation(json!({"command": "./tool"}));
    let prepared = bench.tool.prepare(invocation.intent()).await.unwrap();
    let facts = prepared.facts.clone();
    let directory = script.parent().unwrap();
    assert_eq!(facts["directory"], directory.to_str().unwrap());
    assert_eq!(facts["program"], format!("{}/./tool", directory.display()));
    assert!(facts["script"].contains("/tool sha256:"), "{facts:?}");
    assert!(facts["sandbox"].contains("no launcher"), "{facts:?}");

    // Another program of that name does not take its place.
    fs::rename(&script, directory.join("moved")).unwrap();
    invocation.facts = facts.clone();
    let text = failed(bench.tool.run(invocation.clone()).await).text;
    assert!(text.starts_with("cannot run `./tool`: its script changed"), "{text}");
    let now = bench.tool.prepare(invocation.intent()).await.unwrap().facts;
    assert_eq!(now["program"], "not found");
    fs::write(&script, "#!/bin/sh\necho two\n").unwrap();
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let now = bench.tool.prepare(invocation.intent()).await.unwrap().facts;
    assert_ne!(now["script"], facts["script"]);
    let text = failed(bench.tool.run(invocation).await).text;
    assert!(text.starts_with("cannot run `./tool`: its script changed"), "{text}");
}

#[tokio::test]
async fn a_directory_that_leads_out_is_refused_when_prepared_and_a_missing_one_is_not() {
    let bench = Bench::new();
    std::os::unix::fs::symlink("/", bench.folder.path().join("link")).unwrap();
    let prepare = async |directory: &str| {
        let invocation = bench.invocation(json!({"command": "ls", "directory": directory}));
        bench.tool.prepare(invocation.intent()).await
    };
    for directory in ["..", "/etc", "link", "link/none", "none/../..", "/none"] {
        assert!(prepare(directory).await.is_err(), "{directory}");
    }
    assert_eq!(prepare("new/folder").await.unwrap().facts["directory"], "not found");
}

#[tokio::test]
async fn it_starts_in_the_working_directory_or_inside_it() {
    let bench = Bench::new();
    let root = bench.folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    let pwd = |directory: Value| bench.run(json!({"command": "pwd", "directory": directory}));
    let here = root.to_str().unwrap();
    assert_eq!(pwd(Value::Null).await.unwrap().text, here);
    assert_eq!(pwd(json!("a/b")).await.unwrap().text, format!("{here}/a/b"));
    assert_eq!(pwd(json!("a/../a")).await.unwrap().text, format!("{here}/a"));
    assert_eq!(pwd(json!(format!("{here}/a"))).await.unwrap().text, format!("{here}/a"));
}

#[tokio::test]
async fn a_directory_outside_the_working_directory_is_refused() {
    let bench = Bench::new();
    let root = bench.folder.path();
    let beside = TempDir::new().unwrap();
    fs::write(root.join("file"), "").unwrap();
    std::os::unix::fs::symlink(beside.path(), root.join("link")).unwrap();
    let absolute = beside.path().to_str().unwrap();
    for directory in ["..", "../..", "link", "link/..", "/", absolute] {
        let text = failed(bench.run(json!({"command": "pwd", "directory": directory})).await).text;
        assert!(text.contains("is outside the working directory"), "{directory}: {text}");
    }
    for directory in ["missing", "file"] {
        let text = failed(bench.run(json!({"command": "pwd", "directory": directory})).await).text;
        assert!(text.starts_with("cannot run `pwd`: "), "{directory}: {text}");
    }
}

#[tokio::test]
async fn a_neighbour_whose_name_begins_alike_is_outside() {
    let parent = TempDir::new().unwrap();
    for name in ["world", "world-two"] {
        fs::create_dir(parent.path().join(name)).unwrap();
    }
    let bench = Bench::new();
    let arguments = json!({"command": "pwd", "directory": "../world-two"});
    let invocation = Invocation {
        working_directory: Some(parent.path().join("world")),
        ..bench.invocation(arguments)
    };
    let text = failed(bench.tool.run(invocation).await).text;
    assert!(text.contains("is outside the working directory"), "{text}");
}

#[tokio::test]
async fn no_variable_is_handed_on_that_is_not_on_the_list() {
    let secrets = ["OPENAI_API_KEY", "DATABASE_URL", "path", "LCX", "LD_PRELOAD"];
    let harmless = [("PATH", std::env::var("PATH").unwrap()), ("LC_ALL", "C".to_owned())];
    let given = secrets.map(|name| (name, "secret".to_owned())).into_iter().chain(harmless);
    let tool = ShellCmd::with_environment(given.map(|(name, value)| (name.into(), value.into())));
    let bench = Bench { tool, ..Bench::new() };
    let output = bench.run(json!({"command": "env"})).await.unwrap();
    let mut names: Vec<&str> =
        output.text.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["AGENT_WORLD_CALL", "LC_ALL", "PATH"]);
    assert!(!format!("{:?}", bench.tool).contains("secret"));

    // Cargo sets variables of its own for tests; none of them comes through.
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    let output = Bench::new().run(json!({"command": "env"})).await.unwrap();
    for line in output.text.lines().filter(|line| line.contains('=')) {
        let (name, _) = line.split_once('=').unwrap();
        assert!(name == "AGENT_WORLD_CALL" || environment::is_allowed(name.as_ref()), "{name}");
    }
}

#[tokio::test]
async fn there_is_no_input_to_wait_for() {
    let output = Bench::new().run(json!({"command": "cat"})).await.unwrap();
    assert_eq!(output.text, "(no output)");
}

#[tokio::test]
async fn bytes_that_are_not_text_are_shown_as_such() {
    let arguments = json!({"command": "printf", "parameters": [r"a\377b\000c"]});
    let output = Bench::new().run(arguments).await.unwrap();
    assert_eq!(output.text, "a\u{fffd}b\0c");
    assert_eq!(output.details["stdout_bytes"], 5);
}

#[tokio::test]
async fn output_beyond_the_limit_is_counted_but_not_kept() {
    let script = "yes | head -c 6000000; yes | head -c 5000000 >&2";
    let output = Bench::new().shell(script).await.unwrap();
    assert!(output.text.contains("[stdout cut: 4194304 of 6000000 bytes kept]\n[stderr]\ny\n"));
    assert!(output.text.ends_with("[stderr cut: 4194304 of 5000000 bytes kept]"));
    assert!(output.text.len() < 2 * OUTPUT_LIMIT + 200);
    assert_eq!(output.details["stdout_bytes"], 6_000_000);
    assert_eq!(output.details["stderr_bytes"], 5_000_000);
    assert_eq!(output.details["truncated"], true);
}

#[tokio::test]
async fn endless_output_is_bounded_and_killed_by_the_timeout() {
    let output = timed_out(Bench::new().run(json!({"command": "yes", "timeout": 0.2})).await);
    assert!(output.text.ends_with("\n[timed out after 0.2s and was killed]"));
    assert!(output.text.len() < OUTPUT_LIMIT + 200);
    assert_eq!(output.details["signal"], 9);
}

#[test]
fn a_timeout_is_never_longer_than_any_call_may_run() {
    let limit = |timeout: Value| {
        let arguments = json!({"command": "true", "timeout": timeout});
        Arguments::read(arguments).unwrap().time_limit()
    };
    assert_eq!(limit(Value::Null), None);
    assert_eq!(limit(json!(2)), Some(Duration::from_secs(2)));
    for long in [json!(601), json!(1e300)] {
        assert_eq!(limit(long), Some(Duration::from_secs(600)));
    }
    assert_eq!(limit(json!(-1)), Some(Duration::ZERO));
}

fn family(timeout: Value) -> Value {
    json!({"command": "sh", "parameters": ["-c", GRANDCHILD], "timeout": timeout})
}

#[tokio::test]
async fn a_timeout_kills_the_whole_family() {
    let bench = Bench::new();
    let task = bench.start(family(json!(300)));
    let grandchild = bench.grandchild().await;
    assert!(runs(grandchild));
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(300)).await;
    tokio::time::resume();
    let output = timed_out(task.await.unwrap());
    assert_eq!(output.text, "[timed out after 300s and was killed]");
    until(|| !runs(grandchild)).await;
}

#[tokio::test]
async fn a_cancellation_kills_the_whole_family() {
    let bench = Bench::new();
    let task = bench.start(family(Value::Null));
    let grandchild = bench.grandchild().await;
    bench.cancelled.cancel();
    let output = failed(task.await.unwrap());
    assert_eq!(output.text, "[cancelled and killed before it ended]");
    until(|| !runs(grandchild)).await;
}

#[tokio::test]
async fn nothing_is_started_for_a_call_that_is_cancelled_already() {
    let bench = Bench::new();
    bench.cancelled.cancel();
    let output = failed(bench.run(json!({"command": "touch", "parameters": ["made"]})).await);
    assert_eq!(output.text, "cannot run `touch`: it was cancelled before it started");
    assert!(!bench.folder.path().join("made").exists());
}

#[tokio::test]
async fn dropping_the_call_kills_the_whole_family() {
    let bench = Bench::new();
    let task = bench.start(family(Value::Null));
    let grandchild = bench.grandchild().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    until(|| !runs(grandchild)).await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_killed_and_what_it_wrote_is_kept() {
    let bench = Bench::new();
    let output = bench.shell("sleep 1000 & echo $! > id; echo bye").await.unwrap();
    assert_eq!(output.text, "bye");
    let left = bench.grandchild().await;
    until(|| !runs(left)).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_does_not_hold_up_the_result() {
    let bench = Bench::new();
    let output =
        bench.shell("setsid sh -c 'echo $$ > id; exec sleep 1000' & until [ -s id ]; do :; done");
    let output = output.await.unwrap();
    assert!(output.text.contains("[stdout is still held open by another process"));
    let left = bench.grandchild().await;
    let left = rustix::process::Pid::from_raw(left.try_into().unwrap()).unwrap();
    rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn many_programs_run_side_by_side_and_each_gets_its_own_result() {
    let bench = Bench::new();
    let arguments =
        |code: i32| json!({"command": "sh", "parameters": ["-c", format!("exit {code}")]});
    let tasks: Vec<_> = (1..30).map(|code| (code, bench.start(arguments(code)))).collect();
    for (code, task) in tasks {
        assert_eq!(failed(task.await.unwrap()).details["exit_code"], code);
    }
}

#[tokio::test]
async fn a_look_waits_for_nobody() {
    let bench = Bench::new();
    let fifo = bench.folder.path().join("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let invocation = bench.invocation(json!({"command": "env", "parameters": ["./fifo"]}));
    // Opened for reading the usual way, it would wait for a writer that never comes.
    let facts = bench.tool.prepare(invocation.intent()).await.unwrap().facts;
    assert!(facts.contains_key("program"), "{facts:?}");
}

#[tokio::test]
async fn the_content_of_what_a_script_runs_is_a_fact() {
    let bench = Bench::new();
    let file = bench.folder.path().join("deploy.sh");
    let write = |word: &str| {
        fs::write(&file, format!("#!/bin/sh\necho {word}\n")).unwrap();
        fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    for arguments in [
        json!({"script": "./deploy.sh"}),
        json!({"script": "bash deploy.sh"}),
        json!({"script": ". ./deploy.sh"}),
        json!({"command": "bash", "parameters": ["-c", "bash deploy.sh"]}),
        json!({"command": "bash", "parameters": ["-c", "./deploy.sh"]}),
        json!({"command": "./deploy.sh"}),
    ] {
        write("good");
        let mut invocation = bench.invocation(arguments.clone());
        invocation.facts = bench.tool.prepare(invocation.intent()).await.unwrap().facts;
        write("evil");
        let now = bench.tool.prepare(invocation.intent()).await.unwrap().facts;
        assert_ne!(now, invocation.facts, "{arguments}");
        let text = failed(bench.tool.run(invocation).await).text;
        assert!(text.contains("changed while it was about to start"), "{arguments}: {text}");
    }
}
