//! Decides what a host's count of tokens means. Called for every message that carries one; the last one holds.
//! Hosts differ in whether thoughts are part of the completion: the total tells.

use serde_json::{Map, Value};

use crate::Usage;

/// Reads a usage object; nothing of something else.
pub(super) fn read(value: &Value) -> Option<Usage> {
    let fields = value.as_object()?;
    let prompt = fields.get("prompt_tokens_details");
    let completion = fields.get("completion_tokens_details");
    let input = number(fields.get("prompt_tokens"));
    let said = number(fields.get("completion_tokens"));
    let total = number(fields.get("total_tokens"));

    // What the total has more than prompt and completion was thought, and written like the rest.
    let apart = total.saturating_sub(input.saturating_add(said));
    let thought = detail(completion, "reasoning_tokens")
        .or_else(|| fields.get("reasoning_tokens").and_then(Value::as_u64))
        .unwrap_or(apart);
    let mut usage = Usage::new(input, said.saturating_add(apart))
        .with_cached(
            detail(prompt, "cached_tokens")
                .or_else(|| fields.get("prompt_cache_hit_tokens").and_then(Value::as_u64))
                .or_else(|| fields.get("cached_tokens").and_then(Value::as_u64))
                .unwrap_or_default(),
        )
        .with_reasoning(thought);
    usage.input_tokens_details.cache_write_tokens = detail(prompt, "cache_write_tokens");
    usage.input_tokens_details.extra = others(prompt, &["cached_tokens", "cache_write_tokens"]);
    usage.output_tokens_details.extra = others(completion, &["reasoning_tokens"]);
    usage.extra = others(Some(value), KNOWN);
    Some(usage)
}

const KNOWN: &[&str] = &[
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
    "prompt_tokens_details",
    "completion_tokens_details",
    "prompt_cache_hit_tokens",
    "reasoning_tokens",
    "cached_tokens",
    // Names of ours: a host that uses them for something else must not write them twice.
    "input_tokens",
    "output_tokens",
    "input_tokens_details",
    "output_tokens_details",
];

fn number(value: Option<&Value>) -> u64 {
    value.and_then(Value::as_u64).unwrap_or_default()
}

fn detail(details: Option<&Value>, key: &str) -> Option<u64> {
    details?.get(key)?.as_u64()
}

/// What else is counted, as it came.
fn others(value: Option<&Value>, known: &[&str]) -> Map<String, Value> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields
        .filter(|(key, value)| !known.contains(&key.as_str()) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
