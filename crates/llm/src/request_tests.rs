//! Checks what is accepted as a request, what survives a round trip and how bad input is answered.

use serde_json::json;

use super::*;

fn request(value: Value) -> Request {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_request_survives_a_round_trip_with_what_nobody_knows() {
    let value = json!({
        "model": "m",
        "instructions": "Be brief.",
        "input": [
            {"type": "message", "id": "msg_1", "role": "user", "content": [
                {"type": "input_text", "text": "a", "new": 1},
                {"type": "input_image", "image_url": "https://e.org/a", "detail": "high"},
                {"type": "input_file", "filename": "f", "file_id": "file_1"},
                {"type": "input_audio", "data": "QUJD"},
            ], "status": "completed"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "n",
             "arguments": "{\"b\": 1,  \"a\":2.0}", "status": "completed"},
            {"type": "function_call_output", "call_id": "c", "output": [{"z": 1, "y": 2}], "more": 1},
            {"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "q"}},
            {"type": "compaction", "encrypted_content": "y"},
        ],
        "tools": [
            {"type": "function", "name": "n", "description": "d",
             "parameters": {"type": "object", "properties": {"z": {}, "a": {}}},
             "strict": true, "new": {}},
            {"type": "web_search", "filters": {"allowed_domains": ["e.org"]}},
        ],
        "tool_choice": "required",
        "text": {"format": {"type": "json_schema", "name": "s", "schema": {"type": "object"},
                            "strict": false, "new": 1}, "verbosity": "low", "new": 2},
        "temperature": 0.1,
        "top_p": 1.0,
        "max_output_tokens": 10,
        "parallel_tool_calls": false,
        "previous_response_id": "resp_1",
        "reasoning": {"effort": "low", "summary": "auto", "max_tokens": 5, "new": 3},
        "metadata": {"k": "v"},
        "store": false,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "k",
        "stream": true,
        "vendor_options": {"ollama": {"keep_alive": "1m"}},
        "service_tier": "flex",
    });
    let request = request(value.clone());
    // As text, since the order of keys counts too.
    assert_eq!(serde_json::to_string(&request).unwrap(), value.to_string());
    assert_eq!(request.extra.get("service_tier"), Some(&json!("flex")));
    assert!(matches!(&*request.input[4], Item::Unknown(_)));
    assert_eq!(request.functions().count(), 1);
    assert_eq!(request.json_schema().map(|schema| schema.name.as_str()), Some("s"));
    assert_eq!(request.options_for("ollama").unwrap()["keep_alive"], "1m");
    assert_eq!(request.options_for("openai"), None);
}

#[test]
fn on_whose_behalf_is_never_written_down() {
    let request = Request { user: Some("ada".to_owned()), ..Request::new("m", "x") };
    let text = serde_json::to_string(&request).unwrap();
    assert!(!text.contains("ada"), "{text}");
}

#[test]
fn input_can_be_a_text_an_item_or_a_list() {
    let asked = vec![Arc::new(Item::user("Hello"))];
    for input in [
        json!("Hello"),
        json!({"role": "user", "content": "Hello"}),
        json!([{"role": "user", "content": "Hello"}]),
        json!([{"type": "message", "role": "user", "content": ["Hello"]}]),
        json!([{"type": null, "id": null, "role": "user",
                "content": [{"type": "input_text", "text": "Hello"}]}]),
    ] {
        assert_eq!(request(json!({"input": input})).input, asked, "{input}");
    }
    let said = request(json!({"input": [{"role": "assistant", "content": "Hi"}]})).input;
    assert_eq!(said, vec![Arc::new(Item::assistant("Hi"))]);
    let call = json!({"type": "function_call", "call_id": "c", "name": "n", "arguments": "{}"});
    assert_eq!(
        request(json!({"input": call})).input,
        vec![Arc::new(Item::call("c", "n", &json!({})))]
    );
}

#[test]
fn a_null_says_the_same_as_nothing() {
    let nothing = request(json!({}));
    assert_eq!(nothing, Request::default());
    let fields = [
        "model",
        "instructions",
        "input",
        "tools",
        "tool_choice",
        "text",
        "temperature",
        "top_p",
        "max_output_tokens",
        "parallel_tool_calls",
        "previous_response_id",
        "reasoning",
        "metadata",
        "store",
        "include",
        "prompt_cache_key",
        "stream",
        "vendor_options",
    ];
    for field in fields {
        assert_eq!(request(json!({ field: null })), nothing, "{field}");
    }
    let tool = json!({"type": "function", "name": "n", "description": null, "parameters": null,
        "strict": null});
    let absent = json!({"type": "function", "name": "n"});
    for tool in [tool, absent] {
        let request = request(json!({"tools": [tool]}));
        let function = request.functions().next().unwrap();
        assert_eq!((function.description.as_str(), &*function.parameters), ("", &Value::Null));
        // Vendors read different things into its absence, so it is always said.
        assert!(!function.strict);
        assert_eq!(serde_json::to_value(&request).unwrap()["tools"][0]["strict"], json!(false));
    }
    let schema =
        json!({"format": {"type": "json_schema", "name": "s", "schema": {}, "strict": null}});
    assert!(!request(json!({"text": schema})).json_schema().unwrap().strict);
}

#[test]
fn bad_input_is_answered_with_what_is_wrong_and_where() {
    let table = [
        (json!(7), "input must be a text or a list of items"),
        (json!(true), "input must be a text or a list of items"),
        (
            json!([{"role": "user", "content": "a"}, 7]),
            "input[1]: an item must be an object with a type, or with a role and content",
        ),
        (json!([{"role": "robot", "content": "a"}]), "input[0]: role must be user, assistant"),
        (json!([{"content": "a"}]), "input[0]: role must be user, assistant, system or developer"),
        (json!([{"role": "user"}]), "input[0]: content must be a text or a list of parts"),
        (json!({"role": "user", "content": 7}), "content must be a text or a list of parts"),
    ];
    for (input, problem) in table {
        let error = input_from(input.clone()).unwrap_err();
        assert!(error.starts_with(problem), "{input}: {error}");
        let error = serde_json::from_value::<Request>(json!({"input": input})).unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn an_item_of_a_known_type_in_an_unknown_shape_is_carried_along() {
    let odd = json!({"type": "function_call_output", "result": 1});
    assert_eq!(input_from(json!([odd])).unwrap(), vec![Arc::new(Item::Unknown(odd))]);
    let part = json!({"type": "input_text", "words": 1});
    let items = input_from(json!([{"role": "user", "content": [part]}])).unwrap();
    let Item::Message(message) = &*items[0] else { panic!("{items:?}") };
    assert_eq!(message.content, vec![Part::Unknown(part)]);
}

#[test]
fn a_choice_of_tools_has_many_forms() {
    let function = |name: &str| json!({"type": "function", "name": name});
    let table = [
        (json!("auto"), ToolChoice::Auto),
        (json!("none"), ToolChoice::None),
        (json!("required"), ToolChoice::Required),
        (function("n"), ToolChoice::Function { name: "n".to_owned() }),
        (
            json!({"type": "allowed_tools", "mode": "required", "tools": [function("a"), function("b")]}),
            ToolChoice::Allowed { required: true, names: vec!["a".to_owned(), "b".to_owned()] },
        ),
        (
            json!({"type": "allowed_tools", "mode": "auto", "tools": []}),
            ToolChoice::Allowed { required: false, names: Vec::new() },
        ),
    ];
    for (value, choice) in table {
        assert_eq!(ToolChoice::from(value.clone()), choice, "{value}");
        assert_eq!(serde_json::to_value(&choice).unwrap(), value);
    }
    for value in [
        json!("sometimes"),
        json!({"type": "file_search"}),
        json!({"type": "function"}),
        json!({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}),
        json!({"type": "allowed_tools"}),
        json!(7),
    ] {
        assert_eq!(ToolChoice::from(value.clone()), ToolChoice::Unknown(value.clone()));
        assert_eq!(serde_json::to_value(ToolChoice::from(value.clone())).unwrap(), value);
    }
}

#[test]
fn a_format_is_flat_and_may_be_unknown() {
    let format = |value: Value| request(json!({"text": {"format": value}})).text.unwrap().format;
    assert_eq!(format(json!({"type": "text"})), Some(Format::Text));
    assert_eq!(format(json!({"type": "json_object"})), Some(Format::JsonObject));
    let grammar = json!({"type": "grammar", "definition": "x"});
    assert_eq!(format(grammar.clone()), Some(Format::Unknown(grammar)));
}
