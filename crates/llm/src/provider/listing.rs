//! Reads a vendor's list of its models.
//! Used by `provider` to say whether a name can be meant. Says nothing where the list is not known or not complete.

use serde_json::Value;

/// Whether a list, in whatever form vendors give one, holds a model.
pub fn has(list: &Value, model: &str) -> Option<bool> {
    let models = ["data", "models"].iter().find_map(|name| list.get(*name)?.as_array())?;
    let names = models
        .iter()
        .filter_map(|one| ["id", "name", "model"].iter().find_map(|name| one.get(*name)?.as_str()));
    let is_it = |name: &str| {
        let name = name.strip_prefix("models/").unwrap_or(name);
        name == model || name.strip_suffix(":latest") == Some(model)
    };
    let goes_on = list.get("has_more").and_then(Value::as_bool) == Some(true)
        || list.get("nextPageToken").and_then(Value::as_str).is_some_and(|next| !next.is_empty());
    match names.into_iter().any(is_it) {
        true => Some(true),
        false if goes_on => None,
        false => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_all_vendors_are_read() {
        let openai = json!({"object": "list", "data": [{"id": "gpt-5", "object": "model"}]});
        assert_eq!((has(&openai, "gpt-5"), has(&openai, "gpt-55")), (Some(true), Some(false)));
        let anthropic = json!({"data": [{"id": "claude-a"}], "has_more": true});
        assert_eq!((has(&anthropic, "claude-a"), has(&anthropic, "b")), (Some(true), None));
        let google = json!({"models": [{"name": "models/gemini-a"}], "nextPageToken": "x"});
        assert_eq!((has(&google, "gemini-a"), has(&google, "b")), (Some(true), None));
        let ollama = json!({"models": [{"name": "llama3:latest", "model": "llama3:latest"}]});
        assert_eq!(
            (has(&ollama, "llama3"), has(&ollama, "llama3:latest")),
            (Some(true), Some(true))
        );
        assert_eq!(has(&ollama, "llama"), Some(false));
        assert_eq!(has(&json!({"error": "?"}), "x"), None);
    }
}
