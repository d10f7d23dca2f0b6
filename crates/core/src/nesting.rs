//! Decides how deeply nested a value from outside may be.
//! Called by `decide` and `arguments` before a value is stored. What is stored is wrapped in further levels, and a
//! reader of JSON gives up beyond 128: an event that cannot be read again would make its chat unreadable for ever.

use serde::Serialize;

/// Deepest nesting accepted, far below where readers give up.
pub const LIMIT: usize = 64;

pub fn is_too_deep(value: &impl Serialize) -> bool {
    serde_json::to_string(value).map_or(true, |json| depth(&json) > LIMIT)
}

fn depth(json: &str) -> usize {
    let (mut open, mut deepest) = (0_usize, 0);
    let (mut quoted, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' if !quoted => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' if !quoted => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn nested(levels: usize) -> Value {
        (1..levels).fold(json!([]), |inner, _| json!([inner]))
    }

    #[test]
    fn depth_counts_brackets_outside_strings() {
        for (json, expected) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[{}],"b":{}}"#, 3),
            (r#"{"[[[":"]]\"[[{"}"#, 1),
            (r#"["\\",[]]"#, 2),
        ] {
            assert_eq!(depth(json), expected, "{json}");
        }
    }

    #[test]
    fn a_value_at_the_limit_is_accepted_and_one_beyond_is_not() {
        assert!(!is_too_deep(&nested(LIMIT)));
        assert!(is_too_deep(&nested(LIMIT + 1)));
    }
}
