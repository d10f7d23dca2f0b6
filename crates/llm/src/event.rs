//! Decides what is told of a reply while it is being made.
//! Made by `Draft`, read by whoever follows along. Never the truth: the complete response at the end is.

use std::pin::Pin;

use agent_world_core::item::Item;
use async_stream::try_stream;
use futures::{Stream, StreamExt as _};

use crate::{Class, Draft, Error, Response, Status};

/// What happens while a reply is made, in this order: started, then items and their pieces, then completed.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The vendor answers. What is known of the response so far: no output yet.
    Started(Box<Response>),
    /// An item begins; its pieces follow.
    ItemStarted { index: usize, item: Item },
    /// A piece of an item. Pieces of different items may alternate.
    Delta { index: usize, part: usize, delta: Delta },
    /// An item is as it will stay.
    ItemDone { index: usize, item: Item },
    /// The end, exactly once, and last.
    Completed(Box<Response>),
}

/// A piece of an item's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    Text(String),
    Refusal(String),
    /// Of the model's thoughts as it thinks them.
    Reasoning(String),
    /// Of what the vendor shows of the model's thoughts.
    Summary(String),
    /// Of a call's arguments. Not JSON before its end, and maybe not even then.
    Arguments(String),
}

/// A reply being made. Dropping it cancels the call.
pub type Events = Pin<Box<dyn Stream<Item = Result<Event, Error>> + Send>>;

impl Delta {
    /// Text a person reads as the reply.
    pub fn spoken(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Refusal(text) => Some(text),
            Self::Reasoning(_) | Self::Summary(_) | Self::Arguments(_) => None,
        }
    }

    /// Text a person reads as thoughts.
    pub fn thought(&self) -> Option<&str> {
        match self {
            Self::Reasoning(text) | Self::Summary(text) => Some(text),
            Self::Text(_) | Self::Refusal(_) | Self::Arguments(_) => None,
        }
    }
}

/// Everything that is told of a reply that came whole.
pub fn all_of(mut response: Response) -> Vec<Event> {
    let output = std::mem::take(&mut response.output);
    let mut draft = Draft::new();
    // At its start nobody knows how a reply will end.
    let status = std::mem::replace(&mut response.status, Status::InProgress);
    let (usage, cut) = (response.usage.take(), response.incomplete_details.take());
    *draft.response_mut() = response;
    draft.start();
    for item in output {
        draft.tell_whole(item);
    }
    let response = draft.response_mut();
    (response.status, response.usage, response.incomplete_details) = (status, usage, cut);
    draft.complete();
    draft.take_events()
}

/// The events of a model that only ever answers whole.
pub fn whole(reply: impl Future<Output = Result<Response, Error>> + Send + 'static) -> Events {
    Box::pin(try_stream! {
        for event in all_of(reply.await?) {
            yield event;
        }
    })
}

/// Follows a reply to its end.
///
/// # Errors
/// Whatever the vendor failed with; `stream_cut` when there was no end.
pub async fn complete(
    mut events: Events,
    mut seen: impl FnMut(&Event) + Send,
) -> Result<Response, Error> {
    while let Some(event) = events.next().await {
        match event? {
            Event::Completed(response) => return Ok(*response),
            event => seen(&event),
        }
    }
    Err(Error::new(Class::StreamCut, "", "the stream of events ended before the response"))
}
