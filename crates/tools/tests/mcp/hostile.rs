//! Servers that hang, lie, talk too much or change their minds. They are small shell scripts, so that these cases need nothing
//! installed; each answers the client's numbered requests in the order in which they come.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_world_tools::Source;
use agent_world_tools::mcp::{Options, Protocol, State};
use agent_world_tools::person::Answer;
use serde_json::{Value, json};

use super::stage::{
    Answering, Stage, invocation, is_failed, is_ready, marker, options, until_gone, words,
};

const READY: &str = r#"read greeting
printf '%s\n' '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"fake","version":"1"}}}'
read initialized
"#;

/// A line that answers a request.
fn answer(id: u32, result: Value) -> String {
    let line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
    format!("printf '%s\\n' '{line}'\n")
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn list(id: u32, tools: &[Value]) -> String {
    format!("read list\n{}", answer(id, json!({"tools": tools})))
}

fn script(text: &str) -> Value {
    json!({"command": "/bin/sh", "args": ["-c", text]})
}

fn older() -> Options {
    Options { protocol: Protocol::Older, ..options() }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_hangs_at_its_start_is_given_up_and_tried_again() {
    let marker = marker("hangs");
    let options = Options { start_limit: Duration::from_millis(300), ..older() };
    let stage = Stage::with(options, &[("slow", script(&format!("sleep 600; echo {marker}")))]);
    let start = Instant::now();
    stage.servers.ready(&stage.world).await;
    assert!(start.elapsed() < Duration::from_secs(20));
    let first = stage.until(is_failed).await;
    assert!(first.last_error.unwrap().error.contains("not ready within 0.3 s"));
    let tried = Instant::now();
    stage.until(|health| matches!(health.state, State::Starting)).await;
    assert!(tried.elapsed() < Duration::from_secs(20));
    stage.servers.close().await;
    until_gone(&marker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_dies_at_once_is_quoted_without_its_secrets() {
    let mut settings = script("echo \"cannot log in with $KEY\" >&2; exit 7");
    settings["env"] = json!({"KEY": "s3cret-value"});
    let stage = Stage::with(older(), &[("dies", settings)]);
    stage.servers.ready(&stage.world).await;
    let error = stage.until(|health| health.last_error.is_some()).await.last_error.unwrap().error;
    assert!(
        error.contains("cannot log in with ***") && error.contains("exit status: 7"),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn delays_grow_from_one_death_to_the_next() {
    let stage = Stage::with(older(), &[("dies", script("exit 1"))]);
    stage.servers.tools(&stage.world);
    let mut delays = Vec::new();
    let mut last = None;
    while delays.len() < 5 {
        let health = stage.until(is_failed).await;
        let State::Failed { next_attempt: Some(next), .. } = health.state else { continue };
        if last != Some(next) {
            last = Some(next);
            delays.push(next.duration_since(health.since).as_millis());
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // With some chance in it, each is at least double the one before the last.
    assert!(delays[4] >= delays[0] * 4, "{delays:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_end_is_not_kept_and_ends_the_server() {
    let endless = format!("{READY}{}read call\nyes | tr -d '\\n'", list(1, &[tool("t", "d")]));
    let stage = Stage::with(older(), &[("loud", script(&endless))]).ready().await;
    let before = resident();
    let text = words(stage.call("loud.t", json!({})).await);
    assert!(text.contains("MCP server `loud`"), "{text}");
    let grown = resident().saturating_sub(before);
    assert!(grown < 100_000, "{grown} kB more");
}

/// Kilobytes of this process.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_comes_in_pages_and_its_change_is_noticed() {
    let changed =
        r#"printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'"#;
    let text = format!(
        "{READY}read list\n{}read list\n{}read call\n{}{changed}\n{}read end\n",
        answer(1, json!({"tools": [tool("a", "first")], "nextCursor": "2"})),
        answer(2, json!({"tools": [tool("b", "second")]})),
        answer(3, json!({"content": [{"type": "text", "text": "called"}]})),
        list(4, &[tool("a", "and now something else"), tool("c", "third")]),
    );
    let stage = Stage::with(older(), &[("s", script(&text))]).ready().await;
    assert_eq!(stage.names(), ["s.a", "s.b"]);
    let before = stage.servers.tools(&stage.world);
    let approved = stage.tool("s.a");
    let mut call = invocation(json!({}));
    call.facts = approved.prepare(call.intent()).await.unwrap().facts;
    assert_eq!(approved.run(call.clone()).await.unwrap().text, "called");
    let start = Instant::now();
    while stage.names() != ["s.a", "s.c"] {
        assert!(start.elapsed() < super::stage::PATIENCE, "{:?}", stage.names());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!Arc::ptr_eq(&before, &stage.servers.tools(&stage.world)));
    // What was approved is no longer what is there, whichever object is asked.
    let now = approved.prepare(call.intent()).await.unwrap().facts;
    assert_ne!(now, call.facts);
    assert!(words(approved.run(call).await).contains("its tool changed"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_cannot_be_used_is_left_out_with_a_note() {
    let bad = json!({"name": "bad", "inputSchema": {"type": "nonsense"}});
    let text = format!("{READY}{}read end\n", list(1, &[bad, tool("good", "d")]));
    let stage = Stage::with(older(), &[("s", script(&text))]).ready().await;
    assert_eq!(stage.names(), ["s.good"]);
    assert!(stage.only().notes[0].contains("\"bad\" is left out"), "{:?}", stage.only());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_among_several_calls_is_refused_and_then_they_run_one_at_a_time() {
    let ask = |id: u32| {
        let params =
            json!({"message": "who?", "requestedSchema": {"type": "object", "properties": {}}});
        let line =
            json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params});
        format!("printf '%s\\n' '{line}'\nread answer\n")
    };
    let done = |id: u32| answer(id, json!({"content": [{"type": "text", "text": "done"}]}));
    // Two calls at once and a question: nobody can say whose. Then two more, each with a question of its own.
    let text = format!(
        "{READY}{}read call\nread call\n{}{}{}read call\n{}{}read call\n{}{}read end\n",
        list(1, &[tool("t", "d")]),
        ask(100),
        done(2),
        done(3),
        ask(101),
        done(4),
        ask(102),
        done(5),
    );
    let stage = Stage::with(older(), &[("s", script(&text))]).ready().await;
    let person = Answering::new(Answer::Given(json!({})));
    let call = || {
        let mut call = invocation(json!({}));
        call.person = person.clone();
        stage.run("s.t", call)
    };
    let (one, other) = tokio::join!(call(), call());
    assert_eq!((one.unwrap().text, other.unwrap().text), ("done".to_owned(), "done".to_owned()));
    assert!(person.asked.lock().unwrap().is_empty());
    let (one, other) = tokio::join!(call(), call());
    assert_eq!((one.unwrap().text, other.unwrap().text), ("done".to_owned(), "done".to_owned()));
    assert_eq!(person.asked.lock().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_no_longer_answers_is_noticed_and_started_again() {
    let text = format!("{READY}{}while read line; do :; done", list(1, &[]));
    let short = Duration::from_millis(50);
    let options = Options { ping_every: short, ping_limit: short, ..older() };
    let stage = Stage::with(options, &[("mute", script(&text))]).ready().await;
    let health = stage.until(|health| health.last_error.is_some()).await;
    assert!(health.last_error.unwrap().error.contains("did not answer within"));
    stage.until(is_ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_switched_off_is_not_started() {
    let mut settings = script("exit 1");
    settings["disabled"] = json!(true);
    let stage = Stage::new(&[("off", settings)]);
    stage.servers.ready(&stage.world).await;
    assert_eq!(stage.only().state, State::Stopped);
    assert!(stage.names().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_newer_era_questions_come_with_the_answer() {
    let discovered = json!({
        "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "serverInfo": {"name": "new", "version": "3"}
    });
    let question = json!({"method": "elicitation/create", "params": {
        "mode": "form", "message": "who?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}}
    }});
    let required = json!({
        "resultType": "input_required", "inputRequests": {"q": question}, "requestState": "state-7"
    });
    let complete = json!({"resultType": "complete", "content": [{"type": "text", "text": "done"}]});
    // The last answer is given only to a retry that echoes the state and holds what was asked for.
    let text = format!(
        "read discover\n{}read list\n{}read call\n{}read retry\ncase \"$retry\" in *state-7*) ;; *) exit 1;; esac\n\
         case \"$retry\" in *Ada*) ;; *) exit 1;; esac\n{}read end\n",
        answer(0, discovered),
        answer(
            1,
            json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [tool("t", "d")]})
        ),
        answer(2, required),
        answer(3, complete),
    );
    let stage = Stage::new(&[("s", script(&text))]).ready().await;
    let State::Ready(ready) = stage.only().state else { panic!() };
    assert_eq!(ready.protocol_version, "2026-07-28");
    let person = Answering::new(Answer::Given(json!({"name": "Ada"})));
    let mut call = invocation(json!({}));
    call.person = person.clone();
    assert_eq!(stage.run("s.t", call).await.unwrap().text, "done");
    assert!(person.asked.lock().unwrap()[0].message.contains("who?"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_the_older_era_that_ends_at_an_unknown_question_is_greeted_properly() {
    let picky = "read greeting\ncase \"$greeting\" in *server/discover*) exit 3;; esac\n";
    let rest = READY.strip_prefix("read greeting\n").unwrap();
    let text = format!("{picky}{rest}{}read end\n", list(1, &[tool("t", "d")]));
    let stage = Stage::new(&[("old", script(&text))]).ready().await;
    assert_eq!(stage.names(), ["old.t"]);
    assert!(stage.only().last_error.is_none());
}
