//! Throws conversations together as logs may hold them. Decides nothing about what a vendor takes.
//! A vendor's own turns are made by its dialect from replies in its format, cut ones among them.

use std::sync::Arc;

use agent_world_core::config::ToolSpec;
use agent_world_core::item::{Item, MessageItem, Part, Role};
use agent_world_llm::dialect::{Asked, Dialect};
use agent_world_llm::{ReasoningOptions, Request, Tool, input_from, origin};
use serde_json::{Map, Value, json};

/// The same throws for the same seed, on every machine.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}

pub fn request(dice: &mut Dice, dialect: &dyn Dialect, asked: &Asked) -> Request {
    let mut items = Vec::new();
    for _ in 0..=dice.below(8) {
        step(dice, dialect, asked, &mut items);
    }
    let schema = json!({"type": "object"});
    let effort = *dice.one(&[None, Some("none"), Some("low"), Some("high")]);
    Request {
        model: asked.model.clone(),
        instructions: (*dice.one(&["", "Be brief."])).to_owned(),
        input: items.into_iter().map(Arc::new).collect(),
        tools: vec![Tool::from(&ToolSpec::new("look", "Looks.", schema))],
        reasoning: effort.map(|effort| ReasoningOptions {
            effort: Some(effort.to_owned()),
            ..Default::default()
        }),
        temperature: *dice.one(&[None, Some(0.3)]),
        max_output_tokens: *dice.one(&[None, Some(4_000)]),
        parallel_tool_calls: Some(true),
        store: Some(false),
        prompt_cache_key: Some("chat_1".to_owned()),
        ..Request::default()
    }
}

fn step(dice: &mut Dice, dialect: &dyn Dialect, asked: &Asked, items: &mut Vec<Item>) {
    match dice.below(12) {
        0 | 1 => items.push(Item::user("What is here? größe 🦀")),
        2 => items.push(message(*dice.one(&[Role::System, Role::Developer]), vec![text(dice)])),
        3 => {
            let image = json!({"type": "input_image", "image_url": "data:image/png;base64,aGk="});
            let image = serde_json::from_value(image).unwrap();
            items.push(message(Role::User, vec![text(dice), image]));
        }
        4 => items.push(message(Role::User, vec![text(dice)])),
        5 => items.push(message(Role::Assistant, vec![text(dice)])),
        6 => items.push(message(*dice.one(&[Role::Assistant, Role::User]), Vec::new())),
        7 => items.extend(foreign(dice)),
        8 => items.push(output(dice, "call_orphan")),
        _ => {
            let made = reply(dice, dialect, asked);
            let calls: Vec<String> = made
                .iter()
                .filter_map(|item| match item {
                    Item::FunctionCall(call) => Some(call.call_id.clone()),
                    _ => None,
                })
                .collect();
            items.extend(made);
            answer(dice, calls, items);
        }
    }
}

/// Some of the calls are answered, in any order and with anything between them.
fn answer(dice: &mut Dice, mut calls: Vec<String>, items: &mut Vec<Item>) {
    while !calls.is_empty() {
        let place = usize::try_from(dice.below(calls.len() as u64)).unwrap();
        let id = calls.swap_remove(place);
        match dice.below(8) {
            0 => {}
            1 => {
                items.push(Item::user("Wait."));
                items.push(output(dice, &id));
            }
            _ => items.push(output(dice, &id)),
        }
    }
}

fn text(dice: &mut Dice) -> Part {
    Part::said(Role::User, *dice.one(&["Hello.", "", " \n", "line\nline"]))
}

fn message(role: Role, content: Vec<Part>) -> Item {
    let content = content
        .into_iter()
        .map(|part| match part.text() {
            Some(text) => Part::said(role, text),
            None => part,
        })
        .collect();
    Item::Message(MessageItem { id: None, role, content, extra: Map::new() })
}

fn output(dice: &mut Dice, id: &str) -> Item {
    let image = json!([{"type": "input_image", "image_url": "data:image/png;base64,aGk="}]);
    let outputs = [
        json!("seen"),
        json!(""),
        json!({"a": 1}),
        json!([]),
        json!([{"type": "input_text", "text": "so"}, image[0]]),
        image,
    ];
    let output = match dice.below(50) {
        0 => json!("x".repeat(120_000)),
        _ => dice.one(&outputs).clone(),
    };
    let mut output = json!({"type": "function_call_output", "call_id": id, "output": output});
    if dice.below(3) == 0 {
        output["is_error"] = true.into();
    }
    serde_json::from_value(output).unwrap()
}

/// A turn that another vendor made.
fn foreign(dice: &mut Dice) -> Vec<Item> {
    let id = *dice.one(&["call_0_0", "functions.look:0", "", "toolu_01A09q90qw90lq917835lq9"]);
    let arguments = *dice.one(&["{}", "", "null", "{\"a\": \"cu", "[1]", "{\"a\": 1.10}"]);
    let items = json!([
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "sealed"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
        {"type": "function_call", "call_id": id, "name": "look", "arguments": arguments},
        {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}"},
    ]);
    let mut items: Vec<Item> =
        input_from(items).unwrap().iter().map(|item| Item::clone(item)).collect();
    items.iter_mut().for_each(|item| origin::mark(item, "elsewhere", "theirs"));
    for _ in 0..dice.below(3) {
        items.push(output(dice, id));
    }
    items
}

/// A turn of the vendor itself.
fn reply(dice: &mut Dice, dialect: &dyn Dialect, asked: &Asked) -> Vec<Item> {
    let cut = dice.below(4) == 0;
    let bodies = [
        responses(dice, cut),
        anthropic(dice, cut),
        google(dice, cut),
        chat(dice, cut),
        ollama(dice, cut),
    ];
    // Each dialect reads its own format and none of the others.
    let read = bodies.iter().find_map(|body| {
        let read = dialect.decode(body.to_string().as_bytes(), asked).ok()?;
        (!read.output.is_empty()).then_some(read.output)
    });
    read.unwrap_or_default()
}

fn arguments(cut: bool) -> &'static str {
    if cut { "{\"a\": \"cu" } else { "{\"a\": 1.10}" }
}

/// Any of the pieces of a turn may be missing.
fn some(dice: &mut Dice, pieces: Vec<Value>) -> Vec<Value> {
    pieces.into_iter().filter(|_| dice.below(4) > 0).collect()
}

fn responses(dice: &mut Dice, cut: bool) -> Value {
    let n = dice.below(1_000_000);
    let content = match dice.below(3) {
        0 => json!([]),
        1 => json!([{"type": "output_text", "text": "", "annotations": []}]),
        _ => json!([{"type": "output_text", "text": "Let me look.", "annotations": []}]),
    };
    let output = some(
        dice,
        vec![
            json!({"type": "reasoning", "id": format!("rs_{n}"), "summary": [], "encrypted_content": "sealed"}),
            json!({"type": "message", "id": format!("msg_{n}"), "role": "assistant", "content": content}),
            json!({"type": "function_call", "id": format!("fc_{n}"), "call_id": "call_1", "name": "look", "arguments": arguments(cut)}),
            json!({"type": "reasoning", "id": format!("rs_b{n}"), "summary": [], "encrypted_content": "sealed"}),
            json!({"type": "function_call", "id": format!("fc_b{n}"), "call_id": "call_1", "name": "look", "arguments": ""}),
        ],
    );
    let status = if cut { "incomplete" } else { "completed" };
    json!({"id": "resp_1", "model": "m", "status": status, "output": output})
}

fn anthropic(dice: &mut Dice, cut: bool) -> Value {
    let content = some(
        dice,
        vec![
            json!({"type": "thinking", "thinking": "Hm.", "signature": if cut { "" } else { "sealed" }}),
            json!({"type": "redacted_thinking", "data": "sealed"}),
            json!({"type": "text", "text": "Let me look. "}),
            json!({"type": "text", "text": ""}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}}),
            json!({"type": "thinking", "thinking": "Hm.", "signature": "sealed"}),
            json!({"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}),
        ],
    );
    let reason = if cut { "max_tokens" } else { "end_turn" };
    json!({"type": "message", "id": "msg_1", "model": "m", "role": "assistant", "stop_reason": reason, "content": content})
}

fn google(dice: &mut Dice, cut: bool) -> Value {
    let parts = some(
        dice,
        vec![
            json!({"text": "Hm.", "thought": true}),
            json!({"text": "Let me look."}),
            json!({"functionCall": {"name": "look", "args": {"a": 1}}, "thoughtSignature": "sealed"}),
            json!({"functionCall": {"name": "look", "args": {}}}),
            json!({"text": ""}),
        ],
    );
    let reason = if cut { "MAX_TOKENS" } else { "STOP" };
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}]})
}

fn chat(dice: &mut Dice, cut: bool) -> Value {
    let calls = some(
        dice,
        vec![
            json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": arguments(cut)}}),
            json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}),
            json!({"id": "", "type": "function", "function": {"name": "look", "arguments": "null"}}),
        ],
    );
    let content = *dice.one(&["Let me look.", "", " "]);
    let reason = if cut { "length" } else { "tool_calls" };
    json!({"model": "m", "choices": [{"finish_reason": reason, "message": {
        "role": "assistant", "content": content, "reasoning_content": "Hm.", "tool_calls": calls}}]})
}

fn ollama(dice: &mut Dice, cut: bool) -> Value {
    let calls = some(dice, vec![json!({"function": {"name": "look", "arguments": {"a": 1}}})]);
    let reason = if cut { "length" } else { "stop" };
    json!({"model": "m", "done": true, "done_reason": reason, "message": {
        "role": "assistant", "content": "Let me look.", "thinking": "Hm.", "tool_calls": calls}})
}
