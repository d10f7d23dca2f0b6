//! Tests of loading a chat from what a server answers.

use serde_json::json;

use super::*;
use crate::conversation::SaidState;
use crate::scripted::{Said, Script};

const MESSAGES: &str = "GET /api/worlds/demo/chats/chat_1/messages";
const CALLS: &str = "GET /api/worlds/demo/chats/chat_1/tool-calls/call_2";
const EVENTS: &str = "GET /api/worlds/demo/chats/chat_1/events";
const AT: [&str; 3] = ["2026-11-16T10:00:00Z", "2026-11-16T10:00:05Z", "2026-11-16T10:00:09Z"];

fn place() -> (World, Chat) {
    let world = json!({"id": "demo", "name": "Demo"});
    let chat =
        json!({"id": "chat_1", "world_id": "demo", "created_at": AT[0], "updated_at": AT[0]});
    (serde_json::from_value(world).unwrap(), serde_json::from_value(chat).unwrap())
}

fn messages() -> Said {
    let call = |id| json!({"id": id, "function": {"name": "shell_cmd", "arguments": "{}"}});
    let message = |id, role, sender, at| {
        json!({"id": id, "chat_id": "chat_1", "role": role, "sender": sender, "content": id,
            "created_at": at})
    };
    let mut asked = message("msg_2", "assistant", "ada", AT[0]);
    asked["tool_calls"] = json!([call("call_1"), call("call_2")]);
    let data =
        [message("msg_1", "user", "human", AT[0]), asked, message("msg_3", "user", "human", AT[2])];
    Said::This(200, json!({ "data": data }))
}

fn completed() -> Said {
    let call = json!({"id": "call_2", "chat_id": "chat_1", "agent_id": "ada", "name": "shell_cmd",
        "state": "completed", "arguments": {}, "result": "done", "blocking": true});
    Said::This(200, call)
}

#[tokio::test]
async fn a_call_that_is_not_there_any_more_is_passed_over() {
    let script = Script::new(vec![(MESSAGES, vec![messages()]), (CALLS, vec![completed()])]);
    let (world, chat) = place();
    let loaded = load(&script.client(), world, chat, 100).await.unwrap();
    let entries = loaded.conversation.entries();
    let ids: Vec<&str> = entries.iter().map(Entry::id).collect();
    assert_eq!(ids, ["msg_1", "msg_2", "call_1", "call_2", "msg_3"]);
    let Some(Entry::Call(found)) = loaded.conversation.entry("call_2") else { panic!() };
    assert_eq!(found.result.as_deref(), Some("done"));
}

#[tokio::test]
async fn what_is_no_message_is_put_where_it_was() {
    let event = |seq, kind, at, data| {
        json!({"seq": seq, "type": kind, "world_id": "demo", "chat_id": "chat_1", "at": at,
            "data": data})
    };
    let data = [
        event(
            1,
            "stream",
            AT[1],
            json!({"phase": "error", "message_id": "msg_b",
            "agent_id": "ada", "error": "stopped"}),
        ),
        event(2, "system", AT[1], json!({"code": "work_stopped", "text": "ada stopped it"})),
        event(
            3,
            "system",
            AT[1],
            json!({"code": "model_failed", "text": "x", "message_id": "msg_x"}),
        ),
        event(
            4,
            "system",
            "2026-11-15T10:00:00Z",
            json!({"code": "work_stopped", "text": "long ago"}),
        ),
    ];
    let events = Said::This(200, json!({ "data": data }));
    let lines =
        vec![(MESSAGES, vec![messages()]), (CALLS, vec![completed()]), (EVENTS, vec![events])];
    let (world, chat) = place();
    let script = Script::new(lines);
    let loaded = load_with_notices(&script.client(), world, chat, 100, 0).await.unwrap();
    let ids: Vec<&str> = loaded.conversation.entries().iter().map(Entry::id).collect();
    assert_eq!(ids, ["msg_1", "msg_2", "call_1", "call_2", "msg_b", "notice 2", "msg_3"]);
    let Some(Entry::Said(broken)) = loaded.conversation.entry("msg_b") else { panic!() };
    assert_eq!(broken.state, SaidState::BrokenOff("stopped".to_owned()));
}

#[tokio::test]
async fn a_chat_is_read_also_where_its_events_are_not_told() {
    let script = Script::new(vec![(MESSAGES, vec![messages()]), (CALLS, vec![completed()])]);
    let (world, chat) = place();
    let loaded = load_with_notices(&script.client(), world, chat, 100, 0).await.unwrap();
    assert_eq!(loaded.conversation.entries().len(), 5);
}
