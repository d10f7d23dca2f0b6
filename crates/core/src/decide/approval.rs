//! Decides what an answer means for a waiting tool call.
//! Called by `decide`. What an answer is about comes from the log; what its sender says is only compared with it.
//! Never runs the tool; see `runtime::effects::tool`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::arguments;
use crate::binding::{Binding, Facts, Prepared};
use crate::chat::{Call, Request};
use crate::command::{Answer, AnswerApproval, Claims, Rejection, Scope, UNATTENDED};
use crate::config::{Source, ToolSpec};
use crate::display;
use crate::event::{
    ApprovalDecided, ApprovalRequested, Attendance, Choice, Decider, Decision, Event, Outcome,
    Output, Permission, Voided,
};
use crate::ids::{ApprovalId, CallId, GrantId, MessageId, RuleId};
use crate::policy::{self, Denial, Grant, Match, Origin, Question, Rule, Ruling};

use super::Draft;

/// Characters of the arguments a person is shown at most. Beyond that `always` is not offered.
pub(super) const SHOWN_LIMIT: usize = 20_000;

impl Draft<'_> {
    pub(super) fn request_approval(
        &mut self,
        id: &CallId,
        spec: &ToolSpec,
        attendance: Attendance,
        prepared: Option<Prepared>,
        voided: Option<Voided>,
    ) {
        let Some(call) = self.chat.calls.get(id).cloned() else {
            return;
        };
        let question = question_of(&call);
        let shown = display::shown(call.arguments(), SHOWN_LIMIT);
        let preview = prepared.as_ref().and_then(|prepared| prepared.preview.as_deref());
        let preview = preview.map(cut_preview);
        let cut = preview.as_ref().is_some_and(|preview| !preview.complete);
        let complete = shown.complete && !cut;
        let binding = prepared.map(|prepared| Binding::new(call.arguments(), prepared.facts));
        let approval = ApprovalId::next(&mut self.ids);
        let requested = ApprovalRequested {
            approval: approval.clone(),
            call: id.clone(),
            message: MessageId::next(&mut self.ids),
            question: match &spec.approval.message {
                Some(template) => display::fill_template(template, call.arguments()),
                None => {
                    let tool = display::reveal_line(&spec.name);
                    format!("{} wants to run {tool}", call.made.agent)
                }
            },
            shown: shown.text,
            options: options(spec, complete),
            suggestions: policy::suggestions(question),
            expires_at: self.expiry(),
            binding: Some(binding.unwrap_or_else(|| Binding::new(call.arguments(), Facts::new()))),
            preview: preview.map(|preview| preview.text),
            voided,
            form: None,
        };
        self.emit(Event::ApprovalRequested(requested));
        if attendance == Attendance::Unattended {
            let decision = Decision::Denied { reason: Some(NOBODY.to_owned()) };
            self.settle(&approval, &call, decision, Decider::Nobody);
        }
    }

    /// What was approved is not what would run: nothing does, and the person is asked about what is there now. No
    /// permission settles that; somebody has to look.
    pub(super) fn ask_again(&mut self, call: &Call, changes: Vec<String>, prepared: Prepared) {
        let id = &call.made.call;
        let (spec, approval) = match (self.tool(&call.made.name), call.approval.clone()) {
            (Some(spec), Some(approval)) => (spec, approval),
            _ => {
                let text = format!("error: not executed: {}", changes.join("; "));
                self.end_call(id, Outcome::Failed, Output::text(text));
                self.after_call(call);
                return;
            }
        };
        let voided = Some(Voided { approval, changes });
        let attendance = self.attendance_of(call);
        self.request_approval(id, &spec, attendance, Some(prepared), voided);
        self.after_call(call);
    }

    pub(super) fn answer_approval(&mut self, sent: AnswerApproval) -> Result<(), Rejection> {
        let request = self.pending(&sent.approval)?;
        let call = self.call_of(&request)?;
        // Whoever keeps the time may be late, or not running at all.
        if let Some(at) = request.asked.expires_at.filter(|at| *at <= self.at) {
            return Err(Rejection::ApprovalExpired { approval: sent.approval, at });
        }
        self.check_claims(&sent.approval, &sent.claims, &call)?;
        if let Some(form) = &request.asked.form {
            return self.answer_form(&request, form, &call, sent.answer, sent.by);
        }
        match sent.answer {
            Answer::Deny { reason } => {
                let decision = Decision::Denied { reason: said(reason) };
                self.settle(&sent.approval, &call, decision, Decider::Person(sent.by));
            }
            Answer::Approve { scope, matches, arguments, reason } => {
                check_offered(&request, scope)?;
                let edited = self.check_edited(&call, arguments)?;
                let approved = edited.as_ref().unwrap_or(call.arguments());
                let binding = match (&edited, sent.look) {
                    (Some(_), Some(Err(problem))) => {
                        return Err(Rejection::InvalidArguments(problem));
                    }
                    (Some(edited), Some(Ok(prepared))) => {
                        Some(Binding::new(edited, prepared.facts))
                    }
                    (Some(edited), None) => Some(Binding::new(edited, Facts::new())),
                    (None, _) => None,
                };
                let question = Question { arguments: approved, ..question_of(&call) };
                match self.denial(question) {
                    Some(Denial::Rule(rule)) => return Err(Rejection::DeniedByRule { rule }),
                    Some(Denial::Preset(preset)) => {
                        return Err(Rejection::DeniedByPreset { preset });
                    }
                    None => {}
                }
                let spec = self.rules.tools.get(&call.made.name).map(Arc::as_ref);
                if !policy::fits(&matches, question, spec) {
                    return Err(Rejection::MatchDoesNotCover);
                }
                let scope = self.permission(scope, matches, &call, &sent.approval, &sent.by);
                let reason = said(reason);
                let decision =
                    Decision::Approved { scope: scope.clone(), arguments: edited, reason };
                let by = Decider::Person(sent.by.clone());
                self.settle_bound(&sent.approval, &call, decision, by, binding);
                self.sweep(&scope, &sent.by);
            }
        }
        self.after_call(&call);
        Ok(())
    }

    fn check_claims(
        &self,
        approval: &ApprovalId,
        claims: &Claims,
        call: &Call,
    ) -> Result<(), Rejection> {
        let mismatch = |field, stated: String, actual: String| {
            Err(Rejection::ClaimMismatch { approval: approval.clone(), field, stated, actual })
        };
        if let Some(world) = claims.world.as_ref().filter(|world| **world != self.chat.world) {
            return mismatch("world", world.to_string(), self.chat.world.to_string());
        }
        if let Some(agent) = claims.agent.as_ref().filter(|agent| **agent != call.made.agent) {
            return mismatch("agent", agent.to_string(), call.made.agent.to_string());
        }
        if let Some(tool) = claims.tool.as_ref().filter(|tool| **tool != call.made.name) {
            return mismatch("tool", tool.clone(), call.made.name.clone());
        }
        match &claims.arguments {
            Some(stated) if stated != call.arguments() => mismatch(
                "arguments",
                display::shown(stated, SHOWN_LIMIT).text,
                display::shown(call.arguments(), SHOWN_LIMIT).text,
            ),
            _ => Ok(()),
        }
    }

    /// Edited arguments are held to the same schema as the model's.
    fn check_edited(&self, call: &Call, edited: Option<Value>) -> Result<Option<Value>, Rejection> {
        let Some(edited) = edited else {
            return Ok(None);
        };
        let name = &call.made.name;
        let edited = match self.rules.tools.schema(name) {
            Some(schema) => schema.validate(edited),
            None => match self.chat.client_tool(name) {
                Some(spec) => arguments::validate(edited, &spec.parameters),
                None => Err(format!("the tool `{name}` is not available any more")),
            },
        };
        let edited = edited.map_err(Rejection::InvalidArguments)?;
        Ok(Some(edited).filter(|edited| edited != call.arguments()))
    }

    fn permission(
        &mut self,
        scope: Scope,
        matches: Vec<Match>,
        call: &Call,
        approval: &ApprovalId,
        by: &str,
    ) -> Permission {
        let (agent, tool) = (call.made.agent.clone(), call.made.name.clone());
        match scope {
            Scope::Once => Permission::Once,
            Scope::Session => Permission::Session(Grant {
                id: GrantId::next(&mut self.ids),
                agent,
                tool,
                matches,
                approval: approval.clone(),
                by: by.to_owned(),
                at: self.at,
            }),
            Scope::Always => Permission::Always(Rule {
                agent: Some(agent),
                matches,
                origin: Some(Origin { approval: approval.clone(), by: by.to_owned(), at: self.at }),
                ..Rule::new(RuleId::next(&mut self.ids), Ruling::Allow, tool)
            }),
        }
    }

    /// A permission settles at once the other waiting requests it covers.
    fn sweep(&mut self, scope: &Permission, by: &str) {
        let by = by.to_owned();
        match scope {
            Permission::Once => {}
            Permission::Session(grant) => {
                let decider = Decider::Grant { grant: grant.id.clone(), by };
                self.settle_all(&decider, |question| grant.covers(question));
            }
            Permission::Always(rule) => {
                let decider = Decider::Rule { rule: rule.id.clone(), by };
                self.settle_all(&decider, |question| rule.covers(question));
            }
        }
    }

    /// Rules granted in other chats of the world settle what they cover here.
    pub(super) fn review_approvals(&mut self) -> Result<(), Rejection> {
        let granted = self.rules.world.policy.granted.clone();
        for rule in granted.iter().filter(|rule| rule.ruling == Ruling::Allow) {
            let by = rule.origin.as_ref().map(|origin| origin.by.clone()).unwrap_or_default();
            let decider = Decider::Rule { rule: rule.id.clone(), by };
            self.settle_all(&decider, |question| rule.covers(question));
        }
        Ok(())
    }

    fn settle_all(&mut self, decider: &Decider, covers: impl Fn(Question<'_>) -> bool) {
        let waiting: Vec<(ApprovalId, Arc<Call>)> = self
            .chat
            .approvals
            .iter()
            .filter(|(_, request)| request.asked.form.is_none() && request.asked.voided.is_none())
            .filter_map(|(id, request)| {
                Some((id.clone(), Arc::clone(self.chat.calls.get(&request.asked.call)?)))
            })
            .collect();
        for (approval, call) in waiting {
            if covers(question_of(&call)) && self.denial(question_of(&call)).is_none() {
                let scope = Permission::Once;
                let decision = Decision::Approved { scope, arguments: None, reason: None };
                self.settle(&approval, &call, decision, decider.clone());
                self.after_call(&call);
            }
        }
    }

    /// A denial is stronger than any permission, also one written after the request was made.
    pub(super) fn denial(&self, question: Question<'_>) -> Option<Denial> {
        let spec = self.rules.tools.get(question.tool).map(Arc::as_ref);
        policy::denial(&self.rules.world.policy, spec, question)
    }

    pub(super) fn expire_approvals(&mut self) -> Result<(), Rejection> {
        let now = self.at;
        let expired: Vec<Arc<Request>> = self
            .chat
            .approvals
            .values()
            .filter(|request| request.asked.expires_at.is_some_and(|at| at <= now))
            .cloned()
            .collect();
        for request in expired {
            let call = self.call_of(&request)?;
            self.emit(Event::ApprovalExpired { approval: request.asked.approval.clone() });
            if request.asked.form.is_some() {
                continue;
            }
            let text = "not executed: nobody answered the request for approval in time";
            self.end_unstarted(&call, Outcome::Expired, text.to_owned());
            self.after_call(&call);
        }
        Ok(())
    }

    pub(super) fn revoke_grant(&mut self, grant: GrantId, by: String) -> Result<(), Rejection> {
        if !self.chat.grants.contains_key(&grant) {
            return Err(Rejection::UnknownGrant(grant));
        }
        self.emit(Event::GrantRevoked { grant, by });
        Ok(())
    }

    fn settle(&mut self, approval: &ApprovalId, call: &Call, decision: Decision, by: Decider) {
        self.settle_bound(approval, call, decision, by, None);
    }

    /// Records one decision, and the end of a call that was denied.
    fn settle_bound(
        &mut self,
        approval: &ApprovalId,
        call: &Call,
        decision: Decision,
        by: Decider,
        binding: Option<Binding>,
    ) {
        let denial = match (&decision, &by) {
            (Decision::Approved { .. } | Decision::Answered { .. }, _) => None,
            (Decision::Denied { reason: Some(reason) }, Decider::Nobody) => Some(reason.clone()),
            // A program decided on its own, in the name of somebody who was not there.
            (Decision::Denied { reason: Some(reason) }, _) if reason.starts_with(UNATTENDED) => {
                Some(format!("denied: {reason}"))
            }
            (Decision::Denied { reason: Some(reason) }, _) => {
                Some(format!("denied by the user: {reason}"))
            }
            (Decision::Denied { reason: None }, _) => Some("denied by the user".to_owned()),
        };
        let message = MessageId::next(&mut self.ids);
        self.emit(Event::ApprovalDecided(ApprovalDecided {
            approval: approval.clone(),
            call: call.made.call.clone(),
            message,
            decision,
            by,
            binding,
        }));
        if let Some(text) = denial {
            self.end_unstarted(call, Outcome::Denied, text);
        }
    }

    fn pending(&self, id: &ApprovalId) -> Result<Arc<Request>, Rejection> {
        self.chat
            .approvals
            .get(id)
            .cloned()
            .ok_or_else(|| Rejection::ApprovalNotPending(id.clone()))
    }

    fn call_of(&self, request: &Request) -> Result<Arc<Call>, Rejection> {
        let id = &request.asked.call;
        self.chat.calls.get(id).cloned().ok_or_else(|| Rejection::Stale(format!("tool call {id}")))
    }

    pub(super) fn expiry(&self) -> Option<crate::Timestamp> {
        let seconds = self.rules.world.approval_timeout_seconds?;
        self.at.checked_add(Duration::from_secs(seconds)).ok()
    }
}

pub(super) const NOBODY: &str = "denied: this needs approval and nobody can be asked in this run";

/// What a tool leaves to the person. Something that cannot be shown in full is not permitted for ever, nor is a tool
/// whose name a rule would take for a pattern.
fn options(spec: &ToolSpec, complete: bool) -> Vec<Choice> {
    let all = [Choice::Deny, Choice::ApproveOnce, Choice::ApproveSession, Choice::ApproveAlways];
    let left = |choice: &Choice| match (choice, &spec.approval.options) {
        (Choice::Deny, _) => true,
        // Whichever client comes next may offer a tool of that name.
        (Choice::ApproveAlways, _) if matches!(spec.source, Source::Client(_)) => false,
        (Choice::ApproveAlways, _) if !complete || spec.name.contains('*') => false,
        (choice, Some(options)) => options.contains(choice),
        (_, None) => true,
    };
    all.into_iter().filter(left).collect()
}

fn cut_preview(preview: &str) -> display::Shown {
    let masked = display::mask_text(preview);
    let complete = masked == preview;
    // Where its tool has revealed it, doing so again would pass what is hidden off as typed.
    let text = display::reveal_once(&masked);
    match text.char_indices().nth(SHOWN_LIMIT) {
        None => display::Shown { text: text.into_owned(), complete },
        Some((end, _)) => {
            let (start, rest) = text.split_at_checked(end).unwrap_or_default();
            let left_out = rest.chars().count();
            let text = format!("{start}\n… {left_out} more characters not shown");
            display::Shown { text, complete: false }
        }
    }
}

pub(super) fn check_offered(request: &Request, scope: Scope) -> Result<(), Rejection> {
    let (choice, name) = match scope {
        Scope::Once => (Choice::ApproveOnce, "once"),
        Scope::Session => (Choice::ApproveSession, "session"),
        Scope::Always => (Choice::ApproveAlways, "always"),
    };
    if request.asked.options.contains(&choice) {
        Ok(())
    } else {
        Err(Rejection::NotOffered { approval: request.asked.approval.clone(), scope: name })
    }
}

pub(super) fn question_of(call: &Call) -> Question<'_> {
    Question {
        agent: &call.made.agent,
        tool: &call.made.name,
        arguments: call.arguments(),
        directory: call.made.working_directory.as_deref(),
    }
}

/// A reason that says something.
fn said(reason: Option<String>) -> Option<String> {
    reason.filter(|reason| !reason.trim().is_empty())
}
