//! The same reply, whole or streamed, is the same response: no text is lost or doubled, items come in the same order, the
//! usage is there, and what an item is said to be when it is done is what the response holds.
//!
//! The replies are made by hand, each in both forms, in the shapes the vendors document.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use agent_world_core::item::Item;
use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::chat::{Chat, Flavour};
use agent_world_llm::dialect::{Asked, Caps, Dialect, StreamDecoder};
use agent_world_llm::google::Google;
use agent_world_llm::ollama::Ollama;
use agent_world_llm::openai::{self, Responses};
use agent_world_llm::{Capabilities, Delta, Event, Response};
use bytes::Bytes;
use serde_json::{Value, json};

const THOUGHT: &str = "Größe?\n🦀";
const SAID: &str = "Ich schaue — gleich.";
const ARGUMENTS: &str = r#"{"größe": 1.10, "a": ["x", null]}"#;

fn asked(stream: bool) -> Asked {
    Asked {
        vendor: "vendor".into(),
        model: "m".to_owned(),
        capabilities: Capabilities::default(),
        stream,
    }
}

/// A text in pieces of a few characters, as a model writes it.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(3).map(|piece| piece.iter().collect()).collect()
}

fn sse(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| match event["type"].as_str() {
            Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        })
        .collect()
}

/// Reads a stream byte by byte, and checks what is told on the way.
fn streamed(dialect: &dyn Dialect, stream: &str) -> Response {
    let mut decoder = StreamDecoder::new(dialect, asked(true), Caps::default());
    let mut events = Vec::new();
    for byte in stream.as_bytes() {
        events.extend(decoder.push(&Bytes::copy_from_slice(&[*byte])).unwrap());
    }
    events.extend(decoder.end().unwrap());
    let Some(Event::Completed(response)) = events.pop() else { panic!("no end: {events:?}") };
    let mut told = vec![String::new(); response.output.len()];
    let mut done = Vec::new();
    for event in events {
        match event {
            Event::Delta { index, delta, .. } => match delta {
                Delta::Text(text)
                | Delta::Refusal(text)
                | Delta::Reasoning(text)
                | Delta::Summary(text)
                | Delta::Arguments(text) => told[index].push_str(&text),
            },
            Event::ItemDone { index, item } => {
                assert_eq!(item, response.output[index], "changed after it was done");
                done.push(index);
            }
            _ => {}
        }
    }
    done.sort_unstable();
    assert_eq!(done, (0..response.output.len()).collect::<Vec<_>>());
    let whole: Vec<String> = response.output.iter().map(words).collect();
    assert_eq!(told, whole);
    *response
}

fn words(item: &Item) -> String {
    match item {
        Item::Message(message) => message.text(),
        Item::FunctionCall(call) => call.arguments.clone(),
        Item::Reasoning(reasoning) => agent_world_llm::origin::thoughts(reasoning),
        Item::FunctionCallOutput(_) | Item::Unknown(_) => String::new(),
    }
}

fn check(dialect: &dyn Dialect, whole: &str, stream: &str) {
    let whole = dialect.decode(whole.as_bytes(), &asked(false)).unwrap();
    let streamed = streamed(dialect, stream);
    let usage = whole.usage.as_ref().expect("a usage");
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (7, 5, 12));
    assert_eq!(whole, streamed);
    let told: Vec<String> = whole.output.iter().map(words).collect();
    assert_eq!(told, [THOUGHT, SAID, ARGUMENTS, "{}"]);
}

#[test]
fn responses() {
    let output = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": THOUGHT}], "encrypted_content": "sealed"},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": SAID, "annotations": []}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": ARGUMENTS, "status": "completed"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "look", "arguments": "{}", "status": "completed"},
    ]);
    let usage = json!({"input_tokens": 7, "output_tokens": 5, "total_tokens": 12, "input_tokens_details": {"cached_tokens": 2}, "output_tokens_details": {"reasoning_tokens": 1}});
    let response = |status: &str, output: &Value| json!({"id": "resp_1", "object": "response", "created_at": 3, "model": "m", "status": status, "output": output, "usage": if status == "completed" { usage.clone() } else { Value::Null }});
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", &json!([]))}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
    ];
    let piece = |kind: &str, index: u64, id: &str, place: &str, text: &str| -> Vec<Value> {
        let piece = |text| json!({"type": kind, "output_index": index, "item_id": id, place: 0, "delta": text});
        pieces(text).into_iter().map(piece).collect()
    };
    let done = |index: u64| json!({"type": "response.output_item.done", "output_index": index, "item": output[index as usize]});
    events.extend(piece(
        "response.reasoning_summary_text.delta",
        0,
        "rs_1",
        "summary_index",
        THOUGHT,
    ));
    events.push(done(0));
    events.push(json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []}}));
    events.extend(piece("response.output_text.delta", 1, "msg_1", "content_index", SAID));
    events.push(done(1));
    for (index, id, arguments) in [(2, "fc_1", ARGUMENTS), (3, "fc_2", "{}")] {
        events.push(json!({"type": "response.output_item.added", "output_index": index, "item": {"type": "function_call", "id": id, "call_id": "", "name": "look", "arguments": ""}}));
        events.extend(piece(
            "response.function_call_arguments.delta",
            index,
            id,
            "content_index",
            arguments,
        ));
        events.push(done(index));
    }
    events.push(json!({"type": "response.completed", "response": response("completed", &output)}));
    for flavour in [openai::Flavour::OpenAi, openai::Flavour::Xai, openai::Flavour::Azure] {
        let whole = response("completed", &output).to_string();
        check(&Responses::new(flavour), &whole, &sse(&events));
    }
}

#[test]
fn anthropic() {
    let whole = format!(
        r#"{{"type":"message","id":"msg_1","role":"assistant","model":"m","stop_reason":"tool_use","stop_sequence":null,"content":[
        {{"type":"thinking","thinking":{},"signature":"sealed"}},
        {{"type":"text","text":{}}},
        {{"type":"tool_use","id":"toolu_1","name":"look","input":{ARGUMENTS}}},
        {{"type":"tool_use","id":"toolu_2","name":"look","input":{{}}}}],
        "usage":{{"input_tokens":4,"cache_read_input_tokens":2,"cache_creation_input_tokens":1,"output_tokens":5}}}}"#,
        json!(THOUGHT),
        json!(SAID),
    );
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let delta = |index: u64, delta: Value| json!({"type": "content_block_delta", "index": index, "delta": delta});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let mut events = vec![
        json!({"type": "message_start", "message": {"type": "message", "id": "msg_1", "role": "assistant", "model": "m", "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "ping"}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
    ];
    events.extend(
        pieces(THOUGHT)
            .into_iter()
            .map(|text| delta(0, json!({"type": "thinking_delta", "thinking": text}))),
    );
    events.push(delta(0, json!({"type": "signature_delta", "signature": "sealed"})));
    events.extend([stop(0), start(1, json!({"type": "text", "text": ""}))]);
    events.extend(
        pieces(SAID).into_iter().map(|text| delta(1, json!({"type": "text_delta", "text": text}))),
    );
    events.push(stop(1));
    for (index, id, arguments) in [(2, "toolu_1", ARGUMENTS), (3, "toolu_2", "")] {
        events
            .push(start(index, json!({"type": "tool_use", "id": id, "name": "look", "input": {}})));
        events.push(delta(index, json!({"type": "input_json_delta", "partial_json": ""})));
        events.extend(
            pieces(arguments).into_iter().map(|text| {
                delta(index, json!({"type": "input_json_delta", "partial_json": text}))
            }),
        );
        events.push(stop(index));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    check(&Anthropic, &whole, &sse(&events));
}

#[test]
fn google() {
    let usage = json!({"promptTokenCount": 7, "candidatesTokenCount": 4, "thoughtsTokenCount": 1, "totalTokenCount": 12});
    let whole = format!(
        r#"{{"responseId":"r","modelVersion":"m","usageMetadata":{usage},"candidates":[{{"finishReason":"STOP","content":{{"role":"model","parts":[
        {{"text":{},"thought":true}},{{"text":{}}},
        {{"functionCall":{{"name":"look","args":{ARGUMENTS}}},"thoughtSignature":"sealed"}},
        {{"functionCall":{{"name":"look","args":{{}}}}}}]}}}}]}}"#,
        json!(THOUGHT),
        json!(SAID),
    );
    let chunk = |part: &str| {
        format!(
            "data: {{\"responseId\":\"r\",\"modelVersion\":\"m\",\"candidates\":[{{\"content\":{{\"role\":\"model\",\"parts\":[{part}]}}}}]}}\r\n\r\n"
        )
    };
    let mut stream = String::new();
    for text in pieces(THOUGHT) {
        stream += &chunk(&json!({"text": text, "thought": true}).to_string());
    }
    for text in pieces(SAID) {
        stream += &chunk(&json!({"text": text}).to_string());
    }
    stream += &chunk(&format!(
        r#"{{"functionCall":{{"name":"look","args":{ARGUMENTS}}},"thoughtSignature":"sealed"}}"#
    ));
    stream += &chunk(r#"{"functionCall":{"name":"look","args":{}}}"#);
    let end = json!({"responseId": "r", "modelVersion": "m", "candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}], "usageMetadata": usage});
    stream += &format!("data: {end}\r\n\r\n");
    check(&Google, &whole, &stream);
}

#[test]
fn chat() {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12, "completion_tokens_details": {"reasoning_tokens": 1}});
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}});
    let whole = json!({"id": "c", "object": "chat.completion", "created": 3, "model": "m", "usage": usage, "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "content": SAID, "reasoning_content": THOUGHT, "tool_calls": [call("call_1", ARGUMENTS), call("call_2", "")]}}]});
    let chunk = |delta: Value, finish: Value| json!({"id": "c", "object": "chat.completion.chunk", "created": 3, "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    let mut say = |delta: Value| events.push(chunk(delta, Value::Null));
    pieces(THOUGHT).into_iter().for_each(|text| say(json!({"reasoning_content": text})));
    pieces(SAID).into_iter().for_each(|text| say(json!({"content": text})));
    say(
        json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}]}),
    );
    say(
        json!({"tool_calls": [{"index": 1, "id": "call_2", "type": "function", "function": {"name": "look", "arguments": ""}}]}),
    );
    for text in pieces(ARGUMENTS) {
        say(json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}));
    }
    events.push(chunk(json!({}), "tool_calls".into()));
    events.push(json!({"id": "c", "object": "chat.completion.chunk", "created": 3, "model": "m", "choices": [], "usage": usage}));
    let stream = sse(&events) + "data: [DONE]\n\n";
    for flavour in
        [Flavour::OPENAI, Flavour::GROQ, Flavour::MISTRAL, Flavour::DEEPSEEK, Flavour::GENERIC]
    {
        check(&Chat::new(flavour), &whole.to_string(), &stream);
    }
}

#[test]
fn ollama() {
    let calls = format!(
        r#"[{{"function":{{"name":"look","arguments":{ARGUMENTS}}}}},{{"function":{{"name":"look","arguments":{{}}}}}}]"#
    );
    let line = |message: &str, end: &str| {
        format!(r#"{{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{message}{end}}}"#)
    };
    let end = r#","done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":5"#;
    let open = r#","done":false"#;
    let whole = line(
        &format!(
            r#"{{"role":"assistant","content":{},"thinking":{},"tool_calls":{calls}}}"#,
            json!(SAID),
            json!(THOUGHT)
        ),
        end,
    );
    let mut stream = String::new();
    for text in pieces(THOUGHT) {
        stream += &(line(
            &json!({"role": "assistant", "content": "", "thinking": text}).to_string(),
            open,
        ) + "\n");
    }
    for text in pieces(SAID) {
        stream += &(line(&json!({"role": "assistant", "content": text}).to_string(), open) + "\n");
    }
    stream +=
        &(line(&format!(r#"{{"role":"assistant","content":"","tool_calls":{calls}}}"#), open)
            + "\n");
    stream += &(line(r#"{"role":"assistant","content":""}"#, end) + "\n");
    check(&Ollama, &whole, &stream);
}
