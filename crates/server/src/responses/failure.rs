//! Decides what clients of the OpenAI-compatible interface are told when something cannot be done: OpenAI's shape, with
//! the status that official clients read the right exception out of.
//! Used by every route under `/v1`; `shape` also turns what layers and the router say there into it. A vendor that
//! refuses *our* key is never a 401: the client's own token is fine.

use std::time::Duration;

use agent_world_runtime::llm::{self, Class, resource};
use agent_world_runtime::store;
use axum::Json;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use utoipa::openapi::content::ContentBuilder;
use utoipa::openapi::schema::Ref;
use utoipa::openapi::{self, RefOr, ResponseBuilder};

use crate::idempotency;
use crate::problem::Problem;

/// Problem documents are small; whatever is larger is none of ours.
const LARGEST_PROBLEM: usize = 64 * 1024;

/// Official clients try again by status alone, unless they are told.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The body of every error under `/v1`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ErrorBody {
    pub error: ErrorDetail,
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ErrorDetail {
    /// The family: `invalid_request_error`, `authentication_error`, `too_many_requests`, `server_error` and so on.
    #[serde(rename = "type")]
    pub kind: String,
    /// Stable name for programs.
    pub code: Option<String>,
    /// The field that was refused.
    pub param: Option<String>,
    pub message: String,
}

/// Why a request of this interface gets no answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    pub status: StatusCode,
    pub detail: ErrorDetail,
    retry: Retry,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Retry {
    /// The status says it.
    AsUsual,
    After(Duration),
    Never,
}

impl Failure {
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>) -> Self {
        let detail = ErrorDetail {
            kind: kind(status).to_owned(),
            code: Some(code.to_owned()),
            param: None,
            message: message.into(),
        };
        Self { status, detail, retry: Retry::AsUsual }
    }

    /// Something in the request that cannot be taken.
    pub fn invalid(param: impl Into<String>, message: impl Into<String>) -> Self {
        Self::refused("invalid_value", param, message)
    }

    pub fn refused(code: &str, param: impl Into<String>, message: impl Into<String>) -> Self {
        let mut failure = Self::new(StatusCode::BAD_REQUEST, code, message);
        failure.detail.param = Some(param.into());
        failure
    }

    /// A response that is not there, or not theirs.
    pub fn no_response(id: &str) -> Self {
        let message = format!("no response `{}` is stored", short(id));
        let mut failure = Self::new(StatusCode::NOT_FOUND, "response_not_found", message);
        failure.detail.param = Some("response_id".to_owned());
        failure
    }

    /// A response that was to be continued.
    pub fn no_previous(id: &str) -> Self {
        let message = format!(
            "no response `{}` is there to go on from; send the conversation itself as input",
            short(id)
        );
        Self::refused("previous_response_not_found", "previous_response_id", message)
    }

    /// The event that tells it in a stream of messages.
    pub fn event(&self, sequence: u64) -> Value {
        json!({
            "type": "error",
            "sequence_number": sequence,
            "status": self.status.as_u16(),
            "error": self.detail,
        })
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = (self.status, Json(ErrorBody { error: self.detail })).into_response();
        let headers = response.headers_mut();
        match self.retry {
            Retry::AsUsual => {}
            Retry::Never => {
                headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
            }
            Retry::After(wait) => {
                let seconds = wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0));
                headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
            }
        }
        response
    }
}

impl From<llm::Error> for Failure {
    fn from(error: llm::Error) -> Self {
        let (status, retry) = match error.class {
            Class::RateLimited { retry_after } => (
                StatusCode::TOO_MANY_REQUESTS,
                Retry::After(retry_after.unwrap_or(Duration::from_secs(1))),
            ),
            Class::Quota => (StatusCode::TOO_MANY_REQUESTS, Retry::Never),
            Class::InvalidRequest | Class::ContextTooLong | Class::ContentRefused => {
                (StatusCode::BAD_REQUEST, Retry::AsUsual)
            }
            Class::UnknownModel => (StatusCode::NOT_FOUND, Retry::AsUsual),
            Class::Auth => (StatusCode::BAD_GATEWAY, Retry::Never),
            Class::Server | Class::Network | Class::StreamCut => {
                (StatusCode::BAD_GATEWAY, Retry::AsUsual)
            }
            Class::Timeout => (StatusCode::GATEWAY_TIMEOUT, Retry::AsUsual),
            Class::Overloaded | Class::Cancelled => {
                (StatusCode::SERVICE_UNAVAILABLE, Retry::AsUsual)
            }
        };
        let told = resource::failure(&error);
        let text = |key: &str| told.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        // The key that was refused is the server's; what the client is told must not sound like theirs.
        let (kind, code) = match error.class {
            Class::Auth => ("server_error".to_owned(), "upstream_authentication".to_owned()),
            _ => (text("type"), text("code")),
        };
        let param = (error.class == Class::UnknownModel).then(|| "model".to_owned());
        let detail = ErrorDetail { kind, code: Some(code), param, message: text("message") };
        Self { status, detail, retry }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let mut failure = Self::new(problem.status(), problem.code(), problem.detail());
        let told = serde_json::to_value(&problem).unwrap_or_default();
        failure.detail.param = told.get("field").and_then(Value::as_str).map(str::to_owned);
        // As the document it stands for would say.
        if matches!(failure.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS)
        {
            failure.retry = Retry::After(Duration::from_secs(1));
        }
        failure
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Problem::from(error).into()
    }
}

/// An error with this status, for the OpenAPI document.
pub(crate) fn refusal(status: u16) -> RefOr<openapi::Response> {
    let words = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    let schema = RefOr::Ref(Ref::from_schema_name("ErrorBody"));
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new()
        .description(words.unwrap_or_default())
        .content("application/json", content)
        .build()
        .into()
}

/// A stream that breaks off has no answer to keep, and its work may go on: a key cannot promise anything for it.
pub(super) fn refuse_key_of_stream(headers: &HeaderMap) -> Option<Response> {
    if !headers.contains_key("idempotency-key") {
        return None;
    }
    let message = "an answer that is streamed cannot be given again by its idempotency key; leave out stream, or the key";
    let failure = Failure::refused("idempotency_key_with_stream", "stream", message);
    let mut response = failure.into_response();
    idempotency::mark_not_kept(&mut response);
    Some(response)
}

/// The family of a failure, where only the status is known.
fn kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::FORBIDDEN => "permission_error",
        StatusCode::TOO_MANY_REQUESTS => "too_many_requests",
        status if status.is_server_error() => "server_error",
        _ => "invalid_request_error",
    }
}

/// As much of somebody's words as an error repeats.
pub(crate) fn short(text: &str) -> String {
    const LONGEST: usize = 100;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Puts every error under `/v1` in OpenAI's shape, whoever made it. To be the outermost layer of all.
pub(crate) async fn shape(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let ours = path == "/v1" || path.starts_with("/v1/");
    let response = next.run(request).await;
    let status = response.status();
    if !ours || !(status.is_client_error() || status.is_server_error()) || is_json(&response) {
        return response;
    }
    reshape(response).await
}

fn is_json(response: &Response) -> bool {
    let content = response.headers().get(header::CONTENT_TYPE);
    content.is_some_and(|content| content.as_bytes().starts_with(b"application/json"))
}

async fn reshape(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, LARGEST_PROBLEM).await.unwrap_or_default();
    let told: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |key: &str| told.get(key).and_then(Value::as_str).map(str::to_owned);
    let words = || parts.status.canonical_reason().unwrap_or("error").to_lowercase();
    let plain = || String::from_utf8_lossy(&bytes).trim().to_owned();
    let message =
        text("detail").unwrap_or_else(|| if bytes.is_empty() { words() } else { plain() });
    let detail = ErrorDetail {
        kind: kind(parts.status).to_owned(),
        code: Some(text("code").unwrap_or_else(|| words().replace(' ', "_"))),
        param: text("field"),
        message,
    };
    let shaped = Json(ErrorBody { error: detail }).into_response();
    let (shaped, body) = shaped.into_parts();
    // What else the answer says stays: how to log in, when to come again, which methods there are.
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.extend(shaped.headers);
    Response::from_parts(parts, body)
}
