//! Speaks the chat completions format as most hosts do.
//! Called by the doors of these hosts.

use serde_json::{Value, json};

use super::{Asked, Said, THOUGHT, Turn, list, pieces, texts, word};
use crate::server::Answer;

pub fn read(body: &Value) -> Asked {
    let mut asked =
        Asked { model: word(&body["model"]), stream: body["stream"] == true, ..Asked::default() };
    for message in list(&body["messages"]) {
        let text = texts(&message["content"]);
        match message["role"].as_str() {
            Some("assistant") => {
                asked.turns.push(Turn::Model);
                for call in list(&message["tool_calls"]) {
                    asked.turns.push(Turn::Call(word(&call["id"])));
                }
            }
            Some("tool") => {
                asked.turns.push(Turn::Result { of: word(&message["tool_call_id"]), text });
            }
            Some("user") => {
                asked.turns.push(Turn::User(text));
                let images = list(&message["content"]).filter(|part| part["type"] == "image_url");
                asked.images += images.count();
            }
            _ => asked.instructions.push_str(&text),
        }
    }
    for tool in list(&body["tools"]) {
        let function = &tool["function"];
        asked.tools.push((word(&function["name"]), function["parameters"].clone()));
    }
    let format = &body["response_format"];
    asked.schema = match format["type"].as_str() {
        Some("json_schema") => Some(format["json_schema"]["schema"].clone()),
        Some("json_object") => Some(true.into()),
        _ => None,
    };
    asked
}

pub fn write(said: &Said, stream: bool) -> Answer {
    let finish = if said.calls.is_empty() { "stop" } else { "tool_calls" };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    if !stream {
        let mut message =
            json!({"role": "assistant", "content": said.text, "reasoning_content": THOUGHT});
        if !said.calls.is_empty() {
            let calls = said.calls.iter().map(|call| {
                json!({"id": call.id, "type": "function", "function":
                    {"name": call.name, "arguments": call.arguments.to_string()}})
            });
            message["tool_calls"] = calls.collect();
        }
        let body = json!({"id": "chat_1", "object": "chat.completion", "created": 1,
            "model": said.model, "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}]});
        return Answer::json(200, &body.to_string());
    }
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(pieces(THOUGHT).iter().map(|piece| json!({"reasoning_content": piece})));
    deltas.extend(pieces(&said.text).iter().map(|piece| json!({"content": piece})));
    for (index, call) in said.calls.iter().enumerate() {
        deltas.push(json!({"tool_calls": [{"index": index, "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": ""}}]}));
        deltas.extend(pieces(&call.arguments.to_string()).iter().map(
            |piece| json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
        ));
    }
    let chunk = |choices: Value| {
        json!({"id": "chat_1", "object": "chat.completion.chunk", "created": 1,
            "model": said.model, "choices": choices})
    };
    let mut chunks: Vec<Value> = deltas
        .into_iter()
        .map(|delta| chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}])))
        .collect();
    chunks.push(chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}])));
    let mut last = chunk(json!([]));
    last["usage"] = usage;
    chunks.push(last);
    let begun = Answer::stream("text/event-stream");
    let told = chunks.iter().fold(begun, |answer, chunk| answer.event(&chunk.to_string()));
    told.event("[DONE]").end()
}
