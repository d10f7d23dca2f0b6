//! The chat completions format against the recorded exchanges of its hosts.

use std::sync::Arc;

use agent_world_core::item::{Item, MessageItem, Part, Role};
use agent_world_llm::chat::{Chat, Flavour};
use agent_world_llm::dialect::{Asked, Dialect as _};
use agent_world_llm::{
    Capabilities, Format, JsonSchema, ReasoningOptions, Request, Text, Tool, ToolChoice,
};
use serde_json::{Map, Value, json};

use crate::cases::{self, Case};
use crate::compare::Exception;
use crate::run::{self, Vendor};

const ONE_TEXT: &str = "a list of one text says the same as the text";
const NEWER_NAME: &str = "OpenAI gave the limit a newer name, which all its models take";

#[test]
fn openai() {
    run::all(&Vendor {
        folder: "openai-chat",
        name: "openai",
        // Some of these requests were sent to be refused: what the table knows of the models would mend them.
        models: "not in the table",
        dialect: &Chat::new(Flavour::OPENAI),
        replies: &[
            ("error-400-developer-role", "error invalid_request 400: [83 525ad1a5]"),
            ("error-400-unsupported-tool", "error invalid_request 400: [49 98d1b83e]"),
            (
                "missing-tool-call-id",
                "completed; 35 in (0 cached), 74 out (62 thought), 109 in all\n\
                 openai calls get_current_time [2 44136fa3]",
            ),
            (
                "stream-parallel-tool-calls",
                "completed; 90 in (0 cached), 42 out (0 thought), 132 in all\n\
                 openai calls alpha [16 a9c15b6b]\n\
                 openai calls beta [17 3412958b]",
            ),
            (
                "stream-refusal",
                "completed; 49 in (0 cached), 13 out (0 thought), 62 in all\n\
                 openai says refusal [55 8b667923]",
            ),
            (
                "stream-tool-call",
                "completed; 53 in (0 cached), 15 out (0 thought), 68 in all\n\
                 openai calls get_capital [16 088b8743]",
            ),
            (
                "stream-tool-result",
                "completed; 78 in (0 cached), 9 out (0 thought), 87 in all\n\
                 openai says [32 6d6d6474]",
            ),
            (
                "stream-truncated-tool-args",
                "incomplete (max_output_tokens); 101 in (0 cached), 16 out (0 thought), 117 in all\n\
                 openai calls file_report [34 17d291a7]",
            ),
            (
                "truncated-reasoning-empty",
                "incomplete (max_output_tokens); 16 in (0 cached), 16 out (16 thought), 32 in all",
            ),
        ],
        lift,
        exceptions: &[
            Exception {
                case: "stream-parallel-tool-calls",
                place: "/max_tokens",
                reason: NEWER_NAME,
            },
            Exception {
                case: "stream-parallel-tool-calls",
                place: "/max_completion_tokens",
                reason: NEWER_NAME,
            },
            Exception {
                case: "stream-parallel-tool-calls",
                place: "/messages/0/content",
                reason: ONE_TEXT,
            },
            Exception {
                case: "stream-truncated-tool-args",
                place: "/max_tokens",
                reason: NEWER_NAME,
            },
            Exception {
                case: "stream-truncated-tool-args",
                place: "/max_completion_tokens",
                reason: NEWER_NAME,
            },
            Exception {
                case: "stream-truncated-tool-args",
                place: "/messages/0/content",
                reason: ONE_TEXT,
            },
        ],
    });
}

#[test]
fn groq() {
    run::all(&Vendor {
        folder: "groq",
        name: "groq",
        models: "groq",
        dialect: &Chat::new(Flavour::GROQ),
        replies: &[
            ("error-400-tool-use-failed", "error invalid_request 400: [198 1464819a]"),
            (
                "image-url",
                "completed; 749 in (0 cached), 107 out (0 thought), 856 in all\n\
                 groq says [543 be25844c]",
            ),
            ("stream-error-tool-use-failed", "error invalid_request 400: [208 68a8989a]"),
            (
                "stream-parallel-tool-calls",
                "completed; 359 in (0 cached), 35 out (0 thought), 394 in all\n\
                 groq calls lookup_harbor_label [2 44136fa3]\n\
                 groq calls lookup_orchard_label [2 44136fa3]",
            ),
        ],
        lift,
        exceptions: &[
            Exception {
                case: "stream-error-tool-use-failed",
                place: "/stream_options",
                reason: "usage is always asked for, where a host can be asked",
            },
            Exception {
                case: "stream-parallel-tool-calls",
                place: "/messages/0/content",
                reason: ONE_TEXT,
            },
        ],
    });
}

#[test]
fn mistral() {
    run::all(&Vendor {
        folder: "mistral",
        name: "mistral",
        models: "mistral",
        dialect: &Chat::new(Flavour::MISTRAL),
        replies: &[
            (
                "parallel-tool-calls",
                "completed; 213 in (0 cached), 16 out (0 thought), 229 in all\n\
                 mistral calls lookup_harbor_label [2 44136fa3]\n\
                 mistral calls lookup_orchard_label [2 44136fa3]",
            ),
            (
                "stream-thinking",
                "completed; 10 in (0 cached), 232 out (0 thought), 242 in all\n\
                 mistral thinks [421 fcab447a]\n\
                 mistral says [607 e61ff78a]",
            ),
        ],
        lift,
        exceptions: &[],
    });
}

#[test]
fn llamacpp() {
    run::all(&Vendor {
        folder: "llamacpp",
        name: "llamacpp",
        models: "llamacpp",
        dialect: &Chat::new(Flavour::LLAMACPP),
        replies: &[
            ("error-400-context-overflow", "error context_too_long 400: [88 157018b4]"),
            // The server was not started for tools, so it is the request that must change.
            ("error-500-tools-without-jinja", "error invalid_request 500: [33 6bdfb653]"),
            (
                "stream-tool-call",
                "completed; 227 in (226 cached), 22 out (0 thought), 249 in all\n\
                 llamacpp calls subtract [16 238f12cf]",
            ),
        ],
        lift,
        exceptions: &[],
    });
}

#[test]
fn azure() {
    run::all(&Vendor {
        folder: "azure-openai",
        name: "azure",
        models: "openai",
        dialect: &Chat::new(Flavour::AZURE),
        replies: &[(
            "text",
            "completed; 14 in (0 cached), 9 out (0 thought), 23 in all\n\
             azure says [35 359ff433]",
        )],
        lift,
        exceptions: &[],
    });
}

#[test]
fn openrouter() {
    run::all(&Vendor {
        folder: "openrouter",
        name: "openrouter",
        models: "openrouter",
        dialect: &Chat::new(Flavour::OPENROUTER),
        replies: &[("error-429", "error rate_limited 429: [213 c19fa3ae]")],
        lift,
        exceptions: &[],
    });
}

#[test]
fn deepseek() {
    run::all(&Vendor {
        folder: "deepseek",
        name: "deepseek",
        models: "deepseek",
        dialect: &Chat::new(Flavour::DEEPSEEK),
        replies: &[
            (
                "reasoning-tool-call",
                "completed; 381 in (0 cached), 82 out (28 thought), 463 in all\n\
                 deepseek thinks [110 decb8222]\n\
                 deepseek says [48 f703b7e4]\n\
                 deepseek calls get_weather [17 813beac1]",
            ),
            (
                "reasoning-tool-result",
                "completed; 500 in (384 cached), 189 out (54 thought), 689 in all\n\
                 deepseek thinks [232 08c54411]\n\
                 deepseek says [505 4fff33ed]",
            ),
        ],
        lift,
        exceptions: &[Exception {
            case: "reasoning-tool-result",
            place: "/messages/2/tool_calls/0/index",
            reason: "an index tells the calls of a stream apart; in a request their order does",
        }],
    });
}

#[test]
fn xai() {
    let mut cases = cases::of("xai", 1);
    // The rest of the folder is of another format.
    cases.retain(|case| !case.path.ends_with("/responses"));
    let vendor = Vendor {
        folder: "xai",
        name: "xai",
        models: "xai",
        dialect: &Chat::new(Flavour::XAI),
        replies: &[(
            "chat-stream-tool-call",
            // 26 tokens of completion and 196 of reasoning, which are counted apart.
            "completed; 291 in (290 cached), 222 out (196 thought), 513 in all\n\
             xai thinks [18 63295441]\n\
             xai calls weather [28 d041d2d4]",
        )],
        lift,
        exceptions: &[],
    };
    run::some(&vendor, &cases);
}

/// The vendor's name and flavour behind a folder of the corpus.
fn host(case: &Case) -> (&'static str, Flavour) {
    let flavour = match case.vendor.as_str() {
        "openai-chat" => Flavour::OPENAI,
        "azure-openai" => Flavour::AZURE,
        name => Flavour::named(name).expect("a host we know"),
    };
    (flavour.name, flavour)
}

fn lift(recorded: &Value, case: &Case) -> Request {
    let (vendor, flavour) = host(case);
    let mut request = Request::default();
    let mut unknown = Map::new();
    for (key, value) in recorded.as_object().expect("an object") {
        match key.as_str() {
            "model" => request.model = text(value),
            "messages" => {}
            "tools" => request.tools = list(value).iter().map(tool).collect(),
            "tool_choice" => request.tool_choice = Some(ToolChoice::from(value.clone())),
            "parallel_tool_calls" => request.parallel_tool_calls = value.as_bool(),
            "max_tokens" | "max_completion_tokens" => request.max_output_tokens = value.as_u64(),
            "response_format" => request.text = Some(format(value)),
            "thinking" => {
                assert_eq!(value["type"], "enabled");
                request.reasoning = Some(ReasoningOptions::default());
            }
            // Said by the provider.
            "stream" | "stream_options" => {}
            _ => {
                unknown.insert(key.clone(), value.clone());
            }
        }
    }
    for message in list(&recorded["messages"]) {
        match message["role"].as_str().expect("a role") {
            "developer" => request.instructions = text(&message["content"]),
            "system" if !flavour.developer_role => {
                request.instructions = instructions(&message["content"]);
            }
            "system" => {
                let part = Part::said(Role::System, instructions(&message["content"]));
                request.input.push(item(Role::System, vec![part]));
            }
            "user" => request.input.push(item(Role::User, parts(&message["content"]))),
            "assistant" => request.input.extend(said(message, vendor, flavour)),
            "tool" => {
                let (id, output) = (text(&message["tool_call_id"]), text(&message["content"]));
                request.input.push(Arc::new(Item::output(id, output)));
            }
            role => panic!("{role}"),
        }
    }
    if !unknown.is_empty() {
        request.vendor_options.insert(vendor.to_owned(), Value::Object(unknown));
    }
    request
}

/// An assistant's message was a reply once; it is read like one.
fn said(message: &Value, vendor: &str, flavour: Flavour) -> Vec<Arc<Item>> {
    let asked = Asked {
        vendor: vendor.into(),
        model: String::new(),
        capabilities: Capabilities::default(),
        stream: false,
    };
    let reply = json!({"choices": [{"message": message, "finish_reason": "stop"}]}).to_string();
    let reply = Chat::new(flavour).decode(reply.as_bytes(), &asked).expect("a reply");
    reply.output.into_iter().map(Arc::new).collect()
}

fn tool(tool: &Value) -> Tool {
    let mut function = tool["function"].clone();
    function["type"] = "function".into();
    serde_json::from_value(function).expect("a function")
}

fn format(value: &Value) -> Text {
    assert_eq!(value["type"], "json_schema");
    let schema: JsonSchema =
        serde_json::from_value(value["json_schema"].clone()).expect("a schema");
    Text { format: Some(Format::JsonSchema(schema)), ..Text::default() }
}

fn item(role: Role, content: Vec<Part>) -> Arc<Item> {
    Arc::new(Item::Message(MessageItem { id: None, role, content, extra: Map::new() }))
}

fn parts(content: &Value) -> Vec<Part> {
    match content {
        Value::Array(parts) => parts
            .iter()
            .map(|part| match part["type"].as_str() {
                Some("text") => Part::said(Role::User, text(&part["text"])),
                Some("image_url") => Part::InputImage {
                    image_url: Some(text(&part["image_url"]["url"])),
                    file_id: None,
                    extra: Map::new(),
                },
                other => panic!("{other:?}"),
            })
            .collect(),
        content => vec![Part::said(Role::User, text(content))],
    }
}

fn instructions(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        content => text(content),
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}
