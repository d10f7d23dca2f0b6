//! Says what changes when one policy takes another's place.
//! Called by `policy set`. Never judges a call: what follows for calls is told by `policy diff`.

use agent_world_core::policy::{Policy, Rule};
use serde_json::{Value, json};

use super::rule_line;

/// What is different, by the rules' ids.
#[derive(Debug)]
pub struct Change<'p> {
    old: &'p Policy,
    new: &'p Policy,
    added: Vec<&'p Rule>,
    removed: Vec<&'p Rule>,
    /// As they were, and as they are.
    changed: Vec<(&'p Rule, &'p Rule)>,
    /// The rules that stay come in another order.
    moved: bool,
}

impl<'p> Change<'p> {
    pub fn new(old: &'p Policy, new: &'p Policy) -> Self {
        let find = |policy: &'p Policy, rule: &Rule| -> Option<&'p Rule> {
            policy.rules.iter().find(|other| other.id == rule.id)
        };
        let ids = |policy: &'p Policy, other: &'p Policy| -> Vec<&'p str> {
            let stay = policy.rules.iter().filter(|rule| find(other, rule).is_some());
            stay.map(|rule| rule.id.as_str()).collect()
        };
        Self {
            old,
            new,
            added: new.rules.iter().filter(|rule| find(old, rule).is_none()).collect(),
            removed: old.rules.iter().filter(|rule| find(new, rule).is_none()).collect(),
            changed: old
                .rules
                .iter()
                .filter_map(|rule| Some((rule, find(new, rule)?)))
                .filter(|(before, after)| before != after)
                .collect(),
            moved: ids(old, new) != ids(new, old),
        }
    }

    pub fn is_none(&self) -> bool {
        self.old.preset == self.new.preset && self.old.rules == self.new.rules
    }

    /// One line for each difference.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.old.preset != self.new.preset {
            lines.push(format!("preset {} -> {}", self.old.preset, self.new.preset));
        }
        lines.extend(self.removed.iter().map(|rule| format!("- {}", rule_line(rule))));
        for (before, after) in &self.changed {
            let (before, after) = (rule_line(before), rule_line(after));
            match before == after {
                true => lines.push(format!("~ {after} (its description or examples)")),
                false => lines.extend([format!("~ {before}"), format!("  now {after}")]),
            }
        }
        lines.extend(self.added.iter().map(|rule| format!("+ {}", rule_line(rule))));
        if self.moved {
            lines.push("the rules that stay come in another order".to_owned());
        }
        lines
    }

    pub fn json(&self) -> Value {
        let ids =
            |rules: &[&Rule]| -> Vec<Value> { rules.iter().map(|rule| json!(rule.id)).collect() };
        let changed: Vec<&Rule> = self.changed.iter().map(|(_, after)| *after).collect();
        json!({
            "preset": { "before": self.old.preset, "after": self.new.preset },
            "added": ids(&self.added),
            "removed": ids(&self.removed),
            "changed": ids(&changed),
            "moved": self.moved,
        })
    }
}
