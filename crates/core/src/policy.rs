//! Decides whether a tool call may run: allow, ask or deny, and on which ground.
//! Called by `decide` when a reply is recorded and when a permission is given. Never runs or remembers anything.
//!
//! Precedence: a matching `deny` always wins, wherever it stands; then rules people made by answering
//! `always`; then the first matching rule of the ordered set; then the preset; then what the tool itself declares.
//! Only an `ask` can be settled by a grant of the chat. What the preset `read_only` denies neither a grant nor an
//! `always` brings back: only a rule of the ordered set does, since whoever chose the preset writes those.
//!
//! A call of the shell tool is judged command by command, and the strictest verdict is the call's. An `allow`
//! reads its conditions narrowly and `ask` and `deny` read them widely; see `Test`. A line of which it is not
//! certain what it runs is asked about at least, unless a permission names exactly these arguments.

mod check;
mod condition;
mod diff;
mod document;
mod explain;
mod index;
mod judge;
mod paths;
mod pattern;
mod rule_set;
mod shown;
mod suggest;
mod write;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Timestamp;
use crate::config::ToolSpec;
use crate::ids::{AgentId, ApprovalId, GrantId, RuleId};

pub use check::Problem;
pub use condition::fits;
pub use diff::{Change, Past, diff};
pub use explain::{Explanation, JudgedCommand, MatchedRule, explain};
pub use judge::{Denial, denial, judge};
pub use rule_set::RuleSet;
pub use suggest::suggestions;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// What holds where no rule speaks.
    #[serde(default)]
    pub preset: Preset,
    /// Written by people as a set; the first that matches decides.
    #[serde(default)]
    pub rules: RuleSet,
    /// Made one by one, each by answering a request with `always`.
    #[serde(default)]
    pub granted: RuleSet,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// Tools that only read are as they declare, everything else is denied.
    #[serde(alias = "read-only")]
    ReadOnly,
    /// What each tool declares.
    #[default]
    Ask,
    /// Tools of the program that do not destroy are allowed, and of servers and clients those that only read:
    /// what those say of their tools is known only where somebody vouched for it. The rest is as declared.
    Trusted,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "write::Written")]
pub struct Rule {
    pub id: RuleId,
    pub ruling: Ruling,
    /// A tool's name, or a pattern in which `*` stands for anything.
    pub tool: String,
    /// Absent: every agent of the world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// All of them must hold. A rule may also be written with `command`, `paths` and `annotations` beside this
    /// list; they are conditions like any other and are stored in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<Match>,
    /// What it is for, in its author's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Calls that show what is meant; checked whenever the rule is saved.
    #[serde(default, skip_serializing_if = "Examples::is_empty")]
    pub examples: Examples,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Examples {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_match: Vec<Example>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub must_not_match: Vec<Example>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Example {
    pub tool: String,
    #[serde(default)]
    pub arguments: Value,
    /// Absent: the rule's own agent, or any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// The request whose answer made a rule, and who gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    pub approval: ApprovalId,
    pub by: String,
    pub at: Timestamp,
}

/// From the weakest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    Allow,
    Ask,
    Deny,
}

/// A condition on a call, or on one argument found by JSON pointer. The empty pointer is all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Match {
    #[serde(default)]
    pub pointer: String,
    #[serde(flatten)]
    pub test: Test,
}

/// What a condition asks. Where an `allow` must not cover too much and a `deny` not too little, both are stated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Test {
    Equals(Value),
    /// For strings; `*` stands for anything.
    Glob(String),
    /// For strings; the whole of it must match, as if the expression stood between `\A` and `\z`.
    Regex(String),
    /// A command of the line is this one; for calls of the shell tool. The pointer stays empty.
    Command(CommandPattern),
    /// The call's paths, or those at the pointer, lie in one of these folders.
    Paths(PathPattern),
    /// What the tool says about itself. The pointer stays empty.
    Annotations(Annotations),
}

/// A program and how its parameters begin.
///
/// An `allow` covers a bare name when the call says just that name or its path in a folder of the system: a
/// `./git` only poses as `git`. Its parameters are compared from the first one on, and any may follow.
/// `ask` and `deny` cover a name in whatever folder and case, and find their parameters in this order anywhere
/// among the command's: `git -C elsewhere push` is a push.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandPattern {
    /// A name, in which `*` stands for anything, or an absolute path.
    pub program: String,
    /// Each a word, in which `*` stands for anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
}

/// Folders, each with everything below it.
///
/// In a folder's path `*` stands for a part of one name and `**` for any number of names. Relative ones start at
/// the working directory. Paths are compared as they are written, after `.` and `..` are taken out; links are the
/// tool's to resolve. An `allow` needs every path of the call inside and at least one; `ask` and `deny` need one,
/// and count a path of which it cannot be said where it leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathPattern {
    pub within: Vec<String>,
}

/// Each that is given must be what the tool's declaration says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotations {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
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
    /// No rule spoke: the policy's preset.
    Preset(Preset),
    /// It would be allowed, but it is not certain what the command line runs.
    CommandLine,
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
    /// Where relative paths start.
    pub directory: Option<&'a str>,
}

impl Rule {
    /// A rule about a tool without further conditions.
    pub fn new(id: impl Into<RuleId>, ruling: Ruling, tool: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            ruling,
            tool: tool.into(),
            agent: None,
            matches: Vec::new(),
            description: None,
            examples: Examples::default(),
            origin: None,
        }
    }

    /// Whether it speaks about a call; an `allow`, whether it alone permits all of it.
    pub fn covers(&self, question: Question<'_>) -> bool {
        judge::covers(self, question, None)
    }
}

impl Grant {
    /// Whether it alone permits all of a call.
    pub fn covers(&self, question: Question<'_>) -> bool {
        &self.agent == question.agent
            && self.tool == question.tool
            && judge::permits(&self.matches, question, None)
    }
}

impl Examples {
    pub fn is_empty(&self) -> bool {
        self.must_match.is_empty() && self.must_not_match.is_empty()
    }
}

impl Annotations {
    pub fn of(spec: &ToolSpec) -> Self {
        Self {
            read_only: Some(spec.read_only),
            destructive: Some(spec.destructive),
            idempotent: Some(spec.idempotent),
        }
    }

    /// Whether what is asked for is what is declared.
    fn hold(&self, declared: &Annotations) -> bool {
        let same =
            |asked: Option<bool>, declared: Option<bool>| asked.is_none() || asked == declared;
        same(self.read_only, declared.read_only)
            && same(self.destructive, declared.destructive)
            && same(self.idempotent, declared.idempotent)
    }
}

impl Match {
    pub fn command(program: impl Into<String>, parameters: Vec<String>) -> Self {
        let pattern = CommandPattern { program: program.into(), parameters };
        Self { pointer: String::new(), test: Test::Command(pattern) }
    }

    pub fn within(folders: Vec<String>) -> Self {
        let test = Test::Paths(PathPattern { within: folders });
        Self { pointer: String::new(), test }
    }
}

#[cfg(test)]
mod hostile_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod reach_tests;
#[cfg(test)]
mod suggest_tests;
#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
