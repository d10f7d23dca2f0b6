//! Runs the recorded exchanges with Ollama's native chat API.
//! Every expected reply was computed from the recorded bytes without this project's code.

use std::sync::Arc;

use agent_world_core::item::{Item, MessageItem, Part, Role};
use agent_world_llm::ollama::Ollama;
use agent_world_llm::{FunctionTool, ReasoningOptions, Request, Tool};
use serde_json::{Map, Value, json};

use crate::cases::Case;
use crate::run::{self, Vendor};

#[test]
fn replies_are_understood_and_requests_are_made_again() {
    run::all(&Vendor {
        folder: "ollama",
        name: "ollama",
        models: "ollama",
        dialect: &Ollama,
        replies: &[
            // Ollama gives replies no id.
            (
                "stream-tool-call",
                "completed; 237 in (0 cached), 321 out (0 thought), 558 in all, no id or model\n\
                 ollama says [1067 20963108]\n\
                 ollama calls subtract [13 39591659]",
            ),
            (
                "tool-call",
                "completed; 234 in (0 cached), 535 out (0 thought), 769 in all, no id or model\n\
                 ollama thinks [2093 a1ef17e2]\n\
                 ollama calls get_weather [16 40ed420b]",
            ),
        ],
        lift,
        exceptions: &[],
    });
}

fn lift(recorded: &Value, _: &Case) -> Request {
    let mut request = Request::default();
    let mut settings = Map::new();
    for (key, value) in recorded.as_object().expect("an object") {
        match key.as_str() {
            "model" => request.model = text(value),
            "messages" => {
                request.input =
                    value.as_array().expect("messages").iter().map(message).map(Arc::new).collect();
            }
            "tools" => {
                request.tools = value.as_array().expect("tools").iter().map(tool).collect();
            }
            "think" => {
                let effort = if value == true { "medium" } else { "none" };
                request.reasoning = Some(ReasoningOptions {
                    effort: Some(effort.to_owned()),
                    ..ReasoningOptions::default()
                });
            }
            "stream" => request.stream = value == true,
            _ => {
                settings.insert(key.clone(), value.clone());
            }
        }
    }
    if let Some(Item::Message(first)) = request.input.first().map(|item| &**item)
        && first.role == Role::System
    {
        request.instructions = first.text();
        request.input.remove(0);
    }
    request.vendor_options.insert("ollama".to_owned(), settings.into());
    request
}

fn message(recorded: &Value) -> Item {
    let role = match recorded["role"].as_str() {
        Some("system") => Role::System,
        Some("user") => Role::User,
        other => panic!("no case has a message of {other:?}"),
    };
    let fields = recorded.as_object().expect("a message").len();
    assert_eq!(fields, 2, "a message that says more than this test reads: {recorded}");
    Item::Message(MessageItem {
        id: None,
        role,
        content: vec![Part::said(role, text(&recorded["content"]))],
        extra: Map::new(),
    })
}

fn tool(recorded: &Value) -> Tool {
    assert_eq!(recorded["type"], json!("function"));
    let function = &recorded["function"];
    Tool::Function(FunctionTool {
        name: text(&function["name"]),
        description: text(&function["description"]),
        parameters: Arc::new(function["parameters"].clone()),
        strict: false,
        extra: Map::new(),
    })
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
