//! Says what every recorded exchange with Google's Gemini must come to, both ways.
//! The expected lengths, hashes and numbers were counted from the recordings by other means than the code under test.

use std::sync::Arc;

use agent_world_core::item::{FunctionCallOutput, Item, MessageItem, Part, Role};
use agent_world_llm::dialect::Dialect as _;
use agent_world_llm::google::Google;
use agent_world_llm::{
    Format, FunctionTool, JsonSchema, ReasoningOptions, Request, Text, Tool, ToolChoice,
};
use serde_json::{Map, Value, json};

use crate::cases::{self, Case};
use crate::run;

const VENDOR: run::Vendor<'_> = run::Vendor {
    folder: "gemini",
    name: "google",
    models: "google",
    dialect: &Google,
    replies: REPLIES,
    lift,
    exceptions: &[],
};

#[test]
fn gemini() {
    let cases = cases::of(VENDOR.folder, REPLIES.len());
    let cases: Vec<Case> = cases.into_iter().map(written_out).collect();
    run::some(&VENDOR, &cases);
}

const REPLIES: &[(&str, &str)] = &[
    ("error-400-invalid-key", "error auth 400: [47 1eb932c0]"),
    ("error-429-retry-info", "error rate_limited in 34.4s 429: [56 f5c6298e]"),
    (
        "image-in-tool-result",
        "completed; 1278 in (0 cached), 46 out (37 thought), 1324 in all\n\
         google says [39 60e3fa7f]",
    ),
    (
        "parallel-tool-calls",
        "completed; 83 in (0 cached), 220 out (190 thought), 303 in all\n\
         google calls generate_topic [2 44136fa3]\n\
         google calls generate_topic [2 44136fa3]\n\
         google calls generate_topic [2 44136fa3]",
    ),
    (
        "parallel-tool-results",
        "completed; 348 in (0 cached), 50 out (40 thought), 398 in all\n\
         google calls generate_topic [2 44136fa3]",
    ),
    ("safety-block", "incomplete (content_filter); 14 in (0 cached), 0 out (0 thought), 14 in all"),
    (
        "stream-parallel-tool-calls",
        "completed; 170 in (0 cached), 26 out (0 thought), 196 in all\n\
         google calls lookup_harbor_label [2 44136fa3]\n\
         google calls lookup_orchard_label [2 44136fa3]",
    ),
    (
        "stream-partial-tool-args",
        "completed; 26 in (0 cached), 155 out (132 thought), 181 in all\n\
         google calls getWeather [21 153bed77]\n\
         google calls getWeather [28 d041d2d4]",
    ),
    (
        "stream-text",
        "completed; 13 in (0 cached), 8 out (0 thought), 21 in all\n\
         google says [32 c9ba5557]",
    ),
    (
        "stream-thinking",
        "completed; 34 in (0 cached), 1256 out (787 thought), 1290 in all\n\
         google thinks [1575 1bf501f6]\n\
         google says [1938 8c4308d5]",
    ),
    (
        "stream-tool-call-signature",
        "completed; 29 in (0 cached), 212 out (202 thought), 241 in all\n\
         google calls get_country [2 44136fa3]",
    ),
    (
        "stream-tool-result-signature",
        "completed; 257 in (0 cached), 8 out (0 thought), 265 in all\n\
         google says [37 181c6ab0]",
    ),
    (
        "stream-two-finish-reasons",
        "completed; 665 in (0 cached), 304 out (211 thought), 969 in all\n\
         google adds google:executableCode\n\
         google adds google:codeExecutionResult\n\
         google adds google:executableCode\n\
         google adds google:codeExecutionResult\n\
         google says [64 ef909975]",
    ),
    (
        "structured-output",
        "completed; 26 in (0 cached), 424 out (360 thought), 450 in all\n\
         google says [212 4ec749b3]",
    ),
    (
        "text",
        "completed; 9 in (0 cached), 43 out (34 thought), 52 in all\n\
         google says [32 fda564ba]",
    ),
    (
        "truncated-empty",
        "incomplete (max_output_tokens); 15 in (0 cached), 2 out (2 thought), 17 in all",
    ),
];

/// The vendor takes several spellings for the same thing. They are brought into ours here, so that what they say is
/// compared instead of excepted: the role of a system instruction says nothing, a part is no thought unless it says so,
/// and a function's parameters have an older name and one in snake case.
fn written_out(mut case: Case) -> Case {
    let Some(request) = case.request.as_mut() else { return case };
    if let Some(Value::Object(system)) = request.get_mut("systemInstruction") {
        system.shift_remove("role");
    }
    let mut contents: Vec<&mut Value> = Vec::new();
    for (key, value) in request.as_object_mut().unwrap() {
        match key.as_str() {
            "systemInstruction" => contents.push(value),
            "contents" => contents.extend(value.as_array_mut().into_iter().flatten()),
            "tools" => value.as_array_mut().into_iter().flatten().for_each(newer_names),
            _ => {}
        }
    }
    let parts = contents.into_iter().filter_map(|content| content.get_mut("parts")?.as_array_mut());
    for part in parts.flatten().filter(|part| part["thought"] == false) {
        part.as_object_mut().unwrap().shift_remove("thought");
    }
    case
}

fn newer_names(tool: &mut Value) {
    let functions = tool.get_mut("functionDeclarations").and_then(Value::as_array_mut);
    for function in functions.into_iter().flatten().filter_map(Value::as_object_mut) {
        for older in ["parameters", "parameters_json_schema"] {
            if let Some(schema) = function.shift_remove(older) {
                function.insert("parametersJsonSchema".to_owned(), schema);
            }
        }
    }
}

/// Everything signed must come back signed, in the same order and around the same words.
#[test]
fn what_a_reply_brought_goes_back_as_it_came() {
    let mut signatures = 0;
    for case in cases::of(VENDOR.folder, REPLIES.len()) {
        let Ok(response) = run::reply(&VENDOR, &case) else { continue };
        let asked = run::asked(&VENDOR, &response.model, true);
        let items = response.output.into_iter().map(Arc::new);
        let request = Request { input: items.collect(), ..Request::default() };
        let outgoing = Google.encode(&request, &asked).unwrap();
        let body: Value = serde_json::from_slice(&outgoing.body).unwrap();
        let contents = body["contents"].as_array().unwrap();
        let sent = contents.iter().filter(|content| content["role"] == "model");
        let sent: Vec<Value> =
            sent.flat_map(|content| content["parts"].as_array().unwrap().clone()).collect();
        let received = received(&case);
        assert_eq!(merged(&sent), merged(&received), "{}", case.name);
        signatures += received.iter().filter(|part| part["thoughtSignature"].is_string()).count();
    }
    println!("{signatures} signatures went back");
}

/// All parts of a recorded reply; calls that came piece by piece are left to the test above.
fn received(case: &Case) -> Vec<Value> {
    let text = String::from_utf8(case.reply.clone()).unwrap();
    let chunks: Vec<Value> = match case.streamed {
        true => text
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .map(|data| serde_json::from_str(data).unwrap())
            .collect(),
        false => vec![serde_json::from_str(&text).unwrap()],
    };
    let parts = chunks
        .iter()
        .filter_map(|chunk| chunk.pointer("/candidates/0/content/parts").and_then(Value::as_array));
    parts.flatten().cloned().collect()
}

/// Parts without the cuts that only the stream made: texts without a signature are joined.
fn merged(parts: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for part in parts {
        let plain = part["text"].is_string() && part["thoughtSignature"].is_null();
        if plain && part["text"] == "" {
            continue;
        }
        // Pieces of a call are told apart by its name alone.
        if !part["functionCall"].is_null() {
            if part["functionCall"]["name"].is_string() {
                merged.push(json!([part["functionCall"]["name"], part["thoughtSignature"]]));
            }
            continue;
        }
        match merged.last_mut() {
            Some(last)
                if plain
                    && last["text"].is_string()
                    && last["thought"] == part["thought"]
                    && last["thoughtSignature"].is_null() =>
            {
                let joined =
                    format!("{}{}", last["text"].as_str().unwrap(), part["text"].as_str().unwrap());
                last["text"] = joined.into();
            }
            _ => merged.push(part.clone()),
        }
    }
    merged
}

fn lift(recorded: &Value, case: &Case) -> Request {
    let mut request = Request { model: run::model(case), ..Request::default() };
    let mut options = Map::new();
    for (key, value) in recorded.as_object().unwrap() {
        match key.as_str() {
            _ if value.is_null() => {}
            "contents" => {
                let contents = value.as_array().unwrap();
                let items = contents.iter().flat_map(|content| items(content, &request.model));
                request.input = items.map(Arc::new).collect();
            }
            "systemInstruction" => {
                request.instructions = value["parts"][0]["text"].as_str().unwrap().to_owned();
            }
            "tools" => request.tools = value.as_array().unwrap().iter().flat_map(tools).collect(),
            "toolConfig" => request.tool_choice = Some(choice(value)),
            "generationConfig" => {
                let rest = settings(value.as_object().unwrap(), &mut request);
                options.insert(key.clone(), rest.into());
            }
            _ => {
                options.insert(key.clone(), value.clone());
            }
        }
    }
    if !options.is_empty() {
        request.vendor_options.insert("google".to_owned(), options.into());
    }
    request
}

fn items(content: &Value, model: &str) -> Vec<Item> {
    if content["role"] == "model" {
        let body = json!({
            "candidates": [{"content": content, "finishReason": "STOP"}],
            "modelVersion": model,
        });
        let asked = run::asked(&VENDOR, model, false);
        return Google.decode(body.to_string().as_bytes(), &asked).unwrap().output;
    }
    content["parts"].as_array().unwrap().iter().map(user_item).collect()
}

fn user_item(part: &Value) -> Item {
    let response = &part["functionResponse"];
    if response.is_null() {
        let text = part["text"].as_str().unwrap();
        return Item::Message(MessageItem {
            id: None,
            role: Role::User,
            content: vec![Part::said(Role::User, text)],
            extra: Map::new(),
        });
    }
    let text = response["response"].to_string();
    let output = match response["parts"].as_array() {
        None => Value::String(text),
        Some(parts) => {
            let mut pieces = vec![json!({"type": "input_text", "text": text})];
            pieces.extend(parts.iter().map(|part| {
                let data = &part["inlineData"];
                let (kind, data) = (&data["mimeType"], &data["data"]);
                let url =
                    format!("data:{};base64,{}", kind.as_str().unwrap(), data.as_str().unwrap());
                json!({"type": "input_image", "image_url": url})
            }));
            pieces.into()
        }
    };
    let call_id = response["id"].as_str().unwrap_or_default().to_owned();
    Item::FunctionCallOutput(FunctionCallOutput { call_id, output, extra: Map::new() })
}

fn tools(tool: &Value) -> Vec<Tool> {
    let Some(functions) = tool["functionDeclarations"].as_array() else {
        return vec![Tool::Unknown(tool.clone())];
    };
    let function = |function: &Value| {
        Tool::Function(FunctionTool {
            name: function["name"].as_str().unwrap().to_owned(),
            description: function["description"].as_str().unwrap().to_owned(),
            parameters: Arc::new(function["parametersJsonSchema"].clone()),
            strict: false,
            extra: Map::new(),
        })
    };
    functions.iter().map(function).collect()
}

fn choice(config: &Value) -> ToolChoice {
    let config = &config["functionCallingConfig"];
    let names = config["allowedFunctionNames"].as_array().unwrap();
    ToolChoice::Allowed {
        required: config["mode"] == "ANY",
        names: names.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
    }
}

/// Takes over what the request has fields for and gives back the rest.
fn settings(recorded: &Map<String, Value>, request: &mut Request) -> Map<String, Value> {
    let mut rest = recorded.clone();
    if let Some(value) = rest.shift_remove("temperature") {
        request.temperature = value.as_f64();
    }
    if let Some(value) = rest.shift_remove("maxOutputTokens") {
        request.max_output_tokens = value.as_u64();
    }
    if let Some(schema) = rest.shift_remove("responseJsonSchema") {
        rest.shift_remove("responseMimeType");
        let schema = JsonSchema {
            name: "reply".to_owned(),
            description: None,
            schema,
            strict: true,
            extra: Map::new(),
        };
        request.text = Some(Text { format: Some(Format::JsonSchema(schema)), ..Text::default() });
    }
    if let Some(thinking) = rest.shift_remove("thinkingConfig") {
        let mut reasoning = ReasoningOptions::default();
        if thinking["includeThoughts"] == true {
            reasoning.summary = Some("auto".to_owned());
        }
        if thinking["thinkingBudget"] == 0 {
            reasoning.effort = Some("none".to_owned());
        }
        request.reasoning = Some(reasoning);
    }
    rest
}
