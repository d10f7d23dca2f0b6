//! Speaks the *Responses* format as OpenAI, xAI and Azure do.
//! Called by the doors of these vendors.

use serde_json::{Value, json};

use super::{Asked, Said, THOUGHT, Turn, list, pieces, texts, word};
use crate::server::Answer;

pub fn read(body: &Value) -> Asked {
    let mut asked = Asked {
        model: word(&body["model"]),
        instructions: word(&body["instructions"]),
        stream: body["stream"] == true,
        ..Asked::default()
    };
    for item in list(&body["input"]) {
        match (item["type"].as_str(), item["role"].as_str()) {
            (Some("function_call"), _) => asked.turns.push(Turn::Call(word(&item["call_id"]))),
            (Some("function_call_output"), _) => asked
                .turns
                .push(Turn::Result { of: word(&item["call_id"]), text: texts(&item["output"]) }),
            (_, Some("user")) => {
                asked.turns.push(Turn::User(texts(&item["content"])));
                let images = list(&item["content"]).filter(|part| part["type"] == "input_image");
                asked.images += images.count();
            }
            (_, Some("assistant")) => asked.turns.push(Turn::Model),
            (_, Some(_)) => asked.instructions.push_str(&texts(&item["content"])),
            _ => {}
        }
    }
    for tool in list(&body["tools"]) {
        asked.tools.push((word(&tool["name"]), tool["parameters"].clone()));
    }
    let format = &body["text"]["format"];
    asked.schema = match format["type"].as_str() {
        Some("json_schema") => Some(format["schema"].clone()),
        Some("json_object") => Some(true.into()),
        _ => None,
    };
    asked
}

pub fn write(said: &Said, stream: bool) -> Answer {
    let output = output(said);
    let response = |status: &str, output: &[Value]| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status,
            "model": said.model, "output": output, "usage": {"input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 15}})
    };
    let whole = response("completed", &output);
    if !stream {
        return Answer::json(200, &whole.to_string());
    }
    let mut events = vec![
        json!({"type": "response.created", "response": response("in_progress", &[])}),
        json!({"type": "response.in_progress", "response": response("in_progress", &[])}),
    ];
    for (index, item) in output.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    let begun = Answer::stream("text/event-stream");
    let told = events.iter().enumerate().fold(begun, |answer, (number, event)| {
        let mut event = event.clone();
        event["sequence_number"] = number.into();
        answer.piece(&format!("event: {}\ndata: {event}\n\n", word(&event["type"])))
    });
    told.end()
}

fn output(said: &Said) -> Vec<Value> {
    let mut output = vec![
        json!({"id": "rs_1", "type": "reasoning",
            "summary": [{"type": "summary_text", "text": THOUGHT}]}),
        json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
            "content": [{"type": "output_text", "text": said.text, "annotations": []}]}),
    ];
    output.extend(said.calls.iter().map(|call| {
        json!({"id": format!("fc_{}", call.id), "type": "function_call", "status": "completed",
            "call_id": call.id, "name": call.name, "arguments": call.arguments.to_string()})
    }));
    output
}

/// An item, from its announcement over its pieces to its end.
fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut begun = item.clone();
    let id = &item["id"];
    let piece = |kind: &str, place: &str, text: &str| json!({"type": kind, "item_id": id, "output_index": index, place: 0, "delta": text});
    let (kind, place, text) = match item["type"].as_str() {
        Some("reasoning") => {
            begun["summary"] = json!([]);
            ("response.reasoning_summary_text.delta", "summary_index", texts(&item["summary"]))
        }
        Some("message") => {
            begun["content"] = json!([]);
            ("response.output_text.delta", "content_index", texts(&item["content"]))
        }
        _ => {
            begun["arguments"] = "".into();
            ("response.function_call_arguments.delta", "part", word(&item["arguments"]))
        }
    };
    let added = json!({"type": "response.output_item.added", "output_index": index, "item": begun});
    let done = json!({"type": "response.output_item.done", "output_index": index, "item": item});
    let told = pieces(&text).into_iter().map(|text| piece(kind, place, &text));
    std::iter::once(added).chain(told).chain([done]).collect()
}
