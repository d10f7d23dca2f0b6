//! Decides whether arguments can be held against a schema in reasonable time.
//! Called before every validation by a schema with references: those of servers, clients and forms are written by others,
//! and a few of them that refer to each other twice double the work with each step. Never validates anything.

use std::collections::HashMap;

use serde_json::Value;

/// Visits of a part of the schema to a part of the arguments.
const VISITS: u64 = 1_000_000;
/// Steps below each other.
const STEPS: usize = 400;
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Whether a validator, which remembers nothing, would come to an end soon.
pub(super) fn is_reasonable(schema: &Value, arguments: &Value) -> bool {
    if !refers(schema) {
        return true;
    }
    let mut reckoning = Reckoning { root: schema, known: HashMap::new() };
    reckoning.visits(schema, arguments, 0).is_some_and(|visits| visits <= VISITS)
}

fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            fields.iter().any(|(name, value)| REFERENCES.contains(&name.as_str()) || refers(value))
        }
        Value::Array(values) => values.iter().any(refers),
        _ => false,
    }
}

struct Reckoning<'a> {
    root: &'a Value,
    /// By the addresses of both parts; `None` while it is being reckoned: a validator stops at a circle.
    known: HashMap<(usize, usize), Option<u64>>,
}

impl<'a> Reckoning<'a> {
    /// Nothing when it is too much to be reckoned.
    fn visits(&mut self, schema: &'a Value, value: &'a Value, steps: usize) -> Option<u64> {
        let Value::Object(fields) = schema else { return Some(1) };
        let key = (std::ptr::from_ref(schema).addr(), std::ptr::from_ref(value).addr());
        if let Some(known) = self.known.get(&key) {
            return Some(known.unwrap_or(1));
        }
        if steps > STEPS || self.known.len() as u64 > VISITS {
            return None;
        }
        self.known.insert(key, None);
        let mut sum = 1_u64;
        for (keyword, inside) in fields {
            for (schema, value) in self.pairs(keyword, inside, value) {
                sum = sum.saturating_add(self.visits(schema, value, steps + 1)?);
            }
        }
        self.known.insert(key, Some(sum));
        Some(sum)
    }

    /// Which parts of the schema a keyword holds against which parts of the value.
    fn pairs(
        &self,
        keyword: &str,
        inside: &'a Value,
        value: &'a Value,
    ) -> Vec<(&'a Value, &'a Value)> {
        let each = |schema: &'a Value| below(value).map(move |part| (schema, part));
        match keyword {
            "allOf" | "anyOf" | "oneOf" => listed(inside).map(|one| (one, value)).collect(),
            "not" | "if" | "then" | "else" => vec![(inside, value)],
            "dependentSchemas" | "dependencies" => {
                named(inside).map(|(_, one)| (one, value)).collect()
            }
            "properties" => {
                named(inside).filter_map(|(name, one)| Some((one, value.get(name)?))).collect()
            }
            "patternProperties" => named(inside).flat_map(|(_, one)| each(one)).collect(),
            "items" | "prefixItems" if inside.is_array() => {
                listed(inside).zip(below(value)).collect()
            }
            "items"
            | "additionalItems"
            | "contains"
            | "unevaluatedItems"
            | "additionalProperties"
            | "unevaluatedProperties" => each(inside).collect(),
            // The names are not values here; a text stands for each of them.
            "propertyNames" => below(value).map(|_| (inside, &Value::Null)).collect(),
            name if REFERENCES.contains(&name) => vec![(self.target(inside), value)],
            _ => Vec::new(),
        }
    }

    /// What a reference means; the whole, where that is not a place in this schema.
    fn target(&self, reference: &Value) -> &'a Value {
        let pointer = reference.as_str().and_then(|text| text.strip_prefix('#'));
        pointer.and_then(|pointer| self.root.pointer(pointer)).unwrap_or(self.root)
    }
}

fn listed(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn named(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn below(value: &Value) -> impl Iterator<Item = &Value> {
    listed(value).chain(named(value).map(|(_, one)| one))
}
