//! Decides what stopping means: open turns end, calls are cancelled, requests withdrawn, and nothing starts by itself.
//! Called by `decide` for stop, edit, delete. Never kills a process; see `runtime::effects::tool`.

use std::sync::Arc;

use crate::chat::{Call, CallState};
use crate::command::Rejection;
use crate::event::{Ending, Event, Outcome, Output, SetAside};
use crate::ids::{AgentId, TurnId};

use super::Draft;

impl Draft<'_> {
    pub(super) fn stop(&mut self, agent: Option<AgentId>, by: String) -> Result<(), Rejection> {
        if let Some(agent) = &agent
            && self.rules.world.agent(agent).is_none()
            && !self.chat.agents.contains_key(agent)
        {
            return Err(Rejection::UnknownAgent(agent.clone()));
        }
        self.halt(agent.as_ref(), &by);
        Ok(())
    }

    /// Ends all work, of one agent or of the chat. Emits nothing when nothing is under way.
    pub(super) fn halt(&mut self, agent: Option<&AgentId>, by: &str) {
        let concerns = |id: &AgentId| agent.is_none_or(|agent| agent == id);
        let set_aside: Vec<SetAside> = self
            .chat
            .agents
            .iter()
            .filter(|(id, desk)| concerns(id) && !desk.inbox.is_empty())
            .map(|(id, desk)| SetAside {
                agent: id.clone(),
                waiting: desk.inbox.iter().cloned().collect(),
            })
            .collect();
        let calls: Vec<Arc<Call>> = self
            .chat
            .calls
            .values()
            .filter(|call| concerns(&call.made.agent) && !call.state.is_final())
            .cloned()
            .collect();
        let turns: Vec<TurnId> = self
            .chat
            .turns
            .values()
            .filter(|turn| concerns(&turn.agent))
            .map(|turn| turn.id.clone())
            .collect();
        if set_aside.is_empty() && calls.is_empty() && turns.is_empty() {
            return;
        }
        // First the inboxes: what follows must find nothing to start a turn with.
        self.emit(Event::WorkStopped { agent: agent.cloned(), by: by.to_owned(), set_aside });
        for call in calls {
            self.cancel(&call, by);
        }
        for turn in turns {
            self.emit(Event::TurnEnded { turn, ending: Ending::Stopped });
        }
    }

    fn cancel(&mut self, call: &Call, by: &str) {
        if call.state == CallState::AwaitingApproval
            && let Some(approval) = call.approval.clone()
        {
            let reason = format!("the work was stopped by {by}");
            self.emit(Event::ApprovalWithdrawn { approval, reason });
        }
        let text = match call.state {
            CallState::Executing => {
                format!("cancelled by {by} while it ran; it may have taken effect in part")
            }
            _ => format!("cancelled by {by} before it started"),
        };
        self.end_call(&call.made.call, Outcome::Cancelled, Output::text(text));
    }
}
