//! Checks response objects and events of replies that no recording shows. The corpus tests hold both against the
//! specification.

use agent_world_core::item::{Item, Part};
use serde_json::{Value, json};

use super::*;
use crate::{Draft, Event, Thought, explain};

fn request() -> Request {
    serde_json::from_value(json!({
        "model": "m", "instructions": "be kind", "input": "hello", "temperature": 0.5,
        "tools": [{"type": "function", "name": "look"}], "service_tier": "flex", "background": "odd",
    }))
    .unwrap()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn write(events: &[Event]) -> Vec<Value> {
    let mut writer = EventWriter::new(&request());
    events.iter().flat_map(|event| writer.write(event)).collect()
}

#[test]
fn a_response_object_repeats_what_was_asked_and_fills_in_the_rest() {
    let mut response = Response {
        id: "resp_7".into(),
        output: vec![Item::assistant("hi")],
        ..Response::default()
    };
    response.extra = serde_json::from_value(json!({
        "top_p": 0.9, "temperature": 1.0, "tools": ["theirs"], "store": null, "fingerprint": "f",
    }))
    .unwrap();
    let object = resource(&request(), &response);
    assert_eq!(object["model"], "m");
    assert_eq!(object["instructions"], "be kind");
    assert_eq!((&object["temperature"], &object["top_p"]), (&json!(0.5), &json!(0.9)));
    assert_eq!(
        object["tools"],
        json!([{"type": "function", "name": "look", "description": null, "parameters": null, "strict": false}])
    );
    assert_eq!((&object["service_tier"], &object["background"]), (&json!("flex"), &json!(false)));
    assert_eq!((&object["store"], &object["fingerprint"]), (&json!(true), &json!("f")));
    assert_eq!((&object["created_at"], &object["completed_at"]), (&json!(0), &Value::Null));
    assert_eq!(
        object["output"],
        json!([{"type": "message", "role": "assistant", "id": "msg_7_0", "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}]}])
    );
}

#[test]
fn only_the_last_item_of_an_incomplete_reply_was_cut() {
    let mut response = Response {
        output: vec![Item::assistant("hi"), Item::call("call_1", "look", &json!({}))],
        ..Response::default()
    };
    response.incomplete("max_output_tokens");
    let object = resource(&request(), &response);
    assert_eq!(object["status"], "incomplete");
    assert_eq!(object["output"][0]["status"], "completed");
    assert_eq!(object["output"][1]["status"], "incomplete");
    // Told in events, a client that acts on finished calls must not act on this one.
    let mut draft = Draft::new();
    draft.say("hi");
    draft.call("call_1", "look", "{\"x\":");
    draft.incomplete("max_output_tokens");
    let events = write(&draft.take_events());
    let done: Vec<&Value> =
        events.iter().filter(|event| event["type"] == "response.output_item.done").collect();
    assert_eq!(
        (&done[0]["item"]["status"], &done[1]["item"]["status"]),
        (&json!("completed"), &json!("incomplete"))
    );
    assert_eq!(events.last().unwrap()["type"], "response.incomplete");
    assert_eq!(events.last().unwrap()["response"]["output"][1], done[1]["item"]);
}

#[test]
fn what_only_the_vendor_understands_stays_with_an_item() {
    let mut item = Item::assistant("hi");
    crate::origin::mark(&mut item, "anthropic", "m");
    crate::origin::note(&mut item, "raw", json!({"signature": "s"}));
    let object =
        resource(&request(), &Response { output: vec![item.clone()], ..Response::default() });
    let back = crate::input_from(object["output"].clone()).unwrap();
    let origin = crate::origin::Origin::of(&back[0]).unwrap();
    assert_eq!(origin.get("raw"), Some(&json!({"signature": "s"})));
    assert_eq!(origin.vendor(), Some("anthropic"));
}

#[test]
fn every_kind_of_text_has_its_events() {
    let mut draft = Draft::new();
    draft.think(Thought::Summary, "sum");
    draft.think(Thought::Raw, "raw");
    draft.say("he");
    draft.say("llo");
    draft.refuse("no");
    let index = draft.call("call_1", "look", "{");
    draft.arguments(index, "}");
    draft.add(Item::Unknown(json!({"type": "search", "id": "s_1"})));
    draft.complete();
    let events = write(&draft.take_events());
    assert_eq!(
        kinds(&events),
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.reasoning_summary_part.added",
            "response.reasoning_summary_text.delta",
            "response.content_part.added",
            "response.reasoning_text.delta",
            "response.reasoning_summary_text.done",
            "response.reasoning_summary_part.done",
            "response.reasoning_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.delta",
            "response.content_part.added",
            "response.refusal.delta",
            "response.output_item.added",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.delta",
            "response.output_item.added",
            "response.output_item.done",
            "response.output_text.done",
            "response.content_part.done",
            "response.refusal.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.function_call_arguments.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
    }
    assert_eq!(
        events[15],
        json!({"type": "response.output_text.delta", "sequence_number": 15,
        "item_id": "msg_0_1", "output_index": 1, "content_index": 0, "delta": "llo", "logprobs": []})
    );
    let response = draft.into_response().unwrap();
    assert_eq!(events.last().unwrap()["response"], resource(&request(), &response));
}

#[test]
fn an_item_that_came_whole_is_told_piece_by_piece_all_the_same() {
    let note =
        json!({"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1});
    let mut item = Item::assistant("hello");
    if let Item::Message(message) = &mut item
        && let Some(Part::OutputText { extra, .. }) = message.content.first_mut()
    {
        extra.insert("annotations".to_owned(), json!([note]));
    }
    let mut draft = Draft::new();
    draft.add(item);
    draft.complete();
    let events = write(&draft.take_events());
    assert_eq!(
        kinds(&events)[2..],
        [
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.annotation.added",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    assert_eq!((&events[4]["delta"], &events[5]["annotation"]), (&json!("hello"), &note));
    assert_eq!(events[2]["item"]["content"], json!([]));
    // And so is a reply of which only the end was told.
    let response = draft.into_response().unwrap();
    assert_eq!(write(&[Event::Completed(Box::new(response))]), events);
}

#[test]
fn a_failure_is_told_as_an_error_and_as_a_failed_response() {
    let mut draft = Draft::new();
    draft.response_mut().id = "resp_7".into();
    draft.say("he");
    let mut writer = EventWriter::new(&request());
    let begun: usize = draft.take_events().iter().map(|event| writer.write(event).len()).sum();
    let events = writer.failed(&Error::new(Class::Overloaded, "v", "busy"));
    assert_eq!(kinds(&events), ["error", "response.failed"]);
    assert_eq!(events[0]["sequence_number"], begun);
    assert_eq!(events[0]["error"]["code"], "server_is_overloaded");
    assert_eq!(events[1]["response"]["status"], "failed");
    assert_eq!(events[1]["response"]["id"], "resp_7");
    assert_eq!(events[1]["response"]["error"]["code"], "server_is_overloaded");
    assert_eq!(events[1]["response"]["output"], json!([]));
}

#[test]
fn a_failure_is_read_again_as_what_it_was() {
    for class in [
        Class::Auth,
        Class::RateLimited { retry_after: None },
        Class::Quota,
        Class::ContextTooLong,
        Class::InvalidRequest,
        Class::ContentRefused,
        Class::Overloaded,
        Class::Server,
        Class::Timeout,
        Class::UnknownModel,
    ] {
        let said = json!({"error": failure(&Error::new(class, "v", "m"))});
        assert_eq!(explain::value("v", &said).class, class, "{said}");
    }
}
