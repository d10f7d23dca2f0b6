//! Streams as each vendor would send them, of any length.
//! Used by every measurement of reading. The texts say nothing; the shapes are the vendors'.

use agent_world_llm::frames::Framing;
use serde_json::{Value, json};

const WORD: &str = " and so on";

/// One message with its text in many pieces.
pub fn of(vendor: &str, pieces: usize) -> Vec<String> {
    let pieces: Vec<&str> = vec![WORD; pieces];
    shaped(vendor, &pieces)
}

/// One message with its text in one piece.
pub fn with_text(vendor: &str, text: &str) -> Vec<String> {
    shaped(vendor, &[text])
}

pub fn framed(framing: Framing, frame: &str) -> Vec<u8> {
    crate::divided(framing, frame)
}

fn shaped(vendor: &str, pieces: &[&str]) -> Vec<String> {
    let frames = match vendor {
        "openai" => openai(pieces),
        "anthropic" => anthropic(pieces),
        "google" => google(pieces),
        "ollama" => ollama(pieces),
        _ => chat(pieces),
    };
    frames.iter().map(Value::to_string).collect()
}

fn openai(pieces: &[&str]) -> Vec<Value> {
    let part = |text: &str| json!({"type": "output_text", "text": text, "annotations": []});
    let item = |content: Value, status: &str| json!({"id": "msg_1", "type": "message", "role": "assistant", "status": status, "content": content});
    let response = |status: &str, output: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "model": "any", "status": status,
               "output": output, "usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}})
    };
    let whole = pieces.concat();
    let mut frames = vec![
        json!({"type": "response.created", "sequence_number": 0, "response": response("in_progress", json!([]))}),
        json!({"type": "response.output_item.added", "sequence_number": 1, "output_index": 0,
               "item": item(json!([]), "in_progress")}),
        json!({"type": "response.content_part.added", "sequence_number": 2, "item_id": "msg_1", "output_index": 0,
               "content_index": 0, "part": part("")}),
    ];
    frames.extend((3..).zip(pieces).map(|(number, piece)| {
        json!({"type": "response.output_text.delta", "sequence_number": number, "item_id": "msg_1",
               "output_index": 0, "content_index": 0, "delta": piece, "logprobs": [], "obfuscation": "aB3dE6gH9j"})
    }));
    let done = item(json!([part(&whole)]), "completed");
    frames.push(json!({"type": "response.output_item.done", "output_index": 0, "item": done}));
    frames.push(
        json!({"type": "response.completed", "response": response("completed", json!([done]))}),
    );
    frames
}

fn anthropic(pieces: &[&str]) -> Vec<Value> {
    let mut frames = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
               "model": "any", "content": [], "stop_reason": null, "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    frames.extend(pieces.iter().map(|piece| {
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}})
    }));
    frames.push(json!({"type": "content_block_stop", "index": 0}));
    frames.push(
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
                       "usage": {"output_tokens": 1}}),
    );
    frames.push(json!({"type": "message_stop"}));
    frames
}

fn google(pieces: &[&str]) -> Vec<Value> {
    let mut frames: Vec<Value> = pieces
        .iter()
        .map(|piece| {
            json!({"candidates": [{"content": {"parts": [{"text": piece}], "role": "model"}, "index": 0}],
                   "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
                   "modelVersion": "any", "responseId": "r1"})
        })
        .collect();
    if let Some(last) = frames.last_mut() {
        last["candidates"][0]["finishReason"] = json!("STOP");
    }
    frames
}

fn chat(pieces: &[&str]) -> Vec<Value> {
    let frame = |delta: Value, finish: Value| {
        json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "any",
               "service_tier": "default", "system_fingerprint": "fp", "usage": null, "obfuscation": "aB3dE6gH9j",
               "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]})
    };
    let mut frames = vec![frame(json!({"role": "assistant", "content": ""}), Value::Null)];
    frames.extend(pieces.iter().map(|piece| frame(json!({"content": piece}), Value::Null)));
    frames.push(frame(json!({}), json!("stop")));
    frames
}

fn ollama(pieces: &[&str]) -> Vec<Value> {
    let frame = |text: &str, done: bool| {
        json!({"model": "any", "created_at": "2026-01-01T00:00:00Z",
               "message": {"role": "assistant", "content": text}, "done": done})
    };
    let mut frames: Vec<Value> = pieces.iter().map(|piece| frame(piece, false)).collect();
    let mut last = frame("", true);
    last["done_reason"] = json!("stop");
    frames.push(last);
    frames
}
