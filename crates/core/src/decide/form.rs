//! Decides what happens when a running tool asks the person something.
//! Called by `decide`. The question waits in the same inbox as requests for approval; the call goes on running, and its
//! end takes the question back.

use crate::arguments;
use crate::chat::{Call, CallState, Request};
use crate::command::{Answer, Rejection};
use crate::display;
use crate::event::{
    ApprovalDecided, ApprovalRequested, Attendance, Choice, Decider, Decision, Event, Form,
};
use crate::ids::{ApprovalId, CallId, MessageId};
use crate::nesting;

use super::Draft;
use super::approval::{NOBODY, SHOWN_LIMIT, check_offered};

/// Questions of one call that may wait at the same time.
const OPEN_LIMIT: usize = 16;

impl Draft<'_> {
    pub(super) fn ask_person(
        &mut self,
        id: CallId,
        attempt: u32,
        question: String,
        form: Form,
    ) -> Result<(), Rejection> {
        let call = self.call(&id)?;
        if call.state != CallState::Executing || call.attempt != attempt {
            return Err(Rejection::Stale(format!("tool call {id}")));
        }
        if nesting::is_too_deep(&form.schema) || self.open_forms(&id).count() >= OPEN_LIMIT {
            let problem = format!("tool call {id} asks for too much at once");
            return Err(Rejection::InvalidAnswer(problem));
        }
        arguments::check_schema(&form.schema).map_err(|problem| {
            Rejection::InvalidAnswer(format!("the form of {id} cannot be used: {problem}"))
        })?;
        let approval = ApprovalId::next(&mut self.ids);
        let requested = ApprovalRequested {
            approval: approval.clone(),
            call: id,
            message: MessageId::next(&mut self.ids),
            question: display::reveal(&question).into_owned(),
            shown: display::shown(&form.schema, SHOWN_LIMIT).text,
            options: vec![Choice::Deny, Choice::ApproveOnce],
            suggestions: Vec::new(),
            expires_at: self.expiry(),
            binding: None,
            preview: None,
            voided: None,
            form: Some(form),
        };
        self.emit(Event::ApprovalRequested(requested));
        if self.attendance_of(&call) == Attendance::Unattended {
            let decision = Decision::Denied { reason: Some(NOBODY.to_owned()) };
            self.settle_form(&approval, &call, decision, Decider::Nobody);
        }
        Ok(())
    }

    pub(super) fn answer_form(
        &mut self,
        request: &Request,
        form: &Form,
        call: &Call,
        answer: Answer,
        by: String,
    ) -> Result<(), Rejection> {
        let decision = match answer {
            Answer::Deny { reason } => Decision::Denied { reason },
            Answer::Approve { scope, arguments, .. } => {
                check_offered(request, scope)?;
                let content = arguments.unwrap_or_else(|| serde_json::json!({}));
                let content =
                    arguments::validate(content, &form.schema).map_err(Rejection::InvalidAnswer)?;
                Decision::Answered { content }
            }
        };
        let approval = request.asked.approval.clone();
        self.settle_form(&approval, call, decision, Decider::Person(by));
        Ok(())
    }

    /// What a call still wanted to know when it ended.
    pub(super) fn withdraw_forms(&mut self, id: &CallId) {
        let open: Vec<ApprovalId> = self.open_forms(id).cloned().collect();
        for approval in open {
            let reason = "the call that asked has ended".to_owned();
            self.emit(Event::ApprovalWithdrawn { approval, reason });
        }
    }

    pub(super) fn attendance_of(&self, call: &Call) -> Attendance {
        match self.chat.turns.get(&call.made.turn) {
            Some(turn) => turn.attendance,
            None => self.chat.desk(&call.made.agent).attendance,
        }
    }

    fn open_forms<'a>(&'a self, id: &'a CallId) -> impl Iterator<Item = &'a ApprovalId> + 'a {
        self.chat
            .approvals
            .iter()
            .filter(|(_, request)| request.asked.form.is_some() && request.asked.call == *id)
            .map(|(approval, _)| approval)
    }

    fn settle_form(&mut self, approval: &ApprovalId, call: &Call, decision: Decision, by: Decider) {
        let message = MessageId::next(&mut self.ids);
        self.emit(Event::ApprovalDecided(ApprovalDecided {
            approval: approval.clone(),
            call: call.made.call.clone(),
            message,
            decision,
            by,
            binding: None,
        }));
    }
}
