//! Decides whether a tool call may run: allow, ask or deny, and on which ground.
//! Called by `decide` when a reply is recorded and when a grant is made. Never runs or remembers anything.
//!
//! Precedence: a matching `deny` always wins, wherever it stands; then rules people made by answering
//! `always`; then the first matching rule of the ordered set; then what the tool itself declares.
//! Only an `ask` can be settled by a grant of the chat.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::config::ToolSpec;
use crate::ids::{AgentId, ApprovalId, GrantId, RuleId};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Written by people as a set; the first that matches decides.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Made one by one, each by answering a request with `always`.
    #[serde(default)]
    pub granted: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub id: RuleId,
    pub ruling: Ruling,
    /// A tool's name, or a pattern in which `*` stands for anything.
    pub tool: String,
    /// Absent: every agent of the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// All of them must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The request whose answer made a rule, and who gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub approval: ApprovalId,
    pub by: String,
    pub at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    Allow,
    Ask,
    Deny,
}

/// A condition on one argument, found by JSON pointer. The empty pointer is all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    pub pointer: String,
    #[serde(flatten)]
    pub test: Test,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    Equals(Value),
    /// For strings; `*` stands for anything.
    Glob(String),
}

/// A permission for one agent, one tool, one chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    pub id: GrantId,
    pub agent: AgentId,
    pub tool: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
    pub approval: ApprovalId,
    pub by: String,
    pub at: Timestamp,
}

/// A ruling and its ground, kept in the log so that later settings do not change history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub ruling: Ruling,
    pub ground: Ground,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ground {
    Rule(RuleId),
    Grant(GrantId),
    /// No rule spoke: the tool's own declaration.
    Tool,
}

/// A narrower permission offered with a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suggestion {
    pub label: String,
    pub matches: Vec<Match>,
}

/// The call a verdict is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    pub agent: &'a AgentId,
    pub tool: &'a str,
    pub arguments: &'a Value,
}

/// What the rules and the chat's grants say of a call.
pub fn judge<'g>(
    policy: &Policy,
    grants: impl IntoIterator<Item = &'g Grant>,
    spec: &ToolSpec,
    question: Question<'_>,
) -> Verdict {
    let by_rule =
        |rule: &Rule| Verdict { ruling: rule.ruling, ground: Ground::Rule(rule.id.clone()) };
    let denial = policy
        .rules
        .iter()
        .chain(&policy.granted)
        .find(|rule| rule.ruling == Ruling::Deny && rule.covers(question));
    if let Some(rule) = denial {
        return by_rule(rule);
    }
    if let Some(rule) = policy.granted.iter().find(|rule| rule.covers(question)) {
        return by_rule(rule);
    }
    let verdict = match policy.rules.iter().find(|rule| rule.covers(question)) {
        Some(rule) => by_rule(rule),
        None if spec.approval.required => Verdict { ruling: Ruling::Ask, ground: Ground::Tool },
        None => Verdict { ruling: Ruling::Allow, ground: Ground::Tool },
    };
    if verdict.ruling == Ruling::Ask
        && let Some(grant) = grants.into_iter().find(|grant| grant.covers(question))
    {
        return Verdict { ruling: Ruling::Allow, ground: Ground::Grant(grant.id.clone()) };
    }
    verdict
}

/// Narrower permissions worth offering for a call, from the narrowest to the whole tool.
pub fn suggestions(question: Question<'_>) -> Vec<Suggestion> {
    let exactly = Match { pointer: String::new(), test: Test::Equals(question.arguments.clone()) };
    let mut offered =
        vec![Suggestion { label: "exactly this call".to_owned(), matches: vec![exactly] }];
    for key in ["command", "path", "url"] {
        if let Some(Value::String(value)) = question.arguments.get(key) {
            let test = Test::Equals(Value::String(value.clone()));
            offered.push(Suggestion {
                label: format!(
                    "{} with {key} `{}`",
                    question.tool,
                    crate::display::reveal_line(&crate::display::mask_text(value))
                ),
                matches: vec![Match { pointer: format!("/{key}"), test }],
            });
        }
    }
    offered.push(Suggestion { label: format!("any {} call", question.tool), matches: Vec::new() });
    offered
}

impl Rule {
    pub fn covers(&self, question: Question<'_>) -> bool {
        self.agent.as_ref().is_none_or(|agent| agent == question.agent)
            && glob(&self.tool, question.tool)
            && all_hold(&self.matches, question.arguments)
    }
}

impl Grant {
    pub fn covers(&self, question: Question<'_>) -> bool {
        &self.agent == question.agent
            && self.tool == question.tool
            && all_hold(&self.matches, question.arguments)
    }
}

pub fn all_hold(matches: &[Match], arguments: &Value) -> bool {
    matches.iter().all(|one| match (arguments.pointer(&one.pointer), &one.test) {
        (Some(value), Test::Equals(expected)) => value == expected,
        (Some(Value::String(text)), Test::Glob(pattern)) => glob(pattern, text),
        _ => false,
    })
}

/// Whether `text` fits a pattern in which `*` stands for any run of characters.
// One backtrack point is enough: an earlier `*` never has to give back what a later one could take.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.split_once(piece) {
            Some((_, after)) => text = after,
            None => return false,
        }
    }
    text.ends_with(last)
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
