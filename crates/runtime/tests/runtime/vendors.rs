//! The real engine asks real providers; only the vendor's server is the test's own.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::event::Event;
use agent_world_core::item::Part;
use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::credentials::Fixed;
use agent_world_llm::openai::{Flavour, Responses};
use agent_world_llm::provider::{KeyPlace, Provider};
use agent_world_llm::transport::{Proxies, Retry, Transport};
use agent_world_runtime::NewMessage;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::props::{doing, free};
use crate::server::{Answer, Server};
use crate::stage::{Backend, Setup, Stage, on_both_stores};

on_both_stores!(
    what_only_the_vendor_understands_goes_back_byte_for_byte_after_a_restart,
    a_request_goes_on_where_the_one_before_ended,
    stop_closes_the_connection_to_the_vendor,
    shutdown_does_not_wait_for_a_vendor_that_hangs,
    a_key_that_a_vendor_repeats_is_nowhere_to_be_found,
    what_is_set_of_an_agent_reaches_the_vendor,
    an_image_without_words_reaches_the_vendor,
);

const KEY: &str = "sk-very-secret-0123456789";
/// With everything that a careless reader would write differently.
const SIGNATURE: &str = "EqQB/+==\u{e4}\u{1f980}\\\"\u{7}</s>";

#[derive(Clone, Copy, Debug, PartialEq)]
enum Vendor {
    Anthropic,
    OpenAi,
}

fn provider(vendor: Vendor, server: &Server) -> Provider {
    let transport = Transport::builder().proxies(Proxies::none()).build().unwrap();
    let (name, place) = match vendor {
        Vendor::Anthropic => ("anthropic", KeyPlace::Header("x-api-key".into())),
        Vendor::OpenAi => ("openai", KeyPlace::Bearer),
    };
    let builder = match vendor {
        Vendor::Anthropic => Provider::builder(name, Arc::new(Anthropic)),
        Vendor::OpenAi => Provider::builder(name, Arc::new(Responses::new(Flavour::OpenAi))),
    };
    builder
        .base_url(server.url())
        .key_place(place)
        .models(name)
        .credentials(Fixed::key(KEY))
        .transport(transport)
        .retry(Retry::never())
        .build()
        .unwrap()
}

/// Ada speaks with the vendor at this server.
async fn stage(vendor: Vendor, server: &Server, streaming: bool, backend: Backend) -> Stage {
    let (name, model) = match vendor {
        Vendor::Anthropic => ("anthropic", "anthropic/claude-sonnet-4-5"),
        Vendor::OpenAi => ("openai", "openai/gpt-5"),
    };
    Setup::of(&["ada"])
        .tool(&doing(free("act")))
        .vendor(name, provider(vendor, server))
        .world(|world| {
            world.streaming = streaming;
            world.variables = BTreeMap::from([("city".to_owned(), "Bern".to_owned())]);
            world.agents[0].model = Some(model.to_owned());
            world.agents[0].instructions = "You live in {{city}}.".to_owned();
            world.agents[0].reasoning_effort = Some("low".to_owned());
        })
        .open(backend)
        .await
}

/// A reply with thoughts that are signed: it calls the tool, or speaks.
fn thoughtful(vendor: Vendor, calls: bool, streaming: bool) -> Answer {
    match vendor {
        Vendor::Anthropic => anthropic(calls, streaming),
        Vendor::OpenAi => openai(calls, streaming),
    }
}

fn anthropic(calls: bool, streaming: bool) -> Answer {
    // The keys of the input are in no order that anything sorts by.
    let last = match calls {
        true => json!({"type": "tool_use", "id": "toolu_1", "name": "act",
            "input": {"what": "it", "b": 1, "a": 2}}),
        false => json!({"type": "text", "text": "Said."}),
    };
    let stop = if calls { "tool_use" } else { "end_turn" };
    let usage = json!({"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 0});
    let thoughts =
        json!({"type": "thinking", "thinking": "Hm.\n\"So\" be it.", "signature": SIGNATURE});
    let hidden = json!({"type": "redacted_thinking", "data": SIGNATURE});
    let message = |content: Vec<&Value>, stop: Value| {
        json!({"id": "msg_1", "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": content, "stop_reason": stop,
            "stop_sequence": null, "usage": usage})
    };
    if !streaming {
        let whole = message(vec![&thoughts, &hidden, &last], stop.into());
        return Answer::json(200, &whole.to_string());
    }
    let mut events =
        vec![json!({"type": "message_start", "message": message(vec![], Value::Null)})];
    let mut block = |index: usize, start: Value, deltas: Vec<Value>| {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        for delta in deltas {
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
    };
    block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        vec![
            json!({"type": "thinking_delta", "thinking": "Hm.\n"}),
            json!({"type": "thinking_delta", "thinking": "\"So\" be it."}),
            json!({"type": "signature_delta", "signature": SIGNATURE}),
        ],
    );
    block(1, hidden, vec![]);
    match calls {
        true => block(
            2,
            json!({"type": "tool_use", "id": "toolu_1", "name": "act", "input": {}}),
            vec![
                json!({"type": "input_json_delta", "partial_json": "{\"what\": \"it\","}),
                json!({"type": "input_json_delta", "partial_json": " \"b\": 1, \"a\": 2}"}),
            ],
        ),
        false => block(
            2,
            json!({"type": "text", "text": ""}),
            vec![json!({"type": "text_delta", "text": "Said."})],
        ),
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop},
        "usage": {"output_tokens": 5}}));
    events.push(json!({"type": "message_stop"}));
    let texts: Vec<String> = events.iter().map(Value::to_string).collect();
    Answer::events(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn openai(calls: bool, streaming: bool) -> Answer {
    let thoughts = json!({"type": "reasoning", "id": "rs_1", "summary": [
        {"type": "summary_text", "text": "Hm."}], "encrypted_content": SIGNATURE});
    let last = match calls {
        true => json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "act",
            "arguments": "{\"what\": \"it\", \"b\":1,\"a\":2}", "status": "completed"}),
        false => {
            json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": "Said.", "annotations": []}]})
        }
    };
    let response = |status: &str, output: Value| {
        json!({"id": "resp_1", "object": "response", "created_at": 1, "status": status,
            "model": "gpt-5", "output": output, "usage": {"input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 3}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15}})
    };
    let whole = response("completed", json!([thoughts, last]));
    if !streaming {
        return Answer::json(200, &whole.to_string());
    }
    let mut events =
        vec![json!({"type": "response.created", "response": response("in_progress", json!([]))})];
    for (index, item) in [thoughts, last].into_iter().enumerate() {
        events.push(
            json!({"type": "response.output_item.added", "output_index": index, "item": item}),
        );
        events.push(
            json!({"type": "response.output_item.done", "output_index": index, "item": item}),
        );
    }
    events.push(json!({"type": "response.completed", "response": whole}));
    let texts: Vec<String> = events.iter().map(Value::to_string).collect();
    Answer::events(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The conversation of a request, without the marks that tell a vendor where to cache.
fn conversation(vendor: Vendor, body: &Value) -> Vec<Value> {
    fn unmark(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.shift_remove("cache_control");
                fields.values_mut().for_each(unmark);
            }
            Value::Array(list) => list.iter_mut().for_each(unmark),
            _ => {}
        }
    }
    let key = if vendor == Vendor::Anthropic { "messages" } else { "input" };
    let mut items = body[key].clone();
    unmark(&mut items);
    items.as_array().unwrap().clone()
}

async fn what_only_the_vendor_understands_goes_back_byte_for_byte_after_a_restart(
    backend: Backend,
) {
    for vendor in [Vendor::Anthropic, Vendor::OpenAi] {
        for streaming in [true, false] {
            let replies = [true, false, false].map(|calls| thoughtful(vendor, calls, streaming));
            let server = Server::start(replies).await;
            let stage = stage(vendor, &server, streaming, backend).await;
            stage.say("go").await;
            stage.idle().await;
            assert_eq!(stage.said().await, ["human: go", "ada: Said."], "{vendor:?}");
            let stage = stage.restart().await;
            stage.say("again").await;
            stage.idle().await;
            let requests = server.requests();
            assert_eq!(requests.len(), 3);
            let signature = serde_json::to_string(SIGNATURE).unwrap();
            for (request, times) in requests.iter().zip([0, 1, 2]) {
                let times = if vendor == Vendor::Anthropic { 2 * times } else { times };
                let found = request.body.matches(&signature).count();
                assert_eq!(found, times, "{vendor:?} {streaming} {}", request.body);
            }
            // The arguments as the model wrote them: their order is a part of what the vendor has in its cache.
            let written = match vendor {
                Vendor::Anthropic if streaming => r#"{"what": "it", "b": 1, "a": 2}"#,
                Vendor::Anthropic => r#"{"what":"it","b":1,"a":2}"#,
                Vendor::OpenAi => r#"{\"what\": \"it\", \"b\":1,\"a\":2}"#,
            };
            assert!(requests[2].body.contains(written), "{}", requests[2].body);
            let used: Vec<u64> = stage
                .log(&stage.chat)
                .await
                .into_iter()
                .filter_map(|event| match event {
                    Event::ReplyRecorded(reply) => Some(reply.usage.total_tokens),
                    _ => None,
                })
                .collect();
            let each = if vendor == Vendor::Anthropic { 18 } else { 15 };
            assert_eq!(used, [each; 3], "{vendor:?} {streaming}");
            stage.engine.shutdown().await;
        }
    }
}

async fn a_request_goes_on_where_the_one_before_ended(backend: Backend) {
    for vendor in [Vendor::Anthropic, Vendor::OpenAi] {
        let replies = [true, true, false, false, true, false];
        let server = Server::start(replies.map(|calls| thoughtful(vendor, calls, true))).await;
        let mut stage = stage(vendor, &server, true, backend).await;
        for text in ["one", "two", "three"] {
            stage.say(text).await;
            stage.idle().await;
            stage = stage.restart().await;
        }
        let bodies: Vec<Value> = server.requests().iter().map(|request| request.json()).collect();
        assert_eq!(bodies.len(), 6);
        for pair in bodies.windows(2) {
            let (before, after) = (conversation(vendor, &pair[0]), conversation(vendor, &pair[1]));
            assert!(after.len() > before.len());
            // As text: a cache knows no equality but that of bytes.
            let text = |items: &[Value]| serde_json::to_string(items).unwrap();
            assert_eq!(text(&before), text(&after[..before.len()]), "{vendor:?}");
            for (key, value) in pair[0].as_object().unwrap() {
                if !["messages", "input"].contains(&key.as_str()) {
                    assert_eq!(value.to_string(), pair[1][key].to_string(), "{vendor:?} {key}");
                }
            }
        }
        stage.engine.shutdown().await;
    }
}

/// Begins to answer, and then says nothing any more.
fn hanging() -> Answer {
    let started = json!({"type": "response.created", "response": {"id": "r", "status": "in_progress",
        "model": "gpt-5", "output": []}});
    let item = json!({"type": "message", "id": "m", "role": "assistant", "content": []});
    let added = json!({"type": "response.output_item.added", "output_index": 0, "item": item});
    let part = json!({"type": "response.content_part.added", "output_index": 0, "content_index": 0,
        "item_id": "m", "part": {"type": "output_text", "text": ""}});
    let delta = json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
        "item_id": "m", "delta": "Half"});
    [started, added, part, delta]
        .iter()
        .fold(Answer::stream("text/event-stream"), |answer, event| answer.event(&event.to_string()))
        .silence()
}

async fn stop_closes_the_connection_to_the_vendor(backend: Backend) {
    let never = Arc::new(Semaphore::new(0));
    for (answer, streaming) in [
        (hanging(), true),
        (Answer::stream("text/event-stream").silence(), true),
        (Answer::default().gate(&never), true),
        (Answer::default().gate(&never), false),
        (Answer::stream("application/json").piece("{").silence(), false),
    ] {
        let server = Server::start([answer, thoughtful(Vendor::OpenAi, false, streaming)]).await;
        let stage = stage(Vendor::OpenAi, &server, streaming, backend).await;
        stage.say("go").await;
        server.received(1).await;
        stage.engine.stop(&stage.chat, None, "eve").await.unwrap();
        server.closed(1).await;
        stage.say("again").await;
        stage.idle().await;
        assert_eq!(stage.said().await.last().unwrap(), "ada: Said.");
        stage.engine.shutdown().await;
    }
}

async fn shutdown_does_not_wait_for_a_vendor_that_hangs(backend: Backend) {
    let server = Server::start([hanging()]).await;
    let stage = stage(Vendor::OpenAi, &server, true, backend).await;
    stage.say("go").await;
    server.received(1).await;
    let ended = tokio::time::timeout(Duration::from_secs(4), stage.engine.shutdown()).await;
    assert!(ended.is_ok(), "sooner than a tool is given to end");
    server.closed(1).await;
}

async fn a_key_that_a_vendor_repeats_is_nowhere_to_be_found(backend: Backend) {
    let said = json!({"error": {"message": format!("Incorrect API key provided: {KEY}."),
        "type": "invalid_request_error", "code": "invalid_api_key"}});
    let server = Server::start([Answer::json(401, &said.to_string())]).await;
    let stage = stage(Vendor::OpenAi, &server, true, backend).await;
    stage.say("go").await;
    stage.idle().await;
    let notices = stage.notices().await;
    assert_eq!(
        notices,
        ["ada could not answer: openai: no access: Incorrect API key provided: \
          [hidden] (status 401); check the key and what it may be used for"],
    );
    let (path, engine) = (stage.path(), format!("{:?}", stage.engine));
    assert!(!engine.contains(KEY));
    if backend == Backend::Sqlite {
        for file in std::fs::read_dir(path.parent().unwrap()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            let key = KEY.as_bytes();
            assert!(!bytes.windows(key.len()).any(|window| window == key));
        }
    }
}

async fn what_is_set_of_an_agent_reaches_the_vendor(backend: Backend) {
    for (vendor, tools) in [
        (Vendor::Anthropic, true),
        (Vendor::Anthropic, false),
        (Vendor::OpenAi, true),
        (Vendor::OpenAi, false),
    ] {
        let server = Server::start([thoughtful(vendor, false, false)]).await;
        let stage = stage(vendor, &server, false, backend).await;
        stage
            .change_world(|world| {
                let agent = &mut world.agents[0];
                agent.max_output_tokens = Some(5_000);
                agent.parallel_tool_calls = false;
                if !tools {
                    agent.tools = Vec::new();
                }
            })
            .await;
        stage.say("go").await;
        stage.idle().await;
        assert_eq!(stage.said().await.last().unwrap(), "ada: Said.");
        let body = server.requests()[0].json();
        match vendor {
            Vendor::Anthropic => {
                assert_eq!(body["system"], "You live in Bern.", "{body}");
                assert_eq!(body["max_tokens"], 5_000);
                let one = &body["tool_choice"]["disable_parallel_tool_use"];
                assert_eq!(*one, if tools { json!(true) } else { Value::Null }, "{body}");
            }
            Vendor::OpenAi => {
                assert_eq!(body["instructions"], "You live in Bern.", "{body}");
                assert_eq!(body["max_output_tokens"], 5_000);
                assert_eq!(body["reasoning"]["effort"], "low");
                assert_eq!(body["store"], false);
                assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
                let one = if tools { json!(false) } else { Value::Null };
                assert_eq!(body["parallel_tool_calls"], one, "{body}");
            }
        }
        stage.engine.shutdown().await;
    }
}

async fn an_image_without_words_reaches_the_vendor(backend: Backend) {
    for vendor in [Vendor::Anthropic, Vendor::OpenAi] {
        let server = Server::start([thoughtful(vendor, false, false)]).await;
        let stage = stage(vendor, &server, false, backend).await;
        let image = Part::InputImage {
            image_url: Some("data:image/png;base64,AAAA".to_owned()),
            file_id: None,
            extra: Default::default(),
        };
        let message = NewMessage { parts: vec![image], ..NewMessage::human("") };
        stage.engine.post(&stage.chat, message).await.unwrap();
        stage.idle().await;
        let body = server.requests()[0].json();
        let said = &conversation(vendor, &body)[0]["content"];
        // Some vendors refuse a text that says nothing.
        assert_eq!(said.as_array().map(Vec::len), Some(1), "{said}");
        assert!(said.to_string().contains("AAAA"), "{said}");
        stage.engine.shutdown().await;
    }
}
