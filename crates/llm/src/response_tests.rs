//! Checks what is read out of a response, and what becomes of it elsewhere.

use agent_world_core::item::{self, Finish, Item, Reply};
use serde_json::json;

use super::*;

fn response(output: Value) -> Response {
    serde_json::from_value(json!({"id": "r", "model": "m", "output": output})).unwrap()
}

#[test]
fn text_refusal_and_calls_are_found_among_the_items() {
    let response = response(json!([
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "a"}, {"type": "output_text", "text": "b"},
            {"type": "refusal", "refusal": "but not c"}, {"type": "other"}]},
        {"type": "function_call", "call_id": "1", "name": "x", "arguments": "{}"},
        {"type": "web_search_call"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "?"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "d"}]},
        {"type": "function_call", "call_id": "2", "name": "y", "arguments": ""},
    ]));
    assert_eq!(response.output_text(), "abd");
    assert_eq!(response.refusal(), Some("but not c"));
    let calls: Vec<&str> = response.calls().map(|call| call.call_id.as_str()).collect();
    assert_eq!(calls, ["1", "2"]);
    assert!(response.is_complete());
    let empty = Response::default();
    assert_eq!(
        (empty.output_text().as_str(), empty.refusal(), empty.calls().count()),
        ("", None, 0)
    );
}

#[test]
fn a_response_survives_a_round_trip_with_what_nobody_knows() {
    let value = json!({
        "id": "r", "model": "m", "created_at": 7, "status": "incomplete",
        "output": [{"type": "new_item", "deep": {"b": 1, "a": [null]}}],
        "usage": {
            "input_tokens": 3, "input_tokens_details": {"cached_tokens": 1, "audio": 2},
            "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 7, "cost": 0.25,
        },
        "incomplete_details": {"reason": "max_output_tokens"}, "error": null,
        "service_tier": "flex",
    });
    let response: Response = serde_json::from_value(value.clone()).unwrap();
    assert_eq!(response.status, Status::Incomplete);
    assert_eq!(serde_json::to_value(&response).unwrap(), value);
    let odd: Response = serde_json::from_value(json!({"status": "paused"})).unwrap();
    assert_eq!(odd.status, Status::Unknown("paused".to_owned()));
    assert!(!odd.is_complete());
}

#[test]
fn usage_adds_up_and_never_overflows() {
    let mut sum = Usage::new(10, 5).with_cached(4).with_reasoning(2);
    assert_eq!(sum.total_tokens, 15);
    let mut more = Usage::new(1, 1).with_cached(1).with_reasoning(1);
    more.input_tokens_details.cache_write_tokens = Some(3);
    sum += more.clone();
    sum += more;
    assert_eq!((sum.input_tokens, sum.output_tokens, sum.total_tokens), (12, 7, 19));
    assert_eq!(sum.input_tokens_details.cached_tokens, 6);
    assert_eq!(sum.input_tokens_details.cache_write_tokens, Some(6));
    assert_eq!(sum.output_tokens_details.reasoning_tokens, 4);
    sum += Usage::new(u64::MAX, u64::MAX).with_cached(u64::MAX).with_reasoning(u64::MAX);
    assert_eq!((sum.input_tokens, sum.total_tokens), (u64::MAX, u64::MAX));
    assert_eq!(sum.output_tokens_details.reasoning_tokens, u64::MAX);
    assert_eq!(Usage::new(u64::MAX, 1).total_tokens, u64::MAX);
}

#[test]
fn usage_is_converted_both_ways() {
    let counted = item::Usage {
        input_tokens: 10,
        output_tokens: 5,
        total_tokens: 16,
        cached_input_tokens: 4,
        reasoning_tokens: 2,
    };
    let usage = Usage::from(counted);
    // A total that a vendor counts otherwise is kept.
    assert_eq!((usage.total_tokens, usage.input_tokens_details.cached_tokens), (16, 4));
    assert_eq!(item::Usage::from(usage), counted);
}

#[test]
fn a_response_becomes_a_reply_and_back() {
    let mut response = response(json!([
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]},
    ]));
    response.usage = Some(Usage::new(1, 2));
    let reply = Reply::from(response.clone());
    assert_eq!((reply.items.len(), reply.usage.total_tokens), (1, 3));
    assert_eq!(reply.finish, Finish::Completed);
    assert_eq!(Response::from(reply).output, response.output);

    response.incomplete("content_filter");
    let reply = Reply::from(response.clone());
    assert_eq!(reply.finish, Finish::Incomplete { reason: "content_filter".to_owned() });
    let back = Response::from(reply);
    assert_eq!(back.status, Status::Incomplete);
    assert_eq!(back.incomplete_details, response.incomplete_details);

    // Whatever did not complete must not look as if it had.
    for status in [Status::Failed, Status::Cancelled, Status::InProgress] {
        let reply = Reply::from(Response { status, ..Response::default() });
        assert_eq!(reply.finish, Finish::Incomplete { reason: "unknown".to_owned() });
    }
    assert_eq!(Reply::from(Response::default()).items, Vec::<Item>::new());
}
