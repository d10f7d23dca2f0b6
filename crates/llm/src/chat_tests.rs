//! Replies that were made by hand, from what hosts document and from what they were seen to do: nothing of this was
//! recorded. Requests are tested beside `request`.

use agent_world_core::item::{Item, Part};
use bytes::Bytes;
use serde_json::{Value, json};

use super::*;
use crate::dialect::{Caps, StreamDecoder};
use crate::{Capabilities, Event, Status, origin};

fn asked(vendor: &str) -> Asked {
    Asked {
        vendor: vendor.into(),
        model: "m".to_owned(),
        capabilities: Capabilities::default(),
        stream: true,
    }
}

/// A stream of these chunks and nothing else.
fn bytes(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn read(flavour: Flavour, stream: &str) -> Result<(Response, Vec<Event>), Error> {
    let asked = asked(flavour.name);
    let mut decoder = StreamDecoder::new(&Chat::new(flavour), asked, Caps::default());
    let mut events = Vec::new();
    for byte in stream.as_bytes().chunks(3) {
        events.extend(decoder.push(&Bytes::copy_from_slice(byte))?);
    }
    events.extend(decoder.end()?);
    match events.last() {
        Some(Event::Completed(response)) => Ok((*response.clone(), events)),
        last => panic!("{last:?}"),
    }
}

fn delta(delta: Value) -> Value {
    json!({"id": "r1", "model": "m-1", "choices": [{"index": 0, "delta": delta}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

/// A stream of deltas that comes to a natural end.
fn stream(flavour: Flavour, deltas: &[Value]) -> Response {
    let mut chunks: Vec<Value> = deltas.iter().cloned().map(delta).collect();
    chunks.push(finish("stop"));
    read(flavour, &(bytes(&chunks) + "data: [DONE]\n\n")).unwrap().0
}

fn whole(flavour: Flavour, message: Value) -> Response {
    let body = json!({"id": "r1", "model": "m-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    Chat::new(flavour).decode(body.to_string().as_bytes(), &asked(flavour.name)).unwrap()
}

/// The items in short.
fn told(response: &Response) -> Vec<String> {
    let line = |item: &Item| match item {
        Item::Message(message) => {
            let parts = message.content.iter().map(|part| match part {
                Part::OutputText { text, .. } => text.clone(),
                Part::Refusal { refusal, .. } => format!("refusal {refusal}"),
                other => format!("{other:?}"),
            });
            format!("says {}", parts.collect::<Vec<_>>().join(" + "))
        }
        Item::FunctionCall(call) => {
            format!("calls {} {} {}", call.call_id, call.name, call.arguments)
        }
        Item::Reasoning(reasoning) => format!("thinks {}", origin::thoughts(reasoning)),
        other => format!("{other:?}"),
    };
    response.output.iter().map(line).collect()
}

#[test]
fn argument_deltas_of_two_calls_may_interleave() {
    let piece = |index: u64, text: &str| json!({"tool_calls": [{"index": index, "function": {"arguments": text}}]});
    let begin = |index: u64, id: &str, name: &str| json!({"tool_calls": [{"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}]});
    let response = stream(
        Flavour::OPENAI,
        &[
            begin(0, "a", "one"),
            begin(1, "b", "two"),
            piece(1, "{\"y\""),
            piece(0, "{\"x\""),
            piece(1, ":2}"),
            piece(0, ":1}"),
        ],
    );
    assert_eq!(told(&response), ["calls a one {\"x\":1}", "calls b two {\"y\":2}"]);
}

#[test]
fn id_and_name_may_come_with_every_delta() {
    let piece = |text: &str| json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "one", "arguments": text}}]});
    let response = stream(Flavour::GENERIC, &[piece("{\"x\""), piece(":1}"), piece("{\"x\":1}")]);
    assert_eq!(told(&response), ["calls a one {\"x\":1}"]);
}

#[test]
fn calls_that_share_an_index_are_told_apart_by_their_ids() {
    let call = |id: &str, name: &str| json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": name, "arguments": "{}"}}]});
    let response = stream(Flavour::GENERIC, &[call("a", "one"), call("b", "two")]);
    assert_eq!(told(&response), ["calls a one {}", "calls b two {}"]);
}

#[test]
fn calls_without_index_and_id_are_told_apart_by_their_names() {
    let call = |name: &str| json!({"tool_calls": [{"id": "", "function": {"name": name, "arguments": "{"}}]});
    let rest = json!({"tool_calls": [{"function": {"arguments": "}"}}]});
    let response =
        stream(Flavour::GENERIC, &[call("one"), rest.clone(), call("two"), rest.clone()]);
    assert_eq!(told(&response), ["calls call_r1_0 one {}", "calls call_r1_1 two {}"]);
    let made = origin::Origin::of(&response.output[0]).unwrap().get("made_id");
    assert_eq!(made, Some(&Value::Bool(true)));
}

#[test]
fn an_id_that_comes_late_is_taken() {
    let deltas = [
        json!({"tool_calls": [{"index": 0, "function": {"name": "one", "arguments": "{"}}]}),
        json!({"tool_calls": [{"index": 0, "id": "a", "function": {"arguments": "}"}}]}),
    ];
    let response = stream(Flavour::GENERIC, &deltas);
    assert_eq!(told(&response), ["calls a one {}"]);
    assert_eq!(origin::Origin::of(&response.output[0]).unwrap().get("made_id"), None);
}

#[test]
fn a_call_without_arguments_is_an_empty_object() {
    for pieces in [&[][..], &[""], &["null"], &["nu", "ll"], &[" ", "null "]] {
        let mut deltas =
            vec![json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "one"}}]})];
        deltas.extend(
            pieces.iter().map(
                |piece| json!({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}),
            ),
        );
        assert_eq!(told(&stream(Flavour::GROQ, &deltas)), ["calls a one {}"], "{pieces:?}");
    }
    let message =
        json!({"tool_calls": [{"id": "a", "function": {"name": "one", "arguments": null}}]});
    assert_eq!(told(&whole(Flavour::GROQ, message)), ["calls a one {}"]);
}

#[test]
fn arguments_written_as_an_object_are_taken_as_they_were_written() {
    let body = r#"{"choices":[{"message":{"tool_calls":[
        {"id":"a","function":{"name":"one","arguments": {"b": 1.50, "a" :12345678901234567890123}}}
    ]},"finish_reason":"tool_calls"}]}"#;
    let response = Chat::new(Flavour::GENERIC).decode(body.as_bytes(), &asked("generic")).unwrap();
    assert_eq!(told(&response), ["calls a one {\"b\": 1.50, \"a\" :12345678901234567890123}"]);
}

#[test]
fn a_call_that_a_limit_cut_keeps_its_broken_arguments() {
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "one", "arguments": "{\"x"}}]});
    let chunks = [delta(call), finish("length")];
    let (response, _) = read(Flavour::OPENAI, &bytes(&chunks)).unwrap();
    assert_eq!(told(&response), ["calls a one {\"x"]);
    assert_eq!(response.status, Status::Incomplete);
    assert_eq!(response.incomplete_details.unwrap().reason, "max_output_tokens");
}

#[test]
fn a_filter_makes_a_reply_incomplete() {
    let chunks = [delta(json!({"content": "So"})), finish("content_filter")];
    let (response, _) = read(Flavour::AZURE, &bytes(&chunks)).unwrap();
    assert_eq!(told(&response), ["says So"]);
    assert_eq!(response.incomplete_details.unwrap().reason, "content_filter");
}

#[test]
fn usage_counts_that_follows_the_finish_and_the_last_one_holds() {
    let usage = |count: u64| json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": count, "total_tokens": 5 + count}});
    let chunks = [
        delta(json!({"content": "Yes"})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}}}),
        usage(2),
        usage(3),
    ];
    let (response, _) = read(Flavour::GROQ, &(bytes(&chunks) + "data: [DONE]\n\n")).unwrap();
    assert_eq!(response.usage.unwrap().output_tokens, 3);
    let (response, _) = read(Flavour::GROQ, &bytes(&chunks[..2])).unwrap();
    assert_eq!(response.usage.unwrap().total_tokens, 6);
}

#[test]
fn thoughts_counted_apart_are_part_of_the_output() {
    let usage = |usage: Value| {
        let body = json!({"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}], "usage": usage});
        let reply = Chat::new(Flavour::XAI).decode(body.to_string().as_bytes(), &asked("xai"));
        let usage = reply.unwrap().usage.unwrap();
        (usage.output_tokens, usage.output_tokens_details.reasoning_tokens, usage.total_tokens)
    };
    let apart = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 35,
        "completion_tokens_details": {"reasoning_tokens": 20}});
    assert_eq!(usage(apart), (25, 20, 35));
    let within = json!({"prompt_tokens": 10, "completion_tokens": 25, "total_tokens": 35,
        "completion_tokens_details": {"reasoning_tokens": 20}});
    assert_eq!(usage(within), (25, 20, 35));
    let untotalled = json!({"prompt_tokens": 10, "completion_tokens": 25});
    assert_eq!(usage(untotalled), (25, 0, 35));
}

#[test]
fn the_end_of_a_stream_without_a_finish_is_a_cut() {
    let chunks = bytes(&[delta(json!({"content": "Half"}))]);
    let done = format!("{chunks}data: [DONE]\n\n");
    for stream in [chunks.as_str(), done.as_str(), ""] {
        assert_eq!(read(Flavour::OPENAI, stream).unwrap_err().class, Class::StreamCut);
    }
}

#[test]
fn an_error_inside_a_stream_is_the_error_it_says() {
    let begun = bytes(&[delta(json!({"content": "Half"}))]);
    let overloaded = r#"{"error":{"message":"busy","type":"overloaded_error"}}"#;
    let bare = r#"{"message":"busy","type":"overloaded_error"}"#;
    let upstream = json!({"id": "r1", "error": {"code": 429, "message": "slow down"},
        "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]});
    let in_choice = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "error",
        "error": {"code": 502, "message": "gone"}}]});
    let cases = [
        (Flavour::GROQ, format!("event: error\ndata: {overloaded}\n\n"), Class::Overloaded),
        (Flavour::GROQ, format!("event: error\ndata: {bare}\n\n"), Class::Overloaded),
        (Flavour::GENERIC, format!("data: {overloaded}\n\n"), Class::Overloaded),
        (Flavour::OPENROUTER, bytes(&[upstream]), Class::RateLimited { retry_after: None }),
        (Flavour::OPENROUTER, bytes(&[in_choice]), Class::Server),
        (Flavour::OPENROUTER, bytes(&[finish("error")]) + "data: [DONE]\n\n", Class::Server),
        (Flavour::DEEPSEEK, bytes(&[finish("insufficient_system_resource")]), Class::Overloaded),
    ];
    for (flavour, rest, class) in cases {
        let error = read(flavour, &format!("{begun}{rest}")).unwrap_err();
        assert_eq!(error.class, class, "{rest}");
        assert_eq!(error.vendor, flavour.name);
    }
}

#[test]
fn an_error_in_a_body_of_success_is_an_error() {
    let decode = |body: &str| {
        Chat::new(Flavour::GENERIC).decode(body.as_bytes(), &asked("generic")).unwrap_err().class
    };
    assert_eq!(decode(r#"{"error":{"code":429,"message":"x"}}"#).as_str(), "rate_limited");
    assert_eq!(decode(r#"{"object":"error","code":400,"message":"x"}"#), Class::InvalidRequest);
    assert_eq!(decode(r#"{"choices":[]}"#), Class::Server);
    for odd in ["", "null", "[]", "7", "{}", "\"x\"", "{\"choices\":{}}", "\u{1}"] {
        assert_eq!(decode(odd), Class::Server, "{odd:?}");
    }
}

#[test]
fn a_null_error_is_none() {
    let chunk =
        json!({"error": null, "choices": [{"delta": {"content": "Yes"}, "finish_reason": "stop"}]});
    assert_eq!(told(&read(Flavour::GENERIC, &bytes(&[chunk])).unwrap().0), ["says Yes"]);
}

#[test]
fn thoughts_come_in_any_of_the_fields_and_only_once() {
    for field in ["reasoning_content", "reasoning"] {
        let deltas =
            [json!({field: "H"}), json!({field: "m", "content": ""}), json!({"content": "Yes"})];
        assert_eq!(told(&stream(Flavour::VLLM, &deltas)), ["thinks Hm", "says Yes"]);
    }
    let both = [json!({"reasoning": "Hm", "reasoning_content": "Hm"}), json!({"content": "Yes"})];
    assert_eq!(told(&stream(Flavour::VLLM, &both)), ["thinks Hm", "says Yes"]);
    let message = json!({"reasoning": "Hm", "reasoning_content": "Hm", "content": "Yes"});
    assert_eq!(told(&whole(Flavour::VLLM, message)), ["thinks Hm", "says Yes"]);
}

#[test]
fn thoughts_in_the_text_are_found_though_the_tag_is_split() {
    let pieces = ["<th", "ink>", "H", "m</", "think>", "\n\n", "Yes", " <think>"];
    let deltas: Vec<Value> = pieces.iter().map(|piece| json!({"content": piece})).collect();
    let streamed = stream(Flavour::GROQ, &deltas);
    assert_eq!(told(&streamed), ["thinks Hm", "says Yes <think>"]);
    let at_once = whole(Flavour::GROQ, json!({"content": pieces.concat()}));
    assert_eq!(at_once.output, streamed.output);
    let openai = whole(Flavour::OPENAI, json!({"content": "<think>Hm</think>Yes"}));
    assert_eq!(told(&openai), ["says <think>Hm</think>Yes"]);
}

#[test]
fn content_may_be_a_list_and_then_a_text() {
    let think = |text: &str| json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]});
    let text = json!({"content": [{"type": "text", "text": "Ye"}, {"type": "reference", "reference_ids": [1]}]});
    let deltas = [
        json!({"content": ""}),
        think("H"),
        think("m"),
        text,
        json!({"content": "s"}),
        json!({"content": null}),
    ];
    assert_eq!(told(&stream(Flavour::MISTRAL, &deltas)), ["thinks Hm", "says Yes"]);
}

#[test]
fn text_refusal_and_call_of_one_message_all_come() {
    let message = json!({"content": "So", "refusal": "no", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "one", "arguments": "{}"}}]});
    assert_eq!(
        told(&whole(Flavour::OPENAI, message.clone())),
        ["says So + refusal no", "calls a one {}"]
    );
    let call = json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "one", "arguments": "{}"}}]});
    let deltas = [json!({"content": "S"}), call, json!({"content": "o"}), json!({"refusal": "no"})];
    assert_eq!(stream(Flavour::OPENAI, &deltas).output, whole(Flavour::OPENAI, message).output);
}

#[test]
fn only_the_first_of_several_choices_counts() {
    let body = json!({"choices": [{"index": 1, "message": {"content": "No"}}, {"index": 0, "message": {"content": "Yes"}, "finish_reason": "stop"}]});
    let reply = Chat::new(Flavour::GENERIC).decode(body.to_string().as_bytes(), &asked("generic"));
    assert_eq!(told(&reply.unwrap()), ["says Yes"]);
    let other =
        json!({"choices": [{"index": 1, "delta": {"content": "No"}, "finish_reason": "stop"}]});
    let chunks = [delta(json!({"content": "Yes"})), other, finish("stop")];
    assert_eq!(told(&read(Flavour::GENERIC, &bytes(&chunks)).unwrap().0), ["says Yes"]);
}

#[test]
fn citations_are_kept_without_their_extra_level() {
    let note = json!({"type": "url_citation", "url_citation": {"url": "https://a.example", "start_index": 0}});
    let response = whole(Flavour::OPENAI, json!({"content": "Yes", "annotations": [note.clone()]}));
    let Item::Message(message) = &response.output[0] else { panic!() };
    let Part::OutputText { extra, .. } = &message.content[0] else { panic!() };
    assert_eq!(
        extra["annotations"],
        json!([{"type": "url_citation", "url": "https://a.example", "start_index": 0}])
    );
    let deltas = [json!({"content": "Yes"}), json!({"annotations": [note]})];
    assert_eq!(stream(Flavour::OPENAI, &deltas).output, response.output);
}

#[test]
fn the_head_is_kept_even_when_the_first_chunk_leaves_it_blank() {
    let first =
        json!({"id": "", "model": "", "created": 0, "choices": [], "prompt_filter_results": []});
    let chunks = [first, delta(json!({"content": "Yes"})), finish("stop")];
    let (response, events) = read(Flavour::AZURE, &bytes(&chunks)).unwrap();
    assert_eq!((response.id.as_str(), response.model.as_str()), ("r1", "m-1"));
    assert!(matches!(events.first(), Some(Event::Started(_))));
    assert!(response.extra.contains_key("prompt_filter_results"));
}

#[test]
fn nothing_that_a_host_sends_makes_the_reader_fail_badly() {
    let odd = [
        json!({"choices": [7, null, {"delta": 7}, {"delta": {"tool_calls": {"a": 1}}}]}),
        json!({"choices": [{"delta": {"tool_calls": [null, 7, {"index": -1}, {"index": 18446744073709551615u64}]}}]}),
        json!({"choices": [{"delta": {"content": {"a": 1}, "reasoning": {"a": 1}, "role": 7}}]}),
        json!({"choices": [{"delta": {"content": [null, 7, {"type": "thinking", "thinking": 7}]}}]}),
        json!({"usage": 7, "id": 7, "model": [], "created": "x", "choices": null}),
        json!({"usage": {"prompt_tokens": -1, "total_tokens": 1e300}, "choices": []}),
        json!([]),
        json!(7),
    ];
    let response = read(Flavour::GENERIC, &(bytes(&odd) + &bytes(&[finish("stop")]))).unwrap().0;
    assert_eq!(response.status, Status::Completed);
    let broken = read(Flavour::GENERIC, "data: {\"choices\": [\n\n").unwrap_err();
    assert_eq!(broken.class, Class::Server);
}

#[test]
fn tokens_from_the_cache_are_counted_wherever_the_host_says_them() {
    for usage in [
        json!({"prompt_tokens": 10, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 6}),
        json!({"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 4}}),
        json!({"prompt_tokens": 10, "cached_tokens": 4}),
    ] {
        let body = json!({"choices": [{"message": {"content": "Yes"}}], "usage": usage});
        let reply = Chat::new(Flavour::DEEPSEEK).decode(body.to_string().as_bytes(), &asked("d"));
        let usage = reply.unwrap().usage.unwrap();
        assert_eq!((usage.input_tokens, usage.input_tokens_details.cached_tokens), (10, 4));
    }
}
