//! Compares two request bodies place by place.
//! What may differ is listed by each vendor's test, with a reason; an entry that no case needs is an error.

use serde_json::Value;

/// A difference that changes nothing in meaning.
#[derive(Debug)]
pub struct Exception {
    /// The case, or `*` for all.
    pub case: &'static str,
    /// Where, as a path like `/messages/*/content`; `*` stands for any one step. `path` is what was asked.
    pub place: &'static str,
    pub reason: &'static str,
}

/// One place where two values differ.
#[derive(Debug, PartialEq)]
pub struct Difference {
    pub place: String,
    pub recorded: Option<Value>,
    pub ours: Option<Value>,
}

/// All places where they differ, the outermost of each.
pub fn differences(recorded: &Value, ours: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(String::new(), Some(recorded), Some(ours), &mut found);
    found
}

fn walk(
    place: String,
    recorded: Option<&Value>,
    ours: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (recorded, ours) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            for (key, value) in one {
                walk(format!("{place}/{key}"), Some(value), other.get(key), found);
            }
            for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(*key)) {
                walk(format!("{place}/{key}"), None, Some(value), found);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                walk(format!("{place}/{index}"), one.get(index), other.get(index), found);
            }
        }
        (Some(Value::Number(one)), Some(Value::Number(other)))
            if one.as_f64() == other.as_f64() => {}
        // Nothing said and null said are the same to every vendor.
        (None | Some(Value::Null), None | Some(Value::Null)) => {}
        (one, other) if one == other => {}
        (one, other) => {
            found.push(Difference { place, recorded: one.cloned(), ours: other.cloned() });
        }
    }
}

pub fn covers(exception: &Exception, case: &str, place: &str) -> bool {
    let mut pattern = exception.place.split('/');
    let mut steps = place.split('/');
    let same = loop {
        match (pattern.next(), steps.next()) {
            (None, None) => break true,
            (Some(wanted), Some(step)) if wanted == "*" || wanted == step => {}
            _ => break false,
        }
    };
    same && (exception.case == "*" || exception.case == case)
}
