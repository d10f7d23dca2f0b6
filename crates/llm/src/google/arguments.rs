//! Decides what the arguments of a call are when they come value by value, each with the path to its place.
//! Fed by `reply`. Never fails: a path that makes no sense is passed over, and no path can fill the memory.

use serde_json::{Map, Value};

/// Steps of a path. A model's arguments are shallow; only nonsense goes deeper.
const DEEPEST: usize = 64;

/// Places that may be left empty in lists because a later one was named first.
const MOST_GAPS: usize = 1_000;

/// Arguments in the making.
#[derive(Debug)]
pub(super) struct Arguments {
    root: Value,
    gaps: usize,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { root: Value::Object(Map::new()), gaps: 0 }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Step<'a> {
    Key(&'a str),
    Place(usize),
}

impl Arguments {
    /// Takes one entry of `partialArgs`. A text that goes on is added to what is there.
    pub fn add(&mut self, entry: &Value) {
        let Some(value) = value_of(entry) else { return };
        let Some(steps) = entry.get("jsonPath").and_then(Value::as_str).and_then(steps) else {
            return;
        };
        let Some(at) = self.walk(&steps) else { return };
        match (at, value) {
            (Value::String(text), Value::String(more)) => text.push_str(&more),
            (at, value) => *at = value,
        }
    }

    pub fn text(&self) -> String {
        self.root.to_string()
    }

    fn walk(&mut self, steps: &[Step<'_>]) -> Option<&mut Value> {
        let gaps = &mut self.gaps;
        let mut at = &mut self.root;
        for step in steps {
            at = match step {
                Step::Key(key) => {
                    if !at.is_object() {
                        *at = Value::Object(Map::new());
                    }
                    at.as_object_mut()?.entry(*key).or_insert(Value::Null)
                }
                Step::Place(place) => {
                    if !at.is_array() {
                        *at = Value::Array(Vec::new());
                    }
                    let list = at.as_array_mut()?;
                    let gap = place.saturating_sub(list.len());
                    if gap.saturating_add(*gaps) > MOST_GAPS {
                        return None;
                    }
                    *gaps += gap;
                    while list.len() <= *place {
                        list.push(Value::Null);
                    }
                    list.get_mut(*place)?
                }
            };
        }
        // The arguments themselves are an object whatever a path of no steps says.
        (!steps.is_empty()).then_some(at)
    }
}

fn value_of(entry: &Value) -> Option<Value> {
    if entry.get("nullValue").is_some() {
        return Some(Value::Null);
    }
    ["stringValue", "numberValue", "boolValue"].iter().find_map(|key| entry.get(key)).cloned()
}

/// The steps of a path such as `$.a.b[0]['c d']`.
fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut rest = path.strip_prefix('$').unwrap_or(path);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if steps.len() >= DEEPEST {
            return None;
        }
        let (step, behind) = match rest.strip_prefix('[') {
            Some(inside) => bracket(inside)?,
            None => {
                let name = rest.strip_prefix('.').unwrap_or(rest);
                let end = name.find(['.', '[']).unwrap_or(name.len());
                let (name, behind) = name.split_at(end);
                (Step::Key(name), behind)
            }
        };
        steps.push(step);
        rest = behind;
    }
    Some(steps)
}

fn bracket(inside: &str) -> Option<(Step<'_>, &str)> {
    for quote in ['\'', '"'] {
        if let Some(name) = inside.strip_prefix(quote) {
            let (name, behind) = name.split_once(quote)?;
            return Some((Step::Key(name), behind.strip_prefix(']')?));
        }
    }
    let (place, behind) = inside.split_once(']')?;
    Some((Step::Place(place.trim().parse().ok()?), behind))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn assembled(entries: &[Value]) -> String {
        let mut arguments = Arguments::default();
        entries.iter().for_each(|entry| arguments.add(entry));
        arguments.text()
    }

    #[test]
    fn values_find_their_places_and_keep_their_types() {
        let made = assembled(&[
            json!({"jsonPath": "$.city", "stringValue": "São ", "willContinue": true}),
            json!({"jsonPath": "$.city", "stringValue": "Paulo"}),
            json!({"jsonPath": "$.days", "numberValue": 3}),
            json!({"jsonPath": "$.exact", "numberValue": 0.1}),
            json!({"jsonPath": "$.units.metric", "boolValue": true}),
            json!({"jsonPath": "$.note", "nullValue": "NULL_VALUE"}),
            json!({"jsonPath": "$.stops[0].name", "stringValue": "a"}),
            json!({"jsonPath": "$.stops[1].name", "stringValue": "b\"\n"}),
            json!({"jsonPath": "$['odd name'][\"x\"]", "stringValue": ""}),
        ]);
        assert_eq!(
            made,
            r#"{"city":"São Paulo","days":3,"exact":0.1,"units":{"metric":true},"note":null,"#
                .to_owned()
                + r#""stops":[{"name":"a"},{"name":"b\"\n"}],"odd name":{"x":""}}"#,
        );
    }

    #[test]
    fn nonsense_changes_nothing() {
        let made = assembled(&[
            json!({"jsonPath": "$", "stringValue": "x"}),
            json!({"jsonPath": "$.a[", "stringValue": "x"}),
            json!({"jsonPath": "$.a[-1]", "stringValue": "x"}),
            json!({"jsonPath": format!("${}", ".a".repeat(1_000)), "stringValue": "x"}),
            json!({"jsonPath": 7, "stringValue": "x"}),
            json!({"jsonPath": "$.a"}),
            json!("text"),
        ]);
        assert_eq!(made, "{}");
        let made = assembled(&[
            json!({"jsonPath": "$.a[4000000000]", "boolValue": true}),
            json!({"jsonPath": "$.a[1]", "boolValue": true}),
        ]);
        assert_eq!(made, r#"{"a":[null,true]}"#);
    }
}
