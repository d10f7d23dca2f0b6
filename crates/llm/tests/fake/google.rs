//! Speaks the `generateContent` format as Google's Gemini does. Calls go by the names of their functions.
//! Called by the door of that vendor, which reads the model and the wish for a stream from the address.

use serde_json::{Value, json};

use super::{Asked, Said, THOUGHT, Turn, list, pieces, texts, word};
use crate::server::Answer;

pub fn read(body: &Value) -> Asked {
    let mut asked =
        Asked { instructions: texts(&body["systemInstruction"]["parts"]), ..Asked::default() };
    for content in list(&body["contents"]) {
        for part in list(&content["parts"]) {
            let call = &part["functionCall"];
            let result = &part["functionResponse"];
            if call.is_object() {
                asked.turns.push(Turn::Call(word(&call["name"])));
            } else if result.is_object() {
                let fields = result["response"].as_object().into_iter().flatten();
                let text = fields.map(|(_, value)| texts(value)).collect();
                asked.turns.push(Turn::Result { of: word(&result["name"]), text });
            } else if part["inlineData"].is_object() || part["fileData"].is_object() {
                asked.images += 1;
            }
        }
        let text = texts(&content["parts"]);
        match content["role"].as_str() {
            Some("model") => asked.turns.push(Turn::Model),
            _ if text.is_empty() => {}
            _ => asked.turns.push(Turn::User(text)),
        }
    }
    for tool in list(&body["tools"]) {
        for function in list(&tool["functionDeclarations"]) {
            let schema = function["parametersJsonSchema"].clone();
            asked.tools.push((word(&function["name"]), schema));
        }
    }
    let generation = &body["generationConfig"];
    if generation["responseMimeType"] == "application/json" {
        let schema = generation["responseJsonSchema"].clone();
        asked.schema = Some(if schema.is_object() { schema } else { true.into() });
    }
    asked
}

pub fn write(said: &Said, stream: bool) -> Answer {
    let thought = json!({"text": THOUGHT, "thought": true});
    let calls = said.calls.iter().enumerate().map(|(place, call)| {
        let mut part = json!({"functionCall": {"name": call.name, "args": call.arguments}});
        // Of several calls in one turn the first is signed.
        if place == 0 {
            part["thoughtSignature"] = "c2lnbmVk".into();
        }
        part
    });
    let chunk = |parts: Vec<Value>, finish: Value| {
        json!({"responseId": "r1", "modelVersion": said.model,
            "candidates": [{"index": 0, "finishReason": finish,
                "content": {"role": "model", "parts": parts}}],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 4,
                "thoughtsTokenCount": 1, "totalTokenCount": 15}})
    };
    if !stream {
        let mut parts = vec![thought, json!({"text": said.text})];
        parts.extend(calls);
        return Answer::json(200, &chunk(parts, "STOP".into()).to_string());
    }
    let mut chunks = vec![chunk(vec![thought], Value::Null)];
    let texts = pieces(&said.text).into_iter();
    chunks.extend(texts.map(|text| chunk(vec![json!({"text": text})], Value::Null)));
    chunks.push(chunk(calls.collect(), "STOP".into()));
    let begun = Answer::stream("text/event-stream");
    chunks.iter().fold(begun, |answer, chunk| answer.event(&chunk.to_string())).end()
}
