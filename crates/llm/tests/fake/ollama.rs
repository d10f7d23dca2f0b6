//! Speaks Ollama's own format: a JSON object on each line. Calls go by the names of their functions.
//! Called by the door of that vendor.

use serde_json::{Value, json};

use super::{Asked, Said, THOUGHT, Turn, list, pieces, word};
use crate::server::Answer;

pub fn read(body: &Value) -> Asked {
    let mut asked =
        Asked { model: word(&body["model"]), stream: body["stream"] != false, ..Asked::default() };
    for message in list(&body["messages"]) {
        let text = word(&message["content"]);
        match message["role"].as_str() {
            Some("assistant") => {
                asked.turns.push(Turn::Model);
                for call in list(&message["tool_calls"]) {
                    asked.turns.push(Turn::Call(word(&call["function"]["name"])));
                }
            }
            Some("tool") => {
                asked.turns.push(Turn::Result { of: word(&message["tool_name"]), text });
            }
            Some("user") => {
                asked.turns.push(Turn::User(text));
                asked.images += list(&message["images"]).count();
            }
            _ => asked.instructions.push_str(&text),
        }
    }
    for tool in list(&body["tools"]) {
        let function = &tool["function"];
        asked.tools.push((word(&function["name"]), function["parameters"].clone()));
    }
    asked.schema = match &body["format"] {
        schema @ Value::Object(_) => Some(schema.clone()),
        Value::String(_) => Some(true.into()),
        _ => None,
    };
    asked
}

pub fn write(said: &Said, stream: bool) -> Answer {
    let calls: Vec<Value> = said
        .calls
        .iter()
        .map(|call| json!({"function": {"name": call.name, "arguments": call.arguments}}))
        .collect();
    let line = |message: Value| {
        json!({"model": said.model, "created_at": "2026-01-02T03:04:05.678Z",
            "message": message, "done": false})
    };
    let last = |message: Value| {
        let mut last = line(message);
        last["done"] = true.into();
        last["done_reason"] = "stop".into();
        last["prompt_eval_count"] = 10.into();
        last["eval_count"] = 5.into();
        last
    };
    if !stream {
        let message = json!({"role": "assistant", "content": said.text, "thinking": THOUGHT,
            "tool_calls": calls});
        return Answer::json(200, &last(message).to_string());
    }
    let piece = |field: &str, text: &str| {
        let mut message = json!({"role": "assistant", "content": ""});
        message[field] = text.into();
        line(message)
    };
    let mut lines: Vec<Value> =
        pieces(THOUGHT).iter().map(|text| piece("thinking", text)).collect();
    lines.extend(pieces(&said.text).iter().map(|text| piece("content", text)));
    if !calls.is_empty() {
        lines.push(line(json!({"role": "assistant", "content": "", "tool_calls": calls})));
    }
    lines.push(last(json!({"role": "assistant", "content": ""})));
    let begun = Answer::stream("application/x-ndjson");
    lines.iter().fold(begun, |answer, line| answer.piece(&format!("{line}\n"))).end()
}
