//! An answer as it is kept for repetitions of its request.
//! Made and read by `idempotency`. Bounded in size; of an answer that is longer, or holds a secret,
//! only the fact is kept that there was one.

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::BytesMut;
use futures::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::body::Sent;
use super::mark_replayed;
use crate::problem::Problem;

/// Bytes of an answer that is kept whole.
const LIMIT: usize = 256 * 1024;
/// What is told of an answer besides its body.
const HEADERS: [HeaderName; 3] = [header::CONTENT_TYPE, header::ETAG, header::LOCATION];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    query: Option<String>,
    sent: Sent,
    status: u16,
    headers: Vec<(String, String)>,
    /// Absent where it was too long, or is nobody else's business.
    body: Option<String>,
}

/// How much of an answer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeping {
    /// All of it, if it is not too long.
    Answer,
    /// That there was one.
    Fact,
}

impl Record {
    /// The answer as it goes on, and what is kept of it: nothing where it broke off.
    pub async fn make(
        query: Option<String>,
        sent: Sent,
        response: Response,
        keeping: Keeping,
    ) -> (Response, Option<Self>) {
        let (parts, body) = response.into_parts();
        let told = |name: &HeaderName| {
            let value = parts.headers.get(name)?.to_str().ok()?;
            Some((name.to_string(), value.to_owned()))
        };
        let headers = HEADERS.iter().filter_map(told).collect();
        let status = parts.status.as_u16();
        let (body, read) = read(body).await;
        let body_kept = match read {
            Read::Whole(bytes) if keeping == Keeping::Answer => {
                String::from_utf8(bytes.into()).ok()
            }
            Read::Whole(_) | Read::TooLong => None,
            Read::Broken => return (Response::from_parts(parts, body), None),
        };
        let record = Self { query, sent, status, headers, body: body_kept };
        (Response::from_parts(parts, body), Some(record))
    }

    /// What cannot be read is as if it had not been kept.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub async fn is_answer_to(&self, query: Option<&str>, body: Body) -> bool {
        self.query.as_deref() == query && self.sent.is(body).await
    }

    /// The answer once more.
    pub fn response(self) -> Result<Response, Problem> {
        let Some(body) = self.body else {
            let detail = format!(
                "this request was carried out before with status {}; its answer is not kept; read what it changed",
                self.status
            );
            return Err(Problem::conflict("idempotency_answer_not_kept", detail));
        };
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = StatusCode::from_u16(self.status).map_err(Problem::internal)?;
        for (name, value) in self.headers {
            let name = HeaderName::try_from(name).map_err(Problem::internal)?;
            let value = HeaderValue::try_from(value).map_err(Problem::internal)?;
            response.headers_mut().insert(name, value);
        }
        mark_replayed(&mut response);
        Ok(response)
    }
}

/// How much of an answer's body was read.
enum Read {
    Whole(Bytes),
    TooLong,
    Broken,
}

/// Reads a body up to the limit, and gives back one that is the same.
async fn read(body: Body) -> (Body, Read) {
    let mut pieces = body.into_data_stream();
    let mut read = BytesMut::new();
    loop {
        match pieces.next().await {
            None => {
                let whole = read.freeze();
                return (Body::from(whole.clone()), Read::Whole(whole));
            }
            Some(Ok(piece)) => read.extend_from_slice(&piece),
            Some(Err(error)) => {
                let broken = stream::iter([Ok(read.freeze()), Err(error)]);
                return (Body::from_stream(broken), Read::Broken);
            }
        }
        if read.len() > LIMIT {
            let begun = stream::iter([Ok(read.freeze())]);
            return (Body::from_stream(begun.chain(pieces)), Read::TooLong);
        }
    }
}

/// Names what is made of several texts, none of which can be mistaken for a part of another.
pub(super) fn digest_of(texts: &[&str]) -> String {
    let joined = serde_json::to_string(texts).unwrap_or_default();
    hexadecimal(&Sha256::digest(joined))
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
