//! Makes frames of stored events, each once for all who ask.
//!
//! What an event is told as never changes, so what was encoded is kept by its position, as far as a bounded cache has
//! room: at the live end readers share one encoding, and those who come back after a restart share it, too.
//! Called by `hub`, `follow` and `page`, always with an event the log has just given: what was deleted is never served.

use std::sync::Arc;

use agent_world_core::event::Event as Happened;
use agent_world_core::ids::{ChatId, TurnId, WorldId};
use agent_world_runtime::store::{Error, Store, StoredEvent, WorldChange};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::facts;
use super::frame::Frame;
use super::number::{FAN_OUT, Number};
use super::tell;
use super::wire::{Data, Event, Form, Kind};
use crate::rendering;

/// Bytes of frames that are kept.
const KEPT: u64 = 16 * 1024 * 1024;
/// Events these are about, to begin with.
const KEPT_EVENTS: usize = 16 * 1024;
/// Turns whose start is remembered. One that is not is looked up.
const STARTED: usize = 1_024;
/// What keeping a frame takes besides its bytes.
const OVERHEAD: u64 = 96;

/// What an event of the log became.
#[derive(Debug)]
pub(super) struct Told {
    /// Where it stands in the log.
    pub position: u64,
    pub world: WorldId,
    pub chat: Option<ChatId>,
    pub frames: Vec<Frame>,
    pub ends: Ends,
    /// The reply that nothing more comes of.
    pub ended: Option<String>,
}

/// What there is no more after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    Nothing,
    Chat,
    World,
}

pub(super) struct Telling {
    store: Arc<dyn Store>,
    told: Cache<u64, Arc<Told>, Weight>,
    /// What turns said they repeat when they started: the next event of their chat wants to know.
    started: Cache<TurnId, Option<TurnId>>,
    /// With texts as HTML, of those events that have texts and that somebody wanted so.
    rendered: Cache<u64, Arc<Told>, Weight>,
}

#[derive(Clone, Debug)]
struct Weight;

impl Weighter<u64, Arc<Told>> for Weight {
    fn weight(&self, _: &u64, told: &Arc<Told>) -> u64 {
        let bytes = |frame: &Frame| OVERHEAD + u64::try_from(frame.bytes.len()).unwrap_or(u64::MAX);
        OVERHEAD + told.frames.iter().map(bytes).sum::<u64>()
    }
}

impl std::fmt::Debug for Telling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telling").field("kept", &self.told.weight()).finish_non_exhaustive()
    }
}

impl Telling {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let cache = || Cache::with_weighter(KEPT_EVENTS, KEPT, Weight);
        let (told, rendered) = (cache(), cache());
        Self { store, told, started: Cache::new(STARTED), rendered }
    }

    pub fn store(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// What a stored event is to clients. Many may ask at once; one looks up and encodes.
    pub async fn tell(&self, stored: &StoredEvent, form: Form) -> Result<Arc<Told>, Error> {
        let plain =
            self.told.get_or_insert_async(&stored.position, self.make(stored, Form::Plain)).await?;
        let has_text = plain.frames.iter().any(|frame| frame.kind == Kind::Message);
        if form == Form::Plain || !has_text {
            return Ok(plain);
        }
        self.rendered.get_or_insert_async(&stored.position, self.make(stored, Form::Html)).await
    }

    async fn make(&self, stored: &StoredEvent, form: Form) -> Result<Arc<Told>, Error> {
        let (mut data, ends) = match &stored.chat {
            Some(chat) => self.of_chat(chat, stored).await?,
            None => of_world(stored),
        };
        if form == Form::Html {
            let messages = data.iter_mut().filter_map(|data| match data {
                Data::Message(message) => Some(message),
                _ => None,
            });
            rendering::add(self.store.as_ref(), &stored.world, messages).await?;
        }
        let ended = data.iter().find_map(|data| match data {
            Data::Stream(stream) if stream.phase != "start" => Some(stream.message_id.clone()),
            _ => None,
        });
        let made = frames(stored, data).or_else(|error| {
            tracing::error!(position = stored.position, %error, "an event cannot be encoded");
            frames(stored, vec![tell::unreadable(stored)])
        });
        Ok(Arc::new(Told {
            position: stored.position,
            world: stored.world.clone(),
            chat: stored.chat.clone(),
            frames: made?,
            ends,
            ended,
        }))
    }

    async fn of_chat(
        &self,
        chat: &ChatId,
        stored: &StoredEvent,
    ) -> Result<(Vec<Data>, Ends), Error> {
        let recorded = match stored.open() {
            Ok(recorded) => recorded,
            Err(error) => {
                tracing::error!(%chat, position = stored.position, %error, "an event cannot be told");
                return Ok((vec![tell::unreadable(stored)], Ends::Nothing));
            }
        };
        let ends = match &recorded.event {
            Happened::ChatDeleted { .. } => Ends::Chat,
            _ => Ends::Nothing,
        };
        if let Happened::TurnStarted(started) = &recorded.event {
            self.started.insert(started.turn.clone(), started.retry_of.clone());
        }
        let known = |turn: &TurnId| self.started.get(turn);
        let gathered =
            facts::gather(self.store.as_ref(), chat, recorded.seq, &recorded.event, known);
        let facts = match gathered.await {
            Ok(facts) => facts,
            // Whoever waits for it to become readable waits for ever: the stream goes on without it.
            Err(error) if is_lasting(&error) => {
                tracing::error!(%chat, position = stored.position, %error, "an event cannot be told");
                return Ok((vec![tell::unreadable(stored)], ends));
            }
            Err(error) => return Err(error),
        };
        Ok((tell::of_chat(chat, &recorded, stored.glance.as_deref(), facts), ends))
    }
}

/// Whether asking again would fail the same way: what is stored cannot be read.
pub(super) fn is_lasting(error: &Error) -> bool {
    matches!(error, Error::Corrupt(_) | Error::Unreadable(_))
}

fn frames(stored: &StoredEvent, data: Vec<Data>) -> Result<Vec<Frame>, serde_json::Error> {
    let fan_out = usize::try_from(FAN_OUT).unwrap_or(usize::MAX);
    let numbered = data.into_iter().take(fan_out).enumerate();
    let place = |index| Number::new(stored.position, index);
    numbered.map(|(index, data)| frame(stored, place(index), data)).collect()
}

fn of_world(stored: &StoredEvent) -> (Vec<Data>, Ends) {
    match serde_json::from_str::<WorldChange>(&stored.sealed.payload) {
        Ok(change) => {
            let gone = change.entity == "world" && change.action == "deleted";
            (vec![tell::of_world(change)], if gone { Ends::World } else { Ends::Nothing })
        }
        Err(error) => {
            let position = stored.position;
            tracing::error!(world = %stored.world, position, %error, "a change cannot be told");
            (vec![tell::unreadable(stored)], Ends::Nothing)
        }
    }
}

fn frame(stored: &StoredEvent, number: Number, data: Data) -> Result<Frame, serde_json::Error> {
    Frame::of(&Event {
        seq: number.0,
        kind: data.kind(),
        world_id: stored.world.to_string(),
        chat_id: stored.chat.as_ref().map(ToString::to_string),
        at: stored.sealed.at,
        data,
    })
}
