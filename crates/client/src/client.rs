//! Asks and understands: requests as JSON, answers as JSON, refusals as errors, lists page by page.
//! What every command is built on. Repeats nothing, but for pages, which only read.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::transport::{Answer, CURSOR, Transport};
use crate::wire::Page;
use crate::{Error, Path, Problem, Result};

/// Larger answers than this are not kept in memory; whole worlds are exported in one.
const MOST: usize = 1 << 30;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A way to talk to an agent world. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    transport: Arc<dyn Transport>,
}

impl Client {
    pub fn new(transport: Arc<dyn Transport>) -> Self {
        Self { transport }
    }

    /// Where requests go, for people.
    pub fn place(&self) -> String {
        self.transport.place()
    }

    /// # Errors
    /// When nobody answers, the server refuses or its answer is of another form. So do all that follow.
    pub async fn get<T: DeserializeOwned>(&self, path: impl Into<Path>) -> Result<T> {
        self.ask(Method::GET, &path.into(), None::<&()>, None).await
    }

    /// # Errors
    /// As `get`.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: impl Into<Path>,
        body: &impl Serialize,
    ) -> Result<T> {
        self.ask(Method::POST, &path.into(), Some(body), None).await
    }

    /// Posts under a key: the same request with the same key is carried out once, however often it is sent.
    ///
    /// # Errors
    /// As `get`.
    pub async fn post_once<T: DeserializeOwned>(
        &self,
        path: impl Into<Path>,
        body: &impl Serialize,
        key: &str,
    ) -> Result<T> {
        self.ask(Method::POST, &path.into(), Some(body), Some(key)).await
    }

    /// # Errors
    /// As `get`.
    pub async fn put<T: DeserializeOwned>(
        &self,
        path: impl Into<Path>,
        body: &impl Serialize,
    ) -> Result<T> {
        self.ask(Method::PUT, &path.into(), Some(body), None).await
    }

    /// # Errors
    /// As `get`.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: impl Into<Path>,
        body: &impl Serialize,
    ) -> Result<T> {
        self.ask(Method::PATCH, &path.into(), Some(body), None).await
    }

    /// # Errors
    /// As `get`.
    pub async fn delete(&self, path: impl Into<Path>) -> Result<()> {
        let path = path.into();
        self.bytes(Method::DELETE, &path, None::<&()>, None).await.map(drop)
    }

    /// Everything of a list, a page at a time.
    pub fn pages<T: DeserializeOwned>(&self, path: impl Into<Path>) -> Pages<T> {
        Pages {
            client: self.clone(),
            path: path.into(),
            after: None,
            over: false,
            read: VecDeque::new(),
        }
    }

    /// Everything of a list. For lists that are known to be short; others are read page by page.
    ///
    /// # Errors
    /// As `get`.
    pub async fn all<T: DeserializeOwned>(&self, path: impl Into<Path>) -> Result<Vec<T>> {
        let mut pages = self.pages(path);
        let mut all = Vec::new();
        while let Some(one) = pages.next().await? {
            all.push(one);
        }
        Ok(all)
    }

    /// The bytes of an answer as they are.
    ///
    /// # Errors
    /// As `get`.
    pub async fn raw(
        &self,
        method: Method,
        path: impl Into<Path>,
        body: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let path = path.into();
        let request = request(method, &path, Some(Bytes::from(body)), None)?;
        self.read(request).await
    }

    pub(crate) async fn open(&self, path: &Path, last: Option<u64>) -> Result<Answer> {
        let mut request = request(Method::GET, path, None, None)?;
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last {
            headers.insert(CURSOR, HeaderValue::from(last));
        }
        let answer = self.transport.exchange(request).await?;
        if answer.status.is_success() {
            return Ok(answer);
        }
        let status = answer.status.as_u16();
        let body = answer.whole(MOST, &self.place()).await?;
        Err(Error::Refused(Box::new(Problem::read(status, &body))))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &Path,
        body: Option<&impl Serialize>,
        key: Option<&str>,
    ) -> Result<T> {
        let name = format!("{method} {}", path.text());
        let bytes = self.bytes(method, path, body, key).await?;
        serde_json::from_slice(&bytes).map_err(|error| Error::Unreadable {
            place: self.place(),
            request: name,
            cause: error.to_string(),
        })
    }

    async fn bytes(
        &self,
        method: Method,
        path: &Path,
        body: Option<&impl Serialize>,
        key: Option<&str>,
    ) -> Result<Vec<u8>> {
        let body = body.map(serde_json::to_vec).transpose();
        let body = body.map_err(|error| Error::Unaskable(error.to_string()))?;
        self.read(request(method, path, body.map(Bytes::from), key)?).await
    }

    async fn read(&self, request: Request<Bytes>) -> Result<Vec<u8>> {
        let answer = self.transport.exchange(request).await?;
        let status = answer.status;
        let body = answer.whole(MOST, &self.place()).await?;
        if status.is_success() {
            return Ok(body);
        }
        Err(Error::Refused(Box::new(Problem::read(status.as_u16(), &body))))
    }
}

fn request(
    method: Method,
    path: &Path,
    body: Option<Bytes>,
    key: Option<&str>,
) -> Result<Request<Bytes>> {
    let mut builder = Request::builder().method(method).uri(path.text());
    if body.is_some() {
        builder = builder.header(header::CONTENT_TYPE, "application/json");
    }
    if let Some(key) = key {
        builder = builder.header(IDEMPOTENCY_KEY, key);
    }
    let request = builder.body(body.unwrap_or_default());
    request.map_err(|error| Error::Unaskable(format!("{}: {error}", path.text())))
}

/// A list that is read as far as it is wanted.
#[derive(Debug)]
pub struct Pages<T> {
    client: Client,
    path: Path,
    after: Option<String>,
    over: bool,
    read: VecDeque<T>,
}

impl<T: DeserializeOwned> Pages<T> {
    /// # Errors
    /// When a page cannot be had.
    pub async fn next(&mut self) -> Result<Option<T>> {
        while self.read.is_empty() && !self.over {
            let path = self.path.clone().maybe("after", self.after.as_deref());
            let page: Page<T> = self.client.get(path).await?;
            self.over = page.next.is_none();
            self.after = page.next;
            self.read = page.data.into();
        }
        Ok(self.read.pop_front())
    }
}
