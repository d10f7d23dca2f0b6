//! Says what Gemini's replies come to, whole and streamed: order, ends, failures and counts.
//! Where nothing was recorded, the replies are made by hand after the vendor's documents, and say so.

use std::time::Duration;

use agent_world_core::item::{Item, Part};
use bytes::Bytes;
use serde_json::{Value, json};

use super::Google;
use crate::dialect::{Asked, Caps, Dialect as _, StreamDecoder};
use crate::{Capabilities, Class, Error, Event, Response, Status, origin};

pub(super) fn asked(model: &str, stream: bool) -> Asked {
    Asked {
        vendor: "google".into(),
        model: model.to_owned(),
        capabilities: Capabilities::of("google", model),
        stream,
    }
}

/// A stream as the vendor writes it, with its line ends.
fn sse(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
}

fn read(text: &str, size: usize) -> Result<Response, Error> {
    let asked = asked("gemini-3-flash-preview", true);
    let mut decoder = StreamDecoder::new(&Google, asked, Caps::default());
    let mut last = None;
    for chunk in text.as_bytes().chunks(size) {
        last = decoder.push(&Bytes::copy_from_slice(chunk))?.pop().or(last);
    }
    last = decoder.end()?.pop().or(last);
    match last {
        Some(Event::Completed(response)) => Ok(*response),
        other => panic!("a stream without an end: {other:?}"),
    }
}

fn streamed(chunks: &[Value]) -> Result<Response, Error> {
    read(&sse(chunks), usize::MAX)
}

pub(super) fn whole(body: &Value) -> Result<Response, Error> {
    Google.decode(body.to_string().as_bytes(), &asked("gemini-3-flash-preview", false))
}

/// A chunk with these parts and, where it says so, the end.
pub(super) fn chunk(parts: Value, finish: Option<&str>) -> Value {
    let mut chunk = json!({
        "candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "gemini-3-flash-preview",
        "responseId": "r1",
    });
    if let Some(finish) = finish {
        chunk["candidates"][0]["finishReason"] = finish.into();
    }
    chunk
}

/// What was said, thought, called and added, in order.
fn script(response: &Response) -> Vec<String> {
    let line = |item: &Item| match item {
        Item::Message(message) => format!("says {}", message.text()),
        Item::Reasoning(reasoning) => format!("thinks {}", origin::thoughts(reasoning)),
        Item::FunctionCall(call) => format!("calls {}{}", call.name, call.arguments),
        Item::Unknown(value) => format!("adds {}", value["type"].as_str().unwrap()),
        other => panic!("{other:?}"),
    };
    response.output.iter().map(line).collect()
}

#[test]
fn a_whole_reply_and_a_streamed_one_give_the_same() {
    let chunks = [
        chunk(json!([{"text": "Let me ", "thought": true}]), None),
        chunk(json!([{"text": "see.", "thought": true, "thoughtSignature": "t"}]), None),
        chunk(json!([{"text": "The answer"}]), None),
        chunk(json!([{"text": " is 4."}]), None),
        chunk(json!([{"functionCall": {"name": "f", "args": {"a": 1}}}]), Some("STOP")),
    ];
    let once = chunk(
        json!([
            {"text": "Let me ", "thought": true},
            {"text": "see.", "thought": true, "thoughtSignature": "t"},
            {"text": "The answer is 4."},
            {"functionCall": {"name": "f", "args": {"a": 1}}},
        ]),
        Some("STOP"),
    );
    let streamed = streamed(&chunks).unwrap();
    assert_eq!(streamed, whole(&once).unwrap());
    assert_eq!(streamed.status, Status::Completed);
    assert_eq!(
        script(&streamed),
        ["thinks Let me see.", "says The answer is 4.", r#"calls f{"a":1}"#]
    );
}

#[test]
fn words_and_calls_may_alternate() {
    let response = streamed(&[
        chunk(json!([{"text": "a"}, {"functionCall": {"name": "f"}}, {"text": "b"}]), None),
        chunk(json!([{"text": "c"}]), None),
        chunk(json!([{"text": "hm", "thought": true}, {"text": "d"}]), Some("STOP")),
    ]);
    let said = ["says a", "calls f{}", "says bc", "thinks hm", "says d"];
    assert_eq!(script(&response.unwrap()), said);
}

#[test]
fn arguments_keep_their_bytes() {
    let arguments = "{ \"x\" :1.0e5,\"big\":12345678901234567890123, \"t\":\"\\u00e9\\/\" }";
    let body = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"functionCall":{{"name":"f","args":{arguments}}}}}]}},"finishReason":"STOP"}}]}}"#
    );
    let asked = asked("gemini-2.5-flash", false);
    let response = Google.decode(body.as_bytes(), &asked).unwrap();
    assert_eq!(response.calls().next().unwrap().arguments, arguments);
    assert_eq!(response.model, "gemini-2.5-flash", "who was asked, where the reply does not say");
}

#[test]
fn a_call_without_an_id_is_given_one_and_a_call_without_arguments_an_empty_object() {
    let response = streamed(&[chunk(
        json!([
            {"functionCall": {"name": "f"}},
            {"functionCall": {"name": "f", "args": null, "id": ""}},
            {"functionCall": {"name": "g", "args": {}, "id": "abc"}},
        ]),
        Some("STOP"),
    )])
    .unwrap();
    let calls: Vec<_> = response.calls().collect();
    let ids: Vec<&str> = calls.iter().map(|call| call.call_id.as_str()).collect();
    assert_eq!(ids, ["call_r1_1", "call_r1_2", "abc"]);
    assert!(calls.iter().all(|call| call.arguments == "{}"));
    let made = calls.iter().filter(|call| call.extra["origin"]["made_id"] == true);
    assert_eq!(made.count(), 2);
}

#[test]
fn arguments_in_pieces_go_to_the_call_under_way() {
    // Made by hand: recorded were only texts at the top.
    let response = streamed(&[
        chunk(json!([{"functionCall": {"name": "f", "id": "1", "willContinue": true}}]), None),
        chunk(
            json!([{"functionCall": {"willContinue": true, "partialArgs": [
                {"jsonPath": "$.a.b[0]", "numberValue": 2},
                {"jsonPath": "$.s", "stringValue": "x", "willContinue": true},
            ]}}]),
            None,
        ),
        chunk(
            json!([{"functionCall": {"willContinue": true, "partialArgs": [
                {"jsonPath": "$.s", "stringValue": "y"},
                {"jsonPath": "$.a.b[1]", "boolValue": false},
            ]}}]),
            None,
        ),
        // The next one begins before the first was ended; words end the second.
        chunk(json!([{"functionCall": {"name": "g", "willContinue": true}}]), None),
        chunk(json!([{"text": "done"}]), None),
        chunk(json!([{"functionCall": {}}]), Some("STOP")),
    ])
    .unwrap();
    let said = [r#"calls f{"a":{"b":[2,false]},"s":"xy"}"#, "calls g{}", "says done"];
    assert_eq!(script(&response), said);
}

#[test]
fn the_last_reason_to_finish_decides() {
    let response = streamed(&[
        chunk(json!([{"text": "a"}]), Some("STOP")),
        chunk(json!([{"text": "b"}]), Some("MAX_TOKENS")),
        chunk(json!([]), Some("FINISH_REASON_UNSPECIFIED")),
    ])
    .unwrap();
    assert_eq!(script(&response), ["says ab"]);
    assert_eq!(response.incomplete_details.unwrap().reason, "max_output_tokens");
}

#[test]
fn filters_and_failures_of_the_model_leave_the_reply_incomplete() {
    for (finish, reason) in [
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"),
        ("UNEXPECTED_TOOL_CALL", "UNEXPECTED_TOOL_CALL"),
        ("OTHER", "OTHER"),
    ] {
        let body = json!({"candidates": [{"finishReason": finish, "finishMessage": "so"}]});
        let response = whole(&body).unwrap();
        assert_eq!(response.status, Status::Incomplete, "{finish}");
        assert_eq!(response.incomplete_details.unwrap().reason, reason);
        assert_eq!(response.extra["finishMessage"], "so");
    }
}

#[test]
fn a_stream_that_ends_without_a_reason_is_cut() {
    // Made by hand: nothing was recorded.
    let text = sse(&[
        chunk(json!([{"text": "It was"}]), None),
        chunk(json!([{"text": " so"}]), Some("STOP")),
    ]);
    let (first, _) = text.split_once("\r\n\r\n").unwrap();
    for cut in [0, 5, first.len(), first.len() + 4, text.len() - 30] {
        let error = read(&text[..cut], usize::MAX).unwrap_err();
        assert_eq!(error.class, Class::StreamCut, "cut at {cut}");
    }
    // Only the mark of the end is missing.
    assert!(read(&text[..text.len() - 4], usize::MAX).is_ok());
}

#[test]
fn chunks_of_any_size_give_the_same() {
    let text = sse(&[
        chunk(json!([{"text": "Grüße 🦀", "thought": true}]), None),
        chunk(json!([{"text": "ß\r\n\n"}, {"functionCall": {"name": "f"}}]), Some("STOP")),
    ]);
    let at_once = read(&text, usize::MAX).unwrap();
    for size in 1..40 {
        assert_eq!(read(&text, size).unwrap(), at_once, "in {size}s");
    }
    assert_eq!(read(&text.replace("\r\n\r\n", "\n\n"), 3).unwrap(), at_once);
    assert_eq!(read(&(text + "data: [DONE]\r\n\r\n"), 3).unwrap(), at_once);
}

#[test]
fn a_prompt_that_is_not_let_through_is_refused() {
    // Made by hand: nothing was recorded.
    let body = json!({
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 5, "totalTokenCount": 5},
    });
    for error in [whole(&body).unwrap_err(), streamed(std::slice::from_ref(&body)).unwrap_err()] {
        assert_eq!(error.class, Class::ContentRefused);
        assert_eq!(error.message, "the prompt was blocked (PROHIBITED_CONTENT)");
    }
    // What was said before the filter noticed stays, and is not taken for a cut.
    let late = streamed(&[chunk(json!([{"text": "a"}]), None), body]).unwrap();
    assert_eq!(late.incomplete_details.unwrap().reason, "content_filter");
    let nothing = whole(&json!({"usageMetadata": {"promptTokenCount": 5}})).unwrap_err();
    assert_eq!(nothing.class, Class::Server);
}

#[test]
fn errors_inside_a_stream_are_explained() {
    // Made by hand: nothing was recorded.
    let error = json!({"error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}});
    for last in [error.clone(), json!([error])] {
        let said = streamed(&[chunk(json!([{"text": "a"}]), None), last]).unwrap_err();
        assert_eq!((said.class, said.status), (Class::Overloaded, Some(503)));
        assert_eq!(said.message, "The model is overloaded.");
    }
    let garbage = read("data: {\"candidates\": 7}\r\n\r\n", usize::MAX).unwrap_err();
    assert_eq!(garbage.class, Class::Server);
}

#[test]
fn error_bodies_are_explained() {
    // Made by hand: only the first two kinds were recorded, in other words.
    let explained = |status: u16, body: &str| {
        Google.explain(status, body.as_bytes(), &asked("gemini-3-flash-preview", true)).class
    };
    let limited = r#"[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"slow",
        "details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"7s"}]}}]"#;
    let wait = Some(Duration::from_secs(7));
    assert_eq!(explained(429, limited), Class::RateLimited { retry_after: wait });
    let key = r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"no",
        "details":[{"reason":"API_KEY_INVALID"}]}}"#;
    assert_eq!(explained(400, key), Class::Auth);
    let long = r#"{"error":{"code":400,"status":"INVALID_ARGUMENT","message":
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}"#;
    assert_eq!(explained(400, long), Class::ContextTooLong);
    let unavailable = r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"overloaded"}}"#;
    assert_eq!(explained(503, unavailable), Class::Overloaded);
    let missing =
        r#"{"error":{"code":404,"status":"NOT_FOUND","message":"models/x is not found"}}"#;
    assert_eq!(explained(404, missing), Class::UnknownModel);
    let late = r#"{"error":{"code":504,"status":"DEADLINE_EXCEEDED","message":"too late"}}"#;
    assert_eq!(explained(504, late), Class::Timeout);
    assert_eq!(explained(502, "<html>Bad Gateway</html>"), Class::Server);
    assert_eq!(explained(500, ""), Class::Server);
}

#[test]
fn what_only_gemini_has_is_kept_whole() {
    let picture = json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}, "thought": true});
    let response = whole(&chunk(json!([picture, {"fresh": 1}, 7]), Some("STOP"))).unwrap();
    assert_eq!(script(&response), ["adds google:inlineData", "adds google:fresh"]);
    let Item::Unknown(value) = &response.output[0] else { panic!() };
    assert_eq!(value["raw"], picture);
    assert_eq!(value["origin"]["vendor"], "google");
}

#[test]
fn the_last_numbers_count() {
    let mut first = chunk(json!([{"text": "a"}]), None);
    first["usageMetadata"] = json!({"promptTokenCount": 9, "totalTokenCount": 9});
    let mut second = chunk(json!([{"text": "b"}]), Some("STOP"));
    second["usageMetadata"] = json!({
        "promptTokenCount": 100, "cachedContentTokenCount": 60, "toolUsePromptTokenCount": 5,
        "candidatesTokenCount": 7, "thoughtsTokenCount": 3, "totalTokenCount": 115,
    });
    let mut third = chunk(json!([]), None);
    third["usageMetadata"] = json!({"trafficType": "ON_DEMAND"});
    let usage = streamed(&[first, second, third]).unwrap().usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (105, 10, 115));
    assert_eq!(usage.input_tokens_details.cached_tokens, 60);
    assert_eq!(usage.output_tokens_details.reasoning_tokens, 3);
}

#[test]
fn only_the_first_answer_is_the_reply() {
    let mut body = chunk(json!([{"text": "one"}]), Some("STOP"));
    let second =
        json!({"index": 1, "content": {"parts": [{"text": "two"}]}, "finishReason": "SAFETY"});
    body["candidates"].as_array_mut().unwrap().push(second);
    let response = whole(&body).unwrap();
    assert_eq!(response.output_text(), "one");
    assert!(response.is_complete());
}

#[test]
fn sources_are_noted_where_they_fit_the_text() {
    let text = "Größe zählt. Ja.";
    let mut body = chunk(json!([{"text": text}]), Some("STOP"));
    body["candidates"][0]["groundingMetadata"] = json!({
        "groundingChunks": [{"web": {"uri": "https://a.example", "title": "A"}}],
        "groundingSupports": [
            {"segment": {"endIndex": 15, "text": "Größe zählt."}, "groundingChunkIndices": [0, 9]},
            {"segment": {"startIndex": 16, "endIndex": 19}, "groundingChunkIndices": [0]},
            {"segment": {"startIndex": 3, "endIndex": 5}, "groundingChunkIndices": [0]},
            {"segment": {"startIndex": 0, "endIndex": 900}, "groundingChunkIndices": [0]},
            {"segment": {"endIndex": 4, "text": "other"}, "groundingChunkIndices": [0]},
        ],
    });
    let response = whole(&body).unwrap();
    let Item::Message(message) = &response.output[0] else { panic!() };
    let [Part::OutputText { extra, .. }] = message.content.as_slice() else { panic!() };
    let noted: Vec<_> = extra["annotations"].as_array().unwrap().iter().collect();
    let places: Vec<_> =
        noted.iter().map(|note| (&note["start_index"], &note["end_index"])).collect();
    assert_eq!(places, [(&json!(0), &json!(12)), (&json!(13), &json!(16))]);
    assert_eq!(noted[0]["url"], "https://a.example");
    assert!(response.extra.contains_key("groundingMetadata"));
}

#[test]
fn no_bytes_make_it_panic() {
    let text = sse(&[
        chunk(json!([{"text": "é", "thought": true, "thoughtSignature": "s"}]), None),
        chunk(
            json!([{"functionCall": {"name": "f", "partialArgs": [{"jsonPath": "$.a[1].b", "stringValue": "x"}]}}]),
            Some("STOP"),
        ),
    ]);
    let asked = asked("gemini-3-flash-preview", true);
    for place in 0..text.len() {
        for byte in *b"\"]}0:\xff" {
            let mut bytes = text.clone().into_bytes();
            bytes[place] = byte;
            let mut decoder = StreamDecoder::new(&Google, asked.clone(), Caps::default());
            let pushed = decoder.push(&Bytes::from(bytes.clone()));
            let ended = pushed.and_then(|_| decoder.end());
            // Whatever comes of it must be a reply or an error that says something.
            for error in [ended.err(), Google.decode(&bytes, &asked).err()].into_iter().flatten() {
                assert!(!error.message.is_empty());
            }
        }
    }
}
