//! Decides how a response looks in the older format: one message whole, or the same message in chunks.
//! Called by the route. Thoughts are left out, as the format has no place for them; what waits for a person is put in
//! words, as nothing else can be said of it there.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// A completion, in the format of OpenAI's chat completions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ChatCompletion {
    pub id: String,
    /// Always `chat.completion`.
    pub object: &'static str,
    pub created: i64,
    pub model: String,
    /// Exactly one.
    #[schema(value_type = Vec<Object>)]
    pub choices: Vec<Value>,
    #[schema(value_type = Object)]
    pub usage: Value,
    pub service_tier: Option<String>,
    pub system_fingerprint: Option<String>,
}

pub(super) fn completion(response: &Value) -> ChatCompletion {
    let output = response.get("output").and_then(Value::as_array);
    let (mut content, mut refusal, mut calls) = (String::new(), String::new(), Vec::new());
    for item in output.into_iter().flatten() {
        match text(item, "type") {
            "message" => {
                for part in item.get("content").and_then(Value::as_array).into_iter().flatten() {
                    content.push_str(text(part, "text"));
                    refusal.push_str(text(part, "refusal"));
                }
            }
            "function_call" => calls.push(call(item, text(item, "arguments"))),
            "mcp_approval_request" => content.push_str(&waiting(item)),
            _ => {}
        }
    }
    let finish = finish(response, !calls.is_empty());
    let mut message = Map::new();
    let mut put = |name: &str, value: Value| message.insert(name.to_owned(), value);
    put("role", "assistant".into());
    put("content", or_null(&content));
    put("refusal", or_null(&refusal));
    if !calls.is_empty() {
        put("tool_calls", calls.into());
    }
    let choice = json!({"index": 0, "message": message, "logprobs": null, "finish_reason": finish});
    ChatCompletion {
        id: completion_id(response),
        object: "chat.completion",
        created: response.get("created_at").and_then(Value::as_i64).unwrap_or_default(),
        model: text(response, "model").to_owned(),
        choices: vec![choice],
        usage: usage(response),
        service_tier: response.get("service_tier").and_then(Value::as_str).map(str::to_owned),
        system_fingerprint: None,
    }
}

/// Writes the chunks of one completion.
#[derive(Debug)]
pub(super) struct Chunks {
    usage: bool,
    /// What every chunk repeats.
    head: Map<String, Value>,
    /// The calls told, by the item that holds them.
    calls: BTreeMap<u64, usize>,
}

impl Chunks {
    pub fn new(usage: bool) -> Self {
        Self { usage, head: Map::new(), calls: BTreeMap::new() }
    }

    /// The chunks for an event.
    pub fn of(&mut self, event: &Value) -> Vec<Value> {
        let index = event.get("output_index").and_then(Value::as_u64).unwrap_or_default();
        match text(event, "type") {
            "response.created" => {
                self.begin(event.get("response").unwrap_or(&Value::Null));
                vec![self.chunk(json!({"role": "assistant", "content": ""}), Value::Null)]
            }
            "response.output_text.delta" => {
                vec![self.chunk(json!({"content": text(event, "delta")}), Value::Null)]
            }
            "response.refusal.delta" => {
                vec![self.chunk(json!({"refusal": text(event, "delta")}), Value::Null)]
            }
            "response.output_item.added" => {
                self.item(index, event.get("item").unwrap_or(&Value::Null))
            }
            "response.function_call_arguments.delta" => {
                let Some(place) = self.calls.get(&index) else { return Vec::new() };
                let piece =
                    json!({"index": place, "function": {"arguments": text(event, "delta")}});
                vec![self.chunk(json!({"tool_calls": [piece]}), Value::Null)]
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.end(event.get("response").unwrap_or(&Value::Null))
            }
            _ => Vec::new(),
        }
    }

    fn begin(&mut self, response: &Value) {
        let mut put = |name: &str, value: Value| self.head.insert(name.to_owned(), value);
        put("id", completion_id(response).into());
        put("object", "chat.completion.chunk".into());
        put("created", response.get("created_at").cloned().unwrap_or_default());
        put("model", text(response, "model").into());
        put("system_fingerprint", Value::Null);
    }

    fn item(&mut self, index: u64, item: &Value) -> Vec<Value> {
        match text(item, "type") {
            "function_call" => {
                let place = self.calls.len();
                self.calls.insert(index, place);
                let mut call = call(item, "");
                if let Value::Object(fields) = &mut call {
                    fields.insert("index".to_owned(), place.into());
                }
                vec![self.chunk(json!({"tool_calls": [call]}), Value::Null)]
            }
            "mcp_approval_request" => {
                vec![self.chunk(json!({"content": waiting(item)}), Value::Null)]
            }
            _ => Vec::new(),
        }
    }

    fn end(&mut self, response: &Value) -> Vec<Value> {
        let finish = finish(response, !self.calls.is_empty());
        let mut chunks = vec![self.chunk(json!({}), finish.into())];
        if self.usage {
            let mut last = self.head.clone();
            last.insert("choices".to_owned(), json!([]));
            last.insert("usage".to_owned(), usage(response));
            chunks.push(Value::Object(last));
        }
        chunks
    }

    fn chunk(&self, delta: Value, finish: Value) -> Value {
        let mut chunk = self.head.clone();
        let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish});
        chunk.insert("choices".to_owned(), json!([choice]));
        if self.usage {
            chunk.insert("usage".to_owned(), Value::Null);
        }
        Value::Object(chunk)
    }
}

fn call(item: &Value, arguments: &str) -> Value {
    json!({
        "id": text(item, "call_id"),
        "type": "function",
        "function": {"name": text(item, "name"), "arguments": arguments},
    })
}

/// A call of an agent that waits for a person.
fn waiting(item: &Value) -> String {
    format!(
        "[{} waits for approval with {}; decide {} in Agent World]",
        text(item, "name"),
        text(item, "arguments"),
        text(item, "id"),
    )
}

fn finish(response: &Value, calls: bool) -> &'static str {
    let reason = response.get("incomplete_details").map(|details| text(details, "reason"));
    match (reason, calls) {
        (Some("content_filter"), _) => "content_filter",
        (Some(reason), _) if !reason.is_empty() => "length",
        (_, true) => "tool_calls",
        (_, false) => "stop",
    }
}

fn usage(response: &Value) -> Value {
    let usage = response.get("usage").unwrap_or(&Value::Null);
    let count = |path: &str| usage.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    json!({
        "prompt_tokens": count("/input_tokens"),
        "completion_tokens": count("/output_tokens"),
        "total_tokens": count("/total_tokens"),
        "prompt_tokens_details": {"cached_tokens": count("/input_tokens_details/cached_tokens")},
        "completion_tokens_details": {"reasoning_tokens": count("/output_tokens_details/reasoning_tokens")},
    })
}

fn completion_id(response: &Value) -> String {
    text(response, "id").replacen("resp_", "chatcmpl-", 1)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn or_null(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}
