//! Makes responses that nobody waits for: they can be read, followed at their start, and cancelled by their id.
//! Called by the routes. One task makes a response and is the only one that writes it; how many there are is bounded. A
//! response whose server ended in between is told to have failed: its call is not made again.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_stream::stream;
use axum::http::StatusCode;
use futures::Stream;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::agent;
use super::answer::{Answer, Step};
use super::create::{Heard, response_of};
use super::failure::Failure;
use super::kept::{self, Kept, Saved};
use crate::access::Principal;
use crate::app::App;

/// Responses made in the background at the same time; a further one is refused.
const MOST: usize = 64;
/// Events that wait for a slow reader. When they are too many, the reader is let go and the work goes on.
const WAITING: usize = 1_024;

/// What the routes under `/v1` share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    running: Mutex<BTreeMap<String, Running>>,
    tasks: TaskTracker,
    /// When old responses were last removed, in milliseconds since 1970.
    pub(super) pruned: AtomicI64,
}

#[derive(Clone, Debug)]
struct Running {
    cancel: CancellationToken,
    ended: CancellationToken,
}

impl Shared {
    fn running(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        // Whoever panicked here left the map whole.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str) -> Option<Running> {
        self.running().get(id).cloned()
    }
}

/// Starts the work and gives the response as it stands.
pub(super) async fn start(app: &Arc<App>, answer: Answer) -> Result<Value, Failure> {
    let (begun, _) = launch(app, answer).await?;
    Ok(response_of(begun))
}

/// Starts the work and tells what happens. Who stops listening does not stop it.
pub(super) async fn follow(
    app: &Arc<App>,
    answer: Answer,
) -> Result<impl Stream<Item = Heard> + Send + 'static, Failure> {
    let (begun, mut events) = launch(app, answer).await?;
    Ok(stream! {
        for event in begun {
            yield Heard::Event(event);
        }
        while let Some(event) = events.recv().await {
            yield Heard::Event(event);
        }
    })
}

async fn launch(
    app: &Arc<App>,
    mut answer: Answer,
) -> Result<(Vec<Value>, mpsc::Receiver<Value>), Failure> {
    let id = answer.id.clone();
    let begun = answer.begun();
    let response = response_of(begun.clone());
    let running = Running { cancel: CancellationToken::new(), ended: CancellationToken::new() };
    {
        let mut all = app.responses.running();
        if all.len() >= MOST {
            let message = "too many responses are made in the background; wait for one to end";
            return Err(Failure::new(StatusCode::TOO_MANY_REQUESTS, "too_many_running", message));
        }
        all.insert(id.clone(), running.clone());
    }
    let kept = answer.kept(response);
    match kept::save(app, &id, &kept).await {
        Ok(Saved::Yes) => {}
        Ok(Saved::TooLarge) => {
            app.responses.running().remove(&id);
            let message = "the conversation is too large to be kept; send less of it";
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "input_too_large", message));
        }
        Err(failure) => {
            app.responses.running().remove(&id);
            return Err(failure);
        }
    }
    let (sender, receiver) = mpsc::channel(WAITING);
    app.responses.tasks.spawn(run(Arc::clone(app), answer, kept, running, sender));
    Ok((begun, receiver))
}

async fn run(
    app: Arc<App>,
    mut answer: Answer,
    mut kept: Kept,
    running: Running,
    events: mpsc::Sender<Value>,
) {
    let mut reader = Some(events);
    let id = answer.id.clone();
    loop {
        let step = tokio::select! {
            biased;
            () = running.cancel.cancelled() => None,
            step = answer.next() => Some(step),
        };
        match step {
            Some(Step::Told(told)) => tell(&mut reader, told),
            Some(Step::Completed(told)) => {
                // Where it could not be kept, what was kept at the start must not look like work for ever.
                let response = told.last().and_then(|event| event.get("response"));
                if let Some(response) = response.filter(|response| is_lost(response)) {
                    let lost = json!({"code": "server_error", "message": "it could not be kept"});
                    kept.response = ended(response, "failed", lost);
                    save(&app, &id, &kept).await;
                }
                tell(&mut reader, told);
                break;
            }
            Some(Step::Failed(error)) => {
                let told = answer.failed(&error);
                kept.response = response_of(told.clone());
                save(&app, &id, &kept).await;
                tell(&mut reader, told);
                break;
            }
            None => {
                // A vendor's model is stopped by not being listened to any more.
                if let Some((chat, agent)) = answer.agent()
                    && let Err(problem) = agent::cancel(&app, &chat, &agent, &kept.owner).await
                {
                    let why = problem.detail();
                    tracing::warn!(why, response = %id, "an agent could not be stopped");
                }
                kept.response = ended(&kept.response, "cancelled", Value::Null);
                save(&app, &id, &kept).await;
                break;
            }
        }
    }
    app.responses.running().remove(&id);
    running.ended.cancel();
}

fn is_lost(response: &Value) -> bool {
    response.get("store").and_then(Value::as_bool) == Some(false)
}

/// A response object that came to another end.
fn ended(response: &Value, status: &str, error: Value) -> Value {
    let mut response = response.clone();
    if let Value::Object(fields) = &mut response {
        fields.insert("status".to_owned(), status.into());
        fields.insert("error".to_owned(), error);
        fields.insert("output".to_owned(), json!([]));
    }
    response
}

fn tell(reader: &mut Option<mpsc::Sender<Value>>, told: Vec<Value>) {
    for event in told {
        if reader.as_ref().is_some_and(|reader| reader.try_send(event).is_err()) {
            *reader = None;
        }
    }
}

async fn save(app: &App, id: &str, kept: &Kept) {
    match kept::save(app, id, kept).await {
        Ok(Saved::Yes) => {}
        Ok(Saved::TooLarge) => tracing::warn!(response = %id, "a response is too large to be kept"),
        Err(failure) => {
            let reason = failure.detail.message;
            tracing::error!(response = %id, reason, "a response could not be kept");
        }
    }
}

/// A stored response as it stands now.
pub(super) async fn current(app: &App, who: &Principal, id: &str) -> Result<Kept, Failure> {
    let kept = kept::load(app, who, id).await?;
    if !kept.is_open() || app.responses.find(id).is_some() {
        return Ok(kept);
    }
    // It may have ended between the two looks; then what is stored says so.
    let mut kept = kept::load(app, who, id).await?;
    if kept.is_open() {
        let error = json!({
            "code": "server_error",
            "message": "the server ended before the response was complete; ask again",
        });
        kept.response = ended(&kept.response, "failed", error);
        save(app, id, &kept).await;
    }
    Ok(kept)
}

/// Ends the work, where it still goes on, and gives the response as it stands then.
pub(super) async fn cancel(app: &App, who: &Principal, id: &str) -> Result<Kept, Failure> {
    let kept = current(app, who, id).await?;
    if kept.response.get("background").and_then(Value::as_bool) != Some(true) {
        let message = "only a response that is made in the background can be cancelled";
        return Err(Failure::refused("not_in_background", "response_id", message));
    }
    if let Some(running) = app.responses.find(id) {
        running.cancel.cancel();
        running.ended.cancelled().await;
    }
    current(app, who, id).await
}

/// Ends the work for good: nobody will ask for the response any more.
pub(super) async fn end(app: &App, id: &str) {
    if let Some(running) = app.responses.find(id) {
        running.cancel.cancel();
        running.ended.cancelled().await;
    }
}
