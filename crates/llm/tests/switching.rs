//! A conversation goes on with the vendor it began with, or with any other: what a vendor said goes back to it as it
//! came, and no other vendor is shown what only the first understands.
//!
//! The replies are made by hand, in the shapes the vendors document; the corpus tests replay recorded ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::sync::Arc;

use agent_world_core::config::ToolSpec;
use agent_world_core::item::Item;
use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::chat::{Chat, Flavour};
use agent_world_llm::dialect::{Asked, Dialect};
use agent_world_llm::google::Google;
use agent_world_llm::ollama::Ollama;
use agent_world_llm::openai::{self, Responses};
use agent_world_llm::{Capabilities, ReasoningOptions, Request, Tool};
use serde_json::{Value, json};

/// Arguments with an odd layout, an exact number and a word in two scripts: whoever reads and writes them anew changes
/// something.
const ODD: &str = r#"{"b": 1.10, "a" :"größe/\u0041"}"#;
/// What no vendor but its maker may see.
const SEALED: &str = "c2VhbGVkIGJ5IHRoZSB2ZW5kb3I=";

struct Vendor {
    name: &'static str,
    dialect: Box<dyn Dialect>,
    model: &'static str,
    /// A reply with a thought, a word and two calls.
    reply: String,
    /// What the vendor said, and the same in a request that plays it back.
    said: fn(&Value) -> Value,
    played_back: fn(&Value) -> Value,
}

fn vendors() -> Vec<Vendor> {
    vec![openai("openai"), openai("xai"), anthropic(), google(), deepseek(), ollama()]
}

fn openai(name: &'static str) -> Vendor {
    let arguments = serde_json::to_string(ODD).unwrap();
    let flavour = if name == "xai" { openai::Flavour::Xai } else { openai::Flavour::OpenAi };
    Vendor {
        name,
        dialect: Box::new(Responses::new(flavour)),
        model: if name == "xai" { "grok-4" } else { "gpt-5" },
        reply: format!(
            r#"{{"id":"resp_1","object":"response","created_at":1,"model":"any","status":"completed","output":[
            {{"id":"rs_1","type":"reasoning","summary":[{{"type":"summary_text","text":"I wonder."}}],
              "encrypted_content":"{SEALED}"}},
            {{"id":"msg_1","type":"message","role":"assistant","status":"completed",
              "content":[{{"type":"output_text","text":"Let me look.","annotations":[]}}]}},
            {{"id":"fc_1","type":"function_call","call_id":"call_1","name":"look","arguments":{arguments},"status":"completed"}},
            {{"id":"fc_2","type":"function_call","call_id":"call_2","name":"look","arguments":"{{}}","status":"completed"}}]}}"#
        ),
        said: |reply| json!([reply["output"][0], texts(&reply["output"]), calls(&reply["output"])]),
        played_back: |request| {
            let input = request["input"].as_array().unwrap();
            let thought = input.iter().find(|item| item["type"] == "reasoning").unwrap();
            let own: Vec<&Value> = input
                .iter()
                .filter(|item| item["role"] != "user" && item["role"] != "system")
                .collect();
            let own = json!(own);
            json!([thought, texts(&own), calls(&own)])
        },
    }
}

/// What the items of a Responses list say.
fn texts(items: &Value) -> Vec<Value> {
    let parts = items.as_array().unwrap().iter().filter(|item| item["type"] == "message");
    parts
        .flat_map(|item| item["content"].as_array().unwrap())
        .map(|part| part["text"].clone())
        .collect()
}

fn calls(items: &Value) -> Vec<Value> {
    let calls = items.as_array().unwrap().iter().filter(|item| item["type"] == "function_call");
    calls.map(|call| json!([call["call_id"], call["name"], call["arguments"]])).collect()
}

fn anthropic() -> Vendor {
    Vendor {
        name: "anthropic",
        dialect: Box::new(Anthropic),
        model: "claude-sonnet-4-5",
        reply: format!(
            r#"{{"id":"msg_1","type":"message","role":"assistant","model":"any","stop_reason":"tool_use","content":[
            {{"type":"thinking","thinking":"I wonder.","signature":"{SEALED}"}},
            {{"type":"redacted_thinking","data":"{SEALED}"}},
            {{"type":"text","text":"Let me look."}},
            {{"type":"tool_use","id":"toolu_1","name":"look","input":{ODD}}},
            {{"type":"tool_use","id":"toolu_2","name":"look","input":{{}}}}],
            "usage":{{"input_tokens":1,"output_tokens":1}}}}"#
        ),
        said: |reply| reply["content"].clone(),
        played_back: |request| {
            let turns = request["messages"].as_array().unwrap();
            turns.iter().find(|turn| turn["role"] == "assistant").unwrap()["content"].clone()
        },
    }
}

fn google() -> Vendor {
    Vendor {
        name: "google",
        dialect: Box::new(Google),
        model: "gemini-3-pro",
        reply: format!(
            r#"{{"responseId":"r1","modelVersion":"gemini-3-pro","candidates":[{{"finishReason":"STOP","content":{{"role":"model","parts":[
            {{"text":"Let me look."}},
            {{"functionCall":{{"name":"look","args":{ODD}}},"thoughtSignature":"{SEALED}"}},
            {{"functionCall":{{"name":"look","args":{{}}}}}}]}}}}],
            "usageMetadata":{{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}}}"#
        ),
        said: |reply| reply["candidates"][0]["content"].clone(),
        played_back: |request| {
            let turns = request["contents"].as_array().unwrap();
            turns.iter().find(|turn| turn["role"] == "model").unwrap().clone()
        },
    }
}

fn deepseek() -> Vendor {
    let arguments = serde_json::to_string(ODD).unwrap();
    Vendor {
        name: "deepseek",
        dialect: Box::new(Chat::new(Flavour::DEEPSEEK)),
        model: "deepseek-chat",
        reply: format!(
            r#"{{"id":"c1","object":"chat.completion","created":1,"model":"any","choices":[{{"index":0,
            "finish_reason":"tool_calls","message":{{"role":"assistant","content":"Let me look.",
            "reasoning_content":"I wonder. {SEALED}","tool_calls":[
            {{"id":"call_1","type":"function","function":{{"name":"look","arguments":{arguments}}}}},
            {{"id":"call_2","type":"function","function":{{"name":"look","arguments":"{{}}"}}}}]}}}}],
            "usage":{{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}}}"#
        ),
        said: |reply| chat_turn(&reply["choices"][0]["message"]),
        played_back: |request| {
            let turns = request["messages"].as_array().unwrap();
            chat_turn(turns.iter().find(|turn| turn["role"] == "assistant").unwrap())
        },
    }
}

fn chat_turn(message: &Value) -> Value {
    let call =
        |call: &Value| json!([call["id"], call["function"]["name"], call["function"]["arguments"]]);
    let calls: Vec<Value> = message["tool_calls"].as_array().unwrap().iter().map(call).collect();
    json!([message["content"], message["reasoning_content"], calls])
}

fn ollama() -> Vendor {
    Vendor {
        name: "ollama",
        dialect: Box::new(Ollama),
        model: "qwen3",
        reply: format!(
            r#"{{"model":"any","created_at":"2026-01-01T00:00:00Z","done":true,"done_reason":"stop","message":{{
            "role":"assistant","content":"Let me look.","thinking":"I wonder. {SEALED}","tool_calls":[
            {{"function":{{"name":"look","arguments":{ODD}}}}},{{"function":{{"name":"look","arguments":{{}}}}}}]}}}}"#
        ),
        said: |reply| ollama_turn(&reply["message"]),
        played_back: |request| {
            let turns = request["messages"].as_array().unwrap();
            ollama_turn(turns.iter().find(|turn| turn["role"] == "assistant").unwrap())
        },
    }
}

fn ollama_turn(message: &Value) -> Value {
    let call = |call: &Value| json!([call["function"]["name"], call["function"]["arguments"]]);
    let calls: Vec<Value> = message["tool_calls"].as_array().unwrap().iter().map(call).collect();
    json!([message["content"], message["thinking"], calls])
}

impl Vendor {
    fn asked(&self) -> Asked {
        Asked {
            vendor: self.name.into(),
            model: self.model.to_owned(),
            capabilities: Capabilities::of(self.name, self.model),
            stream: false,
        }
    }

    /// A question, this vendor's reply and the results of its calls.
    fn conversation(&self) -> Vec<Arc<Item>> {
        let reply = self.dialect.decode(self.reply.as_bytes(), &self.asked());
        let reply = reply.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        let mut items = vec![Item::user("What is here?")];
        let calls: Vec<String> = reply.calls().map(|call| call.call_id.clone()).collect();
        assert_eq!(calls.len(), 2, "{}", self.name);
        items.extend(reply.output);
        items.extend(calls.into_iter().map(|id| Item::output(id, "nothing")));
        items.push(Item::user("Look again."));
        items.into_iter().map(Arc::new).collect()
    }

    fn request(&self, input: Vec<Arc<Item>>) -> String {
        let schema = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}}});
        let request = Request {
            model: self.model.to_owned(),
            instructions: "Look around.".to_owned(),
            input,
            tools: vec![Tool::from(&ToolSpec::new("look", "Looks.", schema))],
            reasoning: Some(ReasoningOptions {
                effort: Some("low".to_owned()),
                ..Default::default()
            }),
            max_output_tokens: Some(4_000),
            store: Some(false),
            prompt_cache_key: Some("chat".to_owned()),
            ..Request::default()
        };
        let sent = self.dialect.encode(&request, &self.asked());
        let sent = sent.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        String::from_utf8(sent.body).unwrap()
    }
}

#[test]
fn what_a_vendor_said_goes_back_to_it_as_it_came() {
    for vendor in vendors() {
        let sent = vendor.request(vendor.conversation());
        let said = (vendor.said)(&serde_json::from_str(&vendor.reply).unwrap());
        let played_back = (vendor.played_back)(&serde_json::from_str(&sent).unwrap());
        assert_eq!(said, played_back, "{}", vendor.name);
        // The arguments to the letter, inside a string where the vendor writes them so.
        let as_text = serde_json::to_string(ODD).unwrap();
        assert!(sent.contains(ODD) || sent.contains(&as_text), "{}: {sent}", vendor.name);
        assert!(sent.contains(SEALED), "{}: {sent}", vendor.name);
        assert!(!sent.contains("\"origin\""), "{}: {sent}", vendor.name);
    }
}

#[test]
fn a_conversation_goes_on_with_any_other_vendor() {
    let vendors = vendors();
    for from in &vendors {
        for to in vendors.iter().filter(|to| to.name != from.name) {
            let sent = to.request(from.conversation());
            let name = format!("from {} to {}", from.name, to.name);
            assert!(
                !sent.contains(SEALED),
                "{name}: what only {} understands was sent: {sent}",
                from.name
            );
            assert!(!sent.contains("\"origin\""), "{name}: {sent}");
            for kept in ["What is here?", "Let me look.", "nothing", "Look again."] {
                assert!(sent.contains(kept), "{name}: `{kept}` was lost: {sent}");
            }
            let as_text = serde_json::to_string(ODD).unwrap();
            assert!(sent.contains(ODD) || sent.contains(&as_text), "{name}: {sent}");
        }
    }
}

#[test]
fn a_conversation_that_went_through_every_vendor_can_be_sent_to_each() {
    let vendors = vendors();
    let everything: Vec<Arc<Item>> =
        vendors.iter().flat_map(|vendor| vendor.conversation()).collect();
    for vendor in &vendors {
        let sent = vendor.request(everything.clone());
        assert_eq!(sent.matches("Let me look.").count(), vendors.len(), "{}: {sent}", vendor.name);
        assert_eq!(sent.matches("What is here?").count(), vendors.len(), "{}: {sent}", vendor.name);
    }
}

#[test]
fn a_result_belongs_to_the_newest_call_of_its_id() {
    // Some hosts begin to count anew with every reply, and a call of an older one may never have been answered.
    let items = [
        Item::user("first"),
        Item::call("call_0", "look", &json!({"a": "old"})),
        Item::user("second"),
        Item::call("call_0", "look", &json!({"a": "new"})),
        Item::output("call_0", "found it"),
    ];
    for vendor in vendors() {
        let sent = vendor.request(items.clone().into_iter().map(Arc::new).collect());
        let at = |text: &str| sent.find(text).unwrap_or_else(|| panic!("{}: {sent}", vendor.name));
        assert!(at("new") < at("found it"), "{}: {sent}", vendor.name);
    }
}
