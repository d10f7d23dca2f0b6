//! Decides what becomes of a policy that somebody wrote in place of the one in force.
//! Called wherever one is sent: by the command line and over HTTP. What people granted with `always` is not the document's
//! to change: it is taken over from the policy in force. Never stores anything.

use serde_json::Value;

use super::Policy;
use crate::display::MASKED;

impl Policy {
    /// The preset and the rules of a document, with the granted rules of the policy in force.
    ///
    /// # Errors
    /// Says all that is wrong with it. The texts may quote the document, secrets included.
    pub fn replaced_by(&self, document: &Value) -> Result<Self, Vec<String>> {
        let mut policy = Self::read(document)?;
        let mut problems = Vec::new();
        masked(document, &mut String::from("policy"), &mut problems);
        for rule in &policy.granted {
            if !self.granted.iter().any(|granted| granted.id == rule.id) {
                problems.push(format!(
                    "policy.granted: {} was not granted by anybody; write it among `rules`",
                    rule.id
                ));
            }
        }
        policy.granted = self.granted.clone();
        if let Err(found) = policy.check() {
            problems.extend(found.iter().map(ToString::to_string));
        }
        if problems.is_empty() { Ok(policy) } else { Err(problems) }
    }
}

/// A rule in which a secret was masked is another rule than the one that was shown. Granted ones are not read.
fn masked(value: &Value, place: &mut String, problems: &mut Vec<String>) {
    let length = place.len();
    match value {
        Value::String(text) if text.contains(MASKED) => problems.push(format!(
            "{place} holds the mark of a masked secret; write what stood there, or a pattern"
        )),
        Value::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                place.push_str(&format!("[{number}]"));
                masked(item, place, problems);
                place.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields.iter().filter(|(name, _)| *name != "granted") {
                place.push_str(&format!(".{name}"));
                masked(field, place, problems);
                place.truncate(length);
            }
        }
        _ => {}
    }
}
