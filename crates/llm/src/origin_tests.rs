//! Checks how an item's origin is noted and found again, and how parts are put in words.

use agent_world_core::item::Reasoning;
use serde_json::json;

use super::*;

#[test]
fn an_origin_is_found_by_the_vendor_who_made_the_item() {
    let items = [
        json!({"type": "message", "role": "assistant", "content": []}),
        json!({"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "c", "output": "x"}),
        json!({"type": "reasoning", "summary": []}),
        json!({"type": "web_search_call", "id": "ws_1"}),
    ];
    for value in items {
        let mut item: Item = serde_json::from_value(value.clone()).unwrap();
        assert!(Origin::of(&item).is_none());
        mark(&mut item, "one", "m-1");
        note(&mut item, "raw", json!({"a": 1}));
        let origin = Origin::by(&item, "one").unwrap();
        assert_eq!((origin.vendor(), origin.model()), (Some("one"), Some("m-1")));
        assert_eq!(origin.get("raw"), Some(&json!({"a": 1})));
        assert_eq!(origin.text("raw"), None);
        assert!(Origin::by(&item, "other").is_none());
        // It survives the log, and without it the item is what it was.
        let mut logged = serde_json::to_value(&item).unwrap();
        assert_eq!(serde_json::from_value::<Item>(logged.clone()).unwrap(), item);
        logged.as_object_mut().unwrap().shift_remove(ORIGIN);
        assert_eq!(logged, value);
    }
}

#[test]
fn a_vendors_own_field_of_that_name_makes_way() {
    for theirs in [json!("theirs"), json!(null), json!([1])] {
        let mut item = Item::Unknown(json!({"type": "x", "origin": theirs}));
        mark(&mut item, "one", "");
        assert_eq!(Origin::by(&item, "one").unwrap().model(), None);
    }
    // What is not even an object cannot be marked, and does no harm.
    let mut odd = Item::Unknown(json!(7));
    mark(&mut odd, "one", "m");
    assert!(Origin::of(&odd).is_none() && odd == Item::Unknown(json!(7)));
}

#[test]
fn thoughts_are_the_summary_or_else_the_thoughts_themselves() {
    let reasoning = |value: Value| -> Reasoning { serde_json::from_value(value).unwrap() };
    let both = json!({
        "summary": [{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}],
        "content": [{"type": "reasoning_text", "text": "c"}],
    });
    assert_eq!(thoughts(&reasoning(both)), "a\n\nb");
    let raw =
        json!({"summary": [{"odd": 1}], "content": [{"type": "reasoning_text", "text": "c"}]});
    assert_eq!(thoughts(&reasoning(raw)), "c");
    assert_eq!(thoughts(&reasoning(json!({"content": null}))), "");
}

#[test]
fn every_part_can_be_put_in_words() {
    let words = |value: Value| in_words(&serde_json::from_value(value).unwrap());
    let table = [
        (json!({"type": "input_text", "text": "a"}), "a"),
        (json!({"type": "output_text", "text": "b", "annotations": []}), "b"),
        (json!({"type": "refusal", "refusal": "no"}), "no"),
        (
            json!({"type": "input_image", "image_url": "https://e.org/a"}),
            "[image: https://e.org/a]",
        ),
        (
            json!({"type": "input_image", "image_url": "data:image/png;base64,QUJD"}),
            "[an image that this model cannot be shown]",
        ),
        (
            json!({"type": "input_image", "file_id": "file_1"}),
            "[an image that this model cannot be shown]",
        ),
        (
            json!({"type": "input_file", "filename": "a.pdf", "file_data": "data:,x"}),
            "[file a.pdf, which this model cannot be shown]",
        ),
        (json!({"type": "input_file", "file_id": "f"}), "[a file that this model cannot be shown]"),
        (json!({"type": "input_audio"}), "[input_audio, which this model cannot be shown]"),
        (json!({"kind": 1}), "[something that this model cannot be shown]"),
    ];
    for (part, expected) in table {
        assert_eq!(words(part.clone()), expected, "{part}");
    }
}
