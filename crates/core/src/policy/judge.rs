//! Decides the verdict on a call: what the rules, the preset, the tool and the chat's grants make of it together.
//! Called by `decide` and by `explain`. Never changes a rule or a grant.

use super::condition::{Conditions, Facts};
use super::index::Spoken;
use super::pattern::glob;
use super::{Grant, Ground, Match, Policy, Preset, Question, Rule, RuleSet, Ruling, Verdict};
use crate::command_line::Command;
use crate::config::{Source, ToolSpec};
use crate::ids::RuleId;

/// What the rules and the chat's grants say of a call.
pub fn judge<'g>(
    policy: &Policy,
    grants: impl IntoIterator<Item = &'g Grant>,
    spec: &ToolSpec,
    question: Question<'_>,
) -> Verdict {
    let facts = Facts::new(question, Some(spec));
    let hearing = Hearing::new(policy, grants, spec, &facts);
    hearing.verdict()
}

/// What forbids a call, whoever permits it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Denial {
    Rule(RuleId),
    Preset(Preset),
}

/// Whether a rule or the preset denies a call. Without a declaration a tool is taken to write.
pub fn denial(policy: &Policy, spec: Option<&ToolSpec>, question: Question<'_>) -> Option<Denial> {
    let facts = Facts::new(question, spec);
    let (rules, granted) =
        (policy.rules.index().spoken(&facts), policy.granted.index().spoken(&facts));
    let each = each_command(&facts);
    let denied = each.iter().find_map(|command| {
        let found = Heard::new(&rules, *command).deny.map(|place| (&policy.rules, place));
        let (set, place) = found.or_else(|| {
            Heard::new(&granted, *command).deny.map(|place| (&policy.granted, place))
        })?;
        set.get(place).map(|rule| Denial::Rule(rule.id.clone()))
    });
    denied.or_else(|| {
        let writes = !spec.is_some_and(|spec| spec.read_only);
        let unruled = || each.iter().any(|command| Heard::new(&rules, *command).first.is_none());
        (policy.preset == Preset::ReadOnly && writes && unruled())
            .then_some(Denial::Preset(policy.preset))
    })
}

/// Whether a rule speaks about a call; an `allow`, whether it alone permits all of it.
pub(super) fn covers(rule: &Rule, question: Question<'_>, spec: Option<&ToolSpec>) -> bool {
    let concerned = rule.agent.as_ref().is_none_or(|agent| agent == question.agent)
        && glob(&rule.tool, question.tool);
    concerned && {
        let facts = Facts::new(question, spec);
        let conditions = Conditions::new(&rule.matches);
        match rule.ruling {
            Ruling::Allow => conditions.permit(&facts),
            Ruling::Ask | Ruling::Deny => conditions.touch(&facts),
        }
    }
}

pub(super) fn permits(matches: &[Match], question: Question<'_>, spec: Option<&ToolSpec>) -> bool {
    Conditions::new(matches).permit(&Facts::new(question, spec))
}

/// The commands to be judged one by one; a call without any is judged as a whole.
pub(super) fn each_command<'f>(facts: &'f Facts<'_>) -> Vec<Option<&'f Command>> {
    match facts.commands() {
        [] => vec![None],
        commands => commands.iter().map(Some).collect(),
    }
}

/// What a set of rules says about one command: the first rule that denies, and the first that does not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    pub deny: Option<usize>,
    pub first: Option<usize>,
}

impl Heard {
    fn new(spoken: &Spoken<'_>, command: Option<&Command>) -> Self {
        let (deny, first) = spoken.firsts(command, |_| true);
        Self { deny, first }
    }
}

/// One call before the policy.
#[derive(Debug)]
pub(super) struct Hearing<'a> {
    policy: &'a Policy,
    spec: &'a ToolSpec,
    facts: &'a Facts<'a>,
    pub rules: Spoken<'a>,
    pub granted: Spoken<'a>,
    grants: Vec<(&'a Grant, Conditions)>,
}

impl<'a> Hearing<'a> {
    pub fn new<'g: 'a>(
        policy: &'a Policy,
        grants: impl IntoIterator<Item = &'g Grant>,
        spec: &'a ToolSpec,
        facts: &'a Facts<'a>,
    ) -> Self {
        let question = facts.question;
        let grants = grants
            .into_iter()
            .filter(|grant| &grant.agent == question.agent && grant.tool == question.tool)
            .map(|grant| (grant, Conditions::new(&grant.matches)))
            .filter(|(_, conditions)| conditions.hold(facts, super::condition::Reach::Narrow))
            .collect();
        Self {
            policy,
            spec,
            facts,
            rules: policy.rules.index().spoken(facts),
            granted: policy.granted.index().spoken(facts),
            grants,
        }
    }

    /// The strictest verdict on any command is the call's.
    pub fn verdict(&self) -> Verdict {
        let mut strictest: Option<Verdict> = None;
        for command in each_command(self.facts) {
            let verdict = self.verdict_on(command);
            if strictest.as_ref().is_none_or(|found| found.ruling < verdict.ruling) {
                strictest = Some(verdict);
            }
        }
        strictest.unwrap_or(Verdict { ruling: Ruling::Ask, ground: Ground::Tool })
    }

    pub fn verdict_on(&self, command: Option<&Command>) -> Verdict {
        let rules = Heard::new(&self.rules, command);
        let granted = Heard::new(&self.granted, command);
        if let Some(place) = rules.deny {
            return self.by_rule(&self.policy.rules, place);
        }
        if let Some(place) = granted.deny {
            return self.by_rule(&self.policy.granted, place);
        }
        let (preset, spec) = (self.policy.preset, self.spec);
        if rules.first.is_none() && preset == Preset::ReadOnly && !spec.read_only {
            return Verdict { ruling: Ruling::Deny, ground: Ground::Preset(preset) };
        }
        let verdict = self.permanent(rules.first, granted.first, command);
        if verdict.ruling == Ruling::Ask
            && let Some(grant) = self.grant(command)
        {
            return Verdict { ruling: Ruling::Allow, ground: Ground::Grant(grant.id.clone()) };
        }
        verdict
    }

    /// What holds without the chat's grants.
    fn permanent(
        &self,
        rule: Option<usize>,
        granted: Option<usize>,
        command: Option<&Command>,
    ) -> Verdict {
        let certain = self.facts.is_certain();
        // Of a line that is not certain, one permission may name every word where an earlier one does not.
        let pinned = (!certain).then(|| {
            let index = self.policy.granted.index();
            self.granted.firsts(command, |place| index.pins(place, self.facts)).1
        });
        if let Some(place) = pinned.flatten() {
            return self.by_rule(&self.policy.granted, place);
        }
        let any =
            |set: &RuleSet, place| !self.is_guarded() && set.index().permits_any_command(place);
        let (verdict, pins) = match (granted, rule) {
            (Some(place), _) => {
                let granted = &self.policy.granted;
                (self.by_rule(granted, place), any(granted, place))
            }
            (None, Some(place)) => {
                let rules = &self.policy.rules;
                let pins = rules.index().pins(place, self.facts) || any(rules, place);
                (self.by_rule(rules, place), pins)
            }
            (None, None) => (self.unruled(), false),
        };
        if verdict.ruling == Ruling::Allow && !certain && !pins {
            return Verdict { ruling: Ruling::Ask, ground: Ground::CommandLine };
        }
        verdict
    }

    /// No rule speaks.
    fn unruled(&self) -> Verdict {
        let spec = self.spec;
        let preset = self.policy.preset;
        let trusted = match preset {
            // What only reads is as it declares itself: a page of the web is read, and its address tells something.
            Preset::Ask | Preset::ReadOnly => false,
            Preset::Trusted => {
                spec.read_only || spec.source == Source::Program && !spec.destructive
            }
        };
        match (trusted, spec.approval.required) {
            (true, _) => Verdict { ruling: Ruling::Allow, ground: Ground::Preset(preset) },
            (false, true) => Verdict { ruling: Ruling::Ask, ground: Ground::Tool },
            (false, false) => Verdict { ruling: Ruling::Allow, ground: Ground::Tool },
        }
    }

    fn grant(&self, command: Option<&Command>) -> Option<&'a Grant> {
        let certain = self.facts.is_certain();
        let permits = |conditions: &Conditions| {
            if conditions.commands.is_empty() {
                let any = conditions.is_empty() && !self.is_guarded();
                return certain || any || conditions.pin(self.facts);
            }
            certain
                && command.is_some_and(|command| {
                    conditions.cover(command, super::condition::Reach::Narrow)
                })
        };
        self.grants.iter().find(|(_, conditions)| permits(conditions)).map(|(grant, _)| *grant)
    }

    /// Whether what cannot be read might hide something that a rule treats otherwise. Where no rule does, a
    /// permission for any command is one.
    fn is_guarded(&self) -> bool {
        self.policy.rules.index().guards() || self.policy.granted.index().guards()
    }

    fn by_rule(&self, set: &[Rule], place: usize) -> Verdict {
        match set.get(place) {
            Some(rule) => Verdict { ruling: rule.ruling, ground: Ground::Rule(rule.id.clone()) },
            None => Verdict { ruling: Ruling::Ask, ground: Ground::Tool },
        }
    }
}
