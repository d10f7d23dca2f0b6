//! Requests in the Messages format: what is sent back to the vendor, and what becomes of what it would refuse.

use std::sync::Arc;

use agent_world_core::item::{FunctionCall, FunctionCallOutput, Item, Part, Role};
use serde_json::{Map, Value, json};

use super::Anthropic;
use crate::dialect::{Asked, Dialect as _, Outgoing};
use crate::{Capabilities, Request, input_from};

/// Thinks within a budget, takes no messages of the system between others.
const OLDER: &str = "claude-haiku-4-5";
/// Decides itself how much to think, takes messages of the system.
const NEWER: &str = "claude-opus-4-8";
/// Always thinks, refuses forced calls, binds its thoughts to the conversation.
const NEWEST: &str = "claude-opus-5-5";

fn asked(model: &str) -> Asked {
    Asked {
        vendor: "anthropic".into(),
        model: model.to_owned(),
        capabilities: Capabilities::of("anthropic", model),
        stream: false,
    }
}

fn request(fields: Value) -> Request {
    serde_json::from_value(fields).unwrap()
}

fn outgoing(request: &Request, model: &str) -> Outgoing {
    Anthropic.encode(request, &asked(model)).unwrap()
}

fn sent(request: &Request, model: &str) -> Value {
    serde_json::from_slice(&outgoing(request, model).body).unwrap()
}

fn messages(input: Value, model: &str) -> Value {
    sent(&request(json!({ "input": input })), model)["messages"].clone()
}

fn header<'a>(outgoing: &'a Outgoing, name: &str) -> Option<&'a str> {
    outgoing.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn said(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn replied(body: &str) -> Vec<Arc<Item>> {
    let response = Anthropic.decode(body.as_bytes(), &asked(OLDER)).unwrap();
    response.output.into_iter().map(Arc::new).collect()
}

/// A reply with everything that must survive.
const REPLY: &str = r#"{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [
    {"type": "thinking", "thinking": "first,\n then", "signature": "c2ln/+=="},
    {"type": "redacted_thinking", "data": "cmVk"},
    {"type": "text", "text": "I search. "},
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result", "url": "https://a.example", "encrypted_content": "ZW5j", "page_age": null}]},
    {"type": "text", "text": "It says ", "citations": null},
    {"type": "text", "text": "so", "citations": [{"type": "web_search_result_location", "url": "https://a.example", "title": "A", "encrypted_index": "aWR4", "cited_text": "so"}]},
    {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"b" :  1.0e2,"a":[ ], "é": "\u00e9"}, "caller": {"type": "direct"}},
    {"type": "tool_use", "id": "toolu_2", "name": "look", "input": {}}
], "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}}"#;

#[test]
fn what_the_vendor_sent_goes_back_as_it_came() {
    let mut request = request(json!({"input": "go"}));
    request.input.extend(replied(REPLY));
    request.input.push(Arc::new(Item::output("toolu_1", "one")));
    request.input.push(Arc::new(Item::output("toolu_2", "two")));
    request.input.push(Arc::new(Item::user("and now?")));
    let outgoing = outgoing(&request, OLDER);
    let body = String::from_utf8(outgoing.body).unwrap();
    assert!(body.contains(r#"{"b" :  1.0e2,"a":[ ], "é": "\u00e9"}"#), "arguments in other words");
    assert!(!body.contains("origin") && !body.contains("anthropic:"));

    let body: Value = serde_json::from_str(&body).unwrap();
    let mut recorded: Value = serde_json::from_str(REPLY).unwrap();
    recorded["content"][5].as_object_mut().unwrap().shift_remove("citations");
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": said("go")},
            {"role": "assistant", "content": recorded["content"]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"},
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "two"},
                {"type": "text", "text": "and now?"},
            ]},
        ])
    );
}

#[test]
fn a_log_of_the_conversation_replays_like_the_conversation() {
    let mut request = request(json!({"input": "go"}));
    request.input.extend(replied(REPLY));
    let logged = serde_json::to_string(&request.input).unwrap();
    let mut again = request.clone();
    again.input = input_from(serde_json::from_str(&logged).unwrap()).unwrap();
    assert_eq!(sent(&again, OLDER), sent(&request, OLDER));
}

#[test]
fn nothing_of_this_vendor_is_sent_to_one_of_another_name() {
    let mut request = request(json!({"input": "go"}));
    request.input.extend(replied(REPLY));
    let other = Asked { vendor: "elsewhere".into(), ..asked(OLDER) };
    let body = String::from_utf8(Anthropic.encode(&request, &other).unwrap().body).unwrap();
    for hidden in ["c2ln", "cmVk", "ZW5j", "aWR4", "srvtoolu", "thinking", "caller", "origin"] {
        assert!(!body.contains(hidden), "{hidden} was sent");
    }
    for kept in ["I search. ", "It says ", "toolu_1", "1.0e2"] {
        assert!(body.contains(kept), "{kept} was lost");
    }
}

#[test]
fn a_conversation_of_another_vendor_is_converted() {
    let input = json!([
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": [
            {"type": "input_text", "text": "see"},
            {"type": "input_image", "file_id": "file-foreign"},
            {"type": "input_audio", "input_audio": {"data": "AAAA"}},
        ]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}],
         "encrypted_content": "gAAA", "origin": {"vendor": "openai"}},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "origin": {"vendor": "openai"}},
        {"type": "message", "id": "msg_1", "role": "assistant", "origin": {"vendor": "openai"}, "content": [
            {"type": "output_text", "text": "well", "annotations": [{"type": "url_citation", "url": "u"}]},
            {"type": "refusal", "refusal": "but no"},
        ]},
        {"type": "function_call", "id": "fc_1", "call_id": "call.1|x", "name": "a.tool", "arguments": "",
         "origin": {"vendor": "google", "thoughtSignature": "sig"}},
        {"type": "function_call_output", "call_id": "call.1|x", "output": {"rows": [1, 2]}},
    ]);
    assert_eq!(
        messages(input, OLDER),
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "text", "text": "[an image that this model cannot be shown]"},
                {"type": "text", "text": "[input_audio, which this model cannot be shown]"},
            ]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "well"},
                {"type": "text", "text": "but no"},
                {"type": "tool_use", "id": "call_1_x", "name": "a_tool", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "call_1_x", "content": "{\"rows\":[1,2]}"},
            ]},
        ])
    );
}

#[test]
fn a_thought_behind_the_words_of_another_vendor_in_the_same_turn_is_left_out() {
    let mut request = request(json!({"input": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "begun elsewhere"},
    ]}));
    request.input.extend(replied(REPLY));
    let body = sent(&request, OLDER);
    let blocks = body["messages"][1]["content"].as_array().unwrap();
    assert_eq!(blocks[0]["text"], "begun elsewhere");
    assert!(blocks.iter().all(|block| block["type"] != "thinking"));
}

#[test]
fn results_stand_directly_behind_their_calls() {
    let input = json!([
        {"role": "user", "content": "go"},
        {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{}"},
        {"role": "user", "content": "meanwhile"},
        {"type": "function_call", "call_id": "b", "name": "t", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "B"},
        {"type": "function_call_output", "call_id": "a", "output": "A", "is_error": true},
    ]);
    assert_eq!(
        messages(input, OLDER),
        json!([
            {"role": "user", "content": said("go")},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "A", "is_error": true},
                {"type": "text", "text": "meanwhile"},
            ]},
            {"role": "assistant", "content": [{"type": "tool_use", "id": "b", "name": "t", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "b", "content": "B"}]},
        ])
    );
}

#[test]
fn a_call_without_result_gets_a_stand_in_and_a_result_without_call_is_told() {
    let input = json!([
        {"type": "function_call_output", "call_id": "cut", "output": "of old"},
        {"type": "function_call", "call_id": "a", "name": "t", "arguments": "{\"x\": "},
        {"role": "user", "content": "never mind"},
    ]);
    assert_eq!(
        messages(input, OLDER),
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "[the result of an earlier tool call]"},
                {"type": "text", "text": "of old"},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "t", "input": {"unreadable_arguments": "{\"x\":"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "[no result: this call was not carried out]", "is_error": true},
                {"type": "text", "text": "never mind"},
            ]},
        ])
    );
}

#[test]
fn ids_that_repeat_or_do_not_fit_are_told_apart() {
    let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "t", "arguments": "null"});
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let input = json!([
        call("x"),
        output("x", "1"),
        call("x"),
        output("x", "2"),
        call("a.b"),
        call("a_b"),
        call(""),
        output("a_b", "4"),
        output("a.b", "3"),
        output("", "5"),
    ]);
    let messages = messages(input, OLDER);
    let blocks =
        messages.as_array().unwrap().iter().flat_map(|turn| turn["content"].as_array().unwrap());
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for block in blocks {
        match block["type"].as_str().unwrap() {
            "tool_use" => calls.push(block["id"].as_str().unwrap()),
            _ => results
                .push((block["tool_use_id"].as_str().unwrap(), block["content"].as_str().unwrap())),
        }
    }
    assert_eq!(calls, ["x", "x_2", "a_b", "a_b_2", "call"]);
    assert_eq!(results, [("x", "1"), ("x_2", "2"), ("a_b", "3"), ("a_b_2", "4"), ("call", "5")]);
}

#[test]
fn the_vendors_own_tools_are_sent_in_pairs_or_not_at_all() {
    let mut items = replied(REPLY);
    let result = items.remove(4);
    let mut cut = request(json!({"input": "go"}));
    cut.input.push(result);
    let body = outgoing(&cut, OLDER).body;
    assert!(!String::from_utf8(body).unwrap().contains("srvtoolu_1"), "a result without its use");

    let mut gone_on = request(json!({"input": "go"}));
    gone_on.input.extend(items.get(..4).unwrap().iter().cloned());
    let paused = sent(&gone_on, NEWEST);
    let turns = paused["messages"].as_array().unwrap();
    assert_eq!(
        turns.last().unwrap()["content"].as_array().unwrap().last().unwrap()["id"],
        "srvtoolu_1"
    );
    gone_on.input.push(Arc::new(Item::user("stop")));
    let body = outgoing(&gone_on, OLDER).body;
    assert!(!String::from_utf8(body).unwrap().contains("srvtoolu_1"), "a use without its result");
}

#[test]
fn nothing_empty_is_sent() {
    let thought = replied(
        r#"{"content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "\n"}]}"#,
    );
    let mut request = request(json!({"instructions": " ", "input": [
        {"role": "user", "content": ""}, {"role": "user", "content": [{"type": "input_text", "text": " \n"}]},
        {"role": "user", "content": "real"}, {"role": "assistant", "content": ""},
    ]}));
    request.input.extend(thought);
    request.input.push(Arc::new(Item::user("more")));
    let body = sent(&request, OLDER);
    assert_eq!(
        body["messages"],
        json!([{"role": "user", "content": [
            {"type": "text", "text": "real"}, {"type": "text", "text": "more"},
        ]}])
    );
    assert_eq!(body.get("system"), None);
    assert!(Anthropic.encode(&Request::default(), &asked(OLDER)).is_err());
}

#[test]
fn a_thought_whose_seal_never_came_is_not_sent() {
    let mut request = request(json!({"input": "go"}));
    request.input.extend(replied(
        r#"{"content": [{"type": "thinking", "thinking": "cut", "signature": ""}, {"type": "text", "text": "x"}]}"#,
    ));
    let body = sent(&request, OLDER);
    assert_eq!(body["messages"][1]["content"], said("x"));

    let mut host = Request::new("m", "go");
    host.input.extend(replied(
        r#"{"content": [{"type": "thinking", "thinking": "never sealed"}, {"type": "text", "text": "x"}]}"#,
    ));
    let thought = &sent(&host, OLDER)["messages"][1]["content"][0];
    assert_eq!(*thought, json!({"type": "thinking", "thinking": "never sealed"}));
}

#[test]
fn a_conversation_that_ends_with_the_model_is_gone_on_with() {
    let input =
        json!([{"role": "user", "content": "go"}, {"role": "assistant", "content": "I go \n"}]);
    assert_eq!(messages(input.clone(), OLDER)[1]["content"], said("I go"));
    let newer = messages(input, NEWER);
    assert_eq!(newer[1]["content"], said("I go \n"));
    assert_eq!(newer[2], json!({"role": "user", "content": said("Continue.")}));
}

#[test]
fn the_system_speaks_where_the_model_lets_it() {
    let input = json!([
        {"role": "system", "content": "first"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "developer", "content": "be brief"},
        {"role": "user", "content": "three"},
        {"role": "assistant", "content": "four"},
        {"role": "system", "content": "nobody asked"},
    ]);
    let request = request(json!({"instructions": "be kind", "input": input}));
    let newer = sent(&request, NEWER);
    assert_eq!(
        newer["system"],
        json!([{"type": "text", "text": "be kind"}, {"type": "text", "text": "first"}])
    );
    let roles: Vec<&str> = newer["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| turn["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "system", "assistant", "user"]);
    assert_eq!(newer["messages"][3]["content"], said("be brief"));
    let older = sent(&request, OLDER);
    assert_eq!(
        older["messages"][2]["content"],
        json!([
            {"type": "text", "text": "<system>\nbe brief\n</system>"}, {"type": "text", "text": "three"},
        ])
    );
    let alone = Request { instructions: "be kind".to_owned(), ..Request::new("m", "hello") };
    assert_eq!(sent(&alone, OLDER)["system"], "be kind");
    let only_system = messages(json!([{"role": "system", "content": "greet"}]), OLDER);
    assert_eq!(only_system, json!([{"role": "user", "content": said("greet")}]));
}

#[test]
fn images_and_files_are_sent_as_the_vendor_takes_them() {
    let text = base64("line");
    let input = json!([{"role": "user", "content": [
        {"type": "input_image", "image_url": "https://a.example/i.png"},
        {"type": "input_image", "image_url": "data:image/jpg;base64,AAAA"},
        {"type": "input_image", "image_url": "data:image/tiff;base64,AAAA"},
        {"type": "input_image", "file_id": "file_011"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"},
        {"type": "input_file", "filename": "b.PDF", "file_data": "JVBE"},
        {"type": "input_file", "filename": "c.md", "file_data": format!("data:text/markdown;charset=utf-8;base64,{text}")},
        {"type": "input_file", "file_url": "https://a.example/d.pdf"},
        {"type": "input_file", "filename": "e.docx", "file_data": "data:application/zip;base64,UEsD"},
        {"type": "input_file", "filename": "f", "file_id": "file_012"},
    ]}]);
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": "JVBE"});
    let request = request(json!({ "input": input }));
    assert_eq!(
        sent(&request, OLDER)["messages"][0]["content"],
        json!([
            {"type": "image", "source": {"type": "url", "url": "https://a.example/i.png"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}},
            {"type": "text", "text": "[an image that this model cannot be shown]"},
            {"type": "image", "source": {"type": "file", "file_id": "file_011"}},
            {"type": "document", "source": pdf, "title": "a.pdf"},
            {"type": "document", "source": pdf, "title": "b.PDF"},
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "line"}, "title": "c.md"},
            {"type": "document", "source": {"type": "url", "url": "https://a.example/d.pdf"}},
            {"type": "text", "text": "[file e.docx, which this model cannot be shown]"},
            {"type": "document", "source": {"type": "file", "file_id": "file_012"}, "title": "f"},
        ])
    );
    assert_eq!(header(&outgoing(&request, OLDER), "anthropic-beta"), Some("files-api-2025-04-14"));
    let blind = sent(&request, "claude-2.1")["messages"][0]["content"].clone();
    assert_eq!(blind[0]["text"], "[image: https://a.example/i.png]");
    assert_eq!(blind[4]["text"], "[file a.pdf, which this model cannot be shown]");
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(text)
}

#[test]
fn a_result_with_an_image_becomes_blocks() {
    let input = json!([
        {"type": "function_call", "call_id": "a", "name": "shot", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": [
            {"type": "input_text", "text": "here"},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        ]},
    ]);
    let image = json!({"type": "base64", "media_type": "image/png", "data": "AAAA"});
    assert_eq!(
        messages(input, OLDER)[1]["content"],
        json!([{"type": "tool_result", "tool_use_id": "a", "content": [
            {"type": "text", "text": "here"}, {"type": "image", "source": image},
        ]}])
    );
}

#[test]
fn a_long_conversation_is_written_in_time() {
    let mut request = Request::new("m", "go");
    for number in 0..20_000 {
        let call = FunctionCall {
            id: None,
            call_id: "same".to_owned(),
            name: "t".to_owned(),
            arguments: format!("{{\"n\":{number}}}"),
            extra: Map::new(),
        };
        let output = FunctionCallOutput {
            call_id: "same".to_owned(),
            output: json!("ok"),
            extra: Map::new(),
        };
        request.input.push(Arc::new(Item::FunctionCall(call)));
        request.input.push(Arc::new(Item::FunctionCallOutput(output)));
    }
    let body = sent(&request, NEWER);
    assert_eq!(body["messages"].as_array().unwrap().len(), 40_001);
    assert_eq!(body["messages"][39_999]["content"][0]["id"], "same_20000");
}

#[test]
fn parts_that_are_no_text_are_told_in_the_models_own_turn() {
    let part = Part::InputImage {
        image_url: Some("https://a.example/i.png".to_owned()),
        file_id: None,
        extra: Map::new(),
    };
    let drawn = agent_world_core::item::MessageItem {
        id: None,
        role: Role::Assistant,
        content: vec![part],
        extra: Map::new(),
    };
    let mut request = Request::new("m", "draw");
    request.input.push(Arc::new(Item::Message(drawn)));
    request.input.push(Arc::new(Item::user("nice")));
    assert_eq!(
        sent(&request, OLDER)["messages"][1]["content"],
        said("[image: https://a.example/i.png]")
    );
}

#[test]
fn the_request_names_its_version() {
    let outgoing = outgoing(&Request::new("m", "hi"), OLDER);
    assert_eq!(outgoing.path, "/messages");
    assert_eq!(header(&outgoing, "anthropic-version"), Some("2023-06-01"));
    assert_eq!(header(&outgoing, "anthropic-beta"), None);
}

#[test]
fn thoughts_that_are_bound_to_the_conversation_may_be_dropped_by_the_vendor() {
    let mut request = Request::new("m", "go");
    request.input.extend(replied(REPLY));
    let bound = outgoing(&request, NEWEST);
    assert_eq!(header(&bound, "anthropic-beta"), Some("thinking-binding-controls-2026-08-01"));
    assert_eq!(
        sent(&request, NEWEST)["thinking"],
        json!({"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}})
    );
    assert_eq!(sent(&request, NEWER).get("thinking"), None);
    assert_eq!(sent(&Request::new("m", "go"), NEWEST).get("thinking"), None);
}

#[test]
fn a_failure_is_told_in_words_alone() {
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,aGk="});
    let call =
        |id: &str| json!({"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"});
    let failed = |id: &str, output: Value| json!({"type": "function_call_output", "call_id": id, "output": output, "is_error": true});
    let input = json!([
        {"role": "user", "content": "go"},
        call("a"), call("b"), call("c"),
        failed("a", json!("")),
        failed("b", json!([{"type": "input_text", "text": "no"}, image])),
        failed("c", json!([image])),
    ]);
    let sent = messages(input, "claude-sonnet-4-5");
    let blocks = sent[2]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "tool_result", "image", "image"]);
    let no_words = "[the call failed without saying why]";
    assert_eq!(blocks[0]["content"], no_words);
    assert_eq!(blocks[1]["content"], json!([{"type": "text", "text": "no"}]));
    assert_eq!(blocks[2]["content"], no_words);
    assert!(blocks[..3].iter().all(|block| block["is_error"] == true));
}
