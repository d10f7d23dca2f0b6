//! Asks a model that may use tools, and follows it to its answer: a tool it waits for, one that runs in the background,
//! and one that must be approved.
//!
//! Run it with `cargo run -p agent-world-runtime --example with_tools -- anthropic/claude-sonnet-4-5`, with the vendor's
//! key in its environment variable, here `ANTHROPIC_API_KEY`. Nothing is stored: the conversation is gone with its end.
//! How to keep one is in the example `approval`.

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use agent_world_runtime::core::command::{Answer, Scope};
use agent_world_runtime::core::config::{Approval, Modes, ToolSpec};
use agent_world_runtime::core::event::{ApprovalRequested, Event, Output};
use agent_world_runtime::llm::{Request, vendors};
use agent_world_runtime::tools::{Failure, Invocation, Tool};
use agent_world_runtime::{Progress, WithTools};
use serde_json::{Value, json};

/// The model waits for it, and nobody is asked.
#[derive(Debug)]
struct Weather;

#[async_trait::async_trait]
impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval::not_required(),
            read_only: true,
            ..ToolSpec::new("weather.today", "Tells today's weather in a city.", one_text("city"))
        }
    }

    async fn run(&self, invocation: Invocation) -> Result<Output, Failure> {
        match invocation.arguments.get("city").and_then(Value::as_str) {
            Some(city) => Ok(Output::text(format!("sunny in {city}, 24 degrees"))),
            // The model is told, and may try again.
            None => Err(Failure::text("name a city")),
        }
    }
}

/// Takes long. The model goes on, and is told the result when there is one.
#[derive(Debug)]
struct Search;

#[async_trait::async_trait]
impl Tool for Search {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            approval: Approval::not_required(),
            mode: Modes::Background,
            read_only: true,
            ..ToolSpec::new("search", "Finds restaurants.", one_text("what"))
        }
    }

    async fn run(&self, _: Invocation) -> Result<Output, Failure> {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Ok(Output::text("found: Casa Azul, Mar Alto"))
    }
}

/// Has consequences. Tools ask for approval unless they say otherwise.
#[derive(Debug)]
struct Book;

#[async_trait::async_trait]
impl Tool for Book {
    fn spec(&self) -> ToolSpec {
        let message = Some("Book a table at {restaurant}".to_owned());
        ToolSpec {
            approval: Approval { message, ..Approval::default() },
            ..ToolSpec::new("book", "Books a table for tonight.", one_text("restaurant"))
        }
    }

    async fn run(&self, _: Invocation) -> Result<Output, Failure> {
        Ok(Output::text("booked for eight o'clock"))
    }
}

fn one_text(name: &str) -> Value {
    json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]})
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = env::args().nth(1).ok_or("name a model, like anthropic/claude-sonnet-4-5")?;
    let request = Request {
        instructions: "You plan evenings. Use your tools; be brief.".to_owned(),
        ..Request::new(model, "Where can we eat outside in Lisbon tonight? Book a table.")
    };

    let answered = WithTools::new(&vendors::from_environment()?, request)
        .tool(Arc::new(Weather))
        .tool(Arc::new(Search))
        .tool(Arc::new(Book))
        .time_limit("weather.today", Duration::from_secs(10))
        .max_iterations(8)
        .decide(decide)
        .run(|progress| tell(&progress))
        .await?;

    println!("answer: {}", answered.response.output_text());
    let counted = answered.statistics;
    println!(
        "{} replies, {} tokens; {} calls: {} completed, {} failed, {} in the background",
        answered.replies.len(),
        answered.usage.total_tokens,
        counted.total,
        counted.completed,
        counted.failed,
        counted.background,
    );
    Ok(())
}

/// Stands for a person, or for rules of your own.
fn decide(asked: &ApprovalRequested) -> Answer {
    println!("asked: {}", asked.question);
    Answer::Approve { scope: Scope::Once, matches: Vec::new(), arguments: None, reason: None }
}

fn tell(progress: &Progress<'_>) {
    if let Progress::Event { event, statistics } = progress {
        match event {
            Event::ToolCalled(called) => println!("called: {} {}", called.name, called.arguments),
            Event::ToolFinished(finished) => {
                println!("{:?}: {}", finished.outcome, finished.output.text);
                println!("  {} of {} calls are done", statistics.completed, statistics.total);
            }
            _ => {}
        }
    }
}
