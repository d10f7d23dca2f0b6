//! Names a good model of each vendor, for worlds that are made without one being named.
//! Used by `world create --template` and `init`. A suggestion only: any other can be named.

use agent_world_llm::vendors::{self, Origin};
use anyhow::Result;

use crate::data::DataFolder;
use crate::settings;

/// Vendors whose models everybody knows, in the order in which they are looked for.
const USUAL: &[(&str, &str)] = &[
    ("anthropic", "claude-sonnet-4-5"),
    ("openai", "gpt-5"),
    ("google", "gemini-2.5-pro"),
    ("xai", "grok-4"),
    ("mistral", "mistral-large-latest"),
    ("deepseek", "deepseek-chat"),
    ("groq", "openai/gpt-oss-120b"),
    ("together", "openai/gpt-oss-120b"),
    ("openrouter", "openrouter/auto"),
];

/// A model of a vendor, as `vendor/model`. None of vendors that have whatever their owner put there.
pub fn of(vendor: &str) -> Option<String> {
    let (vendor, model) = USUAL.iter().find(|(name, _)| *name == vendor)?;
    Some(format!("{vendor}/{model}"))
}

/// The first vendor that has a key, and a model of it.
pub fn first_with_key(data: &DataFolder) -> Result<Option<(String, String)>> {
    let settings = settings::read(data)?.models;
    let keys = vendors::keys(&settings, &|name| std::env::var(name).ok());
    let has_key = |vendor: &str| {
        let found = keys.iter().find(|(name, _)| name == vendor);
        found.is_some_and(|(_, key)| !matches!(key, Origin::Missing(_) | Origin::NotNeeded))
    };
    let first = USUAL.iter().find(|(vendor, _)| has_key(vendor));
    Ok(first.and_then(|(vendor, _)| Some(((*vendor).to_owned(), of(vendor)?))))
}

#[cfg(test)]
mod tests {
    use agent_world_llm::Capabilities;

    use super::*;

    /// A model whose name was mistyped, or that the tables have forgotten, is like one that nobody knows.
    #[test]
    fn every_usual_model_is_one_that_the_tables_of_its_vendor_know() {
        for (vendor, model) in USUAL {
            assert!(vendors::is_known(vendor), "{vendor}");
            let known = Capabilities::of(vendor, model);
            assert!(known.tools, "{vendor}/{model} cannot use tools");
            // Of those that hand on to others the tables say nothing.
            let hands_on = ["together", "openrouter"].contains(vendor);
            let unknown = Capabilities::of(vendor, "a-model-that-nobody-makes");
            assert!(hands_on || known != unknown, "{vendor}/{model} is in no table");
        }
    }
}
