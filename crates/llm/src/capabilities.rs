//! Decides what a model can do and which parameters it takes, from a table of the vendors' models.
//! Asked by dialects and by callers. A model that is not in the table is taken to be able: a refusal by its vendor
//! says more than a guess of ours.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// What a model can do.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Capabilities {
    pub tools: bool,
    /// Takes images.
    pub vision: bool,
    /// Can be held to JSON.
    pub json: bool,
    /// Can be held to a JSON schema.
    pub json_schema: bool,
    /// Thinks, and gives its thoughts or takes them back.
    pub reasoning: bool,
    /// Tokens of prompt and reply together.
    pub context_window: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub accepts: Accepts,
}

/// Which parameters a model takes; vendors refuse a request for one too many.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Accepts {
    pub temperature: bool,
    /// `developer` messages; otherwise they are sent as `system`.
    pub developer_role: bool,
    /// `system` messages between others; otherwise they are told by the user's side.
    pub system_messages: bool,
    /// `max_completion_tokens`; otherwise the older `max_tokens`.
    pub max_completion_tokens: bool,
    /// How the amount of thinking is said.
    pub thinking: Thinking,
    /// A word for the effort; some models think as much as they like and refuse to be told.
    pub effort: bool,
    pub parallel_tool_calls: bool,
    /// A tool that must be called.
    pub forced_tool_choice: bool,
    /// That thinking is turned off.
    pub no_thinking: bool,
    /// Thoughts behind a conversation that has changed since they were made; otherwise the vendor is told to drop them.
    pub stale_thoughts: bool,
}

/// How a model is told how much to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thinking {
    /// By a word for the effort.
    #[default]
    Effort,
    /// By a number of tokens.
    Budget,
    /// The model decides, within a word for the effort.
    Adaptive,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self {
            tools: true,
            vision: true,
            json: true,
            json_schema: true,
            reasoning: true,
            context_window: None,
            max_output_tokens: None,
            accepts: Accepts::default(),
        }
    }
}

impl Default for Accepts {
    fn default() -> Self {
        Self {
            temperature: true,
            developer_role: true,
            system_messages: true,
            max_completion_tokens: true,
            thinking: Thinking::Effort,
            effort: true,
            parallel_tool_calls: true,
            forced_tool_choice: true,
            no_thinking: true,
            stale_thoughts: true,
        }
    }
}

/// One line of a vendor's table.
#[derive(Debug, Deserialize)]
struct Line {
    /// How the models' names begin, or the whole of them; the longest that fits decides. Empty stands for every model.
    models: Vec<String>,
    #[serde(flatten)]
    overrides: serde_json::Map<String, serde_json::Value>,
}

/// What is known, vendor by vendor.
const FILES: &[(&str, &str)] = &[
    ("anthropic", include_str!("capabilities/anthropic.json")),
    ("deepseek", include_str!("capabilities/deepseek.json")),
    ("google", include_str!("capabilities/google.json")),
    ("groq", include_str!("capabilities/groq.json")),
    ("mistral", include_str!("capabilities/mistral.json")),
    ("ollama", include_str!("capabilities/ollama.json")),
    ("openai", include_str!("capabilities/openai.json")),
    ("xai", include_str!("capabilities/xai.json")),
];

static TABLE: LazyLock<BTreeMap<&str, Vec<Line>>> = LazyLock::new(|| {
    let read = |text| serde_json::from_str(text).unwrap_or_default();
    FILES.iter().map(|(vendor, text)| (*vendor, read(text))).collect()
});

impl Capabilities {
    /// What is known of a model of a vendor. `vendor` is one of the table's, not the name of a host.
    pub fn of(vendor: &str, model: &str) -> Self {
        let model = model.to_lowercase();
        let fits = |line: &Line| {
            let fitting =
                line.models.iter().filter(|beginning| model.starts_with(beginning.as_str()));
            fitting.map(String::len).max()
        };
        let mut lines: Vec<(usize, &Line)> = TABLE
            .get(vendor)
            .into_iter()
            .flatten()
            .filter_map(|line| fits(line).map(|length| (length, line)))
            .collect();
        lines.sort_by_key(|(length, _)| *length);
        // What is said of all models of a vendor holds where a longer name does not say otherwise.
        let mut merged = serde_json::Map::new();
        for (_, line) in lines {
            merge(&mut merged, &line.overrides);
        }
        serde_json::from_value(serde_json::Value::Object(merged)).unwrap_or_default()
    }
}

fn merge(
    into: &mut serde_json::Map<String, serde_json::Value>,
    from: &serde_json::Map<String, serde_json::Value>,
) {
    for (key, value) in from {
        match (into.get_mut(key), value) {
            (Some(serde_json::Value::Object(into)), serde_json::Value::Object(from)) => {
                merge(into, from);
            }
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_can_be_read_line_by_line() {
        for (vendor, text) in FILES {
            let lines: Vec<Line> = serde_json::from_str(text).unwrap();
            for line in &lines {
                let whole = serde_json::Value::Object(line.overrides.clone());
                let read = serde_json::from_value::<Capabilities>(whole);
                assert!(read.is_ok(), "{vendor} {:?}: {read:?}", line.models);
            }
        }
    }

    #[test]
    fn a_model_nobody_knows_is_taken_to_be_able() {
        assert_eq!(Capabilities::of("nobody", "nothing"), Capabilities::default());
    }
}
