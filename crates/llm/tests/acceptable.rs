//! Any conversation can be told to any vendor: whatever the log holds, the request keeps the rules for which vendors
//! refuse a request. The conversations are thrown together from what logs hold at their worst: cut replies, calls that
//! nobody answered, results that nobody asked for, ids that repeat, nothing at all.
//!
//! The rules are made by hand from what vendors document and answer; nothing of this was recorded. A failure prints its
//! seed: `SEED=17 cargo test --test acceptable` repeats it alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "acceptable/conversations.rs"]
mod conversations;
#[path = "acceptable/rules.rs"]
mod rules;

use agent_world_llm::anthropic::Anthropic;
use agent_world_llm::chat::{Chat, Flavour};
use agent_world_llm::dialect::{Asked, Dialect};
use agent_world_llm::google::Google;
use agent_world_llm::ollama::Ollama;
use agent_world_llm::openai::{self, Responses};
use agent_world_llm::{Capabilities, Request};
use conversations::Dice;
use serde_json::Value;

const ROUNDS: u64 = 300;

/// A vendor with the rules of its format.
struct Vendor {
    name: &'static str,
    /// Whose models it has.
    models: &'static str,
    model: &'static str,
    dialect: Box<dyn Dialect>,
    rules: fn(&Value) -> Result<(), String>,
}

fn vendors() -> Vec<Vendor> {
    let vendor =
        |name, models, model, dialect, rules| Vendor { name, models, model, dialect, rules };
    let responses = |flavour| -> Box<dyn Dialect> { Box::new(Responses::new(flavour)) };
    let chat = |flavour| -> Box<dyn Dialect> { Box::new(Chat::new(flavour)) };
    vec![
        vendor("openai", "openai", "gpt-5", responses(openai::Flavour::OpenAi), rules::responses),
        vendor("openai", "openai", "gpt-4o", responses(openai::Flavour::OpenAi), rules::responses),
        vendor("xai", "xai", "grok-4", responses(openai::Flavour::Xai), rules::responses),
        vendor("azure", "openai", "gpt-5", responses(openai::Flavour::Azure), rules::responses),
        vendor(
            "anthropic",
            "anthropic",
            "claude-sonnet-4-5",
            Box::new(Anthropic),
            rules::anthropic,
        ),
        vendor("anthropic", "anthropic", "claude-opus-5", Box::new(Anthropic), rules::anthropic),
        vendor("google", "google", "gemini-3-flash", Box::new(Google), rules::google),
        vendor("google", "google", "gemini-2.5-flash", Box::new(Google), rules::google),
        vendor("openai", "openai", "gpt-5", chat(Flavour::OPENAI), rules::chat),
        vendor("groq", "groq", "openai/gpt-oss-120b", chat(Flavour::GROQ), rules::chat),
        vendor("deepseek", "deepseek", "deepseek-reasoner", chat(Flavour::DEEPSEEK), rules::chat),
        vendor("generic", "generic", "any", chat(Flavour::GENERIC), rules::chat),
        vendor("mistral", "mistral", "magistral-medium", chat(Flavour::MISTRAL), rules::mistral),
        vendor("ollama", "ollama", "qwen3:8b", Box::new(Ollama), rules::ollama),
    ]
}

impl Vendor {
    fn asked(&self) -> Asked {
        Asked {
            vendor: self.name.into(),
            model: self.model.to_owned(),
            capabilities: Capabilities::of(self.models, self.model),
            stream: false,
        }
    }

    /// What is wrong with the request, if anything.
    fn problem(&self, request: &Request) -> Option<String> {
        let sent = match self.dialect.encode(request, &self.asked()) {
            Ok(sent) => sent,
            // One vendor takes no request without a word in it, and says so before it is asked.
            Err(error) if error.message.contains("nothing to answer") => return None,
            Err(error) => return Some(error.to_string()),
        };
        let body: Value = serde_json::from_slice(&sent.body).unwrap();
        let problem = (self.rules)(&body).err()?;
        let input = serde_json::to_string(&request.input).unwrap();
        let short = |text: String| text.replace(&"x".repeat(120_000), "xxx");
        Some(short(format!("{problem}\n{body}\nmade of\n{input}")))
    }
}

#[test]
fn every_conversation_is_told_as_the_vendor_takes_it() {
    let only = std::env::var("SEED").ok().map(|seed| seed.parse::<u64>().expect("a number"));
    let seeds = only.map_or(0..ROUNDS, |seed| seed..seed + 1);
    let mut problems = Vec::new();
    for vendor in vendors() {
        let asked = vendor.asked();
        // The vendor's own replies are in the log in the form in which its dialect reads them.
        let problem = seeds.clone().find_map(|seed| {
            let dialect = vendor.dialect.as_ref();
            let request = conversations::request(&mut Dice::new(seed), dialect, &asked);
            let problem = vendor.problem(&request)?;
            Some(format!("SEED={seed} {} {}: {problem}", vendor.name, vendor.model))
        });
        problems.extend(problem);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}
