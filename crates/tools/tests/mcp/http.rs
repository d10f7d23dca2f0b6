//! `server-everything` over streamable HTTP: sessions, questions on the stream of their call, and a server that goes away.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use agent_world_tools::Source;
use agent_world_tools::mcp::State;
use agent_world_tools::person::Answer;
use serde_json::json;
use tokio::process::{Child, Command};

use super::stage::{
    Answering, Recording, Stage, installed, invocation, is_failed, is_ready, options, words,
};

/// The server on a port of its own, and its address.
struct Remote {
    child: Child,
    port: u16,
}

impl Remote {
    async fn start(folder: &std::path::Path, port: u16) -> Self {
        let script = "node_modules/@modelcontextprotocol/server-everything/dist/index.js";
        let child = Command::new("node")
            .arg(folder.join(script))
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { child, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

async fn remote(case: &str) -> Option<(Remote, Stage)> {
    let folder = installed(case)?;
    let remote = Remote::start(&folder, free_port()).await;
    let settings = json!({"url": remote.url(), "headers": {"X-Key": "s3cret-key"}});
    let stage = Stage::with(options(), &[("web", settings)]);
    stage.names();
    // It is tried again until it listens.
    stage.until(is_ready).await;
    Some((remote, stage))
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_listed_called_and_shows_progress() {
    let Some((_remote, stage)) = remote("http").await else { return };
    let State::Ready(ready) = stage.only().state else { panic!() };
    assert_eq!(ready.server_name, "mcp-servers/everything");
    let output = stage.call("web.echo", json!({"message": "hi"})).await.unwrap();
    assert_eq!(output.text, "Echo: hi");
    let watcher = Arc::new(Recording::default());
    let mut call = invocation(json!({"duration": 0.2, "steps": 2}));
    call.watcher = watcher.clone();
    stage.run("web.trigger-long-running-operation", call).await.unwrap();
    // What arrives together with the result may be left out.
    let seen = watcher.seen.lock().unwrap().clone();
    assert!(seen.first().is_some_and(|first| first == "1 of 2"), "{seen:?}");
    let facts = stage.tool("web.echo").prepare(invocation(json!({})).intent()).await.unwrap().facts;
    assert!(facts["server"].contains("http://127.0.0.1:"), "{facts:?}");
    assert!(!format!("{facts:?} {:?}", stage.health()).contains("s3cret"));
    stage.servers.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_of_calls_that_run_at_once_reach_each_its_own_person() {
    let Some((_remote, stage)) = remote("http questions").await else { return };
    let call = |name: &'static str| {
        let stage = &stage;
        async move {
            let person = Answering::new(Answer::Given(json!({"name": name})));
            let mut call = invocation(json!({}));
            call.person = person.clone();
            let output = stage.run("web.trigger-elicitation-request", call).await.unwrap();
            assert!(output.text.contains(name), "{}", output.text);
            assert_eq!(person.asked.lock().unwrap().len(), 1);
        }
    };
    tokio::join!(call("Ada"), call("Bob"), call("Eve"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_goes_away_fails_its_call_clearly_and_is_found_again() {
    let Some((mut remote, stage)) = remote("http gone").await else { return };
    let watcher = Arc::new(Recording::default());
    let mut call = invocation(json!({"duration": 600, "steps": 6000}));
    call.watcher = watcher.clone();
    let killing = async {
        watcher.something.notified().await;
        remote.child.kill().await.unwrap();
    };
    let (result, ()) = tokio::join!(stage.run("web.trigger-long-running-operation", call), killing);
    let text = words(result);
    assert!(text.contains("MCP server `web`"), "{text}");
    let failed = stage.until(is_failed).await;
    let error = failed.last_error.unwrap().error;
    assert!(error.contains("reached") && !error.contains("s3cret"), "{error}");
    let folder = installed("http gone").unwrap();
    let _again = Remote::start(&folder, remote.port).await;
    stage.until(is_ready).await;
    stage.call("web.echo", json!({"message": "back"})).await.unwrap();
    tokio::time::timeout(Duration::from_secs(30), stage.servers.close()).await.unwrap();
}
