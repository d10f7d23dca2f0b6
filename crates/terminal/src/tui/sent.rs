//! Decisions that were made here and of which the server has not said yet what became.
//! Used by the inbox and by whoever delivers them. Decides only whether what came of a request is what was decided here.

use agent_world_client::wire::{Approval, ApprovalState, Decision, Reach, Verdict};
use agent_world_core::display::mask_secrets;

/// A decision on its way.
#[derive(Clone, Debug)]
pub struct Sent {
    pub decision: Decision,
    pub delivery: Delivery,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    OnItsWay,
    /// Nobody answered; it is tried again.
    Retrying,
}

/// Whether a request was settled by this very decision, or by one like it: then it is as this person wanted.
pub fn is_same(decision: &Decision, approval: &Approval) -> bool {
    match decision.decision {
        Verdict::Deny => approval.state == ApprovalState::Denied,
        Verdict::Approve => {
            let reach = match decision.scope {
                Some(Reach::Session) => "session",
                Some(Reach::Always) => "always",
                Some(Reach::Once) | None => "once",
            };
            approval.state == ApprovalState::Approved
                && approval.scope.as_deref().unwrap_or(reach) == reach
                && is_as_given(decision, approval)
        }
    }
}

/// Whether it runs with the arguments that were meant, or was told the answer that was. Secrets in them are never told.
fn is_as_given(decision: &Decision, approval: &Approval) -> bool {
    let given = approval.edited_arguments.as_ref().or(approval.answer.as_ref());
    match &decision.arguments {
        None => approval.edited_arguments.is_none(),
        Some(wanted) => {
            let given = given.unwrap_or(&approval.arguments);
            given == wanted || *given == mask_secrets(wanted)
        }
    }
}
