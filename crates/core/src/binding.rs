//! Decides what a permission is tied to: the arguments, byte for byte, and what they were found to mean on this machine.
//! Made when a person is asked and compared when the call starts. Never looks anything up: tools do, and say what
//! they found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// What a tool found when it looked at a call without running it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prepared {
    /// What must still be so when the call starts, by name: `program`, `directory`, `script`.
    pub facts: Facts,
    /// What the call would do, for the person to see: a diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

pub type Facts = BTreeMap<String, String>;

/// What an approval holds for, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Of the canonical arguments, as they are stored.
    pub arguments: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: Facts,
}

impl Binding {
    pub fn new(arguments: &Value, facts: Facts) -> Self {
        Self { arguments: digest(arguments.to_string().as_bytes()), facts }
    }

    /// What is different now, in words; nothing when all is as it was.
    pub fn changes(&self, now: &Binding) -> Vec<String> {
        let mut changes = Vec::new();
        if self.arguments != now.arguments {
            changes.push("the arguments are different".to_owned());
        }
        let names: std::collections::BTreeSet<&String> =
            self.facts.keys().chain(now.facts.keys()).collect();
        for name in names {
            match (self.facts.get(name), now.facts.get(name)) {
                (before, after) if before == after => {}
                (Some(before), Some(after)) => {
                    changes.push(format!("{name} was {before} and is {after}"));
                }
                (Some(before), None) => changes.push(format!("{name} was {before} and is gone")),
                (None, Some(after)) => changes.push(format!("{name} is {after} and was not there")),
                (None, None) => {}
            }
        }
        changes
    }
}

/// The digest of some content, as it is written in facts.
pub fn digest(content: &[u8]) -> String {
    let hex: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn facts(pairs: &[(&str, &str)]) -> Facts {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_difference_is_named() {
        let before = Binding::new(&json!({"a": 1}), facts(&[("program", "/bin/a"), ("x", "1")]));
        assert!(before.changes(&before).is_empty());
        let now = Binding::new(&json!({"a": 2}), facts(&[("program", "/bin/b"), ("y", "2")]));
        assert_eq!(
            before.changes(&now),
            [
                "the arguments are different",
                "program was /bin/a and is /bin/b",
                "x was 1 and is gone",
                "y is 2 and was not there",
            ]
        );
    }
}
