//! Decides how a policy is shown: as it may be sent back, but for its secrets.
//! Called wherever one is printed. Never used to judge a call: a masked condition is another condition.

use serde_json::{Value, json};

use super::{Match, Policy, Test};
use crate::display::mask_secrets;

impl Policy {
    /// The document of a policy, secrets masked.
    pub fn shown(&self) -> Value {
        let mut masked = self.clone();
        for rule in masked.rules.iter_mut().chain(masked.granted.iter_mut()) {
            for one in &mut rule.matches {
                *one = one.masked();
            }
        }
        mask_secrets(&json!(masked))
    }
}

impl Match {
    /// A condition on an argument that is a secret by its name holds that secret.
    pub fn masked(&self) -> Self {
        let name = self.pointer.rsplit('/').next().unwrap_or_default();
        let masked = |value: Value| match mask_secrets(&json!({ name: value })).get_mut(name) {
            Some(value) => value.take(),
            None => Value::Null,
        };
        let text = |text: &String| match masked(json!(text)) {
            Value::String(text) => text,
            other => other.to_string(),
        };
        let test = match &self.test {
            Test::Equals(value) => Test::Equals(masked(value.clone())),
            Test::Glob(pattern) => Test::Glob(text(pattern)),
            Test::Regex(expression) => Test::Regex(text(expression)),
            other => other.clone(),
        };
        Self { pointer: self.pointer.clone(), test }
    }
}
