//! A model that answers from a script, for tests, simulations and benches.
//! Decides nothing: the test does. Deterministic; waits only with tokio's clock, so paused time works.
//!
//! Every model name (what follows `scripted/`) has a queue of answers. A request takes the next one when it
//! arrives, even if it is cancelled later; once the queue is empty, the closure answers, if there is one.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_world_core::item::{Finish, Item, MessageItem, Reply, Role, Usage};
use async_stream::try_stream;
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

use crate::{Class, Delta, Draft, Error, Event, Events, Model, Request, Response};

const VENDOR: &str = "scripted";

type Answering = dyn Fn(&Request) -> Answer + Send + Sync;

/// A handle to a script; clones share it, so a test keeps one and gives another to the runtime.
#[derive(Clone)]
pub struct Scripted {
    script: Arc<Mutex<Script>>,
    answering: Option<Arc<Answering>>,
    received: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Script {
    answers: BTreeMap<String, VecDeque<Answer>>,
    requests: Vec<Request>,
}

/// What a request gets, and how.
#[derive(Clone, Debug)]
pub struct Answer {
    result: Result<Reply, Error>,
    delay: Duration,
    /// Characters of text in one delta; none: all of it at once.
    chunk: Option<usize>,
    /// Each takes one permit.
    before: Option<Arc<Semaphore>>,
    after: Option<Arc<Semaphore>>,
}

impl Scripted {
    /// Knows nothing until something is pushed.
    pub fn new() -> Self {
        Self { script: Arc::default(), answering: None, received: watch::Sender::new(0) }
    }

    /// Whatever no queue answers is answered by the closure.
    pub fn answering(
        answer: impl Fn(&Request) -> Result<Reply, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::performing(move |request| Answer::from(answer(request)))
    }

    /// Like `answering`, with delays, chunks and gates.
    pub fn performing(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self { answering: Some(Arc::new(answer)), ..Self::new() }
    }

    /// Puts an answer at the end of a model's queue.
    pub fn push(&self, model: &str, answer: impl Into<Answer>) -> &Self {
        self.script().answers.entry(model.to_owned()).or_default().push_back(answer.into());
        self
    }

    /// The requests received so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.script().requests.clone()
    }

    /// The answers nobody asked for yet.
    pub fn unused(&self) -> usize {
        self.script().answers.values().map(VecDeque::len).sum()
    }

    /// Returns once this many requests were received, whether or not they were answered.
    pub async fn received(&self, count: usize) {
        let mut received = self.received.subscribe();
        // An error would mean that the sender is gone, and `self` holds it.
        received.wait_for(|seen| *seen >= count).await.ok();
    }

    fn take(&self, request: &Request) -> Answer {
        let (queued, count) = {
            let mut script = self.script();
            script.requests.push(request.clone());
            let queue = script.answers.get_mut(&request.model);
            (queue.and_then(VecDeque::pop_front), script.requests.len())
        };
        self.received.send_replace(count);
        queued
            .or_else(|| self.answering.as_ref().map(|answering| answering(request)))
            .unwrap_or_else(|| Answer::from(Err(nothing_left(&request.model))))
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        // A test that panicked while it pushed left whole answers behind.
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Scripted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scripted")
            .field("requests", &*self.received.borrow())
            .field("unused", &self.unused())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Model for Scripted {
    fn stream(&self, request: Request) -> Events {
        let script = self.clone();
        Box::pin(try_stream! {
            let answer = script.take(&request);
            answer.wait().await;
            let reply = answer.result.clone()?;
            let mut draft = Draft::new();
            draft.response_mut().model.clone_from(&request.model);
            for item in reply.items {
                match item {
                    Item::Message(message) if message.role == Role::Assistant => {
                        let chunks = chunks(&message.text(), answer.chunk);
                        let index = draft.open(Item::Message(message_without_text(&message)));
                        for event in draft.take_events() {
                            yield event;
                        }
                        for chunk in chunks {
                            yield Event::Delta { index, part: 0, delta: Delta::Text(chunk) };
                            // Lets a subscriber see one chunk before the next.
                            tokio::task::yield_now().await;
                        }
                        if let Some(told) = draft.item_mut(index) {
                            *told = Item::Message(message);
                        }
                        draft.close(index);
                    }
                    item => {
                        draft.add(item);
                    }
                }
            }
            pass(answer.after.as_deref()).await;
            draft.usage(reply.usage.into());
            match reply.finish {
                Finish::Completed => draft.complete(),
                Finish::Incomplete { reason } => draft.incomplete(&reason),
            }
            for event in draft.take_events() {
                yield event;
            }
        })
    }

    async fn generate(&self, request: Request) -> Result<Response, Error> {
        let answer = self.take(&request);
        answer.wait().await;
        pass(answer.after.as_deref()).await;
        answer.result.map(Response::from)
    }
}

fn message_without_text(message: &MessageItem) -> MessageItem {
    MessageItem { content: Vec::new(), ..message.clone() }
}

impl Answer {
    async fn wait(&self) {
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        pass(self.before.as_deref()).await;
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::from(Reply::text(text))
    }

    pub fn call(tool: &str, arguments: Value) -> Self {
        Self::calls([(tool, arguments)])
    }

    /// Calls made at once, with ids `call_1`, `call_2` and so on. The next such answer repeats them, as some
    /// vendors do.
    pub fn calls<'a>(calls: impl IntoIterator<Item = (&'a str, Value)>) -> Self {
        let items = (1..)
            .zip(calls)
            .map(|(number, (tool, arguments))| {
                Item::call(format!("call_{number}"), tool, &arguments)
            })
            .collect();
        Self::from(Reply::of(items))
    }

    pub fn failure(class: Class, message: &str) -> Self {
        Self::from(Err(Error::new(class, VENDOR, message)))
    }

    /// Comes after a while.
    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Streams its text in pieces of so many characters.
    pub fn in_chunks(mut self, characters: usize) -> Self {
        self.chunk = Some(characters.max(1));
        self
    }

    /// Does not begin before it gets a permit.
    pub fn held_by(mut self, gate: &Arc<Semaphore>) -> Self {
        self.before = Some(Arc::clone(gate));
        self
    }

    /// Streams, and does not end before it gets a permit.
    pub fn ended_by(mut self, gate: &Arc<Semaphore>) -> Self {
        self.after = Some(Arc::clone(gate));
        self
    }

    pub fn with_usage(mut self, usage: Usage) -> Self {
        if let Ok(reply) = &mut self.result {
            reply.usage = usage;
        }
        self
    }
}

impl From<Result<Reply, Error>> for Answer {
    fn from(result: Result<Reply, Error>) -> Self {
        Self { result, delay: Duration::ZERO, chunk: None, before: None, after: None }
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self::from(Ok(reply))
    }
}

impl From<Error> for Answer {
    fn from(error: Error) -> Self {
        Self::from(Err(error))
    }
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

async fn pass(gate: Option<&Semaphore>) {
    if let Some(gate) = gate {
        // A closed gate holds nothing any more, which is what closing it means.
        if let Ok(permit) = gate.acquire().await {
            permit.forget();
        }
    }
}

fn chunks(text: &str, size: Option<usize>) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = size.unwrap_or(characters.len()).max(1);
    characters.chunks(size).map(|chunk| chunk.iter().collect()).collect()
}

fn nothing_left(model: &str) -> Error {
    let message = format!("the script has no answer left for model `{model}`");
    Error::new(Class::InvalidRequest, VENDOR, message)
}

#[cfg(test)]
#[path = "scripted_tests.rs"]
mod tests;
