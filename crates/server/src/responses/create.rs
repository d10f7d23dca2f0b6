//! `POST /v1/responses`: answers a request, whole, as a stream of events, or in the background.
//! A client that goes away ends the vendor's call, unless it asked for work in the background.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use axum::Json;
use axum::body::Body as Content;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use serde_json::Value;

use super::answer::{self, Answer, Manner, Step};
use super::asked::{self, CreateResponse};
use super::background;
use super::failure::{ErrorBody, Failure, refuse_key_of_stream};
use super::kept::{self, History};
use super::resource::ResponseObject;
use crate::access::{Member, Principal};
use crate::app::App;
use crate::extract::Body;

/// Proxies close what is silent for longer.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Asks a model, or an agent as if it were one.
#[utoipa::path(post, path = "/v1/responses", operation_id = "create_response", tag = "responses", request_body = CreateResponse, responses(
    (status = 200, description = "the response; with `stream`, its events", content(
        (ResponseObject = "application/json"), (String = "text/event-stream"))),
    (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 410, body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody),
    (status = 429, body = ErrorBody), (status = 500, body = ErrorBody), (status = 502, body = ErrorBody),
    (status = 503, body = ErrorBody), (status = 504, body = ErrorBody),
))]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Member(who): Member,
    headers: HeaderMap,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let asked = asked::read(body)?;
    if asked.stream
        && let Some(refused) = refuse_key_of_stream(&headers)
    {
        return Ok(refused);
    }
    let history = previous(&app, &who, asked.request.previous_response_id.as_deref()).await?;
    let (streamed, background) = (asked.stream, asked.background);
    let manner = if streamed { Manner::Pieces } else { Manner::Whole };
    let answer = answer::begin(&app, &who, asked, history, manner).await?;
    match (background, streamed) {
        (true, true) => Ok(events(background::follow(&app, answer).await?)),
        (true, false) => Ok(Json(background::start(&app, answer).await?).into_response()),
        (false, true) => follow(answer).await,
        (false, false) => Ok(Json(whole(answer).await?).into_response()),
    }
}

/// What a request goes on from.
pub(super) async fn previous(
    app: &App,
    who: &Principal,
    id: Option<&str>,
) -> Result<History, Failure> {
    match id {
        Some(id) => kept::history(app, who, id).await,
        None => Ok(History::default()),
    }
}

/// The response at its end.
pub(super) async fn whole(mut answer: Answer) -> Result<Value, Failure> {
    loop {
        match answer.next().await {
            Step::Told(_) => {}
            Step::Completed(told) => return Ok(response_of(told)),
            Step::Failed(error) => return Err(error.into()),
        }
    }
}

/// The response object that the last of some events holds.
pub(super) fn response_of(mut told: Vec<Value>) -> Value {
    let last = told.pop();
    last.and_then(|mut event| event.get_mut("response").map(Value::take)).unwrap_or_default()
}

/// A stream of events. What fails before the first of them is still a plain error, with its own status.
async fn follow(mut answer: Answer) -> Result<Response, Failure> {
    let first = answer.next().await;
    if let Step::Failed(error) = first {
        return Err(error.into());
    }
    Ok(events(told(answer, first)))
}

/// All events of an answer, from its first step on.
fn told(mut answer: Answer, first: Step) -> impl Stream<Item = Heard> + Send + 'static {
    stream! {
        let mut step = first;
        loop {
            let (told, last) = match step {
                Step::Told(told) => (told, false),
                Step::Completed(told) => (told, true),
                Step::Failed(error) => (answer.failed(&error), true),
            };
            for event in told {
                yield Heard::Event(event);
            }
            if last {
                return;
            }
            let mut next = pin!(answer.next());
            step = loop {
                match tokio::time::timeout(KEEP_ALIVE, &mut next).await {
                    Ok(step) => break step,
                    Err(_) => yield Heard::Nothing,
                }
            };
        }
    }
}

/// What a client hears while it follows along.
#[derive(Debug)]
pub(super) enum Heard {
    Event(Value),
    /// That nothing has happened for a while.
    Nothing,
}

/// Server-sent events, each in a piece of its own, and the mark of their end.
fn events(told: impl Stream<Item = Heard> + Send + 'static) -> Response {
    let frames = told.map(|heard| match heard {
        Heard::Event(event) => frame(&event),
        Heard::Nothing => Bytes::from_static(b":\n\n"),
    });
    let end = futures::stream::iter([Bytes::from_static(b"data: [DONE]\n\n")]);
    event_stream(frames.chain(end))
}

/// An answer that is sent piece by piece, past whatever would like to collect it on the way.
pub(super) fn event_stream(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Content::from_stream(frames.map(Ok::<_, Infallible>))).into_response()
}

fn frame(event: &Value) -> Bytes {
    let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
    Bytes::from(format!("event: {kind}\ndata: {event}\n\n"))
}
