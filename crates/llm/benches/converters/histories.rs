//! A long conversation with calls and results, as an agent would have it.
//! Used by the measurement of building requests.

use std::sync::Arc;

use agent_world_core::config::ToolSpec;
use agent_world_core::item::Item;
use agent_world_llm::{Request, Tool};
use serde_json::json;

/// A request whose history has so many items.
pub fn of(messages: usize) -> Request {
    let item = |number: usize| match number % 4 {
        0 => Item::user(format!(
            "Please look at file {number} and say what it is about. {}",
            "x".repeat(200)
        )),
        1 => Item::call(
            format!("call_{number}"),
            "read_file",
            &json!({"path": format!("file-{number}.txt")}),
        ),
        2 => Item::output(format!("call_{}", number - 1), "a line of the file\n".repeat(40)),
        _ => Item::assistant(format!("File {number} is about nothing. {}", "y".repeat(300))),
    };
    let parameters =
        json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    Request {
        model: "any".to_owned(),
        instructions: "You read files.".to_owned(),
        input: (0..messages).map(item).map(Arc::new).collect(),
        tools: vec![Tool::from(&ToolSpec::new("read_file", "Reads a file.", parameters))],
        ..Request::default()
    }
}
