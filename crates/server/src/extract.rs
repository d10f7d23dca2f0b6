//! Decides how bodies and queries are read: strictly, and with words that name the field that was refused.
//! Used by every route. Never looks at what the fields mean.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use crate::limits::TooSlow;
use crate::problem::Problem;

/// A JSON body. What is no JSON is a 400; what does not fit, a 422 that names the field.
#[derive(Debug)]
pub(crate) struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        check_type(&request)?;
        let bytes = read(request, state).await?;
        parse(&bytes).map(Self)
    }
}

/// A JSON body that may be left out.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub Option<T>);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for OptionalBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let checked = check_type(&request);
        let bytes = read(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(None));
        }
        checked?;
        parse(&bytes).map(|value| Self(Some(value)))
    }
}

/// The query of an address, as strict as a body.
#[derive(Debug)]
pub(crate) struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        query.map(|axum::extract::Query(value)| Self(value)).map_err(|error| {
            let text = error.body_text();
            let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
            let detail = format!("the query of this address is refused: {why}");
            let problem = Problem::unprocessable("query_invalid", detail);
            // A value that does not fit is told with its field in front.
            match why.split_once(": ") {
                Some((field, _)) if !field.contains(' ') => problem.with("field", field),
                _ => problem,
            }
        })
    }
}

/// The names in an address. One that is no text names nothing there is.
#[derive(Debug)]
pub(crate) struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let path = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        path.map(|axum::extract::Path(names)| Self(names)).map_err(|_| {
            Problem::not_found("id_unreadable", "an id in this address is no text; ids are UTF-8")
        })
    }
}

/// Any JSON object that fits, with the path of what does not.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        unreadable(error.inner(), (path != ".").then_some(path))
    })?;
    reader.end().map_err(|error| unreadable(&error, None))?;
    Ok(value)
}

fn unreadable(error: &serde_json::Error, field: Option<String>) -> Problem {
    let detail = format!("the body is refused: {error}");
    if !error.is_data() {
        return Problem::new(StatusCode::BAD_REQUEST, "json_invalid", detail);
    }
    let problem = Problem::unprocessable("body_invalid", detail);
    match field {
        Some(field) => problem.with("field", field),
        None => problem,
    }
}

pub(crate) fn check_type(request: &Request) -> Result<(), Problem> {
    let given = request.headers().get(header::CONTENT_TYPE);
    let given = given.and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    let detail = "the body must be JSON; send it with `Content-Type: application/json`";
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", detail))
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|rejection| {
        let status = rejection.status();
        match (&rejection, status) {
            (_, StatusCode::PAYLOAD_TOO_LARGE) => Problem::new(
                status,
                "body_too_large",
                "the body is larger than this server takes; send less at a time",
            ),
            (BytesRejection::FailedToBufferBody(error), _) if is_slow(error) => Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "body_too_slow",
                "the body stood still for longer than this server waits; send it again",
            ),
            (BytesRejection::FailedToBufferBody(_), _) => Problem::new(
                StatusCode::BAD_REQUEST,
                "body_unreadable",
                "the body ended before it was complete; send it again",
            ),
            _ => Problem::internal(rejection),
        }
    })
}

fn is_slow(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |error| error.source());
    causes.any(|error| error.is::<TooSlow>())
}
