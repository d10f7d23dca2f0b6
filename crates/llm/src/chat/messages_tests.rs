//! Conversations continued with the same vendor or with another, made by hand: nothing of this was recorded.

use std::sync::Arc;

use agent_world_core::item::{Item, MessageItem, Part, Reasoning, Role};
use serde_json::{Map, Value, json};

use super::super::testing::{asked, sent, sent_to, thinking, tool};
use super::super::{Chat, Flavour};
use crate::dialect::Dialect as _;
use crate::{Request, origin};

fn messages(flavour: Flavour, input: Vec<Item>) -> Value {
    sent_to(flavour, "m", &conversation(input))["messages"].clone()
}

fn conversation(input: Vec<Item>) -> Request {
    Request { input: input.into_iter().map(Arc::new).collect(), ..Request::default() }
}

/// The items of a reply of this host.
fn reply(flavour: Flavour, model: &str, message: &Value) -> Vec<Item> {
    let body = json!({"id": "r", "model": model,
        "choices": [{"message": message, "finish_reason": "stop"}]});
    let asked = asked(flavour, model);
    Chat::new(flavour).decode(body.to_string().as_bytes(), &asked).unwrap().output
}

fn call(id: &str) -> Item {
    Item::call(id, "look", &json!({"at": 1}))
}

fn said(role: Role, parts: Vec<Part>) -> Item {
    Item::Message(MessageItem { id: None, role, content: parts, extra: Map::new() })
}

fn image() -> Part {
    Part::InputImage {
        image_url: Some("https://a.example/a.png".to_owned()),
        file_id: None,
        extra: Map::new(),
    }
}

#[test]
fn a_turn_goes_back_to_its_maker_as_it_came() {
    let calls = json!([
        {"id": "D681PevKs", "type": "function", "function": {"name": "look", "arguments": "{\"at\": 1.0}"}, "extra_content": {"google": {"thought_signature": "s1"}}},
        {"id": "b", "type": "function", "function": {"name": "look", "arguments": "{}"}},
    ]);
    let message = json!({
        "role": "assistant",
        "content": "So.",
        "reasoning_content": "Hm.\n",
        "tool_calls": calls,
        "extra_content": {"google": {"thought_signature": "s0"}},
    });
    for flavour in [Flavour::GENERIC, Flavour::DEEPSEEK, Flavour::XAI, Flavour::LLAMACPP] {
        let mut input = reply(flavour, "m", &message);
        input.push(Item::output("D681PevKs", "one"));
        input.push(Item::output("b", "two"));
        let sent = messages(flavour, input);
        assert_eq!(sent[0], message, "{}", flavour.name);
        assert_eq!(sent[1], json!({"role": "tool", "tool_call_id": "D681PevKs", "content": "one"}));
        assert_eq!(sent[2], json!({"role": "tool", "tool_call_id": "b", "content": "two"}));
    }
}

#[test]
fn fields_that_a_strict_host_would_refuse_stay_behind() {
    let message = json!({"content": "So.", "reasoning": "Hm.", "executed_tools": [{"index": 0}]});
    let sent = messages(Flavour::GROQ, reply(Flavour::GROQ, "m", &message));
    assert_eq!(sent, json!([{"role": "assistant", "content": "So.", "reasoning": "Hm."}]));
    let sent = messages(Flavour::OPENAI, reply(Flavour::OPENAI, "m", &message));
    assert_eq!(sent[0].get("reasoning"), None);
}

#[test]
fn thinking_chunks_go_back_as_chunks_in_their_order() {
    let think =
        |text: &str| json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]});
    let text = |text: &str| json!({"type": "text", "text": text});
    let content = json!([think("a"), text("b"), think("c"), text("d")]);
    let items = reply(Flavour::MISTRAL, "m", &json!({"role": "assistant", "content": content}));
    assert_eq!(items.len(), 4);
    let sent = messages(Flavour::MISTRAL, items);
    assert_eq!(sent[0], json!({"role": "assistant", "content": content}));
}

#[test]
fn thoughts_from_the_text_do_not_go_back() {
    let items = reply(Flavour::GROQ, "m", &json!({"content": "<think>Hm</think>Yes"}));
    assert_eq!(items.len(), 2);
    let sent = messages(Flavour::GROQ, items);
    assert_eq!(sent, json!([{"role": "assistant", "content": "Yes"}]));
}

#[test]
fn sealed_thoughts_go_back_to_models_of_the_same_maker_only() {
    let message = json!({"role": "assistant", "content": "So.", "reasoning": "Hm.",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}]});
    let request = conversation(reply(Flavour::OPENROUTER, "a/one", &message));
    let to = |model: &str| sent_to(Flavour::OPENROUTER, model, &request)["messages"][0].clone();
    assert_eq!(to("a/two"), message);
    assert_eq!(to("b/one"), json!({"role": "assistant", "content": "So."}));
}

#[test]
fn sealed_thoughts_that_came_in_pieces_go_back_whole() {
    let piece = |text: &str| {
        json!({"reasoning": text, "reasoning_details": [
        {"type": "reasoning.text", "text": text, "index": 0, "signature": null}]})
    };
    let last = json!({"content": "Yes", "reasoning_details": [
        {"type": "reasoning.text", "index": 0, "signature": "s"}]});
    let chunks = [piece("H"), piece("m"), last].map(
        |delta| json!({"model": "a/one", "choices": [{"delta": delta, "finish_reason": "stop"}]}),
    );
    let asked = asked(Flavour::OPENROUTER, "a/one");
    let mut reader = Chat::new(Flavour::OPENROUTER).reader(&asked);
    let mut draft = crate::Draft::new();
    for chunk in chunks {
        let frame = crate::frames::Frame { event: None, data: chunk.to_string() };
        reader.read(&frame, &mut draft).unwrap();
    }
    reader.end(&mut draft).unwrap();
    let request = conversation(draft.into_response().unwrap().output);
    assert_eq!(
        sent(Flavour::OPENROUTER, &request, &asked)["messages"][0],
        json!({"role": "assistant", "content": "Yes", "reasoning": "Hm", "reasoning_details": [
            {"type": "reasoning.text", "text": "Hm", "index": 0, "signature": "s"}]})
    );
}

#[test]
fn a_conversation_of_another_vendor_is_told_without_what_is_its_own() {
    let mut thought = Item::Reasoning(Reasoning {
        id: Some("rs_1".to_owned()),
        summary: vec![json!({"type": "summary_text", "text": "Hm."})],
        extra: json!({"encrypted_content": "sealed"}).as_object().unwrap().clone(),
    });
    let mut called = call("toolu_01A09q90qw90lq917835lq9");
    for item in [&mut thought, &mut called] {
        origin::mark(item, "anthropic", "claude");
        origin::note(item, "message", json!({"signature": "s"}));
        origin::note(item, "call", json!({"signature": "s"}));
        origin::note(item, "field", "reasoning_content".into());
    }
    let input = vec![
        Item::user("Look."),
        thought,
        Item::assistant("I look."),
        called,
        Item::Unknown(json!({"type": "web_search_call", "id": "ws_1"})),
        Item::output("toolu_01A09q90qw90lq917835lq9", "seen"),
        Item::assistant("Done."),
    ];
    let id = "toolu_01A09q90qw90lq917835lq9";
    assert_eq!(
        messages(Flavour::OPENAI, input.clone()),
        json!([
            {"role": "user", "content": "Look."},
            {"role": "assistant", "content": "I look.", "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "look", "arguments": "{\"at\":1}"}}]},
            {"role": "tool", "tool_call_id": id, "content": "seen"},
            {"role": "assistant", "content": "Done."},
        ])
    );
    for name in Flavour::names() {
        let sent = messages(Flavour::named(name).unwrap(), input.clone()).to_string();
        for foreign in ["sealed", "signature", "origin", "ws_1", "Hm."] {
            assert!(!sent.contains(foreign), "{name} is sent {foreign}: {sent}");
        }
    }
}

#[test]
fn a_host_with_its_own_id_shape_gets_it_in_call_and_result() {
    let input = vec![
        call("call_1"),
        call("call_2"),
        Item::output("call_2", "b"),
        Item::output("call_1", "a"),
    ];
    let sent = messages(Flavour::MISTRAL, input);
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let called = [&sent[0]["tool_calls"][0]["id"], &sent[0]["tool_calls"][1]["id"]].map(id);
    assert!(called.iter().all(|id| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())));
    assert_ne!(called[0], called[1]);
    assert_eq!([&sent[1]["tool_call_id"], &sent[2]["tool_call_id"]].map(id), called);
    assert_eq!([&sent[1]["content"], &sent[2]["content"]], ["a", "b"]);
}

#[test]
fn calls_without_a_result_and_results_without_a_call_still_make_a_request() {
    let input = vec![call("a"), Item::user("Never mind."), Item::output("gone", "late")];
    let sent = messages(Flavour::OPENAI, input);
    assert_eq!(sent[1]["role"], "tool");
    assert_eq!(sent[1]["tool_call_id"], "a");
    assert_eq!(sent[2], json!({"role": "user", "content": "Never mind."}));
    assert_eq!(sent[3], json!({"role": "user", "content": "[result of a call]\nlate"}));
}

#[test]
fn a_result_that_comes_after_other_words_is_put_behind_its_call() {
    let input =
        vec![call("a"), Item::user("Hurry."), Item::output("a", "seen"), Item::assistant("Done.")];
    let sent = messages(Flavour::OPENAI, input);
    let roles: Vec<&str> =
        sent.as_array().unwrap().iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["assistant", "tool", "user", "assistant"]);
    assert_eq!(sent[1]["content"], "seen");
}

#[test]
fn an_id_that_is_used_again_is_answered_turn_by_turn() {
    let input = vec![call("a"), Item::output("a", "first"), call("a"), Item::output("a", "second")];
    let sent = messages(Flavour::OPENAI, input);
    assert_eq!([&sent[1]["content"], &sent[3]["content"]], ["first", "second"]);
}

#[test]
fn images_of_a_result_follow_in_a_message_of_their_own() {
    let mut output = Item::output("a", "");
    if let Item::FunctionCallOutput(output) = &mut output {
        output.output = json!([{"type": "input_text", "text": "here"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA"}]);
    }
    let shown = messages(Flavour::OPENAI, vec![call("a"), output.clone()]);
    assert_eq!(shown[1]["content"], "here");
    assert_eq!(shown[2]["role"], "user");
    assert_eq!(shown[2]["content"][1]["image_url"]["url"], "data:image/png;base64,AA");

    let mut blind = asked(Flavour::OPENAI, "m");
    blind.capabilities.vision = false;
    let request = conversation(vec![call("a"), output]);
    let sent = sent(Flavour::OPENAI, &request, &blind);
    assert_eq!(sent["messages"][1]["content"], "here\n[an image that this model cannot be shown]");
}

#[test]
fn parts_are_shown_or_put_in_words() {
    let file = Part::InputFile {
        filename: Some("a.pdf".to_owned()),
        file_data: Some("data:application/pdf;base64,AA".to_owned()),
        file_url: None,
        file_id: None,
        extra: Map::new(),
    };
    let parts = vec![Part::said(Role::User, "See."), image(), file];
    let content =
        |flavour| messages(flavour, vec![said(Role::User, parts.clone())])[0]["content"].clone();
    let text = json!({"type": "text", "text": "See."});
    let picture = json!({"type": "image_url", "image_url": {"url": "https://a.example/a.png"}});
    let data = "data:application/pdf;base64,AA";
    let inline = json!({"type": "file", "file": {"filename": "a.pdf", "file_data": data}});
    assert_eq!(content(Flavour::OPENAI), json!([text, picture, inline]));
    let document = json!({"type": "document_url", "document_url": data});
    assert_eq!(content(Flavour::MISTRAL), json!([text, picture, document]));
    let words = json!({"type": "text", "text": "[file a.pdf, which this model cannot be shown]"});
    assert_eq!(content(Flavour::GENERIC), json!([text, picture, words]));

    let mut blind = asked(Flavour::DEEPSEEK, "m");
    blind.capabilities.vision = false;
    let request =
        conversation(vec![said(Role::User, vec![Part::said(Role::User, "See."), image()])]);
    let sent = sent(Flavour::DEEPSEEK, &request, &blind);
    assert_eq!(sent["messages"][0]["content"], "See.\n\n[image: https://a.example/a.png]");
}

#[test]
fn a_system_message_between_others_is_told_by_the_user_where_it_must_be() {
    let system = |text: &str| said(Role::System, vec![Part::said(Role::System, text)]);
    let mut request = conversation(vec![system("First."), Item::user("Hello"), system("Then.")]);
    request.instructions = "Be brief.".to_owned();
    assert_eq!(
        sent_to(Flavour::GROQ, "m", &request)["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "system", "content": "First."},
            {"role": "user", "content": "Hello"},
            {"role": "system", "content": "Then."},
        ])
    );
    assert_eq!(
        sent_to(Flavour::LLAMACPP, "m", &request)["messages"],
        json!([
            {"role": "system", "content": "Be brief.\n\nFirst."},
            {"role": "user", "content": "Hello"},
            {"role": "user", "content": "[from the system]\nThen."},
        ])
    );
}

#[test]
fn every_turn_shown_to_a_thinking_deepseek_has_thoughts() {
    let thoughts = |effort| {
        let mut request = thinking(effort);
        request.input.push(Arc::new(Item::assistant("So.")));
        sent_to(Flavour::DEEPSEEK, "m", &request)["messages"][1].get("reasoning_content").cloned()
    };
    assert_eq!(thoughts(Some("high")), Some(json!(" ")));
    assert_eq!(thoughts(None), Some(json!(" ")));
    assert_eq!(thoughts(Some("none")), None);
}

#[test]
fn a_model_without_tools_is_told_of_calls_in_words() {
    let mut plain = asked(Flavour::GROQ, "m");
    plain.capabilities.tools = false;
    let mut request = conversation(vec![call("a"), Item::output("a", "seen")]);
    request.tools = vec![tool("look")];
    let sent = sent(Flavour::GROQ, &request, &plain);
    assert_eq!(sent.get("tools"), None);
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "assistant", "content": "[called look with {\"at\":1}]"},
            {"role": "user", "content": "[result of a call]\nseen"},
        ])
    );
}

#[test]
fn broken_arguments_of_the_past_do_not_break_the_request() {
    let mut broken = call("a");
    if let Item::FunctionCall(call) = &mut broken {
        call.arguments = "{\"at".to_owned();
    }
    let arguments = |flavour| {
        messages(flavour, vec![broken.clone()])[0]["tool_calls"][0]["function"]["arguments"].clone()
    };
    assert_eq!(arguments(Flavour::OPENAI), "{\"at");
    assert_eq!(arguments(Flavour::VLLM), r#"{"unreadable_arguments":"{\"at"}"#);
}

#[test]
fn a_refusal_is_said_apart_where_the_host_takes_it_so() {
    let refusal = Part::Refusal { refusal: "No.".to_owned(), extra: Map::new() };
    let input = vec![said(Role::Assistant, vec![refusal])];
    let openai = json!([{"role": "assistant", "content": null, "refusal": "No."}]);
    assert_eq!(messages(Flavour::OPENAI, input.clone()), openai);
    let other = json!([{"role": "assistant", "content": "No."}]);
    assert_eq!(messages(Flavour::GROQ, input), other);
}

#[test]
fn a_strict_host_hears_the_assistant_behind_results_and_the_user_last() {
    let roles = |flavour: Flavour, model: &str, input: Vec<Item>| -> Vec<String> {
        let sent = sent_to(flavour, model, &conversation(input));
        let messages = sent["messages"].as_array().unwrap();
        messages.iter().map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    let denied = || vec![Item::user("Go"), call("a"), Item::output("a", "no"), Item::user("Stop")];
    let bridged = ["user", "assistant", "tool", "assistant", "user"];
    assert_eq!(roles(Flavour::MISTRAL, "m", denied()), bridged);
    assert_eq!(roles(Flavour::OPENROUTER, "mistralai/m", denied()), bridged);
    let plain = ["user", "assistant", "tool", "user"];
    assert_eq!(roles(Flavour::OPENROUTER, "openai/m", denied()), plain);
    assert_eq!(roles(Flavour::OPENAI, "m", denied()), plain);
    let ended = || vec![Item::user("Go"), Item::assistant("Done.")];
    assert_eq!(roles(Flavour::MISTRAL, "m", ended()), ["user", "assistant", "user"]);
    assert_eq!(roles(Flavour::OPENAI, "m", ended()), ["user", "assistant"]);
}

#[test]
fn calls_of_one_turn_that_share_an_id_are_told_apart() {
    for flavour in [Flavour::OPENAI, Flavour::MISTRAL] {
        let calls = vec![call("a"), call("a_2"), call("a")];
        let answers = [("a", "one"), ("a_2", "two"), ("a", "three")];
        let answers = answers.map(|(id, text)| Item::output(id, text));
        let sent = messages(flavour, calls.into_iter().chain(answers).collect());
        let ids: Vec<&Value> =
            sent[0]["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2], "{ids:?}");
        for (place, text) in ["one", "two", "three"].iter().enumerate() {
            let told = &sent[place + 1];
            assert_eq!((&told["tool_call_id"], &told["content"]), (ids[place], &json!(text)));
        }
    }
}
