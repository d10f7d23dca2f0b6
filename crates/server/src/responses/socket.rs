//! `GET /v1/responses` as a WebSocket: requests one after another on one connection, each answered by the events of a
//! stream, one in a message. A request ends with exactly one last event: its response, or an `error`.
//!
//! What is not to be stored can be continued here, and only here: the connection remembers its latest responses. A
//! request that fails makes it forget the response it went on from.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use futures::{Stream, StreamExt as _};
use serde_json::Value;

use super::answer::{self, Manner, Step};
use super::asked;
use super::create::previous;
use super::failure::{ErrorBody, Failure};
use super::kept::History;
use crate::access::{Member, Principal};
use crate::app::App;

/// The largest message that is taken: as large as a body.
const LARGEST: usize = super::LARGEST_BODY;
/// Larger ones are still read, to be answered with an error; what is beyond this ends the connection.
const READABLE: usize = 2 * LARGEST;
/// Requests that wait for the one under way, and their bytes. A further one is answered with an error.
const MOST_WAITING: usize = 16;
const LONGEST_WAITING: usize = LARGEST;
/// Responses that a connection remembers.
const REMEMBERED: usize = 4;
/// How long a connection may be silent, and a client slow to read.
const IDLE: Duration = Duration::from_secs(30 * 60);
const SLOWEST: Duration = Duration::from_secs(30);

/// Fields of a plain request that mean nothing here: everything is told as it happens, on this connection.
const NOT_HERE: [&str; 3] = ["stream", "stream_options", "background"];

/// Requests and events over one connection.
#[utoipa::path(get, path = "/v1/responses", operation_id = "open_responses_socket", tag = "responses", responses(
    (status = 101, description = "a WebSocket: `response.create` messages in, events out"),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody), (status = 426, body = ErrorBody),
))]
pub(super) async fn open(
    State(app): State<Arc<App>>,
    Member(who): Member,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Failure> {
    let upgrade = upgrade.map_err(|_| {
        let message = "this address is for WebSockets; send a POST to create a response";
        Failure::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message)
    })?;
    let upgrade = upgrade.max_message_size(READABLE).max_frame_size(READABLE);
    Ok(upgrade.on_upgrade(move |socket| Connection::new(app, who, socket).serve()))
}

struct Connection {
    app: Arc<App>,
    who: Principal,
    socket: WebSocket,
    waiting: VecDeque<String>,
    /// Responses that can be continued here, the newest last.
    remembered: VecDeque<(String, History)>,
}

/// The end of a connection.
type Open = ControlFlow<()>;

/// What happens with one request.
enum Turn {
    Told(Value),
    /// The last event, and what can be gone on from.
    Done(Value, Option<(String, History)>),
}

impl Connection {
    fn new(app: Arc<App>, who: Principal, socket: WebSocket) -> Self {
        Self { app, who, socket, waiting: VecDeque::new(), remembered: VecDeque::new() }
    }

    async fn serve(mut self) {
        loop {
            let open = match self.waiting.pop_front() {
                Some(request) => self.answer(&request).await,
                None => self.listen().await,
            };
            if open.is_break() {
                return;
            }
        }
    }

    /// Waits for a request.
    async fn listen(&mut self) -> Open {
        let stopping = self.app.stopping.clone();
        tokio::select! {
            () = stopping.cancelled() => self.close(close_code::AWAY, "the server is shutting down").await,
            () = tokio::time::sleep(IDLE) => self.close(close_code::NORMAL, "nothing was asked for a long time").await,
            message = self.socket.recv() => self.hear(message).await,
        }
    }

    async fn hear(&mut self, message: Option<Result<Message, axum::Error>>) -> Open {
        match message {
            Some(Ok(Message::Text(text))) => match self.queue(&text) {
                Ok(()) => Open::Continue(()),
                Err(failure) => self.tell(&failure.event(0)).await,
            },
            Some(Ok(Message::Binary(_))) => {
                let message = "a message must be JSON as text";
                self.tell(&Failure::new(StatusCode::BAD_REQUEST, "invalid_body", message).event(0))
                    .await
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Open::Continue(()),
            Some(Err(error)) if is_too_large(&error) => {
                self.tell(&too_large().event(0)).await?;
                self.close(close_code::SIZE, "a message is too large").await
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => Open::Break(()),
        }
    }

    /// Takes a request up, where there is room for it.
    fn queue(&mut self, text: &str) -> Result<(), Failure> {
        if text.len() > LARGEST {
            return Err(too_large());
        }
        let bytes: usize = self.waiting.iter().map(String::len).sum();
        let fits = self.waiting.is_empty() || bytes.saturating_add(text.len()) <= LONGEST_WAITING;
        if self.waiting.len() >= MOST_WAITING || !fits {
            let message = format!(
                "too many requests wait on this connection, which takes {MOST_WAITING} with {LONGEST_WAITING} bytes \
                 together; wait for their answers"
            );
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "too_many_waiting", message));
        }
        self.waiting.push_back(text.to_owned());
        Ok(())
    }

    /// Answers one request, and hears on meanwhile: a client that leaves ends it.
    async fn answer(&mut self, text: &str) -> Open {
        let (body, follows) = match read(text) {
            Ok(read) => read,
            Err(failure) => return self.tell(&failure.event(0)).await,
        };
        let before = follows.as_ref().and_then(|id| self.recall(id));
        let mut turn = Box::pin(turn(Arc::clone(&self.app), self.who.clone(), body, before));
        loop {
            let told = tokio::select! {
                told = turn.next() => told,
                message = self.socket.recv() => {
                    self.hear(message).await?;
                    continue;
                }
            };
            match told {
                Some(Turn::Told(event)) => self.tell(&event).await?,
                Some(Turn::Done(event, left)) => {
                    match (left, follows) {
                        (Some(left), _) => self.remember(left),
                        (None, Some(follows)) => self.remembered.retain(|(id, _)| *id != follows),
                        (None, None) => {}
                    }
                    return self.tell(&event).await;
                }
                None => return Open::Continue(()),
            }
        }
    }

    fn recall(&self, id: &str) -> Option<History> {
        self.remembered.iter().find(|(of, _)| of == id).map(|(_, history)| history.clone())
    }

    fn remember(&mut self, left: (String, History)) {
        self.remembered.push_back(left);
        if self.remembered.len() > REMEMBERED {
            self.remembered.pop_front();
        }
    }

    async fn tell(&mut self, event: &Value) -> Open {
        let message = Message::Text(event.to_string().into());
        match tokio::time::timeout(SLOWEST, self.socket.send(message)).await {
            Ok(Ok(())) => Open::Continue(()),
            Ok(Err(_)) | Err(_) => Open::Break(()),
        }
    }

    async fn close(&mut self, code: u16, reason: &'static str) -> Open {
        let frame = CloseFrame { code, reason: reason.into() };
        // Whoever does not take it any more is gone, which is what it says.
        tokio::time::timeout(SLOWEST, self.socket.send(Message::Close(Some(frame)))).await.ok();
        Open::Break(())
    }
}

fn too_large() -> Failure {
    let message = format!("a message may have {LARGEST} bytes; send less of the conversation");
    Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "message_too_large", message)
}

/// Whether a message was not read for its size. The library under this one keeps the kind of its errors to itself.
fn is_too_large(error: &axum::Error) -> bool {
    error.to_string().contains("too long")
}

/// A message, and the response it goes on from.
fn read(text: &str) -> Result<(Value, Option<String>), Failure> {
    let refused =
        |code: &str, message: String| Failure::new(StatusCode::BAD_REQUEST, code, message);
    let body: Value = serde_json::from_str(text)
        .map_err(|error| refused("invalid_body", format!("the message is not JSON: {error}")))?;
    if body.get("type").and_then(Value::as_str) != Some("response.create") {
        let message = "a message has the type `response.create`".to_owned();
        return Err(refused("invalid_type", message));
    }
    if let Some(field) = NOT_HERE.into_iter().find(|field| body.get(field).is_some()) {
        let message = format!("{field} means nothing on a WebSocket; leave it out");
        return Err(Failure::refused("unsupported_parameter", field, message));
    }
    let follows = body.get("previous_response_id").and_then(Value::as_str).map(str::to_owned);
    Ok((body, follows))
}

/// Everything that is told of one request.
fn turn(
    app: Arc<App>,
    who: Principal,
    body: Value,
    before: Option<History>,
) -> impl Stream<Item = Turn> + Send {
    stream! {
        let mut answer = match begin(&app, &who, body, before).await {
            Ok(answer) => answer,
            Err(failure) => {
                yield Turn::Done(failure.event(0), None);
                return;
            }
        };
        let mut begun = false;
        loop {
            let (mut told, last) = match answer.next().await {
                Step::Told(told) => (told, None),
                Step::Completed(mut told) => {
                    let last = told.pop().unwrap_or_default();
                    (told, Some(last))
                }
                Step::Failed(error) if !begun => {
                    yield Turn::Done(Failure::from(error).event(0), None);
                    return;
                }
                Step::Failed(error) => {
                    // The last event says it all; an `error` before it would be a second end.
                    let last = answer.failed(&error).pop().unwrap_or_default();
                    yield Turn::Done(renumbered(last), None);
                    return;
                }
            };
            begun |= !told.is_empty();
            for event in told.drain(..) {
                yield Turn::Told(event);
            }
            if let Some(last) = last {
                let left = last.get("response").map(|response| answer.history(response));
                let id = answer.id.clone();
                yield Turn::Done(last, left.map(|history| (id, history)));
                return;
            }
        }
    }
}

/// Without the event before it that is not sent.
fn renumbered(mut event: Value) -> Value {
    let number = event.get("sequence_number").and_then(Value::as_u64).unwrap_or_default();
    if let Value::Object(fields) = &mut event {
        fields.insert("sequence_number".to_owned(), number.saturating_sub(1).into());
    }
    event
}

async fn begin(
    app: &Arc<App>,
    who: &Principal,
    body: Value,
    before: Option<History>,
) -> Result<answer::Answer, Failure> {
    let generate = body.get("generate").and_then(Value::as_bool) != Some(false);
    let asked = asked::read(body)?;
    let history = match before {
        Some(history) => history,
        None => previous(app, who, asked.request.previous_response_id.as_deref()).await?,
    };
    let manner = if generate { Manner::Pieces } else { Manner::Nothing };
    answer::begin(app, who, asked, history, manner).await
}
