//! A policy as clients read it and may send it back, and what a trial of one tells.
//! Conditions are shown as they are stored, secrets masked.

use std::collections::BTreeMap;

use agent_world_core::command_line::Command;
use agent_world_core::config::World;
use agent_world_core::display::{mask_secrets, mask_text, reveal_line};
use agent_world_core::policy::{self, Explanation, JudgedCommand, MatchedRule, Ruling};
use agent_world_core::unambiguous::Unambiguous;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::problem::Problem;

/// What agents may do. A matching `deny` always wins; then what was granted with `always`; then the first rule that matches;
/// then the preset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Policy {
    /// `read_only`, `ask` or `trusted`: what holds where no rule speaks.
    pub preset: String,
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// Made by answering a request with `always`. A document that is sent cannot change them.
    #[serde(default)]
    pub granted: Vec<Rule>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Rule {
    pub id: String,
    /// `allow`, `ask` or `deny`.
    pub ruling: String,
    /// A tool's name, or a pattern in which `*` stands for anything.
    pub tool: String,
    /// Absent: every agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// All of them must hold: each has one of `equals`, `glob`, `regex`, `command`, `paths`, `annotations`, and where it is
    /// about one argument, its `pointer`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub matches: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Calls in `must_match` and `must_not_match`, checked whenever the rule is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub examples: Option<Value>,
    /// The `approval` whose answer made it, `by` whom and `at` what time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub origin: Option<Value>,
}

impl Policy {
    pub fn from_settings(policy: &policy::Policy) -> Result<Self, Problem> {
        serde_json::from_value(policy.shown()).map_err(Problem::internal)
    }
}

/// A call that is tried on a policy without being made.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrialInput {
    /// Who would make it; otherwise the main agent, or the first.
    #[serde(default)]
    pub agent: Option<String>,
    pub tool: String,
    #[serde(default = "no_arguments")]
    #[schema(value_type = Object)]
    pub arguments: Value,
    /// A preset and rules that are asked in place of the world's own; what was granted with `always` holds all the same.
    #[serde(default)]
    #[schema(value_type = Option<Object>)]
    pub policy: Option<Unambiguous>,
}

/// Another policy, to be compared with the one in force.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComparisonInput {
    /// A preset and rules, as `PUT` takes them.
    #[schema(value_type = Object)]
    pub policy: Unambiguous,
    /// How many of the newest calls are looked at: 10,000 unless said.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 100_000)]
    pub limit: Option<usize>,
}

/// What another policy would have decided otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Comparison {
    pub world_id: String,
    /// The calls that were looked at.
    pub calls: usize,
    /// How many of them would be decided otherwise, by `before -> after`.
    pub changes: BTreeMap<String, usize>,
    /// Calls of tools that are not there now: how they would be judged is not known.
    pub without_tool: usize,
    /// There are older calls than were looked at.
    pub older_calls_left_out: bool,
    /// Newest first.
    pub differences: Vec<Difference>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Difference {
    pub tool_call_id: String,
    pub agent_id: String,
    pub tool: String,
    /// Secrets masked.
    #[schema(value_type = Object)]
    pub arguments: Value,
    pub before: Side,
    pub after: Side,
    /// The same in words.
    pub explanation: String,
}

/// What one policy says of a call.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Side {
    #[schema(value_type = String)]
    pub verdict: Ruling,
    #[schema(value_type = Object)]
    pub ground: Value,
}

impl Difference {
    pub fn new(change: &policy::Change) -> Self {
        let side = |verdict: &policy::Verdict| Side {
            verdict: verdict.ruling,
            ground: json!(verdict.ground),
        };
        Self {
            tool_call_id: change.call.id.clone(),
            agent_id: change.call.agent.to_string(),
            tool: reveal_line(&change.call.spec.name).into_owned(),
            arguments: mask_secrets(&change.call.arguments),
            before: side(&change.before),
            after: side(&change.after),
            explanation: change.to_string(),
        }
    }
}

fn no_arguments() -> Value {
    json!({})
}

/// What the rules say of a call, and why.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Trial {
    pub world_id: String,
    pub agent_id: String,
    pub tool: String,
    /// As the call would be stored, secrets masked.
    #[schema(value_type = Object)]
    pub arguments: Value,
    /// Whether the agent is given the tool at all.
    pub offered: bool,
    /// `allow`, `ask` or `deny`.
    #[schema(value_type = String)]
    pub verdict: Ruling,
    /// What decided: `{rule}`, `{preset}`, `"tool"` or `"command_line"`.
    #[schema(value_type = Object)]
    pub ground: Value,
    /// The same in words.
    pub explanation: String,
    /// Each command of a line; one without `command` for any other call.
    pub commands: Vec<JudgedPart>,
    /// Why it is not certain what a line runs.
    pub not_certain: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct JudgedPart {
    #[schema(value_type = Option<Object>)]
    pub command: Option<Value>,
    #[schema(value_type = String)]
    pub verdict: Ruling,
    #[schema(value_type = Object)]
    pub ground: Value,
    /// Every rule that matched, the deciding one among them.
    pub matched: Vec<Matched>,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Matched {
    pub rule: String,
    #[schema(value_type = String)]
    pub ruling: Ruling,
    pub granted: bool,
    pub description: Option<String>,
}

impl Trial {
    pub fn new(
        world: &World,
        agent: &agent_world_core::config::Agent,
        tool: &str,
        arguments: &Value,
        explanation: &Explanation,
    ) -> Self {
        Self {
            world_id: world.id.to_string(),
            agent_id: agent.id.to_string(),
            tool: tool.to_owned(),
            arguments: mask_secrets(arguments),
            offered: agent.may_see(tool),
            verdict: explanation.verdict.ruling,
            ground: json!(explanation.verdict.ground),
            explanation: explanation.to_string(),
            commands: explanation.commands.iter().map(judged).collect(),
            not_certain: explanation.gaps.iter().map(ToString::to_string).collect(),
        }
    }
}

fn judged(judged: &JudgedCommand) -> JudgedPart {
    let command = |command: &Command| {
        mask_secrets(&json!({ "command": command.program, "parameters": command.parameters }))
    };
    JudgedPart {
        command: judged.command.as_ref().map(command),
        verdict: judged.verdict.ruling,
        ground: json!(judged.verdict.ground),
        matched: judged.matched.iter().map(matched).collect(),
    }
}

fn matched(one: &MatchedRule) -> Matched {
    Matched {
        rule: one.rule.to_string(),
        ruling: one.ruling,
        granted: one.granted,
        description: one.description.as_deref().map(|text| mask_text(text).into_owned()),
    }
}
