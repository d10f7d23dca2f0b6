//! Decides which rules of a set can speak about a call without asking each of them.
//! Built by `RuleSet` once and asked by `judge`. Finds exactly the rules that asking each one would find.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::condition::{Conditions, Facts, Reach, ReadyTest, plain_name};
use super::pattern::glob;
use super::{Rule, Ruling};
use crate::command_line::Command;
use crate::ids::AgentId;

/// A set of rules, sorted by what they need of a call.
#[derive(Debug)]
pub(super) struct Index {
    rules: Vec<Entry>,
    tools: BTreeMap<String, Bucket>,
    /// Rules whose tool is a pattern.
    patterns: Bucket,
    /// Every pointer that a condition looks at, once.
    pointers: Vec<String>,
    /// Whether some calls of a tool are asked about or denied and others are not: what cannot be read may hide one.
    guards: bool,
}

#[derive(Debug)]
struct Entry {
    ruling: Ruling,
    agent: Option<AgentId>,
    /// Set only for a pattern; a name has led here already.
    tool: Option<String>,
    conditions: Conditions,
    /// The place in `pointers` for each condition on the call.
    pointers: Vec<usize>,
}

/// Rules of one tool, each in one of these.
#[derive(Debug, Default)]
struct Bucket {
    /// Those that must be asked.
    plain: Vec<usize>,
    /// Those with an argument that must equal something: by pointer, then by what it must be.
    equal: BTreeMap<usize, BTreeMap<u64, Vec<usize>>>,
    /// Those about a command whose program has a name.
    programs: BTreeMap<String, Vec<usize>>,
    /// Those about a command whose program is a pattern.
    any_program: Vec<usize>,
}

/// The rules of a set that speak about a call as a whole, by their place.
#[derive(Debug)]
pub(super) struct Spoken<'a> {
    index: &'a Index,
    facts: &'a Facts<'a>,
    values: Vec<Option<&'a Value>>,
    pub call: Vec<usize>,
}

impl Index {
    pub fn new(rules: &[Rule]) -> Self {
        let mut index = Self {
            rules: Vec::with_capacity(rules.len()),
            tools: BTreeMap::new(),
            patterns: Bucket::default(),
            pointers: Vec::new(),
            guards: rules
                .iter()
                .any(|rule| rule.ruling != Ruling::Allow && !rule.matches.is_empty()),
        };
        let mut places = BTreeMap::new();
        for (place, rule) in rules.iter().enumerate() {
            index.add(place, rule, &mut places);
        }
        index
    }

    fn add(&mut self, place: usize, rule: &Rule, places: &mut BTreeMap<String, usize>) {
        let conditions = Conditions::new(&rule.matches);
        let mut pointers = Vec::with_capacity(conditions.call.len());
        for one in &conditions.call {
            let place = *places.entry(one.pointer.clone()).or_insert_with(|| {
                self.pointers.push(one.pointer.clone());
                self.pointers.len() - 1
            });
            pointers.push(place);
        }
        let pattern = rule.tool.contains('*');
        let bucket = if pattern {
            &mut self.patterns
        } else {
            self.tools.entry(rule.tool.clone()).or_default()
        };
        bucket.add(place, &conditions, &pointers);
        self.rules.push(Entry {
            ruling: rule.ruling,
            agent: rule.agent.clone(),
            tool: pattern.then(|| rule.tool.clone()),
            conditions,
            pointers,
        });
    }

    pub fn spoken<'a>(&'a self, facts: &'a Facts<'a>) -> Spoken<'a> {
        let arguments = facts.question.arguments;
        let values = self.pointers.iter().map(|pointer| arguments.pointer(pointer)).collect();
        let mut spoken = Spoken { index: self, facts, values, call: Vec::new() };
        let mut call = Vec::new();
        for bucket in self.buckets(facts) {
            let plain = bucket.plain.iter();
            let equal = bucket.equal.iter().filter_map(|(pointer, rules)| {
                rules.get(&fingerprint((*spoken.values.get(*pointer)?)?))
            });
            call.extend(plain.chain(equal.flatten()).filter(|place| spoken.holds(**place)));
        }
        call.sort_unstable();
        spoken.call = call;
        spoken
    }

    pub fn ruling(&self, place: usize) -> Option<Ruling> {
        self.rules.get(place).map(|entry| entry.ruling)
    }

    /// Whether a rule names word for word what a line runs.
    pub fn pins(&self, place: usize, facts: &Facts<'_>) -> bool {
        self.rules.get(place).is_some_and(|entry| entry.conditions.pin(facts))
    }

    /// Whether a rule permits a tool's calls whatever they run.
    pub fn permits_any_command(&self, place: usize) -> bool {
        self.rules.get(place).is_some_and(|entry| entry.conditions.is_empty())
    }

    pub fn guards(&self) -> bool {
        self.guards
    }

    fn buckets(&self, facts: &Facts<'_>) -> impl Iterator<Item = &Bucket> {
        self.tools.get(facts.question.tool).into_iter().chain([&self.patterns])
    }
}

impl Spoken<'_> {
    /// Among the rules that speak about a command and are wanted: the first that denies, the first that does not.
    pub fn firsts(
        &self,
        command: Option<&Command>,
        wanted: impl Fn(usize) -> bool,
    ) -> (Option<usize>, Option<usize>) {
        let about = command.map(|command| self.about(command)).unwrap_or_default();
        let (mut deny, mut first) = (None, None);
        for place in self.call.iter().chain(&about).copied().filter(|place| wanted(*place)) {
            let found = match self.index.ruling(place) {
                Some(Ruling::Deny) => &mut deny,
                _ => &mut first,
            };
            *found = Some(found.map_or(place, |earlier: usize| earlier.min(place)));
        }
        (deny, first)
    }

    /// The rules that speak about one command of the line.
    pub fn about(&self, command: &Command) -> Vec<usize> {
        let name = plain_name(&command.program);
        let mut found = Vec::new();
        for bucket in self.index.buckets(self.facts) {
            let named = bucket.programs.get(&name).into_iter().flatten();
            found.extend(named.chain(&bucket.any_program).filter(|place| {
                self.index.rules.get(**place).is_some_and(|entry| {
                    let reach = Reach::from(entry.ruling);
                    (reach == Reach::Wide || self.facts.is_certain())
                        && entry.conditions.cover_named(command, &name, reach)
                        && self.holds(**place)
                })
            }));
        }
        found.sort_unstable();
        found
    }

    fn holds(&self, place: usize) -> bool {
        let Some(entry) = self.index.rules.get(place) else { return false };
        let question = self.facts.question;
        let reach = Reach::from(entry.ruling);
        entry.agent.as_ref().is_none_or(|agent| agent == question.agent)
            && entry.tool.as_ref().is_none_or(|pattern| glob(pattern, question.tool))
            && entry.conditions.call.iter().zip(&entry.pointers).all(|(one, pointer)| {
                one.holds(self.values.get(*pointer).copied().flatten(), self.facts, reach)
            })
    }
}

impl Bucket {
    fn add(&mut self, place: usize, conditions: &Conditions, pointers: &[usize]) {
        if !conditions.commands.is_empty() {
            // All patterns must cover the same command: the one that is easiest to look up leads to it.
            let named = conditions.commands.iter().find(|one| !one.pattern.program.contains('*'));
            match named {
                Some(one) => {
                    self.programs.entry(plain_name(&one.pattern.program)).or_default().push(place);
                }
                None => self.any_program.push(place),
            }
            return;
        }
        let equal =
            conditions.call.iter().zip(pointers).find_map(|(one, pointer)| match &one.test {
                ReadyTest::Equals(value) => Some((*pointer, fingerprint(value))),
                _ => None,
            });
        match equal {
            Some((pointer, value)) => {
                self.equal.entry(pointer).or_default().entry(value).or_default().push(place);
            }
            None => self.plain.push(place),
        }
    }
}

/// The same for values that are equal. Others may share it; they are compared afterwards.
fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Null => 0u8.hash(&mut hasher),
        Value::Bool(one) => (1u8, one).hash(&mut hasher),
        // Zero equals minus zero; adding zero makes them one.
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(whole), _, _) => (2u8, whole).hash(&mut hasher),
            (_, Some(whole), _) => (3u8, whole).hash(&mut hasher),
            (_, _, Some(float)) => (4u8, (float + 0.0).to_bits()).hash(&mut hasher),
            _ => 5u8.hash(&mut hasher),
        },
        Value::String(text) => (6u8, text).hash(&mut hasher),
        Value::Array(values) => {
            (7u8, values.len()).hash(&mut hasher);
            values.iter().for_each(|one| fingerprint(one).hash(&mut hasher));
        }
        // The order of fields means nothing.
        Value::Object(fields) => {
            let sum = fields.iter().fold(0u64, |sum, (name, one)| {
                let mut field = DefaultHasher::new();
                (name, fingerprint(one)).hash(&mut field);
                sum.wrapping_add(field.finish())
            });
            (8u8, fields.len(), sum).hash(&mut hasher);
        }
    }
    hasher.finish()
}
