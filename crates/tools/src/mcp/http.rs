//! Moves messages over streamable HTTP: rmcp decides what is sent, this file how it travels.
//! Called by rmcp's transport and by `oauth`. Bounds every body and every event, follows a redirect only within one origin,
//! and puts no address's query, header or body into an error that could hold a secret.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::dns::Resolve;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response, Url};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::sync::watch;
use tokio::time::timeout;

const USER_AGENT: &str = concat!("agent-world/", env!("CARGO_PKG_VERSION"));
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
const STREAM_LIMIT: Duration = Duration::from_secs(3);
/// Redirects within one origin, as servers do that want a slash at the end.
const REDIRECTS: usize = 3;
/// Bytes of an error's body that are told.
const TOLD: usize = 300;
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";

/// Which redirects a client follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Redirects {
    /// Those that keep method and body and stay with the same host: what we send may be secret.
    WithinOrigin,
    None,
}

/// Which way requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// What stays on this machine goes through no proxy.
    Direct,
    /// Through the proxies that the environment names.
    AsEnvironmentSays,
}

impl Route {
    pub fn to(url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let address = host.parse::<IpAddr>().ok();
        if host == "localhost" || address.is_some_and(|address| address.is_loopback()) {
            Self::Direct
        } else {
            Self::AsEnvironmentSays
        }
    }
}

/// A client for HTTP with the machine's certificates; the cryptography is ring's.
///
/// # Errors
/// When it cannot be made.
pub fn client(
    redirects: Redirects,
    route: Route,
    resolver: Option<Arc<dyn Resolve>>,
) -> Result<Client, String> {
    let policy = match redirects {
        Redirects::WithinOrigin => within_origin(),
        Redirects::None => Policy::none(),
    };
    let mut builder = Client::builder()
        .tls_backend_preconfigured(crate::trust::configure()?)
        .user_agent(USER_AGENT)
        .redirect(policy)
        .connect_timeout(CONNECT_LIMIT);
    if route == Route::Direct {
        builder = builder.no_proxy();
    }
    if let Some(resolver) = resolver {
        builder = builder.dns_resolver(resolver);
    }
    builder.build().map_err(|error| format!("the client for HTTP cannot be made: {}", root(&error)))
}

fn within_origin() -> Policy {
    Policy::custom(|attempt| {
        let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
        let same = attempt
            .previous()
            .first()
            .is_some_and(|first| first.origin() == attempt.url().origin());
        if keeps_body && same && attempt.previous().len() <= REDIRECTS {
            attempt.follow()
        } else {
            attempt.stop()
        }
    })
}

/// Sends what one server is to get.
#[derive(Clone, Debug)]
pub struct Http {
    client: Client,
    /// From the settings; marked as sensitive, so that nothing prints them.
    headers: HeaderMap,
    /// Bytes of one body or one event.
    limit: usize,
    stream: watch::Sender<Stream>,
}

/// The stream on which a server speaks without being asked, of servers that have sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stream {
    #[default]
    NotExpected,
    /// The server has opened a session.
    Expected,
    /// Open, or refused.
    Settled,
}

/// Why nothing came back.
#[derive(Debug, thiserror::Error)]
pub enum HttpFailure {
    #[error("{0}")]
    Connection(String),
    #[error("an answer is longer than {0} bytes")]
    TooLong(usize),
}

type Failed = StreamableHttpError<HttpFailure>;

impl Http {
    pub fn new(client: Client, headers: HeaderMap, limit: usize) -> Self {
        Self { client, headers, limit, stream: watch::Sender::default() }
    }

    /// Returns once the server can speak without being asked. What it says before that, some servers lose.
    pub async fn stream_settled(&self) {
        let mut stream = self.stream.subscribe();
        let settled = stream.wait_for(|stream| *stream != Stream::Expected);
        // A server that takes longer than that is not waited for.
        timeout(STREAM_LIMIT, settled).await.ok();
    }

    fn note_stream(&self, now: Stream) {
        self.stream.send_if_modified(|stream| {
            let news = *stream != Stream::Settled && *stream != now;
            if news {
                *stream = now;
            }
            news
        });
    }

    fn request(
        &self,
        method: Method,
        uri: &str,
        session: Option<&str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        let mut all = self.headers.clone();
        // The protocol's own come last: settings cannot replace them.
        all.extend(headers.into_iter().map(|(name, value)| (Some(name), value)));
        all.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        let mut request = self.client.request(method, uri).headers(all);
        if let Some(session) = session {
            request = request.header(SESSION, session);
        }
        match token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    async fn post(
        &self,
        message: &ClientJsonRpcMessage,
        request: RequestBuilder,
        in_session: bool,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_vec(message)?;
        let request = request.header(CONTENT_TYPE, JSON).body(body);
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        refused(status, response.headers())?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        let session = header(response.headers(), SESSION);
        if session.is_some() && !in_session {
            self.note_stream(Stream::Expected);
        }
        let kind = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
        let expects_answer = matches!(message, ClientJsonRpcMessage::Request(_));
        if !status.is_success() {
            let error = status_error(status, response.headers());
            let body = read(response, self.limit).await?;
            return unsuccessful(message, in_session, status, &body, error, session);
        }
        if kind.starts_with(EVENTS) {
            let events = events(response, limit);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let body = read(response, self.limit).await?;
        match serde_json::from_slice::<ServerJsonRpcMessage>(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            // Nobody waits for an answer to a notification: whatever came instead of one is enough.
            Err(_) if !expects_answer => Ok(StreamableHttpPostResponse::Accepted),
            Err(_) if !kind.starts_with(JSON) => {
                Err(StreamableHttpError::UnexpectedContentType(Some(preview(kind.as_bytes()))))
            }
            Err(error) => Err(StreamableHttpError::UnexpectedServerResponse(
                format!("the answer is no message of the protocol: {error}: {}", preview(&body))
                    .into(),
            )),
        }
    }
}

impl StreamableHttpClient for Http {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let limit = self.limit;
        self.post_message_with_max_sse_event_size(uri, message, session_id, token, headers, limit)
            .await
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let request = self.request(Method::POST, &uri, session_id.as_deref(), token, headers);
        self.post(&message, request, session_id.is_some(), limit).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let request = self.request(Method::DELETE, &uri, Some(&session_id), token, headers);
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        // A server need not let its sessions be ended.
        if status.is_success() || status == StatusCode::METHOD_NOT_ALLOWED {
            return Ok(());
        }
        Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}").into()))
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let limit = self.limit;
        self.get_stream_with_max_sse_event_size(
            uri,
            session_id,
            last_event_id,
            token,
            headers,
            limit,
        )
        .await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limit: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut request = self.request(Method::GET, &uri, session_id.as_deref(), token, headers);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let answered = request.send().await;
        self.note_stream(Stream::Settled);
        let response = answered.map_err(unreachable)?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        refused(status, response.headers())?;
        if let Some(error) = status_error(status, response.headers()) {
            return Err(error.into());
        }
        let kind = header(response.headers(), CONTENT_TYPE.as_str()).unwrap_or_default();
        if !status.is_success() {
            return Err(StreamableHttpError::UnexpectedServerResponse(
                format!("HTTP {status}").into(),
            ));
        }
        if !kind.starts_with(EVENTS) {
            return Err(StreamableHttpError::UnexpectedContentType(Some(preview(kind.as_bytes()))));
        }
        Ok(events(response, limit))
    }
}

/// A server that wants to know first who we are.
fn refused(status: StatusCode, headers: &HeaderMap) -> Result<(), Failed> {
    let challenge = header(headers, WWW_AUTHENTICATE.as_str());
    match (status, challenge) {
        // Without a challenge its metadata is looked for where it usually is.
        (StatusCode::UNAUTHORIZED, challenge) => Err(StreamableHttpError::AuthRequired(
            AuthRequiredError::new(challenge.unwrap_or_default()),
        )),
        (StatusCode::FORBIDDEN, Some(challenge)) => {
            let scope = scope_of(&challenge);
            Err(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(
                challenge, scope,
            )))
        }
        _ => Ok(()),
    }
}

/// The `scope` of a challenge.
fn scope_of(challenge: &str) -> Option<String> {
    let base = reqwest::Url::parse("http://localhost").ok()?;
    rmcp::transport::auth::WWWAuthenticateParams::parse(challenge, &base).scope
}

fn status_error(status: StatusCode, headers: &HeaderMap) -> Option<HttpStatusError> {
    let temporary = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    temporary.then(|| HttpStatusError::new(status.as_u16(), header(headers, RETRY_AFTER.as_str())))
}

/// What a body says that came with a status of failure: often the protocol's own error is in it.
fn unsuccessful(
    message: &ClientJsonRpcMessage,
    in_session: bool,
    status: StatusCode,
    body: &[u8],
    error: Option<HttpStatusError>,
    session: Option<String>,
) -> Result<StreamableHttpPostResponse, Failed> {
    let said = match serde_json::from_slice(body) {
        Ok(ServerJsonRpcMessage::Error(said)) => Some(said),
        _ => None,
    };
    let denied = status == StatusCode::FORBIDDEN;
    // Servers of the older era refuse the newer one's first question in many ways; each means the same.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !denied
        && !in_session
        && error.is_none()
    {
        let said = said.map_or_else(
            || ErrorData::invalid_request(format!("HTTP {status}: {}", preview(body)), None),
            |said| said.error,
        );
        let answer = ServerJsonRpcMessage::error(said, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match (said, error) {
        (Some(said), _) if !denied => {
            Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(said), session))
        }
        (_, Some(error)) => Err(error.into()),
        _ => Err(StreamableHttpError::UnexpectedServerResponse(
            format!("HTTP {status}: {}", preview(body)).into(),
        )),
    }
}

/// A whole body, within bounds.
async fn read(response: Response, limit: usize) -> Result<Vec<u8>, Failed> {
    read_body(response, limit).await.map_err(StreamableHttpError::Client)
}

/// # Errors
/// When the connection breaks or the body is longer than allowed.
pub async fn read_body(mut response: Response, limit: usize) -> Result<Vec<u8>, HttpFailure> {
    let mut body = Vec::new();
    let broken = |error| HttpFailure::Connection(format!("the answer broke off: {}", root(&error)));
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if body.len() + piece.len() > limit {
            return Err(HttpFailure::TooLong(limit));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

fn events(response: Response, limit: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let start = Some((response, Event::default()));
    let pieces = stream::unfold(start, move |state| async move {
        let (mut response, mut event) = state?;
        match response.chunk().await {
            Ok(Some(piece)) if event.grows_beyond(limit, &piece) => {
                Some((Err(HttpFailure::TooLong(limit)), None))
            }
            Ok(Some(piece)) => Some((Ok::<Bytes, _>(piece), Some((response, event)))),
            Ok(None) => None,
            Err(error) => Some((Err(HttpFailure::Connection(root(&error))), None)),
        }
    });
    SseStream::from_bytes_stream(pieces).boxed()
}

/// How long the event is that is being read. An empty line ends one.
#[derive(Default)]
struct Event {
    length: usize,
    in_line: bool,
    after_return: bool,
}

impl Event {
    fn grows_beyond(&mut self, limit: usize, piece: &[u8]) -> bool {
        for byte in piece {
            let second_half = *byte == b'\n' && self.after_return;
            self.after_return = *byte == b'\r';
            match byte {
                // Of a line's end in two characters.
                b'\n' if second_half => {}
                b'\n' | b'\r' if self.in_line => self.in_line = false,
                b'\n' | b'\r' => self.length = 0,
                _ => {
                    self.in_line = true;
                    self.length += 1;
                }
            }
            if self.length > limit {
                return true;
            }
        }
        false
    }
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

fn unreachable(error: reqwest::Error) -> Failed {
    let what = if error.is_timeout() {
        "the server did not answer in time".to_owned()
    } else {
        format!("the server cannot be reached: {}", root(&error))
    };
    StreamableHttpError::Client(HttpFailure::Connection(what))
}

/// The innermost reason. The outer ones quote the address.
fn root(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    if std::ptr::eq(innermost, error) {
        "the request failed".to_owned()
    } else {
        innermost.to_string()
    }
}

fn preview(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body.get(..TOLD).unwrap_or(body)).into_owned();
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
