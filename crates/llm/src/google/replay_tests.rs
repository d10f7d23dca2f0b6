//! Says how a conversation goes back to Gemini: what it sent itself exactly as it came, what others sent in words it
//! takes, and always in an order it takes.

use std::sync::Arc;

use agent_world_core::item::{FunctionCallOutput, Item};
use serde_json::{Map, Value, json};

use super::Google;
use super::reply_tests::{asked, chunk, whole};
use crate::dialect::Dialect as _;
use crate::{Request, input_from};

const NEW: &str = "gemini-3-flash-preview";
const OLD: &str = "gemini-2.5-flash";

pub(super) fn body(model: &str, request: &Request) -> Value {
    let outgoing = Google.encode(request, &asked(model, false)).unwrap();
    serde_json::from_slice(&outgoing.body).unwrap()
}

fn contents(model: &str, items: Vec<Item>) -> Value {
    let request =
        Request { input: items.into_iter().map(Arc::new).collect(), ..Request::default() };
    body(model, &request)["contents"].clone()
}

fn foreign(items: Value) -> Vec<Item> {
    input_from(items).unwrap().into_iter().map(|item| (*item).clone()).collect()
}

fn replied(parts: Value) -> Vec<Item> {
    whole(&chunk(parts, Some("STOP"))).unwrap().output
}

fn output(call_id: &str, output: Value) -> Item {
    let call_id = call_id.to_owned();
    Item::FunctionCallOutput(FunctionCallOutput { call_id, output, extra: Map::new() })
}

fn parts(contents: &Value) -> Vec<&Value> {
    contents.as_array().unwrap().iter().flat_map(|one| one["parts"].as_array().unwrap()).collect()
}

#[test]
fn signatures_go_back_where_they_came_from() {
    let sent = json!([
        {"text": "Hm.", "thought": true, "thoughtSignature": "on the thought"},
        {"text": "I shall ", "thoughtSignature": "on words"},
        {"text": "ask."},
        {"text": "", "thoughtSignature": "on nothing, behind words"},
        {"executableCode": {"code": "1"}, "thoughtSignature": "on code"},
        {"functionCall": {"name": "f", "args": {"a": 1.0}, "id": "i"}, "thoughtSignature": "on a call"},
        {"functionCall": {"name": "g", "args": {}}},
        {"text": "", "thoughtSignature": "on nothing, behind calls"},
    ]);
    let mut items = vec![Item::user("do")];
    items.extend(replied(sent.clone()));
    items.push(Item::output("call_r1_2", "two"));
    items.push(Item::output("i", "one"));
    assert_eq!(
        contents(NEW, items),
        json!([
            {"role": "user", "parts": [{"text": "do"}]},
            {"role": "model", "parts": sent},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "i", "name": "f", "response": {"output": "one"}}},
                {"functionResponse": {"name": "g", "response": {"output": "two"}}},
            ]},
        ])
    );
}

#[test]
fn a_text_that_was_changed_goes_without_the_signatures_that_no_longer_fit() {
    let mut items = replied(json!([{"text": "long words", "thoughtSignature": "s"}]));
    let Item::Message(message) = &mut items[0] else { panic!() };
    message.content = vec![agent_world_core::item::Part::said(message.role, "short")];
    items.push(Item::user("x"));
    assert_eq!(contents(NEW, items)[1]["parts"], json!([{"text": "short"}]));
}

#[test]
fn what_another_vendor_sent_is_converted() {
    let conversation = foreign(json!([
        {"role": "user", "content": "hi"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "secret"}],
         "encrypted_content": "blob", "origin": {"vendor": "openai", "signatures": [{"from": 0, "to": 0, "signature": "x"}]}},
        {"type": "web_search_call", "id": "ws_1", "origin": {"vendor": "openai", "raw": {"text": "no"}}},
        {"role": "assistant", "content": "Calling.", "origin": {"vendor": "anthropic", "raw": {"x": 1}}},
        {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "f", "arguments": "{\"x\": 1}",
         "origin": {"vendor": "openai", "signature": "foreign"}},
        {"type": "function_call", "call_id": "call_b", "name": "g", "arguments": ""},
        {"type": "function_call_output", "call_id": "call_a", "output": "1"},
        {"type": "function_call_output", "call_id": "call_b", "output": "{\"ok\": true}"},
    ]));
    let expected = |signature: Value| {
        let mut first = json!({"functionCall": {"id": "call_a", "name": "f", "args": {"x": 1}}});
        if signature.is_string() {
            first["thoughtSignature"] = signature;
        }
        json!([
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [
                {"text": "Calling."},
                first,
                {"functionCall": {"id": "call_b", "name": "g", "args": {}}},
            ]},
            {"role": "user", "parts": [
                {"functionResponse": {"id": "call_a", "name": "f", "response": {"output": "1"}}},
                {"functionResponse": {"id": "call_b", "name": "g", "response": {"ok": true}}},
            ]},
        ])
    };
    assert_eq!(contents(OLD, conversation.clone()), expected(Value::Null));
    // Newer models refuse a first call without a signature; the vendor names a word to put there.
    let word = json!("skip_thought_signature_validator");
    assert_eq!(contents(NEW, conversation), expected(word));
}

#[test]
fn a_call_that_the_vendor_signed_gets_no_other_signature() {
    let mut items = vec![Item::user("go")];
    items.extend(replied(json!([
        {"functionCall": {"name": "f"}, "thoughtSignature": "own"},
        {"functionCall": {"name": "f"}},
    ])));
    let contents = contents(NEW, items);
    let signatures: Vec<_> = parts(&contents)
        .into_iter()
        .filter(|part| part["functionCall"].is_object())
        .map(|part| part["thoughtSignature"].as_str())
        .collect();
    assert_eq!(signatures, [Some("own"), None]);
}

#[test]
fn a_made_id_is_kept_from_the_model_that_gave_none_and_told_to_others() {
    let mut items = vec![Item::user("go")];
    items.extend(replied(json!([{"functionCall": {"name": "f"}, "thoughtSignature": "s"}])));
    items.push(Item::output("call_r1_1", "x"));
    let ids = |model: &str| {
        let contents = contents(model, items.clone());
        let id = |kind: &str| {
            parts(&contents).iter().find_map(|part| part[kind]["id"].as_str().map(str::to_owned))
        };
        (id("functionCall"), id("functionResponse"))
    };
    assert_eq!(ids(NEW), (None, None));
    assert_eq!(ids(&format!("models/{NEW}")), (None, None));
    let made = Some("call_r1_1".to_owned());
    assert_eq!(ids("gemini-3.8-flash"), (made.clone(), made));
}

#[test]
fn results_come_right_behind_their_calls_and_before_other_words() {
    let contents = contents(
        OLD,
        foreign(json!([
            {"role": "user", "content": "go"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
            {"role": "user", "content": "meanwhile"},
            {"type": "function_call_output", "call_id": "b", "output": "late b"},
            {"role": "assistant", "content": "I see."},
            {"type": "function_call_output", "call_id": "a", "output": "later a"},
            {"role": "user", "content": "and?"},
        ])),
    );
    assert_eq!(
        contents[2]["parts"],
        json!([
            {"functionResponse": {"id": "a", "name": "f", "response": {"output": "later a"}}},
            {"functionResponse": {"id": "b", "name": "g", "response": {"output": "late b"}}},
            {"text": "meanwhile"},
        ])
    );
    assert_eq!(contents[3], json!({"role": "model", "parts": [{"text": "I see."}]}));
    assert_eq!(contents[4], json!({"role": "user", "parts": [{"text": "and?"}]}));
    assert_eq!(contents.as_array().unwrap().len(), 5);
}

#[test]
fn calls_without_results_and_results_without_calls_are_taken() {
    let contents = contents(
        OLD,
        foreign(json!([
            {"type": "function_call_output", "call_id": "gone", "output": "orphan"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"role": "user", "content": "never mind"},
            {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        ])),
    );
    let lost = json!({"error": "no result of this call is known"});
    assert_eq!(contents[0]["parts"], json!([{"text": "[result of a tool call] orphan"}]));
    assert_eq!(contents[2]["parts"][0]["functionResponse"]["response"], lost);
    assert_eq!(contents[2]["parts"][1], json!({"text": "never mind"}));
    assert_eq!(contents[4]["parts"][0]["functionResponse"]["response"], lost);
    let sides: Vec<_> =
        contents.as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(sides, ["user", "model", "user", "model", "user"]);
}

#[test]
fn repeated_ids_are_told_apart_by_their_turns() {
    let call = |arguments: &str| json!({"type": "function_call", "call_id": "0", "name": "f", "arguments": arguments});
    let result =
        |text: &str| json!({"type": "function_call_output", "call_id": "0", "output": text});
    let contents = contents(
        OLD,
        foreign(json!([
            {"role": "user", "content": "go"},
            call("{\"n\":1}"), call("{\"n\":2}"), result("one"), result("two"),
            call("{\"n\":3}"), result("three"),
        ])),
    );
    let outputs: Vec<_> = parts(&contents)
        .into_iter()
        .filter_map(|part| part["functionResponse"]["response"]["output"].as_str())
        .collect();
    assert_eq!(outputs, ["one", "two", "three"]);
    assert_eq!(contents[4]["parts"][0]["functionResponse"]["response"]["output"], "three");
}

#[test]
fn results_of_every_shape_become_objects() {
    let picture = "data:image/png;base64,aGk=";
    let shown = json!([{"inlineData": {"mimeType": "image/png", "data": "aGk="}}]);
    let given = |model: &str, value: Value| {
        let items = vec![Item::user("go"), Item::call("a", "f", &json!({})), output("a", value)];
        contents(model, items)[2]["parts"].clone()
    };
    for (value, response) in [
        (json!("text"), json!({"output": "text"})),
        (json!(" {\"a\": [1]}"), json!({"a": [1]})),
        (json!("{not json"), json!({"output": "{not json"})),
        (json!("[1]"), json!({"output": "[1]"})),
        (json!({"a": 1}), json!({"a": 1})),
        (json!([1, 2]), json!({"output": [1, 2]})),
        (json!([{"type": "row", "id": 1}]), json!({"output": [{"type": "row", "id": 1}]})),
        (json!([]), json!({"output": []})),
        (json!(null), json!({"output": ""})),
        (json!(7), json!({"output": 7})),
        (
            json!([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]),
            json!({"output": "a\nb"}),
        ),
        (
            json!([{"type": "input_image", "image_url": "https://e.example/a.png"}]),
            json!({"output": "[image: https://e.example/a.png]"}),
        ),
    ] {
        assert_eq!(given(NEW, value)[0]["functionResponse"]["response"], response);
    }
    let with_picture = json!([{"type": "input_text", "text": "{\"w\":1}"}, {"type": "input_image", "image_url": picture}]);
    let told = given(NEW, with_picture.clone());
    assert_eq!(told[0]["functionResponse"]["response"], json!({"w": 1}));
    assert_eq!(told[0]["functionResponse"]["parts"], shown);
    let told = given(OLD, with_picture);
    assert_eq!(told[0]["functionResponse"].get("parts"), None);
    assert_eq!(told[1], shown[0], "older models see it behind the results");
}

#[test]
fn a_failed_result_says_so() {
    let mut failed = output("a", json!("it broke"));
    if let Item::FunctionCallOutput(output) = &mut failed {
        output.extra.insert("is_error".to_owned(), true.into());
    }
    let items = vec![Item::user("go"), Item::call("a", "f", &json!({})), failed];
    let told = contents(NEW, items);
    assert_eq!(told[2]["parts"][0]["functionResponse"]["response"], json!({"error": "it broke"}));
}

#[test]
fn arguments_that_are_no_object_are_named() {
    let made = |arguments: &str| {
        let call =
            json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": arguments});
        contents(OLD, foreign(json!([{"role": "user", "content": "go"}, call])))[1]["parts"][0]
            ["functionCall"]["args"]
            .clone()
    };
    assert_eq!(made("null"), json!({}));
    assert_eq!(made(" "), json!({}));
    assert_eq!(made("{\"a\": "), json!({"arguments": "{\"a\": "}));
    assert_eq!(made("[1]"), json!({"arguments": "[1]"}));
}

#[test]
fn the_user_has_the_first_word_and_with_newer_models_the_last() {
    let go_on = json!({"role": "user", "parts": [{"text": "Continue."}]});
    let said = json!({"role": "model", "parts": [{"text": "a"}]});
    assert_eq!(contents(NEW, vec![Item::assistant("a")]), json!([go_on, said, go_on]));
    assert_eq!(contents(OLD, vec![Item::assistant("a")]), json!([go_on, said]));
    let nothing = json!([{"role": "user", "parts": [{"text": ""}]}]);
    assert_eq!(contents(NEW, vec![]), nothing);
    assert_eq!(contents(NEW, vec![Item::assistant("")]), nothing, "empty words are no turn");
}

#[test]
fn instructions_come_first_and_later_ones_are_told_by_the_user() {
    let request: Request = serde_json::from_value(json!({
        "instructions": "Be kind.",
        "input": [
            {"role": "developer", "content": "Be short."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "system", "content": "Be quick."},
        ],
    }))
    .unwrap();
    let body = body(OLD, &request);
    let expected = json!({"parts": [{"text": "Be kind."}, {"text": "Be short."}]});
    assert_eq!(body["systemInstruction"], expected);
    assert_eq!(body["contents"][2]["parts"], json!([{"text": "System message: Be quick."}]));
}

#[test]
fn a_model_without_tools_is_told_of_calls_in_words() {
    let items = vec![
        Item::user("go"),
        Item::call("a", "f", &json!({"x": 1})),
        Item::output("a", "done"),
        Item::user("and?"),
    ];
    assert_eq!(
        contents("gemma-3-27b-it", items),
        json!([
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [{"text": "[called f] {\"x\":1}"}]},
            {"role": "user", "parts": [{"text": "[result of a tool call] done"}, {"text": "and?"}]},
        ])
    );
}

#[test]
fn parts_without_anything_in_them_are_not_sent() {
    let image = json!({"type": "input_image", "image_url": "data:image/png;base64,aGk="});
    let nothing = json!({"type": "input_text", "text": ""});
    let asked = foreign(json!([{"role": "user", "content": [nothing, image]}]));
    let sent = contents(NEW, asked);
    assert_eq!(parts(&sent).len(), 1);
    assert!(sent[0]["parts"][0]["inlineData"].is_object());
}
