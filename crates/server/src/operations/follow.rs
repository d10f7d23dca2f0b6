//! Follows the log and counts what happens in chats, from the start of the server on.
//! One task, begun with the server and ended with it. It counts a moment after something happened, all in one go, or when
//! somebody wants to see the numbers: no turn waits for it or wakes it again and again. Only reads; whatever it misses in a
//! store that fails for a while it reads later, because the log has it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_core::chain::Recorded;
use agent_world_core::event::{
    Decider, Decision, Ending, Event, NoticeCode, Outcome, Permission, ReplyRecorded,
};
use agent_world_core::ids::{ApprovalId, CallId, ChatId, MessageId, TurnId, WorldId};
use agent_world_core::item::Finish;
use agent_world_core::sender::Sender;
use agent_world_runtime::store::{ApprovalFilter, Scope, StoredEvent, WorldChange};
use agent_world_runtime::{Engine, Error, FeedItem, Subscription};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::metrics::{Metrics, Reply, Settlement};

/// Pause after the store could not be read.
const RETRY: Duration = Duration::from_secs(1);
/// Pause between something that happened and counting it, with all that happened meanwhile.
const GATHER: Duration = Duration::from_millis(200);
/// Those who wait for the numbers at once.
const ASKING: usize = 64;
/// Approvals read at once.
const PAGE: usize = 500;
/// Turns and model calls whose beginning is remembered. Beyond it, times are not told.
const MOST_OPEN: usize = 100_000;

/// Ends the task when it is dropped.
#[derive(Debug)]
pub(crate) struct Following {
    ask: mpsc::Sender<oneshot::Sender<()>>,
    _guard: DropGuard,
}

impl Following {
    /// Returns when everything that was stored and told until now is counted, or cannot be for the moment.
    pub async fn catch_up(&self) {
        let (done, counted) = oneshot::channel();
        let ask = async {
            if self.ask.send(done).await.is_ok() {
                counted.await.ok();
            }
        };
        // Without an answer the engine has shut down or the store is not to be read: the numbers are what they are.
        tokio::time::timeout(RETRY, ask).await.ok();
    }
}

/// Counts until the engine shuts down or the result is dropped. Needs a tokio runtime, as the engine does.
pub(crate) fn follow(engine: &Engine, metrics: &Arc<Metrics>) -> Following {
    let over = CancellationToken::new();
    let (ask, asked) = mpsc::channel(ASKING);
    let count = Count {
        engine: engine.clone(),
        metrics: Arc::clone(metrics),
        pending: HashMap::new(),
        turns: HashMap::new(),
        calls: HashMap::new(),
    };
    tokio::spawn(over.clone().run_until_cancelled_owned(count.run(asked)));
    Following { ask, _guard: over.drop_guard() }
}

struct Count {
    engine: Engine,
    metrics: Arc<Metrics>,
    /// Where each waiting request is: a chat or a world takes its requests along when it is deleted.
    pending: HashMap<ApprovalId, (WorldId, ChatId)>,
    turns: HashMap<TurnId, Timestamp>,
    calls: HashMap<MessageId, (TurnId, Timestamp)>,
}

impl Count {
    async fn run(mut self, mut asked: mpsc::Receiver<oneshot::Sender<()>>) {
        let mut subscription = loop {
            match self.begin().await {
                Ok(subscription) => break subscription,
                Err(error) => pause(&error).await,
            }
        };
        loop {
            let asking = tokio::select! {
                asking = asked.recv() => asking,
                item = subscription.next() => {
                    match item {
                        Ok(Some(item)) => self.take(item).await,
                        Ok(None) => return,
                        Err(error) => pause(&error).await,
                    }
                    tokio::time::timeout(GATHER, asked.recv()).await.ok().flatten()
                }
            };
            self.catch_up(&mut subscription).await;
            // Whoever asked may have gone.
            asking.and_then(|asking| asking.send(()).ok());
        }
    }

    async fn catch_up(&mut self, subscription: &mut Subscription) {
        loop {
            match subscription.next_present().await {
                Ok(Some(item)) => self.take(item).await,
                Ok(None) => return,
                Err(error) => return tracing::warn!(%error, "the numbers are not those of now"),
            }
        }
    }

    async fn take(&mut self, item: FeedItem) {
        match item {
            FeedItem::Stored(stored) => self.happened(&stored).await,
            FeedItem::Chunk(_) | FeedItem::Output(_) => {}
        }
    }

    /// What waits already, and everything that is new from now on.
    async fn begin(&mut self) -> Result<Subscription, Error> {
        let store = Arc::clone(self.engine.store());
        let subscription = self.engine.subscribe(Scope::All, store.position().await?);
        let filter = ApprovalFilter { only_pending: true, ..ApprovalFilter::default() };
        let mut after = None;
        loop {
            let page = store.approvals(&filter, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            let places = page.into_iter().map(|view| (view.id, (view.world, view.chat)));
            self.pending.extend(places);
        }
        self.metrics.pending(self.pending.len());
        Ok(subscription)
    }

    async fn happened(&mut self, stored: &StoredEvent) {
        let Some(chat) = &stored.chat else {
            self.world_changed(stored);
            return;
        };
        let recorded = match stored.open() {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::warn!(%error, position = stored.position, "an event is not counted");
                return;
            }
        };
        self.count(&stored.world, chat, &recorded);
        if let Event::ToolFinished(finished) = &recorded.event {
            self.tool_finished(chat, &finished.call, finished.outcome).await;
        }
    }

    fn world_changed(&mut self, stored: &StoredEvent) {
        let change = serde_json::from_str::<WorldChange>(&stored.sealed.payload);
        if change.is_ok_and(|change| change.entity == "world" && change.action == "deleted") {
            self.pending.retain(|_, (world, _)| *world != stored.world);
            self.metrics.pending(self.pending.len());
        }
    }

    fn count(&mut self, world: &WorldId, chat: &ChatId, recorded: &Recorded) {
        let at = recorded.at;
        match &recorded.event {
            Event::MessagePosted(posted) => self.metrics.message(match &posted.message.sender {
                Sender::Agent(_) => "agent",
                _ => "person",
            }),
            Event::NoticePosted(notice) => self.metrics.notice(code(notice.code)),
            Event::TurnStarted(started) if self.turns.len() < MOST_OPEN => {
                self.turns.insert(started.turn.clone(), at);
            }
            Event::TurnEnded { turn, ending } => {
                self.calls.retain(|_, (of, _)| of != turn);
                let took = self.turns.remove(turn).map(|began| between(began, at));
                self.metrics.turn_ended(ending_name(ending), took);
            }
            Event::ModelCallRequested(requested) if self.calls.len() < MOST_OPEN => {
                self.calls.insert(requested.reply.clone(), (requested.turn.clone(), at));
            }
            Event::ReplyRecorded(reply) => self.replied(reply, at),
            Event::ApprovalRequested(asked) => {
                self.metrics.approval_requested();
                self.pending.insert(asked.approval.clone(), (world.clone(), chat.clone()));
                self.metrics.pending(self.pending.len());
            }
            Event::ApprovalDecided(decided) => {
                let (decision, by) = (decision(&decided.decision), decider(&decided.by));
                self.settled(&decided.approval, Settlement { decision, by });
            }
            Event::ApprovalExpired { approval } => {
                self.settled(approval, Settlement { decision: "expired", by: "nobody" });
            }
            Event::ApprovalWithdrawn { approval, .. } => {
                self.settled(approval, Settlement { decision: "withdrawn", by: "nobody" });
            }
            Event::ChatDeleted { .. } => {
                self.pending.retain(|_, (_, of)| of != chat);
                self.metrics.pending(self.pending.len());
            }
            _ => {}
        }
    }

    fn replied(&mut self, reply: &ReplyRecorded, at: Timestamp) {
        let began = self.calls.remove(&reply.reply);
        self.metrics.replied(&Reply {
            model: &reply.model,
            outcome: match reply.finish {
                Finish::Completed => "completed",
                Finish::Incomplete { .. } => "incomplete",
            },
            took: began.map(|(_, began)| between(began, at)),
            input_tokens: reply.usage.input_tokens,
            output_tokens: reply.usage.output_tokens,
        });
    }

    fn settled(&mut self, approval: &ApprovalId, how: Settlement) {
        self.metrics.approval_settled(how);
        self.pending.remove(approval);
        self.metrics.pending(self.pending.len());
    }

    /// The event names the call only; which tool it was of, and since when it ran, is looked up.
    async fn tool_finished(&self, chat: &ChatId, call: &CallId, outcome: Outcome) {
        let view = match self.engine.store().call(chat, call).await {
            Ok(view) => view,
            Err(error) => {
                tracing::warn!(%error, %call, "which tool ended cannot be looked up");
                None
            }
        };
        let ran = view.as_ref().and_then(|view| {
            let (from, to) = view.started_at.zip(view.ended_at)?;
            Some(between(from, to))
        });
        let tool = view.as_ref().map_or("", |view| view.name.as_str());
        self.metrics.tool_ended(tool, outcome_name(outcome), ran);
    }
}

async fn pause(error: &Error) {
    tracing::warn!(%error, "the log cannot be followed for the metrics; trying again");
    tokio::time::sleep(RETRY).await;
}

fn between(from: Timestamp, to: Timestamp) -> Duration {
    Duration::try_from(to.duration_since(from)).unwrap_or_default()
}

fn ending_name(ending: &Ending) -> &'static str {
    match ending {
        Ending::Completed => "completed",
        Ending::Failed { .. } => "failed",
        Ending::Stopped => "stopped",
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::Failed => "failed",
        Outcome::Timeout => "timeout",
        Outcome::Denied => "denied",
        Outcome::Expired => "expired",
        Outcome::Interrupted => "interrupted",
        Outcome::Cancelled => "cancelled",
    }
}

fn decision(decision: &Decision) -> &'static str {
    match decision {
        Decision::Approved { scope: Permission::Once, .. } => "approved_once",
        Decision::Approved { scope: Permission::Session(_), .. } => "approved_session",
        Decision::Approved { scope: Permission::Always(_), .. } => "approved_always",
        Decision::Answered { .. } => "answered",
        Decision::Denied { .. } => "denied",
    }
}

fn decider(by: &Decider) -> &'static str {
    match by {
        Decider::Person(_) => "person",
        Decider::Grant { .. } => "grant",
        Decider::Rule { .. } => "rule",
        Decider::Nobody => "nobody",
    }
}

fn code(code: NoticeCode) -> &'static str {
    match code {
        NoticeCode::NobodyAddressed => "nobody_addressed",
        NoticeCode::NoAgents => "no_agents",
        NoticeCode::ModelFailed => "model_failed",
        NoticeCode::IterationLimit => "iteration_limit",
        NoticeCode::AgentGone => "agent_gone",
        NoticeCode::ReplyIncomplete => "reply_incomplete",
        NoticeCode::ReplyEmpty => "reply_empty",
    }
}
