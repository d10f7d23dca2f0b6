//! Keeps track of which running call waits for which answer. The questions themselves are in the log; this only knows
//! whom to wake. Used by the chat's task.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_world_core::chain::Recorded;
use agent_world_core::chat::Chat;
use agent_world_core::event::{Decision, Event};
use agent_world_core::ids::ApprovalId;
use agent_world_core::view::ApprovalState;
use agent_world_tools::person::Answer;
use tokio::sync::oneshot;

#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: BTreeMap<ApprovalId, oneshot::Sender<Answer>>,
}

impl Questions {
    pub fn wait(&mut self, approval: ApprovalId, answer: oneshot::Sender<Answer>) {
        self.waiting.insert(approval, answer);
    }

    /// Wakes whoever waited for what has just been recorded.
    pub fn follow(&mut self, events: &[Arc<Recorded>]) {
        if self.waiting.is_empty() {
            return;
        }
        for recorded in events {
            match &recorded.event {
                Event::ApprovalDecided(decided) => {
                    self.answer(&decided.approval, of_decision(&decided.decision));
                }
                Event::ApprovalExpired { approval } | Event::ApprovalWithdrawn { approval, .. } => {
                    self.answer(approval, Answer::Unanswered);
                }
                _ => {}
            }
        }
    }

    /// Those that somebody else has settled.
    pub fn settled_in(&self, chat: &Chat) -> Vec<ApprovalId> {
        self.waiting.keys().filter(|id| !chat.approvals.contains_key(*id)).cloned().collect()
    }

    pub fn answer(&mut self, approval: &ApprovalId, answer: Answer) {
        if let Some(waiting) = self.waiting.remove(approval) {
            // The call may have ended meanwhile.
            waiting.send(answer).ok();
        }
    }
}

pub(super) fn of_state(state: &ApprovalState) -> Answer {
    match state {
        ApprovalState::Decided { decision, .. } => of_decision(decision),
        _ => Answer::Unanswered,
    }
}

fn of_decision(decision: &Decision) -> Answer {
    match decision {
        Decision::Answered { content } => Answer::Given(content.clone()),
        Decision::Denied { .. } => Answer::Declined,
        Decision::Approved { .. } => Answer::Unanswered,
    }
}
