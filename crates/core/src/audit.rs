//! Decides what an audit tells of an event: who did what, by which rule, with which result.
//! Derived event by event beside the other read models (`view::rows`) and, for a world's settings, by the stores.
//! Holds no secret it can recognise and no long text: those stay in the log. An entry is never edited, and outlives
//! the world it tells of.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Timestamp;
use crate::binding::{self, Facts};
use crate::chain::Recorded;
use crate::chat::{Call, CallState, Chat};
use crate::command::Scope;
use crate::display::{compact, mask_secrets, mask_text, reveal_line};
use crate::event::{
    ApprovalDecided, ApprovalRequested, Decider, Decision, Event, Outcome, Output, Permission,
    ToolCalled, ToolFinished,
};
use crate::ids::{AgentId, ApprovalId, CallId, ChatId, GrantId, RuleId, WorldId};
use crate::policy::{Ground, Verdict};

/// Characters of arguments that are kept, as JSON. More of them is in the log.
const LONGEST_ARGUMENTS: usize = 4_000;
/// Characters of a line of text: a reason, the first line of an error.
const LONGEST_LINE: usize = 300;
const LONGEST_QUESTION: usize = 1_000;
/// Characters of a tool's name: a model may invent one of any length.
const LONGEST_NAME: usize = 100;
/// Facts beside a result that are kept, and the characters of each.
const MOST_DETAILS: usize = 12;
const LONGEST_DETAIL: usize = 100;

/// What one event means to whoever asks later who did what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    pub at: Timestamp,
    pub world: WorldId,
    /// Absent for changes of a world's settings.
    pub chat: Option<ChatId>,
    pub agent: Option<AgentId>,
    pub tool: Option<String>,
    pub call: Option<CallId>,
    pub approval: Option<ApprovalId>,
    pub actor: Actor,
    /// The rule or grant by which it was so, or that was made or taken back.
    pub rule: Option<String>,
    #[serde(flatten)]
    pub what: What,
}

/// Who or what an entry is due to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "name", rename_all = "snake_case")]
pub enum Actor {
    Person(String),
    /// A person, by a permission given for the rest of a chat.
    Grant(String),
    /// A person, by a permission given for always.
    Rule(String),
    /// The agent of the entry.
    Agent,
    /// This program, in the course of its work.
    Program,
    /// Nobody could be asked.
    Nobody,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum What {
    /// A model called a tool. Without a verdict it was not a valid call; its `finished` entry says why.
    Called {
        arguments: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        working_directory: Option<String>,
        verdict: Option<Verdict>,
    },
    /// A person was asked, about exactly this.
    Requested {
        question: String,
        bound_to: Bound,
        /// What was different since an approval that does not hold any more.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        changes: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
    },
    Decided {
        decision: Answer,
        /// How far an approval reaches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        scope: Option<Scope>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What a person put in place of the model's arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edited_arguments: Option<Value>,
    },
    Expired,
    Withdrawn {
        reason: String,
    },
    Started {
        attempt: u32,
        /// What the call meant on this machine: the program, the directory.
        #[serde(default, skip_serializing_if = "Facts::is_empty")]
        facts: Facts,
    },
    Finished {
        outcome: Outcome,
        /// Since it was started; absent if it never was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        duration_ms: Option<u64>,
        /// The small ones: exit code, signal.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        details: Map<String, Value>,
        /// The first line of what it gave back, if it did not complete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    GrantRevoked,
    /// Somebody changed a world: its settings, an agent, the policy, a rule.
    Changed {
        entity: String,
        action: String,
        id: String,
    },
}

/// What a request was about, and an approval of it holds for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Of the stored arguments. Absent where they hold a secret: a short one could be guessed from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// What its tool found.
    #[serde(default, skip_serializing_if = "Facts::is_empty")]
    pub facts: Facts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Approved,
    Denied,
    /// What a running tool asked for was told.
    Answered,
}

/// A change of a world, as its own log tells it.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub world: &'a WorldId,
    pub at: Timestamp,
    pub by: &'a str,
    pub entity: &'a str,
    pub action: &'a str,
    pub id: &'a str,
}

/// What an audit tells of one event, given the state right before and right after it. Copied history is told of where
/// it happened.
pub fn entry(before: &Chat, after: &Chat, recorded: &Recorded) -> Option<Entry> {
    let scene = Scene { before, after, at: recorded.at };
    match &recorded.event {
        Event::ToolCalled(called) => Some(scene.called(called)),
        Event::ApprovalRequested(asked) => scene.requested(asked),
        Event::ApprovalDecided(decided) => scene.decided(decided),
        Event::ApprovalExpired { approval } => scene.of_request(approval, What::Expired),
        Event::ApprovalWithdrawn { approval, reason } => {
            scene.of_request(approval, What::Withdrawn { reason: line(reason) })
        }
        Event::ToolStarted { call, attempt, facts } => {
            let call = after.calls.get(call)?;
            let what = What::Started { attempt: *attempt, facts: kept_facts(facts) };
            Some(scene.of_call(call, Actor::Program, what))
        }
        Event::ToolFinished(finished) => scene.finished(finished),
        Event::GrantRevoked { grant, by } => Some(scene.revoked(grant, by)),
        _ => None,
    }
}

/// What an audit tells of a change of a world.
pub fn of_change(change: Change<'_>) -> Entry {
    let Change { world, at, by, entity, action, id } = change;
    Entry {
        at,
        world: world.clone(),
        chat: None,
        agent: (entity == "agent").then(|| AgentId::new(id)),
        tool: None,
        call: None,
        approval: None,
        actor: Actor::Person(by.to_owned()),
        rule: (entity == "rule").then(|| id.to_owned()),
        what: What::Changed {
            entity: entity.to_owned(),
            action: action.to_owned(),
            id: id.to_owned(),
        },
    }
}

struct Scene<'a> {
    before: &'a Chat,
    after: &'a Chat,
    at: Timestamp,
}

impl Scene<'_> {
    fn blank(&self, actor: Actor, what: What) -> Entry {
        Entry {
            at: self.at,
            world: self.after.world.clone(),
            chat: Some(self.after.id.clone()),
            agent: None,
            tool: None,
            call: None,
            approval: None,
            actor,
            rule: None,
            what,
        }
    }

    fn of_call(&self, call: &Call, actor: Actor, what: What) -> Entry {
        Entry {
            agent: Some(call.made.agent.clone()),
            tool: Some(name(&call.made.name)),
            call: Some(call.made.call.clone()),
            approval: call.approval.clone(),
            ..self.blank(actor, what)
        }
    }

    fn called(&self, called: &ToolCalled) -> Entry {
        let what = What::Called {
            arguments: kept(&called.arguments),
            working_directory: called.working_directory.clone(),
            verdict: called.verdict.clone(),
        };
        Entry {
            agent: Some(called.agent.clone()),
            tool: Some(name(&called.name)),
            call: Some(called.call.clone()),
            rule: called.verdict.as_ref().and_then(ground),
            ..self.blank(Actor::Agent, what)
        }
    }

    fn requested(&self, asked: &ApprovalRequested) -> Option<Entry> {
        let call = self.after.calls.get(&asked.call)?;
        let arguments = call.arguments();
        let facts = asked.binding.as_ref().map(|binding| kept_facts(&binding.facts));
        let changes = asked.voided.iter().flat_map(|voided| &voided.changes);
        let open = mask_secrets(arguments) == *arguments;
        let what = What::Requested {
            question: cut(&asked.question, LONGEST_QUESTION),
            bound_to: Bound {
                arguments: open.then(|| binding::digest(arguments.to_string().as_bytes())),
                working_directory: call.made.working_directory.clone(),
                facts: facts.unwrap_or_default(),
            },
            changes: changes.map(|change| line(change)).collect(),
            expires_at: asked.expires_at,
        };
        let rule = call.made.verdict.as_ref().and_then(ground);
        let approval = Some(asked.approval.clone());
        Some(Entry { rule, approval, ..self.of_call(call, Actor::Program, what) })
    }

    fn decided(&self, decided: &ApprovalDecided) -> Option<Entry> {
        let call = self.before.calls.get(&decided.call)?;
        let (actor, by_rule) = match &decided.by {
            Decider::Person(name) => (Actor::Person(name.clone()), None),
            Decider::Grant { grant, by } => (Actor::Grant(by.clone()), Some(grant.to_string())),
            Decider::Rule { rule, by } => (Actor::Rule(by.clone()), Some(rule.to_string())),
            Decider::Nobody => (Actor::Nobody, None),
        };
        let (what, made) = match &decided.decision {
            Decision::Approved { scope, arguments, reason } => {
                let (scope, made) = match scope {
                    Permission::Once => (Scope::Once, None),
                    Permission::Session(grant) => (Scope::Session, Some(grant.id.to_string())),
                    Permission::Always(rule) => (Scope::Always, Some(rule.id.to_string())),
                };
                let edited_arguments = arguments.as_ref().map(kept);
                let (decision, scope) = (Answer::Approved, Some(scope));
                let reason = reason.as_deref().map(line);
                (What::Decided { decision, scope, reason, edited_arguments }, made)
            }
            Decision::Answered { .. } => {
                let (decision, scope) = (Answer::Answered, Some(Scope::Once));
                (What::Decided { decision, scope, reason: None, edited_arguments: None }, None)
            }
            Decision::Denied { reason } => {
                let reason = reason.as_deref().map(line);
                let decision = Answer::Denied;
                (What::Decided { decision, scope: None, reason, edited_arguments: None }, None)
            }
        };
        let approval = Some(decided.approval.clone());
        Some(Entry { rule: by_rule.or(made), approval, ..self.of_call(call, actor, what) })
    }

    fn of_request(&self, approval: &ApprovalId, what: What) -> Option<Entry> {
        let request = self.before.approvals.get(approval)?;
        let call = self.before.calls.get(&request.asked.call)?;
        let approval = Some(approval.clone());
        Some(Entry { approval, ..self.of_call(call, Actor::Program, what) })
    }

    fn finished(&self, finished: &ToolFinished) -> Option<Entry> {
        let call = self.before.calls.get(&finished.call)?;
        let ran = call.started_at.filter(|_| call.state == CallState::Executing);
        let what = What::Finished {
            outcome: finished.outcome,
            duration_ms: ran.map(|from| milliseconds(from, self.at)),
            details: small(&finished.output),
            error: finished.outcome.is_error().then(|| line(&finished.output.text)),
        };
        Some(self.of_call(call, Actor::Program, what))
    }

    fn revoked(&self, grant: &GrantId, by: &str) -> Entry {
        let known = self.before.grants.get(grant);
        Entry {
            agent: known.map(|known| known.agent.clone()),
            tool: known.map(|known| name(&known.tool)),
            approval: known.map(|known| known.approval.clone()),
            rule: Some(grant.to_string()),
            ..self.blank(Actor::Person(by.to_owned()), What::GrantRevoked)
        }
    }
}

fn kept_facts(facts: &Facts) -> Facts {
    let kept = facts.iter().take(MOST_DETAILS);
    kept.map(|(name, value)| (name.clone(), line(value))).collect()
}

impl What {
    /// The names of all kinds, for whoever filters by one.
    pub const KINDS: [&'static str; 9] = [
        "called",
        "requested",
        "decided",
        "expired",
        "withdrawn",
        "started",
        "finished",
        "grant_revoked",
        "changed",
    ];

    /// The name under which entries are filtered.
    pub fn kind(&self) -> &'static str {
        match self {
            What::Called { .. } => "called",
            What::Requested { .. } => "requested",
            What::Decided { .. } => "decided",
            What::Expired => "expired",
            What::Withdrawn { .. } => "withdrawn",
            What::Started { .. } => "started",
            What::Finished { .. } => "finished",
            What::GrantRevoked => "grant_revoked",
            What::Changed { .. } => "changed",
        }
    }

    /// What it came to, where that is counted: an answer, or how a call ended.
    pub fn result(&self) -> Option<&'static str> {
        match self {
            What::Decided { decision: Answer::Approved, .. } => Some("approved"),
            What::Decided { decision: Answer::Denied, .. } => Some("denied"),
            What::Finished { outcome, .. } => Some(CallState::Ended(*outcome).name()),
            _ => None,
        }
    }
}

impl Actor {
    /// The name people look for: a person's, also where a permission of theirs decided; `nobody` where nobody could.
    pub fn person(&self) -> Option<&str> {
        match self {
            Actor::Person(name) | Actor::Grant(name) | Actor::Rule(name) => Some(name),
            Actor::Nobody => Some("nobody"),
            Actor::Agent | Actor::Program => None,
        }
    }
}

/// How one agent has used one tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    pub world: WorldId,
    pub tool: String,
    pub agent: AgentId,
    pub calls: u64,
    /// How many calls ended in which way, by the name of the outcome.
    pub outcomes: BTreeMap<String, u64>,
    pub asked: u64,
    pub approved: u64,
    pub denied: u64,
    pub expired: u64,
    /// Runs that have ended, and the time they took together and at most.
    pub runs: u64,
    pub total_ms: u64,
    pub longest_ms: u64,
    pub first: Timestamp,
    pub last: Timestamp,
}

impl Statistics {
    pub fn new(world: WorldId, tool: String, agent: AgentId, first: Timestamp) -> Self {
        Self {
            world,
            tool,
            agent,
            calls: 0,
            outcomes: BTreeMap::new(),
            asked: 0,
            approved: 0,
            denied: 0,
            expired: 0,
            runs: 0,
            total_ms: 0,
            longest_ms: 0,
            first,
            last: first,
        }
    }

    /// The time a run takes on average.
    pub fn mean_ms(&self) -> Option<u64> {
        self.total_ms.checked_div(self.runs)
    }
}

/// Adds entries up to statistics.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    sums: BTreeMap<(WorldId, String, AgentId), Statistics>,
}

impl Tally {
    pub fn add(&mut self, entry: &Entry) {
        let (Some(tool), Some(agent)) = (&entry.tool, &entry.agent) else { return };
        if !is_counted(&entry.what) {
            return;
        }
        let (world, tool, agent) = (entry.world.clone(), tool.clone(), agent.clone());
        let sums = self
            .sums
            .entry((world.clone(), tool.clone(), agent.clone()))
            .or_insert_with(|| Statistics::new(world, tool, agent, entry.at));
        sums.first = sums.first.min(entry.at);
        sums.last = sums.last.max(entry.at);
        count(sums, &entry.what);
    }

    /// By world, tool and agent.
    pub fn finish(self) -> Vec<Statistics> {
        self.sums.into_values().collect()
    }
}

fn is_counted(what: &What) -> bool {
    matches!(
        what,
        What::Called { .. }
            | What::Requested { .. }
            | What::Decided { .. }
            | What::Expired
            | What::Finished { .. }
    )
}

fn count(sums: &mut Statistics, what: &What) {
    match what {
        What::Called { .. } => sums.calls += 1,
        What::Requested { .. } => sums.asked += 1,
        What::Decided { decision: Answer::Approved, .. } => sums.approved += 1,
        What::Decided { decision: Answer::Denied, .. } => sums.denied += 1,
        What::Expired => sums.expired += 1,
        What::Finished { outcome, duration_ms, .. } => {
            let ending = CallState::Ended(*outcome).name().to_owned();
            *sums.outcomes.entry(ending).or_default() += 1;
            if let Some(duration) = duration_ms {
                sums.runs += 1;
                sums.total_ms += duration;
                sums.longest_ms = sums.longest_ms.max(*duration);
            }
        }
        _ => {}
    }
}

fn ground(verdict: &Verdict) -> Option<String> {
    match &verdict.ground {
        Ground::Rule(rule) => Some(RuleId::to_string(rule)),
        Ground::Grant(grant) => Some(GrantId::to_string(grant)),
        Ground::Tool | Ground::Preset(_) | Ground::CommandLine => None,
    }
}

/// Arguments without their secrets, and not without end. A call that was not valid has them as the text a model
/// wrote; only as a value do they show which word is a secret.
fn kept(arguments: &Value) -> Value {
    let read = arguments.as_str().and_then(|text| serde_json::from_str(text).ok());
    let arguments = match read {
        Some(value @ (Value::Object(_) | Value::Array(_))) => mask_secrets(&value),
        _ => mask_secrets(arguments),
    };
    let text = arguments.to_string();
    if text.len() <= LONGEST_ARGUMENTS {
        return arguments;
    }
    Value::String(cut(&compact(&arguments), LONGEST_ARGUMENTS))
}

fn name(tool: &str) -> String {
    cut(&reveal_line(tool), LONGEST_NAME)
}

/// The first line of a text, without secrets and hidden characters.
fn line(text: &str) -> String {
    let masked = mask_text(text.trim_start());
    let first = masked.lines().next().unwrap_or_default();
    cut(&reveal_line(first), LONGEST_LINE)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let (start, rest) = text.split_at_checked(end).unwrap_or_default();
            format!("{start}… {} more characters", rest.chars().count())
        }
    }
}

/// Facts that fit on a line: numbers, yes and no, short words.
fn small(output: &Output) -> Map<String, Value> {
    let Value::Object(details) = mask_secrets(&output.details) else {
        return Map::new();
    };
    let fits = |value: &Value| match value {
        Value::Bool(_) | Value::Number(_) => true,
        Value::String(text) => text.len() <= LONGEST_DETAIL,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    };
    let small =
        details.into_iter().filter(|(name, value)| name.len() <= LONGEST_DETAIL && fits(value));
    small.take(MOST_DETAILS).collect()
}

fn milliseconds(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.as_millisecond() - from.as_millisecond()).unwrap_or(0)
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
