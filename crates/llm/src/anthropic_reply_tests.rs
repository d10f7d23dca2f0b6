//! Replies in the Messages format, whole, streamed and failed.

use std::time::Duration;

use agent_world_core::item::{FunctionCall, Item, Part};
use bytes::Bytes;
use serde_json::{Value, json};

use super::Anthropic;
use crate::dialect::{Asked, Caps, Dialect as _, StreamDecoder};
use crate::{Capabilities, Class, Delta, Error, Event, Response, Status, origin};

fn asked() -> Asked {
    Asked {
        vendor: "anthropic".into(),
        model: "claude-haiku-4-5".to_owned(),
        capabilities: Capabilities::default(),
        stream: true,
    }
}

fn whole(body: &Value) -> Result<Response, Error> {
    Anthropic.decode(body.to_string().as_bytes(), &asked())
}

fn events(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

fn streamed(bytes: &[u8]) -> Result<(Response, Vec<Event>), Error> {
    let mut decoder = StreamDecoder::new(&Anthropic, asked(), Caps::default());
    let mut told = decoder.push(&Bytes::copy_from_slice(bytes))?;
    told.extend(decoder.end()?);
    match told.last() {
        Some(Event::Completed(response)) => Ok((*response.clone(), told)),
        other => panic!("ended with {other:?}"),
    }
}

fn stream(list: &[Value]) -> Result<Response, Error> {
    streamed(events(list).as_bytes()).map(|(response, _)| response)
}

fn opened() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
        "content": [], "stop_reason": null, "usage": {"input_tokens": 7, "output_tokens": 1}}})
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn ended(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn calls(response: &Response) -> Vec<&FunctionCall> {
    response.calls().collect()
}

#[test]
fn a_reply_is_the_same_whole_or_streamed() {
    let citation = json!({"type": "char_location", "cited_text": "c", "document_index": 0,
        "document_title": "D", "start_char_index": 0, "end_char_index": 1});
    let result =
        json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": [
        {"type": "thinking", "thinking": "so then", "signature": "sig"},
        {"type": "redacted_thinking", "data": "red"},
        {"type": "text", "text": "Hello "},
        {"type": "text", "text": "you", "citations": [citation]},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        result,
        {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"a": 1}, "caller": {"type": "direct"}},
    ], "stop_reason": "tool_use", "stop_sequence": null,
       "usage": {"input_tokens": 7, "output_tokens": 9, "service_tier": "standard"}});
    let mut list = vec![
        json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
            "content": [], "stop_reason": null, "usage": {"input_tokens": 7, "output_tokens": 1, "service_tier": "standard"}}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, json!({"type": "thinking_delta", "thinking": "so "})),
        delta(0, json!({"type": "thinking_delta", "thinking": "then"})),
        delta(0, json!({"type": "signature_delta", "signature": "sig"})),
        stop(0),
        start(1, json!({"type": "redacted_thinking", "data": "red"})),
        json!({"type": "ping"}),
        stop(1),
        start(2, json!({"type": "text", "text": ""})),
        delta(2, json!({"type": "text_delta", "text": "Hel"})),
        delta(2, json!({"type": "text_delta", "text": "lo "})),
        stop(2),
        start(3, json!({"type": "text", "text": "", "citations": []})),
        delta(3, json!({"type": "citations_delta", "citation": citation})),
        delta(3, json!({"type": "text_delta", "text": "you"})),
        stop(3),
        start(
            4,
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        ),
        delta(4, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(4, json!({"type": "input_json_delta", "partial_json": "{\"query\":\"q\"}"})),
        stop(4),
        start(5, result),
        stop(5),
        start(
            6,
            json!({"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}, "caller": {"type": "direct"}}),
        ),
        delta(6, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(6, json!({"type": "input_json_delta", "partial_json": "{\"a\""})),
        delta(6, json!({"type": "input_json_delta", "partial_json": ":1}"})),
        stop(6),
    ];
    list.extend(ended("tool_use"));
    let response = stream(&list).unwrap();
    assert_eq!(response, whole(&message).unwrap());
    let kinds: Vec<&str> = response
        .output
        .iter()
        .map(|item| match item {
            Item::Reasoning(_) => "reasoning",
            Item::Message(message) => {
                assert_eq!(message.content.len(), 2);
                let Part::OutputText { extra, .. } = &message.content[1] else { panic!() };
                let note =
                    json!([{"type": "file_citation", "file_id": "", "filename": "D", "index": 3}]);
                assert_eq!(extra["annotations"], note);
                "message"
            }
            Item::FunctionCall(call) => call.arguments.as_str(),
            Item::Unknown(value) => value["type"].as_str().unwrap(),
            Item::FunctionCallOutput(_) => "output",
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "reasoning",
            "reasoning",
            "message",
            "anthropic:server_tool_use",
            "anthropic:web_search_tool_result",
            "{\"a\":1}"
        ]
    );
    for item in &response.output {
        let origin = origin::Origin::by(item, "anthropic").unwrap();
        assert_eq!(origin.model(), Some("claude-x"));
    }
}

#[test]
fn a_call_without_arguments_is_an_empty_object() {
    let mut list = vec![
        opened(),
        start(0, json!({"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": ""})),
        stop(0),
    ];
    list.extend(ended("tool_use"));
    let (response, told) = streamed(events(&list).as_bytes()).unwrap();
    assert_eq!(calls(&response)[0].arguments, "{}");
    let pieces: Vec<&Event> =
        told.iter().filter(|event| matches!(event, Event::Delta { .. })).collect();
    let piece = Event::Delta { index: 0, part: 0, delta: Delta::Arguments("{}".to_owned()) };
    assert_eq!(pieces, [&piece]);
    let body = json!({"content": [{"type": "tool_use", "id": "x", "name": "t"}]});
    assert_eq!(calls(&whole(&body).unwrap())[0].arguments, "{}");
}

#[test]
fn a_call_without_an_id_gets_one() {
    let body = json!({"id": "msg_1", "content": [{"type": "tool_use", "name": "t", "input": {}}]});
    let response = whole(&body).unwrap();
    assert_eq!(calls(&response)[0].call_id, "call_msg_1_0");
    let origin = origin::Origin::of(&response.output[0]).unwrap();
    assert_eq!(origin.get("made_id"), Some(&json!(true)));
}

/// Made by hand: nothing was recorded.
#[test]
fn pieces_of_several_blocks_may_alternate() {
    let mut list = vec![
        opened(),
        start(0, json!({"type": "text", "text": ""})),
        start(1, json!({"type": "tool_use", "id": "toolu_1", "name": "a", "input": {}})),
        start(2, json!({"type": "tool_use", "id": "toolu_2", "name": "b", "input": {}})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "{\"x\":"})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"y\":"})),
        delta(0, json!({"type": "text_delta", "text": "be"})),
        delta(1, json!({"type": "input_json_delta", "partial_json": "1}"})),
        delta(0, json!({"type": "text_delta", "text": "gun"})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "2}"})),
        delta(77, json!({"type": "text_delta", "text": "of no block"})),
        stop(2),
        stop(0),
        stop(1),
    ];
    list.extend(ended("tool_use"));
    let response = stream(&list).unwrap();
    assert_eq!(response.output_text(), "begun");
    assert!(matches!(response.output[0], Item::Message(_)));
    let arguments: Vec<&str> = response.calls().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, ["{\"x\":1}", "{\"y\":2}"]);
}

#[test]
fn every_reason_to_stop_has_its_meaning() {
    let status = |reason: &str| {
        let body = json!({"content": [{"type": "text", "text": "x"}], "stop_reason": reason});
        let response = whole(&body).unwrap();
        (response.status, response.incomplete_details.map(|details| details.reason))
    };
    for reason in ["end_turn", "tool_use", "stop_sequence", "something_new"] {
        assert_eq!(status(reason), (Status::Completed, None), "{reason}");
    }
    let cut = |reason: &str| (Status::Incomplete, Some(reason.to_owned()));
    assert_eq!(status("max_tokens"), cut("max_output_tokens"));
    assert_eq!(status("pause_turn"), cut("pause_turn"));
    assert_eq!(status("model_context_window_exceeded"), cut("model_context_window_exceeded"));
}

#[test]
fn a_cut_call_keeps_its_broken_arguments() {
    let mut list = vec![
        opened(),
        start(0, json!({"type": "tool_use", "id": "toolu_1", "name": "t", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"a\": \"b"})),
    ];
    list.extend(ended("max_tokens"));
    let response = stream(&list).unwrap();
    assert_eq!(response.status, Status::Incomplete);
    assert_eq!(calls(&response)[0].arguments, "{\"a\": \"b");
}

#[test]
fn a_refusal_is_a_part_even_without_words() {
    let silent = whole(&json!({"content": [], "stop_reason": "refusal"})).unwrap();
    assert_eq!((silent.refusal(), silent.is_complete()), (Some(""), true));
    let partial = whole(&json!({
        "content": [{"type": "text", "text": "Well,"}], "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "explanation": "not this"},
    }))
    .unwrap();
    assert_eq!((partial.output.len(), partial.refusal()), (1, Some("not this")));
    assert_eq!(partial.output_text(), "Well,");
    assert_eq!(partial.extra["stop_reason"], "refusal");
}

#[test]
fn an_empty_reply_is_a_reply() {
    let response = whole(&json!({"content": [], "stop_reason": "end_turn"})).unwrap();
    assert!(response.output.is_empty() && response.is_complete());
    let mut list = vec![opened(), start(0, json!({"type": "text", "text": ""})), stop(0)];
    list.extend(ended("end_turn"));
    assert!(stream(&list).unwrap().output.is_empty());
}

#[test]
fn input_counts_the_cache_and_later_numbers_replace_earlier_ones() {
    let list = [
        json!({"type": "message_start", "message": {"usage": {
            "input_tokens": 3, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 100,
            "cache_creation": {"ephemeral_5m_input_tokens": 10}, "output_tokens": 1}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
            "input_tokens": 5, "cache_read_input_tokens": null, "output_tokens": 20,
            "output_tokens_details": {"thinking_tokens": 12}}}),
        json!({"type": "message_stop"}),
    ];
    let usage = stream(&list).unwrap().usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (115, 20, 135));
    assert_eq!(usage.input_tokens_details.cached_tokens, 100);
    assert_eq!(usage.input_tokens_details.cache_write_tokens, Some(10));
    assert_eq!(usage.output_tokens_details.reasoning_tokens, 12);
    assert_eq!(usage.extra["cache_creation"], json!({"ephemeral_5m_input_tokens": 10}));
}

#[test]
fn blocks_nobody_knows_are_kept() {
    let mut list = vec![
        opened(),
        json!({"type": "something_new", "index": 3}),
        start(0, json!({"type": "compaction", "content": ""})),
        delta(0, json!({"type": "compaction_delta", "content": "sum"})),
        delta(0, json!({"type": "compaction_delta", "content": "med up", "sealed": true})),
        stop(0),
    ];
    list.extend(ended("end_turn"));
    let response = stream(&list).unwrap();
    let origin = origin::Origin::of(&response.output[0]).unwrap();
    let raw = json!({"type": "compaction", "content": "summed up", "sealed": true});
    assert_eq!(origin.get("raw"), Some(&raw));
}

/// Made by hand: nothing was recorded.
#[test]
fn failures_by_status_are_explained() {
    let failed = |status: u16, kind: &str, message: &str| {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"});
        let error = Anthropic.explain(status, body.to_string().as_bytes(), &asked());
        assert_eq!((error.status, error.request_id.as_deref()), (Some(status), Some("req_1")));
        error.class
    };
    assert_eq!(failed(529, "overloaded_error", "Overloaded"), Class::Overloaded);
    assert_eq!(
        failed(429, "rate_limit_error", "slow down; try again in 12 seconds"),
        Class::RateLimited { retry_after: Some(Duration::from_secs(12)) }
    );
    assert_eq!(
        failed(413, "request_too_large", "Request exceeds the maximum size"),
        Class::ContextTooLong
    );
    assert_eq!(
        failed(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        Class::ContextTooLong
    );
    assert_eq!(failed(400, "invalid_request_error", "messages: wrong"), Class::InvalidRequest);
    assert_eq!(failed(402, "billing_error", "pay"), Class::Quota);
    assert_eq!(failed(500, "api_error", "Internal server error"), Class::Server);
    let page = Anthropic.explain(503, b"<html><body>Service Unavailable</body></html>", &asked());
    assert_eq!((page.class, page.message.as_str()), (Class::Overloaded, "Service Unavailable"));
}

/// Made by hand: nothing was recorded.
#[test]
fn a_failure_inside_a_stream_is_a_failure() {
    let overload =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let list = [
        opened(),
        start(0, json!({"type": "text", "text": ""})),
        delta(0, json!({"type": "text_delta", "text": "half"})),
        overload.clone(),
    ];
    let error = stream(&list).unwrap_err();
    assert_eq!((error.class, error.vendor.as_str()), (Class::Overloaded, "anthropic"));
    assert_eq!(whole(&overload).unwrap_err().class, Class::Overloaded);
    let unnamed = streamed(b"event: error\ndata: upstream gone\n\n").unwrap_err();
    assert_eq!((unnamed.class, unnamed.message.as_str()), (Class::Server, "upstream gone"));
}

/// Made by hand: nothing was recorded.
#[test]
fn a_stream_that_breaks_off_is_no_reply() {
    let mut list = vec![
        opened(),
        start(0, json!({"type": "text", "text": ""})),
        delta(0, json!({"type": "text_delta", "text": "half"})),
        stop(0),
    ];
    list.extend(ended("end_turn"));
    list.pop();
    let bytes = events(&list);
    for end in 0..=bytes.len() {
        let error = streamed(&bytes.as_bytes()[..end]).unwrap_err();
        assert_eq!(error.class, Class::StreamCut, "cut after {end} bytes");
    }
}

#[test]
fn no_reply_makes_it_panic() {
    let odd = [
        json!(null),
        json!([]),
        json!("text"),
        json!({"content": "text"}),
        json!({"content": [1, null, {}, {"type": 3}, {"type": "text"}, {"type": "thinking"}, {"type": "tool_use", "input": 5}]}),
        json!({"content": [], "usage": [], "stop_reason": 1, "id": 2, "model": {}}),
        json!({"content": [], "usage": {"input_tokens": u64::MAX, "cache_read_input_tokens": u64::MAX, "output_tokens": -1}}),
    ];
    for body in &odd {
        drop(whole(body));
        for kind in ["message_start", "content_block_start", "content_block_delta", "message_delta"]
        {
            let field = match kind {
                "message_start" => "message",
                "content_block_start" => "content_block",
                _ => "delta",
            };
            drop(stream(&[
                json!({"type": kind, field: body, "index": u64::MAX}),
                json!({"type": "content_block_stop", "index": -1}),
                json!({"type": "message_stop"}),
            ]));
        }
    }
    let call = whole(&odd[4]).unwrap();
    assert_eq!(calls(&call)[0].arguments, "5");
}
