//! What was told live is what is told later, and page by page, byte for byte.

use std::sync::{Arc, Mutex};

use agent_world_core::binding::Prepared;
use agent_world_core::command::Scope as Reach;
use agent_world_core::config::ToolSpec;
use agent_world_core::event::Output;
use agent_world_core::ids::MessageId;
use agent_world_runtime::llm::Class;
use agent_world_runtime::llm::scripted::Answer;
use agent_world_runtime::store::MessagePage;
use agent_world_runtime::tools::scripted::Scripted as Tool;
use agent_world_runtime::tools::{Failure, Tool as AnyTool};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::reader::{Page, Reader, numbers};
use super::stage::{Backend, Stage, calls, doing, free, in_background, perform, spec};

/// What the tool `act` finds when it looks: a script whose content somebody else changes.
type Script = Arc<Mutex<String>>;

struct Cast {
    stage: Stage,
    script: Script,
    background: Arc<Semaphore>,
}

async fn cast(backend: Backend) -> Cast {
    let script: Script = Arc::new(Mutex::new("one".to_owned()));
    let found = Arc::clone(&script);
    let act = doing(spec("act")).finding(move |arguments: &Value| {
        let content = format!("{} {}", arguments["what"], found.lock().unwrap());
        Ok(Prepared { facts: [("script".to_owned(), content)].into(), preview: None })
    });
    let background = Arc::new(Semaphore::new(0));
    let tools: Vec<Arc<dyn AnyTool>> = vec![
        Arc::new(act),
        Arc::new(doing(free("look"))),
        Arc::new(doing(in_background("watch")).held_by(&background)),
        Arc::new(Tool::fixed(free("fail"), Err(Failure::text("it broke")))),
    ];
    Cast { stage: Stage::open(backend, &["ada"], tools).await, script, background }
}

/// Everything that can happen in a chat, one after the other.
async fn play(cast: &Cast) {
    approvals(cast).await;
    tools(cast).await;
    failures(cast).await;
    history(cast).await;
    settings(cast).await;
}

async fn approvals(cast: &Cast) {
    let Cast { stage, script, .. } = cast;
    // Edited, then asked about again because something changed, then edited again.
    stage.model.push("ada", calls("act", &["one"]));
    stage.say("go").await;
    let asked = stage.pending(1).await.remove(0);
    *script.lock().unwrap() = "two".to_owned();
    stage.approve(&asked.id, Reach::Once).await;
    let again = stage.pending(1).await.remove(0);
    assert_ne!(again.id, asked.id);
    stage.approve_with(&again.id, Reach::Once, Some("uno")).await;
    stage.idle().await;
    // One denied, one granted for the session, one the grant covers.
    stage.model.push("ada", calls("act", &["two", "three", "four"]));
    stage.say("go on").await;
    let asked = stage.pending(3).await;
    stage.deny(&asked[0].id, "not that").await;
    stage.approve(&asked[1].id, Reach::Session).await;
    stage.idle().await;
    let grants = stage.engine.store().grants(&stage.chat).await.unwrap();
    stage.engine.revoke_grant(&stage.chat, &grants[0].id, "eve").await.unwrap();
    // Taken back because the work is stopped.
    stage.model.push("ada", calls("act", &["five"]));
    stage.say("and more").await;
    stage.pending(1).await;
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    stage.idle().await;
}

async fn tools(cast: &Cast) {
    let Cast { stage, background, .. } = cast;
    stage.model.push("ada", calls("look", &["here", "there"]));
    stage.model.push("ada", calls("fail", &["now"]));
    stage.model.push("ada", calls("nothing", &["that exists"]));
    stage.say("look").await;
    stage.idle().await;
    stage.model.push("ada", calls("watch", &["the door"]));
    stage.model.push("ada", Answer::text("I am watching."));
    stage.say("watch").await;
    stage
        .until(async || stage.model.requests().last().filter(|last| last.input.len() > 2).cloned())
        .await;
    background.add_permits(1);
    stage.idle().await;
    let offered = vec![free("pick")];
    stage.engine.offer_tools(&stage.chat, "page", offered, "eve").await.unwrap();
    stage.model.push("ada", calls("pick", &["a colour"]));
    stage.say("pick").await;
    let picked = stage
        .until(async || {
            let calls = stage.engine.store().calls(&stage.chat, None, 100).await.unwrap();
            calls.into_iter().find(|call| call.name == "pick" && call.started_at.is_some())
        })
        .await;
    let result = Output::text("blue");
    stage.engine.client_result(&stage.chat, &picked.id, result, false).await.unwrap();
    stage.idle().await;
}

async fn failures(cast: &Cast) {
    let stage = &cast.stage;
    stage.model.push("ada", Answer::failure(Class::InvalidRequest, "no such model"));
    stage.say("fail").await;
    stage.idle().await;
    stage.engine.retry(&stage.chat, None).await.unwrap();
    stage.idle().await;
    let gate = Arc::new(Semaphore::new(0));
    let before = stage.model.requests().len();
    stage.model.push("ada", Answer::text("never").held_by(&gate));
    stage.say("wait").await;
    stage.model.received(before + 1).await;
    stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
    stage.idle().await;
}

async fn history(cast: &Cast) {
    let stage = &cast.stage;
    let first = stage.say("a question").await.message.id;
    stage.idle().await;
    let second = stage.engine.edit_message(&stage.chat, &first, "a better one", None, "eve").await;
    let second: MessageId = second.unwrap().message.id;
    stage.idle().await;
    let fork = stage.engine.fork(&stage.chat, &second, "eve").await.unwrap();
    stage.engine.delete_message(&stage.chat, &second, "eve").await.unwrap();
    stage.engine.delete_chat(&fork.id, "eve").await.unwrap();
    stage.engine.rename_chat(&stage.chat, "Another name", "eve").await.unwrap();
}

async fn settings(cast: &Cast) {
    let stage = &cast.stage;
    let mut world = stage.engine.world(&stage.world).await.unwrap().as_ref().clone();
    world.variables.insert("token".to_owned(), "a secret of the world".into());
    stage.engine.update_world(world, "eve").await.unwrap();
    stage.say("the end").await;
    stage.idle().await;
}

async fn live_later_and_in_pages(backend: Backend) {
    let cast = cast(backend).await;
    let stage = &cast.stage;
    let mut live = Vec::new();
    for topic in stage.topics() {
        live.push((stage.follow(&topic).await, topic));
    }
    play(&cast).await;
    let another = stage.another_server().await;
    for (mut reader, topic) in live {
        let pages = stage.pages(&topic, 1000).await;
        let last = *numbers(&pages).last().unwrap();
        let told: Vec<String> =
            reader.up_to(last).await.into_iter().map(|frame| frame.data).collect();
        assert_eq!(told, pages, "live and in pages: {topic}");
        assert_eq!(stage.pages(&topic, 7).await, pages, "in small pages: {topic}");
        let mut later = Reader::open(&another, &topic, None).await;
        let later: Vec<String> =
            later.up_to(last).await.into_iter().map(|frame| frame.data).collect();
        assert_eq!(told, later, "live and later: {topic}");
        check(&topic, &told);
    }
    let of_chat = stage.pages(&stage.topic(), 1000).await;
    told_messages_are_the_stored_ones(stage, &of_chat).await;
}

/// What holds of everything that is told.
fn check(topic: &str, told: &[String]) {
    let numbers = numbers(told);
    assert!(numbers.is_sorted_by(|one, two| one < two), "{topic}: {numbers:?}");
    let events: Vec<Value> = told.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert!(!told.iter().any(|text| text.contains("a secret of the world")), "{topic}");
    for event in &events {
        let data = &event["data"];
        match (event["type"].as_str().unwrap(), data["state"].as_str()) {
            ("tool", Some("pending" | "awaiting_approval" | "executing")) => {
                assert!(data["result"].is_null() && data["ended_at"].is_null(), "{event}");
                assert_eq!(data["started_at"].is_null(), data["state"] != "executing", "{event}");
            }
            ("tool", _) => assert!(data["result"].is_string(), "{event}"),
            ("approval", Some("pending")) => assert!(data.get("decision").is_none(), "{event}"),
            ("approval", Some("approved" | "denied")) => assert_eq!(data["decided_by"], "eve"),
            _ => {}
        }
    }
    let arguments: Vec<String> = events
        .iter()
        .filter(|event| event["type"] == "tool" && event["data"]["name"] == "act")
        .map(|event| format!("{} {}", event["data"]["state"], event["data"]["arguments"]["what"]))
        .take(7)
        .collect();
    let expected = [
        "\"pending\" \"one\"",
        "\"awaiting_approval\" \"one\"",
        "\"pending\" \"one\"",
        "\"awaiting_approval\" \"one\"",
        "\"pending\" \"uno\"",
        "\"executing\" \"uno\"",
        "\"completed\" \"uno\"",
    ];
    assert_eq!(arguments, expected, "{topic}");
    let seen = |kind: &str, name: &str, value: &str| {
        events.iter().any(|event| event["type"] == kind && event["data"][name] == value)
    };
    for (kind, name, value) in [
        ("stream", "phase", "start"),
        ("stream", "phase", "end"),
        ("stream", "error", "stopped"),
        ("approval", "state", "withdrawn"),
        ("activity", "state", "busy"),
        ("activity", "state", "idle"),
        ("system", "code", "model_failed"),
        ("system", "code", "work_stopped"),
        ("system", "code", "title"),
        ("crud", "entity", "grant"),
        ("crud", "entity", "message"),
        ("crud", "entity", "client_tools"),
        ("tool", "state", "denied"),
        ("tool", "state", "cancelled"),
    ] {
        assert!(seen(kind, name, value), "{topic}: nothing was told of {kind} {name} {value}");
    }
    // Where all works and somebody fails, the reply that was begun is named.
    let failed = events
        .iter()
        .find(|event| event["data"]["phase"] == "error" && event["data"]["error"] != "stopped");
    let failed = &failed.unwrap()["data"]["message_id"];
    let begun =
        |event: &Value| event["data"]["phase"] == "start" && event["data"]["message_id"] == *failed;
    assert!(events.iter().any(begun), "{topic}");
}

/// A message in an event is the message that can be read, unless it was taken back since.
async fn told_messages_are_the_stored_ones(stage: &Stage, told: &[String]) {
    let events = told.iter().map(|text| serde_json::from_str::<Value>(text).unwrap());
    let told: Vec<Value> = events
        .filter(|event| event["type"] == "message")
        .map(|event| event["data"].clone())
        .collect();
    let page = MessagePage::After(None, 1000);
    let stored = stage.engine.store().messages(&stage.chat, page).await.unwrap();
    assert!(stored.len() > 30);
    for view in stored {
        let id = view.id.to_string();
        let found: Vec<&Value> = told.iter().filter(|message| message["id"] == *id).collect();
        assert_eq!(found.len(), 1, "{id}");
        let message = found[0];
        assert_eq!(message["content"], view.text);
        assert_eq!(message["reply_to"], serde_json::json!(view.reply_to), "{message}");
        assert_eq!(message["turn_id"], serde_json::json!(view.turn), "{message}");
        assert_eq!(message["agent_id"], serde_json::json!(view.agent), "{message}");
        assert_eq!(message["role"], serde_json::json!(view.role), "{message}");
        let calls = message.get("tool_calls").and_then(Value::as_array).map_or(0, Vec::len);
        assert_eq!(calls, view.tool_calls.len());
    }
}

/// A call that starts twice, under two approvals and with other arguments each time: its first start is told as it was.
#[test]
fn a_start_that_was_lost_is_told_with_the_approval_and_arguments_it_had() {
    perform(async {
        let script: Script = Arc::new(Mutex::new("one".to_owned()));
        let found = Arc::clone(&script);
        let gate = Arc::new(Semaphore::new(0));
        let act = doing(ToolSpec { idempotent: true, ..spec("act") }).held_by(&gate).finding(
            move |_: &Value| {
                let content = found.lock().unwrap().clone();
                Ok(Prepared { facts: [("script".to_owned(), content)].into(), preview: None })
            },
        );
        let stage = Stage::open(Backend::Memory, &["ada"], vec![Arc::new(act.clone())]).await;
        stage.model.push("ada", calls("act", &["one"]));
        stage.say("go").await;
        let first = stage.pending(1).await.remove(0);
        stage.approve_with(&first.id, Reach::Once, Some("uno")).await;
        act.received(1).await;
        let before = stage.pages(&stage.topic(), 1000).await;
        *script.lock().unwrap() = "two".to_owned();
        let stage = stage.restart().await;
        let mut seen = stage.pages(&stage.topic(), 1000).await;
        assert_eq!(seen[..before.len()], before, "right after the restart");
        let second = stage.pending(1).await.remove(0);
        stage.approve_with(&second.id, Reach::Once, Some("due")).await;
        gate.add_permits(1);
        stage.idle().await;
        let another = stage.another_server().await;
        seen = Page::all(&another, &stage.topic(), 1000).await;
        assert_eq!(seen[..before.len()], before, "when all is done");
        let told = |event: &String| {
            let event: Value = serde_json::from_str(event).unwrap();
            let data = &event["data"];
            (event["type"] == "tool").then(|| {
                let approval = &data["approval_id"];
                let under = [(&first.id, "first"), (&second.id, "second")];
                let under = under.iter().find(|(id, _)| *approval == id.to_string());
                let under = under.map_or("none", |(_, name)| name);
                format!("{} {} {under}", data["state"], data["arguments"]["what"]).replace('"', "")
            })
        };
        let told: Vec<String> = seen.iter().filter_map(told).collect();
        let expected = [
            "pending one none",
            "awaiting_approval one first",
            "pending uno first",
            "executing uno first",
            "pending uno first",
            "awaiting_approval uno second",
            "pending due second",
            "executing due second",
            "completed due second",
        ];
        assert_eq!(told, expected);
    });
}

#[test]
fn what_is_told_live_later_and_in_pages_is_the_same_in_memory() {
    perform(live_later_and_in_pages(Backend::Memory));
}

#[test]
fn what_is_told_live_later_and_in_pages_is_the_same_in_a_file() {
    perform(live_later_and_in_pages(Backend::Sqlite));
}
