//! Responses over plain HTTP: whole and as streams, with everything a request may hold. The scenes that the public
//! compliance tests play over HTTP are among them.

use agent_world_runtime::llm::scripted::Answer as Line;
use agent_world_runtime::llm::{Class, ToolChoice};
use serde_json::{Value, json};

use crate::responses_stage::{Stage, kinds, text, user, weather};

const DOT: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test]
async fn a_question_is_answered_with_a_whole_response() {
    let stage = Stage::set().await;
    let response = stage
        .admin
        .respond(json!({"model": "demo/demo", "input": [user("Greet me in three words.")]}))
        .await;
    stage.checker.response(&response);
    assert_eq!(response["status"], "completed");
    assert_eq!(response["model"], "demo/demo");
    assert!(response["id"].as_str().unwrap().starts_with("resp_"));
    assert!(response["completed_at"].as_i64() >= response["created_at"].as_i64());
    assert!(response["usage"]["total_tokens"].as_u64() > Some(0));
    assert!(text(&response).contains("demo model"));
}

#[tokio::test]
async fn a_stream_tells_every_event_in_order_and_ends_in_the_same_response() {
    let stage = Stage::set().await;
    let events =
        stage.admin.stream(json!({"model": "demo/demo", "input": [user("count to 5")]})).await;
    stage.checker.all(&events);
    let kinds = kinds(&events);
    assert_eq!(
        kinds[..4],
        [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
            "response.content_part.added",
        ]
    );
    assert_eq!(
        kinds[kinds.len() - 4..],
        [
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let deltas: String = events
        .iter()
        .filter(|event| event["type"] == "response.output_text.delta")
        .map(|event| event["delta"].as_str().unwrap())
        .collect();
    let last = &events.last().unwrap()["response"];
    assert_eq!(deltas, text(last));
    assert!(
        events.iter().all(|event| event.get("response").is_none_or(|it| it["id"] == last["id"]))
    );
    assert_eq!(
        stage.admin.get(&format!("/v1/responses/{}", last["id"].as_str().unwrap())).await.json(),
        *last
    );
}

#[tokio::test]
async fn a_system_message_labelled_assistant_messages_and_several_turns_are_taken() {
    let stage = Stage::set().await;
    let system = json!({"type": "message", "role": "system", "content": "You are a pirate."});
    let labelled = |phase: &str, text: &str| json!({"type": "message", "role": "assistant", "phase": phase, "content": text});
    for input in [
        json!([system, user("Say hello.")]),
        json!([
            labelled("commentary", "I look it up."),
            labelled("final_answer", "It is four."),
            user("Which?")
        ]),
        json!([user("My name is Alice."), {"role": "assistant", "content": "Hello Alice!"}, user("Who am I?")]),
    ] {
        let response = stage.admin.respond(json!({"model": "demo/demo", "input": input})).await;
        stage.checker.response(&response);
        assert_eq!(response["status"], "completed");
        assert_eq!(response["output"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn an_image_reaches_the_model() {
    let stage = Stage::set().await;
    let input = json!([{"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": DOT},
    ]}]);
    let response = stage.admin.respond(json!({"model": "demo/demo", "input": input})).await;
    stage.checker.response(&response);
    assert_eq!(response["status"], "completed");
    stage.scripted.push("eye", "a dot");
    stage.admin.respond(json!({"model": "scripted/eye", "input": input})).await;
    let seen = serde_json::to_value(&stage.scripted.requests()[0]).unwrap();
    assert_eq!(seen["input"][0]["content"][1]["image_url"], DOT);
}

#[tokio::test]
async fn a_function_is_called_and_its_result_answered() {
    let stage = Stage::set().await;
    let question = user("How is the weather in San Francisco?");
    let body = json!({"model": "demo/demo", "input": [question], "tools": [weather()]});
    let response = stage.admin.respond(body.clone()).await;
    stage.checker.response(&response);
    let call = &response["output"][0];
    assert_eq!((&call["type"], &call["name"]), (&json!("function_call"), &json!("get_weather")));
    let arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"location": "San Francisco"}));
    assert_eq!(response["tools"][0]["name"], "get_weather");

    let events = stage.admin.stream(body).await;
    stage.checker.all(&events);
    let kinds = kinds(&events);
    for kind in ["response.function_call_arguments.delta", "response.function_call_arguments.done"]
    {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }

    let result =
        json!({"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"});
    let next = stage
        .admin
        .respond(json!({
            "model": "demo/demo",
            "previous_response_id": response["id"],
            "input": [result],
            "tools": [weather()],
        }))
        .await;
    stage.checker.response(&next);
    assert!(text(&next).contains("sunny"), "{next}");
    assert_eq!(next["previous_response_id"], response["id"]);
}

#[tokio::test]
async fn allowed_tools_narrow_what_is_called_and_come_back_as_they_were_said() {
    let stage = Stage::set().await;
    let other = json!({"type": "function", "name": "other", "parameters": {"type": "object", "properties": {}}});
    let choice = |mode: &str, name: &str| json!({"type": "allowed_tools", "mode": mode, "tools": [{"type": "function", "name": name}]});
    let ask = |choice: Value| {
        json!({
            "model": "demo/demo",
            "input": "How is the weather in Rome?",
            "tools": [weather(), other],
            "tool_choice": choice,
        })
    };
    let response = stage.admin.respond(ask(choice("auto", "other"))).await;
    stage.checker.response(&response);
    assert_eq!(response["output"][0]["type"], "message");
    assert_eq!(response["tool_choice"], choice("auto", "other"));
    let response = stage.admin.respond(ask(choice("required", "other"))).await;
    assert_eq!(response["output"][0]["name"], "other");
    let response = stage.admin.respond(ask(json!("none"))).await;
    assert_eq!(response["output"][0]["type"], "message");

    stage.scripted.push("m", "fine");
    let mut body = ask(choice("auto", "other"));
    body["model"] = "scripted/m".into();
    stage.admin.respond(body).await;
    let asked = &stage.scripted.requests()[0];
    let names = vec!["other".to_owned()];
    assert_eq!(asked.tool_choice, Some(ToolChoice::Allowed { required: false, names }));
}

#[tokio::test]
async fn text_that_must_follow_a_schema_follows_it() {
    let stage = Stage::set().await;
    let schema = json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"],
        "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "name": "person", "schema": schema, "strict": true});
    let response = stage
        .admin
        .respond(json!({"model": "demo/demo", "input": "Who?", "text": {"format": format}}))
        .await;
    let value: Value = serde_json::from_str(&text(&response)).unwrap();
    assert!(jsonschema::is_valid(&schema, &value), "{value}");
    assert_eq!(response["text"]["format"]["name"], "person");
    assert_eq!(response["text"]["format"]["schema"], schema);
}

#[tokio::test]
async fn settings_are_repeated_and_only_what_is_the_vendors_goes_to_the_vendor() {
    let stage = Stage::set().await;
    stage.scripted.push("m", "fine");
    let response = stage
        .admin
        .respond(json!({
            "model": "scripted/m",
            "input": "hello",
            "instructions": "Be brief.",
            "metadata": {"topic": "test"},
            "temperature": 0.5,
            "top_p": 0.9,
            "max_output_tokens": 100,
            "max_tool_calls": 3,
            "presence_penalty": 0.1,
            "frequency_penalty": 0.2,
            "truncation": "auto",
            "service_tier": "flex",
            "parallel_tool_calls": false,
            "reasoning": {"effort": "low", "summary": null},
            "safety_identifier": "s",
            "prompt_cache_key": "k",
            "top_logprobs": 2,
            "include": ["reasoning.encrypted_content"],
            "stream": null,
            "tools": null,
            "something_new": {"a": 1},
        }))
        .await;
    stage.checker.response(&response);
    for (field, value) in [
        ("instructions", json!("Be brief.")),
        ("metadata", json!({"topic": "test"})),
        ("temperature", json!(0.5)),
        ("max_tool_calls", json!(3)),
        ("truncation", json!("auto")),
        ("service_tier", json!("flex")),
        ("parallel_tool_calls", json!(false)),
        ("safety_identifier", json!("s")),
        ("prompt_cache_key", json!("k")),
        ("top_logprobs", json!(2)),
        ("store", json!(true)),
        ("background", json!(false)),
    ] {
        assert_eq!(response[field], value, "{field}");
    }
    let sent = &stage.scripted.requests()[0];
    assert_eq!(sent.model, "m");
    assert_eq!((sent.store, sent.previous_response_id.as_deref()), (Some(false), None));
    assert_eq!(sent.extra["something_new"], json!({"a": 1}));
    assert!(!sent.extra.contains_key("background") && !sent.extra.contains_key("stream_options"));
}

#[tokio::test]
async fn a_failure_in_the_middle_of_a_stream_is_told_and_ends_it() {
    let stage = Stage::set().await;
    let events = stage.admin.stream(json!({"model": "broken/m", "input": "x"})).await;
    stage.checker.all(&events);
    let kinds = kinds(&events);
    assert_eq!(kinds[kinds.len() - 2..], ["error", "response.failed"]);
    let error = &events[events.len() - 2]["error"];
    assert_eq!(
        (&error["type"], &error["code"]),
        (&json!("server_error"), &json!("server_is_overloaded"))
    );
    let failed = &events.last().unwrap()["response"];
    assert_eq!(
        (&failed["status"], &failed["error"]["code"]),
        (&json!("failed"), &json!("server_is_overloaded"))
    );
}

#[tokio::test]
async fn a_reply_that_was_cut_is_incomplete() {
    use agent_world_core::item::{Finish, Reply};
    let stage = Stage::set().await;
    let reply = Reply {
        finish: Finish::Incomplete { reason: "max_output_tokens".to_owned() },
        ..Reply::text("half a")
    };
    stage.scripted.push("m", reply.clone()).push("m", reply);
    let events = stage.admin.stream(json!({"model": "scripted/m", "input": "x"})).await;
    stage.checker.all(&events);
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.incomplete");
    assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
    let response = stage.admin.respond(json!({"model": "scripted/m", "input": "x"})).await;
    stage.checker.response(&response);
    assert_eq!(response["status"], "incomplete");
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_vendors_call() {
    let stage = Stage::set().await;
    let streamed = r#"{"model":"endless/m","input":"x","stream":true}"#;
    let mut answer = stage.admin.open("POST", "/v1/responses", Some(streamed)).await;
    assert!(answer.chunk().await.unwrap().is_some());
    assert_eq!(stage.endless.alive(), 1);
    drop(answer);
    stage.endless.dropped().await;

    let whole = r#"{"model":"endless/m","input":"x"}"#;
    tokio::select! {
        _ = stage.admin.open("POST", "/v1/responses", Some(whole)) => panic!("it never answers"),
        () = stage.endless.asked(2) => {}
    }
    stage.endless.dropped().await;
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let stage = Stage::set().await;
    let mut answer = stage
        .admin
        .open("POST", "/v1/responses", Some(r#"{"model":"endless/m","input":"x","stream":true}"#))
        .await;
    let mut text = String::new();
    while let Some(chunk) = answer.chunk().await.unwrap() {
        text.push_str(std::str::from_utf8(&chunk).unwrap());
        stage.admin.server.stopping().cancel();
    }
    assert!(
        text.contains("event: response.failed") && text.ends_with("data: [DONE]\n\n"),
        "{text}"
    );
    stage.endless.dropped().await;
}

#[tokio::test]
async fn models_are_listed_with_agents_among_them() {
    let stage = Stage::set().await;
    let world = json!({
        "id": "home", "name": "Home", "default_model": "scripted/m", "title_model": "nobody/m",
        "agents": [{"id": "ada", "name": "Ada"}],
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    });
    stage.engine.create_world(serde_json::from_value(world).unwrap(), "root").await.unwrap();
    let list = stage.admin.get("/v1/models").await.json();
    assert_eq!(list["object"], "list");
    let named: Vec<_> = list["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["id"].as_str().unwrap(), one["owned_by"].as_str().unwrap()))
        .collect();
    assert_eq!(
        named,
        [("demo/demo", "demo"), ("scripted/m", "scripted"), ("world:home/ada", "home")]
    );
    assert_eq!(stage.admin.get("/v1/models/world:home/ada").await.json()["object"], "model");
    for path in ["/v1/models/demo/demo", "/v1/models/demo%2Fdemo"] {
        assert_eq!(stage.admin.get(path).await.json()["id"], "demo/demo", "{path}");
    }
    let (status, code, _) = stage.admin.get("/v1/models/demo/none/such").await.error();
    assert_eq!((status, code.as_str()), (404, "model_not_found"));
}

#[tokio::test]
async fn vendors_failures_have_the_status_that_clients_understand() {
    let stage = Stage::set().await;
    let wait = Some(std::time::Duration::from_millis(2_500));
    for (class, status, code) in [
        (Class::Auth, 502, "upstream_authentication"),
        (Class::RateLimited { retry_after: wait }, 429, "rate_limit_exceeded"),
        (Class::Quota, 429, "insufficient_quota"),
        (Class::InvalidRequest, 400, "invalid_request"),
        (Class::ContextTooLong, 400, "context_length_exceeded"),
        (Class::ContentRefused, 400, "content_filter"),
        (Class::UnknownModel, 404, "model_not_found"),
        (Class::Overloaded, 503, "server_is_overloaded"),
        (Class::Network, 502, "server_error"),
        (Class::Timeout, 504, "timeout_error"),
    ] {
        for streamed in [false, true] {
            stage.scripted.push("m", Line::failure(class, "no"));
            let body = json!({"model": "scripted/m", "input": "x", "stream": streamed});
            let answer = stage.admin.post("/v1/responses", body).await;
            let (given, given_code, _) = answer.error();
            assert_eq!((given, given_code.as_str()), (status, code));
            match class {
                Class::RateLimited { .. } => assert_eq!(answer.header("retry-after"), "3"),
                Class::Auth | Class::Quota => assert_eq!(answer.header("x-should-retry"), "false"),
                _ => {}
            }
        }
    }
}
