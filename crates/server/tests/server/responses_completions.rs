//! The older format, for clients that speak nothing else: the same models, the same answers.

use agent_world_core::item::{Finish, Item, Reply};
use agent_world_runtime::llm::scripted::Answer as Line;
use agent_world_runtime::llm::{Class, ToolChoice};
use serde_json::{Value, json};

use crate::responses_stage::{Answer, Stage};

fn ask(content: &str) -> Value {
    json!({"model": "demo/demo", "messages": [{"role": "user", "content": content}]})
}

fn tools() -> Value {
    json!([{"type": "function", "function": {
        "name": "get_weather",
        "description": "Tells the weather at a place",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    }}])
}

fn chunks(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let mut frames: Vec<&str> = answer.text.trim_end().split("\n\n").collect();
    assert_eq!(frames.pop(), Some("data: [DONE]"));
    frames
        .iter()
        .map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

#[tokio::test]
async fn a_question_is_answered() {
    let stage = Stage::set().await;
    let completion = stage.admin.post("/v1/chat/completions", ask("hello")).await.json();
    assert_eq!(completion["object"], "chat.completion");
    assert!(completion["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &completion["choices"][0];
    assert_eq!(
        (&choice["message"]["role"], &choice["finish_reason"]),
        (&json!("assistant"), &json!("stop"))
    );
    assert!(choice["message"]["content"].as_str().unwrap().contains("Hello!"));
    let usage = &completion["usage"];
    assert_eq!(
        usage["total_tokens"].as_u64(),
        Some(
            usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap()
        ),
    );
    assert_eq!(stage.engine.store().documents("response", None, 1).await.unwrap(), []);
}

#[tokio::test]
async fn a_stream_has_the_same_words_in_chunks() {
    let stage = Stage::set().await;
    let mut body = ask("count to 4");
    body["stream"] = true.into();
    body["stream_options"] = json!({"include_usage": true});
    let answer = stage.admin.post("/v1/chat/completions", body).await;
    let chunks = chunks(&answer);
    assert_eq!(chunks[0]["choices"][0]["delta"]["role"], "assistant");
    let text: String = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert!(text.ends_with("1 2 3 4"), "{text}");
    let [.., end, usage] = chunks.as_slice() else { panic!("{chunks:?}") };
    assert_eq!(end["choices"][0]["finish_reason"], "stop");
    assert_eq!(usage["choices"], json!([]));
    assert!(usage["usage"]["total_tokens"].as_u64() > Some(0));
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk["object"] == "chat.completion.chunk" && chunk["id"] == end["id"])
    );
}

#[tokio::test]
async fn a_function_is_called_and_its_result_goes_back() {
    let stage = Stage::set().await;
    let mut body = ask("How is the weather in Rome?");
    body["tools"] = tools();
    let completion = stage.admin.post("/v1/chat/completions", body.clone()).await.json();
    let choice = &completion["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("tool_calls"), &Value::Null)
    );
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(
        (&call["type"], &call["function"]["name"]),
        (&json!("function"), &json!("get_weather"))
    );
    assert_eq!(call["function"]["arguments"], r#"{"place":"Rome"}"#);

    body["stream"] = true.into();
    let answer = stage.admin.post("/v1/chat/completions", body.clone()).await;
    let chunks = chunks(&answer);
    let pieces: Vec<&Value> = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"][0])
        .filter(|call| call.is_object())
        .collect();
    assert_eq!((&pieces[0]["id"], &pieces[0]["index"]), (&call["id"], &json!(0)));
    let arguments: String =
        pieces.iter().filter_map(|piece| piece["function"]["arguments"].as_str()).collect();
    assert_eq!(arguments, r#"{"place":"Rome"}"#);
    assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");

    body["stream"] = false.into();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(choice["message"].clone());
    messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "sunny"}));
    let next = stage.admin.post("/v1/chat/completions", body).await.json();
    assert!(next["choices"][0]["message"]["content"].as_str().unwrap().contains("sunny"), "{next}");
}

#[tokio::test]
async fn a_request_says_the_same_in_the_newer_format() {
    let stage = Stage::set().await;
    stage.scripted.push("m", "{}");
    let schema = json!({"type": "object", "properties": {}});
    let body = json!({
        "model": "scripted/m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "Look:"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA==", "detail": "low"}},
            ]},
        ],
        "tools": tools(),
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "schema": schema, "strict": true}},
        "max_tokens": 9,
        "max_completion_tokens": 10,
        "temperature": 0.5,
        "reasoning_effort": "low",
        "seed": 7,
        "n": 1,
        "stop": null,
    });
    let answer = stage.admin.post("/v1/chat/completions", body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let sent = stage.scripted.requests()[0].clone();
    assert_eq!(sent.input.len(), 2);
    let shown = serde_json::to_value(&sent.input[1]).unwrap();
    assert_eq!(shown["content"][1]["image_url"], "data:image/png;base64,AA==");
    assert_eq!(sent.tools[0].function_name(), Some("get_weather"));
    assert_eq!(sent.tool_choice, Some(ToolChoice::Function { name: "get_weather".to_owned() }));
    assert_eq!(sent.json_schema().unwrap().schema, schema);
    assert_eq!((sent.max_output_tokens, sent.temperature), (Some(10), Some(0.5)));
    assert_eq!(sent.reasoning.unwrap().effort.as_deref(), Some("low"));
}

#[tokio::test]
async fn how_an_answer_ended_is_told() {
    let stage = Stage::set().await;
    for (reason, expected) in
        [("max_output_tokens", "length"), ("content_filter", "content_filter")]
    {
        let finish = Finish::Incomplete { reason: reason.to_owned() };
        stage.scripted.push("m", Reply { finish, ..Reply::of(vec![Item::assistant("half")]) });
        let mut body = ask("x");
        body["model"] = "scripted/m".into();
        let completion = stage.admin.post("/v1/chat/completions", body).await.json();
        assert_eq!(completion["choices"][0]["finish_reason"], expected);
    }
}

#[tokio::test]
async fn what_cannot_be_said_in_the_newer_format_is_refused() {
    let stage = Stage::set().await;
    let with = |field: &str, value: Value| {
        let mut body = ask("x");
        body[field] = value;
        body
    };
    let says = |message: Value| with("messages", json!([message]));
    for (body, param) in [
        (with("n", json!(2)), "n"),
        (with("stop", json!(["END"])), "stop"),
        (with("logprobs", json!(true)), "logprobs"),
        (with("functions", json!([{}])), "functions"),
        (with("messages", Value::Null), "messages"),
        (with("messages", json!([])), "messages"),
        (with("messages", json!("x")), "messages"),
        (with("model", Value::Null), "model"),
        (with("response_format", json!({"type": "json_schema"})), "response_format"),
        (says(json!({"role": "function", "content": "x"})), "messages[0].role"),
        (
            says(json!({"role": "user", "content": [{"type": "input_audio"}]})),
            "messages[0].content",
        ),
        (says(json!({"role": "tool", "content": "x"})), "messages[0].tool_call_id"),
        (says(json!({"role": "tool", "content": "x", "tool_call_id": "c"})), "messages"),
        (says(json!({"role": "assistant", "tool_calls": [{}]})), "messages[0].tool_calls"),
    ] {
        let (status, _, given) =
            stage.admin.post("/v1/chat/completions", body.clone()).await.error();
        assert_eq!((status, given.as_deref()), (400, Some(param)), "{body}");
    }
    let unknown = with("model", json!("nobody/m"));
    assert_eq!(stage.admin.post("/v1/chat/completions", unknown).await.error().0, 404);
    stage.scripted.push("m", Line::failure(Class::Overloaded, "no"));
    let mut body = with("model", json!("scripted/m"));
    body["stream"] = true.into();
    assert_eq!(stage.admin.post("/v1/chat/completions", body).await.error().0, 503);
    let mut body = with("model", json!("broken/m"));
    body["stream"] = true.into();
    let text = stage.admin.post("/v1/chat/completions", body).await.text;
    let last = text.trim_end().rsplit("\n\n").next().unwrap().strip_prefix("data: ").unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["error"]["code"], "server_is_overloaded");
}
