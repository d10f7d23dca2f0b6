//! Decides how a reply that its vendor interrupts is joined to one: the vendor says `pause_turn`, is sent what it said
//! so far and goes on.
//! Called by `Provider` with everything that comes. Consumers see one reply: one beginning, one end, places that go on
//! counting.

use std::sync::Arc;

use agent_world_core::item::Item;

use crate::{Event, Names, Request, Response, Status, Usage};

/// The reason of an incomplete reply that is to be sent back as it is.
const PAUSED: &str = "pause_turn";
/// How often one reply is continued; a vendor that pauses for ever is believed to be broken.
const MOST_CONTINUATIONS: usize = 8;

/// A reply that may come in several parts.
#[derive(Debug)]
pub(super) struct Turn {
    request: Request,
    /// Functions the vendor knows by another name than the consumer.
    names: Names,
    continuations: usize,
    started: bool,
    /// Of the parts before: what they said, and what they cost.
    output: Vec<Item>,
    usage: Option<Usage>,
    first: Option<(String, Option<i64>)>,
}

/// What an event means to the consumer.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    Tell(Event),
    Skip,
    /// The reply goes on with another request.
    Again,
    Over(Event),
}

impl Turn {
    pub fn new(request: Request) -> Self {
        let names = Names::of(&request);
        Self {
            request: names.outgoing(request),
            names,
            continuations: 0,
            started: false,
            output: Vec::new(),
            usage: None,
            first: None,
        }
    }

    /// What to send next.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// Takes the next event of the part that comes now.
    pub fn take(&mut self, event: Event) -> Step {
        let mut step = self.place(event);
        if let Step::Tell(event) = &mut step {
            self.names.incoming(event);
        }
        step
    }

    fn place(&mut self, event: Event) -> Step {
        let before = self.output.len();
        match event {
            Event::Started(_) if self.started => Step::Skip,
            Event::Started(response) => {
                self.started = true;
                Step::Tell(Event::Started(response))
            }
            Event::ItemStarted { index, item } => {
                Step::Tell(Event::ItemStarted { index: before.saturating_add(index), item })
            }
            Event::Delta { index, part, delta } => {
                Step::Tell(Event::Delta { index: before.saturating_add(index), part, delta })
            }
            Event::ItemDone { index, item } => {
                Step::Tell(Event::ItemDone { index: before.saturating_add(index), item })
            }
            Event::Completed(response) => match self.join(*response) {
                Some(response) => Step::Over(Event::Completed(Box::new(response))),
                None => Step::Again,
            },
        }
    }

    /// Takes a part that came whole. Nothing: another must be asked for.
    pub fn join(&mut self, mut response: Response) -> Option<Response> {
        let first = self.first.get_or_insert_with(|| (response.id.clone(), response.created_at));
        if is_paused(&response) && self.continuations < MOST_CONTINUATIONS {
            self.continuations += 1;
            self.request.input.extend(response.output.iter().cloned().map(Arc::new));
            self.output.append(&mut response.output);
            self.usage = sum(self.usage.take(), response.usage);
            return None;
        }
        (response.id, response.created_at) = first.clone();
        let mut output = std::mem::take(&mut self.output);
        output.append(&mut response.output);
        response.output = output;
        response.usage = sum(self.usage.take(), response.usage);
        self.names.response(&mut response);
        Some(response)
    }
}

fn is_paused(response: &Response) -> bool {
    response.status == Status::Incomplete
        && response.incomplete_details.as_ref().is_some_and(|details| details.reason == PAUSED)
}

fn sum(before: Option<Usage>, now: Option<Usage>) -> Option<Usage> {
    match (before, now) {
        (Some(mut sum), Some(now)) => {
            sum += now;
            Some(sum)
        }
        (before, now) => before.or(now),
    }
}
