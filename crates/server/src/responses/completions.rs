//! `POST /v1/chat/completions`: the older format, for clients that speak nothing else. A request is put in the words of
//! a request for a response, and the answer back; all between is the same. Nothing is stored.

mod reply;
mod request;

use std::sync::Arc;

use async_stream::stream;
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures::Stream;
use serde_json::{Value, json};

use super::answer::{self, Answer, Manner, Step};
use super::asked;
use super::create::{event_stream, whole};
use super::failure::{ErrorBody, Failure, refuse_key_of_stream};
use super::kept::History;
use crate::access::Member;
use crate::app::App;
use crate::extract::Body;
pub(crate) use reply::ChatCompletion;
use reply::Chunks;
pub(crate) use request::ChatBody;

/// Asks a model, or an agent as if it were one, in the older format.
#[utoipa::path(post, path = "/v1/chat/completions", operation_id = "create_chat_completion", tag = "responses", request_body = ChatBody, responses(
    (status = 200, description = "the completion; with `stream`, its chunks", content(
        (ChatCompletion = "application/json"), (String = "text/event-stream"))),
    (status = 400, body = ErrorBody), (status = 401, body = ErrorBody), (status = 403, body = ErrorBody),
    (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 410, body = ErrorBody),
    (status = 413, body = ErrorBody), (status = 415, body = ErrorBody), (status = 422, body = ErrorBody),
    (status = 429, body = ErrorBody), (status = 500, body = ErrorBody), (status = 502, body = ErrorBody),
    (status = 503, body = ErrorBody), (status = 504, body = ErrorBody),
))]
pub(super) async fn complete(
    State(app): State<Arc<App>>,
    Member(who): Member,
    headers: HeaderMap,
    Body(body): Body<Value>,
) -> Result<Response, Failure> {
    let wanted = request::read(body)?;
    let asked = asked::read(wanted.body).map_err(in_its_words)?;
    if asked.stream
        && let Some(refused) = refuse_key_of_stream(&headers)
    {
        return Ok(refused);
    }
    let manner = if asked.stream { Manner::Pieces } else { Manner::Whole };
    let mut answer =
        answer::begin(&app, &who, asked, History::default(), manner).await.map_err(in_its_words)?;
    if manner == Manner::Whole {
        let response = whole(answer).await?;
        return Ok(Json(reply::completion(&response)).into_response());
    }
    let first = answer.next().await;
    if let Step::Failed(error) = first {
        return Err(error.into());
    }
    Ok(event_stream(chunks(answer, first, Chunks::new(wanted.usage))))
}

/// A failure names the field as this format calls it.
fn in_its_words(mut failure: Failure) -> Failure {
    let param = failure.detail.param.take();
    failure.detail.param = param.map(|param| match param.split_once('[') {
        Some(("input", rest)) => format!("messages[{rest}"),
        _ if param == "input" => "messages".to_owned(),
        _ if param.starts_with("text") => "response_format".to_owned(),
        _ => param,
    });
    failure
}

fn chunks(mut answer: Answer, first: Step, mut chunks: Chunks) -> impl Stream<Item = Bytes> + Send {
    stream! {
        let mut step = first;
        loop {
            let (told, last) = match step {
                Step::Told(told) => (told, false),
                Step::Completed(told) => (told, true),
                Step::Failed(error) => {
                    yield frame(&json!({"error": Failure::from(error).detail}));
                    return;
                }
            };
            for event in told {
                for chunk in chunks.of(&event) {
                    yield frame(&chunk);
                }
            }
            if last {
                break;
            }
            step = answer.next().await;
        }
        yield Bytes::from_static(b"data: [DONE]\n\n");
    }
}

fn frame(chunk: &Value) -> Bytes {
    Bytes::from(format!("data: {chunk}\n\n"))
}
