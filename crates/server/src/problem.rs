//! Decides what a client is told when something cannot be done: RFC 9457 problem documents with stable codes.
//! Returned by every route under `/api`. Never tells what is inside an error that is ours: that goes to the log.

use agent_world_core::command::Rejection;
use agent_world_runtime::{Error, store};
use axum::Json;
use axum::http::{Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::wire;

/// What went wrong, to what, and what to do.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct Problem {
    /// `urn:agent-world:problem:` and the code.
    #[serde(rename = "type")]
    kind: String,
    /// The status in words.
    title: String,
    status: u16,
    /// Stable name for programs.
    code: String,
    detail: String,
    /// Further facts: `field` names what was refused, `approval` holds an earlier decision.
    #[serde(flatten)]
    #[schema(additional_properties, value_type = Object)]
    // Boxed, so that what goes well does not carry the room for it.
    facts: Box<Map<String, Value>>,
}

impl Problem {
    pub fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        Self {
            kind: format!("urn:agent-world:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            code: code.to_owned(),
            detail: detail.into(),
            facts: Box::default(),
        }
    }

    /// Adds a fact for programs.
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.facts.insert(name.to_owned(), value);
        self
    }

    pub fn not_found(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, detail)
    }

    pub fn conflict(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// Well-formed, and still not acceptable.
    pub fn unprocessable(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    pub fn unauthorized(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", detail)
    }

    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", detail)
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// Nothing was done, and it is known that nothing was. What failed on our side may have taken effect.
    pub fn is_refusal(&self) -> bool {
        self.status().is_client_error()
    }

    pub fn code(&self) -> &str {
        &self.code
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Ours: the client learns that it happened, the log what it was.
    pub fn internal(error: impl std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed");
        let detail = "something failed on the server's side; its log says what";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    fn unavailable(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            header::HeaderValue::from_static("application/problem+json"),
        );
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, header::HeaderValue::from_static("Bearer"));
        }
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        match error {
            Error::Rejected(rejection) => rejected(&rejection),
            Error::Settings(invalid) => {
                let problem = Self::unprocessable("settings_invalid", detail);
                match invalid.field() {
                    Some(field) => problem.with("field", field),
                    None => problem,
                }
            }
            Error::UnknownChat(_) => Self::not_found("chat_not_found", detail),
            Error::UnknownWorld(_) => Self::not_found("world_not_found", detail),
            Error::WorldExists(_) => Self::conflict("world_exists", detail),
            Error::UnknownMessage { .. } => Self::not_found("message_not_found", detail),
            Error::UnknownApproval(_) => Self::not_found("approval_not_found", detail),
            Error::AlreadySettled(view) => Self::conflict("approval_settled", detail)
                .with("approval", wire::Approval::from_view(&view)),
            Error::KeyReused => Self::unprocessable("idempotency_key_reused", detail),
            Error::Overloaded(_) => {
                Self::new(StatusCode::TOO_MANY_REQUESTS, "chat_overloaded", detail)
            }
            Error::ShuttingDown => Self::unavailable("shutting_down", detail),
            Error::Store(error) => error.into(),
        }
    }
}

impl From<store::Error> for Problem {
    fn from(error: store::Error) -> Self {
        let detail = error.to_string();
        match error {
            store::Error::UnknownWorld(world) => {
                Self::not_found("world_not_found", format!("world {world} does not exist"))
            }
            store::Error::UnknownRule { .. } => Self::not_found("rule_not_found", detail),
            store::Error::WorldConflict { .. } => Self::conflict("version_conflict", detail),
            store::Error::DocumentConflict { .. }
            | store::Error::Conflict { .. }
            | store::Error::StaleSettings { .. } => Self::conflict("conflict", detail),
            store::Error::Busy(_) => Self::unavailable("store_busy", detail),
            other => Self::internal(other),
        }
    }
}

fn rejected(rejection: &Rejection) -> Problem {
    let status = match rejection {
        Rejection::NoChat | Rejection::ChatDeleted | Rejection::UnknownGrant(_) => {
            StatusCode::NOT_FOUND
        }
        Rejection::ChatExists
        | Rejection::NotHuman { .. }
        | Rejection::ApprovalNotPending(_)
        | Rejection::ClaimMismatch { .. }
        | Rejection::ApprovalExpired { .. }
        | Rejection::DeniedByRule { .. }
        | Rejection::DeniedByPreset { .. }
        | Rejection::NotAClientCall(_)
        | Rejection::NothingToRetry
        | Rejection::Stale(_) => StatusCode::CONFLICT,
        Rejection::EmptyMessage
        | Rejection::TooDeep
        | Rejection::EmptyTitle
        | Rejection::UnknownAgent(_)
        | Rejection::NotOffered { .. }
        | Rejection::MatchDoesNotCover
        | Rejection::InvalidTools(_)
        | Rejection::InvalidAnswer(_)
        | Rejection::InvalidArguments(_) => StatusCode::UNPROCESSABLE_ENTITY,
    };
    Problem::new(status, rejection.code(), rejection.to_string())
}

/// The answer to an address that nothing is at.
pub(crate) async fn no_route(uri: Uri) -> Problem {
    let detail = format!("there is nothing at {}; /docs lists what there is", uri.path());
    Problem::not_found("route_not_found", detail)
}

/// The answer to a method that an address does not have.
pub(crate) async fn no_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("{} does not take {method}; `Allow` lists what it takes", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", detail)
}
