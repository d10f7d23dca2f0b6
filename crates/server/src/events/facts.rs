//! Decides what besides an event must be known to tell of it, and looks that up.
//!
//! Read models say how things stand now, and an event is told as it was then, however late. So nothing is taken from
//! them but what never changes (whose call it is, what was asked) and what can be traced back: which request a call
//! stood under at the event, and so with which arguments. Called by `telling`. Never changes anything.

use agent_world_core::event::{Decision, Ending, Event};
use agent_world_core::ids::{AgentId, CallId, ChatId, MessageId, TurnId};
use agent_world_core::view::{ApprovalState, ApprovalView, CallView};
use agent_world_runtime::store::{Error, Store, StoredEvent};
use serde_json::Value;

/// Events looked through at once for the model call of a turn.
const BLOCK: u64 = 64;

/// What an event is told with, as far as it needs it and it is there.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// With the arguments and the request it had at the event; its state is for the event to say.
    pub call: Option<CallView>,
    /// Its state is for the event to say.
    pub approval: Option<ApprovalView>,
    /// The message that asked for the approval.
    pub asked_in: Option<MessageId>,
    /// The reply that was being made when its turn ended.
    pub streaming: Option<Streaming>,
    /// The failed turn whose work the turn of a first model call takes up again.
    pub retry_of: Option<TurnId>,
}

#[derive(Debug)]
pub(super) struct Streaming {
    pub message: MessageId,
    pub agent: AgentId,
}

/// Where an event stands in its chat.
#[derive(Clone, Copy, Debug)]
struct At<'a> {
    store: &'a dyn Store,
    chat: &'a ChatId,
    seq: u64,
}

/// `started` says what a turn repeats, where its start was told just before.
pub(super) async fn gather(
    store: &dyn Store,
    chat: &ChatId,
    seq: u64,
    event: &Event,
    started: impl Fn(&TurnId) -> Option<Option<TurnId>>,
) -> Result<Facts, Error> {
    let at = At { store, chat, seq };
    let mut facts = Facts::default();
    match event {
        Event::ToolStarted { call, .. } | Event::ToolRequeued { call } => {
            facts.call = at.call_as_it_was(call).await?;
        }
        // Nothing changes a call after its end.
        Event::ToolFinished(finished) => facts.call = store.call(chat, &finished.call).await?,
        Event::ApprovalRequested(asked) => {
            facts.call = store.call(chat, &asked.call).await?;
            facts.approval = store.approval(&asked.approval).await?;
        }
        Event::ApprovalDecided(decided) => {
            facts.call = store.call(chat, &decided.call).await?;
            facts.approval = store.approval(&decided.approval).await?;
            if let Some(approval) = &facts.approval {
                facts.asked_in = at.asking(approval).await?;
            }
        }
        Event::ApprovalExpired { approval } | Event::ApprovalWithdrawn { approval, .. } => {
            facts.approval = store.approval(approval).await?;
        }
        Event::TurnEnded { turn, ending: Ending::Failed { .. } | Ending::Stopped } => {
            facts.streaming = at.streaming(turn).await?;
        }
        Event::ModelCallRequested(asked) if asked.iteration == 1 => {
            facts.retry_of = match started(&asked.turn) {
                Some(known) => known,
                None => at.retry_of(&asked.turn).await?,
            };
        }
        _ => {}
    }
    Ok(facts)
}

impl At<'_> {
    /// A call with the request it stood under at the event. A later one names the one it stands in for, so the way back
    /// is known.
    async fn call_as_it_was(self, id: &CallId) -> Result<Option<CallView>, Error> {
        let Some(mut call) = self.store.call(self.chat, id).await? else {
            return Ok(None);
        };
        let mut under = call.approval.take();
        let mut arguments = call.proposed.take();
        while let Some(id) = under.take() {
            let Some(approval) = self.store.approval(&id).await? else {
                break;
            };
            if approval.position.seq <= self.seq {
                arguments = Some(approved_arguments(&approval));
                call.approval = Some(id);
                break;
            }
            under = approval.voided.map(|voided| voided.approval);
        }
        if let Some(arguments) = arguments {
            call.arguments = arguments;
        }
        Ok(Some(call))
    }

    /// The message by which an approval was asked for: the request's own event has it.
    async fn asking(self, approval: &ApprovalView) -> Result<Option<MessageId>, Error> {
        let before = approval.position.seq.saturating_sub(1);
        let found = self.store.log(self.chat, before, 1).await?;
        Ok(found.first().and_then(|stored| match stored.sealed.open().ok()?.event {
            Event::ApprovalRequested(asked) if asked.approval == approval.id => Some(asked.message),
            _ => None,
        }))
    }

    /// A turn starts right before its first call of the model, and says there what it repeats.
    async fn retry_of(self, turn: &TurnId) -> Result<Option<TurnId>, Error> {
        let found = self.store.log(self.chat, self.seq.saturating_sub(2), 1).await?;
        Ok(found.first().and_then(|stored| match stored.sealed.open().ok()?.event {
            Event::TurnStarted(started) if started.turn == *turn => started.retry_of,
            _ => None,
        }))
    }

    /// What a turn was waiting for when it ended: the last that is said of it before is the request for a model call.
    async fn streaming(self, turn: &TurnId) -> Result<Option<Streaming>, Error> {
        let mut end = self.seq.saturating_sub(1);
        while end > 0 {
            let start = end.saturating_sub(BLOCK);
            let length = usize::try_from(end - start).unwrap_or(usize::MAX);
            let block = self.store.log(self.chat, start, length).await?;
            if let Some(found) = block.iter().rev().find_map(|stored| step_of(stored, turn)) {
                return Ok(found);
            }
            end = start;
        }
        Ok(None)
    }
}

/// Whether an event is a step of a turn, and if so, whether it asks the model.
fn step_of(stored: &StoredEvent, turn: &TurnId) -> Option<Option<Streaming>> {
    let kinds = ["model_call_requested", "reply_recorded", "turn_started"];
    if !kinds.contains(&stored.sealed.kind.as_str()) {
        return None;
    }
    match stored.sealed.open().ok()?.event {
        Event::ModelCallRequested(asked) if asked.turn == *turn => {
            Some(Some(Streaming { message: asked.reply, agent: asked.agent }))
        }
        Event::ReplyRecorded(reply) if reply.turn == *turn => Some(None),
        Event::TurnStarted(started) if started.turn == *turn => Some(None),
        _ => None,
    }
}

/// What a call runs with under an approval: what was asked about, unless the person put something in its place.
fn approved_arguments(approval: &ApprovalView) -> Value {
    match &approval.state {
        ApprovalState::Decided { decision, .. } => match &**decision {
            Decision::Approved { arguments: Some(edited), .. } => edited.clone(),
            _ => approval.arguments.clone(),
        },
        _ => approval.arguments.clone(),
    }
}
