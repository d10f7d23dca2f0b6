//! Decides how a rule may be written down, and what in it nobody understands.
//! Used when rules are read: leniently from what is stored, strictly from what people send. Never judges a call.

use serde::Deserialize;
use serde_json::Value;

use super::{
    Annotations, CommandPattern, Examples, Match, Origin, PathPattern, Policy, Rule, Ruling, Test,
};
use crate::ids::{AgentId, RuleId};

/// A rule as it may stand in a document.
#[derive(Debug, Deserialize)]
pub(super) struct Written {
    id: RuleId,
    ruling: Ruling,
    tool: String,
    #[serde(default)]
    agent: Option<AgentId>,
    #[serde(default)]
    matches: Vec<Match>,
    #[serde(default)]
    command: Option<CommandPattern>,
    #[serde(default)]
    paths: Option<WrittenPaths>,
    #[serde(default)]
    annotations: Option<Annotations>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    examples: Examples,
    #[serde(default)]
    origin: Option<Origin>,
}

#[derive(Debug, Deserialize)]
struct WrittenPaths {
    /// Absent: every argument known to hold paths.
    #[serde(default)]
    pointer: String,
    within: Vec<String>,
}

impl From<Written> for Rule {
    fn from(written: Written) -> Self {
        let mut matches = written.matches;
        let whole = |test| Match { pointer: String::new(), test };
        matches.extend(written.command.map(|pattern| whole(Test::Command(pattern))));
        matches.extend(written.paths.map(|paths| Match {
            pointer: paths.pointer,
            test: Test::Paths(PathPattern { within: paths.within }),
        }));
        matches
            .extend(written.annotations.map(|annotations| whole(Test::Annotations(annotations))));
        Self {
            id: written.id,
            ruling: written.ruling,
            tool: written.tool,
            agent: written.agent,
            matches,
            description: written.description,
            examples: written.examples,
            origin: written.origin,
        }
    }
}

const POLICY: &[&str] = &["preset", "rules", "granted"];
const RULE: &[&str] = &[
    "id",
    "ruling",
    "tool",
    "agent",
    "matches",
    "command",
    "paths",
    "annotations",
    "description",
    "examples",
    "origin",
];
const TESTS: &[&str] = &["equals", "glob", "regex", "command", "paths", "annotations"];
const COMMAND: &[&str] = &["program", "parameters"];
const ANNOTATIONS: &[&str] = &["read_only", "destructive", "idempotent"];

impl Policy {
    /// Reads a policy that somebody sent. What is misspelt would be a condition that never was, so it is refused;
    /// what is stored already is read as it is.
    pub fn read(document: &Value) -> Result<Self, Vec<String>> {
        let mut unknown = Unknown::default();
        unknown.fields("policy", document, POLICY);
        for set in ["rules", "granted"] {
            for (place, rule) in elements(document.get(set)) {
                unknown.rule(&format!("policy.{set}[{place}]"), rule);
            }
        }
        if !unknown.problems.is_empty() {
            return Err(unknown.problems);
        }
        Self::deserialize(document).map_err(|error| vec![format!("policy: {error}")])
    }
}

#[derive(Debug, Default)]
struct Unknown {
    problems: Vec<String>,
}

impl Unknown {
    fn fields(&mut self, place: &str, value: &Value, known: &[&str]) {
        // A list would be taken for the fields in their order, whatever somebody meant by it.
        let Some(fields) = value.as_object() else {
            let known = known.join(", ");
            self.problems.push(format!("{place} must be an object with fields of {known}"));
            return;
        };
        for name in fields.keys() {
            if !known.contains(&name.as_str()) {
                self.problems
                    .push(format!("{place} has no field `{name}`; there are {}", known.join(", ")));
            }
        }
    }

    fn rule(&mut self, place: &str, rule: &Value) {
        self.fields(place, rule, RULE);
        self.nested(&format!("{place}.command"), rule.get("command"), COMMAND);
        self.nested(&format!("{place}.paths"), rule.get("paths"), &["pointer", "within"]);
        self.nested(&format!("{place}.annotations"), rule.get("annotations"), ANNOTATIONS);
        for (number, condition) in elements(rule.get("matches")) {
            self.condition(&format!("{place}.matches[{number}]"), condition);
        }
        let examples = rule.get("examples");
        self.nested(&format!("{place}.examples"), examples, &["must_match", "must_not_match"]);
        for list in ["must_match", "must_not_match"] {
            let list_of = examples.and_then(|examples| examples.get(list));
            for (number, example) in elements(list_of) {
                let place = format!("{place}.examples.{list}[{number}]");
                self.fields(&place, example, &["tool", "arguments", "agent"]);
            }
        }
    }

    fn condition(&mut self, place: &str, condition: &Value) {
        let known: Vec<&str> = ["pointer"].iter().chain(TESTS).copied().collect();
        self.fields(place, condition, &known);
        let tests = TESTS.iter().filter(|test| condition.get(**test).is_some()).count();
        if tests != 1 {
            let tests = TESTS.join(", ");
            self.problems.push(format!("{place} must have exactly one of {tests}"));
        }
        self.nested(&format!("{place}.command"), condition.get("command"), COMMAND);
        self.nested(&format!("{place}.paths"), condition.get("paths"), &["within"]);
        self.nested(&format!("{place}.annotations"), condition.get("annotations"), ANNOTATIONS);
    }

    fn nested(&mut self, place: &str, value: Option<&Value>, known: &[&str]) {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            self.fields(place, value, known);
        }
    }
}

fn elements(list: Option<&Value>) -> impl Iterator<Item = (usize, &Value)> {
    list.and_then(Value::as_array).into_iter().flatten().enumerate()
}
