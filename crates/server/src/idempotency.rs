//! Decides what a repeated request gets: the answer of the first, and nothing is done again.
//! Runs before every route under `/api` and `/v1` that changes something, for requests with an `Idempotency-Key`. A post of
//! a message is left to the engine, which stores the key with the message. Never keeps a body that was sent, only its
//! digest, and never an answer that is a stream: routes refuse a key with what they would stream.

mod body;
mod record;

use std::collections::HashSet;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent_world_core::Timestamp;
use agent_world_runtime::store::{DocumentWrite, Expected};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::{self, OpenApi, RefOr, Required};

use crate::access::{Principal, SESSION};
use crate::app::App;
use crate::problem::Problem;
use body::Reading;
use record::{Keeping, Record};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Where answers are kept in the store.
const KIND: &str = "idempotency";
const KEY_LENGTH: usize = 255;
/// How long answers are kept.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How often those that are older are removed.
const PRUNED: Duration = Duration::from_secs(60 * 60);
/// Where answers hold a secret that is shown once: only the fact is kept that there was one.
const SECRETS: [&str; 2] = ["/api/tokens", "/api/webhooks"];
/// The engine's own.
const MESSAGES: &str = "/api/worlds/{world}/chats/{chat}/messages";

/// The requests being carried out, by the names of their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnderWay {
    names: Arc<Mutex<HashSet<String>>>,
    pruned: Arc<Mutex<Option<Timestamp>>>,
}

/// The right to carry a request out; given back however that ends.
#[derive(Debug)]
struct Claim {
    under_way: UnderWay,
    name: String,
}

impl UnderWay {
    fn claim(&self, name: String) -> Result<Claim, Problem> {
        if self.names().insert(name.clone()) {
            return Ok(Claim { under_way: self.clone(), name });
        }
        let detail = "a request with this idempotency key is being carried out; wait for its answer and repeat";
        Err(Problem::conflict("idempotency_in_progress", detail))
    }

    fn names(&self) -> MutexGuard<'_, HashSet<String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is time to remove old answers; says so once.
    fn prunes_at(&self, now: Timestamp) -> bool {
        let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
        let due = pruned.is_none_or(|last| now.duration_since(last).unsigned_abs() >= PRUNED);
        if due {
            *pruned = Some(now);
        }
        due
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.under_way.names().remove(&self.name);
    }
}

/// The key of a request, if it has one.
pub(crate) fn key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut given = headers.get_all(KEY).iter();
    let Some(first) = given.next() else { return Ok(None) };
    let text = first.to_str().ok().filter(|text| {
        (1..=KEY_LENGTH).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
    });
    match (text, given.next()) {
        (Some(text), None) => Ok(Some(text)),
        _ => Err(Problem::unprocessable(
            "idempotency_key_invalid",
            format!(
                "the idempotency key must be one of 1 to {KEY_LENGTH} visible ASCII characters"
            ),
        )),
    }
}

/// Says that an answer is that of an earlier request.
pub(crate) fn mark_replayed(response: &mut Response) {
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
}

/// Carries a request out once, however often it is sent.
pub(crate) async fn once(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let name = match name(&request) {
        Ok(Some(name)) => name,
        Ok(None) => return next.run(request).await,
        Err(problem) => return problem.into_response(),
    };
    match attempt(&app, name, request, next).await {
        Ok(response) => response,
        Err(problem) => problem.into_response(),
    }
}

/// What a request's answer is kept under: nobody sees the answers that another one got.
fn name(request: &Request) -> Result<Option<String>, Problem> {
    let posted = request
        .extensions()
        .get::<MatchedPath>()
        .is_some_and(|path| path.as_str().ends_with(MESSAGES) && request.method() == Method::POST);
    let path = request.uri().path();
    let changes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
    let ours = is_ours(path) && changes.contains(request.method()) && !posted;
    let who = request.extensions().get::<Principal>();
    let (true, Some(who)) = (ours, who) else { return Ok(None) };
    let key = key(request.headers())?;
    Ok(key.map(|key| {
        // Of the same name there may have been another before, with another role.
        let (name, role) = (who.name.as_str(), who.role.name());
        record::digest_of(&[name, role, request.method().as_str(), path, key])
    }))
}

fn is_ours(path: &str) -> bool {
    // Signing in twice is harmless, and its answer is for one browser.
    (path.starts_with("/api/") && path != SESSION) || path.starts_with("/v1/")
}

/// An answer that says nothing about the request but that it cannot have a key: what is sent in its place may have the
/// same one.
pub(crate) fn mark_not_kept(response: &mut Response) {
    response.extensions_mut().insert(NotKept);
}

#[derive(Clone, Copy, Debug)]
struct NotKept;

async fn attempt(
    app: &Arc<App>,
    name: String,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    // Claimed before the look: an answer that is kept meanwhile is then there to be found.
    let claim = app.under_way.claim(name)?;
    let kept = app.engine.store().document(KIND, &claim.name).await?;
    let fresh = kept.filter(|kept| Timestamp::now().duration_since(kept.at).unsigned_abs() < KEPT);
    if let Some(record) = fresh.and_then(|kept| Record::read(&kept.body)) {
        return replay(record, request).await;
    }
    // In a task of its own: a client that goes away must find the answer when it comes back.
    let app = Arc::clone(app);
    let task = tokio::spawn(async move { perform(&app, claim, request, next).await });
    match task.await {
        Ok(response) => Ok(response),
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(error) => Err(Problem::internal(error)),
    }
}

async fn replay(record: Record, request: Request) -> Result<Response, Problem> {
    let query = request.uri().query().map(str::to_owned);
    if record.is_answer_to(query.as_deref(), request.into_body()).await {
        return record.response();
    }
    let detail = "this idempotency key was used for a request with another body; use a new one";
    Err(Problem::unprocessable("idempotency_key_reused", detail))
}

async fn perform(app: &App, claim: Claim, request: Request, next: Next) -> Response {
    let query = request.uri().query().map(str::to_owned);
    let path = request.uri().path();
    let secret = SECRETS.iter().any(|start| path.starts_with(start));
    let keeping = if secret { Keeping::Fact } else { Keeping::Answer };
    let (parts, sent) = request.into_parts();
    let (sent, reading) = Reading::follow(sent);
    let response = next.run(Request::from_parts(parts, sent)).await;
    if !is_kept(response.status()) || response.extensions().get::<NotKept>().is_some() {
        return response;
    }
    let Some(sent) = reading.digest() else { return response };
    let (response, record) = Record::make(query, sent, response, keeping).await;
    if let Some(record) = record {
        keep(app, &claim, record).await;
    }
    response
}

/// What may be different the next time, without anything else being asked, is not kept.
fn is_kept(status: StatusCode) -> bool {
    let passing = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::PAYLOAD_TOO_LARGE,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    !status.is_server_error() && !passing.contains(&status)
}

/// What was done is done: where its answer cannot be kept, the client still gets it.
async fn keep(app: &App, claim: &Claim, record: Record) {
    let (store, now) = (app.engine.store(), Timestamp::now());
    let write = DocumentWrite {
        kind: KIND.to_owned(),
        key: claim.name.clone(),
        expected: Expected::Anything,
        body: record.text(),
        at: now,
    };
    if let Err(error) = store.write_document(write).await {
        tracing::warn!(%error, "an answer could not be kept for repetitions of its request");
    }
    if app.under_way.prunes_at(now)
        && let Ok(before) = now.checked_sub(KEPT)
        && let Err(error) = store.delete_documents(KIND, before).await
    {
        tracing::warn!(%error, "old answers could not be removed");
    }
}

/// Adds the header and its problems to every operation that takes it.
pub(crate) fn describe(document: &mut OpenApi) {
    let paths = document.paths.paths.iter_mut().filter(|(path, _)| is_ours(path));
    for (path, item) in paths {
        let operations = [&mut item.post, &mut item.put, &mut item.patch, &mut item.delete];
        let refusal = match path.starts_with("/v1/") {
            true => crate::responses::refusal,
            false => crate::routes::problem,
        };
        operations.into_iter().flatten().for_each(|operation| describe_one(operation, refusal));
    }
}

fn describe_one(operation: &mut Operation, refusal: fn(u16) -> RefOr<openapi::Response>) {
    let schema = ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(1))
        .max_length(Some(KEY_LENGTH))
        .pattern(Some("^[!-~]+$"))
        .build();
    let header = ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("Makes a repetition of this request harmless: it gets the same answer."))
        .schema(Some(schema))
        .build();
    operation.parameters.get_or_insert_default().push(header.into());
    for status in [409, 422] {
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_string()).or_insert_with(|| refusal(status));
    }
}
