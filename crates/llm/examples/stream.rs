//! Follows a reply while it is made: thoughts, text, and the arguments of a call.
//!
//! Run it with `cargo run -p agent-world-llm --example stream -- google/gemini-2.5-flash`, with the vendor's key in its
//! environment variable, here `GEMINI_API_KEY`. The tool is only offered: nobody runs it here. A whole conversation with
//! tools is in the example `with_tools` of the crate `agent-world-runtime`.

use std::env;
use std::error::Error;
use std::io::{self, Write as _};
use std::sync::Arc;

use agent_world_core::item::Item;
use agent_world_llm::{Delta, Event, FunctionTool, ReasoningOptions, Request, Tool, vendors};
use futures::StreamExt as _;
use serde_json::{Map, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = env::args().nth(1).ok_or("name a model, like google/gemini-2.5-flash")?;

    let models = vendors::from_environment()?;
    let request = Request {
        tools: vec![weather()],
        // Models that cannot think are not told to.
        reasoning: Some(ReasoningOptions {
            effort: Some("low".to_owned()),
            summary: Some("auto".to_owned()),
            ..ReasoningOptions::default()
        }),
        ..Request::new(model, "Do I need an umbrella in Lisbon today?")
    };

    let mut events = models.stream(request)?;
    while let Some(event) = events.next().await {
        match event? {
            Event::ItemStarted { item, .. } => print!("\n[{}] ", kind(&item)),
            Event::Delta { delta, .. } => match delta {
                Delta::Text(piece) | Delta::Refusal(piece) => print!("{piece}"),
                Delta::Reasoning(piece) | Delta::Summary(piece) => print!("{piece}"),
                // Not JSON before its end.
                Delta::Arguments(piece) => print!("{piece}"),
            },
            // The truth, exactly once and last. What came before was only to look at.
            Event::Completed(response) => {
                println!();
                for call in response.calls() {
                    println!("wants to call {} with {}", call.name, call.arguments);
                }
                let tokens = response.usage.unwrap_or_default().total_tokens;
                println!("{:?}, {tokens} tokens", response.status);
            }
            Event::Started(_) | Event::ItemDone { .. } => {}
        }
        io::stdout().flush()?;
    }
    Ok(())
}

fn weather() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false,
    });
    Tool::Function(FunctionTool {
        // Vendors know no dots in names; they are told another name, and this program never sees it.
        name: "weather.today".to_owned(),
        description: "Tells today's weather in a city.".to_owned(),
        parameters: Arc::new(parameters),
        strict: true,
        extra: Map::new(),
    })
}

fn kind(item: &Item) -> &'static str {
    match item {
        Item::Reasoning(_) => "thinks",
        Item::Message(_) => "says",
        Item::FunctionCall(_) => "calls",
        Item::FunctionCallOutput(_) | Item::Unknown(_) => "does something else",
    }
}
