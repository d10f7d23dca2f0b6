//! Says how the settings of a request are told to Gemini, and what is left out for models that do not take it.

use serde_json::{Value, json};

use super::Google;
use super::replay_tests::body;
use super::reply_tests::asked;
use crate::dialect::Dialect as _;
use crate::{Capabilities, Request, Thinking};

fn request(fields: Value) -> Request {
    let mut whole = json!({"input": "hi"});
    for (key, value) in fields.as_object().unwrap() {
        whole[key] = value.clone();
    }
    serde_json::from_value(whole).unwrap()
}

#[test]
fn the_path_names_the_model_and_the_method() {
    for (model, stream, path) in [
        ("gemini-2.5-pro", false, "/models/gemini-2.5-pro:generateContent"),
        ("gemini-2.5-pro", true, "/models/gemini-2.5-pro:streamGenerateContent"),
        ("models/gemini-2.5-pro", false, "/models/gemini-2.5-pro:generateContent"),
        ("tunedModels/mine", false, "/tunedModels/mine:generateContent"),
        ("publishers/google/models/x", false, "/publishers/google/models/x:generateContent"),
        ("a b?c#d", false, "/models/a%20b%3Fc%23d:generateContent"),
    ] {
        let outgoing = Google.encode(&request(json!({})), &asked(model, stream)).unwrap();
        assert_eq!(outgoing.path, path);
        let query: Vec<_> =
            stream.then(|| ("alt".to_owned(), "sse".to_owned())).into_iter().collect();
        assert_eq!(outgoing.query, query);
    }
}

#[test]
fn a_plain_question_says_nothing_more() {
    let expected = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]});
    assert_eq!(body("gemini-3.8-flash", &request(json!({}))), expected);
}

#[test]
fn sampling_is_told_to_models_that_take_it() {
    let asked = request(json!({
        "temperature": 0.5, "top_p": 0.9, "max_output_tokens": 10, "stop": ["x", "y"], "seed": 3, "top_k": 4,
    }));
    assert_eq!(
        body("gemini-2.5-flash", &asked)["generationConfig"],
        json!({
            "temperature": 0.5, "topP": 0.9, "topK": 4, "seed": 3, "maxOutputTokens": 10,
            "stopSequences": ["x", "y"],
        })
    );
    assert_eq!(
        body("gemini-3.6-flash", &asked)["generationConfig"],
        json!({"seed": 3, "maxOutputTokens": 10, "stopSequences": ["x", "y"]})
    );
    let one = request(json!({"stop": "x"}));
    assert_eq!(body("gemini-2.5-flash", &one)["generationConfig"]["stopSequences"], json!(["x"]));
}

#[test]
fn thinking_is_told_by_number_or_by_word() {
    for (model, reasoning, config) in [
        ("gemini-2.5-flash", json!({"effort": "none"}), json!({"thinkingBudget": 0})),
        (
            "gemini-2.5-flash",
            json!({"effort": "none", "summary": "auto"}),
            json!({"thinkingBudget": 0}),
        ),
        ("gemini-2.5-pro", json!({"effort": "none"}), json!({"thinkingBudget": 128})),
        (
            "gemini-2.5-flash",
            json!({"effort": "low"}),
            json!({"thinkingBudget": 1024, "includeThoughts": true}),
        ),
        (
            "gemini-2.5-flash",
            json!({"effort": "high"}),
            json!({"thinkingBudget": 24576, "includeThoughts": true}),
        ),
        (
            "gemini-2.5-flash",
            json!({"max_tokens": 99999}),
            json!({"thinkingBudget": 24576, "includeThoughts": true}),
        ),
        (
            "gemini-2.5-pro",
            json!({"max_tokens": 99999}),
            json!({"thinkingBudget": 32768, "includeThoughts": true}),
        ),
        (
            "gemini-2.5-flash-lite",
            json!({"max_tokens": 9}),
            json!({"thinkingBudget": 512, "includeThoughts": true}),
        ),
        ("gemini-2.5-flash", json!({"summary": "auto"}), json!({"includeThoughts": true})),
        (
            "gemini-2.5-flash",
            json!({"summary": "none", "effort": "low"}),
            json!({"thinkingBudget": 1024}),
        ),
        ("gemini-2.5-flash", json!({}), json!({"includeThoughts": true})),
        ("gemini-3-flash-preview", json!({"effort": "none"}), json!({"thinkingLevel": "MINIMAL"})),
        ("gemini-3.1-pro-preview", json!({"effort": "none"}), json!({"thinkingLevel": "LOW"})),
        (
            "models/gemini-3.8-flash",
            json!({"effort": "minimal"}),
            json!({"thinkingLevel": "LOW", "includeThoughts": true}),
        ),
        (
            "gemini-3-pro-preview",
            json!({"effort": "medium"}),
            json!({"thinkingLevel": "HIGH", "includeThoughts": true}),
        ),
        (
            "gemini-3.8-flash",
            json!({"effort": "medium"}),
            json!({"thinkingLevel": "MEDIUM", "includeThoughts": true}),
        ),
        (
            "gemini-3.8-flash",
            json!({"effort": "xhigh"}),
            json!({"thinkingLevel": "HIGH", "includeThoughts": true}),
        ),
        (
            "gemini-3.8-flash",
            json!({"max_tokens": 1000}),
            json!({"thinkingLevel": "LOW", "includeThoughts": true}),
        ),
        ("gemini-2.0-flash", json!({"effort": "high"}), Value::Null),
    ] {
        let asked = request(json!({"reasoning": reasoning}));
        let told = &body(model, &asked)["generationConfig"]["thinkingConfig"];
        assert_eq!(told, &config, "{model} {reasoning}");
    }
}

#[test]
fn the_form_of_the_reply_is_held_or_put_in_words() {
    let schema =
        json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}});
    let format = json!({"format": {"type": "json_schema", "name": "n", "schema": schema}});
    let plain = request(json!({"text": format}));
    let held = json!({"responseMimeType": "application/json", "responseJsonSchema": schema});
    assert_eq!(body("gemini-2.5-flash", &plain)["generationConfig"], held);

    let object = request(json!({"text": {"format": {"type": "json_object"}}}));
    let told = body("gemini-2.5-flash", &object);
    assert_eq!(told["generationConfig"], json!({"responseMimeType": "application/json"}));

    let tools = json!([{"type": "function", "name": "f", "parameters": {"type": "object"}}]);
    let with_tools = request(json!({"text": format, "tools": tools}));
    assert_eq!(body("gemini-3.8-flash", &with_tools)["generationConfig"], held);
    let told = body("gemini-2.5-flash", &with_tools);
    assert_eq!(told.get("generationConfig"), None, "older models refuse both together");
    let words = told["systemInstruction"]["parts"][0]["text"].as_str().unwrap();
    assert!(words.contains(&schema.to_string()), "{words}");

    let text = request(json!({"text": {"format": {"type": "text"}}}));
    assert_eq!(body("gemini-2.5-flash", &text).get("generationConfig"), None);
}

#[test]
fn tools_and_the_choice_among_them() {
    let tools = json!([
        {"type": "function", "name": "f", "description": "does", "parameters": {"type": "object"}, "strict": true},
        {"type": "function", "name": "g"},
        {"type": "web_search"},
        {"googleSearch": {}},
        {"codeExecution": {}},
    ]);
    let told = body("gemini-3.8-flash", &request(json!({"tools": tools})));
    assert_eq!(
        told["tools"],
        json!([
            {"functionDeclarations": [
                {"name": "f", "description": "does", "parametersJsonSchema": {"type": "object"}},
                {"name": "g", "description": ""},
            ]},
            {"googleSearch": {}},
            {"codeExecution": {}},
        ])
    );
    assert_eq!(told.get("toolConfig"), None);
    let allowed = json!({"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "g"}]});
    for (choice, config) in [
        (json!("auto"), json!({"mode": "AUTO"})),
        (json!("none"), json!({"mode": "NONE"})),
        (json!("required"), json!({"mode": "ANY"})),
        (
            json!({"type": "function", "name": "f"}),
            json!({"mode": "ANY", "allowedFunctionNames": ["f"]}),
        ),
        (allowed.clone(), json!({"mode": "ANY", "allowedFunctionNames": ["g"]})),
    ] {
        let asked = request(json!({"tools": tools, "tool_choice": choice}));
        let told = &body("gemini-3.8-flash", &asked)["toolConfig"]["functionCallingConfig"];
        assert_eq!(told, &config);
    }
    let mut free = allowed;
    free["mode"] = "auto".into();
    let told = body("gemini-3.8-flash", &request(json!({"tools": tools, "tool_choice": free})));
    assert_eq!(told["tools"][0]["functionDeclarations"].as_array().unwrap().len(), 1);
    assert_eq!(told["toolConfig"]["functionCallingConfig"], json!({"mode": "AUTO"}));
    // A choice without functions is an error to the vendor, and so is a tool for a model that takes none.
    let none = request(json!({"tools": [{"googleSearch": {}}], "tool_choice": "required"}));
    assert_eq!(body("gemini-3.8-flash", &none).get("toolConfig"), None);
    let without = body("gemma-3-27b-it", &request(json!({"tools": tools, "tool_choice": "auto"})));
    assert_eq!((without.get("tools"), without.get("toolConfig")), (None, None));
}

#[test]
fn images_files_and_sounds_are_shown() {
    for (part, shown) in [
        (
            json!({"type": "input_image", "image_url": "data:image/png;base64,aGk="}),
            json!({"inlineData": {"mimeType": "image/png", "data": "aGk="}}),
        ),
        (
            json!({"type": "input_image", "image_url": "https://e.example/a.WEBP?x=1.png"}),
            json!({"fileData": {"mimeType": "image/webp", "fileUri": "https://e.example/a.WEBP?x=1.png"}}),
        ),
        (
            json!({"type": "input_image", "image_url": "gs://bucket/picture"}),
            json!({"fileData": {"mimeType": "image/jpeg", "fileUri": "gs://bucket/picture"}}),
        ),
        (
            json!({"type": "input_image", "file_id": "https://e.example/v1beta/files/abc"}),
            json!({"fileData": {"fileUri": "https://e.example/v1beta/files/abc"}}),
        ),
        (
            json!({"type": "input_file", "file_id": "files/abc"}),
            json!({"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}}),
        ),
        (
            json!({"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aGk="}),
            json!({"inlineData": {"mimeType": "application/pdf", "data": "aGk="}}),
        ),
        (
            json!({"type": "input_file", "filename": "a.mp3", "file_data": "aGk="}),
            json!({"inlineData": {"mimeType": "audio/mp3", "data": "aGk="}}),
        ),
        (
            json!({"type": "input_file", "filename": "film", "file_url": "https://e.example/a.mp4"}),
            json!({"fileData": {"mimeType": "video/mp4", "fileUri": "https://e.example/a.mp4"}}),
        ),
        (
            json!({"type": "input_file", "file_data": "data:text/plain;charset=utf-8;base64,aGk="}),
            json!({"inlineData": {"mimeType": "text/plain", "data": "aGk="}}),
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}}),
            json!({"inlineData": {"mimeType": "audio/mp3", "data": "aGk="}}),
        ),
        // What only another vendor has, or what cannot be read, is put in words.
        (
            json!({"type": "input_image", "file_id": "file-abc"}),
            json!({"text": "[an image that this model cannot be shown]"}),
        ),
        (
            json!({"type": "input_file", "filename": "a.pdf", "file_id": "file-abc"}),
            json!({"text": "[file a.pdf, which this model cannot be shown]"}),
        ),
        (
            json!({"type": "input_image", "image_url": "data:image/svg+xml,%3Csvg"}),
            json!({"text": "[an image that this model cannot be shown]"}),
        ),
    ] {
        let asked = request(json!({"input": [{"role": "user", "content": [part]}]}));
        assert_eq!(body("gemini-2.5-flash", &asked)["contents"][0]["parts"][0], shown);
    }
}

#[test]
fn options_for_this_vendor_are_laid_over_everything_else() {
    let options = json!({
        "google": {
            "generationConfig": {"thinkingConfig": {"thinkingBudget": 7}, "responseModalities": ["TEXT"]},
            "safetySettings": [],
            "cachedContent": "cachedContents/1",
        },
        "openai": {"store": true},
    });
    let asked = request(json!({
        "reasoning": {"effort": "low"}, "max_output_tokens": 5, "vendor_options": options, "store": true,
        "metadata": {"a": "b"}, "prompt_cache_key": "k", "previous_response_id": "resp_1",
    }));
    assert_eq!(
        body("gemini-2.5-flash", &asked),
        json!({
            "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
            "generationConfig": {
                "maxOutputTokens": 5,
                "thinkingConfig": {"thinkingBudget": 7, "includeThoughts": true},
                "responseModalities": ["TEXT"],
            },
            "safetySettings": [],
            "cachedContent": "cachedContents/1",
        })
    );
}

#[test]
fn arguments_and_results_go_out_byte_for_byte() {
    let arguments = "{ \"x\" :1.0e5,\"big\":12345678901234567890123 }";
    let result = "{\"y\" :0.10, \"z\":\"\\u00e9\"}";
    let asked_for = request(json!({
        "input": [
            {"role": "user", "content": "a\u{2028}\u{0}\"é"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": arguments},
            {"type": "function_call_output", "call_id": "a", "output": result},
        ],
        "vendor_options": {"google": {"generationConfig": {"seed": 1}}},
    }));
    let outgoing = Google.encode(&asked_for, &asked("gemini-2.5-flash", false)).unwrap();
    let text = String::from_utf8(outgoing.body).unwrap();
    assert!(text.contains(&format!("\"args\":{arguments}")), "{text}");
    assert!(text.contains(&format!("\"response\":{result}")), "{text}");
    let body: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(body["contents"][0]["parts"][0]["text"], "a\u{2028}\u{0}\"é");
}

#[test]
fn the_table_knows_the_generations() {
    let of = |model: &str| Capabilities::of("google", model);
    for (model, thinking, reasoning, temperature) in [
        ("gemini-2.0-flash", Thinking::Budget, false, true),
        ("gemini-2.5-flash-lite", Thinking::Budget, true, true),
        ("models/gemini-2.5-pro", Thinking::Budget, true, true),
        ("gemini-3-flash-preview", Thinking::Effort, true, true),
        ("gemini-3.1-pro-preview", Thinking::Effort, true, true),
        ("gemini-3.5-flash", Thinking::Effort, true, true),
        ("gemini-3.5-flash-lite", Thinking::Effort, true, false),
        ("gemini-3.8-flash", Thinking::Effort, true, false),
        ("gemini-flash-latest", Thinking::Effort, true, false),
    ] {
        let known = of(model);
        assert_eq!(known.accepts.thinking, thinking, "{model}");
        assert_eq!(known.reasoning, reasoning, "{model}");
        assert_eq!(known.accepts.temperature, temperature, "{model}");
        assert_eq!(known.context_window, Some(1_048_576), "{model}");
    }
    assert_eq!(of("gemini-2.5-pro").max_output_tokens, Some(65_536));
    assert_eq!(of("gemini-2.0-flash").max_output_tokens, Some(8_192));
    assert!(!of("gemini-2.5-flash-image").tools);
}
