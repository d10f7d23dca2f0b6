//! Anthropic's cases of the corpus: replies of the Messages format, and requests written again from what was sent.

use agent_world_core::item::{FunctionCallOutput, Item, MessageItem, Part, Role};
use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::dialect::{Asked, Dialect as _};
use agent_world_llm::{
    Capabilities, Format, FunctionTool, JsonSchema, ReasoningOptions, Request, Text, Tool,
    ToolChoice,
};
use serde_json::{Map, Value, json};

use crate::cases::Case;
use crate::run::{self, Vendor};

const NAME: &str = "anthropic";

#[test]
fn every_exchange_with_anthropic() {
    run::all(&Vendor {
        folder: NAME,
        name: NAME,
        models: NAME,
        dialect: &Anthropic,
        replies: REPLIES,
        lift,
        exceptions: &[],
    });
}

/// Worked out from the recorded bytes by other means than the code under test.
const REPLIES: &[(&str, &str)] = &[
    ("empty-end-turn", "completed; 139 in (0 cached), 2 out (0 thought), 141 in all"),
    ("error-400-strict-schema-limit", "error invalid_request 400: [230 74f2d7f0]"),
    ("error-401-invalid-key", "error auth 401: [19 0806a2bf]"),
    (
        "image-url",
        concat!(
            "completed; 296 in (0 cached), 91 out (0 thought), 387 in all\n",
            "anthropic says [366 b5b5e19b]",
        ),
    ),
    (
        "mid-conversation-system",
        concat!(
            "completed; 68 in (0 cached), 355 out (0 thought), 423 in all\n",
            "anthropic says [1064 6d6ea30d]",
        ),
    ),
    (
        "parallel-tool-calls",
        concat!(
            "completed; 423 in (0 cached), 202 out (0 thought), 625 in all\n",
            "anthropic says [156 45d112ed]\n",
            "anthropic calls retrieve_entity_info [16 3cba1e3c]\n",
            "anthropic calls retrieve_entity_info [14 840c3985]\n",
            "anthropic calls retrieve_entity_info [18 54bad63b]\n",
            "anthropic calls retrieve_entity_info [16 c138a7e6]",
        ),
    ),
    (
        "parallel-tool-results",
        concat!(
            "completed; 771 in (0 cached), 77 out (0 thought), 848 in all\n",
            "anthropic says [340 34ab64df]",
        ),
    ),
    (
        "prompt-cache",
        concat!(
            "completed; 1532 in (1111 cached), 33 out (0 thought), 1565 in all\n",
            "anthropic says [164 1749af1a]",
        ),
    ),
    (
        "stream-nested-tool-args",
        concat!(
            "completed; 799 in (0 cached), 112 out (0 thought), 911 in all\n",
            "anthropic says [69 c5144223]\n",
            "anthropic calls plan_trip [122 820f53da]",
        ),
    ),
    (
        "stream-parallel-tool-calls",
        concat!(
            "completed; 1001 in (0 cached), 161 out (0 thought), 1162 in all\n",
            "anthropic says [142 d7937e77]\n",
            "anthropic calls subtract [17 f2a13f0d]\n",
            "anthropic calls add [16 7d30c865]",
        ),
    ),
    (
        "stream-redacted-thinking",
        concat!(
            "completed; 92 in (0 cached), 189 out (0 thought), 281 in all\n",
            "anthropic thinks [0 e3b0c442] sealed [744 a5fcad0d]\n",
            "anthropic thinks [0 e3b0c442] sealed [296 f2ba8544]\n",
            "anthropic says [359 33e0d169]",
        ),
    ),
    (
        "stream-refusal",
        concat!(
            "completed; 18 in (0 cached), 5 out (0 thought), 23 in all\n",
            "anthropic says refusal [110 cbe0f297]",
        ),
    ),
    (
        "stream-text",
        concat!(
            "completed; 20 in (0 cached), 5 out (0 thought), 25 in all\n",
            "anthropic says [1 d4735e3a]",
        ),
    ),
    (
        "stream-thinking",
        concat!(
            "completed; 43 in (0 cached), 282 out (0 thought), 325 in all\n",
            "anthropic thinks [202 18c2c6e0] sealed [504 e2385f74]\n",
            "anthropic says [1021 1b0c432c]",
        ),
    ),
    (
        "structured-output",
        concat!(
            "completed; 196 in (0 cached), 19 out (0 thought), 215 in all\n",
            "anthropic says [65 3551afba]",
        ),
    ),
    (
        "text",
        concat!(
            "completed; 14 in (0 cached), 65 out (0 thought), 79 in all\n",
            "anthropic says [265 70417ecf]",
        ),
    ),
    (
        "thinking-tool-call",
        concat!(
            "completed; 398 in (0 cached), 155 out (0 thought), 553 in all\n",
            "anthropic thinks [376 ce392fc7] sealed [736 a277063a]\n",
            "anthropic says [103 5e6309ed]\n",
            "anthropic calls get_user_country [2 44136fa3]",
        ),
    ),
    (
        "thinking-tool-result",
        concat!(
            "completed; 566 in (0 cached), 126 out (0 thought), 692 in all\n",
            "anthropic says [604 3ab8eef0]",
        ),
    ),
    (
        "web-search",
        concat!(
            "completed; 8984 in (0 cached), 520 out (0 thought), 9504 in all\n",
            "anthropic thinks [436 d4d1cca8] sealed [816 962153b5]\n",
            "anthropic adds anthropic:server_tool_use\n",
            "anthropic adds anthropic:web_search_tool_result\n",
            "anthropic says [133 d4fc3bc7] + [34 a9f2e5aa] with 1 notes + [3 4a0b0fbd]",
            " + [39 2435f272] with 1 notes + [3 4a0b0fbd] + [54 e4d306da] with 1 notes",
            " + [26 cd81c9e1] + [35 15094e66] with 1 notes + [3 4a0b0fbd]",
            " + [23 ba00ad86] with 1 notes + [3 4a0b0fbd] + [26 fc99ed61] with 1 notes",
            " + [3 4a0b0fbd] + [80 ea4ebe01] with 1 notes + [17 9714f403]",
            " + [48 42499daa] with 1 notes + [3 4a0b0fbd] + [23 ba00ad86] with 1 notes",
            " + [189 e10ced45]",
        ),
    ),
];

/// Reads a recorded request. What it has no field for is set for this vendor alone.
fn lift(recorded: &Value, case: &Case) -> Request {
    let Value::Object(mut fields) = recorded.clone() else { panic!("{}: no object", case.name) };
    let mut take = |key: &str| fields.shift_remove(key).unwrap_or_default();
    let mut request = Request {
        model: text(&take("model")),
        max_output_tokens: take("max_tokens").as_u64(),
        stream: take("stream").as_bool().unwrap_or_default(),
        ..Request::default()
    };
    match take("system") {
        Value::String(system) => request.instructions = system,
        Value::Array(blocks) => {
            for block in blocks {
                let part = Part::said(Role::System, text(&block["text"]));
                request.input.push(message(Role::System, vec![part]).into());
            }
        }
        _ => {}
    }
    let items = take("messages").as_array().unwrap().iter().flat_map(turn).collect::<Vec<_>>();
    request.input.extend(items.into_iter().map(Into::into));
    request.tools = take("tools").as_array().into_iter().flatten().map(tool).collect();
    request.tool_choice = choice(&take("tool_choice"));
    if let Some(tokens) = take("thinking")["budget_tokens"].as_u64() {
        let max_tokens = Some(tokens);
        request.reasoning = Some(ReasoningOptions { max_tokens, ..ReasoningOptions::default() });
    }
    let schema = take("output_config")["format"]["schema"].clone();
    if !schema.is_null() {
        let format = JsonSchema {
            name: "answer".to_owned(),
            description: None,
            schema,
            strict: true,
            extra: Map::new(),
        };
        request.text = Some(Text { format: Some(Format::JsonSchema(format)), ..Text::default() });
    }
    if fields.contains_key("cache_control") {
        request.prompt_cache_key = Some("conversation".to_owned());
    }
    if !fields.is_empty() {
        request.vendor_options.insert(NAME.to_owned(), Value::Object(fields));
    }
    request
}

fn turn(turn: &Value) -> Vec<Item> {
    let blocks = turn["content"].as_array().unwrap();
    let role = match turn["role"].as_str().unwrap() {
        "assistant" => return said(&turn["content"]),
        "system" => Role::System,
        _ => Role::User,
    };
    let mut items = Vec::new();
    let mut parts = Vec::new();
    for block in blocks {
        match block["type"].as_str().unwrap() {
            "text" => parts.push(Part::said(role, text(&block["text"]))),
            "image" => parts.push(Part::InputImage {
                image_url: block["source"]["url"].as_str().map(str::to_owned),
                file_id: None,
                extra: Map::new(),
            }),
            "tool_result" => items.push(result(block)),
            other => panic!("a block of type {other}"),
        }
    }
    if !parts.is_empty() {
        items.push(message(role, parts));
    }
    items
}

/// What the model said was a reply once, and is read as one.
fn said(content: &Value) -> Vec<Item> {
    let body = serde_json::to_vec(&json!({"type": "message", "content": content})).unwrap();
    let asked = Asked {
        vendor: NAME.into(),
        model: String::new(),
        capabilities: Capabilities::default(),
        stream: false,
    };
    Anthropic.decode(&body, &asked).unwrap().output
}

fn result(block: &Value) -> Item {
    let output = match &block["content"] {
        Value::Array(blocks) => blocks
            .iter()
            .map(|block| json!({"type": "input_text", "text": block["text"]}))
            .collect(),
        content => content.clone(),
    };
    let mut extra = Map::new();
    if let Some(is_error) = block.get("is_error") {
        extra.insert("is_error".to_owned(), is_error.clone());
    }
    let call_id = text(&block["tool_use_id"]);
    Item::FunctionCallOutput(FunctionCallOutput { call_id, output, extra })
}

fn tool(tool: &Value) -> Tool {
    if tool.get("type").is_some() {
        return Tool::Unknown(tool.clone());
    }
    Tool::Function(FunctionTool {
        name: text(&tool["name"]),
        description: text(&tool["description"]),
        parameters: tool["input_schema"].clone().into(),
        strict: tool["strict"].as_bool().unwrap_or_default(),
        extra: Map::new(),
    })
}

fn choice(choice: &Value) -> Option<ToolChoice> {
    match choice["type"].as_str()? {
        "auto" => Some(ToolChoice::Auto),
        "any" => Some(ToolChoice::Required),
        other => panic!("a choice of type {other}"),
    }
}

fn message(role: Role, content: Vec<Part>) -> Item {
    Item::Message(MessageItem { id: None, role, content, extra: Map::new() })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
