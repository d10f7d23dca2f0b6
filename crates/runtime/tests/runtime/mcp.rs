//! Scenes with real MCP servers behind the engine: listed, asked about, approved, stopped, killed and back.
//! Where the servers are not installed a scene says that it was skipped; `cargo xtask test` installs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::chat::CallState;
use agent_world_core::command::{Answer as Decision, Scope};
use agent_world_core::config::McpServer;
use agent_world_core::event::Outcome;
use agent_world_llm::scripted::Answer;
use agent_world_runtime::FeedItem;
use agent_world_tools::Source;
use agent_world_tools::mcp::{Options, Servers};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::props::{offered, shown};
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    every_real_server_is_listed_called_and_approved,
    a_question_of_a_server_goes_through_the_inbox,
    stopping_cancels_a_call_and_the_server_goes_on,
    a_killed_server_fails_its_call_and_comes_back,
    a_request_outlives_the_process_and_its_server,
);

const VARIABLE: &str = "AGENT_WORLD_MCP_SERVERS";

fn installed() -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE).map(PathBuf::from);
    if folder.is_none() {
        println!("skipped 1 case: {VARIABLE} is not set; `cargo xtask test` sets it");
    }
    folder
}

fn of_npm(folder: &Path, name: &str, args: &[&str]) -> Value {
    let script = folder.join(format!("node_modules/@modelcontextprotocol/{name}/dist/index.js"));
    let args: Vec<&str> =
        [script.to_str().unwrap()].into_iter().chain(args.iter().copied()).collect();
    json!({"command": "node", "args": args})
}

fn of_pip(folder: &Path, name: &str, args: &[&str]) -> Value {
    json!({"command": folder.join("venv/bin").join(name), "args": args})
}

/// A stage whose world has these servers.
async fn open(backend: Backend, servers: Vec<(&str, Value)>) -> Stage {
    let source = || {
        let options = Options { first_delay: Duration::from_millis(50), ..Options::default() };
        Arc::new(Servers::new(options)) as Arc<dyn Source>
    };
    let setup = Setup::of(&["ada"]).source_of_each_process(source).world(|world| {
        for (name, server) in servers {
            let server: McpServer = serde_json::from_value(server).unwrap();
            world.mcp_servers.insert(name.to_owned(), server);
        }
    });
    setup.open(backend).await
}

fn everything(folder: &Path) -> Vec<(&'static str, Value)> {
    vec![("every", of_npm(folder, "server-everything", &[]))]
}

async fn every_real_server_is_listed_called_and_approved(backend: Backend) {
    let Some(folder) = installed() else { return };
    let place = TempDir::new().unwrap();
    let path = place.path().canonicalize().unwrap();
    let inside = path.to_str().unwrap();
    std::fs::write(path.join("a.txt"), "inside").unwrap();
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(&path).status();
    assert!(git.unwrap().success());
    let mut memory = of_npm(&folder, "server-memory", &[]);
    memory["env"] = json!({"MEMORY_FILE_PATH": path.join("memory.jsonl")});
    let mut servers = everything(&folder);
    servers.extend([
        ("files", of_npm(&folder, "server-filesystem", &[inside])),
        ("memory", memory),
        ("time", of_pip(&folder, "mcp-server-time", &["--local-timezone", "Etc/UTC"])),
        ("git", of_pip(&folder, "mcp-server-git", &["--repository", inside])),
    ]);
    let stage = open(backend, servers).await;
    let calls = [
        ("every.echo", json!({"message": "hello"}), "hello"),
        ("files.read_text_file", json!({"path": path.join("a.txt")}), "inside"),
        ("memory.read_graph", json!({}), "entities"),
        ("time.get_current_time", json!({"timezone": "Europe/Berlin"}), "Europe/Berlin"),
        ("git.git_status", json!({"repo_path": inside}), "a.txt"),
    ];
    let made = calls.iter().map(|(tool, arguments, _)| (*tool, arguments.clone()));
    stage.model.push("ada", Answer::calls(made));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(calls.len()).await;
    let tools = offered(&stage.model.requests()[0]);
    assert!(calls.iter().all(|(tool, ..)| tools.contains(&(*tool).to_owned())), "{tools:?}");
    for approval in asked {
        assert!(approval.binding.unwrap().facts.contains_key("tool"));
        stage.approve(&approval.id, Scope::Once).await;
    }
    stage.idle().await;
    assert_eq!(stage.states().await, ["completed"; 5]);
    let told = shown(&stage.model.requests()[1]);
    for (tool, _, expected) in &calls {
        assert!(told.iter().any(|one| one.contains(expected)), "{tool}: {told:?}");
    }
    stage.engine.shutdown().await;
}

async fn a_question_of_a_server_goes_through_the_inbox(backend: Backend) {
    let Some(folder) = installed() else { return };
    let stage = open(backend, everything(&folder)).await;
    stage.model.push("ada", Answer::call("every.trigger-elicitation-request", json!({})));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    stage.approve(&asked.id, Scope::Once).await;
    let question = stage
        .until(async || {
            stage.waiting_in(&stage.chat).await.into_iter().find(|one| one.form.is_some())
        })
        .await;
    assert!(question.question.contains("Please provide inputs"), "{question:?}");
    let arguments = Some(json!({"name": "Ada", "check": true}));
    let answer =
        Decision::Approve { scope: Scope::Once, matches: Vec::new(), arguments, reason: None };
    stage.answer(&question.id, answer).await.unwrap();
    stage.idle().await;
    let text = stage.calls().await.remove(0).output.unwrap().text;
    assert!(text.contains("Ada"), "{text}");
    stage.engine.shutdown().await;
}

/// Starts an operation that takes ten minutes and returns once it has shown that it runs.
async fn begin_long(stage: &Stage) {
    let arguments = json!({"duration": 600, "steps": 6000});
    let call = Answer::call("every.trigger-long-running-operation", arguments);
    stage.model.push("ada", call);
    let scope = agent_world_store::Scope::Chat(stage.chat.clone());
    let position = stage.store.position().await.unwrap();
    let mut events = stage.engine.subscribe(scope, position);
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    stage.approve(&asked.id, Scope::Session).await;
    while !matches!(events.next().await.unwrap(), Some(FeedItem::Output(_))) {}
}

/// Calls the server until it answers; one that was killed needs a moment.
async fn echo(stage: &Stage) {
    while !echoes(stage).await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn echoes(stage: &Stage) -> bool {
    stage.model.push("ada", Answer::call("every.echo", json!({"message": "still here"})));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("again").await;
    let asked = stage.pending(1).await.remove(0);
    stage.approve(&asked.id, Scope::Once).await;
    stage.idle().await;
    let call = stage.calls().await.pop().unwrap();
    let text = call.output.unwrap().text;
    let answered = call.state == CallState::Ended(Outcome::Completed);
    assert!(text.contains(if answered { "still here" } else { "MCP server `every`" }), "{text}");
    answered
}

async fn stopping_cancels_a_call_and_the_server_goes_on(backend: Backend) {
    let Some(folder) = installed() else { return };
    let stage = open(backend, everything(&folder)).await;
    begin_long(&stage).await;
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    stage.call_is(0, CallState::Ended(Outcome::Cancelled)).await;
    stage.idle().await;
    echo(&stage).await;
    stage.engine.shutdown().await;
}

async fn a_killed_server_fails_its_call_and_comes_back(backend: Backend) {
    let Some(folder) = installed() else { return };
    let mark = crate::processes::unique_sleep();
    let server = of_npm(&folder, "server-everything", &["stdio", &mark]);
    let stage = open(backend, vec![("every", server)]).await;
    begin_long(&stage).await;
    let killed = std::process::Command::new("pkill").args(["-KILL", "-f", &mark]).status();
    assert!(killed.unwrap().success());
    let ended = stage.call_is(0, CallState::Ended(Outcome::Failed)).await;
    let text = ended.output.unwrap().text;
    assert!(text.contains("may or may not"), "{text}");
    stage.idle().await;
    echo(&stage).await;
    stage.engine.shutdown().await;
    crate::processes::wait_for(&mark, 0).await;
}

async fn a_request_outlives_the_process_and_its_server(backend: Backend) {
    let Some(folder) = installed() else { return };
    let stage = open(backend, everything(&folder)).await;
    stage.model.push("ada", Answer::call("every.echo", json!({"message": "kept"})));
    stage.model.push("ada", Answer::text("Done."));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    let stage = stage.restart().await;
    assert_eq!(stage.pending(1).await[0].id, asked.id);
    stage.approve(&asked.id, Scope::Once).await;
    stage.idle().await;
    assert!(stage.calls().await[0].output.as_ref().unwrap().text.contains("kept"));
    stage.engine.shutdown().await;
}
