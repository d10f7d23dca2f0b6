//! Checks Ollama's format in both directions beyond what was recorded.
//! Replies here are made by hand after the documentation, except where a test says otherwise.

use std::sync::Arc;

use agent_world_core::item::{FunctionCallOutput, Item, MessageItem, Part, Role};
use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::*;
use crate::dialect::{Caps, StreamDecoder};
use crate::origin::Origin;
use crate::{
    Capabilities, Event, Format, FunctionTool, JsonSchema, ReasoningOptions, Status, Text, Tool,
    ToolChoice,
};

fn asked(model: &str) -> Asked {
    Asked {
        vendor: "ollama".into(),
        model: model.to_owned(),
        capabilities: Capabilities::of("ollama", model),
        stream: true,
    }
}

fn encoded(request: &Request, model: &str) -> Value {
    let outgoing = Ollama.encode(request, &asked(model)).unwrap();
    assert_eq!(outgoing.path, "/api/chat");
    serde_json::from_slice(&outgoing.body).unwrap()
}

fn conversation(items: Vec<Item>) -> Request {
    Request { input: items.into_iter().map(Arc::new).collect(), ..Request::default() }
}

fn messages(items: Vec<Item>) -> Value {
    encoded(&conversation(items), "qwen3-vl:8b")["messages"].clone()
}

fn stream(text: &str) -> Result<Response, Error> {
    let mut decoder = StreamDecoder::new(&Ollama, asked("qwen3:4b"), Caps::default());
    let mut events = decoder.push(&Bytes::copy_from_slice(text.as_bytes()))?;
    events.extend(decoder.end()?);
    match events.pop() {
        Some(Event::Completed(response)) => Ok(*response),
        last => panic!("the last event was {last:?}"),
    }
}

fn whole(body: &Value) -> Result<Response, Error> {
    Ollama.decode(body.to_string().as_bytes(), &asked("qwen3:4b"))
}

const THOUGHT_AND_CALLED: &str = concat!(
    r#"{"model":"qwen3:4b","created_at":"2026-08-04T19:59:02.5Z","message":{"role":"assistant","content":"","thinking":"Two "},"done":false}"#,
    "\n",
    r#"{"model":"qwen3:4b","created_at":"2026-08-04T19:59:03Z","message":{"role":"assistant","content":"","thinking":"files."},"done":false}"#,
    "\r\n\n",
    r#"{"model":"qwen3:4b","created_at":"2026-08-04T19:59:04Z","message":{"role":"assistant","content":"I look."},"done":false}"#,
    "\n",
    r#"{"model":"qwen3:4b","created_at":"2026-08-04T19:59:04Z","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_a","function":{"index":0,"name":"read","arguments":{"path": "ä.txt",  "lines":1.50}}},{"function":{"index":1,"name":"list","arguments":{}}}]},"done":false}"#,
    "\n",
    r#"{"model":"qwen3:4b","created_at":"2026-08-04T19:59:05Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":5,"total_duration":9}"#,
);

#[test]
fn a_stream_becomes_items() {
    let response = stream(THOUGHT_AND_CALLED).unwrap();
    assert_eq!((response.model.as_str(), response.created_at), ("qwen3:4b", Some(1_785_873_542)));
    assert_eq!(response.status, Status::Completed);
    let usage = response.usage.as_ref().unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (7, 5, 12));
    assert_eq!(usage.extra["total_duration"], json!(9));
    let [
        Item::Reasoning(thought),
        Item::Message(said),
        Item::FunctionCall(read),
        Item::FunctionCall(list),
    ] = response.output.as_slice()
    else {
        panic!("{:?}", response.output)
    };
    assert_eq!(thought.extra["content"], json!([{"type": "reasoning_text", "text": "Two files."}]));
    assert!(thought.summary.is_empty());
    assert_eq!(said.text(), "I look.");
    assert_eq!((read.call_id.as_str(), read.name.as_str()), ("call_a", "read"));
    // The text of the object is kept to the blank and the digit.
    assert_eq!(read.arguments, r#"{"path": "ä.txt",  "lines":1.50}"#);
    assert_eq!(list.arguments, "{}");
    for item in &response.output {
        let origin = Origin::by(item, "ollama").unwrap();
        assert_eq!(origin.model(), Some("qwen3:4b"));
    }
}

#[test]
fn a_whole_reply_gives_the_same_items_as_a_stream() {
    let body = r#"{"model":"qwen3:4b","created_at":"2026-08-04T19:59:02.5Z","message":{"role":"assistant","thinking":"Two files.","content":"I look.","tool_calls":[{"id":"call_a","function":{"index":0,"name":"read","arguments":{"path": "ä.txt",  "lines":1.50}}},{"function":{"index":1,"name":"list","arguments":{}}}]},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":5,"total_duration":9}"#;
    let whole = Ollama.decode(body.as_bytes(), &asked("qwen3:4b")).unwrap();
    assert_eq!(whole, stream(THOUGHT_AND_CALLED).unwrap());
    // And so does a server that streams without having been asked to.
    let streamed = Ollama.decode(THOUGHT_AND_CALLED.as_bytes(), &asked("qwen3:4b")).unwrap();
    assert_eq!(whole, streamed);
}

#[test]
fn what_the_vendor_sent_comes_back_exactly() {
    let mut items = stream(THOUGHT_AND_CALLED).unwrap().output;
    let made = match &items[3] {
        Item::FunctionCall(call) => call.call_id.clone(),
        other => panic!("{other:?}"),
    };
    items.insert(0, Item::user("What is there?"));
    items.push(Item::output(made, "two files"));
    items.push(Item::output("call_a", "hello"));
    let request = conversation(items);
    let body = Ollama.encode(&request, &asked("qwen3:4b")).unwrap().body;
    let text = String::from_utf8(body.clone()).unwrap();
    assert!(text.contains(r#""arguments":{"path": "ä.txt",  "lines":1.50}"#), "{text}");
    assert!(!text.contains("origin") && !text.contains("made_id"), "{text}");
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": "What is there?"},
            {"role": "assistant", "content": "I look.", "thinking": "Two files.", "tool_calls": [
                {"id": "call_a", "function": {"index": 0, "name": "read", "arguments": {"path": "ä.txt", "lines": 1.5}}},
                {"function": {"index": 1, "name": "list", "arguments": {}}},
            ]},
            {"role": "tool", "content": "two files", "tool_name": "list"},
            {"role": "tool", "content": "hello", "tool_name": "read", "tool_call_id": "call_a"},
        ])
    );
}

#[test]
fn a_call_without_an_id_gets_one_that_no_other_reply_has() {
    let reply = |time: &str| {
        whole(&json!({"created_at": time, "done": true, "message": {"tool_calls": [
            {"function": {"name": "a", "arguments": {}}},
            {"id": "", "function": {"name": "b", "arguments": {}}},
        ]}}))
        .unwrap()
    };
    let ids = |response: &Response| -> Vec<String> {
        response.calls().map(|call| call.call_id.clone()).collect()
    };
    let first = reply("2026-08-04T19:59:02.854866Z");
    assert_eq!(ids(&first), ["call_20260804195902854866_0", "call_20260804195902854866_1"]);
    assert_ne!(ids(&first), ids(&reply("2026-08-04T19:59:09Z")));
    assert_eq!(ids(&reply(""))[0], "call_0_0");
    let made = |item: &Item| Origin::of(item).unwrap().get("made_id").cloned();
    assert_eq!(made(&first.output[0]), Some(json!(true)));
}

#[test]
fn a_call_without_arguments_is_an_empty_object() {
    for arguments in [json!(null), json!({}), json!("")] {
        let reply = whole(&json!({"done": true, "message": {"tool_calls": [
            {"id": "c", "function": {"name": "now", "arguments": arguments}},
        ]}}));
        assert_eq!(reply.unwrap().calls().next().unwrap().arguments, "{}");
    }
    let absent = whole(&json!({"done": true, "message": {"tool_calls": [
        {"id": "c", "function": {"name": "now"}}, {"id": "d"},
    ]}}));
    let absent = absent.unwrap();
    assert_eq!(absent.calls().count(), 1);
    assert_eq!(absent.calls().next().unwrap().arguments, "{}");
}

#[test]
fn arguments_that_came_as_text_are_that_text() {
    let reply = whole(&json!({"done": true, "message": {"tool_calls": [
        {"id": "c", "function": {"name": "now", "arguments": "{\"a\": 1}"}},
    ]}}));
    assert_eq!(reply.unwrap().calls().next().unwrap().arguments, "{\"a\": 1}");
}

#[test]
fn the_reason_of_the_end_decides_the_status() {
    let end = |reason: Value| {
        whole(&json!({"model": "m", "done": true, "done_reason": reason, "message": {"content": "x"}}))
            .unwrap()
    };
    for natural in [json!("stop"), json!("load"), json!("unload"), json!(null), json!("new")] {
        assert_eq!(end(natural).status, Status::Completed);
    }
    let cut = end(json!("length"));
    assert_eq!(cut.status, Status::Incomplete);
    assert_eq!(cut.incomplete_details.unwrap().reason, "max_output_tokens");
    let empty = whole(&json!({"done": true, "done_reason": "load"})).unwrap();
    assert!(empty.output.is_empty() && empty.usage.is_none());
}

// Made by hand: nothing was recorded.
#[test]
fn a_stream_without_its_end_is_cut() {
    let lines: Vec<&str> = THOUGHT_AND_CALLED.lines().collect();
    let (end, rest) = lines.split_last().unwrap();
    let cut = stream(&rest.join("\n")).unwrap_err();
    assert_eq!(cut.class, Class::StreamCut);
    let in_the_middle = format!("{}\n{}", rest.join("\n"), &end[..40]);
    assert_eq!(stream(&in_the_middle).unwrap_err().class, Class::StreamCut);
    assert_eq!(stream("").unwrap_err().class, Class::StreamCut);
    let whole = whole(&json!({"message": {"content": "x"}, "done": false})).unwrap_err();
    assert_eq!(whole.class, Class::StreamCut);
}

// Made by hand: nothing was recorded.
#[test]
fn an_error_can_come_as_a_line_of_the_stream_or_as_the_body() {
    let line = r#"{"error":"an error was encountered while running the model: unexpected EOF"}"#;
    let begun = format!("{}\n{line}\n", THOUGHT_AND_CALLED.lines().next().unwrap());
    let error = stream(&begun).unwrap_err();
    assert_eq!((error.class, error.vendor.as_str()), (Class::Server, "ollama"));
    assert!(error.message.contains("unexpected EOF"), "{error}");
    let error = Ollama.decode(line.as_bytes(), &asked("m")).unwrap_err();
    assert_eq!(error.class, Class::Server);
    let limited = stream(r#"{"error":"too many","status":429}"#).unwrap_err();
    assert!(matches!(limited.class, Class::RateLimited { .. }), "{limited:?}");
    let missing = Ollama.explain(404, br#"{"error":"model 'nope' not found"}"#, &asked("nope"));
    assert_eq!(missing.class, Class::UnknownModel);
    let tools = br#"{"error":"registry.ollama.ai/library/gemma:2b does not support tools"}"#;
    assert_eq!(Ollama.explain(400, tools, &asked("gemma:2b")).class, Class::InvalidRequest);
}

#[test]
fn what_is_no_reply_is_an_error_and_no_panic() {
    for body in ["", "null", "7", "[]", "[1]", "\"x\"", "{", "{}", "<html>", "{\"message\":7}"] {
        assert!(Ollama.decode(body.as_bytes(), &asked("m")).is_err(), "{body}");
        assert!(stream(body).is_err(), "{body}");
    }
    assert!(Ollama.decode(&[0xff, 0xfe], &asked("m")).is_err());
}

#[test]
fn absurd_numbers_are_no_usage() {
    let reply = whole(&json!({"done": true, "message": {"content": "x"},
        "prompt_eval_count": -1, "eval_count": 1e300, "total_duration": "long"}));
    assert_eq!(reply.unwrap().usage, None);
    let most = whole(&json!({"done": true, "prompt_eval_count": u64::MAX, "eval_count": 5}));
    assert_eq!(most.unwrap().usage.unwrap().total_tokens, u64::MAX);
}

#[test]
fn parameters_go_where_ollama_looks_for_them() {
    let request = Request {
        instructions: "Be brief.".to_owned(),
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_output_tokens: Some(100),
        text: Some(Text { format: Some(Format::JsonObject), ..Text::default() }),
        prompt_cache_key: Some("k".to_owned()),
        store: Some(false),
        ..Request::new("qwen3:4b", "Hello")
    };
    assert_eq!(
        encoded(&request, "qwen3:4b"),
        json!({
            "model": "qwen3:4b",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hello"},
            ],
            "stream": true,
            "format": "json",
            "options": {"num_predict": 100, "temperature": 0.5, "top_p": 0.9},
        })
    );
    let schema = json!({"type": "object", "properties": {"b": {}, "a": {}}});
    let format = Format::JsonSchema(JsonSchema {
        name: "answer".to_owned(),
        description: None,
        schema: schema.clone(),
        strict: true,
        extra: Map::new(),
    });
    let request = Request {
        text: Some(Text { format: Some(format), ..Text::default() }),
        ..Request::new("m", "Hello")
    };
    assert_eq!(encoded(&request, "m")["format"], schema);
}

#[test]
fn settings_of_this_vendor_are_merged_over_the_rest() {
    let request = Request {
        temperature: Some(0.5),
        vendor_options: serde_json::from_value(json!({
            "ollama": {"keep_alive": "10m", "options": {"num_ctx": 8192}, "stream": false},
            "openai": {"seed": 1},
        }))
        .unwrap(),
        ..Request::new("m", "Hello")
    };
    let body = encoded(&request, "m");
    assert_eq!(body["options"], json!({"temperature": 0.5, "num_ctx": 8192}));
    assert_eq!((&body["keep_alive"], &body["stream"]), (&json!("10m"), &json!(false)));
    assert_eq!(body.get("seed"), None);
}

#[test]
fn the_effort_is_a_switch_but_for_models_that_know_words() {
    let think = |model: &str, effort: &str| {
        let reasoning =
            ReasoningOptions { effort: Some(effort.to_owned()), ..ReasoningOptions::default() };
        let request = Request { reasoning: Some(reasoning), ..Request::new(model, "x") };
        encoded(&request, model).get("think").cloned()
    };
    assert_eq!(think("qwen3:4b", "none"), Some(json!(false)));
    assert_eq!(think("qwen3:4b", "minimal"), Some(json!(true)));
    assert_eq!(think("somebody/new", "high"), Some(json!(true)));
    assert_eq!(think("gpt-oss:20b", "none"), Some(json!("low")));
    assert_eq!(think("gpt-oss:20b", "medium"), Some(json!("medium")));
    assert_eq!(think("gpt-oss:120b-cloud", "xhigh"), Some(json!("high")));
    assert_eq!(think("llama3.2:3b", "high"), None);
    assert_eq!(encoded(&Request::new("qwen3:4b", "x"), "qwen3:4b").get("think"), None);
}

#[test]
fn a_choice_of_tools_is_made_by_offering_no_others() {
    let tool = |name: &str| {
        Tool::Function(FunctionTool {
            name: name.to_owned(),
            description: String::new(),
            parameters: Arc::new(Value::Null),
            strict: true,
            extra: Map::new(),
        })
    };
    let offered = |choice: Value| -> Vec<String> {
        let request = Request {
            tools: vec![tool("a"), tool("b"), Tool::Unknown(json!({"type": "web_search"}))],
            tool_choice: Some(ToolChoice::from(choice)),
            ..Request::new("m", "x")
        };
        let body = encoded(&request, "m");
        let tools = body.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
        for tool in &tools {
            assert_eq!(tool["function"]["parameters"], json!({"type": "object", "properties": {}}));
            assert_eq!(tool["function"].get("strict"), None);
        }
        let name = |tool: &Value| tool["function"]["name"].as_str().unwrap().to_owned();
        tools.iter().map(name).collect()
    };
    assert_eq!(offered(json!("auto")), ["a", "b"]);
    assert_eq!(offered(json!("required")), ["a", "b"]);
    assert!(offered(json!("none")).is_empty());
    assert_eq!(offered(json!({"type": "function", "name": "b"})), ["b"]);
    let allowed = json!({"type": "allowed_tools", "mode": "auto",
        "tools": [{"type": "function", "name": "a"}]});
    assert_eq!(offered(allowed), ["a"]);
}

fn said(role: Role, content: Value) -> Item {
    let content: Vec<Part> = serde_json::from_value(content).unwrap();
    Item::Message(MessageItem { id: None, role, content, extra: Map::new() })
}

#[test]
fn images_go_beside_the_text_and_addresses_in_words() {
    let content = json!([
        {"type": "input_text", "text": "What is"},
        {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
        {"type": "input_text", "text": "this?"},
        {"type": "input_image", "image_url": "https://example.org/a.png"},
        {"type": "input_image", "image_url": "data:image/svg+xml,%3Csvg%3E"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
    ]);
    let sent = messages(vec![said(Role::User, content.clone())]);
    assert_eq!(
        sent,
        json!([{"role": "user", "images": ["QUJD"], "content": "What is\nthis?\n\
            [image: https://example.org/a.png]\n[an image that this model cannot be shown]\n\
            [file a.pdf, which this model cannot be shown]"}])
    );
    // A model that sees nothing is told so.
    let blind = encoded(&conversation(vec![said(Role::User, content)]), "gpt-oss:20b");
    assert_eq!(blind["messages"][0].get("images"), None);
}

#[test]
fn results_can_be_parts_texts_or_any_json() {
    let result = |output: Value| {
        let call = Item::call("c", "look", &json!({}));
        let output = FunctionCallOutput { call_id: "c".to_owned(), output, extra: Map::new() };
        messages(vec![call, Item::FunctionCallOutput(output)])[1].clone()
    };
    let message = |content: &str| json!({"role": "tool", "content": content, "tool_name": "look", "tool_call_id": "c"});
    assert_eq!(result(json!("plain")), message("plain"));
    assert_eq!(result(json!(null)), message(""));
    assert_eq!(result(json!({"b": 1, "a": 2})), message(r#"{"b":1,"a":2}"#));
    assert_eq!(result(json!([1, 2])), message("[1,2]"));
    let mut shown = message("seen");
    shown["images"] = json!(["QUJD"]);
    let parts = json!([
        {"type": "input_text", "text": "seen"},
        {"type": "input_image", "image_url": "data:image/png;base64,QUJD"},
    ]);
    assert_eq!(result(parts), shown);
}

#[test]
fn results_without_calls_and_calls_without_results_are_sent() {
    let sent = messages(vec![
        Item::output("gone", "late"),
        Item::call("c", "look", &json!({"a": 1})),
        Item::user("Never mind."),
    ]);
    assert_eq!(
        sent,
        json!([
            {"role": "tool", "content": "late", "tool_call_id": "gone"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "c", "function": {"name": "look", "arguments": {"a": 1}}}]},
            {"role": "user", "content": "Never mind."},
        ])
    );
}

#[test]
fn arguments_that_are_no_object_are_put_in_one() {
    let sent = |arguments: &str| {
        let mut call = Item::call("c", "look", &json!({}));
        if let Item::FunctionCall(call) = &mut call {
            arguments.clone_into(&mut call.arguments);
        }
        messages(vec![call])[0]["tool_calls"][0]["function"]["arguments"].clone()
    };
    assert_eq!(sent(""), json!({}));
    assert_eq!(sent("null"), json!({}));
    assert_eq!(sent(" {\"a\": 1} "), json!({"a": 1}));
    assert_eq!(sent("{\"a\": "), json!({"arguments": "{\"a\": "}));
    assert_eq!(sent("[1]"), json!({"arguments": "[1]"}));
    assert_eq!(sent("{\"a\": 1e999}"), json!({"arguments": "{\"a\": 1e999}"}));
}

#[test]
fn another_vendors_conversation_is_converted_and_nothing_foreign_is_sent() {
    let mut thought: Item = serde_json::from_value(json!({
        "type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "sealed",
    }))
    .unwrap();
    let mut call: Item = serde_json::from_value(json!({
        "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}",
    }))
    .unwrap();
    let mut spoken = said(
        Role::Assistant,
        json!([
            {"type": "output_text", "text": "One", "annotations": [{"type": "url_citation"}]},
            {"type": "output_text", "text": ", two."},
        ]),
    );
    for item in [&mut thought, &mut call, &mut spoken] {
        crate::origin::mark(item, "openai", "gpt-x");
        crate::origin::note(item, "index", json!(9));
    }
    let search = Item::Unknown(json!({"type": "web_search_call", "id": "ws_1"}));
    let refusal = said(Role::Assistant, json!([{"type": "refusal", "refusal": "No."}]));
    let body = encoded(
        &conversation(vec![
            said(Role::Developer, json!([{"type": "input_text", "text": "Rules."}])),
            Item::user("Look."),
            thought,
            search,
            spoken,
            call,
            Item::output("call_1", "done"),
            refusal,
            Item::assistant("Sorry."),
            said(Role::Assistant, json!([])),
            said(Role::User, json!([{"type": "input_text", "text": ""}])),
        ]),
        "qwen3:4b",
    );
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Rules."},
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": "One, two.", "tool_calls": [
                {"id": "call_1", "function": {"name": "look", "arguments": {}}}]},
            {"role": "tool", "content": "done", "tool_name": "look", "tool_call_id": "call_1"},
            {"role": "assistant", "content": "No.\n\nSorry."},
        ])
    );
    let text = body.to_string();
    for foreign in ["origin", "openai", "sealed", "rs_1", "fc_1", "web_search", "url_citation"] {
        assert!(!text.contains(foreign), "{foreign}: {text}");
    }
}
