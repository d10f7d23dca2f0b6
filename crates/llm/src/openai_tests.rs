//! Checks what the recorded exchanges do not show: the facts of these vendors one by one, and streams that go wrong.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Map, Value, json};

#[path = "openai/sending_tests.rs"]
mod sending;

use super::*;
use crate::dialect::{Caps, StreamDecoder};
use crate::{Capabilities, Delta, Event, input_from, origin};

fn asked(vendor: &str, model: &str) -> Asked {
    let capabilities = Capabilities::of(vendor, model);
    Asked { vendor: vendor.into(), model: model.to_owned(), capabilities, stream: false }
}

fn request(input: Value) -> Request {
    Request { input: input_from(input).unwrap(), ..Request::default() }
}

fn sent_by(flavour: Flavour, request: &Request, asked: &Asked) -> Value {
    let outgoing = Responses::new(flavour).encode(request, asked).unwrap();
    assert_eq!(outgoing.path, "/responses");
    serde_json::from_slice(&outgoing.body).unwrap()
}

/// What OpenAI's gpt-5 is sent.
fn sent(request: &Request) -> Value {
    sent_by(Flavour::OpenAi, request, &asked("openai", "gpt-5"))
}

/// The input that is sent for a conversation.
fn told(input: Value) -> Value {
    sent(&request(input))["input"].take()
}

/// As an item looks that a vendor's model made.
fn by(vendor: &str, mut item: Value) -> Value {
    item["origin"] = json!({"vendor": vendor, "model": "m"});
    item
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn thoughts() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"})
}

fn call() -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{}"})
}

fn output() -> Value {
    json!({"type": "function_call_output", "call_id": "call_1", "output": "seen"})
}

fn kinds(input: &Value) -> Vec<&str> {
    input.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

fn decode(body: &Value) -> Result<Response, Error> {
    let body = body.to_string();
    Responses::new(Flavour::OpenAi).decode(body.as_bytes(), &asked("openai", "gpt-5"))
}

/// A reply as a whole body.
fn whole(output: Value) -> Value {
    json!({"id": "resp_1", "object": "response", "model": "gpt-5", "status": "completed", "output": output})
}

fn stream(events: &[Value]) -> Result<Vec<Event>, Error> {
    let asked = asked("openai", "gpt-5");
    let mut decoder = StreamDecoder::new(&Responses::new(Flavour::OpenAi), asked, Caps::default());
    let mut seen = Vec::new();
    for event in events {
        let kind = event["type"].as_str().unwrap_or("message");
        let frame = format!("event: {kind}\ndata: {event}\n\n");
        seen.extend(decoder.push(&Bytes::from(frame))?);
    }
    seen.extend(decoder.end()?);
    Ok(seen)
}

fn last(events: Result<Vec<Event>, Error>) -> Response {
    match events.unwrap().pop() {
        Some(Event::Completed(response)) => *response,
        other => panic!("{other:?}"),
    }
}

fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-5", "status": "in_progress", "output": []}})
}

fn completed(output: Value) -> Value {
    json!({"type": "response.completed", "response": whole(output)})
}

fn added(index: usize, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

fn done(index: usize, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

fn arguments(index: usize, id: &str, delta: &str) -> Value {
    json!({"type": "response.function_call_arguments.delta", "output_index": index, "item_id": id, "delta": delta})
}

// Facts of the vendors, in their order.

#[test]
fn a_result_answers_the_call_id_and_not_the_items_id() {
    let reply = decode(&whole(json!([call()]))).unwrap();
    let called = reply.calls().next().unwrap();
    assert_eq!((called.id.as_deref(), called.call_id.as_str()), (Some("fc_1"), "call_1"));
    let input = told(json!([by("openai", call()), output()]));
    assert_eq!(input[0]["id"], "fc_1");
    assert_eq!(input[0]["call_id"], input[1]["call_id"]);
    assert_eq!(input[1]["call_id"], "call_1");
}

#[test]
fn thoughts_without_what_followed_them_are_left_out() {
    let alone = told(json!([user("a"), by("openai", thoughts()), user("b")]));
    assert_eq!(kinds(&alone), ["message", "message"]);
    let at_the_end = told(json!([user("a"), by("openai", thoughts())]));
    assert_eq!(kinds(&at_the_end), ["message"]);
    // Something else took the place of what followed: the vendor does not know it.
    let replaced = json!({"type": "message", "role": "assistant", "content": "another"});
    let input = told(json!([by("openai", thoughts()), replaced]));
    assert_eq!(kinds(&input), ["message"]);
    let another_vendor = by("anthropic", call());
    let input = told(json!([by("openai", thoughts()), another_vendor, output()]));
    assert_eq!(kinds(&input), ["function_call", "function_call_output"]);
    let kept = told(json!([
        by("openai", thoughts()),
        by("openai", thoughts()),
        by("openai", call()),
        output()
    ]));
    assert_eq!(kinds(&kept), ["reasoning", "reasoning", "function_call", "function_call_output"]);
}

#[test]
fn an_item_whose_thoughts_are_left_out_goes_without_its_id() {
    // Refused otherwise: the vendor knows the item and misses the thoughts before it.
    let mut unsealed = by("openai", thoughts());
    unsealed.as_object_mut().unwrap().shift_remove("encrypted_content");
    let search = json!({"type": "web_search_call", "id": "ws_1", "status": "completed"});
    let mut request =
        request(json!([unsealed, by("openai", search), by("openai", call()), output()]));
    request.store = Some(false);
    let body = sent(&request);
    assert_eq!(kinds(&body["input"]), ["function_call", "function_call_output"]);
    assert_eq!(body["input"][0]["id"], Value::Null);
    // Thoughts that somebody else left out are missed just the same.
    let reply = decode(&whole(json!([thoughts(), call()]))).unwrap();
    let only_the_call = Request {
        input: vec![Arc::new(reply.output[1].clone()), Arc::new(Item::output("call_1", "seen"))],
        ..Request::default()
    };
    assert_eq!(sent(&only_the_call)["input"][0]["id"], Value::Null);
}

#[test]
fn strict_is_always_said() {
    let mut request = Request::new("gpt-5", "hello");
    request.tools = serde_json::from_value(json!([
        {"type": "function", "name": "a", "parameters": {"type": "object"}},
        {"type": "function", "name": "b", "parameters": {"type": "object"}, "strict": true},
        {"type": "web_search"},
    ]))
    .unwrap();
    request.text = serde_json::from_value(
        json!({"format": {"type": "json_schema", "name": "n", "schema": {}}}),
    )
    .unwrap();
    let body = sent(&request);
    assert_eq!(body["tools"][0]["strict"], false);
    assert_eq!(body["tools"][1]["strict"], true);
    assert_eq!(body["tools"][2], json!({"type": "web_search"}));
    assert_eq!(body["text"]["format"]["strict"], false);
}

#[test]
fn an_error_event_is_read_nested_and_flat() {
    let said = json!({"type": "insufficient_quota", "code": "insufficient_quota", "message": "no more", "param": null});
    let nested = json!({"type": "error", "sequence_number": 2, "error": said});
    let flat = json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow down", "param": null});
    let untyped = json!({"error": {"message": "overloaded", "code": "server_is_overloaded"}});
    let class = |event: Value| stream(&[created(), event]).unwrap_err().class;
    assert_eq!(class(nested), Class::Quota);
    assert_eq!(class(flat), Class::RateLimited { retry_after: None });
    assert_eq!(class(untyped), Class::Overloaded);
}

#[test]
fn a_failed_response_is_an_error_of_its_kind() {
    // Made by hand: nothing was recorded of these codes.
    let failed = |code: &str, message: &str| {
        let error = json!({"code": code, "message": message});
        let event = json!({"type": "response.failed", "response": {"id": "resp_1", "status": "failed", "error": error}});
        let streamed = stream(&[created(), event]).unwrap_err();
        let body = json!({"id": "resp_1", "status": "failed", "error": error, "output": []});
        assert_eq!(decode(&body).unwrap_err(), streamed);
        streamed
    };
    let limited = failed("rate_limit_exceeded", "Rate limit reached. Please try again in 1.2s.");
    assert_eq!(
        limited.class,
        Class::RateLimited { retry_after: Some(Duration::from_millis(1_200)) }
    );
    assert_eq!(failed("server_error", "sorry").class, Class::Server);
    assert_eq!(failed("invalid_prompt", "no").class, Class::InvalidRequest);
    let silent =
        json!({"type": "response.failed", "response": {"status": "failed", "error": null}});
    assert_eq!(stream(&[silent]).unwrap_err().class, Class::Server);
}

#[test]
fn the_end_before_the_terminal_event_is_a_cut() {
    // Made by hand: nothing was recorded.
    let begun = [created(), added(0, call()), arguments(0, "fc_1", "{}"), done(0, call())];
    for length in 0..=begun.len() {
        let error = stream(&begun[..length]).unwrap_err();
        assert_eq!(error.class, Class::StreamCut, "after {length} events");
    }
}

#[test]
fn a_truncated_call_is_part_of_an_incomplete_reply() {
    let cut = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": "{\"x\":4", "status": "incomplete"});
    let mut begun = cut.clone();
    begun["arguments"] = "".into();
    let mut response = whole(json!([cut]));
    response["status"] = "incomplete".into();
    response["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let end = json!({"type": "response.incomplete", "response": response});
    // The vendor may stop without a word about the item.
    let streamed = last(stream(&[created(), added(0, begun), arguments(0, "fc_1", "{\"x\""), end]));
    assert_eq!(streamed, decode(&response).unwrap());
    assert!(!streamed.is_complete());
    assert_eq!(streamed.incomplete_details.as_ref().unwrap().reason, "max_output_tokens");
    assert_eq!(streamed.calls().next().unwrap().arguments, "{\"x\":4");
}

#[test]
fn a_refusal_is_a_part_of_a_completed_reply() {
    let message = |content: Value| json!({"type": "message", "id": "msg_1", "role": "assistant", "content": content});
    let refused = message(json!([{"type": "refusal", "refusal": "I will not."}]));
    let piece = |delta: &str| json!({"type": "response.refusal.delta", "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": delta});
    let streamed = stream(&[
        created(),
        added(0, message(json!([]))),
        piece("I will"),
        piece(" not."),
        done(0, refused.clone()),
        completed(json!([refused.clone()])),
    ]);
    let pieces: Vec<Delta> = streamed
        .as_ref()
        .unwrap()
        .iter()
        .filter_map(|event| match event {
            Event::Delta { delta, .. } => Some(delta.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(pieces, [Delta::Refusal("I will".into()), Delta::Refusal(" not.".into())]);
    let reply = last(streamed);
    assert_eq!((reply.is_complete(), reply.refusal()), (true, Some("I will not.")));
    assert_eq!(reply.output, decode(&whole(json!([refused]))).unwrap().output);
    // Sent back, it is a refusal still.
    let again = Request { input: vec![Arc::new(reply.output[0].clone())], ..Request::default() };
    assert_eq!(sent(&again)["input"][0]["content"][0]["type"], "refusal");
}

#[test]
fn error_bodies_of_all_shapes_are_understood() {
    let explain = |status: u16, body: &str| {
        Responses::new(Flavour::Xai).explain(status, body.as_bytes(), &asked("xai", "grok-4.3"))
    };
    let wrong_key = json!({"code": "invalid-argument", "error": "Incorrect API key provided: x"});
    assert_eq!(explain(400, &wrong_key.to_string()).class, Class::Auth);
    let no_model = json!({"error": {"code": "model_not_found", "message": "no such model"}});
    assert_eq!(explain(404, &no_model.to_string()).class, Class::UnknownModel);
    let too_long = json!({"error": {"code": "context_length_exceeded", "message": "too long"}});
    assert_eq!(explain(400, &too_long.to_string()).class, Class::ContextTooLong);
    // Made by hand: no gateway's error was recorded.
    for (status, class) in [(502, Class::Server), (503, Class::Overloaded), (504, Class::Timeout)] {
        assert_eq!(explain(status, "<html><h1>Bad luck</h1></html>").class, class, "{status}");
    }
}

#[test]
fn a_rate_limit_says_how_long_to_wait_and_a_quota_does_not_pass() {
    // Made by hand: nothing was recorded.
    let explain = |body: Value| {
        let body = body.to_string();
        Responses::new(Flavour::OpenAi).explain(429, body.as_bytes(), &asked("openai", "gpt-5"))
    };
    let limited = explain(json!({"error": {"code": "rate_limit_exceeded", "type": "tokens",
        "message": "Rate limit reached for gpt-5. Please try again in 1.2s. Visit the site."}}));
    assert_eq!(limited.class.retry_after(), Some(Duration::from_millis(1_200)));
    let spent =
        explain(json!({"error": {"code": "insufficient_quota", "message": "You exceeded it"}}));
    assert_eq!(spent.class, Class::Quota);
    assert!(!spent.class.is_transient());
}

#[test]
fn usage_counts_thoughts_within_the_output() {
    let usage = |flavour: Flavour, total: Value| {
        let mut body = whole(json!([]));
        body["usage"] = json!({"input_tokens": 10, "output_tokens": 5, "total_tokens": total,
            "output_tokens_details": {"reasoning_tokens": 3}, "cost_in_usd_ticks": 7});
        let body = body.to_string();
        let asked = asked("xai", "grok-4.3");
        Responses::new(flavour).decode(body.as_bytes(), &asked).unwrap().usage.unwrap()
    };
    let within = usage(Flavour::Xai, json!(15));
    assert_eq!((within.output_tokens, within.total_tokens), (5, 15));
    let apart = usage(Flavour::Xai, json!(18));
    assert_eq!((apart.output_tokens, apart.total_tokens), (8, 18));
    let unsaid = usage(Flavour::OpenAi, Value::Null);
    assert_eq!((unsaid.output_tokens, unsaid.total_tokens), (5, 15));
    assert_eq!(unsaid.extra["cost_in_usd_ticks"], 7);
}

// Streams.

#[test]
fn pieces_of_several_calls_may_alternate() {
    // Made by hand: nothing was recorded.
    let one = |arguments: &str| json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "a", "arguments": arguments});
    let two = |arguments: &str| json!({"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "b", "arguments": arguments});
    let whole_turn = json!([one("{\"x\":1}"), two("{\"y\":2}")]);
    let events = [
        created(),
        added(0, one("")),
        added(1, two("")),
        arguments(0, "fc_1", "{\"x\""),
        arguments(1, "fc_2", "{\"y\""),
        arguments(0, "fc_1", ":1}"),
        json!({"type": "response.something_new", "delta": "ignored"}),
        arguments(1, "fc_2", ":2}"),
        done(1, two("{\"y\":2}")),
        done(0, one("{\"x\":1}")),
        completed(whole_turn.clone()),
    ];
    assert_eq!(last(stream(&events)).output, decode(&whole(whole_turn)).unwrap().output);
}

#[test]
fn whole_and_streamed_thoughts_are_the_same() {
    let turn = json!([{"type": "reasoning", "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}],
        "content": [{"type": "reasoning_text", "text": "raw"}], "encrypted_content": "sealed"}]);
    let piece = |kind: &str, key: &str, part: usize, delta: &str| json!({"type": format!("response.{kind}.delta"), "output_index": 0, "item_id": "rs_1", key: part, "delta": delta});
    let begun = json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": null});
    let events = stream(&[
        created(),
        added(0, begun),
        piece("reasoning_summary_text", "summary_index", 0, "fir"),
        piece("reasoning_summary_text", "summary_index", 0, "st"),
        piece("reasoning_summary_text", "summary_index", 1, "second"),
        piece("reasoning_text", "content_index", 0, "r"),
        piece("reasoning", "content_index", 0, "aw"),
        done(0, turn[0].clone()),
        completed(turn.clone()),
    ])
    .unwrap();
    let told: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Delta { delta, .. } => delta.thought(),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["fir", "st", "second", "r", "aw"]);
    assert_eq!(last(Ok(events)).output, decode(&whole(turn)).unwrap().output);
}

#[test]
fn a_host_that_only_sends_the_end_is_understood() {
    let message = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "hello"}]});
    let events = stream(&[completed(json!([message, call()]))]).unwrap();
    let told: Vec<&Delta> = events
        .iter()
        .filter_map(|event| match event {
            Event::Delta { delta, .. } => Some(delta),
            _ => None,
        })
        .collect();
    assert_eq!(told, [&Delta::Text("hello".into()), &Delta::Arguments("{}".into())]);
    assert_eq!(last(Ok(events)).output_text(), "hello");
    // And one that announces nothing and repeats nothing.
    let piece = json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "hi"});
    assert_eq!(last(stream(&[piece, completed(json!([]))])).output_text(), "hi");
}

#[test]
fn nothing_that_comes_can_break_the_reader() {
    let odd = [
        json!({"type": "response.output_item.added"}),
        json!({"type": "response.output_item.added", "output_index": u64::MAX, "item": 7}),
        json!({"type": "response.output_item.done", "output_index": -1, "item": []}),
        json!({"type": "response.output_text.delta", "output_index": u64::MAX, "content_index": u64::MAX, "delta": "x"}),
        json!({"type": "response.output_text.delta", "delta": 7}),
        json!({"type": "response.reasoning_text.delta", "item_id": "r", "content_index": u64::MAX, "delta": "x"}),
        json!({"type": "response.created", "response": 5}),
        json!({"type": null}),
        json!([1]),
        json!({"type": "response.completed", "response": {"output": [null, 1, {"type": "message", "role": "robot"},
            {"type": "function_call", "call_id": 5, "arguments": {"a": 1}}, {"type": "reasoning", "summary": 3}],
            "usage": {"input_tokens": -1, "input_tokens_details": 3}, "status": 9, "id": 4, "created_at": "x"}}),
    ];
    let reply = last(stream(&odd));
    assert!(reply.is_complete());
    for body in
        ["", "null", "[]", "{}", r#"{"output": 5}"#, r#"{"output": []"#, r#"{"error": "x"}"#]
    {
        let asked = asked("openai", "gpt-5");
        assert!(Responses::new(Flavour::OpenAi).decode(body.as_bytes(), &asked).is_err(), "{body}");
    }
    assert!(sent(&Request::default()).is_object());
    let foreign = Item::Unknown(Value::Null);
    assert!(sent(&Request { input: vec![Arc::new(foreign)], ..Request::default() }).is_object());
}

#[test]
fn a_reply_in_the_background_is_not_complete() {
    let queued = json!({"id": "resp_1", "object": "response", "status": "queued", "output": []});
    let reply = decode(&queued).unwrap();
    assert_eq!((reply.status.clone(), reply.is_complete()), (Status::Queued, false));
    let cancelled = json!({"id": "resp_1", "status": "cancelled", "output": []});
    assert_eq!(decode(&cancelled).unwrap_err().class, Class::Cancelled);
    let end = json!({"type": "response.done", "response": cancelled});
    assert_eq!(stream(&[created(), end]).unwrap_err().class, Class::Cancelled);
}

#[test]
fn a_call_without_an_id_gets_one() {
    let nameless = json!({"type": "function_call", "name": "look", "arguments": "{}"});
    let reply = decode(&whole(json!([nameless]))).unwrap();
    assert_eq!(reply.calls().next().unwrap().call_id, "call_resp_1_0");
    let origin = origin::Origin::of(&reply.output[0]).unwrap();
    assert_eq!(origin.get("made_id"), Some(&json!(true)));
    assert_eq!(origin.vendor(), Some("openai"));
    assert_eq!(reply.extra, Map::from_iter([("object".to_owned(), json!("response"))]));
}
