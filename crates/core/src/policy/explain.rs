//! Decides how a verdict is explained: which rule decided, which others spoke, and what of a command line was not
//! understood. Called for people who test a policy. Never decides otherwise than `judge`.

use std::collections::BTreeSet;
use std::fmt;

use super::condition::Facts;
use super::index::Spoken;
use super::judge::{Hearing, each_command};
use super::{Grant, Ground, Policy, Preset, Question, Rule, Ruling, Verdict};
use crate::command_line::{Command, Gap};
use crate::config::ToolSpec;
use crate::display::{mask_text, reveal_line};
use crate::ids::RuleId;

/// A verdict and everything that had a say in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    pub verdict: Verdict,
    /// One for each command of a line; one without a command for any other call.
    pub commands: Vec<JudgedCommand>,
    /// Why it is not certain what the line runs.
    pub gaps: BTreeSet<Gap>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedCommand {
    pub command: Option<Command>,
    pub verdict: Verdict,
    /// Every rule that matched, the deciding one among them: denials first, then granted ones, then in their order.
    pub matched: Vec<MatchedRule>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchedRule {
    pub rule: RuleId,
    pub ruling: Ruling,
    pub description: Option<String>,
    /// It came from answering a request with `always`.
    pub granted: bool,
}

/// What the rules and the chat's grants say of a call, and why.
pub fn explain<'g>(
    policy: &Policy,
    grants: impl IntoIterator<Item = &'g Grant>,
    spec: &ToolSpec,
    question: Question<'_>,
) -> Explanation {
    let facts = Facts::new(question, Some(spec));
    let hearing = Hearing::new(policy, grants, spec, &facts);
    let commands = each_command(&facts)
        .into_iter()
        .map(|command| JudgedCommand {
            command: command.cloned(),
            verdict: hearing.verdict_on(command),
            matched: matched(policy, &hearing, command),
        })
        .collect();
    let verdict = hearing.verdict();
    let gaps = facts.line.as_ref().map(|line| line.gaps.clone()).unwrap_or_default();
    Explanation { verdict, commands, gaps }
}

fn matched(policy: &Policy, hearing: &Hearing<'_>, command: Option<&Command>) -> Vec<MatchedRule> {
    let of = |spoken: &Spoken<'_>, rules: &[Rule], granted: bool| -> Vec<MatchedRule> {
        let mut places = spoken.call.clone();
        places.extend(command.map(|command| spoken.about(command)).unwrap_or_default());
        places.sort_unstable();
        let rules = places.into_iter().filter_map(|place| rules.get(place));
        rules
            .map(|rule| MatchedRule {
                rule: rule.id.clone(),
                ruling: rule.ruling,
                description: rule.description.clone(),
                granted,
            })
            .collect()
    };
    let mut matched = of(&hearing.granted, &policy.granted, true);
    matched.extend(of(&hearing.rules, &policy.rules, false));
    matched.sort_by_key(|one| one.ruling != Ruling::Deny);
    matched
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ruling::Allow => "allow",
            Ruling::Ask => "ask",
            Ruling::Deny => "deny",
        })
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Preset::ReadOnly => "read-only",
            Preset::Ask => "ask",
            Preset::Trusted => "trusted",
        })
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ground::Rule(rule) => write!(f, "rule {rule}"),
            Ground::Grant(grant) => write!(f, "grant {grant} of the chat"),
            Ground::Preset(preset) => write!(f, "the preset {preset}"),
            Ground::CommandLine => f.write_str("a command line that is not certain"),
            Ground::Tool => f.write_str("what the tool declares"),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {}", self.ruling, self.ground)
    }
}

impl fmt::Display for MatchedRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {} ({}", self.rule, self.ruling)?;
        f.write_str(if self.granted { ", granted)" } else { ")" })?;
        match &self.description {
            Some(description) => write!(f, ": {}", reveal_line(&mask_text(description))),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict)?;
        for gap in &self.gaps {
            write!(f, "\n  not certain: {gap}")?;
        }
        for judged in &self.commands {
            match &judged.command {
                Some(command) => {
                    let command = command.to_string();
                    let command = mask_text(&command);
                    write!(f, "\n  {}: {}", reveal_line(&command), judged.verdict)?;
                }
                None if judged.matched.is_empty() => {}
                None => write!(f, "\n  the call: {}", judged.verdict)?,
            }
            for one in &judged.matched {
                write!(f, "\n    matched {one}")?;
            }
        }
        Ok(())
    }
}
