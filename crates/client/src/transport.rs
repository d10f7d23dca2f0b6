//! How requests reach whoever answers them.
//! Implemented by `remote` for servers, and by programs that hold a router themselves. A transport carries: it neither
//! repeats nor understands what it carries.

use std::fmt::Debug;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt as _;
use futures::stream::BoxStream;
use http::{HeaderMap, HeaderName, Request, StatusCode};

use crate::{Error, Result};

/// The bytes of an answer as they come.
pub type Body = BoxStream<'static, Result<Bytes>>;

/// What came back.
pub struct Answer {
    pub status: StatusCode,
    /// Of an event stream: the number of the event after which it begins.
    pub cursor: Option<u64>,
    pub body: Body,
}

#[async_trait]
pub trait Transport: Debug + Send + Sync {
    /// # Errors
    /// When nobody answers.
    async fn exchange(&self, request: Request<Bytes>) -> Result<Answer>;

    /// Where requests go, for people.
    fn place(&self) -> String;
}

/// The header in which a stream says where it begins.
pub const CURSOR: HeaderName = HeaderName::from_static("last-event-id");

impl Answer {
    pub fn new(status: StatusCode, headers: &HeaderMap, body: Body) -> Self {
        let cursor = headers.get(CURSOR).and_then(|value| value.to_str().ok()?.parse().ok());
        Self { status, cursor, body }
    }

    /// All of it, unless it is larger than a limit.
    pub(crate) async fn whole(self, most: usize, place: &str) -> Result<Vec<u8>> {
        let mut body = self.body;
        let mut bytes = Vec::new();
        while let Some(chunk) = body.try_next().await? {
            if bytes.len() + chunk.len() > most {
                return Err(Error::Unreadable {
                    place: place.to_owned(),
                    request: "a request".to_owned(),
                    cause: format!("it is larger than {most} bytes"),
                });
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }
}

impl Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}
