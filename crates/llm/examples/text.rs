//! Asks any vendor's model for a text.
//!
//! Run it with `cargo run -p agent-world-llm --example text -- anthropic/claude-sonnet-4-5 "Why is the sky blue?"`, with
//! the vendor's key in its environment variable, here `ANTHROPIC_API_KEY`. A model of your own machine needs no key:
//! `ollama/qwen3:8b`.

use std::env;
use std::error::Error;

use agent_world_llm::{Request, vendors};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = env::args().nth(1).ok_or("name a model, like anthropic/claude-sonnet-4-5")?;
    let question = env::args().nth(2).unwrap_or_else(|| "Why is the sky blue?".to_owned());

    // Every vendor this library knows, each with the key that the environment has for it.
    let models = vendors::from_environment()?;

    let request = Request {
        instructions: "Answer in one sentence.".to_owned(),
        max_output_tokens: Some(2_000),
        ..Request::new(model, question)
    };
    println!("{}", models.generate_text(request).await?);
    Ok(())
}
