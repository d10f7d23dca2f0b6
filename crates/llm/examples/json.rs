//! Asks a model for a value of a Rust type. Every model can be asked: one whose vendor cannot hold it to a schema is told
//! the schema in words, and what comes back is checked in either case.
//!
//! Run it with `cargo run -p agent-world-llm --example json -- openai/gpt-5-mini "Lisbon"`, with the vendor's key in its
//! environment variable, here `OPENAI_API_KEY`.

use std::env;
use std::error::Error;

use agent_world_llm::{Json, Request, vendors};
use schemars::JsonSchema;
use serde::Deserialize;

// What is said here about a field is what the model is told about it. A type without unknown and without optional
// fields is one that vendors can hold a model to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct City {
    /// Its name in English.
    name: String,
    country: String,
    /// In the city proper, at the last count.
    inhabitants: u32,
    size: Size,
    /// The three best known ones.
    sights: Vec<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Size {
    Village,
    Town,
    Metropolis,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = env::args().nth(1).ok_or("name a model, like openai/gpt-5-mini")?;
    let city = env::args().nth(2).unwrap_or_else(|| "Lisbon".to_owned());

    let models = vendors::from_environment()?;
    let request = Request::new(model, format!("Describe the city of {city}."));
    let Json { value: city, usage, repaired, .. } = models.generate_json::<City>(request).await?;

    println!(
        "{} in {}: {:?}, {} inhabitants",
        city.name, city.country, city.size, city.inhabitants
    );
    println!("sights: {}", city.sights.join(", "));
    if let Some(problem) = repaired {
        println!("the first answer was sent back: {problem}");
    }
    println!("{} tokens", usage.total_tokens);
    Ok(())
}
