//! Carries one request to whoever answers it, a vendor's model or an agent of a world, and tells the answer as events of
//! the format, under our own id. Used by plain requests, streams, sockets, background work and chat completions alike.
//!
//! The response is kept before its last event is told: whoever has seen the end can go on from it. Dropping an answer
//! ends a vendor's call; an agent goes on with its work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agent_world_core::Timestamp;
use agent_world_core::ids::{AgentId, ChatId, WorldId};
use agent_world_core::item::Item;
use agent_world_runtime::llm::resource::EventWriter;
use agent_world_runtime::llm::{Class, Error, Event, Events, Request, Response, Usage, whole};
use axum::http::StatusCode;
use futures::StreamExt as _;
use serde_json::{Value, json};

use super::agent::{self, Ask, Follows};
use super::asked::Asked;
use super::failure::{Failure, short};
use super::input;
use super::kept::{self, History, Kept, Saved};
use crate::access::Principal;
use crate::app::App;

/// How the answer is to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// All of it at its end.
    Whole,
    /// Piece by piece.
    Pieces,
    /// None at all: the conversation is only made ready to be continued.
    Nothing,
}

/// An answer under way.
pub(super) struct Answer {
    pub id: String,
    app: Arc<App>,
    owner: String,
    request: Request,
    keep: bool,
    history: History,
    /// What is new, as the client said it.
    input: Vec<Arc<Item>>,
    created: Timestamp,
    events: Events,
    /// How far the log of the agent's chat has come at the end.
    reached: Option<Arc<AtomicU64>>,
    writer: EventWriter,
    begun: bool,
}

/// What happens next with an answer.
#[derive(Debug)]
pub(super) enum Step {
    /// Events for the client.
    Told(Vec<Value>),
    /// The last events; the last of them holds the response.
    Completed(Vec<Value>),
    /// The end without an answer.
    Failed(Error),
}

/// Asks whoever is named by the request's model.
pub(super) async fn begin(
    app: &Arc<App>,
    who: &Principal,
    asked: Asked,
    mut history: History,
    manner: Manner,
) -> Result<Answer, Failure> {
    let mut request = asked.request;
    let created = Timestamp::now();
    let id = kept::new_id(created);
    let point = history.point.take();
    let mut reached = None;
    let input = input::resolved(&request.input, &history.items)?;
    request.input = Vec::new();
    let events = match agent_named(&request.model)? {
        Some((world, agent)) => {
            refuse_nothing(manner)?;
            let chat = history.chat.take().filter(|(of, _)| *of == world).map(|(_, chat)| chat);
            // Without a chat to go on in, all that was said is new to the agent.
            let before: &[_] = if chat.is_some() { &[] } else { &history.items };
            let all: Vec<_> = before.iter().chain(&input).cloned().collect();
            let mut request = sent(&request, input::readable(&all)?);
            request.stream = manner == Manner::Pieces;
            let point = point.filter(|_| chat.is_some());
            let follows = point.map(|point| Follows { point, id: id.clone() });
            let ask = Ask { world: world.clone(), agent, request, chat, follows };
            let answering = agent::answer(app, who, ask).await?;
            history.chat = Some((world, answering.chat));
            reached = Some(answering.reached);
            answering.events
        }
        None => {
            history.chat = None;
            let all: Vec<_> = history.items.iter().chain(&input).cloned().collect();
            let all = input::readable(&all)?;
            input::check_results(&all)?;
            if all.is_empty() && request.instructions.is_empty() {
                let message = "there is nothing to answer; send a message as input";
                return Err(Failure::refused("missing_required_parameter", "input", message));
            }
            ask_model(app, sent(&request, all), manner)?
        }
    };
    Ok(Answer {
        id,
        app: Arc::clone(app),
        owner: who.name.clone(),
        keep: asked.store,
        writer: EventWriter::new(&request),
        request,
        history,
        input,
        created,
        events,
        reached,
        begun: false,
    })
}

/// What `world:WORLD/AGENT` names.
pub(super) fn agent_named(model: &str) -> Result<Option<(WorldId, AgentId)>, Failure> {
    let Some(name) = model.strip_prefix("world:") else { return Ok(None) };
    match name.split_once('/') {
        Some((world, agent)) if !world.is_empty() && !agent.is_empty() => {
            Ok(Some((WorldId::from(world), AgentId::from(agent))))
        }
        _ => {
            let message = format!("`{}` names no agent; write `world:WORLD/AGENT`", short(model));
            let mut failure = Failure::new(StatusCode::NOT_FOUND, "model_not_found", message);
            failure.detail.param = Some("model".to_owned());
            Err(failure)
        }
    }
}

fn refuse_nothing(manner: Manner) -> Result<(), Failure> {
    if manner == Manner::Nothing {
        let message = "an agent always answers; leave generate out";
        return Err(Failure::invalid("generate", message));
    }
    Ok(())
}

/// The request as it goes on. What the server does itself, the vendor is not asked for: it keeps nothing, so that
/// thoughts come sealed and can be sent back from here.
fn sent(request: &Request, input: Vec<Arc<Item>>) -> Request {
    let mut request =
        Request { input, previous_response_id: None, store: Some(false), ..request.clone() };
    request.extra.shift_remove("background");
    request
}

fn ask_model(app: &App, request: Request, manner: Manner) -> Result<Events, Failure> {
    let models = app.engine.models();
    Ok(match manner {
        Manner::Pieces => models.stream(request)?,
        Manner::Nothing => {
            models.find(&request.model)?;
            whole(async { Ok(Response::default()) })
        }
        Manner::Whole => {
            models.find(&request.model)?;
            let models = models.clone();
            whole(async move { models.generate(request).await })
        }
    })
}

impl Answer {
    /// What comes next. Behind `Completed` and `Failed` nothing does.
    pub async fn next(&mut self) -> Step {
        let event = tokio::select! {
            () = self.app.stopping.cancelled() => {
                Some(Err(Error::new(Class::Cancelled, "agent-world", "the server is shutting down")))
            }
            event = self.events.next() => event,
        };
        match event {
            Some(Ok(event)) => {
                let last = matches!(event, Event::Completed(_));
                let mut told = Vec::new();
                if !matches!(event, Event::Started(_)) && !self.begun {
                    told.extend(self.begin());
                }
                self.begun = true;
                let event = self.dressed(event);
                told.extend(self.writer.write(&event));
                if !last {
                    return Step::Told(told);
                }
                self.keep(&mut told).await;
                Step::Completed(told)
            }
            Some(Err(error)) => Step::Failed(error),
            None => {
                let message = "the answer ended before its end";
                Step::Failed(Error::new(Class::StreamCut, "agent-world", message))
            }
        }
    }

    /// The response object before there is any answer, as it stands for work in the background.
    pub fn begun(&mut self) -> Vec<Value> {
        self.begun = true;
        self.begin()
    }

    /// The events that tell a failure, and the response it left.
    pub fn failed(&mut self, error: &Error) -> Vec<Value> {
        let mut told = if self.begun { Vec::new() } else { self.begin() };
        self.begun = true;
        told.extend(self.writer.failed(error));
        told
    }

    /// What is to be kept of it, with a response object.
    pub fn kept(&self, response: Value) -> Kept {
        let (follows, before, oldest, length) = kept::place(&self.history, self.created);
        Kept {
            owner: self.owner.clone(),
            model: self.request.model.clone(),
            chat: self.history.chat.clone(),
            reached: self.reached(),
            follows,
            before,
            input: self.input.clone(),
            response,
            oldest,
            length,
        }
    }

    /// What somebody who follows this response on the same connection goes on from, whether or not it is stored.
    pub fn history(&self, response: &Value) -> History {
        let output = response.get("output").cloned().unwrap_or_default();
        let output = agent_world_runtime::llm::input_from(output).unwrap_or_default();
        let all = self.history.items.iter().chain(&self.input).cloned().chain(output);
        let point = Some(kept::point(&self.id, response, self.reached()));
        History { items: all.collect(), chat: self.history.chat.clone(), point, chain: None }
    }

    fn reached(&self) -> Option<u64> {
        let reached = self.reached.as_ref()?.load(Ordering::Acquire);
        (reached > 0).then_some(reached)
    }

    /// The agent that answers, and where.
    pub fn agent(&self) -> Option<(ChatId, AgentId)> {
        let (_, chat) = self.history.chat.as_ref()?;
        let (_, agent) = agent_named(&self.request.model).ok()??;
        Some((chat.clone(), agent))
    }

    fn begin(&mut self) -> Vec<Value> {
        let started = self.dressed(Event::Started(Box::default()));
        self.writer.write(&started)
    }

    /// A response under our id and the client's name of the model, made now.
    fn dressed(&self, event: Event) -> Event {
        let dress = |mut response: Box<Response>| {
            response.id.clone_from(&self.id);
            response.model.clone_from(&self.request.model);
            response.created_at = Some(self.created.as_second());
            response.usage.get_or_insert_with(Usage::default);
            response.extra.shift_remove("completed_at");
            response
        };
        match event {
            Event::Started(response) => Event::Started(dress(response)),
            Event::Completed(response) => {
                let mut response = dress(response);
                let now = Timestamp::now().as_second().max(self.created.as_second());
                response.extra.insert("completed_at".to_owned(), now.into());
                Event::Completed(response)
            }
            event => event,
        }
    }

    /// Keeps the response that the last event holds, where it is to be kept. One that could not be says so.
    async fn keep(&mut self, told: &mut [Value]) {
        if !self.keep {
            return;
        }
        let Some(response) = told.last_mut().and_then(|event| event.get_mut("response")) else {
            return;
        };
        match kept::save(&self.app, &self.id, &self.kept(response.clone())).await {
            Ok(Saved::Yes) => {}
            Ok(Saved::TooLarge) => {
                tracing::warn!(response = %self.id, "a response is too large to be kept");
                mark_lost(response);
            }
            Err(failure) => {
                let reason = failure.detail.message;
                tracing::error!(response = %self.id, reason, "a response could not be kept");
                mark_lost(response);
            }
        }
    }
}

/// The answer is there and paid for; only it cannot be continued by its id.
fn mark_lost(response: &mut Value) {
    if let Value::Object(fields) = response {
        fields.insert("store".to_owned(), json!(false));
    }
}
