//! Speaks the Messages format as Anthropic does.
//! Called by the door of that vendor.

use serde_json::{Value, json};

use super::{Asked, Said, THOUGHT, Turn, list, pieces, texts, word};
use crate::server::Answer;

pub fn read(body: &Value) -> Asked {
    let mut asked = Asked {
        model: word(&body["model"]),
        instructions: texts(&body["system"]),
        stream: body["stream"] == true,
        ..Asked::default()
    };
    for message in list(&body["messages"]) {
        let text = texts(&message["content"]);
        for block in list(&message["content"]) {
            match block["type"].as_str() {
                Some("tool_use") => asked.turns.push(Turn::Call(word(&block["id"]))),
                Some("tool_result") => asked.turns.push(Turn::Result {
                    of: word(&block["tool_use_id"]),
                    text: texts(&block["content"]),
                }),
                Some("image") => asked.images += 1,
                _ => {}
            }
        }
        match message["role"].as_str() {
            Some("assistant") => asked.turns.push(Turn::Model),
            Some("user") if text.is_empty() => {}
            Some("user") => asked.turns.push(Turn::User(text)),
            _ => asked.instructions.push_str(&text),
        }
    }
    for tool in list(&body["tools"]) {
        asked.tools.push((word(&tool["name"]), tool["input_schema"].clone()));
    }
    let format = &body["output_config"]["format"];
    asked.schema = (format["type"] == "json_schema").then(|| format["schema"].clone());
    asked
}

pub fn write(said: &Said, stream: bool) -> Answer {
    let mut content = vec![
        json!({"type": "thinking", "thinking": THOUGHT, "signature": "c2lnbmVk"}),
        json!({"type": "text", "text": said.text}),
    ];
    content.extend(said.calls.iter().map(|call| {
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments})
    }));
    let stop = if said.calls.is_empty() { "end_turn" } else { "tool_use" };
    let message = |content: &[Value], stop: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant", "model": said.model,
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 5}})
    };
    if !stream {
        return Answer::json(200, &message(&content, stop.into()).to_string());
    }
    let mut events = vec![json!({"type": "message_start", "message": message(&[], Value::Null)})];
    for (index, block) in content.iter().enumerate() {
        events.extend(block_events(index, block));
    }
    events.push(json!({"type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    let begun = Answer::stream("text/event-stream");
    let told = events.iter().fold(begun, |answer, event| {
        answer.piece(&format!("event: {}\ndata: {event}\n\n", word(&event["type"])))
    });
    told.end()
}

/// A block, from its start over its pieces to its end.
fn block_events(index: usize, block: &Value) -> Vec<Value> {
    let mut begun = block.clone();
    let (field, kind, text) = match block["type"].as_str() {
        Some("thinking") => {
            begun["thinking"] = "".into();
            begun["signature"] = "".into();
            ("thinking", "thinking_delta", word(&block["thinking"]))
        }
        Some("text") => {
            begun["text"] = "".into();
            ("text", "text_delta", word(&block["text"]))
        }
        _ => {
            begun["input"] = json!({});
            ("partial_json", "input_json_delta", block["input"].to_string())
        }
    };
    let delta =
        |delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let mut events =
        vec![json!({"type": "content_block_start", "index": index, "content_block": begun})];
    events
        .extend(pieces(&text).into_iter().map(|piece| delta(json!({"type": kind, field: piece}))));
    if kind == "thinking_delta" {
        events.push(delta(json!({"type": "signature_delta", "signature": block["signature"]})));
    }
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}
