//! Follows an agent's turn and makes of it the events of a reply, until it ends or only somebody's answer can move it.
//! Started by `answer`. Reads the chat's log and the pieces of replies; never writes: dropping it ends the watching and
//! nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use agent_world_core::apply::apply;
use agent_world_core::chat::{Chat, Life};
use agent_world_core::config::World;
use agent_world_core::event::{Ending, Event, ModelCallRequested, NoticeCode, Waiting};
use agent_world_core::ids::{AgentId, MessageId, TurnId};
use agent_world_runtime::llm::{Class, Error, Events};
use agent_world_runtime::store::StoredEvent;
use agent_world_runtime::{FeedItem, Subscription};
use async_stream::try_stream;

use super::standing::{Standing, awaited};
use super::telling::Telling;
use crate::app::App;

/// How our own failures are signed.
const VENDOR: &str = "agent-world";
/// A world that is deleted takes its log along, and with it the events that would have told so.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What is being followed.
#[derive(Clone, Debug)]
pub(super) enum Aim {
    /// Whatever turn is shown this message.
    Message(MessageId),
    Turn(TurnId),
    /// Nothing goes on.
    Nothing,
}

pub(super) struct Watch {
    pub app: Arc<App>,
    pub world: Arc<World>,
    pub agent: AgentId,
    /// The state before the inputs whose consequences are followed.
    pub chat: Chat,
    /// From there on, or earlier.
    pub events: Subscription,
    pub aim: Aim,
    /// Where to note how far the log had come at the end.
    pub reached: Arc<AtomicU64>,
}

/// Whether there is more to tell.
enum Next {
    Goes,
    Ended,
}

struct Follower {
    watch: Watch,
    telling: Telling,
    /// How much the log is known to hold: looked up when the turn seems to wait.
    head: u64,
    /// Why the turn is about to end.
    notice: Option<NoticeCode>,
}

impl Watch {
    pub fn follow(self) -> Events {
        let model = format!("world:{}/{}", self.world.id, self.agent);
        let mut follower =
            Follower { watch: self, telling: Telling::new(model), head: 0, notice: None };
        Box::pin(try_stream! {
            for event in follower.telling.take_events() {
                yield event;
            }
            loop {
                let next = follower.step().await?;
                if matches!(next, Next::Ended) {
                    follower.watch.reached.store(follower.watch.chat.head, Ordering::Release);
                }
                for event in follower.telling.take_events() {
                    yield event;
                }
                if matches!(next, Next::Ended) {
                    return;
                }
            }
        })
    }
}

impl Follower {
    async fn step(&mut self) -> Result<Next, Error> {
        if self.seems_done() && self.is_all_read().await? {
            let Watch { app, world, chat, agent, .. } = &self.watch;
            self.telling.end(awaited(&app.engine, world, chat, agent));
            return Ok(Next::Ended);
        }
        let stopping = self.watch.app.stopping.clone();
        let next = tokio::select! {
            biased;
            () = stopping.cancelled() => return Err(shutting_down()),
            next = tokio::time::timeout(LOOK_AGAIN, self.watch.events.next()) => next,
        };
        match next {
            Err(_) => self.look_again().await,
            Ok(Err(error)) => Err(unreadable(&error)),
            Ok(Ok(None)) => Err(shutting_down()),
            Ok(Ok(Some(FeedItem::Stored(stored)))) => self.stored(&stored),
            Ok(Ok(Some(FeedItem::Chunk(chunk)))) => {
                self.telling.piece(&chunk);
                Ok(Next::Goes)
            }
            Ok(Ok(Some(FeedItem::Output(_)))) => Ok(Next::Goes),
        }
    }

    /// Whether, as far as the log was read, only the client or a person can go on. In the midst of what one command led
    /// to it can seem so, too.
    fn seems_done(&self) -> bool {
        let Watch { chat, agent, aim, .. } = &self.watch;
        if chat.head < self.head {
            return false;
        }
        match (Standing::of(chat, agent), aim) {
            (_, Aim::Nothing) => true,
            (Standing::Works, _) => false,
            (Standing::Waits, _) => true,
            // Its message is still to be shown to it.
            (Standing::Rests, Aim::Message(_)) => false,
            (Standing::Rests, Aim::Turn(_)) => true,
        }
    }

    async fn is_all_read(&mut self) -> Result<bool, Error> {
        let chat = &self.watch.chat;
        let loaded = self.watch.app.engine.store().load(&chat.id).await;
        let loaded = loaded.map_err(|error| unreadable(&error))?.ok_or_else(deleted)?;
        self.head = loaded.head.seq;
        Ok(chat.head >= self.head)
    }

    async fn look_again(&self) -> Result<Next, Error> {
        let found = self.watch.app.engine.store().load(&self.watch.chat.id).await;
        match found.map_err(|error| unreadable(&error))? {
            Some(_) => Ok(Next::Goes),
            None => Err(deleted()),
        }
    }

    fn stored(&mut self, stored: &StoredEvent) -> Result<Next, Error> {
        let recorded = stored.sealed.open().map_err(|error| unreadable(&error))?;
        if recorded.seq <= self.watch.chat.head {
            return Ok(Next::Goes);
        }
        apply(&mut self.watch.chat, &recorded);
        if self.watch.chat.life == Life::Deleted {
            return Err(deleted());
        }
        self.happened(&recorded.event)
    }

    fn happened(&mut self, event: &Event) -> Result<Next, Error> {
        match event {
            Event::ModelCallRequested(call) => self.model_called(call),
            Event::ReplyRecorded(reply) if self.follows(&reply.turn) => {
                self.telling.recorded(reply);
            }
            Event::NoticePosted(notice) if notice.agent.as_ref() == Some(&self.watch.agent) => {
                self.notice = Some(notice.code);
            }
            Event::TurnEnded { turn, ending } if self.follows(turn) => return self.ended(ending),
            Event::TurnLimitReached { set_aside, .. } if self.waits_in(set_aside) => {
                self.telling.cut("turn_limit");
                return Ok(Next::Ended);
            }
            Event::WorkStopped { set_aside, by, .. }
                if set_aside.iter().any(|aside| self.waits_in(&aside.waiting)) =>
            {
                return Err(stopped(&format!("the work was stopped by {by}")));
            }
            _ => {}
        }
        Ok(Next::Goes)
    }

    fn model_called(&mut self, call: &ModelCallRequested) {
        if self.waits_in(&call.joined) {
            self.watch.aim = Aim::Turn(call.turn.clone());
        }
        if self.follows(&call.turn) {
            self.telling.begin(&call.reply);
        }
        self.notice = None;
    }

    fn follows(&self, turn: &TurnId) -> bool {
        matches!(&self.watch.aim, Aim::Turn(followed) if followed == turn)
    }

    /// Whether the message that is followed is among these.
    fn waits_in(&self, waiting: &[Waiting]) -> bool {
        let Aim::Message(message) = &self.watch.aim else {
            return false;
        };
        waiting.iter().any(|one| matches!(one, Waiting::Message { id, .. } if id == message))
    }

    fn ended(&mut self, ending: &Ending) -> Result<Next, Error> {
        match ending {
            Ending::Completed => self.telling.end(Vec::new()),
            Ending::Stopped => return Err(stopped("the agent's work was stopped")),
            Ending::Failed { .. } if self.notice == Some(NoticeCode::IterationLimit) => {
                self.telling.cut("max_iterations");
            }
            Ending::Failed { error } => return Err(failed(error, self.notice)),
        }
        Ok(Next::Ended)
    }
}

/// A failed turn, in the words and the class of what the vendor failed with.
fn failed(error: &str, notice: Option<NoticeCode>) -> Error {
    let class = match notice {
        Some(NoticeCode::AgentGone) => Class::UnknownModel,
        // Whatever no vendor said is about the agent's settings: it has no model, or its vendor is not set up.
        _ => Class::InvalidRequest,
    };
    Error::from_told(error).unwrap_or_else(|| Error::new(class, VENDOR, error))
}

fn stopped(reason: &str) -> Error {
    Error::new(Class::Cancelled, VENDOR, reason)
}

fn deleted() -> Error {
    stopped("the chat was deleted")
}

fn shutting_down() -> Error {
    let message = "the server is shutting down; what was begun goes on when it starts again";
    Error::new(Class::StreamCut, VENDOR, message)
}

/// Ours: the client learns that it happened, the log what it was.
fn unreadable(error: &dyn std::fmt::Display) -> Error {
    tracing::error!(%error, "a chat that is being followed cannot be read");
    Error::new(Class::StreamCut, VENDOR, "the server cannot read the chat; its log says why")
}
