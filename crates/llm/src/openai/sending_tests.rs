//! Checks what is sent: of the vendor's own earlier turns, of conversations with other vendors, and of the settings.

use agent_world_core::config::ToolSpec;

use super::*;

// Sending back what the vendor sent.

#[test]
fn what_the_vendor_sent_comes_back_exactly() {
    let turn = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "ä\n"}], "encrypted_content": "gAAA=="},
        {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": " x ", "annotations": [], "logprobs": []}], "phase": "commentary", "status": "completed"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "a", "arguments": "{ \"n\": 1.0 }", "status": "completed"},
        {"type": "function_call", "id": "fc_2", "call_id": "call_2", "name": "b", "arguments": "{}", "status": "completed"},
        {"type": "new_kind", "id": "nk_1", "deep": {"b": 1, "a": [null]}},
    ]);
    let reply = decode(&whole(turn.clone())).unwrap();
    let mut input: Vec<Arc<Item>> = reply.output.into_iter().map(Arc::new).collect();
    input.push(Arc::new(Item::output("call_1", "one")));
    input.push(Arc::new(Item::output("call_2", "two")));
    let body = sent(&Request { input, store: Some(false), ..Request::default() });
    let mut expected = turn;
    let outputs = [("call_1", "one"), ("call_2", "two")].map(|(call_id, output)| {
        json!({"type": "function_call_output", "call_id": call_id, "output": output})
    });
    expected.as_array_mut().unwrap().extend(outputs);
    assert_eq!(body["input"], expected);
    assert!(!body.to_string().contains("origin"));
}

#[test]
fn a_status_of_thoughts_is_not_sent_back() {
    let mut thought = thoughts();
    thought["status"] = "completed".into();
    thought["content"] = Value::Null;
    let input = told(json!([by("openai", thought), by("openai", call()), output()]));
    assert_eq!(input[0], thoughts());
}

#[test]
fn thoughts_are_left_out_where_they_cannot_be_used() {
    let turn = json!([by("openai", thoughts()), by("openai", call()), output()]);
    let body = sent_by(Flavour::OpenAi, &request(turn), &asked("openai", "gpt-4o"));
    assert_eq!(kinds(&body["input"]), ["function_call", "function_call_output"]);
    let of_another = json!([by("xai", thoughts()), by("xai", call()), output()]);
    assert_eq!(kinds(&told(of_another)), ["function_call", "function_call_output"]);
}

#[test]
fn encrypted_thoughts_are_asked_for_when_the_vendor_keeps_nothing() {
    let include = |store: Option<bool>, model: &str, include: &[&str]| {
        let include = include.iter().map(|one| (*one).to_owned()).collect();
        let request = Request { store, include, ..Request::default() };
        sent_by(Flavour::OpenAi, &request, &asked("openai", model))["include"].take()
    };
    let sealed = "reasoning.encrypted_content";
    assert_eq!(include(Some(false), "gpt-5", &[]), json!([sealed]));
    assert_eq!(include(Some(false), "gpt-5", &[sealed, "x"]), json!([sealed, "x"]));
    assert_eq!(include(Some(false), "gpt-4o", &[]), Value::Null);
    assert_eq!(include(None, "gpt-5", &[]), Value::Null);
}

// Conversations that others had.

#[test]
fn a_conversation_of_another_vendor_is_told_without_its_ids_and_secrets() {
    let long = "x".repeat(100);
    let input = told(json!([
        {"type": "message", "role": "developer", "content": "be kind"},
        user("hello"),
        by("anthropic", json!({"type": "reasoning", "summary": [], "signature": "secret"})),
        by("anthropic", json!({"type": "message", "id": "msg_01", "role": "assistant", "status": "odd", "content": [
            {"type": "output_text", "text": "hi", "citations": ["secret"]}, {"type": "block", "data": "secret"}]})),
        by("anthropic", json!({"type": "function_call", "id": "toolu_1", "call_id": long, "name": "files.read", "arguments": "", "caller": "secret"})),
        by("anthropic", json!({"type": "server_tool_use", "id": "srv_1", "input": "secret"})),
        {"type": "function_call_output", "call_id": long, "output": [{"type": "output_text", "text": "done"}]},
    ]));
    let call_id = input[3]["call_id"].as_str().unwrap().to_owned();
    assert_eq!(call_id.len(), 64);
    assert_eq!(
        input,
        json!([
            {"type": "message", "role": "developer", "content": "be kind"},
            user("hello"),
            {"type": "message", "role": "assistant", "content": [
                {"type": "output_text", "text": "hi"},
                {"type": "output_text", "text": "[block, which this model cannot be shown]"}]},
            {"type": "function_call", "call_id": call_id, "name": "files.read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": call_id, "output": [{"type": "input_text", "text": "done"}]},
        ])
    );
}

#[test]
fn results_without_a_call_and_calls_without_a_result_are_made_acceptable() {
    let input = told(json!([output(), by("openai", call()), user("go on")]));
    assert_eq!(kinds(&input), ["message", "function_call", "function_call_output", "message"]);
    assert_eq!(input[0]["role"], "user");
    assert!(input[0]["content"][0]["text"].as_str().unwrap().ends_with("seen"));
    assert_eq!(input[2]["call_id"], "call_1");
    // What came before is with the vendor.
    let mut continued = request(json!([output()]));
    continued.previous_response_id = Some("resp_0".to_owned());
    assert_eq!(sent(&continued)["input"], json!([output()]));
}

#[test]
fn a_call_id_that_is_used_twice_is_made_two() {
    let call =
        || json!({"type": "function_call", "call_id": "call_1", "name": "look", "arguments": "{}"});
    let input = told(json!([call(), output(), call(), call(), output(), output()]));
    let ids: Vec<&str> =
        input.as_array().unwrap().iter().map(|item| item["call_id"].as_str().unwrap()).collect();
    assert_eq!(ids[0], ids[1]);
    assert_eq!((ids[2], ids[3]), (ids[4], ids[5]));
    assert!(ids[0] != ids[2] && ids[2] != ids[3] && ids[3] != ids[0]);
    let nameless =
        json!({"type": "function_call", "call_id": "", "name": "look", "arguments": "{}"});
    let result = json!({"type": "function_call_output", "call_id": "", "output": "x"});
    let input = told(json!([nameless, result]));
    assert_eq!(input[0]["call_id"], input[1]["call_id"]);
    assert_ne!(input[0]["call_id"], "");
}

#[test]
fn a_function_that_was_renamed_comes_back_under_its_own_name() {
    let mut request = Request::new("gpt-5", "hello");
    request.tools =
        serde_json::from_value(json!([{"type": "function", "name": "files.read"}])).unwrap();
    request.tool_choice = Some(crate::ToolChoice::Function { name: "files.read".to_owned() });
    let body = sent(&request);
    assert_eq!(body["tools"][0]["name"], body["tool_choice"]["name"]);
    let mut called = call();
    called["name"] = body["tools"][0]["name"].clone();
    let reply = decode(&whole(json!([called]))).unwrap();
    assert_eq!(reply.calls().next().unwrap().name, "files.read");
}

#[test]
fn a_result_may_be_a_text_or_a_list_of_parts() {
    let result = |output: Value| {
        let result = json!({"type": "function_call_output", "call_id": "call_1", "output": output});
        let request = request(json!([call(), result]));
        let body = sent_by(Flavour::OpenAi, &request, &asked("openai", "o3-mini"));
        body["input"][1]["output"].clone()
    };
    let parts =
        json!([{"type": "input_text", "text": "a"}, {"type": "input_file", "file_id": "f"}]);
    assert_eq!(result(parts.clone()), parts);
    assert_eq!(result(json!({"n": 1})), r#"{"n":1}"#);
    assert_eq!(result(json!([1, 2])), "[1,2]");
    let image = json!([{"type": "input_image", "image_url": "https://e.org/i.png"}]);
    let shown = json!([{"type": "input_text", "text": "[image: https://e.org/i.png]"}]);
    assert_eq!(result(image), shown);
}

// Settings.

#[test]
fn what_a_model_refuses_is_left_out() {
    let request: Request = serde_json::from_value(json!({
        "input": "hello", "temperature": 0.5, "top_p": 0.5, "max_output_tokens": 1,
        "reasoning": {"effort": "low", "max_tokens": 100}, "metadata": {"n": 1, "t": "x"},
        "prompt_cache_key": "k".repeat(100), "tool_choice": "required", "truncation": "auto",
    }))
    .unwrap();
    let body = sent_by(Flavour::OpenAi, &request, &asked("openai", "gpt-5"));
    for refused in ["temperature", "top_p", "tool_choice", "instructions", "stream"] {
        assert_eq!(body[refused], Value::Null, "{refused}");
    }
    assert_eq!(body["reasoning"], json!({"effort": "low"}));
    assert_eq!(body["max_output_tokens"], 16);
    assert_eq!(body["metadata"], json!({"n": "1", "t": "x"}));
    assert_eq!(body["truncation"], "auto");
    assert_eq!(body["prompt_cache_key"].as_str().unwrap().len(), 64);
    let body = sent_by(Flavour::OpenAi, &request, &asked("openai", "gpt-4o"));
    assert_eq!((&body["temperature"], &body["reasoning"]), (&json!(0.5), &Value::Null));
    let body = sent_by(Flavour::Xai, &request, &asked("xai", "grok-4-fast-reasoning"));
    assert_eq!((&body["reasoning"], &body["max_output_tokens"]), (&Value::Null, &json!(1)));
    let body = sent_by(Flavour::Xai, &request, &asked("xai", "grok-4.3"));
    assert_eq!(body["reasoning"], json!({"effort": "low"}));
}

#[test]
fn xai_is_told_instructions_and_allowed_tools_in_its_own_way() {
    let request: Request = serde_json::from_value(json!({
        "instructions": "be kind",
        "input": [{"role": "developer", "content": "and brief"}],
        "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "b"}],
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "b"}]},
    }))
    .unwrap();
    let body = sent_by(Flavour::Xai, &request, &asked("xai", "grok-4.3"));
    assert_eq!(body["instructions"], Value::Null);
    let said: Vec<(&str, &str)> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["role"].as_str().unwrap(), item["content"].as_str().unwrap()))
        .collect();
    assert_eq!(said, [("system", "be kind"), ("system", "and brief")]);
    assert_eq!(body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&body["tools"][0]["name"], &body["tool_choice"]),
        (&json!("b"), &json!("required"))
    );
    let body = sent_by(Flavour::OpenAi, &request, &asked("openai", "gpt-5"));
    assert_eq!(body["tool_choice"]["type"], "allowed_tools");
    assert_eq!(body["instructions"], "be kind");
}

#[test]
fn a_schema_is_put_in_words_for_a_model_that_cannot_be_held_to_it() {
    let request: Request = serde_json::from_value(json!({
        "input": "hello",
        "text": {"format": {"type": "json_schema", "name": "my answer", "schema": {"type": "object"}, "strict": true}},
    }))
    .unwrap();
    let body = sent_by(Flavour::OpenAi, &request, &asked("openai", "gpt-4-turbo"));
    assert_eq!(body["text"], json!({"format": {"type": "json_object"}}));
    assert!(body["input"][0]["content"].as_str().unwrap().ends_with(r#"{"type":"object"}"#));
    let body = sent_by(Flavour::Azure, &request, &asked("openai", "gpt-4.1"));
    assert_eq!(body["text"]["format"]["name"], "my answer");
    assert_eq!(body["input"].as_array().unwrap().len(), 1);
}

#[test]
fn options_for_the_vendor_win_and_those_for_others_are_not_sent() {
    let mut request = Request::new("gpt-5", "hello");
    request.text = Some(crate::Text { verbosity: Some("low".to_owned()), ..Default::default() });
    request.vendor_options = serde_json::from_value(json!({
        "openai": {"text": {"format": {"type": "text"}}, "store": false, "service_tier": "flex"},
        "xai": {"search": true},
    }))
    .unwrap();
    let body = sent(&request);
    assert_eq!(body["text"], json!({"verbosity": "low", "format": {"type": "text"}}));
    assert_eq!((&body["service_tier"], &body["store"]), (&json!("flex"), &json!(false)));
    assert_eq!(body["search"], Value::Null);
    assert_eq!(body["vendor_options"], Value::Null);
}

#[test]
fn thoughts_before_a_message_that_says_nothing_are_left_out() {
    let nothing = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": []});
    let cut = json!([user("Go"), by("openai", thoughts()), by("openai", nothing), user("And?")]);
    assert_eq!(kinds(&told(cut)), ["message", "message"]);
}

#[test]
fn a_result_goes_without_words_of_other_formats() {
    let mut failed = output();
    failed["is_error"] = true.into();
    assert_eq!(told(json!([by("openai", call()), failed]))[1], output());
}

#[test]
fn a_function_always_describes_an_object_with_its_properties() {
    let parameters = |schema: Value| {
        let tools = vec![crate::Tool::from(&ToolSpec::new("f", "", schema))];
        sent(&Request { tools, ..Request::default() })["tools"][0]["parameters"].take()
    };
    let nothing = json!({"type": "object", "properties": {}});
    assert_eq!(parameters(json!({"type": "object"})), nothing);
    assert_eq!(parameters(json!({})), nothing);
    assert_eq!(parameters(Value::Null), nothing);
    let closed = json!({"type": "object", "additionalProperties": false});
    assert_eq!(parameters(closed)["additionalProperties"], false);
    let whole = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert_eq!(parameters(whole.clone()), whole);
}

#[test]
fn json_is_asked_for_in_the_conversation_where_nobody_did() {
    let asked_for = |instructions: &str, question: &str| {
        let text = serde_json::from_value(json!({"format": {"type": "json_object"}})).unwrap();
        let instructions = instructions.to_owned();
        let request = Request { text: Some(text), instructions, ..Request::new("m", question) };
        sent(&request)["input"].take()
    };
    assert_eq!(asked_for("", "Answer in Json.").as_array().unwrap().len(), 1);
    for instructions in ["", "Answer in JSON."] {
        let input = asked_for(instructions, "Hello");
        assert!(input[0]["content"].as_str().unwrap().contains("JSON"), "{input}");
        assert_eq!(input[0]["role"], "system");
        assert_eq!(input[1], user("Hello"));
    }
}
