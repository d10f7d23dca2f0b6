//! Decides whether a policy may be saved: its patterns can be read, and its examples come out as they say.
//! Called by `World::check`. Never called for what is stored already.

use std::collections::BTreeSet;
use std::fmt;

use super::condition::{Conditions, Facts};
use super::pattern::{glob, whole};
use super::{Annotations, Example, Match, Policy, Question, Rule, Ruling, Test};
use crate::display;
use crate::ids::{AgentId, RuleId};

/// Characters of an example that a message shows.
const SHOWN: usize = 200;

/// What is wrong with a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub rule: RuleId,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}: {}", self.rule, self.what)
    }
}

impl Policy {
    /// Refuses rules that cannot mean what they say.
    pub fn check(&self) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut taken = BTreeSet::new();
        for rule in self.rules.iter().chain(&self.granted) {
            let mut found = rule.problems();
            if !taken.insert(&rule.id) {
                found.push("another rule has the same id; give each its own".to_owned());
            }
            problems.extend(found.into_iter().map(|what| Problem { rule: rule.id.clone(), what }));
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

impl Rule {
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.tool.is_empty() {
            problems.push("`tool` is empty; name a tool, or write * for every tool".to_owned());
        }
        problems.extend(self.matches.iter().filter_map(|one| one.problem().err()));
        // Examples of a rule that cannot be read would only repeat that.
        if problems.is_empty() {
            problems.extend(self.failed_examples());
        }
        problems
    }

    fn failed_examples(&self) -> Vec<String> {
        let failed = |(number, example): (usize, &Example), kind: &str, expected: bool| {
            let found = self.example(example);
            let verb = if expected { "does not match" } else { "matches" };
            (found.is_ok() != expected).then(|| {
                let why = found.err().map(|why| format!(": {why}")).unwrap_or_default();
                let mut call = format!("{} {}", example.tool, display::compact(&example.arguments));
                if let Some((end, _)) = call.char_indices().nth(SHOWN) {
                    call.truncate(end);
                    call.push('…');
                }
                format!(
                    "its example {kind}[{number}] {verb}: {call}{why}; change the rule or the example"
                )
            })
        };
        let must = self.examples.must_match.iter().enumerate();
        let must_not = self.examples.must_not_match.iter().enumerate();
        must.filter_map(|one| failed(one, "must_match", true))
            .chain(must_not.filter_map(|one| failed(one, "must_not_match", false)))
            .collect()
    }

    /// Whether the rule speaks about an example, or why it does not.
    fn example(&self, example: &Example) -> Result<(), String> {
        if !glob(&self.tool, &example.tool) {
            return Err(format!("the rule is for the tool {}", self.tool));
        }
        let nobody = AgentId::new("example");
        let agent = example.agent.as_ref().or(self.agent.as_ref()).unwrap_or(&nobody);
        if let Some(own) = self.agent.as_ref().filter(|own| *own != agent) {
            return Err(format!("the rule is for the agent {own}"));
        }
        let question =
            Question { agent, tool: &example.tool, arguments: &example.arguments, directory: None };
        let mut facts = Facts::new(question, None);
        let holds = |conditions: &Conditions, facts: &Facts<'_>| match self.ruling {
            Ruling::Allow => conditions.permit(facts),
            Ruling::Ask | Ruling::Deny => conditions.touch(facts),
        };
        for one in &self.matches {
            // An example has no tool that could declare anything: it stands for one that declares what is asked.
            if let Test::Annotations(asked) = &one.test {
                facts.declared = Some(*asked);
            }
        }
        facts.declared.get_or_insert_with(Annotations::default);
        if holds(&Conditions::new(&self.matches), &facts) {
            return Ok(());
        }
        if let Some(gap) = facts.line.as_ref().and_then(|line| line.gaps.first())
            && self.ruling == Ruling::Allow
        {
            return Err(format!("it is not certain what the command line runs: {gap}"));
        }
        let alone = |one: &&Match| !holds(&Conditions::new(std::slice::from_ref(*one)), &facts);
        let failing = self.matches.iter().find(alone);
        Err(failing.map_or_else(
            || "its conditions do not hold together".to_owned(),
            |one| format!("{} does not hold", display::compact(&serde_json::json!(one))),
        ))
    }
}

impl Match {
    fn problem(&self) -> Result<(), String> {
        check_pointer(&self.pointer)?;
        let whole_call = || match self.pointer.as_str() {
            "" => Ok(()),
            pointer => Err(format!(
                "the pointer `{pointer}` means nothing to a condition on the whole call; leave it out"
            )),
        };
        match &self.test {
            Test::Equals(_) | Test::Glob(_) => Ok(()),
            Test::Regex(expression) => {
                whole(expression).map(drop).map_err(|why| format!("`{expression}`: {why}"))
            }
            Test::Command(pattern) => {
                whole_call()?;
                check_program(&pattern.program)
            }
            Test::Paths(pattern) => match pattern.within.as_slice() {
                [] => Err("`within` is empty; name at least one folder".to_owned()),
                folders => folders.iter().try_for_each(|folder| check_folder(folder)),
            },
            Test::Annotations(asked) => {
                whole_call()?;
                if *asked == Annotations::default() {
                    return Err(
                        "`annotations` asks for nothing; name read_only, destructive or idempotent"
                            .to_owned(),
                    );
                }
                Ok(())
            }
        }
    }
}

fn check_pointer(pointer: &str) -> Result<(), String> {
    let escaped =
        pointer.split('~').skip(1).all(|rest| rest.starts_with('0') || rest.starts_with('1'));
    if (pointer.is_empty() || pointer.starts_with('/')) && escaped {
        Ok(())
    } else {
        Err(format!("`{pointer}` is not a JSON pointer; write it like /path or /options/0"))
    }
}

fn check_program(program: &str) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("the program `{program}` {why}"));
    if program.is_empty() {
        return Err("`program` is empty; name a program".to_owned());
    }
    if program.contains('/') && !program.starts_with('/') {
        return refuse(
            "is a relative path, which means another file in every folder; write a name or an absolute path",
        );
    }
    if program.starts_with('/') && (program.ends_with('/') || program.contains('*')) {
        return refuse("is not the path of one program; write all of it");
    }
    if program.split('/').any(|part| part == "..") {
        return refuse("holds `..`; write where it leads");
    }
    if program.contains(char::is_whitespace) {
        return refuse("holds a space; parameters have a list of their own");
    }
    Ok(())
}

fn check_folder(folder: &str) -> Result<(), String> {
    let refuse = |why: &str| Err(format!("the folder `{folder}` {why}"));
    if folder.is_empty() {
        return refuse("is empty; write . for the working directory");
    }
    if folder.starts_with('~') {
        return refuse("starts with ~, which only a shell knows; write the whole path");
    }
    if folder.split('/').any(|part| part == "..") {
        return refuse("holds `..`; write where it leads");
    }
    if folder.split('/').any(|part| part != "**" && part.contains("**")) {
        return refuse("joins ** to a name; it stands alone between slashes");
    }
    Ok(())
}
